"""What runs on Windows and macOS calls nothing that is not there; the branches run here with the platform faked."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoria.base import atomic, sqlite, state, user_environment
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.capture import detach
from memoria.search.tokens import word_set
from places import ROOT
from syntax import nodes, tree

# What CPython offers on POSIX systems only (https://docs.python.org/3/library/os.html, "Availability").
OS = word_set(
    """WEXITSTATUS WIFEXITED WIFSIGNALED WNOHANG WTERMSIG chflags chown chroot confstr ctermid eventfd fchdir fchmod
    fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getresgid getresuid
    getsid getuid getxattr initgroups killpg lchown listxattr lockf major makedev memfd_create minor mkfifo mknod nice
    openpty pathconf pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite
    register_at_fork removexattr sched_getaffinity sched_setaffinity sched_yield sendfile setegid seteuid setgid
    setgroups setpgid setpgrp setpriority setregid setresgid setresuid setreuid setsid setuid setxattr splice statvfs
    fstatvfs sync sysconf tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 O_ASYNC O_CLOEXEC O_DIRECT O_DIRECTORY
    O_NOATIME O_NOCTTY O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC O_TMPFILE O_DSYNC"""
)
SIGNALS = word_set(
    """SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGSYS SIGTRAP SIGTSTP SIGTTIN
    SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGWINCH alarm pause pthread_kill pthread_sigmask setitimer sigwait"""
)
NAMES = {"os": OS, "signal": SIGNALS, "_signal": SIGNALS}
MODULES = frozenset(
    ("crypt", "curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
)
SPELLED = re.compile(rf"\b({'|'.join((*OS, *SIGNALS, *MODULES))})\b")
GUARDS = ("os.name", "sys.platform", "hasattr(os", "WINDOWS", "TYPE_CHECKING")
FILES = [*ROOT.glob("scripts/**/*.py"), *ROOT.glob("hooks/*.py")]


def is_guard(node: ast.AST) -> bool:
    return any(word in ast.unparse(node) for word in GUARDS)


def is_guarded(node: ast.AST, above: list[ast.AST]) -> bool:
    """Whether a platform test decides on the node: around it, before it in a function, or by a caught ImportError."""
    for outer in reversed(above):
        if isinstance(outer, ast.If | ast.IfExp | ast.BoolOp) and is_guard(getattr(outer, "test", outer)):
            return True
        if isinstance(outer, ast.Try) and any("ImportError" in ast.unparse(each) for each in outer.handlers):
            return True
        if isinstance(outer, ast.FunctionDef):
            earlier = (part for part in outer.body if part.lineno < node.lineno)  # type: ignore[attr-defined]
            if any(isinstance(part, ast.If) and is_guard(part.test) and leaves(part) for part in earlier):
                return True
    return False


def leaves(node: ast.If) -> bool:
    return isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue)


def calls(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.AST], str]]:
    """Every use of a name that is not on every system, with the nodes around it."""

    def visit(node: ast.AST, above: list[ast.AST]) -> Iterator[tuple[ast.AST, list[ast.AST], str]]:
        yield from ((node, above, name) for name in not_everywhere(node))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, [*above, node])

    return visit(tree, [])


def not_everywhere(node: ast.AST) -> list[str]:
    """The names in a node that are not on every system."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [f"{node.value.id}.{node.attr}"] if node.attr in NAMES.get(node.value.id, ()) else []
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in MODULES]
    if isinstance(node, ast.ImportFrom):
        named = {alias.name for alias in node.names} & NAMES.get(node.module or "", frozenset())
        return list(named or {node.module or ""} & MODULES)
    return []


def unguarded(tree: ast.Module) -> list[str]:
    return [name for node, above, name in calls(tree) if not is_guarded(node, above)]


def test_every_call_that_is_not_on_every_system_stands_behind_a_test_of_the_system() -> None:
    using = [path for path in FILES if SPELLED.search(path.read_text("utf-8"))]
    assert len(using) > 10
    found = {str(path.relative_to(ROOT)): names for path in using if (names := unguarded(tree(path)))}
    assert found == {}


def test_no_text_file_is_written_with_the_systems_line_endings() -> None:
    """``open(..., "w")`` writes CRLF on Windows, where a file must hold the same bytes as elsewhere."""
    allowed = {"scripts/memoria/cli.py", "scripts/memoria/capture/spool.py", "scripts/memoria/models/scripted.py",
               "scripts/memoria/ground/locks.py", "scripts/memoria/ground/printable.py",
               "scripts/memoria/capture/build.py"}  # fmt: skip
    found = set()
    for path in FILES:
        for node in nodes(path) if re.search(r"\b(open|write_text)\(", path.read_text("utf-8")) else ():
            if isinstance(node, ast.Call) and not any(word.arg == "newline" for word in node.keywords):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                modes = {part.value for part in node.args if isinstance(part, ast.Constant)}
                writes = name == "open" and not modes.isdisjoint(("w", "a", "x", "w+", "a+", "r+"))
                if writes or name == "write_text":
                    found.add(str(path.relative_to(ROOT)))
    assert found - allowed == set()


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WINDOWS", True)


class Started:
    """Stands for ``subprocess.Popen`` where a job object may forbid to leave it."""

    def __init__(self, *, may_leave: bool) -> None:
        self.may_leave = may_leave
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    def __call__(self, command: list[str], **options: Any) -> None:
        if command[0] != "python.exe":
            raise FileNotFoundError(2, "The system cannot find the file specified")
        if options["creationflags"] & detach.BREAKAWAY and not self.may_leave:
            raise PermissionError(13, "Access is denied")
        self.calls.append((command, options))


@pytest.mark.parametrize("may_leave", [True, False])
def test_the_worker_leaves_the_clients_job_where_it_may_and_starts_where_it_may_not(
    paths: Paths, windows: None, monkeypatch: pytest.MonkeyPatch, may_leave: bool
) -> None:
    state.make_folders(paths)
    popen = Started(may_leave=may_leave)
    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("fork on Windows"))
    detach.start(["python.exe", "flush.py"], paths)
    ((command, options),) = popen.calls
    assert command == ["python.exe", "flush.py"]
    assert options["creationflags"] == 0x08000200 | (0x01000000 if may_leave else 0), "as in the header winbase.h"
    assert (options["cwd"], options["stdin"]) == (paths.state, subprocess.DEVNULL)
    assert options["env"][user_environment.DETACHED] == "1"
    detach.start(["gone.exe"], paths)
    assert Path(paths.worker_output).read_text("utf-8").startswith("cannot run gone.exe: ")


@pytest.mark.parametrize("is_held", [True, False])
def test_a_held_lock_is_known_by_the_systems_own_lock(
    tmp_path: Path, windows: None, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    def locking(descriptor: int, mode: int, count: int) -> None:
        assert os.fstat(descriptor).st_size == 0
        assert (mode, count) == (2, 1)
        if is_held:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    path = tmp_path / "worker.lock"
    path.touch()
    assert detach.is_locked(str(path)) is is_held
    assert not detach.is_locked(str(tmp_path / "none.lock"))


def test_a_file_that_somebody_has_open_is_replaced_as_soon_as_it_is_closed(
    tmp_path: Path, windows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, refusals = tmp_path / "cursors" / "s-1", os.replace, [1, 1, 1]
    path.parent.mkdir()

    def replace(source: str, target: str) -> None:
        if refusals:
            refusals.pop()
            raise PermissionError(13, "The process cannot access the file")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    atomic.replace(str(path), b"new")
    assert path.read_bytes() == b"new"
    refusals.extend([1] * 20)
    with pytest.raises(PermissionError):
        atomic.replace(str(path), b"newer")
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(("path", "uri"), [
    (r"C:\Users\Ada Ö\memoria\.memoria\index.db", "file:/C:/Users/Ada Ö/memoria/.memoria/index.db"),
    (r"\\server\share\index.db", "file:////server/share/index.db"),
    (r"D:\100%\a#b?.db", "file:/D:/100%25/a%23b%3f.db"),
])  # fmt: skip
def test_a_database_on_a_drive_or_a_server_has_a_uri(path: str, uri: str, windows: None) -> None:
    assert sqlite.uri(path) == uri


def test_a_key_that_a_person_wrote_names_a_file(windows: None) -> None:
    assert places.file_name("a:b\tc" * 40 + "-0123ab") == "a_b_c" * 20 + "-0123ab"


@pytest.mark.parametrize("name", ["con", "CON.md", "aux.", "nul .txt", "com7.tar.gz"])
def test_a_device_is_known_with_any_ending_and_case(name: str) -> None:
    assert places.is_device(name)
    assert not places.is_device("x" + name)
