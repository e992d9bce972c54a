"""A memory server on loopback with two homes that exchange their facts with it; two machines that meet in a folder."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from facts import keeper
from home_lives import Machine
from memoria.statements.keeper import Keeper
from memory_server import MemoryServer


@pytest.fixture
def server() -> Iterator[MemoryServer]:
    with MemoryServer() as one:
        yield one


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Keeper]:
    with keeper(tmp_path / "here") as home:
        yield home


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Keeper]:
    with keeper(tmp_path / "there") as home:
        yield home


@pytest.fixture
def desk(tmp_path: Path) -> Machine:
    (tmp_path / "carrier").mkdir()
    return Machine("desk", tmp_path / "desk", str(tmp_path / "carrier"), random.Random(1))


@pytest.fixture
def laptop(tmp_path: Path, desk: Machine) -> Machine:
    return Machine("laptop", tmp_path / "laptop", str(tmp_path / "carrier"), desk.rng)
