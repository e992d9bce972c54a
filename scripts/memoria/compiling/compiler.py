"""Compiler: turn new entries of the daily logs into linked articles.

The model receives only entries that no compile has taken in, with the few articles that the search index finds closest
to them. Its answer is a proposal, which ``draft`` checks and code renders. Each batch is one transaction: if it is
killed at any point, the wiki is the old one or, after recovery, the new one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from tqdm import tqdm

from memoria.base import failpoints, project
from memoria.base.settings import env_of
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import fingerprint, render
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground import clock, printable
from memoria.ground.errors import BadAnswerError, DropRefusedError, ExpectedError, ModelError
from memoria.ground.home import Home
from memoria.ground.projects import labels
from memoria.indexing import sources
from memoria.indexing.index import Index
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Prompt
from memoria.wiki import index_page
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.draft import Draft
from memoria.wiki.folder import LOG, Wiki
from memoria.wiki.owners import Owners
from memoria.wiki.transaction import ChangedError, Transactions, digest

log = logging.getLogger(__name__)

NEAR_ARTICLES = 8  # articles shown in full; with the rows below, the prompt does not grow with the wiki
NEAR_ROWS = 40  # further articles, shown by title and summary
SHOWN_CLAIMS = 40  # of one article, the newest, so that a page with hundreds does not fill the prompt
BAD_BATCHES = 3  # after this many bad answers in a row the fault is the model's, and more calls only cost money
REDRAFTS = 5  # new drafts of one batch when a person saves a page in the meantime


@dataclass(slots=True)
class Report:
    """The result of a compile."""

    entries: int = 0
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


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
    model: Metered
    force: bool = False

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
            Metered.of(home, ledger),
        )

    def prepare(self) -> None:
        """Recover from a killed run and bring ledger and index up to date; the caller holds the compile lock."""
        self.transactions.recover()
        self.daily.refresh(self.ledger)
        # The wiki's log is complete even when the ledger is new or a run was killed before booking.
        self.ledger.mark_compiled(index_page.fingerprints(self._text(LOG)))
        sources.refresh(self.index, self.home.paths)

    def waiting(self, *, everything: bool = False, day: str = "") -> list[Entry]:
        """Return the entries to take in, oldest first: new ones, and those whose text was edited since a compile.

        With ``everything``, return all entries.
        """
        entries = self.daily.find(self.ledger.entries(waiting=not everything, day=day))
        visible = Visibility(self.home.settings, self.home.paths)
        entries = [entry for entry in entries if not visible.hides(entry.project_key)]
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
        """Compile one batch: ask, check, write and book. On ModelError the entries stay uncompiled."""
        names = self.article_cache.rows()
        near = self._near(entries, names)
        owners = self.owners(names)
        projects = {entry.project_key for entry in entries}
        completion = self.model.complete(
            tasks.compile_(self._material(entries, near, names, owners)), projects.pop() if len(projects) == 1 else ""
        )
        failpoints.reached("compile.answered")
        for _ in range(REDRAFTS):
            draft = self._draft(entries)
            draft.take(completion.data, near)
            if not self.force:
                self._check(draft, entries)
            try:
                self._commit(draft, entries)
                break
            except ChangedError as error:
                log.info("%s; making the draft again", error)
        else:
            raise ExpectedError("Pages keep changing while they are compiled; the entries wait for the next compile.")
        self.ledger.mark_compiled({entry.id: fingerprint(entry) for entry in entries})
        failpoints.reached("compile.booked")
        for reason in draft.refused:
            self.ledger.note("refused", ",".join(entry.id for entry in entries), reason)
        sources.refresh(self.index, self.home.paths)
        report.entries += len(entries)
        report.created += draft.created
        report.updated += sorted(name.removesuffix(".md") for name in draft.read if name in draft.changes())
        report.refused += draft.refused

    def prompt(self, entries: Sequence[Entry]) -> Prompt:
        """Return the prompt that a model would be asked about these entries."""
        names = self.article_cache.rows()
        return tasks.compile_(self._material(entries, self._near(entries, names), names, self.owners(names)))

    def _draft(self, entries: Sequence[Entry]) -> Draft:
        """Return a draft on the wiki as it is now."""
        known = index_page.fingerprints(log_text := self._text(LOG))
        unchanged = {entry.id: entry for entry in entries if known.get(entry.id) in ("", fingerprint(entry))}
        edited = {entry.id: entry for entry in entries if entry.id in known and entry.id not in unchanged}
        rows = self.article_cache.rows()
        return Draft(
            self.wiki,
            entries,
            names={slug: (row.title, *row.aliases) for slug, row in rows.items()},
            entry_at=self._entry_at,
            touched=index_page.touched(log_text, unchanged) if unchanged else {},
            owners=self.owners(rows),
            edited=index_page.touched(log_text, edited) if edited else {},
        )

    def owners(self, rows: Mapping[str, Row]) -> Owners:
        """Return to which project each page belongs, and what to call the projects."""
        projects = self.home.paths.projects
        keys = {entry.project for entry in self.ledger.entries() if entry.project}
        return Owners({slug: row.project for slug, row in rows.items()}, labels(keys, project.known(projects)))

    def _entry_at(self, source: str) -> Entry | None:
        day, _, name = source.removeprefix("daily/").partition("#^e-")
        return next((entry for entry in self.daily.entries(date.fromisoformat(day)) if entry.id == name), None)

    def _check(self, draft: Draft, entries: Sequence[Entry]) -> None:
        try:
            draft.check(self.home.settings.compile_drop_share)
        except DropRefusedError as error:
            self.ledger.note("compile-refused", ",".join(entry.id for entry in entries), str(error))
            raise

    def _near(self, entries: Sequence[Entry], names: Mapping[str, Row]) -> list[str]:
        """Return the slugs of the articles that the index finds closest to these entries, best first.

        For each entry these are articles of its own project and of all projects.
        """
        scores: dict[str, float] = {}
        for entry in entries:
            words = " ".join((entry.title, entry.context, *entry.decisions, *entry.lessons))
            key = entry.project_key
            hits = self.index.search(words, limit=NEAR_ROWS, asker=key, prefer=key, kinds=("article",))
            for hit in hits:
                slug = hit.path.removeprefix("knowledge/").removesuffix(".md")
                scores[slug] = scores.get(slug, 0.0) + hit.score
        ranked = sorted((slug for slug in scores if slug in names), key=lambda slug: (-scores[slug], slug))
        return ranked[: NEAR_ARTICLES + NEAR_ROWS]

    def _material(
        self, entries: Sequence[Entry], near: Sequence[str], names: Mapping[str, Row], owners: Owners
    ) -> JsonObject:
        readable = [slug for slug in near if names[slug].readable]
        full = [article for slug in readable[:NEAR_ARTICLES] if (article := self.wiki.get(slug))]
        return {
            "today": max(entry.day for entry in entries).isoformat(),
            "entries": [_entry_material(entry, owners.label(entry.project_key)) for entry in entries],
            "articles": [
                {
                    "slug": article.name,
                    "kind": article.slug.split("/")[0].removesuffix("s"),
                    "title": article.title,
                    "project": _owner(owners, article.slug),
                    "aliases": article.aliases,
                    "tags": article.tags,
                    "summary": article.summary,
                    "claims": [
                        {"text": claim.text, "sources": list(claim.sources)} for claim in article.claims[-SHOWN_CLAIMS:]
                    ],
                }
                for article in full
            ],
            "index": [
                {
                    "slug": slug.rsplit("/", 1)[-1],
                    "title": names[slug].title,
                    "project": _owner(owners, slug),
                    "summary": names[slug].summary,
                }
                for slug in readable[NEAR_ARTICLES:]
            ],
        }

    def _commit(self, draft: Draft, entries: Sequence[Entry]) -> None:
        pages = draft.changes()
        rows = self.article_cache.rows() | {slug: Row.of(article) for slug, article in draft.articles.items()}
        updated = sorted(name.removesuffix(".md") for name in pages if name in draft.read)
        moment = self.home.zone.local(clock.now())
        took = index_page.log_block(moment, entries, draft.created, updated)
        changes: dict[str, bytes | None] = dict(pages)
        lists = index_page.pages(rows.values(), self.wiki.folder)
        changes |= lists
        read = dict(draft.read)
        for name in lists:
            read[name] = digest(self._bytes(name))
        log_bytes = self._bytes(LOG)
        changes[LOG] = (log_bytes or index_page.LOG_INTRO.encode()) + took.encode()
        read[LOG] = digest(log_bytes)
        self.transactions.commit(changes, read, f"compile of {printable.counted(len(entries), 'entry')}")

    def _text(self, name: str) -> str:
        return (self._bytes(name) or b"").decode("utf-8", "replace")

    def _bytes(self, name: str) -> bytes | None:
        path = self.wiki.folder / name
        return path.read_bytes() if path.exists() else None


def _owner(owners: Owners, slug: str) -> str:
    """Return what a page's project is called, ``""`` for all projects."""
    key = owners.pages.get(slug, "")
    return owners.label(key) if key else ""


def _entry_material(entry: Entry, project: str) -> JsonObject:
    return {
        "id": entry.id,
        "day": entry.day.isoformat(),
        "project": project,
        "title": entry.title,
        "context": entry.context,
        "key_exchanges": list(entry.key_exchanges),
        "decisions": list(entry.decisions),
        "lessons": list(entry.lessons),
        "learned": [{"kind": event.kind, "content": event.text} for event in entry.learned if not event.ended],
        "ended": [event.text for event in entry.learned if event.ended],
    }


def take_all(compile_: Compile, entries: Sequence[Entry], report: Report, *, quiet: bool) -> ExpectedError | None:
    """Compile batch after batch and return the first error; a bad answer does not keep the later batches waiting."""
    failure: ExpectedError | None = None
    bad = 0
    with tqdm(total=len(entries), unit="entry", disable=quiet or not sys.stderr.isatty(), desc="compile") as bar:
        for batch in compile_.batches(entries):
            try:
                compile_.take(batch, report)
                bad = 0
            except (BadAnswerError, DropRefusedError) as error:
                failure = failure or error
                bad += 1
            except ModelError as error:
                return failure or error
            if bad == BAD_BATCHES:
                break
            bar.update(len(batch))
    return failure
