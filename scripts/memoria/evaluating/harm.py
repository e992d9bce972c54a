"""Harm: notes and rows of a page that may mislead a session.

``superseded``: it says what had ceased to hold by then. ``contradictory``: a note contradicts another row that the same
session was shown. ``ended here``: it says what the session itself put an end to. ``look-alike``: it belongs to another
project, or names a file of the same name in another folder than the one that the session touched.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memoria.evaluating import answers
from memoria.evaluating.history import Session
from memoria.search import comparison, identifiers
from memoria.search.comparison import Words
from memoria.search.similarity import coverage
from memoria.statements.fact import Fact
from memoria.statements.past import Past

SUPERSEDED, CONTRADICTORY, ENDED_HERE, LOOK_ALIKE = "superseded", "contradictory", "ended here", "look-alike"
KINDS = (SUPERSEDED, CONTRADICTORY, ENDED_HERE, LOOK_ALIKE)
_LEAST = 0.5  # of an ended fact's words that a row must hold to be compared closely
_ABOUT = re.compile(r"^- (?:\[(?!\[)[^\]]*\] )?")
_SOURCE = re.compile(r" \([^()]*\)$")
_PER_DAY = "- 20"  # how a page's rows on the last sessions begin; they tell what was said on a day


def said_in(row: str) -> str:
    """Return what a row of a page or a note says, without its kind, day and source."""
    return _SOURCE.sub("", _ABOUT.sub("", row))


class Harm:
    """What would mislead one session: the facts that no longer hold, and the files that it touched."""

    def __init__(self, facts: Iterable[Fact], session: Session) -> None:
        ended = [fact for fact in facts if fact.is_outdated and fact.ended and fact.ended < session.ended]
        self._past = [(fact, Past(fact.content, ""), comparison.words(fact.content)) for fact in ended]
        self._began = session.began
        self._touched = {
            path.replace("\\", "/")
            for exchange in session.exchanges
            for turn in exchange.turns
            for path in answers.touched(turn)
        }

    def count(self, page: Sequence[str], notes: Sequence[str], foreign: int) -> Counter[str]:
        """Count rows of a page and notes by kind of harm; ``foreign`` is the number of other projects' notes."""
        told = {row: comparison.words(said_in(row)) for row in (*page, *notes)}
        found = Counter({LOOK_ALIKE: foreign})
        for row, words in told.items():
            if not row.startswith(_PER_DAY):
                found.update(filter(None, [self._outdated(said_in(row), words)]))
        for row in dict.fromkeys(notes):
            others = (words for other, words in told.items() if other != row)
            found[CONTRADICTORY] += any(comparison.opposed(told[row], words) for words in others)
            found[LOOK_ALIKE] += self._is_look_alike(row)
        return +found

    def _outdated(self, text: str, words: Words) -> str:
        for fact, past, own in self._past:
            if coverage(own.stems, words.stems) >= _LEAST and past.is_said_by(text, cited=False):
                return SUPERSEDED if fact.ended and fact.ended < self._began else ENDED_HERE
        return ""

    def _is_look_alike(self, row: str) -> bool:
        paths = [name for name in identifiers.in_prose(row) if "/" in name and not name.startswith("daily/")]
        return any(self._is_another(path) for path in paths if identifiers.FILE.search(os.path.basename(path)))  # noqa: PTH119

    def _is_another(self, path: str) -> bool:
        """Return whether only files of the same name in other folders were touched."""
        tail = "/" + path.lstrip("./~")
        namesakes = [own for own in self._touched if own.rpartition("/")[2] == path.rpartition("/")[2]]
        return bool(namesakes) and not any(f"/{own}".endswith(tail) or tail.endswith(f"/{own}") for own in namesakes)
