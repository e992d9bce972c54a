"""What the tests of several pages share."""

from __future__ import annotations

import pytest

from memoria.ground.home import Home
from reader_home import Browser, fill


@pytest.fixture
def home() -> Home:
    home = Home.open()
    fill(home)
    return home


@pytest.fixture
def browser(home: Home) -> Browser:
    return Browser(home).enter()
