"""Launch: run the command line or the MCP server in memoria's environment, as soon as that is installed.

The client puts the plugin's ``bin/`` on the PATH of its shells, and any ``python3`` starts it. Both wait for the
environment: a command says so, and the client gives a server 30 seconds, while a build takes some.
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

POLL_S = 0.2
PATIENCE_S = 100.0  # of a command; less than the two minutes that the client gives one of its shell
SERVER_PATIENCE_S = 28.0  # less than the client's for a server
WAITING = "memoria: installing its packages, once for this version; the command runs when that is done\n"
GOES_ON = "its packages are still being installed; try again in a minute"


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
        python = interpreter.find(settings) or _built(settings, patience_s)
        interpreter.become(places.own_command(python, *arguments))
    except OSError as error:
        _refuse(f"{error.filename or 'its interpreter'} cannot be run ({error.strerror})")


def _built(settings: Settings, patience_s: float) -> str:
    """Return the environment's interpreter as soon as it is built; exit when that fails or takes too long."""
    if settings.refusal:
        _refuse(f"{settings.refusal}: {MEND_CONFIG}")
    paths = Paths.of(settings)
    before = _failed_at()
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
        if _failed_at() != before:
            _refuse(f"its packages cannot be installed: {interpreter.failure()}")
        if time.monotonic() > deadline:
            _refuse(GOES_ON)
        time.sleep(POLL_S)
    return python


def _failed_at() -> float:
    """Return when a build last failed, 0 when none has."""
    try:
        return os.stat(interpreter.failure_file()).st_mtime
    except OSError:
        return 0.0


def _refuse(reason: str) -> None:
    sys.stderr.write(f"memoria: {reason.rstrip(' .')}.\n")
    sys.exit(1)
