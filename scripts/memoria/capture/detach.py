"""Detach: starting the worker so that it outlives the client, and only when none is at work.

When the client cancels a hook or exits, it ends every process it can still find as a descendant, also one in a new
session; a double fork with setsid is what survives (measured: docs/decisions/0001-capture.md). A hook that ends
right after it has started a process leaves an orphan as well, without copying itself twice (0003-hook-floor.md).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what ``signal`` is made of, without its ``enum``
import os
import sys
import time

from memoria.base import failpoints, interpreter, user_environment
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.settings import Settings

BUILDING = "its packages are being installed"
MINUTE_S = 60.0
APART = 0x08000000 | 0x00000200  # CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP
IGNORED = (_signal.SIGINT,)  # by hooks; what they start would inherit that
BREAKAWAY = 0x01000000  # CREATE_BREAKAWAY_FROM_JOB


def worker_environment() -> dict[str, str]:
    """Return what a worker inherits of this process's environment, marked so that nothing below fires our hooks."""
    environment = {**interpreter.reduce_environment(os.environ), "CLAUDE_INVOKED_BY": "memoria"}
    client = user_environment.client_program()
    if client:
        environment[user_environment.CLIENT] = client
    return environment


def command(settings: Settings, *words: str) -> list[str]:
    """Return the command that runs memoria's command line, empty when no interpreter has our packages yet."""
    python = interpreter.find(settings)
    return places.own_command(python, *words) if python else []


def start_build(paths: Paths) -> str:
    """Start what installs our packages, unless it is at work or has just failed; returns a word for the log.

    When it is done it starts the worker.
    """
    if places.is_wheel():  # an installer made its environment, and can make it again
        return f"the Python that {places.PACKAGE} was installed with has gone: install claude-memoria again"
    if is_locked(interpreter.build_lock()):
        return BUILDING
    reason, failed_at = interpreter.failure()
    if reason and abs(time.time() - failed_at) < MINUTE_S:
        return f"its packages cannot be installed: {reason}"
    start([sys.executable, "-S", "-I", os.path.join(places.ROOT, "scripts", "build_environment.py")], paths)
    return BUILDING


def start_observer(settings: Settings, paths: Paths) -> str:
    """Start what notes where sessions stand, by the same rules as ``start_worker``; returns a word for the log."""
    return _start_one("observer", paths.observer_lock, ("observe",), settings, paths, is_ending=True)


def start_indexer(settings: Settings, paths: Paths) -> str:
    """Start what brings the search index up to date, by the same rules; returns a word for the log."""
    return _start_one("indexer", paths.indexer_lock, ("search", "--wait"), settings, paths)


def start_worker(settings: Settings, paths: Paths, *, is_ending: bool = False) -> str:
    """Start the flush worker unless one is at work; returns a word for the log. ``is_ending`` as in ``start``.

    The caller has put its job on disk before. A worker that holds the lock looks again after letting go. Of two that
    are started within the time that one takes to its lock, the second ends at once.
    """
    return _start_one("worker", paths.worker_lock, ("flush",), settings, paths, is_ending=is_ending)


def _start_one(
    name: str, lock: str, words: tuple[str, ...], settings: Settings, paths: Paths, *, is_ending: bool = False
) -> str:
    if is_locked(lock):
        return name + " busy"
    way = command(settings, *words)
    if not way:
        return f"NO {name.upper()} yet: {start_build(paths)}"
    start(way, paths, is_ending=is_ending)
    if name == "worker":
        failpoints.reach("worker.forked")
    return name + " started"


def start(command: list[str], paths: Paths, *, is_ending: bool = False) -> None:
    """Run a command, detached, and return; ``is_ending``: the caller exits right after this call, as a hook does."""
    environment = {**worker_environment(), user_environment.DETACHED: "1"}
    if places.WINDOWS:
        _start_windows(command, environment, paths)
        return
    if is_ending and _spawn(command, environment, paths, setsid=True):
        return
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        _spawn(command, environment, paths)
    finally:
        os._exit(0)


def _spawn(command: list[str], environment: dict[str, str], paths: Paths, *, setsid: bool = False) -> bool:
    """Start the command as a child that holds nothing of this process, and is an orphan once this one has ended.

    ``setsid``: give it a session of its own, which some systems cannot. Return False when it could not be started.
    """
    if not hasattr(os, "posix_spawn"):
        return False
    null = os.open(os.devnull, os.O_RDWR)
    output = worker_output(paths.worker_output)
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((null, output, output))]
    inherited = [int(name) for name in os.listdir("/dev/fd")]
    closed = [(os.POSIX_SPAWN_CLOSE, number) for number in inherited if number > 2 and _is_inherited(number)]
    interpreter.mark_use(command[0])
    os.chdir(paths.state)  # never hold the user's folder, which may be unmounted or removed
    try:
        os.posix_spawn(
            command[0], command, environment, file_actions=[*actions, *closed], setsid=setsid, setsigdef=IGNORED
        )
    except (OSError, NotImplementedError) as error:  # no such interpreter, or no way to a session of its own
        if not setsid:
            os.write(output, f"cannot run {command[0]}: {error}\n".encode("utf-8", "replace"))
        return False
    return True


def _is_inherited(descriptor: int) -> bool:
    """Return whether a command that is executed now would get this descriptor."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:  # it was only open while the folder was listed
        return False


def go_on_as(command: list[str], paths: Paths, given: bytes) -> None:
    """Replace this process by a command that reads ``given`` and prints where this one prints, so that it can be ended.

    It gets the worker's environment, and what it complains of goes to the worker's log. Raise OSError when the command
    cannot be executed or a pipe does not hold ``given``.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # nobody reads yet
    if os.write(writing, given) < len(given):
        raise OSError(f"a pipe does not hold {len(given)} bytes")
    os.dup2(reading, 0)
    os.dup2(worker_output(paths.worker_output), 2)
    os.chdir(paths.state)
    heed_signals()
    environment = worker_environment()
    os.environ.clear()
    os.environ.update(environment)
    interpreter.become(command)


def is_detached() -> bool:
    """Return whether a hook or a worker started this process, so that nobody reads what it prints."""
    return user_environment.DETACHED in os.environ


def lower_priority() -> None:
    """Lower this process's scheduling priority, so that it does not slow down the user's work."""
    if hasattr(os, "nice"):
        os.nice(max(0, 10 - os.nice(0)))


def heed_signals() -> None:
    """Take back that a hook ignores signals, which a command that is executed would inherit."""
    for signal in IGNORED:
        _signal.signal(signal, _signal.SIG_DFL)


def worker_output(path: str) -> int:
    """Return a descriptor for what a worker prints; a log that cannot be written is no reason not to work."""
    try:
        return places.opener(path, places.WRITING | os.O_APPEND)
    except OSError:
        return os.open(os.devnull, os.O_RDWR)


def _start_windows(command: list[str], environment: dict[str, str], paths: Paths) -> None:
    """Start a command, outside of the client's job where its job object allows that.

    A client that ends its job ends all processes in it. CREATE_NO_WINDOW rather than DETACHED_PROCESS: with a console
    of its own, unseen, the process opens no window for the git and the model's client that it starts.
    """
    import subprocess  # noqa: PLC0415 (slow, and needed on Windows only)

    with os.fdopen(worker_output(paths.worker_output), "ab") as log:
        for flags in (APART | BREAKAWAY, APART):
            try:
                subprocess.Popen(
                    command, env=environment, cwd=paths.state, creationflags=flags,
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                )  # fmt: skip
            except OSError as error:  # the job forbids to leave it, or there is no such interpreter
                reason = error
            else:
                return
        log.write(f"cannot run {command[0]}: {reason}\n".encode("utf-8", "replace"))


def is_locked(path: str) -> bool:
    """Whether another process holds the lock of ``path``."""
    if not os.path.exists(path):
        return False
    descriptor = interpreter.lock(path)
    if descriptor < 0:
        return True
    os.close(descriptor)
    return False
