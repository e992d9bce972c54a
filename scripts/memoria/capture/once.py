"""Once: of hooks that are installed twice, as a plugin and in the settings, only one answers each event.

The first hook to create a file that names session, event and moment answers. Another installation's hook that finds it
within CLAIM_S does not; the same installation's does, because the client may repeat an event.
"""

from __future__ import annotations

import os
import time

from memoria.base import paths as places
from memoria.base.paths import safe_name

CLAIM_S = 10  # hooks of one event start within moments of each other
ENDING = ".claim"
CLAIM = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def is_first(folder: str, session: str, event: str) -> bool:
    """Return whether no hook of another installation has answered this event of a session."""
    now = time.time()
    moment = int(now // CLAIM_S)
    about = f"{session}.{safe_name(event)}"  # the event's name holds what the client said
    names = [os.path.join(folder, f"{about}.{number}{ENDING}") for number in (moment, moment - 1)]
    try:
        try:
            descriptor = os.open(names[0], CLAIM, 0o600)
        except FileNotFoundError:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor = os.open(names[0], CLAIM, 0o600)
    except FileExistsError:
        return _owner(names[0], now) in ("", installation())
    except OSError:  # better twice than never
        return True
    try:
        os.write(descriptor, installation().encode("utf-8", "replace"))
    finally:
        os.close(descriptor)
    return _owner(names[1], now) in ("", installation())


def installation() -> str:
    """Return what tells the installations of memoria apart: the folder, and whether it runs as a plugin."""
    return f"{places.ROOT} ({'a plugin' if places.is_plugin() else 'the settings'})"


def _owner(path: str, now: float) -> str:
    try:
        if now - os.stat(path).st_mtime > CLAIM_S:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(5000)
    except OSError:
        return ""
