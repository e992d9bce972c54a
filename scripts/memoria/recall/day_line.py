"""Day line: the line about a past day that the first session after it shows to the user.

One small file for each day, named after the second in which the day ends. A worker writes it while the day lasts; the
first session that starts afterwards takes it away.
"""

from __future__ import annotations

import os

MAX_CHARS = 1_000


def leave(folder: str, end: int, later: int, texts: tuple[str, str]) -> None:
    """Write a day's line: one text until ``later``, when the day was no longer yesterday, and one from then on."""
    from memoria.base import atomic  # noqa: PLC0415 (hooks only read)

    data = f"{later}\n{texts[0]}\n{texts[1]}\n"
    atomic.replace(os.path.join(folder, str(end)), data.encode("utf-8"))


def take(folder: str, now: float) -> str:
    """Return the line of the latest past day and remove those of all past days; ``""`` when there is none."""
    try:
        due = sorted(int(name) for name in os.listdir(folder) if name.isdecimal() and int(name) <= now)
    except OSError:
        return ""
    line = ""
    for end in due:
        path = os.path.join(folder, str(end))
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                later, yesterday, afterwards = file.read(MAX_CHARS).split("\n")[:3]
            os.unlink(path)  # of two sessions that start at once, one removes it
            line = yesterday if now < float(later) else afterwards
        except (OSError, ValueError):
            continue
    return line
