"""What the tests of several verbs share."""

from __future__ import annotations

import pytest

from memoria.ground.home import Home
from shelves import Shelf, client, since

__all__ = ["client"]


@pytest.fixture
def home(client: Shelf) -> Home:
    """A home that was made just now: everything on the shelf is from before."""
    home = Home.open()
    since(home, 0)
    return home
