"""Move: move the whole memory (daily logs, wiki and state) to another folder and leave nothing behind.

Each part is renamed when both folders are on the same disk, and otherwise copied completely before the original is
removed. After a crash between two parts, running the command again completes the move. This module knows the parts of
a home, but does not read them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from memoria.base import paths as places
from memoria.base.paths import SPOOL_BOXES, Paths
from memoria.base.settings import CHANGE_OPTION, PLUGIN_OPTION
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.ground.exchange import Exchange
from memoria.ground.home import Home, change_config, make_folders

NOT_OURS = ".gitkeep"  # belongs to the clone, in its empty daily/ and knowledge/
VAULT = ".obsidian"  # the user's Obsidian settings for the home


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``memoria move [FOLDER]`` to ``parser``."""
    parser.add_argument(
        "folder", nargs="?", default="~/memoria", metavar="FOLDER", help="where to (default: ~/memoria)"
    )


def command(args: argparse.Namespace, home: Home) -> int:
    """Move the home and print where it is now."""
    before, after = home.paths, Paths(str(Path(args.folder).expanduser()), home.settings.state)
    _refuse(home, before, after)
    with ExitStack() as stack:
        for lock in (before.worker_lock, before.observer_lock, before.compile_lock):
            if not stack.enter_context(locks.held(Path(lock))):
                raise ExpectedError("a worker is running; try again in a minute. Nothing was moved.")
        make_folders(after, is_shared=home.settings.shared_home)
        for source, target in _parts(before, after):
            _take(source, target)
        chosen = change_config(Exchange.of(after), {"home": after.home})
    if before.state != after.state and Path(before.state).is_dir():
        _adopt(before, after)
    sys.stdout.write(
        f"memoria's home is now {after.home}; nothing of it is left in {before.home}.\n"
        f"The new home is recorded in {chosen}.\n"
        "Restart running Claude Code sessions. If Obsidian has the old folder open, open the new one.\n"
    )
    return 0


def _refuse(home: Home, before: Paths, after: Paths) -> None:
    """Raise ExpectedError when the move could lose data or would not take effect."""
    for name in ("MEMORIA_HOME", "MEMORIA_STATE"):
        if os.environ.get(name):
            raise ExpectedError(
                f"{name} is set in the environment and would still name the old folder. Remove it from your shell's "
                'start-up file, or move it to config.json (as "home" or "state"), and try again.'
            )
    if home.settings.origins.get("home") == PLUGIN_OPTION:
        raise ExpectedError(
            "the plugin's option home would still name the old folder. Record it with "
            f"`memoria config set home {before.home}`, empty the option with {CHANGE_OPTION}, and try again."
        )
    if before.home == after.home:
        raise ExpectedError(f"memoria's home is already {after.home}")
    for folder in (before.home, places.ROOT):
        if Path(after.home).is_relative_to(folder):
            raise ExpectedError(f"{after.home} is inside {folder}: choose a folder of its own, such as ~/memoria")
    taken = [target for _, target in _parts(before, after) if os.path.lexists(target)]
    if taken:
        raise ExpectedError(f"{taken[0]} exists already: choose an empty folder. Nothing was moved.")


def _parts(before: Paths, after: Paths) -> Iterator[tuple[Path, Path]]:
    """Yield each source and its target; the state comes last, because its presence marks a folder as a home."""
    for source, target in ((before.daily, after.daily), (before.knowledge, after.knowledge)):
        for entry in sorted(Path(source).glob("*")):
            if entry.name != NOT_OURS:
                yield entry, Path(target, entry.name)
    for source, target in ((str(Path(before.home, VAULT)), str(Path(after.home, VAULT))), (before.state, after.state)):
        if source != target and Path(source).is_dir():
            yield Path(source), Path(target)


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
        shutil.copy2(source, beside, follow_symlinks=False)
    beside.rename(target)
    gone = source.rename(source.with_name(f".{source.name}.moved"))  # one step, so that no hook finds half of it
    if gone.is_dir():
        shutil.rmtree(gone)
    else:
        gone.unlink()


def _adopt(before: Paths, after: Paths) -> None:
    """Take over the jobs of a hook that had read the old home's path just before the move."""
    for box in SPOOL_BOXES[1:]:
        for job in sorted(Path(before.spool, box).glob("*")):
            _take(job, Path(after.spool, box, job.name))
    shutil.rmtree(before.state)
