"""User words: when the user said what a claim says, so that the latest word of the user wins.

The user's words are the facts of an entry that the user stated, whatever their kind, and all that a person wrote into a
daily log by hand or said against a claim.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoria.daily.day_text import LearnedLine
from memoria.daily.entry import PUT_RIGHT, Entry, Learned
from memoria.daily.entry_form import HAND
from memoria.ground import clock
from memoria.search import comparison
from memoria.search.words import overlap
from memoria.wiki.article import Claim

MIN_SHARED = 0.5  # two sentences that share this part of the shorter one's words are about the same thing
_PERSONAL = ("correction", "preference")  # kinds that only the user states


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was said: when its conversation began, and the exact time if that is known."""

    began: str
    time: datetime | None = None

    def is_before(self, other: Moment) -> bool:
        """Return whether this was said before the other; by the exact times when both are known."""
        if self.time and other.time:
            return self.time < other.time
        return self.began < other.began


class UserWords:
    """What the user said in entries; ``entry_of`` finds the entry that a source means."""

    def __init__(self, entry_of: Callable[[str], Entry | None]) -> None:
        self.entry_of = entry_of

    def moment(self, claim: Claim) -> Moment:
        """Return when the newest conversation that the claim cites began."""
        found = [_began(entry) for source in claim.sources if (entry := self.entry_of(source))]
        return Moment(max(found, default=claim.day))

    def said(self, claim: Claim, instead_of: str = "") -> Moment | None:
        """Return when the user last said in a cited entry what the claim says, None when that was never.

        With ``instead_of``, words that are closer to that text than to the claim do not count, unless they oppose it.
        """
        newest: Moment | None = None
        for source in claim.sources:
            entry = self.entry_of(source)
            for text, moment in _spoken(entry) if entry else ():
                if _means(text, claim.text, instead_of) and (newest is None or newest.is_before(moment)):
                    newest = moment
        return newest

    def ended(self, old: Claim, why: str, sources: Iterable[str]) -> Moment | None:
        """Return when the user last said in these entries what ends a claim, None when that was never."""
        words, reason = comparison.words(old.text), comparison.words(why)
        newest: Moment | None = None
        for source in sources:
            entry = self.entry_of(source)
            for text, moment in _spoken(entry) if entry else ():
                said = comparison.words(text)
                about = max(overlap(said.stems, words.stems), overlap(said.stems, reason.stems))
                again = comparison.same(said, words) and not comparison.opposed(said, words)
                if about >= MIN_SHARED and not again and (newest is None or newest.is_before(moment)):
                    newest = moment
        return newest


def _began(entry: Entry) -> str:
    return f"{entry.day.isoformat()} {entry.time}"


def _spoken(entry: Entry) -> Iterator[tuple[str, Moment]]:
    """Yield each statement of the user in an entry that still holds, with its moment."""
    for learned in entry.learned:
        stated = _particulars(learned)
        origin = stated.get("origin", "user" if learned.kind in _PERSONAL else "")
        if origin == "user" and not learned.ended:
            time = clock.parse(stated.get("last") or stated.get("time"))
            yield learned.text, Moment(_began(entry), time)
    if entry.model in (HAND, PUT_RIGHT):
        parts = (entry.title, *entry.context.splitlines(), *entry.key_exchanges, *entry.decisions, *entry.lessons)
        for text in parts:
            yield text, Moment(_began(entry))


def _particulars(learned: Learned) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for text in LearnedLine(learned, 0, 0).particulars:
        try:
            loaded = json.loads(text)
        except ValueError:
            continue
        stated |= loaded if isinstance(loaded, dict) else {}
    return stated


def _means(said: str, claim: str, instead_of: str) -> bool:
    """Return whether what the user said is about the claim, and no less than about the text that it replaces."""
    words = comparison.words(said)
    share = overlap(words.stems, comparison.words(claim).stems)
    if not instead_of:
        return share >= MIN_SHARED
    old = comparison.words(instead_of)
    theirs = overlap(words.stems, old.stems)
    if comparison.opposed(words, old):
        return max(share, theirs) >= MIN_SHARED
    return share >= MIN_SHARED and share >= theirs
