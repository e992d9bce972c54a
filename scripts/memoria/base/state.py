"""State: the runtime folder, who owns it, and which version of memoria wrote it."""

from __future__ import annotations

import os
import time

from memoria import __version__
from memoria.base import atomic, invocation
from memoria.base import paths as places
from memoria.base.paths import SPOOL_BOXES
from memoria.base.settings import Settings, config_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths


class StateError(Exception):
    """The state folder cannot be used as it is: ``what`` is wrong, and the ``remedy``; the message says both."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy


def open_state(paths: Paths) -> None:
    """Make the state folder (0700) when it is missing and check its version; StateError when it is not ours to use."""
    try:
        with open(paths.version, "rb", opener=places.regular) as file:
            found = file.read(20).strip()
    except FileNotFoundError:
        found = b""
    except OSError as error:
        raise StateError(
            f"cannot read {paths.version} ({error.strerror})", "make it readable, or set MEMORIA_STATE"
        ) from error
    if found == b"%d" % places.STATE_VERSION:
        return
    if not found:  # a power cut can leave a file that was never written through
        _make(paths)
        return
    if found.isdigit() and int(found) > places.STATE_VERSION:
        raise _newer_error(paths, int(found))
    remedy = f"restore it to {places.STATE_VERSION} or move {paths.state} away"
    raise StateError(f"{paths.version} holds {found!r}, which no memoria wrote", remedy)


def _newer_error(paths: Paths, found: int) -> StateError:
    """Return the error for a state whose version is higher than this memoria's."""
    try:
        with open(paths.written_by, "rb", opener=places.regular) as file:
            writer = file.read(40).decode("ascii", "ignore").strip() + ", "
    except OSError:
        writer = ""
    return StateError(
        f"{paths.state} was written by a newer memoria ({writer}state {found}) than this one "
        f"({__version__}, state {places.STATE_VERSION})",
        f"update memoria ({invocation.update()}), or point MEMORIA_STATE elsewhere",
    )


def make_folders(paths: Paths) -> None:
    """Make whatever folder of the state is missing, 0700."""
    for folder in (paths.state, paths.cursors, paths.page, paths.archive, paths.log, paths.spool, paths.where):
        places.private_folder(folder)
    for box in SPOOL_BOXES:
        places.private_folder(os.path.join(paths.spool, box))


def readme() -> bytes:
    """Return what the folder's README says of each file in it."""
    return places.data_of(os.path.join(os.path.dirname(__file__), "state-readme.txt"))


def sign(paths: Paths) -> None:
    """Write the folder's README and this memoria's version, unless they say the same: an older one may have."""
    for path, text in ((paths.readme, readme()), (paths.written_by, f"{__version__}\n".encode())):
        try:
            if places.data_of(path) == text:
                continue
        except FileNotFoundError:
            pass
        atomic.replace(path, text)


def _make(paths: Paths) -> None:
    is_there = bool(places.names(paths.home))  # where a disk is mounted, a folder stays without it
    make_folders(paths)
    if not is_there and Settings.load().origins.get("home") == config_path(os.environ):  # it began there
        atomic.replace(paths.gone, b"")
    atomic.replace(paths.gitignore, b"*\n")
    sign(paths)
    if not os.path.exists(paths.since):
        atomic.replace(paths.since, b"%d\n" % time.time())
    atomic.replace(
        paths.version, f"{places.STATE_VERSION}\n".encode()
    )  # last: until it stands, the next caller makes what is missing
