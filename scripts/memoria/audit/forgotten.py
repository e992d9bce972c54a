"""Forgotten: whether the digests of forgotten texts can be read, and whether a forget is still to be completed."""

from __future__ import annotations

from pathlib import Path

from memoria.base import invocation
from memoria.base.paths import Paths
from memoria.transcripts.screen import Tombstones

UNFINISHED = "a forget was interrupted"
FINISH = "the next worker completes it; {} starts one now"
UNREADABLE = "until then nothing is taken in or searched, because nobody knows what was forgotten"


def problems(paths: Paths) -> list[tuple[str, str]]:
    """Return a sentence and its remedy for each of both."""
    found = [(UNFINISHED, FINISH.format(invocation.shown("flush")))] if Path(paths.forgetting).exists() else []
    try:
        Tombstones.of(paths)
    except OSError as error:
        found.append((f"{paths.forgotten} cannot be read: {error.strerror}", UNREADABLE))
    return found
