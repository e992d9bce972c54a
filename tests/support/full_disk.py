"""A disk that is full at the n-th write, in a child of this process: what the tests of a full disk stand on.

Every call of Python's that can take room below one folder is counted (making a file or folder, writing, syncing,
renaming, truncating); a chosen one fails with ENOSPC as the kernel would let it. ``open`` is Python's own pure form, so
that the writes of buffered files are counted too. SQLite writes past Python: for its files the child is given a limit
on the size of files, which the kernel holds it to (EFBIG).
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import logging
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HANGS_S = 60


@dataclass(frozen=True, slots=True)
class Done:
    """How a child ended. ``hit``: the calls that failed, as ``call file``; ``status`` -14 when it hung."""

    status: int
    out: str
    err: str
    hit: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong below ``folder``: the ``nth`` call (and, ``lasting``, all that take room after it) fails.

    ``among``: only files with this in their path count. ``most_bytes``: no file may grow beyond it.
    """

    folder: str = ""
    nth: int = 0
    lasting: bool = False
    among: str = ""
    most_bytes: int | None = None


def run(work: Callable[[], int], env: Mapping[str, str], *, stdin: bytes = b"", cwd: str = "/", fault: Fault) -> Done:
    """Do the work in a forked child with this environment and this fault."""
    out, err, hits = os.pipe(), os.pipe(), os.pipe()
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        child = os.fork()
        if child == 0:
            try:
                _child(work, env, cwd, (source.fileno(), out[1], err[1], hits[1]), fault)
            finally:
                os._exit(99)
    for descriptor in (out[1], err[1], hits[1]):
        os.close(descriptor)
    said = [_read(pipe[0]) for pipe in (out, err, hits)]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Done(status, said[0], said[1], tuple(said[2].splitlines()))


def _read(descriptor: int) -> str:
    with os.fdopen(descriptor, "rb") as file:
        return file.read().decode("utf-8", "replace")


def _child(
    work: Callable[[], int], env: Mapping[str, str], cwd: str, pipes: tuple[int, int, int, int], fault: Fault
) -> None:
    for target, descriptor in enumerate(pipes):
        os.dup2(descriptor, target)
    os.closerange(4, 256)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    for name in (None, "memoria"):
        logging.getLogger(name).handlers.clear()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(HANGS_S if fault != Fault() else 20 * HANGS_S)
    if fault.most_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.most_bytes, resource.RLIM_INFINITY))
    if fault.nth:
        _Counter(fault, 3).install()
    try:
        status = work()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001 (whatever it is, the parent is to see it)
        traceback.print_exc()
        status = 98
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _Counter:
    """Counts the calls that take room and lets the chosen ones fail."""

    def __init__(self, fault: Fault, report: int) -> None:
        self.fault = fault
        self.report = report
        self.count = 0
        self.files: dict[int, str] = {}
        self.write = os.write

    def install(self) -> None:
        """Put the counter in front of the calls."""
        io.open = builtins.open = importlib.import_module("_pyio").open
        os.open = self._opened(os.open)
        for name, always in (("write", True), ("fsync", False), ("ftruncate", False)):
            setattr(os, name, self._on_file(name, getattr(os, name), takes_room=always))
        for name in ("replace", "rename", "mkdir"):
            setattr(os, name, self._on_path(name, getattr(os, name), takes_room=name == "mkdir"))

    def _pass(self, name: str, path: str, *, takes_room: bool) -> None:
        if self.fault.among not in path:
            return
        self.count += 1
        over = self.fault.lasting and takes_room and self.count > self.fault.nth
        if self.count == self.fault.nth or over:
            self.write(self.report, f"{name} {os.path.relpath(path, self.fault.folder)}\n".encode())
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def _is_ours(self, path: Any) -> bool:
        return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(self.fault.folder)

    def _opened(self, call: Any) -> Any:
        def opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            new = bool(flags & os.O_CREAT) and self._is_ours(path) and not Path(path).exists()
            if new:
                self._pass("open", os.fspath(path), takes_room=True)
            descriptor: int = call(path, flags, *args, **kwargs)
            self.files.pop(descriptor, None)
            if self._is_ours(path):
                self.files[descriptor] = os.fspath(path)
            return descriptor

        return opened

    def _on_file(self, name: str, call: Any, *, takes_room: bool) -> Any:
        def counted(descriptor: int, *args: Any) -> Any:
            if descriptor in self.files:
                self._pass(name, self.files[descriptor], takes_room=takes_room)
            return call(descriptor, *args)

        return counted

    def _on_path(self, name: str, call: Any, *, takes_room: bool) -> Any:
        def counted(path: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_ours(path) and not (name == "mkdir" and Path(path).exists()):  # that is EEXIST, full or not
                self._pass(name, os.fspath(path), takes_room=takes_room)
            return call(path, *args, **kwargs)

        return counted
