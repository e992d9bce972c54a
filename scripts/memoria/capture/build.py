"""Build: make the environment that the worker and the MCP server run in, once for each ``requirements.lock``.

It is built beside its place and moved there when it is whole, under a lock, so that whoever finds it can use it. Runs
detached, with uv or else with ``venv`` and pip, in a folder of memoria's own: neither ever sees a user's project. Every
package is checked against its hash. What an earlier version left goes when nothing has begun in it for a month.

The command line and the MCP server wait for it. The client puts the plugin's ``bin/`` on the PATH of its shells, and
any ``python3`` starts that; it gives a server 30 seconds, while a build takes some.
"""

from __future__ import annotations

import os
import sys
import time

from memoria.base import interpreter, state, user_environment
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.settings import MEND_CONFIG, Settings
from memoria.capture import detach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STEP_TIMEOUT_S = 900.0  # for the slowest of lines; uv takes seconds
UNUSED_S = 30 * 86_400.0  # longer than a session is left open
PYTHONS = ("python3.13", "python3.12", "python3.11", "python3.14", "python3")
FITS = "import sys; sys.exit(sys.version_info < (3, 11))"
WITHOUT_CLIENT = "claude-agent-sdk"  # its wheel holds a client of 365 MB, its source distribution none
IMPORTS = "import anyio, jinja2, yaml"
NOTHING_FOUND = "neither uv nor Python 3.11 or newer was found: install uv (https://docs.astral.sh/uv/)"
POLL_S = 0.2
PATIENCE_S = 100.0  # of a command; less than the two minutes that the client gives one of its shell
SERVER_PATIENCE_S = 28.0  # less than the client's for a server
WAITING = "memoria: installing its packages, once for this version; the command runs when that is done\n"
GOES_ON = "its packages are still being installed; try again in a minute"


class BuildError(Exception):
    """A step of the build failed; the message is one line that says why."""


def main() -> None:
    """Build the environment unless it stands or another process is at it, and start the worker in it."""
    user_environment.restore()
    settings = Settings.load()
    paths = Paths.of(settings)
    places.private_folder(interpreter.data_folder())
    if interpreter.lock(interpreter.build_lock()) < 0:  # which is held until this process ends
        return
    try:
        if not interpreter.find(settings):
            build(interpreter.environment())
            remove_unused()
    except (BuildError, OSError) as error:
        with open(interpreter.failure_file(), "w", encoding="utf-8", errors="replace", opener=places.opener) as file:
            file.write(f"{error}\n")
        raise SystemExit(f"cannot build memoria's environment: {error}") from None
    detach.start_worker(settings, paths)


def build(folder: str) -> None:
    """Make the environment at ``folder``; BuildError when no way leads there."""
    beside = f"{folder}.{os.getpid()}.tmp"
    reasons = []
    for steps in _ways(beside):
        _remove(beside)
        try:
            for step in steps:
                _run(step)
            _run([interpreter.python_of(beside), "-I", "-c", IMPORTS])
        except BuildError as error:
            reasons.append(str(error))
            continue
        _remove(folder)  # whose interpreter has gone: else it would have been found
        os.rename(beside, folder)
        _forget_failure()
        return
    _remove(beside)
    raise BuildError("; ".join(reasons) or NOTHING_FOUND)


def _ways(folder: str) -> Iterator[list[list[str]]]:
    """Yield ways to make an environment at ``folder``, best first, each as the commands to run."""
    lock = os.path.join(places.ROOT, interpreter.LOCK_FILE)
    python = interpreter.python_of(folder)
    install = ["install", "--quiet", "--require-hashes", "--no-deps", "--no-binary", WITHOUT_CLIENT, "-r", lock]
    uv = interpreter.find_program("uv")
    if uv:
        yield [
            [uv, "venv", "--quiet", "--no-project", "--python", ">=3.11", folder],
            [uv, "pip", *install, "--python", python],
        ]
    base = find_python()
    if base:
        yield [
            [base, "-I", "-m", "venv", folder],
            [python, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", *install],
        ]


def find_python() -> str:
    """Return a Python that is new enough for the worker, ``""`` when there is none on PATH."""
    for path in [*map(interpreter.find_program, PYTHONS), sys.executable]:
        try:
            if path:
                _run([path, "-I", "-c", FITS])
                return path
        except BuildError:
            continue
    return ""


def _run(command: list[str]) -> None:
    import subprocess  # noqa: PLC0415 (slow, and needed by the build only)

    name = os.path.basename(command[0])
    try:
        done = subprocess.run(
            command, env=interpreter.clean(os.environ), cwd=interpreter.data_folder(), check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=STEP_TIMEOUT_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{name}: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").split()
        raise BuildError(f"{name}: {' '.join(said)[-600:] or f'exit status {done.returncode}'}")


def remove_unused() -> None:
    """Remove the environments of other versions that nothing begins in any more, and what broken builds left."""
    own = os.path.basename(interpreter.environment())
    for entry in list(os.scandir(interpreter.data_folder())):
        is_other = entry.name.startswith(interpreter.OWN_PREFIX) and entry.name != own
        if is_other and entry.is_dir(follow_symlinks=False) and (entry.name.endswith(".tmp") or _is_unused(entry.path)):
            _remove(entry.path)


def _is_unused(folder: str) -> bool:
    mark = os.path.join(folder, interpreter.USED)
    try:
        last = os.stat(mark if os.path.exists(mark) else folder).st_mtime
    except OSError:
        return False
    return time.time() - last > UNUSED_S


def _remove(folder: str) -> None:
    if not os.path.lexists(folder):
        return
    import shutil  # noqa: PLC0415 (slow, and needed by the build only)

    going = f"{folder}.{os.getpid()}.gone.tmp"  # in one step: nobody finds half of it
    try:
        os.rename(folder, going)
    except OSError:  # Windows: something in it runs
        return
    shutil.rmtree(going, ignore_errors=True)


def _forget_failure() -> None:
    try:
        os.unlink(interpreter.failure_file())
    except OSError:
        pass


# -- what waits for it


def run_command() -> None:
    """Run the command line with this process's arguments; exits with its status."""
    _become(sys.argv[1:], PATIENCE_S)


def serve_mcp() -> None:
    """Become the MCP server."""
    _become(["mcp"], SERVER_PATIENCE_S)


def _become(arguments: list[str], patience_s: float) -> None:
    user_environment.restore()
    settings = Settings.load()
    try:
        python = interpreter.find(settings) or _await_build(settings, patience_s)
        interpreter.become(places.own_command(python, *arguments))
    except OSError as error:
        _refuse(f"{error.filename or 'its interpreter'} cannot be run ({error.strerror})")


def _await_build(settings: Settings, patience_s: float) -> str:
    """Return the environment's interpreter as soon as it is built; exit when that fails or takes too long."""
    if settings.refusal:
        _refuse(f"{settings.refusal}: {MEND_CONFIG}")
    paths = Paths.of(settings)
    _, before = interpreter.failure()
    try:
        state.open_state(paths)
        word = detach.start_build(paths)
    except (OSError, state.StateError) as error:
        _refuse(str(error))
    if word != detach.BUILDING:
        _refuse(word)
    sys.stderr.write(WAITING)
    sys.stderr.flush()
    deadline = time.monotonic() + patience_s
    while not (python := interpreter.find(settings)):
        reason, failed_at = interpreter.failure()
        if failed_at != before:
            _refuse(f"its packages cannot be installed: {reason}")
        if time.monotonic() > deadline:
            _refuse(GOES_ON)
        time.sleep(POLL_S)
    return python


def _refuse(reason: str) -> None:
    sys.stderr.write(f"memoria: {reason.rstrip(' .')}.\n")
    sys.exit(1)
