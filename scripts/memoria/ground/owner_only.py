"""Owner only: daily logs and wiki are readable by their owner alone, unless the setting ``shared_home`` is on.

On POSIX systems this is a matter of modes, 0700 and 0600. On Windows the folders inherit the access control list of the
folder they lie in, and nothing is done here.
"""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from memoria.base.paths import Paths

OTHERS = 0o077  # what group and others may do

log = logging.getLogger(__name__)


def make_folders(paths: Paths, *, is_shared: bool) -> None:
    """Make the folders of daily logs and wiki where they are missing; their files follow the modes of these folders.

    A folder that cannot be made is left to its writer, who reports the error.
    """
    for folder in (paths.daily, paths.knowledge):
        with suppress(OSError):
            Path(paths.home).mkdir(parents=True, exist_ok=True)
            Path(folder).mkdir(mode=0o777 if is_shared else 0o700, exist_ok=True)


def tighten(paths: Paths, *, is_shared: bool) -> None:
    """Take away what others may do in daily logs and wiki, if their folder allows it and belongs to this user.

    A folder is changed after what it holds, so that its mode says whether the rest is done; a killed run is repeated.
    Symbolic links below the two folders are not followed, because what they lead to may be shared on purpose.
    """
    if is_shared or os.name == "nt":
        return
    for name in (paths.daily, paths.knowledge):
        folder = Path(os.path.realpath(name))
        if not _is_open_to_others(folder):
            continue
        for parent, _, names in os.walk(folder, topdown=False):
            for path in (*(Path(parent, name) for name in names), Path(parent)):
                if _is_open_to_others(path):
                    _close(path)
        log.info("%s is now readable by its owner only", folder)


def _is_open_to_others(path: Path) -> bool:
    """Return whether others may do anything with a file or folder of this user."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_ours = hasattr(os, "getuid") and status.st_uid == os.getuid()
    return is_ours and not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & OTHERS)


def _close(path: Path) -> None:
    with suppress(OSError):  # a file system without modes, or a file that was deleted meanwhile
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)
