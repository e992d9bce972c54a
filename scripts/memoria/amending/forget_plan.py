"""Forget plan: everything that memoria holds about a text, an entry, a session, a project or an article.

The plan covers daily logs, facts, spool, transcripts, archive and wiki, and says what each would be afterwards. Nothing
is removed here: ``commands/forget.py`` does that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from memoria.amending import proof
from memoria.base import project, visibility
from memoria.base.paths import safe_name
from memoria.capture.spool import Job, Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.daily.entry import ENTRY, FACT, FORGOTTEN, Entry, Reference
from memoria.daily.ledger import Ledger
from memoria.exchange.forms import Page
from memoria.exchange.record import PROSE
from memoria.ground import home_files, projects
from memoria.ground.errors import ArchiveError, ExpectedError
from memoria.ground.home import Home
from memoria.ground.replaced import conflict_copies
from memoria.ground.said import row_words, words
from memoria.search.words import fold, holds
from memoria.statements import shared
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.transcripts import clients, intake
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import MIN_TEXT
from memoria.transcripts.turn_reader import Reader
from memoria.wiki import index_page
from memoria.wiki.article import Article
from memoria.wiki.article_cache import LinkTargets, Row
from memoria.wiki.folder import INDEX, LOG, Wiki
from memoria.wiki.lines import retract, unlink
from memoria.wiki.transaction import digest

KINDS = ("entry", "fact", "session", "project", "article", "text")
MIN_PROOF = 12  # characters of a title or context that is taken for proof that its entry is gone


@dataclass(slots=True)
class Plan:
    """What would be removed; ``pages`` maps a name in the wiki to its new content, or to None for removal."""

    kind: str
    target: str
    entries: list[Entry] = field(default_factory=list)
    tombstones: set[str] = field(default_factory=set)  # ids of earlier tombstones, of which only copies remain
    bare: set[str] = field(default_factory=set)  # sources of the entries of which only the title would remain
    facts: list[Fact] = field(default_factory=list)
    outlived: list[Fact] = field(default_factory=list)  # facts that ended by one of these, and stay ended
    rows: list[tuple[date, str]] = field(default_factory=list)
    articles: dict[str, int] = field(default_factory=dict)  # slug -> lines to remove; -1: the whole article
    shared: list[str] = field(default_factory=list)  # what teams share
    jobs: dict[str, list[str]] = field(default_factory=dict)  # path of a job -> keys of the turns to remove
    archives: dict[str, int] = field(default_factory=dict)  # entry id -> turns to remove
    keys: list[str] = field(default_factory=list)  # turns that are in no entry and must never be
    sessions: set[str] = field(default_factory=set)  # safe names of those whose transcripts hold it, or that go whole
    whole: set[str] = field(default_factory=set)  # safe names of those that go whole
    transcripts: set[str] = field(default_factory=set)  # the client's files of these
    project: str = ""  # the key, when a project goes
    folders: list[str] = field(default_factory=list)  # of a project of which nothing remains
    others: dict[Path, tuple[bytes, bytes | None]] = field(default_factory=dict)  # files before and after
    pages: dict[str, bytes | None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    earlier: list[str] = field(default_factory=list)  # needles of the same plan before it was interrupted
    earlier_proving: list[str] = field(default_factory=list)

    @property
    def needle(self) -> str:
        """The text to forget; ``""`` for other kinds."""
        return self.target if self.kind == "text" else ""

    @property
    def ids(self) -> set[str]:
        """The ids of the entries to forget."""
        return {entry.id for entry in self.entries} | self.tombstones

    @property
    def needles(self) -> list[str]:
        """The texts that no file may contain afterwards; a line of a log or note that contains one is deleted."""
        texts = [*self.earlier, self.needle]
        for entry in self.entries:
            texts += [entry.title, entry.context, *entry.key_exchanges, *entry.decisions, *entry.lessons]
            texts += [*entry.action_items, *(fact.text for fact in entry.learned), f"e-{entry.id}"]
        texts += [entry.id for entry in self.entries] + [fact.content for fact in self.facts]
        texts += [self.target] if self.kind in ("session", "project") else []
        return [text for text in dict.fromkeys(text.strip(" .") for text in texts) if len(text) >= MIN_TEXT]

    @property
    def proof_texts(self) -> list[str]:
        """The texts to search everything for afterwards."""
        if self.needle:
            return [self.needle]
        texts = [*self.earlier_proving, *(text for entry in self.entries for text in (entry.context, entry.title))]
        texts += [fact.content for fact in self.facts] if self.kind == "fact" else []
        return [text for text in texts if len(text) >= MIN_PROOF]

    def has(self, text: str) -> bool:
        """Return whether ``text``, which may be JSON, contains the text to forget."""
        return bool(self.needle) and proof.holds(text, [fold(self.needle)])

    def names(self, slug: str) -> bool:
        """Return whether an article's name holds the text to forget."""
        name = slug.rpartition("/")[2]
        return holds(f"{name}\n{name.replace('-', ' ')}", self.needle)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remove."""
        found = (self.ids, self.facts, self.rows, self.articles, self.jobs, self.archives, self.keys, self.folders)
        return not any((*found, self.others, self.shared))


def _identifier(target: str) -> str:
    """Return the id of the entry or fact that a person names, or the text itself."""
    named = Reference.of(target)
    if named is None:
        return target
    return named.id if named.kind == ENTRY else named.anchor


def plan(home: Home, target: str, kind: str = "") -> Plan:
    """Return what would be removed with ``target``; ``kind`` is one of ``KINDS``, or ``""`` to infer it.

    Raise ExpectedError for a text of fewer than ``MIN_TEXT`` characters.
    """
    return _Planner(home).plan(target, kind)


class _Planner:
    """Finds everything that belongs to a target."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.daily = DailyLog(home.paths)
        self.entries = [entry for day in self.daily.days() for entry in self.daily.entries(day)]
        with closing(Ledger(home.paths)) as ledger:  # what a person removed is archived still
            self.daily.refresh(ledger)
            self.entries += [
                Entry(each.id, date.fromisoformat(each.day), "", each.session, "", each.project, "", turns=each.turns)
                for each in ledger.removed_entries()
            ]
        self.articles = {article.slug: article for article in Wiki(home.paths).articles()}
        self.read = {f"{slug}.md": digest(Wiki.encode(article)) for slug, article in self.articles.items()}
        self.archive = Archive.of(home.paths)
        self.spool = Spool(home.paths.spool)
        self.boxes = (self.spool.tmp, self.spool.new, self.spool.cur, self.spool.failed)

    def plan(self, target: str, kind: str) -> Plan:
        plan = Plan(kind or self._kind(target), target)
        ident = _identifier(target)
        if plan.kind == "fact":
            with Keeper.at(self.home) as keeper:
                waiting = [fact for fact in keeper.waiting_facts() if fact.id == ident]
                plan.facts = waiting or [keeper.get(target)]
        elif plan.kind == "entry":
            plan.entries = [entry for entry in self.entries if entry.id == ident]
            plan.tombstones = {ident} & self._tombstone_ids()
        elif plan.kind == "session":
            plan.entries = [entry for entry in self.entries if entry.session == target]
        elif plan.kind == "project":
            plan.project = self._project(target)
            plan.entries = [entry for entry in self.entries if entry.project_key == plan.project]
        elif plan.kind == "text":
            self._text(plan)
        self._folders(plan)
        self._facts(plan)
        self._jobs(plan)
        self._transcripts(plan)
        plan.archives |= {entry.id: len(self._turns(entry.id)) for entry in plan.entries}
        self._orphans(plan)
        self._wiki(plan)
        self._find_others(plan)
        return plan

    def _kind(self, target: str) -> str:
        ident = _identifier(target)
        named = Reference.of(target)
        if named and named.kind == FACT:
            return "fact"
        if any(entry.id == ident for entry in self.entries) or ident in self._tombstone_ids():
            return "entry"
        if any(entry.session == target for entry in self.entries) or self._session_jobs(target):
            return "session"
        if any(entry.project_key == target for entry in self.entries):
            return "project"
        kinds = {"project": "all that was said there"} if any(entry.project == target for entry in self.entries) else {}
        kinds |= {"article": "the page alone"} if self._slug(target) else {}
        if kinds and "/" not in target and self._is_said(target):
            kinds["text"] = "each line, turn and statement that contains it"
        if len(kinds) > 1:  # unnamed, as the log keeps it
            choice = "; ".join(f"--as {kind}: {takes}" for kind, takes in kinds.items())
            raise ExpectedError(f"That can be several things; say which is to go. {choice}.")
        return next(iter(kinds), "text")

    def _is_said(self, text: str) -> bool:
        """Return whether a text, long enough to be forgotten as one, was said, summarised or learned."""
        with Keeper.at(self.home) as keeper:
            said = Plan("entry", "", self.entries, facts=keeper.store.facts(live=False)).needles
        turns = (text for archived in self.archive.list_kept() for _, text in self._turns(archived.entry))
        return len(fold(text)) >= MIN_TEXT and any(holds(each, text) for part in (said, turns) for each in part)

    def _project(self, target: str) -> str:
        """Return the key of the project that is meant; ExpectedError when none is, or when several are."""
        keys = {entry.project_key for entry in self.entries}
        known = project.read(self.home.paths.projects)
        keys |= {known.current(about.get("key", "")) for about in known.folders.values()}
        return projects.resolve_folder(target, keys | {known.current(key) for key in self._record_texts()}, self.home)

    def _record_texts(self) -> dict[str, list[str]]:
        return visibility.folders(self.home.paths.folders)

    def _folders(self, plan: Plan) -> None:
        """Find the folders of the project, or those whose path or remote contains the text.

        Those of a project of which entries remain stay: they say whether it is excluded.
        """
        remaining = {entry.project_key for entry in self.entries if entry.id not in plan.ids}
        known = project.read(self.home.paths.projects)
        pairs = [(known.current(key), folder) for key, folders in self._record_texts().items() for folder in folders]
        pairs += [(known.current(about.get("key", "")), root) for root, about in known.folders.items()]
        plan.folders = sorted(
            {
                folder
                for key, folder in pairs
                if key not in remaining
                and (key == plan.project or plan.has(f"{folder} {known.folders.get(folder, {}).get('remote', '')}"))
            }
        )

    def _tombstone_ids(self) -> set[str]:
        return {ident for day in self.daily.days() for ident, _ in self.daily.read(day).tombstones()}

    def _slug(self, target: str) -> str:
        targets = LinkTargets(Path(self.home.paths.home), self.articles.values())
        slug = targets.page(target.removeprefix("[[").removesuffix("]]")).removeprefix("knowledge/")
        return slug if slug in self.articles else ""

    def _session_jobs(self, session: str) -> list[Job]:
        return [job for job in self.spool.jobs(*self.boxes) if job.session == safe_name(session)]

    def _turns(self, entry_id: str) -> list[tuple[str, str]]:
        """Return the keys and texts of an entry's archived turns."""
        try:
            turns = self.archive.turns(entry_id) or []
        except ArchiveError:
            return []
        return [(turn.key, turn.words) for turn in turns]

    def _text(self, plan: Plan) -> None:
        if len(fold(plan.needle)) < MIN_TEXT:
            raise ExpectedError(f"A text to forget must have at least {MIN_TEXT} characters.")
        for day in self.daily.days():
            before, after = self.daily.text(day), strike_lines(self.daily.text(day), plan.needle)
            if before != after:
                remaining = set(after.splitlines())
                plan.rows += [(day, row) for row in before.splitlines() if row not in remaining]
                bare = [entry for entry in DayText(after).entries(day) if _is_bare(entry)]
                whole = {entry.id for entry in bare if entry.title == FORGOTTEN}
                plan.entries += [entry for entry in self.entries if entry.id in whole]
                said = {entry.source for entry in DayText(before).entries(day) if not _is_bare(entry)}
                plan.bare |= {entry.source for entry in bare} & said
        for archived in self.archive.list_kept():
            count = sum(holds(text, plan.needle) for _, text in self._turns(archived.entry))
            if count:
                plan.archives[archived.entry] = count
        rows = [f"{row.who}: {row.text}" for rows in shared.by_project(self.home.paths).values() for row in rows]
        plan.shared = list(filter(plan.has, rows))

    def _orphans(self, plan: Plan) -> None:
        """Find the archives of a worker that died before it wrote the entry, by their turns."""
        gone = {*plan.keys, *(key for keys in plan.jobs.values() for key in keys)}
        gone |= {key for entry in plan.entries for key in entry.turns}
        known = {entry.id for entry in self.entries}
        for archived in self.archive.list_kept() if gone and not plan.needle else ():
            turns = self._turns(archived.entry)
            if archived.entry not in known and any(key in gone for key, _ in turns):
                plan.archives[archived.entry] = len(turns)

    def _facts(self, plan: Plan) -> None:
        sessions = {entry.session for entry in plan.entries}
        spoken = {entry.id: fold("\n".join(text for _, text in self._turns(entry.id))) for entry in plan.entries}
        stands = {fact.id for entry in plan.entries for fact in entry.learned}
        with Keeper.at(self.home) as keeper:
            stored = keeper.store.facts(live=False)
            known = {fact.id: fact for fact in stored}
            for fact in (*stored, *(fact for fact in keeper.waiting_facts() if fact.id not in known)):
                quoted = plan.kind == "entry" and fact.session in sessions and fact.quote and any(
                    fold(fact.quote) in text for text in spoken.values())  # fmt: skip
                named = plan.target == fact.session if plan.kind == "session" else plan.project == fact.project != ""
                held = plan.has(words(json.dumps(replace(fact, history=()).to_dict())))
                if fact.id in stands or quoted or named or held:
                    plan.facts.append(fact)
        if plan.kind not in ("fact", "text"):  # also in the words that a person gave it in an article
            for fact in plan.facts:  # which grows
                edit = known.get(fact.successor)
                plan.facts += [edit] if edit and not edit.session and edit not in plan.facts else []
        gone = {fact.id for fact in plan.facts}
        plan.outlived = [fact for fact in stored if fact.successor in gone and fact.id not in gone]

    def _jobs(self, plan: Plan) -> None:
        gone = {key for entry in plan.entries for key in entry.turns}
        names = plan.whole = self._sessions(plan)
        for job, path in self._job_files():
            turns = intake.job_turns(path)
            if job.session in names:
                plan.jobs[str(path)] = [key for key, _ in turns]
            elif keys := [key for key, text in turns if key in gone or holds(text, plan.needle)]:
                plan.jobs[str(path)] = keys

    def _job_files(self) -> Iterator[tuple[Job, Path]]:
        for job in self.spool.jobs(*self.boxes):
            yield job, next(path for box in self.boxes if (path := Path(box, job.name)).exists())

    def _sessions(self, plan: Plan) -> set[str]:
        """Return the sessions to remove entirely, by their names in file names."""
        sessions = {entry.session for entry in plan.entries} if plan.kind in ("session", "project") else set()
        names = {safe_name(session) for session in sessions | ({plan.target} if plan.kind == "session" else set())}
        if plan.kind == "project":  # also those of which no entry tells
            places = ((name, project.key_of(cwd, self.home.settings, self.home.paths)) for name, cwd in self._begun())
            names |= {name for name, key in places if key == plan.project}
        return names

    def _begun(self) -> Iterator[tuple[str, str]]:
        """Yield each session that waits or was read, by its name in file names, and where it began."""
        for job, file in self._job_files():
            with suppress(ValueError, KeyError, TypeError):
                yield job.session, str(json.loads(file.read_bytes().partition(b"\n")[0])["cwd"])
        for path in Path(self.home.paths.cursors).glob("*"):
            turns = _reader_of(transcript := _transcript_of(path)).read(_lines(transcript))
            yield path.name, next((turn.cwd for turn in turns if turn.cwd), "")

    def _transcripts(self, plan: Plan) -> None:
        """Find turns that transcripts hold and no entry has; without a tombstone they would be captured again."""
        known = {key for entry in self.entries for key in entry.turns}
        keys = [key for found in plan.jobs.values() for key in found]
        names = plan.whole
        for path in sorted(Path(self.home.paths.cursors).glob("*")) if names or plan.needle else ():
            transcript = _transcript_of(path)
            reader = _reader_of(transcript)
            turns = [*reader.read(_lines(transcript)), *reader.settle()]
            found = [turn.key for turn in turns if path.name in names or holds(turn.words, plan.needle)]
            keys += found
            if found and "." not in path.name:
                plan.sessions.add(path.name)
                plan.transcripts |= {transcript} if path.name in names else set()
        plan.keys = [key for key in dict.fromkeys(keys) if key not in known]

    def _wiki(self, plan: Plan) -> None:
        """Plan the wiki afterwards: articles, index and log."""
        folder = Path(self.home.paths.knowledge)
        gone_entries = [entry for entry in self.entries if entry.id in plan.ids]
        sources = {entry.source for entry in gone_entries} | plan.bare
        idents = {fact.id for fact in plan.facts} | {each.id for entry in gone_entries for each in entry.learned}
        gone = {self._slug(plan.target)} if plan.kind == "article" else set()
        remaining_articles: dict[str, Article] = {}
        for slug, article in self.articles.items():
            before = len(article.claims)
            dropped = 0 if slug in gone else retract(article, sources, idents, plan.needle)
            emptied = before and not article.claims and dropped and not _has_prose(article)
            if slug in gone or emptied or plan.names(slug) or holds(article.title, plan.needle):
                gone.add(slug)
                plan.articles[slug] = -1
            else:
                remaining_articles[slug] = article
                plan.articles |= {slug: dropped} if dropped else {}
        for article in remaining_articles.values():
            for slug in gone:
                unlink(article, slug)
        after: dict[str, bytes | None] = {f"{slug}.md": None for slug in gone}
        after |= {f"{slug}.md": Wiki.encode(article) for slug, article in remaining_articles.items()}
        if (folder / INDEX).exists():
            after |= index_page.pages([Row.of(article) for article in remaining_articles.values()], folder)
        if (log := home_files.read_if_there(folder / LOG)) is not None:
            text = log.decode("utf-8", "surrogateescape")
            self.read[LOG] = digest(log)
            after[LOG] = _log_without(text, plan, gone).encode("utf-8", "surrogateescape")
        for name, data in after.items():
            stands = home_files.read_if_there(folder / name)
            if data != stands:
                # what the change was made from; a page saved since then is planned again
                plan.pages[name], plan.read[name] = data, self.read.get(name, digest(stands))

    def _find_others(self, plan: Plan) -> None:
        """Find the files beside days and articles that hold it: a sync program's copies, pages without frontmatter."""
        daily, knowledge = self.daily.folder, Path(self.home.paths.knowledge)
        names = [daily / each.name for each in home_files.other_files(daily, is_daily=True)]
        names += [knowledge / f"{slug}.md" for slug in Wiki(self.home.paths).slugs() if slug not in self.articles]
        gone = {f"{slug}.md" for slug, count in plan.articles.items() if count < 0}
        for each in home_files.other_files(knowledge, is_daily=False):
            names.append(knowledge / each.name)
            if each.original in gone:
                plan.others[knowledge / each.name] = home_files.read(knowledge / each.name), None
        for path in [*names, *conflict_copies(daily, knowledge)]:
            try:
                data = home_files.read(path, daily if path.is_relative_to(daily) else knowledge)
            except OSError:  # not read, and the proof names it
                continue
            after = _strip(data.decode("utf-8", "surrogateescape"), plan).encode("utf-8", "surrogateescape")
            if after != data and path not in plan.others:
                plan.others[path] = data, after


def _strip(text: str, plan: Plan) -> str:
    """Return the text of any file without the entries, the facts, and the lines that hold or cite what goes."""
    day = DayText(text)
    cited = [f"^e-{ident}" for ident in plan.ids]
    day.drop({fact.id for fact in plan.facts})
    day.bury(plan.ids)
    day.strike(lambda row: holds(row_words(row), plan.needle) or any(ident in row for ident in cited))
    return day.text


def strike_lines(text: str, needle: str) -> str:
    """Return a day's text without the lines that contain the needle, as ``DayText.strike`` removes them."""
    day = DayText(text)
    day.strike(lambda row: holds(row_words(row), needle))
    return day.text


def _is_bare(entry: Entry) -> bool:
    """Return whether an entry says nothing but its title."""
    said = (entry.context, *entry.key_exchanges, *entry.decisions, *entry.lessons, *entry.action_items, *entry.learned)
    return not any(said)


def _log_without(text: str, plan: Plan, gone: set[str]) -> str:
    """Return the wiki's log without the forgotten entries, pages and text."""
    for ident in plan.ids:
        text = re.sub(rf"\[\[daily/[\d-]+#\^e-{ident}(?:\|[^\n]*?)?\]\]", "(forgotten)", text)
    for slug in gone:
        text = re.sub(rf"\[\[{re.escape(slug)}(?:\|[^\]]*)?\]\]", "(forgotten)", text)
    if plan.needle:  # links keep their targets, because a lost ledger is rebuilt from them
        text = re.sub(r"\[\[([^\]|]*)\|([^\n]*?)\]\]",
                      lambda link: f"[[{link[1]}]]" if holds(link[2], plan.needle) else link[0], text)  # fmt: skip
    return text


def _transcript_of(cursor: Path) -> str:
    """Return the transcript that a cursor names, ``""`` when it cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads(cursor.read_text("utf-8"))["transcript"])
    return ""


def _reader_of(transcript: str) -> Reader:
    return Reader(with_sides=True, decode=clients.owner(Path(transcript)).decoder())


def _lines(transcript: str) -> Iterator[bytes]:
    """Yield the lines of a transcript; nothing when it is gone."""
    with suppress(OSError), intake.regular(transcript) as file:
        yield from file


def _has_prose(article: Article) -> bool:
    """Return whether a person wrote something of their own on a page."""
    return any(piece.kind == PROSE for piece in Page(article.slug, article.render()).pieces())
