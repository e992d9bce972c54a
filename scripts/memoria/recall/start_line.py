"""Start line: what the worker leaves for the line that a session's start shows to the user.

One small file for each day, named after the second in which the day ends: the worker writes it while the day lasts, and
the first session that starts afterwards takes it away. One for each project that counts its saved conversations: the
worker adds to it, the next session's start takes it away.
"""

from __future__ import annotations

import os

from memoria.base.paths import regular

MAX_CHARS = 1_000  # of a day's line


def leave_day(folder: str, end: int, later: int, texts: tuple[str, str]) -> None:
    """Write a day's line: one text until ``later``, when the day was no longer yesterday, and one from then on."""
    from memoria.base import atomic  # noqa: PLC0415 (hooks only read)

    data = f"{later}\n{texts[0]}\n{texts[1]}\n"
    atomic.replace(os.path.join(folder, str(end)), data.encode("utf-8"))


def take_day(folder: str, now: float) -> str:
    """Return the line of the latest past day and remove those of all past days; ``""`` when there is none."""
    try:
        due = sorted(int(name) for name in os.listdir(folder) if name.isdecimal() and int(name) <= now)
    except OSError:
        return ""
    line = ""
    for end in due:
        path = os.path.join(folder, str(end))
        try:
            with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
                later, yesterday, afterwards = file.read(MAX_CHARS).split("\n")[:3]
            os.unlink(path)  # of two sessions that start at once, one removes it
            line = yesterday if now < float(later) else afterwards
        except (OSError, ValueError):
            continue
    return line


def add_saved(path: str, count: int) -> None:
    """Add to the count in the file ``path``; OSError only costs the line that a session's start would show."""
    from memoria.base import atomic  # noqa: PLC0415 (hooks only read)

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        count += saved(path)
        atomic.replace(path, b"%d" % count)
    except OSError:
        pass


def saved(path: str) -> int:
    """Return the count in a file, 0 when there is none."""
    try:
        with open(path, "rb", opener=regular) as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return 0


def take_saved(path: str) -> int:
    """Return the count in a file and begin again at 0."""
    count = saved(path)
    try:
        os.unlink(path)
    except OSError:
        pass
    return count
