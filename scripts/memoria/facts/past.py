"""Past: a statement that no longer holds, with what is needed to find what was made of it elsewhere.

A fact that is ended, edited or deleted leaves such a record. It waits in the store until the wiki tells it no more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from memoria.language import cues, statements

CITED, UNCITED = 0.6, 0.8  # share of its words that a sentence of the same entries, or of others, must hold


@dataclass(frozen=True, slots=True)
class Past:
    """A statement that no longer holds.

    ``day``: ISO day on which it ceased to hold. ``instead``: what holds now, empty when nothing replaced it.
    ``projects``: the keys of the projects it held in. ``sources``: the entries that contain its fact. ``deleted``: a
    person deleted the fact, so that it is no history either.
    """

    content: str
    day: str
    instead: str = ""
    projects: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    deleted: bool = False

    @classmethod
    def from_json(cls, body: str) -> Past:
        """Return the statement that ``to_json`` wrote."""
        stored = json.loads(body)
        return cls(**{**stored, "projects": tuple(stored["projects"]), "sources": tuple(stored["sources"])})

    def to_json(self) -> str:
        """Return the statement as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def is_said_by(self, sentence: str, *, cited: bool) -> bool:
        """Return whether a sentence says this, and not what holds instead.

        ``cited``: whether the sentence rests on the entries that contain the fact.
        """
        own, words = statements.words(self.content), statements.words(sentence)
        if not statements.same(own, words) and not statements.repeated_in(own, words, CITED if cited else UNCITED):
            return False
        now = statements.words(self.instead)
        return not now.stems or statements.covered(now, words) < statements.covered(own, words)


def current(text: str, past: Iterable[tuple[Past, bool]]) -> str:
    """Return a text without the sentences that say what no longer holds; each comes with ``cited``, as above."""
    pairs = list(past)
    return _changed(text, lambda part: "" if any(each.is_said_by(part, cited=cited) for each, cited in pairs) else part)


def restated(text: str, past: Past) -> str:
    """Return a text of the fact's entry with what holds instead in the place of what no longer does."""
    return _changed(text, lambda part: past.instead if past.is_said_by(part, cited=True) else part)


def _changed(text: str, change: Callable[[str], str]) -> str:
    told = cues.sentences(text)
    now = list(map(change, told))
    return text if now == told else " ".join(filter(None, now))
