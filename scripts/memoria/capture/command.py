"""Command: run the command line in memoria's environment, for ``bin/memoria``.

The client puts the plugin's ``bin/`` on the PATH of its shells, and any ``python3`` starts it. While the environment is
still being built, the command waits for it and says so.
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
PATIENCE_S = 100.0  # less than the two minutes that the client gives a command of its shell
WAITING = "memoria: installing its packages, once for this version (about {} MB); the command runs when that is done\n"
GOES_ON = "its packages are still being installed; try again in a minute"
SIZE_MB = 440


def main() -> None:
    """Run the command line with this process's arguments; exits with its status."""
    user_environment.restore()
    settings = Settings.load()
    try:
        python = interpreter.find(settings) or _built(settings)
        interpreter.become([*places.own_command(python, *sys.argv[1:])])
    except OSError as error:
        _refuse(f"{error.filename or 'its interpreter'} cannot be run ({error.strerror})")


def _built(settings: Settings) -> str:
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
    sys.stderr.write(WAITING.format(SIZE_MB))
    sys.stderr.flush()
    deadline = time.monotonic() + PATIENCE_S
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
