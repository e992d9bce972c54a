"""State: the runtime folder, who owns it, and which version of memoria wrote it.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memoria.base.paths import Paths

VERSION = 1


class StateError(Exception):
    """The state folder cannot be used as it is: ``what`` is wrong, and the ``remedy``; the message says both."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy


README = """This folder is memoria's runtime state. It is yours; nothing in it is sent anywhere.

  spool/new      conversation waiting to be summarised (one file a job; `ls` is the status page)
  spool/cur      being summarised now        spool/failed  given up after several tries, kept for you (see .why)
  spool/tmp      being written by a hook
  cursors/       how far each session's transcript has been copied
  ledger.db      which turns stand in which entry, model calls and what they cost
  index.db       search index (a cache)      page/         prepared text for new sessions (a cache)
  where/         which sessions are open, and where each stands (a cache)
  hints/         which notes each session was given
  archive/       the kept turns, redacted and compressed
  log/           what hooks and worker did   version       which state format this is

Caches and the ledger's list of turns are rebuilt from daily/ and knowledge/ when deleted. Do not delete spool/:
what lies there is not yet in a daily log. `memoria status` says how things stand.
"""


def open_state(paths: Paths) -> None:
    """Make the state folder (0700) when it is missing and check its version; StateError when it is not ours to use."""
    try:
        with open(paths.version, "rb") as file:
            found = file.read(20).strip()
    except FileNotFoundError:
        _make(paths)
        return
    except OSError as error:
        raise StateError(
            f"cannot read {paths.version} ({error.strerror})", "make it readable, or set MEMORIA_STATE"
        ) from error
    if found == b"%d" % VERSION:
        return
    if not found:  # a power cut can leave a file that was never written through
        _make(paths)
        return
    if not found.isdigit():
        raise StateError(f"{paths.version} should hold a number", f"restore it to {VERSION} or move {paths.state} away")
    if int(found) > VERSION:
        raise StateError(
            f"{paths.state} was written by a newer memoria (state {int(found)}, this one knows {VERSION})",
            "update memoria, or point MEMORIA_STATE elsewhere",
        )
    _migrate(paths, int(found))


def make_folders(paths: Paths) -> None:
    """Make whatever folder of the state is missing, 0700."""
    for folder in (paths.state, paths.cursors, paths.page, paths.archive, paths.log, paths.spool, paths.where):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    for box in ("tmp", "new", "cur", "failed"):
        os.makedirs(os.path.join(paths.spool, box), mode=0o700, exist_ok=True)


def _make(paths: Paths) -> None:
    make_folders(paths)
    _write(os.path.join(paths.state, ".gitignore"), "*\n")
    _write(os.path.join(paths.state, "README"), README)
    if not os.path.exists(paths.since):
        _write(paths.since, f"{int(time.time())}\n")
    _write(paths.version, f"{VERSION}\n")  # last: until it stands, the next caller makes what is missing


# N: the step from version N to N + 1. Each may be killed and run again.
_MIGRATIONS: dict[int, Callable[[Paths], None]] = {}


def _migrate(paths: Paths, found: int) -> None:
    for step in range(found, VERSION):
        if step not in _MIGRATIONS:
            raise StateError(f"{paths.version} says state {found}, which no memoria wrote", f"move {paths.state} away")
        _MIGRATIONS[step](paths)
        _write(paths.version, f"{step + 1}\n")


def _write(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
