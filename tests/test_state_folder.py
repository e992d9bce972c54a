"""The state folder explains itself: its README names every file and folder in it."""

from __future__ import annotations

import re
from pathlib import Path

from memoria.base import state
from memoria.base.paths import Paths
from memoria.pages import housekeeping

NAME = re.compile(r"[.\w-]+(?:/[\w.-]*)*")


def named() -> set[str]:
    """The files and folders (with a slash at the end) that the README's lists begin with."""
    rows = [row[2:] for row in state.readme().decode().splitlines() if re.match(r"  \S", row)]
    found = set()
    for row in rows:
        parts = [part.strip() for part in row.split("  ") if part.strip()]
        found |= {part for part in parts if NAME.fullmatch(part)}
    return found


def test_the_readme_names_every_path_of_the_state_folder_and_no_other(paths: Paths) -> None:
    known = {path for path in vars(paths).values() if path.startswith(paths.state) and path != paths.state}
    known |= {str(Path(paths.spool, box)) for box in ("tmp", "new", "cur", "failed")}
    known |= {str(Path(paths.facts_outbox).parent), paths.working + ".replay.lock"}  # named after the database
    assert {name.rstrip("/") for name in named()} == {Path(path).relative_to(paths.state).as_posix() for path in known}


def test_a_readme_that_an_older_memoria_wrote_is_replaced_by_the_worker(paths: Paths) -> None:
    state.open_state(paths)
    readme = Path(paths.readme)
    readme.write_text("what an older version said\n", encoding="utf-8")
    housekeeping.clean(paths)
    assert readme.read_bytes() == state.readme()
    before = readme.stat().st_ino
    housekeeping.clean(paths)
    assert readme.stat().st_ino == before, "what says the same is not written again"
