"""A memory server on loopback, and two homes that exchange their facts with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from facts import keeper
from memoria.statements.keeper import Keeper
from memory_server import MemoryServer, running


@pytest.fixture
def server() -> Iterator[MemoryServer]:
    with running() as one:
        yield one


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Keeper]:
    with keeper(tmp_path / "here", server=True) as home:
        yield home


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Keeper]:
    with keeper(tmp_path / "there", server=True) as home:
        yield home
