"""Spawn rate: limit the number of workers that hooks start in a minute.

A fault that makes hooks trigger each other must not fill the machine with processes. A file holds one byte for each
start in the current minute of the clock, which its modification time identifies. Two simultaneous hooks may both take
the last place; the worker's lock makes that harmless.
"""

from __future__ import annotations

import os


def may_spawn(path: str, limit: int, now: float) -> bool:
    """Count one start at ``now`` (``time.time()``); return False when ``limit`` is reached. A ``limit`` of 0 is none.

    The job of a worker that was not started stays in the spool for the next one; ``detach`` starts one that waits for
    the minute to end. Returns True when the file cannot be used, so that the worker can report a full disk.
    """
    if not limit:
        return True
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return True
    try:
        status = os.fstat(descriptor)
        if status.st_size and status.st_mtime // 60 != now // 60:  # another minute, also when the clock was set back
            os.ftruncate(descriptor, 0)
        elif status.st_size >= limit:
            return False
        os.write(descriptor, b".")
        os.utime(path, (now, now))
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return True
