"""Compiler: give new statements of the daily logs their places in the articles.

The model receives only statements that stand on no article, with the lines of the few articles near them (``request``).
It answers with ids: where each stands, which two are one, which ends another. Code checks the answer and renders the
lines (``wiki.placing``). When most of an answer does not pass, the model is asked once more, with the reasons; a batch
that fails is divided, and an entry that fails alone is set aside. Each batch is one transaction: if it is killed at any
point, the wiki is the old one or, after recovery, the new one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tqdm import tqdm

from memoria.base import failpoints, project
from memoria.base.visibility import Visibility
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry, fingerprint
from memoria.daily.ledger import SET_ASIDE, Ledger, compile_job
from memoria.ground import clock, home_files, printable
from memoria.ground.errors import BadAnswerError, ExpectedError, ModelError
from memoria.ground.home import Home
from memoria.ground.projects import labels
from memoria.index import sources
from memoria.index.index import Index
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Prompt
from memoria.pages import housekeeping
from memoria.statements.fact import GLOBAL, Ending, Fact, end_of, unite
from memoria.statements.keeper import Keeper
from memoria.wiki import index_page
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.folder import LOG, NOBODY, Owners, Wiki
from memoria.wiki.index_page import commit
from memoria.wiki.placing import Placing, ident_of
from memoria.wiki.settle import Settle
from memoria.wiki.transaction import TRIES, ChangedError, End, Transactions
from memoria.worker.request import Requests, near_pairs

log = logging.getLogger(__name__)

BAD_ANSWERS = 3  # after as many batches in a row that failed the fault is the model's, and more calls only cost money
AGAIN = "Placed already: does it end or repeat a line?"  # in a request, above statements that are asked about once more
LOOKED = "last_consolidation"  # in the ledger: the user's day of the last look at pairs of statements
LOOKED_AT = "looked_again"  # in the ledger: the ids of the live statements that were asked about again
SINCE = "statements_since"  # in the ledger: the day from which statements that are in no entry are placed


@dataclass(slots=True)
class Report:
    """The result of a compile."""

    entries: int = 0
    statements: int = 0
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    aside: int = 0  # entries that were set aside because of their answers


@dataclass(frozen=True, slots=True)
class Batch:
    """What one model call is about: statements of one project, and the entries that are taken in with them.

    ``pairs``: statements that have their places and are asked about once more, each with one that is near to it.
    """

    key: str
    entries: tuple[Entry, ...]
    facts: tuple[Fact, ...]
    titles: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[tuple[Fact, Fact], ...] = ()

    @property
    def asked_facts(self) -> tuple[Fact, ...]:
        """The statements that the model is to place."""
        return self.facts + tuple(newer for newer, _ in self.pairs)

    def divide(self) -> tuple[Batch, Batch]:
        """Return both halves; the statements of an entry stay together, those of none come with the first."""
        middle = len(self.entries) // 2
        later = {learned.id for entry in self.entries[middle:] for learned in entry.learned}
        first = tuple(fact for fact in self.facts if fact.id not in later)
        second = tuple(fact for fact in self.facts if fact.id in later)
        return (
            Batch(self.key, self.entries[:middle], first, self.titles),
            Batch(self.key, self.entries[middle:], second, self.titles),
        )


class Compile:
    """A compile and everything that it reads and writes."""

    def __init__(self, home: Home) -> None:
        """Open everything that a compile needs in a home."""
        self.home, paths = home, home.paths
        self.daily, self.ledger, self.keeper = DailyLog(paths), Ledger(paths), Keeper.at(home)
        self.wiki, self.index = Wiki(paths), Index(paths.index)
        self.article_cache = ArticleCache(self.wiki, self.index)
        self.requests = Requests(home, self.wiki, self.index, self.keeper.store)
        self.model = Metered.of(home, self.ledger)

    def close(self) -> None:
        """Close the databases."""
        self.keeper.store.db.close()
        self.index.close()
        self.ledger.close()

    def prepare(self) -> None:
        """Recover from a killed run and bring ledger and index up to date; the caller holds the compile lock."""
        Transactions(self.home.paths).recover()
        housekeeping.bring_in(self.keeper)  # what the killed run had queued
        self.daily.refresh(self.ledger)
        # The wiki's log is complete even when the ledger is new or a run was killed before booking.
        log_ = home_files.read_if_there(self.wiki.folder / LOG) or b""
        self.ledger.mark_compiled(index_page.fingerprints(log_.decode("utf-8", "replace")))
        if not self.ledger.get(SINCE):
            self.ledger.put(SINCE, self._current_day if self.ledger.count_compiled() else "0001-01-01")
        sources.refresh(self.index, self.home.paths)

    def settle(self, *, takes_all: bool, again: bool) -> tuple[int, list[str]]:
        """Bring articles and statements in step; return what is ``held``, and the articles that were written.

        The arguments are those of ``Settle``.
        """
        settle = Settle(self.home, self.keeper, self.index, takes_all, again)
        slugs = settle.run()
        sources.refresh(self.index, self.home.paths)
        return settle.held, slugs

    def waiting_entries(self, *, everything: bool = False, day: str = "", aside: bool = False) -> list[Entry]:
        """Return the entries to take in, oldest first: new ones, and those with a statement more since a compile.

        With ``everything``, return all entries; with ``aside``, those that were set aside.
        """
        booked = gate.waiting_entries(self.ledger, self.home, day, everything=everything or aside)
        failed = {entry for entry, _ in self.ledger.failed_compiles()} if aside else set()
        return self.daily.find(entry for entry in booked if not aside or entry.id in failed)

    def batches(self, entries: Sequence[Entry], *, again: bool) -> Iterator[Batch]:
        """Yield what each model call is about, at most ``call_chars`` characters of statements of one project.

        ``again``: also statements that stand on an article. One that only took the place of another may belong
        elsewhere: it is asked about with the new ones of its entry, but no call is made for it.
        """
        placed = set() if again else self.keeper.store.placed_ids()
        live = {fact.id: fact for fact in self.keeper.store.facts()}
        facts = {ident: fact for ident, fact in live.items() if ident not in placed}
        of_entries = {learned.id: entry for entry in entries for learned in entry.learned}
        inside = {ident: entry for ident, entry in of_entries.items()
                  if ident in facts or (ident in live and live[ident].supersedes)}  # fmt: skip
        groups: dict[str, list[Entry]] = {}
        for entry in entries:
            groups.setdefault(entry.project_key or GLOBAL, []).append(entry)
        others = [*(live[ident] for ident in inside), *self._loose_facts(facts)]  # also of no entry, or of all projects
        for key in dict.fromkeys([*groups, *(fact.project for fact in others)]):
            own = [fact for fact in others if fact.project == key]
            for batch in self._batches(key, groups.get(key, []), own, inside):
                is_new = any(fact.id in facts for fact in batch.facts)
                yield batch if is_new else replace(batch, facts=())

    def _batches(
        self, key: str, entries: Sequence[Entry], facts: Sequence[Fact], inside: Mapping[str, Entry]
    ) -> Iterator[Batch]:
        """Yield the batches of one project; what stands in none of its entries comes with the first."""
        titles = {fact.id: inside[fact.id].title for fact in facts if fact.id in inside}
        named = {entry.id for entry in entries}
        batch: list[Entry] = []
        taken = [fact for fact in facts if fact.id not in inside or inside[fact.id].id not in named]
        for entry in entries:
            own = [fact for fact in facts if fact.id in inside and inside[fact.id].id == entry.id]
            size = sum(len(fact.content) for fact in (*taken, *own))
            if batch and size > self.home.settings.call_chars // 4:  # the articles beside them take more room
                yield Batch(key, tuple(batch), tuple(taken), titles)
                batch, taken = [], []
            batch.append(entry)
            taken += own
        if batch or taken:
            yield Batch(key, tuple(batch), tuple(taken), titles)

    def _loose_facts(self, facts: Mapping[str, Fact]) -> list[Fact]:
        """Return the statements of no entry: what ``remember``, a person or others brought, or was said at night."""
        since, visible = str(self.ledger.get(SINCE) or ""), Visibility(self.home.settings, self.home.paths)
        over = {"", *(entry.session for entry in self.ledger.entries())}  # an open session's wait for its entry
        found = [fact for fact in facts.values() if fact.session in over and not visible.hides(fact.project)]
        dated = [fact for fact in found if self.home.zone.day(fact.last or fact.time).isoformat() >= since]
        held = self.keeper.store.entries()
        return [fact for fact in dated if self.keeper.store.day(fact.id) and fact.id not in held]

    def add_pairs(self, batches: Sequence[Batch]) -> list[Batch]:
        """Return the batches, with pairs in the first of each project when nothing was looked at again today."""
        if self.model.model.name == "offline" or self.ledger.get(LOOKED) == self._current_day:
            return list(batches)
        placed = self.keeper.store.placed_ids()
        live = [fact for fact in self.keeper.store.facts() if fact.id in placed]
        known = frozenset(self.ledger.get(LOOKED_AT) or ())
        found = list(batches)
        firsts = {batch.key: place for place, batch in reversed(list(enumerate(batches))) if batch.facts}
        for key, place in firsts.items():
            pairs = near_pairs([fact for fact in live if fact.project == key], known)
            found[place] = replace(batches[place], pairs=tuple(pairs))
        return found

    def mark_compiled(self, batches: Iterable[Batch]) -> None:
        """Record that these batches were compiled, so that nothing in them is asked about again."""
        if pairs := [pair for batch in batches for pair in batch.pairs]:
            live = {fact.id for fact in self.keeper.store.facts()}
            known = {*(self.ledger.get(LOOKED_AT) or ()), *(newer.id for newer, _ in pairs)}
            self.ledger.put(LOOKED_AT, sorted(known & live))
            self.ledger.put(LOOKED, self._current_day)

    @property
    def _current_day(self) -> str:
        return self.home.zone.day(clock.now()).isoformat()

    def take(self, batch: Batch, report: Report) -> None:
        """Compile one batch: ask, check, write and book. On ModelError its entries stay uncompiled."""
        if batch.facts:
            material, shown = self._request(batch)
            answer = self._answer(material, shown, batch)
            failpoints.reach("compile.answered")
            ends = self._end(answer, batch, shown)
            for _ in range(TRIES):
                placing = self._place(answer, batch, shown)
                try:
                    updated = self._commit(placing, batch, ends)
                    break
                except ChangedError as error:
                    log.info("%s; placing again", error)
            else:
                raise ExpectedError("Pages keep changing while they are compiled; the rest waits for the next compile.")
            report.created += placing.created
            report.updated += updated
            report.refused += placing.refused
            for reason in placing.refused:
                self.ledger.note("refused", ",".join(entry.id for entry in batch.entries), reason)
        self._book(batch.entries)
        report.entries += len(batch.entries)
        report.statements += len(batch.facts)

    def _answer(self, material: JsonObject, shown: Mapping[str, str], batch: Batch) -> JsonObject:
        """Return the model's answer; when most of it is refused, that to a second question with the reasons."""
        first = self.model.complete(tasks.compile_(material), batch.key).data
        refused = self._place(first, batch, shown).refused
        if len(refused) <= len(batch.facts):
            return first
        try:
            return self.model.complete(tasks.compile_({**material, "refused": refused}), batch.key).data
        except BadAnswerError as error:
            log.info("%s; the first answer counts", error)
            return first

    def prompt(self, batch: Batch) -> Prompt:
        """Return the prompt that a model would be asked about a batch."""
        return tasks.compile_(self._request(batch)[0])

    def _request(self, batch: Batch) -> tuple[JsonObject, dict[str, str]]:
        key = "" if batch.key == GLOBAL else batch.key
        store = self.keeper.store
        beside = {fact.id: slug for pair in batch.pairs for fact in pair for slug in store.places_of(fact.id)[:1]}
        titles = {**batch.titles, **{newer.id: AGAIN for newer, _ in batch.pairs}}
        return self.requests.build(batch.asked_facts, key, self.article_cache.rows(), titles, beside)

    def _place(self, answer: JsonObject, batch: Batch, shown: Mapping[str, str]) -> Placing:
        """Return the articles as an answer makes them, from the wiki as it is now."""
        rows = self.article_cache.rows()
        key = "" if batch.key == GLOBAL else batch.key
        known = (self.keeper.store.get(fact.id) for fact in batch.asked_facts)
        new = {fact.id: fact for fact in known if fact}
        placing = Placing(self.wiki, self.keeper, self.owners(rows), rows, key, new, shown)
        placing.take(answer)
        return placing

    def _end(self, answer: JsonObject, batch: Batch, shown: Mapping[str, str]) -> list[End]:
        """End what the answer says is over or said twice, as far as the rules allow; return the ends."""
        may = {fact.id for fact in batch.asked_facts} | shown.keys()
        asked = [(row["id"], row["by"], False) for row in answer["ends"]]
        asked += [(row["id"], row["other"], True) for row in answer["same"]]
        ends: dict[str, Ending] = {}
        for *names, is_same in asked:
            one, other = (self.keeper.store.get(name) if name in may else None for name in map(ident_of, names))
            judge = unite if is_same else end_of
            end = judge(one, other) if one and other else None
            if end and end.successor not in ends:
                ends.setdefault(end.id, end)
            elif one and other:
                log.warning("%s stands beside %s: said later, by the user alone, or over", one.id, other.id)
        if ends:
            self.keeper.take([], endings=ends.values())
        told = {ident: fact.content for ident in ends if (fact := self.keeper.store.get(ident))}
        return [end.to_dict() | {"content": told.get(end.id, ""), "why": "compile"} for end in ends.values()]

    def owners(self, rows: Mapping[str, Row]) -> Owners:
        """Return to which project each page belongs, and what to call the projects."""
        projects = self.home.paths.projects
        keys = {entry.project for entry in self.ledger.entries() if entry.project}
        taken = {each.name[:-3]: NOBODY for each in home_files.other_files(self.wiki.folder, is_daily=False)}
        pages = {slug: row.project if row.readable else NOBODY for slug, row in rows.items()}
        return Owners(taken | pages, labels(keys, project.read(projects)), project.aliases(projects))

    def _commit(self, placing: Placing, batch: Batch, ends: Sequence[End]) -> list[str]:
        """Write the articles, and bring all in step; return the slugs of those that were there before."""
        changed, moment = placing.changes(), self.home.zone.to_local(clock.now())
        updated = sorted(changed.keys() - placing.created)
        took = index_page.log_block(moment, batch.entries, placing.created, updated)
        label = f"compile of {printable.amount(len(batch.facts), 'statement')}"
        commit(self.home.paths, self.article_cache.rows(), changed, placing.read, took, label, ends)
        sources.refresh(self.index, self.home.paths)
        Settle(self.home, self.keeper, self.index).run()
        return updated

    def _book(self, entries: Sequence[Entry]) -> None:
        """Record that entries are compiled."""
        self.ledger.mark_compiled({entry.id: fingerprint(entry) for entry in entries})
        failpoints.reach("compile.booked")
        self.ledger.forget_tries(compile_job(entry.id, fingerprint(entry)) for entry in entries)

    def blame(self, entry: Entry, reason: str, times: int) -> None:
        """Record that the compile of this entry alone failed; after ``SET_ASIDE`` times it no longer waits."""
        job = compile_job(entry.id, fingerprint(entry))
        for _ in range(times):
            self.ledger.fail([job], counted=True, not_before=0.0, reason=f"{entry.title or entry.source}: {reason}")


def take_all(compile_: Compile, batches: Sequence[Batch], report: Report, *, quiet: bool) -> ExpectedError | None:
    """Compile batch after batch and return the first error; a bad answer does not keep the others waiting.

    A batch that fails is divided until the entries at fault stand alone. They are set aside when others of the batch
    could be compiled, because then the fault is theirs.
    """
    failure: ExpectedError | None = None
    bad = 0
    # A bar is drawn over itself with carriage returns, which a printable stream leaves out.
    for batch in tqdm(batches, unit="call", disable=quiet or None, desc="compile", file=sys.__stderr__):
        parts, passed, alone = [batch], False, list[tuple[Batch, ExpectedError]]()
        while parts and bad < BAD_ANSWERS:
            part = parts.pop()
            try:
                compile_.take(part, report)
                passed, bad = True, 0
            except BadAnswerError as error:
                if len(part.entries) > 1:
                    first, second = part.divide()
                    parts += [second, first]
                else:
                    alone.append((part, error))
                    bad += 1
            except ModelError as error:
                failure, bad = failure or error, BAD_ANSWERS
        for part, fault in alone:
            for entry in part.entries:
                compile_.blame(entry, str(fault), times=SET_ASIDE if passed else 1)
            if passed:
                report.aside += len(part.entries)
                report.refused += [f"{entry.source}: {fault}" for entry in part.entries]
            else:
                failure = failure or fault
        if bad >= BAD_ANSWERS:
            return failure or BadAnswerError(report.refused[-1])
    return failure
