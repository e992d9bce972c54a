"""Background: a hook that has answered goes on as another command, which the client can still end.

What ``detach`` starts outlives the client; this does not, because the client reads what it prints.
"""

from __future__ import annotations

import os

from memoria.base import interpreter
from memoria.capture import detach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths


def go_on_as(command: list[str], paths: Paths, given: bytes) -> None:
    """Replace this process by a command that reads ``given`` and prints where this one prints.

    It gets the worker's environment, and what it complains of goes to the worker's log. Raise OSError when the command
    cannot be executed or a pipe does not hold ``given``.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # nobody reads yet
    if os.write(writing, given) < len(given):
        raise OSError(f"a pipe does not hold {len(given)} bytes")
    os.close(writing)
    os.dup2(reading, 0)
    os.dup2(detach.worker_output(paths.worker_output, os.open(os.devnull, os.O_RDWR)), 2)
    os.chdir(paths.state)
    detach.heed_signals()
    environment = detach.worker_environment()
    os.environ.clear()
    os.environ.update(environment)
    interpreter.become(command)
