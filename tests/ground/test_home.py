"""Daily logs and wiki are their owner's alone, unless the setting ``shared_home`` is on."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import home_of
from memoria.base.settings import config_path
from memoria.ground.errors import HomeRefusedError
from memoria.ground.home import Home
from memoria.wiki.transaction import Transactions
from memoria.worker import worker

pytestmark = pytest.mark.skipif(os.name == "nt", reason="folders inherit their access control list")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _modes(home: Home) -> dict[str, int]:
    """Return the mode of the two folders and of everything below them, by path below the home."""
    root = Path(home.paths.home)
    found = [path for top in (home.paths.daily, home.paths.knowledge) for path in (Path(top), *Path(top).rglob("*"))]
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in found}


def _write(home: Home) -> None:
    home_of.entry(home, "a1", "The kettle")
    Transactions(home.paths).commit({"concepts/kettle.md": b"# Kettle\n"}, {}, "a test")


WRITTEN = {"daily", f"daily/{home_of.DAY}.md", "knowledge", "knowledge/concepts", "knowledge/concepts/kettle.md"}


def test_what_memoria_writes_is_readable_by_its_owner_only() -> None:
    home = Home.open()
    _write(home)
    modes = _modes(home)
    assert set(modes) == WRITTEN
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
    home_of.entry(home, "a2", "The lid")
    assert not any(mode & 0o077 for mode in _modes(home).values())


def test_a_shared_home_follows_the_umask_and_the_worker_leaves_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_SHARED_HOME", "true")
    home = Home.open()
    _write(home)
    worker.work(home)
    modes = _modes(home)
    assert {name for name, mode in modes.items() if mode not in (0o755, 0o644)} == set()
    assert set(modes) >= WRITTEN


def test_who_only_reads_makes_no_home_and_one_that_is_made_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORIA_HOME")
    config, read = Path(config_path(os.environ)), Home.open(reads=True)
    assert Path(read.paths.state).is_dir()
    read.leave()
    assert not any(Path(path).exists() for path in (read.paths.state, read.paths.home, config))
    assert {"home": Home.open().paths.home} == json.loads(config.read_text())
    monkeypatch.setenv("MEMORIA_STATE", str(config / "state"))
    with pytest.raises(HomeRefusedError, match="Not a directory"):
        Home.open()


def _opened(home: Home) -> None:
    """Give the home the modes that 0.1.0 gave it."""
    for name in _modes(home):
        path = Path(home.paths.home, name)
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_the_worker_tightens_a_home_of_0_1_0_and_what_a_killed_run_left() -> None:
    home = Home.open()
    _write(home)
    _opened(home)
    change = Path.chmod
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "chmod", lambda path, mode: change(path, mode) if path.stem != "kettle" else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            home.tighten()
    content = Path(home.paths.daily, f"{home_of.DAY}.md").read_bytes()
    worker.work(home)
    assert {name: oct(mode) for name, mode in _modes(home).items() if mode & 0o077} == {}
    assert Path(home.paths.daily, f"{home_of.DAY}.md").read_bytes() == content
