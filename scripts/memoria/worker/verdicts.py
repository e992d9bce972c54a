"""Verdicts: which statement of a pair ends by a model's answer, if the rules allow it.

The latest word of the user wins: a statement of the user yields only to a later one of the user's. Others yield to
what was not said before them. A repetition ends the older statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoria.daily.entry import Entry
from memoria.ground.clock import Zone
from memoria.models.tasks import VERDICTS
from memoria.statements.fact import plain
from memoria.wiki.user_words import Moment, UserWords
from memoria.worker.candidates import Pair, Statement

FIRST, SECOND, SAME, BOTH = VERDICTS
MAX_WHY = 300


@dataclass(frozen=True, slots=True)
class Resolution:
    """A statement that ends, and the one that holds instead or, for a ``repetition``, says the same."""

    loser: Statement
    winner: Statement
    origin: str  # the winner's: user, assistant, tool
    moment: Moment  # when the winner was said
    repetition: bool = False
    why: str = ""


class Verdicts:
    """The rules for one home; ``entry_of`` finds the entry that a source means."""

    def __init__(self, zone: Zone, entry_of: Callable[[str], Entry | None]) -> None:
        self.zone = zone
        self.user_words = UserWords(entry_of)

    def resolved(self, answer: Mapping[str, Any], pairs: Sequence[Pair]) -> tuple[list[Resolution], list[str]]:
        """Return what ends by an answer, each statement once, and why other verdicts are not applied."""
        resolutions: list[Resolution] = []
        refused: list[str] = []
        over: set[str] = set()
        for number, verdict in _read(answer, len(pairs)).items():
            pair = pairs[number - 1]
            if over & {pair.first.name, pair.second.name}:
                continue  # what ended is current no longer
            found = self._resolution(pair, *verdict)
            if isinstance(found, str):
                refused.append(found)
            elif found:
                resolutions.append(found)
                over.add(found.loser.name)
        return resolutions, refused

    def _resolution(self, pair: Pair, verdict: str, why: str) -> Resolution | str | None:
        sides = [(pair.second, pair.first), (pair.first, pair.second)]  # the one that ends, and the one that stays
        if verdict == SAME:
            if bool(pair.first.fact) != bool(pair.second.fact):
                return None  # a fact and the claim that tells it
            sides.reverse()  # the older one ends if it may
        elif verdict == SECOND:
            sides = sides[1:]
        else:
            sides = sides[:1]
        for loser, winner in sides:
            if self.yields(loser, winner):
                origin, moment = self.said(winner, loser)
                return Resolution(loser, winner, origin or "assistant", moment, verdict == SAME, why)
        return f"{sides[0][0].name} was said later, or by the user, and does not end for {sides[0][1].name}"

    def yields(self, loser: Statement, winner: Statement) -> bool:
        """Return whether a statement may end because of another."""
        origin, moment = self.said(loser, winner)
        by, when = self.said(winner, loser)
        if "user" in (origin, by) and origin != by:
            return by == "user" and (loser.fact is not None or not when.is_before(moment))
        return not when.is_before(moment)

    def said(self, statement: Statement, instead_of: Statement) -> tuple[str, Moment]:
        """Return who said a statement, ``""`` when a claim does not tell, and when."""
        if claim := statement.claim:
            by_user = self.user_words.said(claim, instead_of.text)
            return ("user", by_user) if by_user else ("", self.user_words.moment(claim))
        fact = statement.fact
        time = (fact.last or fact.time) if fact else None
        began = f"{self.zone.local(time):%Y-%m-%d %H:%M}" if time else statement.day
        return (fact.origin if fact else ""), Moment(began, time)


def _read(answer: Mapping[str, Any], count: int) -> dict[int, tuple[str, str]]:
    """Return the verdict and the reason for each pair, the first of each number; bad ones and ``both`` are left out."""
    found: dict[int, tuple[str, str]] = {}
    listed = answer.get("pairs")
    for row in listed if isinstance(listed, list) else ():
        if not isinstance(row, dict):
            continue
        number, verdict = str(row.get("pair")).strip(), str(row.get("verdict")).strip().lower()
        if number.isdecimal() and 1 <= int(number) <= count and verdict in (FIRST, SECOND, SAME):
            why = plain(row.get("why"), MAX_WHY)
            found.setdefault(int(number), (verdict, why))
    return found
