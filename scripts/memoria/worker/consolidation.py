"""Consolidation: let a model judge the likeliest contradictions and repetitions in one call, and apply its verdicts.

The latest word of the user wins: a statement of the user yields only to a later one of the user's, others yield to what
was not said before them; of a repetition the older one ends. What ends is ended in the articles by one transaction, and
``memoria undo`` takes both back. A pair is asked about once, so that neither a verdict of ``both`` nor an undone one
comes up again. Both statements of a pair belong to the same project, or both to all projects.
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoria.base.settings import env_of
from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.ground import clock, printable
from memoria.ground.files import sha256
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Prompt
from memoria.models.tasks import VERDICTS
from memoria.pages import refresh
from memoria.search import comparison
from memoria.search.comparison import Words
from memoria.search.words import jaccard, overlap
from memoria.statements import conflicts
from memoria.statements.conflicts import said
from memoria.statements.fact import GLOBAL, Ending, Fact, plain
from memoria.statements.keeper import Keeper
from memoria.wiki.settle import Settle
from memoria.wiki.transaction import End

log = logging.getLogger(__name__)

DAY = "last_consolidation"  # in the ledger: the user's day of the last call
KNOWN = "consolidated_pairs"  # in the ledger: digests of the pairs that were asked about, newest last
MAX_PAIRS, MIN_PAIRS = 25, 8  # of one call; fewer wait, unless one opposes another
MAX_KNOWN = 10_000
MAX_WHY = 300
FIRST, SECOND, SAME, _ = VERDICTS
MIN_SIMILARITY, MIN_OVERLAP = 0.25, 0.5  # share of all their stems, or of the shorter one's, that a pair has in common
MIN_SHARED = 2  # stems that are no numbers
MAX_FOUND = 60  # a stem in more statements of a project than this leads to no pair; rarer ones do
CONFLICT, DIFFERENCE = 1.0, 0.25  # added to the similarity of two that oppose each other, or differ in a number or sign


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, the older one ``first``, and how likely they contradict or repeat each other."""

    first: Fact
    second: Fact
    score: float

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits for what both statements are and say."""
        joined = sorted(f"{fact.project} {fact.content}" for fact in (self.first, self.second))
        return sha256("\n".join(joined))[:16]


def pairs(facts: Iterable[Fact], known: Collection[str] = ()) -> Iterator[Pair]:
    """Yield the candidates among live statements, in no order; ``known``: digests of pairs that are left out."""
    groups: defaultdict[str, list[tuple[Fact, Words]]] = defaultdict(list)
    for fact in facts:
        groups[fact.project].append((fact, comparison.words(fact.content)))
    for group in groups.values():
        for (one, words), (other, others) in _similar(group):
            if (one.session, one.time) == (other.session, other.time) or comparison.differ_in_subject(words, others):
                continue
            first, second = sorted((one, other), key=lambda fact: (said(fact), fact.id))
            pair = Pair(first, second, _score(words, others))
            if pair.digest not in known:
                yield pair


def _similar(group: Sequence[tuple[Fact, Words]]) -> Iterator[tuple[tuple[Fact, Words], tuple[Fact, Words]]]:
    """Yield the pairs that share enough stems, without comparing every statement with every other."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, (_, words) in enumerate(group):
        for stem in words.stems:
            if not stem[0].isdigit():
                places[stem].append(number)
    for number, (_, words) in enumerate(group):
        shared: Counter[int] = Counter()
        for stem in words.stems:
            if len(found := places.get(stem, ())) <= MAX_FOUND:
                shared.update(place for place in found if place > number)
        for place, count in shared.items():
            stems, others = words.stems, group[place][1].stems
            if count >= MIN_SHARED and (
                jaccard(stems, others) >= MIN_SIMILARITY or overlap(stems, others) >= MIN_OVERLAP
            ):
                yield group[number], group[place]


def _score(one: Words, other: Words) -> float:
    score = jaccard(one.stems, other.stems)
    if comparison.opposed(one, other):
        return score + CONFLICT
    return score + DIFFERENCE * (bool(one.numbers ^ other.numbers) + bool(one.against ^ other.against))


@dataclass(slots=True)
class Consolidation:
    """One run and everything that it reads and writes; the caller holds the compile lock."""

    home: Home
    ledger: Ledger
    index: Index
    model: Metered
    keeper: Keeper

    def due(self) -> list[Pair]:
        """Return the pairs to ask about now: none on a day with a call; few wait for more, unless two are opposed."""
        if self.ledger.get(DAY) == self._today():
            return []
        pairs = self.likeliest()
        return pairs if len(pairs) >= MIN_PAIRS or any(pair.score >= CONFLICT for pair in pairs) else []

    def run(self, pairs: Sequence[Pair]) -> None:
        """Ask about these pairs and apply the verdicts. Raise ModelError when the model gives no answer."""
        if not pairs:
            return
        self.ledger.put(DAY, self._today())  # before the call, so that a failing one is not repeated today
        scopes = {pair.first.project for pair in pairs} - {GLOBAL}
        completion = self.model.complete(self.prompt(pairs), scopes.pop() if len(scopes) == 1 else "")
        if ends := self._resolved(completion.data, pairs):
            self._apply(ends)
        known = [*(self.ledger.get(KNOWN) or ()), *(pair.digest for pair in pairs)]
        self.ledger.put(KNOWN, list(dict.fromkeys(known))[-MAX_KNOWN:])

    def prompt(self, pairs: Sequence[Pair]) -> Prompt:
        """Return the prompt that a model is asked about these pairs."""
        shown = [{"first": self._material(pair.first), "second": self._material(pair.second)} for pair in pairs]
        return tasks.consolidate({"pairs": shown})

    def _material(self, fact: Fact) -> JsonObject:
        day = self.home.zone.day(conflicts.said(fact)).isoformat()
        return {"id": fact.id, "day": day, "origin": fact.origin, "text": " ".join(fact.content.split())}

    def likeliest(self) -> list[Pair]:
        """Return the pairs for the next call, the likeliest first; they share one model service."""
        projects, visible = self.home.settings.projects, Visibility(self.home.settings, self.home.paths)
        groups: defaultdict[tuple[tuple[str, str], ...], list[Fact]] = defaultdict(list)
        for fact in self.keeper.store.facts():
            if not visible.hides(fact.project):
                groups[tuple(sorted(env_of(fact.project, projects).items()))].append(fact)
        known = frozenset(self.ledger.get(KNOWN) or ())
        best = [self._best(pairs(group, known)) for group in groups.values()]
        return max(best, key=lambda pairs: pairs[0].score if pairs else 0.0, default=[])

    def _best(self, found: Iterator[Pair]) -> list[Pair]:
        chosen: list[Pair] = []
        size = 0
        for pair in heapq.nlargest(MAX_PAIRS, found, key=lambda pair: (pair.score, pair.digest)):
            size += len(pair.first.content) + len(pair.second.content)
            if chosen and size > self.home.settings.call_chars:
                break
            chosen.append(pair)
        return chosen

    def _resolved(self, answer: Mapping[str, Any], pairs: Sequence[Pair]) -> list[End]:
        """Return what ends by an answer, each statement once."""
        ends: dict[str, End] = {}
        for number, (verdict, why) in _read(answer, len(pairs)).items():
            pair = pairs[number - 1]
            if {pair.first.id, pair.second.id} & ends.keys():
                continue  # what ended is current no longer
            end = _end(pair, verdict)
            if end is None:
                log.info("%s and %s: the other was said later, or by the user", pair.first.id, pair.second.id)
            else:
                loser, winner = (pair.first, pair.second) if end.id == pair.first.id else (pair.second, pair.first)
                ends[end.id] = end.to_dict() | {"content": loser.content, "instead": winner.content, "why": why}
        return list(ends.values())

    def _apply(self, ends: Sequence[End]) -> None:
        """End the statements, also where articles show them, and update everything derived from both.

        What was said again, or ended otherwise, while the model thought, is left alone.
        """
        self.keeper.refresh()
        ended = {fact.id for fact in self.keeper.take([], endings=map(Ending.from_dict, ends)).ended}
        applied = [end for end in ends if end["id"] in ended]
        if applied:
            label = f"consolidation: ended {printable.counted(len(applied), 'statement')}"
            Settle(self.home, self.keeper, self.index, ends=applied, label=label).run()
            sources.refresh(self.index, self.home.paths)
            refresh.renew(self.home, self.keeper)

    def _today(self) -> str:
        return self.home.zone.day(clock.now()).isoformat()


def _end(pair: Pair, verdict: str) -> Ending | None:
    if verdict == SAME:
        return conflicts.united(pair.first, pair.second)
    loser, winner = (pair.second, pair.first) if verdict == FIRST else (pair.first, pair.second)
    return conflicts.ending(loser, winner)


def _read(answer: Mapping[str, Any], count: int) -> dict[int, tuple[str, str]]:
    """Return the verdict and the reason for each pair, the first of each number; bad ones and ``both`` are left out."""
    found: dict[int, tuple[str, str]] = {}
    listed = answer.get("pairs")
    for row in listed if isinstance(listed, list) else ():
        if not isinstance(row, dict):
            continue
        number, verdict = str(row.get("pair")).strip(), str(row.get("verdict")).strip().lower()
        if number.isdecimal() and 1 <= int(number) <= count and verdict in (FIRST, SECOND, SAME):
            found.setdefault(int(number), (verdict, plain(row.get("why"), MAX_WHY)))
    return found
