"""Spawn rate: how many workers hooks may start in a minute, kept in one tiny file.

A fault that makes hooks fire in a circle must not fill the machine with processes. The file holds one byte for each
start within the current minute of the clock; its time of change says which minute that is. Two hooks at the same moment
may both get the last place; the worker lock sees to the rest.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os


def may_spawn(path: str, limit: int, now: float) -> bool:
    """Take a place for one start; False when this minute's are taken. ``now`` is ``time.time()``; 0 is no limit.

    A job whose worker was not started stays in the spool for the next one (``detach`` leaves one that waits for the
    minute to end). True when the file cannot be used: a full
    disk must not keep the worker from reporting it. Opens, looks, and writes one byte.
    """
    if not limit:
        return True
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return True
    try:
        facts = os.fstat(descriptor)
        if facts.st_size and facts.st_mtime // 60 != now // 60:  # another minute, also when the clock was set back
            os.ftruncate(descriptor, 0)
        elif facts.st_size >= limit:
            return False
        os.write(descriptor, b".")
        os.utime(path, (now, now))
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return True
