"""Move: take the whole memory to another folder: daily logs, wiki and state, with nothing left behind.

Each part is moved in one step where both folders are on one disk; on another disk it is copied whole before the
original goes. What a kill leaves between two parts is finished by running the command again. Knows the parts of a home;
does not read them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.settings import config_path
from memoria.ground import files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home

NOT_OURS = ".gitkeep"  # of the clone itself, in its empty daily/ and knowledge/
WAITING = ("new", "cur", "failed")


def arguments(parser: argparse.ArgumentParser) -> None:
    """``memoria move [FOLDER]``."""
    parser.add_argument(
        "folder", nargs="?", default="~/memoria", metavar="FOLDER", help="where to (default: ~/memoria)"
    )


def command(args: argparse.Namespace, home: Home) -> int:
    """Move the home and say where it is now."""
    source, target = Path(home.paths.home), Path(args.folder).expanduser().absolute()
    _refuse(source, target)
    state = Path(home.paths.state)
    inside = state == source / ".memoria"
    with ExitStack() as stack:
        for name in ("worker.lock", "observer.lock", "compile.lock"):
            if not stack.enter_context(locks.held(state / name)):
                raise ExpectedError("a worker is at work; try again in a minute. Nothing was moved.")
        target.mkdir(parents=True, exist_ok=True)
        for part in _parts(source, inside=inside):
            _take(source / part, target / part)
        chosen = _choose(home, target)
    if inside and (source / ".memoria").is_dir():
        _adopt(source / ".memoria", target / ".memoria")
    sys.stdout.write(
        f"memoria's home is {target} now; nothing of it is left in {source}.\n"
        + (f"{chosen} says so.\n" if chosen else "")
        + "Restart running Claude Code sessions. If Obsidian has the old folder open, open the new one.\n"
    )
    return 0


def _refuse(source: Path, target: Path) -> None:
    """Raise ExpectedError when the move could lose something or would not last."""
    for name in ("MEMORIA_HOME", "MEMORIA_STATE"):
        if os.environ.get(name):
            raise ExpectedError(
                f"{name} is set in the environment and would go on to name the old folder. Take it out of your shell's "
                'start-up file or put it into config.json (as "home" or "state"), and try again.'
            )
    if target == source:
        raise ExpectedError(f"memoria's home is {source} already")
    if target.is_relative_to(source) or target.is_relative_to(places.ROOT):
        raise ExpectedError(f"{target} is inside {source}: choose a folder of its own, such as ~/memoria")
    taken = [part for part in _parts(source, inside=True) if os.path.lexists(target / part)]
    if taken:
        raise ExpectedError(f"{target / taken[0]} is there already: choose an empty folder. Nothing was moved.")


def _parts(source: Path, *, inside: bool) -> Iterator[Path]:
    """Yield what to move, relative to the home; the state, which says that there is a memory, last."""
    for folder in ("daily", "knowledge"):
        if (source / folder).is_dir():
            yield from (
                Path(folder, entry.name) for entry in sorted((source / folder).iterdir()) if entry.name != NOT_OURS
            )
    if (source / ".obsidian").is_dir():
        yield Path(".obsidian")
    if inside and (source / ".memoria").is_dir():
        yield Path(".memoria")


def _take(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.rename(target)
        return
    except OSError:  # another disk
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    if source.is_dir():
        shutil.copytree(source, beside, symlinks=True)
    else:
        shutil.copy2(source, beside)
    beside.rename(target)
    gone = source.rename(source.with_name(f".{source.name}.moved"))  # in one step: no hook finds half of it
    if gone.is_dir():
        shutil.rmtree(gone)
    else:
        gone.unlink()


def _choose(home: Home, target: Path) -> Path | None:
    """Write the new home into config.json unless it is the default one; returns the file when it was written."""
    if not home.settings.home and Path(Paths.of(home.settings).home) == target:
        return None
    path = Path(config_path(os.environ))
    stored = json.loads(path.read_text("utf-8-sig")) if path.exists() else {}
    files.replace(path, json.dumps({**stored, "home": str(target)}, indent=2, ensure_ascii=False) + "\n")
    return path


def _adopt(stray: Path, state: Path) -> None:
    """Take over the jobs of a hook that had found its home just before the move; their turns are known by their ids."""
    for box in WAITING:
        for job in sorted((stray / "spool" / box).glob("*")):
            _take(job, state / "spool" / box / job.name)
    shutil.rmtree(stray)
