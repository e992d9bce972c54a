"""Turns: an archived conversation as passages of the index.

The index holds the words of a conversation and leaves its texts in the archive. Both sides cut them in the same way, so
that the numbers of the passages agree.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from memoria.ground.errors import ArchiveError
from memoria.index import documents
from memoria.index.documents import Passage
from memoria.search import cues, layout
from memoria.statements.past import Past
from memoria.transcripts.archive import Archive, Kept
from memoria.transcripts.turn import Turn

log = logging.getLogger(__name__)


def hidden(turns: Sequence[Turn], past: Collection[Past]) -> str:
    """Return which sentences say what no longer holds, or what it was learned from: of each turn, by their numbers."""
    found = {}
    for number, turn in enumerate(turns) if past else ():
        told = enumerate(cues.sentences(turn.text))
        if gone := [place for place, sentence in told if any(each.is_spoken_in(sentence) for each in past)]:
            found[number] = gone
    return json.dumps(found) if found else ""


def passages(turns: Sequence[Turn], left_out: str = "") -> Iterator[Passage]:
    """Yield what was said, and what the tools were asked to do, without the sentences that are ``hidden``."""
    gone = json.loads(left_out) if left_out else {}
    for number, turn in enumerate(turns):
        kept = _without(turn, gone[str(number)]) if str(number) in gone else turn
        yield from documents.cut(kept.text, kept.role, own=kept.role == "user")
        yield from documents.cut("\n".join(kept.tools), layout.TOOLS)


def _without(turn: Turn, gone: Collection[int]) -> Turn:
    told = [sentence for place, sentence in enumerate(cues.sentences(turn.text)) if place not in gone]
    return replace(turn, text="\n".join(told))


def reading(folder: Path) -> Callable[[str, str], Sequence[tuple[str, str, bool]]]:
    """Return a function that reads the passages of a conversation from the archive in a state ``folder``."""
    archive = Archive(folder, 0)

    def read(source: str, left_out: str) -> Sequence[tuple[str, str, bool]]:
        try:
            turns = archive.read(Kept(folder / source, "", "", (0, 0)))
        except ArchiveError as error:
            log.info("search: the text of %s cannot be shown: %s", source, error)
            return ()
        return [(each.text, each.label, each.own) for each in passages(turns, left_out)]

    return read
