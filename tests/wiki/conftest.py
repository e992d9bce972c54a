"""What the tests of the compile share."""

from __future__ import annotations

import pytest

from wiki_home import PORT, WikiHome


@pytest.fixture
def wiki() -> WikiHome:
    """A home whose log holds one entry, which is not compiled yet."""
    home = WikiHome()
    home.log(PORT)
    return home
