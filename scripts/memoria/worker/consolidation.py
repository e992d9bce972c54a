"""Consolidation: let a model judge the likeliest contradictions and repetitions in one call, and apply its verdicts.

What ends is one transaction of the wiki, with the facts that end; ``memoria undo`` takes it back. A pair is asked about
once, so that neither a verdict of ``both`` nor an undone one comes up again.
"""

from __future__ import annotations

import heapq
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from memoria.base.settings import env_of
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground import clock, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Prompt
from memoria.pages import housekeeping, refresh
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.wiki import index_page
from memoria.wiki.article_cache import ArticleCache
from memoria.wiki.commit import commit
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import ChangedError
from memoria.worker import candidates
from memoria.worker.candidates import Pair, Statement
from memoria.worker.draft import Draft
from memoria.worker.verdicts import Resolution, Verdicts

log = logging.getLogger(__name__)

DAY = "last_consolidation"  # in the ledger: the user's day of the last call
KNOWN = "consolidated_pairs"  # in the ledger: digests of the pairs that were asked about, newest last
MAX_PAIRS = 25  # of one call
MAX_KNOWN = 10_000
TRIES = 3  # when a person saves a page meanwhile


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run: the pairs that were asked about, what ended, and why other verdicts were not applied."""

    pairs: int = 0
    applied: tuple[Resolution, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(slots=True)
class Consolidation:
    """One run and everything that it reads and writes; the caller holds the compile lock."""

    home: Home
    ledger: Ledger
    index: Index
    model: Metered
    keeper: Keeper
    _days: dict[str, dict[str, Entry]] = field(default_factory=dict)  # of daily logs that were read, by entry id

    def is_due(self) -> bool:
        """Return whether the user wants it and no call was made for it today."""
        return self.home.settings.consolidate and self.ledger.get(DAY) != self._today()

    def run(self, pairs: Sequence[Pair]) -> Report:
        """Ask about these pairs and apply the verdicts. Raise ModelError when the model gives no answer."""
        if not pairs:
            return Report()
        self.ledger.put(DAY, self._today())  # before the call, so that a failing one is not repeated today
        scopes = {pair.first.scope for pair in pairs} - {GLOBAL}
        completion = self.model.complete(self.prompt(pairs), scopes.pop() if len(scopes) == 1 else "")
        resolutions, refused = Verdicts(self.home.zone, self._entry_of).resolved(completion.data, pairs)
        applied = self._apply(resolutions) if resolutions else []
        self._remember(pairs)
        for reason in refused:
            log.info("verdict not applied: %s", reason)
        return Report(len(pairs), tuple(applied), tuple(refused))

    @staticmethod
    def prompt(pairs: Sequence[Pair]) -> Prompt:
        """Return the prompt that a model is asked about these pairs."""
        shown = [{"first": _material(pair.first), "second": _material(pair.second)} for pair in pairs]
        return tasks.consolidate({"pairs": shown})

    # -- what to ask about

    def likeliest(self) -> list[Pair]:
        """Return the pairs for the next call, the likeliest first; they share one model service."""
        projects = self.home.settings.projects
        groups: defaultdict[tuple[tuple[str, str], ...], list[Statement]] = defaultdict(list)
        for statement in self._statements():
            groups[tuple(sorted(env_of(statement.scope, projects).items()))].append(statement)
        known = frozenset(self.ledger.get(KNOWN) or ())
        best = [self._best(group, known) for group in groups.values()]
        return max(best, key=lambda pairs: pairs[0].score if pairs else 0.0, default=[])

    def _best(self, found: Sequence[Statement], known: frozenset[str]) -> list[Pair]:
        pairs = (pair for pair in candidates.pairs(found, known) if not self._is_made_of(pair))
        chosen: list[Pair] = []
        size = 0
        for pair in heapq.nlargest(MAX_PAIRS, pairs, key=lambda pair: (pair.score, pair.digest)):
            size += len(pair.first.text) + len(pair.second.text)
            if chosen and size > self.home.settings.call_chars:
                break
            chosen.append(pair)
        return chosen

    def _is_made_of(self, pair: Pair) -> bool:
        """Return whether a claim rests on nothing but the entries of the fact that it is compared with."""
        fact, claim = pair.first.fact or pair.second.fact, pair.first.claim or pair.second.claim
        return fact is not None and claim is not None and set(claim.sources) <= self._sources(fact)

    def _sources(self, fact: Fact) -> set[str]:
        """Return the entries that a fact is in, or those of its session on its day."""
        entries = self._entries((self.keeper.store.day(fact.id) or self.home.zone.day(fact.time)).isoformat()).values()
        holding = {entry.source for entry in entries if any(learned.id == fact.id for learned in entry.learned)}
        return holding or {entry.source for entry in entries if fact.session and entry.session == fact.session}

    def _statements(self) -> Iterator[Statement]:
        visible = Visibility(self.home.settings, self.home.paths)
        zone = self.home.zone
        for fact in self.keeper.store.facts():
            if not visible.hides(fact.project):
                day = zone.day(fact.last or fact.time).isoformat()
                yield Statement(f"fact {fact.id}", fact.content, fact.project, day, fact=fact)
        hidden = {entry.id for entry in self.ledger.entries() if visible.hides(entry.project)}
        wiki = Wiki.of(self.home.paths)
        for slug, row in ArticleCache(wiki, self.index).rows().items():
            article = wiki.get(slug) if row.readable and not visible.hides(row.project) else None
            for number, claim in enumerate(article.claims if article else (), 1):
                cited = {source.rpartition("^e-")[2] for source in claim.sources}
                if cited and not cited & hidden:
                    name, scope = f"claim {slug}#{number}", row.project or GLOBAL
                    yield Statement(name, claim.text, scope, claim.day, claim=claim, slug=slug)

    # -- what comes of it

    def _apply(self, resolutions: Sequence[Resolution]) -> list[Resolution]:
        """Write what ends, and update everything derived from it; return the resolutions that were applied."""
        wiki = Wiki.of(self.home.paths)
        for _ in range(TRIES):
            self.keeper.refresh()
            draft = Draft(wiki, self.keeper, ArticleCache(wiki, self.index).rows())
            draft.take(resolutions)
            if not draft.applied:
                return []
            try:
                moment = self.home.zone.local(clock.now())
                block = index_page.consolidated_block(moment, sorted(draft.changed))
                commit(self.home.paths, draft.rows, draft.changed, draft.read, block, _label(draft), draft.ends)
            except ChangedError as error:
                log.info("%s; looking again", error)
                continue
            housekeeping.bring_in(self.keeper)
            sources.refresh(self.index, self.home.paths)
            refresh.settle_past(self.home, self.keeper, self.index)
            refresh.renew(self.home, self.keeper)
            return draft.applied
        raise ExpectedError("Pages keep changing while facts and claims are consolidated; the next run tries again.")

    def _remember(self, pairs: Sequence[Pair]) -> None:
        known = [*(self.ledger.get(KNOWN) or ()), *(pair.digest for pair in pairs)]
        self.ledger.put(KNOWN, list(dict.fromkeys(known))[-MAX_KNOWN:])

    def _today(self) -> str:
        return self.home.zone.day(clock.now()).isoformat()

    def _entry_of(self, source: str) -> Entry | None:
        day, _, name = source.removeprefix("daily/").partition("#^e-")
        return self._entries(day).get(name)

    def _entries(self, day: str) -> dict[str, Entry]:
        """Return the entries of a day by their ids; each daily log is read once."""
        if day not in self._days:
            self._days[day] = {entry.id: entry for entry in _entries(DailyLog.of(self.home.paths), day)}
        return self._days[day]


def _entries(daily: DailyLog, day: str) -> list[Entry]:
    try:
        return daily.entries(date.fromisoformat(day))
    except ValueError:  # a person cited a day that does not exist
        return []


def _material(statement: Statement) -> JsonObject:
    origin = statement.fact.origin if statement.fact else ""
    text = " ".join(statement.text.split())
    return {"name": statement.name, "day": statement.day, "origin": origin, "text": text}


def _label(draft: Draft) -> str:
    facts = len(draft.ends)
    claims = len(draft.applied) - facts
    parts = [printable.counted(count, what) for count, what in ((facts, "fact"), (claims, "claim")) if count]
    return f"consolidation: ended {' and '.join(parts)}"
