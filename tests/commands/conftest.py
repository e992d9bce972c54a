"""What the tests of several verbs share."""

from shelves import client

__all__ = ["client"]
