"""Compiler: turn new entries of the daily logs into linked articles.

The model receives only entries that no compile has taken in, with the few articles near them (``request``). Its answer
is a proposal, which ``draft`` checks and code renders. When most of an answer does not pass, the model is asked once
more, with the reasons; then the batch is divided, and an entry that fails alone is set aside. Each batch is one
transaction: if it is killed at any point, the wiki is the old one or, after recovery, the new one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from tqdm import tqdm

from memoria.base import failpoints, project
from memoria.base.settings import env_of
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.entry_form import fingerprint, render
from memoria.daily.ledger import SET_ASIDE, Ledger, compile_job
from memoria.ground import clock, home_files, printable
from memoria.ground.errors import BadAnswerError, DropRefusedError, ExpectedError, ModelError
from memoria.ground.home import Home
from memoria.ground.projects import labels
from memoria.index import sources
from memoria.index.index import Index
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Prompt
from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.draft import Draft
from memoria.wiki.folder import LOG, Wiki
from memoria.wiki.links import referring
from memoria.wiki.owners import NOBODY, Owners
from memoria.wiki.transaction import ChangedError, Transactions, digest
from memoria.worker.request import Request, Requests

log = logging.getLogger(__name__)

SHOWN_REASONS = 20  # why claims of the last answer were refused
BAD_ANSWERS = 3  # after as many entries in a row that failed the fault is the model's, and more calls only cost money
REDRAFTS = 5  # new drafts of one batch when a person saves a page in the meantime


@dataclass(slots=True)
class Report:
    """The result of a compile."""

    entries: int = 0
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    aside: int = 0  # entries whose answers were mostly refused


@dataclass(slots=True)
class Compile:
    """A compile and everything that it reads and writes."""

    home: Home
    daily: DailyLog
    ledger: Ledger
    wiki: Wiki
    article_cache: ArticleCache
    transactions: Transactions
    index: Index
    requests: Requests
    model: Metered
    force: bool = False
    _days: dict[str, dict[str, Entry]] = field(default_factory=dict)  # of daily logs that were read, by entry id

    @classmethod
    def of(cls, home: Home) -> Compile:
        """Open everything that a compile needs in a home."""
        paths = home.paths
        ledger = Ledger.of(paths)
        wiki, index = Wiki.of(paths), Index(paths.index)
        return cls(
            home,
            DailyLog.of(paths),
            ledger,
            wiki,
            ArticleCache(wiki, index),
            Transactions.of(paths),
            index,
            Requests(home, wiki, index),
            Metered.of(home, ledger),
        )

    def prepare(self) -> None:
        """Recover from a killed run and bring ledger and index up to date; the caller holds the compile lock."""
        self.transactions.recover()
        self.daily.refresh(self.ledger)
        # The wiki's log is complete even when the ledger is new or a run was killed before booking.
        self.ledger.mark_compiled(index_page.fingerprints(self._text(LOG)))
        sources.refresh(self.index, self.home.paths)

    def waiting(self, *, everything: bool = False, day: str = "", aside: bool = False) -> list[Entry]:
        """Return the entries to take in, oldest first: new ones, and those whose text was edited since a compile.

        With ``everything``, return all entries; with ``aside``, those that were set aside.
        """
        booked = gate.waiting(self.ledger, self.home, day, everything=everything or aside)
        failed = {entry for entry, _ in self.ledger.failed_compiles()} if aside else set()
        entries = self.daily.find(entry for entry in booked if not aside or entry.id in failed)
        return sorted(entries, key=lambda entry: (entry.day, entry.time, entry.id))

    def batches(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        """Yield the entries for each model call, at most ``call_chars`` characters together.

        The entries of a project with an endpoint of its own share no call with those of others.
        """
        batch: list[Entry] = []
        size = 0
        for entry in entries:
            length = len(render(entry))
            if batch and (size + length > self.home.settings.call_chars or self._is_apart(entry, batch[-1])):
                yield batch
                batch, size = [], 0
            batch.append(entry)
            size += length
        if batch:
            yield batch

    def _is_apart(self, entry: Entry, other: Entry) -> bool:
        """Return whether the user has set something for the model calls of one of these projects, and not of both."""
        projects = self.home.settings.projects
        apart = env_of(entry.project_key, projects) or env_of(other.project_key, projects)
        return bool(apart) and entry.project_key != other.project_key

    def take(self, entries: Sequence[Entry], report: Report) -> None:
        """Compile one batch: ask, check, write and book. On ModelError the entries stay uncompiled.

        Of several entries, most of whose claims are refused, none is set aside: that is a BadAnswerError.
        """
        request = self._request(entries)
        answer = self._answer(request, entries)
        failpoints.reached("compile.answered")
        for _ in range(REDRAFTS):
            draft = self._draft(entries, request, answer)
            if draft.is_failed and len(entries) > 1:
                raise BadAnswerError(draft.refused[0])
            if not self.force:
                self._check(draft, entries)
            try:
                if draft.accepted or not draft.failed:
                    self._commit(draft, entries)
                break
            except ChangedError as error:
                log.info("%s; making the draft again", error)
        else:
            raise ExpectedError("Pages keep changing while they are compiled; the entries wait for the next compile.")
        self._book(draft, entries)
        sources.refresh(self.index, self.home.paths)
        report.entries += len(entries)
        report.created += draft.pages.created
        pages = draft.pages.changes()
        report.updated += sorted(name.removesuffix(".md") for name in draft.pages.read if name in pages)
        report.refused += draft.refused
        report.aside += len(entries) if draft.is_failed else 0

    def _answer(self, request: Request, entries: Sequence[Entry]) -> JsonObject:
        """Return the model's answer; when most of its claims are refused, that to a second question with the reasons.

        Of two such answers, the one of which more claims were accepted.
        """
        first = self._ask(request.material, request.project)
        draft = self._draft(entries, request, first)
        if not draft.is_failed:
            return first
        reasons = [*dict.fromkeys(draft.refused)][:SHOWN_REASONS]
        try:
            second = self._ask({**request.material, "refused": reasons}, request.project)
        except BadAnswerError as error:
            log.info("%s; the first answer counts", error)
            return first
        return second if self._draft(entries, request, second).accepted >= draft.accepted else first

    def _ask(self, material: JsonObject, project_key: str) -> JsonObject:
        return self.model.complete(tasks.compile_(material), project_key).data

    def _book(self, draft: Draft, entries: Sequence[Entry]) -> None:
        """Record which entries are compiled, which are set aside, and why claims were refused."""
        if draft.accepted or not draft.failed:
            self.ledger.mark_compiled({entry.id: fingerprint(entry) for entry in entries})
        failpoints.reached("compile.booked")
        self.ledger.forget_tries(compile_job(entry.id, fingerprint(entry)) for entry in entries)
        if draft.is_failed:
            self.blame(entries[0], draft.refused[0], times=SET_ASIDE)
        for reason in draft.refused:
            self.ledger.note("refused", ",".join(entry.id for entry in entries), reason)

    def blame(self, entry: Entry, reason: str, times: int = 1) -> None:
        """Record that the compile of this entry alone failed; after ``SET_ASIDE`` times it no longer waits."""
        job = compile_job(entry.id, fingerprint(entry))
        for _ in range(times):
            self.ledger.failed([job], counted=True, not_before=0.0, reason=f"{entry.title or entry.source}: {reason}")

    def prompt(self, entries: Sequence[Entry]) -> Prompt:
        """Return the prompt that a model would be asked about these entries."""
        return tasks.compile_(self._request(entries).material)

    def _request(self, entries: Sequence[Entry]) -> Request:
        rows = self.article_cache.rows()
        return self.requests.of(entries, rows, self.owners(rows))

    def _draft(self, entries: Sequence[Entry], request: Request, answer: JsonObject) -> Draft:
        """Return the draft that an answer makes of the wiki as it is now."""
        known = index_page.fingerprints(log_text := self._text(LOG))
        unchanged = {entry.id: entry for entry in entries if known.get(entry.id) in ("", fingerprint(entry))}
        edited = {entry.id: entry for entry in entries if entry.id in known and entry.id not in unchanged}
        rows = self.article_cache.rows()
        draft = Draft(
            self.wiki,
            entries,
            names={slug: (row.title, *row.aliases) for slug, row in rows.items()},
            entry_at=self._entry_at,
            touched=index_page.touched(log_text, unchanged) if unchanged else {},
            owners=self.owners(rows),
            edited=index_page.touched(log_text, edited) if edited else {},
            numbered=request.numbered,
            wrote=index_page.wrote(log_text),
            thin=self.home.settings.thin_claims,
            referring=self._referring,
        )
        draft.take(answer, request.near)
        return draft

    def _referring(self, article: Article) -> list[str] | None:
        return referring(article, self.wiki, Path(self.home.paths.daily))

    def owners(self, rows: Mapping[str, Row]) -> Owners:
        """Return to which project each page belongs, and what to call the projects."""
        projects = self.home.paths.projects
        keys = {entry.project for entry in self.ledger.entries() if entry.project}
        taken = {each.name[:-3]: NOBODY for each in home_files.left_out(self.wiki.folder, is_daily=False)}
        return Owners(taken | {slug: row.project for slug, row in rows.items()}, labels(keys, project.known(projects)))

    def _entry_at(self, source: str) -> Entry | None:
        day, _, name = source.removeprefix("daily/").partition("#^e-")
        if day not in self._days:
            self._days[day] = {entry.id: entry for entry in self.daily.entries(date.fromisoformat(day))}
        return self._days[day].get(name)

    def _check(self, draft: Draft, entries: Sequence[Entry]) -> None:
        try:
            draft.pages.check(self.home.settings.compile_drop_share)
        except DropRefusedError as error:
            self.ledger.note("compile-refused", ",".join(entry.id for entry in entries), str(error))
            raise

    def _commit(self, draft: Draft, entries: Sequence[Entry]) -> None:
        pages = draft.pages.changes()
        owner = draft.pages.owners.pages
        drafted = {
            slug: replace(Row.of(article), project=owner[slug]) for slug, article in draft.pages.articles.items()
        }
        rows = self.article_cache.rows() | drafted
        rows = {slug: row for slug, row in rows.items() if slug not in draft.pages.folded}
        updated = [name.removesuffix(".md") for name in sorted(pages) if name in draft.pages.read]
        moment = self.home.zone.local(clock.now())
        took = index_page.log_block(
            moment, entries, draft.pages.created, updated, draft.pages.written(), draft.pages.folded
        )
        changes: dict[str, bytes | None] = dict(pages) | {f"{slug}.md": None for slug in draft.pages.folded}
        lists = index_page.pages(rows.values(), self.wiki.folder)
        changes |= lists
        read = dict(draft.pages.read)
        for name in lists:
            read[name] = digest(self._bytes(name))
        label = f"compile of {printable.counted(len(entries), 'entry')}"
        self.transactions.commit(changes, read, label, appended=index_page.appended(self.wiki.folder, took))

    def _text(self, name: str) -> str:
        return (self._bytes(name) or b"").decode("utf-8", "replace")

    def _bytes(self, name: str) -> bytes | None:
        return home_files.read_if_there(self.wiki.folder / name)


def take_all(compile_: Compile, entries: Sequence[Entry], report: Report, *, quiet: bool) -> ExpectedError | None:
    """Compile batch after batch and return the first error; a bad answer does not keep the other entries waiting.

    A batch that fails is divided until the entries at fault stand alone. They are set aside when others of the batch
    could be compiled, because then the fault is theirs.
    """
    failure: ExpectedError | None = None
    bad = 0
    with tqdm(total=len(entries), unit="entry", disable=quiet or not sys.stderr.isatty(), desc="compile") as bar:
        for batch in compile_.batches(entries):
            parts, passed, alone = [batch], False, list[tuple[Entry, ExpectedError]]()
            while parts and bad < BAD_ANSWERS:
                part = parts.pop()
                aside = report.aside
                try:
                    compile_.take(part, report)
                    passed = passed or report.aside == aside
                    bad = 0 if report.aside == aside else bad + 1
                except (BadAnswerError, DropRefusedError) as error:
                    if len(part) > 1:
                        middle = len(part) // 2
                        parts += [part[middle:], part[:middle]]
                    else:
                        alone.append((part[0], error))
                        bad += 1
                except ModelError as error:
                    failure, bad = failure or error, BAD_ANSWERS
            for entry, fault in alone:
                compile_.blame(entry, str(fault), times=SET_ASIDE if passed else 1)
                if passed:
                    report.aside += 1
                    report.refused.append(f"{entry.source}: {fault}")
                else:
                    failure = failure or fault
            if bad >= BAD_ANSWERS:
                return failure or BadAnswerError(report.refused[-1])
            bar.update(len(batch))
    return failure
