"""The state folder explains itself: its README names every file and folder in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from memoria.base import state
from memoria.base.paths import Paths
from memoria.pages import housekeeping

NAME = re.compile(r"[.\w-]+(?:/[\w.-]*)*")
BESIDE = re.compile(r"(-wal|-shm|\.bak-.+|\.lock|\.1|\..*\.tmp)$")  # what the last paragraph says of any file


def named() -> set[str]:
    """The files and folders (with a slash at the end) that the README's lists begin with."""
    rows = [row[2:] for row in state.README.splitlines() if re.match(r"  \S", row)]
    found = set()
    for row in rows:
        parts = [part.strip() for part in row.split("  ") if part.strip()]
        found |= {part for part in parts if NAME.fullmatch(part)}
    return found


def unexplained(folder: Path) -> list[str]:
    """What lies in the folder and is neither named nor part of a folder that is."""
    names = named()
    return [
        name
        for path in sorted(folder.rglob("*"))
        if not is_explained(name := path.relative_to(folder).as_posix() + "/" * path.is_dir(), names)
    ]


def is_explained(name: str, names: set[str]) -> bool:
    if name in names or BESIDE.sub("", name) in names:
        return True
    above = next((f"{folder}/" for folder in PurePosixPath(name).parents if f"{folder}/" in names), None)
    if above is None:
        return False
    listed = [other for other in names if other.startswith(above) and other != above]
    in_it = not name.endswith("/") and PurePosixPath(name).parent == PurePosixPath(above)
    return not listed or (in_it and all(other.endswith("/") for other in listed))


@pytest.mark.slow
def test_the_readme_of_the_state_folder_names_every_file_and_folder_that_the_demo_makes(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    run = subprocess.run(
        [sys.executable, "-m", "memoria", "demo", "--home", str(home)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    folder = Path(Paths(str(home)).state)
    assert (folder / "README").read_text("utf-8") == state.README
    assert unexplained(folder) == []
    (folder / "rubbish").touch()
    (folder / "spool" / "old").mkdir()
    (folder / "log" / "other.log").touch()
    assert unexplained(folder) == ["log/other.log", "rubbish", "spool/old/"], "the test can fail"


def test_the_readme_names_every_path_of_the_state_folder_and_no_other(paths: Paths) -> None:
    known = {path for path in vars(paths).values() if path.startswith(paths.state) and path != paths.state}
    known |= {make(process) for make in (paths.starting, paths.spawns) for process in ("worker", "observer")}
    known.add(paths.spawns("weigher"))
    known |= {str(Path(paths.spool, box)) for box in ("tmp", "new", "cur", "failed")}
    known |= {str(Path(paths.facts_outbox).parent), paths.working + ".replay.lock"}  # named after the database
    assert {name.rstrip("/") for name in named()} == {Path(path).relative_to(paths.state).as_posix() for path in known}


def test_a_readme_that_an_older_memoria_wrote_is_replaced_by_the_worker(paths: Paths) -> None:
    state.open_state(paths)
    readme = Path(paths.readme)
    readme.write_text("what 0.1.0 said\n", encoding="utf-8")
    housekeeping.clean(paths)
    assert readme.read_text("utf-8") == state.README
    before = readme.stat().st_ino
    housekeeping.clean(paths)
    assert readme.stat().st_ino == before, "what says the same is not written again"
