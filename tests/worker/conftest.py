"""What the tests of the compile share."""

from wiki_home import wiki

__all__ = ["wiki"]
