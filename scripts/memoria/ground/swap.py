"""Swap: replace a file that a person may save at any moment, without overwriting what they saved.

The new file is written and synced first. Then the old one is compared with what the change was made from, and the two
are exchanged. What came out is compared again: if a person saved in between, their file is put back. Saves that come
later still, into the replaced file, are found by ``replaced``. Writers of one folder exclude each other by a lock.

Linux exchanges two names in one step (``renameat2``). Elsewhere, and on file systems that cannot, the target is renamed
to a third name and the new file takes its place, unless a person has created one meanwhile.

While an exchange is under way the new file is ``.<name>.<8 digits of the old digest><8 of the new>.swap``; by that name
``recover`` recognises what a killed process left.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from memoria.base import atomic, failpoints
from memoria.base.paths import BINARY, Paths
from memoria.ground import files, home_files
from memoria.ground.errors import SavedMeanwhileError
from memoria.ground.files import sha256
from memoria.ground.replaced import Replaced, read, write_conflict_copy

WRITING_S = 1.0  # how long an editor that is writing the file is waited for
MISSING_S = 0.25  # how long an editor that has moved the file away, to write it anew, is waited for
PUT_BACKS = 20
_RENAME_EXCHANGE = 2
_CURRENT_FOLDER = -100  # AT_FDCWD; the paths given here are absolute
_NOT_SUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
TAKEN = ".taken"  # ends the third name
_NO_FILE = "-" * 8
_STAGED = re.compile(r"\.(.+)\.([0-9a-f]{8}|-{8})([0-9a-f]{8}|-{8})\.swap(\.taken)?", re.DOTALL)


class TakenError(Exception):
    """A person created the target while its name was free; ``source`` was not moved, ``taken`` is what was there."""

    def __init__(self, source: Path, taken: Path) -> None:
        super().__init__(f"{source} was not moved")
        self.source = source
        self.taken = taken


@cache
def _system_call() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 (slow, and needed where a file of the user is written)

    try:
        call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return None
    return call


def exchange_names(source: Path, target: Path) -> None:
    """Exchange the files of two names in one folder.

    Raise FileNotFoundError when the target does not exist, and TakenError as described there.
    """
    if not _exchange_in_one_step(source, target):
        _exchange_in_steps(source, target)


def _exchange_in_one_step(source: Path, target: Path) -> bool:
    """Exchange in one step; return False where the system or the file system cannot."""
    renameat2 = _system_call()
    if renameat2 is None:
        return False
    import ctypes  # noqa: PLC0415 (as above)

    names = os.fsencode(source), os.fsencode(target)
    if renameat2(_CURRENT_FOLDER, names[0], _CURRENT_FOLDER, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(target))


def _exchange_in_steps(source: Path, target: Path) -> None:
    taken = source.with_name(source.name + TAKEN)
    target.rename(taken)
    try:
        put_new(source, target)
    except FileExistsError:
        raise TakenError(source, taken) from None
    taken.rename(source)


def put_new(source: Path, target: Path) -> None:
    """Rename to a name that is free; raise FileExistsError, and change nothing, when it is not."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        _put_new_without_links(source, target)
    else:
        source.unlink()


def _put_new_without_links(source: Path, target: Path) -> None:
    """Reserve the name with an empty file, because the file system has no hard links (exFAT, some network shares)."""
    with target.open("xb"):
        pass
    source.replace(target)


class Swap:
    """Replaces files; ``replaced``, in the state folder, keeps what they were."""

    def __init__(self, paths: Paths) -> None:
        self.replaced = Replaced(Path(paths.replaced))

    def read(self, path: Path) -> bytes | None:
        """Return a file's content as its editor left it, or None when there is no file."""
        end = time.monotonic() + MISSING_S
        while True:
            try:
                return read(path, WRITING_S)
            except FileNotFoundError:
                if time.monotonic() >= end or not _is_being_edited(path):
                    return None
            time.sleep(0.005)

    def replace(self, path: Path, data: bytes | None, expected: bytes | None, *, mode: int | None = None) -> None:
        """Replace the content ``expected`` by ``data``, synced to disk; None stands for no file.

        A symbolic link stays one, and the file keeps its mode, owner and extended attributes; ``mode`` is that of a new
        file. Raise SavedMeanwhileError when the file has another content: it stands as the person saved it.
        """
        target = Path(os.path.realpath(path))
        if data is None:
            self._remove(path, target, expected)
        elif expected is None:
            self._create(path, target, data, mode)
        else:
            self._replace(path, target, data, expected)

    # -- the three ways

    def _create(self, path: Path, target: Path, data: bytes, mode: int | None) -> None:
        if not path.is_symlink():
            files.make_folder(target.parent)
        staged = _stage(target, data, None, mode)
        try:
            failpoints.reach("files.compared")
            put_new(staged, target)
        except FileExistsError:
            raise SavedMeanwhileError(path) from None
        finally:
            staged.unlink(missing_ok=True)
        failpoints.reach("files.replaced")
        atomic.sync_folder(str(target.parent))

    def _replace(self, path: Path, target: Path, data: bytes, expected: bytes) -> None:
        staged = _staging_path(target, expected, data)
        try:
            _stage(target, data, expected)
            if self.read(target) != expected:
                raise SavedMeanwhileError(path)
            failpoints.reach("files.compared")
            exchange_names(staged, target)
        except TakenError as error:
            self._give_up(path, error, {expected, data})
        except (FileNotFoundError, SavedMeanwhileError):
            staged.unlink(missing_ok=True)
            raise SavedMeanwhileError(path) from None
        except BaseException:
            staged.unlink(missing_ok=True)
            raise
        failpoints.reach("files.replaced")
        atomic.sync_folder(str(target.parent))
        came_out = read(staged, WRITING_S)
        if came_out != expected:
            self._put_back(path, target, staged, came_out, data)
            raise SavedMeanwhileError(path)
        self.replaced.keep(staged, path, expected)

    def _remove(self, path: Path, target: Path, expected: bytes | None) -> None:
        if self.read(target) != expected:
            raise SavedMeanwhileError(path)
        if expected is None:
            return
        aside = _staging_path(target, expected, None)
        failpoints.reach("files.compared")
        try:
            target.rename(aside)
        except FileNotFoundError:
            raise SavedMeanwhileError(path) from None
        came_out = read(aside, WRITING_S)
        if came_out != expected:
            self._put_back_removed(path, target, aside, came_out)
            raise SavedMeanwhileError(path)
        if path.is_symlink():
            path.unlink(missing_ok=True)
        atomic.sync_folder(str(target.parent))
        self.replaced.keep(aside, path, expected)

    # -- a person saved in between

    def _put_back(self, path: Path, target: Path, staged: Path, newest: bytes, ours: bytes) -> None:
        """Give the name back to the file that came out, or to a newer one, should a person have saved that meanwhile.

        An earlier save that a later one follows within this moment becomes a conflict copy.
        """
        standing = ours
        for _ in range(PUT_BACKS):
            try:
                exchange_names(staged, target)
            except FileNotFoundError:  # an editor has moved the file away, to write it anew
                self._put_back_removed(path, target, staged, newest)
                return
            except TakenError as error:
                self._give_up(path, error, {ours})
            came_out = read(staged, WRITING_S)
            if came_out == standing:
                break
            newest, standing = came_out, newest
        atomic.sync_folder(str(target.parent))
        aside = read(staged, WRITING_S)
        if aside != ours:
            write_conflict_copy(path, aside, staged)
        self.replaced.keep(staged, path, aside)

    def _put_back_removed(self, path: Path, target: Path, aside: Path, content: bytes) -> None:
        try:
            put_new(aside, target)
        except FileExistsError:
            write_conflict_copy(path, content, aside)
            self.replaced.keep(aside, path, content)
        atomic.sync_folder(str(target.parent))

    def _give_up(self, path: Path, error: TakenError, known: set[bytes]) -> None:
        """Leave the name to the file that a person has just created; keep every other save as a conflict copy."""
        for aside in (error.source, error.taken):
            content = read(aside, WRITING_S)
            if content not in known:
                write_conflict_copy(path, content, aside)
            self.replaced.keep(aside, path, content)
        raise SavedMeanwhileError(path)

    # -- after a kill

    def recover(self, folder: Path) -> None:
        """Complete or revert the exchanges in ``folder`` whose process was killed; the caller holds its writers' lock.

        A save that the killed process had in hand gets its name back.
        """
        for staged, name, known in list(_leftovers(folder)):
            target = folder / name
            content = read(staged, WRITING_S)
            new = known[1]
            stands = home_files.read_if_there(target)
            is_lost = staged.name.endswith(TAKEN) and not target.exists()  # killed while the target had no name
            if content == stands or _short_name(content) == new:
                staged.unlink()
            elif (_short_name(content) in known and not is_lost) or not content:
                self.replaced.keep(staged, target, content)
            elif stands is None:
                self._put_back_removed(target, target, staged, content)
            elif _short_name(stands) == new:  # our text, which the caller writes again
                with suppress(SavedMeanwhileError):
                    self._put_back(target, target, staged, content, stands)
            else:
                write_conflict_copy(target, content, staged)
                self.replaced.keep(staged, target, content)


def _leftovers(folder: Path) -> Iterator[tuple[Path, str, tuple[str, str]]]:
    """Yield what killed processes left in ``folder``, and beside the targets of its links."""
    entries = os.scandir(folder) if folder.is_dir() else ()
    links = (entry.path for entry in entries if entry.name.endswith(".md") and entry.is_symlink())
    for place in {folder, *(Path(os.path.realpath(link)).parent for link in links)}:
        for path in sorted(place.glob(".*.swap*"), reverse=True):  # a taken file before the one that replaces it
            match = _STAGED.fullmatch(path.name)
            if match:
                yield path, match[1], (match[2], match[3])


def _is_being_edited(path: Path) -> bool:
    """Return whether an editor's file lies beside ``path``: a backup (``x.md~``) or a swap file (``.x.md.swp``)."""
    names = (path.name, f".{path.name}", f"#{path.name}", f".#{path.name}")
    try:
        others = os.listdir(path.parent)  # noqa: PTH208 (a path for each of 10,000 files takes long)
        return any(name != path.name and name.startswith(names) for name in others)
    except FileNotFoundError:
        return False


def _short_name(data: bytes | None) -> str:
    return _NO_FILE if data is None else sha256(data)[:8]


def _staging_path(target: Path, old: bytes | None, new: bytes | None) -> Path:
    return target.with_name(f".{target.name}.{_short_name(old)}{_short_name(new)}.swap")


def _stage(target: Path, data: bytes, expected: bytes | None, mode: int | None = None) -> Path:
    """Write and sync the new file beside the target, with its mode, owner and extended attributes."""
    staged = _staging_path(target, expected, data)
    mode = files.new_mode(target.parent) if mode is None else mode
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY, mode)
    try:
        try:
            if expected is not None:
                _copy_attributes(target, descriptor)
            atomic.write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        failpoints.reach("files.written")
    except BaseException:
        staged.unlink()
        raise
    return staged


def _copy_attributes(target: Path, descriptor: int) -> None:
    status = target.stat()
    if hasattr(os, "fchown"):
        with suppress(OSError):  # only root may give files away
            os.fchown(descriptor, status.st_uid, status.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, status.st_mode & 0o7777)
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # some belong to the system
            for name in os.listxattr(target):
                os.setxattr(descriptor, name, os.getxattr(target, name))
