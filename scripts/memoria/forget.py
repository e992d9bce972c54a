"""Forget: take a text, an entry, a session, a project or an article out of everything that memoria keeps.

Shows what it would remove, then removes it: facts and the word to a memory server first, the markdown last, then every
cache is made anew and the databases are overwritten. What stays is a tombstone in the daily log that holds ids and no
word, so that no later compile, flush or verify brings anything back. Killed anywhere, it is simply run again.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from memoria import catalog, clock, daily, feeds, files, locks
from memoria.archive import Archive
from memoria.article import Article
from memoria.daily import DailyLog, Entry
from memoria.errors import ArchiveError, ExpectedError
from memoria.home import Home
from memoria.index import Index
from memoria.ledger import Ledger
from memoria.memory.event import Event
from memoria.memory.keep import Keeper
from memoria.page import Pages
from memoria.roster import Row
from memoria.spool import Job, Spool, safe_name
from memoria.transaction import Transactions, digest
from memoria.turn import Reader, Turn
from memoria.unsay import folded, holds, unlink, unsay
from memoria.vault import Vault
from memoria.wiki import INDEX, LOG, Wiki

log = logging.getLogger(__name__)

KINDS = ("entry", "session", "project", "article", "text")
LEAST_TEXT = 4  # characters; less would take half the memory with it
_ENTRY = re.compile(r"(?:\[\[)?(?:daily/\d{4}-\d{2}-\d{2})?#?\^?e-([0-9a-z]+)(?:\|[^\]]*)?(?:\]\])?")


@dataclass(slots=True)
class Plan:
    """What would go. ``pages`` maps a name in the wiki to its new content, None to remove it."""

    kind: str
    target: str
    entries: list[Entry] = field(default_factory=list)
    buried: set[str] = field(default_factory=set)  # ids that are tombstones already: only copies are left to remove
    facts: list[Event] = field(default_factory=list)
    rows: list[tuple[date, str]] = field(default_factory=list)
    articles: dict[str, int] = field(default_factory=dict)  # slug -> rows that go, -1: the whole article
    jobs: dict[str, list[str]] = field(default_factory=dict)  # path of a job -> keys of the turns that go
    archives: dict[str, int] = field(default_factory=dict)  # entry id -> turns that go
    keys: list[str] = field(default_factory=list)  # turns that stand in no entry, and never shall
    pages: dict[str, bytes | None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)

    @property
    def needle(self) -> str:
        """The text that is forgotten, ``""`` for anything else."""
        return self.target if self.kind == "text" else ""

    @property
    def ids(self) -> set[str]:
        """The ids of the forgotten entries."""
        return {entry.id for entry in self.entries} | self.buried

    @property
    def needles(self) -> list[str]:
        """What must not be found anywhere afterwards: in logs and notes a line with one of these goes."""
        told = [self.needle] if self.needle else []
        for entry in self.entries:
            told += [entry.title, entry.context, *entry.key_exchanges, *entry.decisions, *entry.lessons]
            told += [*entry.action_items, *(event.text for event in entry.learned), f"e-{entry.id}"]
        told += [entry.id for entry in self.entries] + [event.content for event in self.facts]
        told += [self.target] if self.kind in ("session", "project") else []
        return [text for text in dict.fromkeys(text.strip(" .") for text in told) if len(text) >= LEAST_TEXT]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.ids or self.facts or self.rows or self.articles or self.jobs or self.archives or self.keys)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line takes."""
    parser.add_argument("what", nargs="+", help="a text, an entry (^e-…), a session's id, a project or an article")
    parser.add_argument("--as", dest="kind", choices=KINDS, default="", help="what it is, when it could be several")
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed and stop")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Show, ask, remove; exit status 1 when something still holds it afterwards or nothing was found."""
    with _alone(home):
        Transactions(Path(home.paths.knowledge), Path(home.paths.state, "undo")).recover()
        plan = _Planner(home).plan(" ".join(args.what).strip(), args.kind)
        if plan.is_empty:
            raise ExpectedError(f"nothing is kept about {plan.target!r}; there is nothing to forget.")
        if not args.json or not (args.dry_run or args.yes):
            print("\n".join(_shown(plan)))
        left: list[str] = []
        done = not args.dry_run and (args.yes or _agreed())
        if done:
            _carry_out(home, plan)
            left = remaining(home, plan)
        if args.json:
            print(json.dumps(_facts(plan, done=done, left=left), ensure_ascii=False, indent=2))
        elif done:
            print("Forgotten." if not left else "Removed, but these still hold it: " + ", ".join(left))
    return 1 if left else 0


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """No worker and no compile at the same time."""
    with ExitStack() as stack:
        stack.enter_context(locks.waiting(Path(home.paths.worker_lock)))
        stack.enter_context(locks.waiting(Path(home.paths.state, "compile.lock")))
        yield


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise ExpectedError("nothing was removed: add --yes to do it, or --dry-run only to look.")
    return input("Remove all this? It cannot be undone. [y/N] ").strip().casefold() in ("y", "yes")


# -- what would go


class _Planner:
    """Finds everything that belongs to a target."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.daily = DailyLog.of(home.paths)
        self.entries = [entry for day in self.daily.days() for entry in self.daily.entries(day)]
        self.articles = {article.slug: article for article in Wiki.of(home.paths).articles()}
        self.archive = Archive(Path(home.paths.archive), max(1, home.settings.archive_mb) * 1_000_000)
        self.spool = Spool(home.paths.spool)

    def plan(self, target: str, kind: str) -> Plan:
        plan = Plan(kind or self._kind(target), target)
        match = _ENTRY.fullmatch(target)
        ident = match[1] if match else target
        if plan.kind == "entry":
            plan.entries = [entry for entry in self.entries if entry.id == ident]
            plan.buried = {ident} & self._buried()
        elif plan.kind == "session":
            plan.entries = [entry for entry in self.entries if entry.session == target]
        elif plan.kind == "project":
            plan.entries = [entry for entry in self.entries if target in (entry.project, entry.project_key)]
        elif plan.kind == "text":
            self._text(plan)
        self._facts(plan)
        self._jobs(plan)
        self._transcripts(plan)
        plan.archives |= {entry.id: len(self._turns(entry.id)) for entry in plan.entries}
        self._wiki(plan)
        return plan

    def _kind(self, target: str) -> str:
        match = _ENTRY.fullmatch(target)
        ident = match[1] if match else target
        if any(entry.id == ident for entry in self.entries) or ident in self._buried():
            return "entry"
        if any(entry.session == target for entry in self.entries) or self._of_session(target):
            return "session"
        if any(target in (entry.project, entry.project_key) for entry in self.entries):
            return "project"
        return "article" if self._slug(target) else "text"

    def _buried(self) -> set[str]:
        return {ident for day in self.daily.days() for ident, _ in self.daily.forgotten(day)}

    def _slug(self, target: str) -> str:
        vault = Vault(Path(self.home.paths.home), self.articles)
        slug = vault.page(target.removeprefix("[[").removesuffix("]]")).removeprefix("knowledge/")
        return slug if slug in self.articles else ""

    def _of_session(self, session: str) -> list[Job]:
        boxes = (self.spool.tmp, self.spool.new, self.spool.cur, self.spool.failed)
        return [job for job in self.spool.jobs(*boxes) if job.session == safe_name(session)]

    def _turns(self, entry_id: str) -> list[tuple[str, str]]:
        """Key and words of the archived turns of an entry."""
        try:
            turns = self.archive.turns(entry_id) or []
        except ArchiveError:
            return []
        return [(turn.key, _words(turn)) for turn in turns]

    def _text(self, plan: Plan) -> None:
        if len(folded(plan.needle)) < LEAST_TEXT:
            raise ExpectedError(f"a text to forget needs at least {LEAST_TEXT} characters.")
        for day in self.daily.days():
            before, after = self.daily.text(day), _unsaid(self.daily.text(day), plan.needle)
            if before != after:
                kept = set(after.splitlines())
                plan.rows += [(day, row) for row in before.splitlines() if row not in kept]
                plan.entries += [entry for entry in daily.parse(after, day) if _says_nothing(entry)]
        for entry in self.entries:
            count = sum(holds(text, plan.needle) for _, text in self._turns(entry.id))
            if count:
                plan.archives[entry.id] = count

    def _facts(self, plan: Plan) -> None:
        sessions = {entry.session for entry in plan.entries}
        said = {entry.id: folded("\n".join(text for _, text in self._turns(entry.id))) for entry in plan.entries}
        stands = {event.id for entry in plan.entries for event in entry.learned}
        keys = {entry.project_key for entry in plan.entries if plan.kind == "project"}
        with Keeper.of(self.home.paths, self.home.zone) as keeper:
            for event in keeper.store.facts(live=False):
                quoted = plan.kind == "entry" and event.session in sessions and event.quote and any(
                    folded(event.quote) in text for text in said.values())  # fmt: skip
                named = (plan.kind == "session" and event.session == plan.target) or event.project in keys
                if event.id in stands or quoted or named or holds(json.dumps(event.to_dict(), ensure_ascii=False), plan.needle):  # fmt: skip # noqa: E501
                    plan.facts.append(event)

    def _jobs(self, plan: Plan) -> None:
        boxes = (self.spool.tmp, self.spool.new, self.spool.cur, self.spool.failed)
        gone = {key for entry in plan.entries for key in entry.turns}
        names = self._sessions(plan)
        for job in self.spool.jobs(*boxes):
            path = next(path for box in boxes if (path := Path(box, job.name)).exists())
            turns = _job_turns(path)
            if job.session in names:
                plan.jobs[str(path)] = [key for key, _ in turns]
            elif keys := [key for key, text in turns if key in gone or holds(text, plan.needle)]:
                plan.jobs[str(path)] = keys

    def _sessions(self, plan: Plan) -> set[str]:
        """The sessions that go as a whole, as they name files."""
        sessions = {entry.session for entry in plan.entries} if plan.kind in ("session", "project") else set()
        return {safe_name(session) for session in (sessions | {plan.target} if plan.kind == "session" else sessions)}

    def _transcripts(self, plan: Plan) -> None:
        """Turns that the client still holds and no entry has: without a tombstone a later look would take them in."""
        known = {key for entry in self.entries for key in entry.turns}
        keys = [key for found in plan.jobs.values() for key in found]
        names = self._sessions(plan)
        for path in sorted(Path(self.home.paths.cursors).glob("*")) if names or plan.needle else ():
            for line in _transcript(path):
                turns = Reader(keep_sidechains=True).read([line])
                keys += [turn.key for turn in turns if path.name in names or holds(_words(turn), plan.needle)]
        plan.keys = [key for key in dict.fromkeys(keys) if key not in known]

    def _wiki(self, plan: Plan) -> None:
        """The wiki as it would be: articles, index and log."""
        folder = Path(self.home.paths.knowledge)
        sources = {entry.source for entry in self.entries if entry.id in plan.ids}
        gone = {self._slug(plan.target)} if plan.kind == "article" else set()
        left: dict[str, Article] = {}
        for slug, article in self.articles.items():
            before = len(article.claims)
            dropped = 0 if slug in gone else unsay(article, sources, plan.needle)
            emptied = before and not article.claims and dropped
            if slug in gone or emptied or holds(f"{article.title}\n{article.name}", plan.needle):
                gone.add(slug)
                plan.articles[slug] = -1
            else:
                left[slug] = article
                plan.articles |= {slug: dropped} if dropped else {}
        for article in left.values():
            for slug in gone:
                unlink(article, slug)
        after: dict[str, bytes | None] = {f"{slug}.md": None for slug in gone}
        after |= {f"{slug}.md": article.render().encode("utf-8", "surrogateescape") for slug, article in left.items()}
        if (folder / INDEX).exists():
            after |= catalog.pages([Row.of(article) for article in left.values()], folder)
        if (folder / LOG).exists():
            text = (folder / LOG).read_text(encoding="utf-8", errors="surrogateescape")
            after[LOG] = _unlogged(text, plan, gone).encode("utf-8", "surrogateescape")
        for name, data in after.items():
            stands = (folder / name).read_bytes() if (folder / name).exists() else None
            if data != stands:
                plan.pages[name], plan.read[name] = data, digest(stands)


def _words(turn: Turn) -> str:
    return "\n".join((turn.text, *turn.tools))


def _unsaid(text: str, needle: str) -> str:
    """A day's text without the lines that hold the needle; of a heading only the title goes."""
    kept = []
    for row in text.split("\n"):
        if not holds(row, needle):
            kept.append(row)
        elif row.startswith("### Session ("):
            kept.append(" · ".join([*row.split(" · ")[:2], "(forgotten)"]))
        elif row.startswith("<!-- memoria "):
            kept.append(row)
    return "\n".join(kept)


def _says_nothing(entry: Entry) -> bool:
    said = (entry.context, *entry.key_exchanges, *entry.decisions, *entry.lessons, *entry.action_items, *entry.learned)
    return not any(said) and entry.title == "(forgotten)"


def _unlogged(text: str, plan: Plan, gone: set[str]) -> str:
    """The wiki's log without the forgotten entries, pages and words."""
    for ident in plan.ids:
        text = re.sub(rf"\[\[daily/[\d-]+#\^e-{ident}(?:\|[^\n]*?)?\]\]", "(forgotten)", text)
    for slug in gone:
        text = re.sub(rf"\[\[{re.escape(slug)}(?:\|[^\]]*)?\]\]", "(forgotten)", text)
    if plan.needle:  # a link keeps its target: what a lost ledger is rebuilt from
        text = re.sub(r"\[\[([^\]|]*)\|([^\n]*?)\]\]",
                      lambda link: f"[[{link[1]}]]" if holds(link[2], plan.needle) else link[0], text)  # fmt: skip
    return text


def _transcript(cursor: Path) -> Iterator[bytes]:
    """The lines of the transcript that a cursor names; none when it is gone."""
    try:
        with Path(json.loads(cursor.read_text("utf-8"))["transcript"]).open("rb") as file:
            yield from file
    except (OSError, ValueError, KeyError, TypeError):
        return


def _job_turns(path: Path) -> list[tuple[str, str]]:
    return [(key, text) for _, turns in _job_lines(path) for key, text in turns]


def _job_lines(path: Path) -> Iterator[tuple[bytes, list[tuple[str, str]]]]:
    """Each line of a job after its header, with key and words of the turns it gives."""
    reader = Reader(keep_sidechains=True)
    with path.open("rb") as file:
        file.readline()
        for line in file:
            yield line, [(turn.key, _words(turn)) for turn in reader.read([line])]


# -- removing


def _carry_out(home: Home, plan: Plan) -> None:
    paths = home.paths
    with Keeper.of(paths, home.zone, server=bool(home.settings.memory_api_url)) as keeper:
        for event in plan.facts:
            keeper.delete(event.id)
        keeper.store.shred()
    _spool(home, plan)
    _archive(home, plan)
    undo = Path(paths.state, "undo")
    Transactions(Path(paths.knowledge), undo).commit(plan.pages, plan.read, "forget")
    _daily(home, plan)
    shutil.rmtree(undo, ignore_errors=True)  # it holds what the wiki was
    ledger = Ledger(Path(paths.ledger))
    try:
        DailyLog.of(paths).refresh(ledger)
        ledger.strike_notes(plan.needles)
        ledger.shred()
        _caches(home, ledger)
    finally:
        ledger.close()
    _logs(home, plan)


def _spool(home: Home, plan: Plan) -> None:
    """A job of which nothing is left goes; what goes without ever having had an entry is named in a tombstone."""
    if plan.keys:
        line = daily.tombstone("-", plan.keys)
        DailyLog.of(home.paths).rewrite(
            home.zone.day(clock.now()), lambda text: text if line in text else f"{text.rstrip()}\n\n{line}\n"
        )
    for name, gone in plan.jobs.items():
        path = Path(name)
        header = path.read_bytes().partition(b"\n")[0]
        lines = [line for line, turns in _job_lines(path)
                 if not any(key in gone for key, _ in turns) and not holds(_decoded(line), plan.needle)]  # fmt: skip
        files.replace(path, b"".join([header, b"\n", *lines]), mode=0o600)
        if not _job_turns(path):
            path.unlink()
            path.with_name(path.name + ".why").unlink(missing_ok=True)


def _decoded(line: bytes) -> str:
    """A line of JSON with its escapes undone, for looking for words in it."""
    try:
        return json.dumps(json.loads(line), ensure_ascii=False)
    except ValueError:
        return line.decode("utf-8", "replace")


def _archive(home: Home, plan: Plan) -> None:
    archive = Archive(Path(home.paths.archive), max(1, home.settings.archive_mb) * 1_000_000)
    days = {
        entry.id: entry.day for day in DailyLog.of(home.paths).days() for entry in DailyLog.of(home.paths).entries(day)
    }
    for ident in {*plan.archives, *plan.ids}:
        turns = [] if ident in plan.ids else archive.turns(ident) or []
        kept = [turn for turn in turns if not holds(_words(turn), plan.needle)]
        archive.remove(ident)
        if kept and ident in days:
            archive.keep(ident, days[ident], kept)


def _daily(home: Home, plan: Plan) -> None:
    log_ = DailyLog.of(home.paths)
    for day in log_.days():
        if plan.needle:
            log_.rewrite(day, lambda text: _unsaid(text, plan.needle))
        if plan.ids:
            log_.rewrite(day, lambda text: daily.without(text, plan.ids))


def _caches(home: Home, ledger: Ledger) -> None:
    """Made anew from what is left, so that nothing has to be looked for in them."""
    for database in (home.paths.index, str(Path(home.paths.state, "roster.db"))):
        for suffix in ("", "-wal", "-shm"):
            Path(database + suffix).unlink(missing_ok=True)
    for folder in (Path(home.paths.page), Path(home.paths.state, "where")):
        for page in folder.rglob("*.md"):
            page.unlink()
    with Index(home.paths.index) as index:
        feeds.refresh(index, home.paths)
        feeds.forget_gone(index, home.paths)
        Pages.of(home.paths).prepare(home.settings.page_chars, ledger, DailyLog.of(home.paths), index)


def _logs(home: Home, plan: Plan) -> None:
    """Lines of logs and of the notice that hold a forgotten text go; the files stay open to whoever writes them."""
    wanted = [folded(text) for text in plan.needles]
    for path in [*Path(home.paths.log).glob("*"), Path(home.paths.state, "notice")]:
        if path.is_file():
            rows = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            kept = [row for row in rows if not any(text in folded(row) for text in wanted)]
            if len(kept) < len(rows):
                with path.open("r+", encoding="utf-8") as file:
                    file.write("".join(kept))
                    file.truncate()


def remaining(home: Home, plan: Plan) -> list[str]:
    """The files of home and state that still hold a forgotten text, as a person finds them."""
    wanted = [plan.needle] if plan.needle else [text for entry in plan.entries for text in (entry.context, entry.title)]
    needles = [text.casefold().encode() for text in wanted if len(text) >= 12 or text == plan.needle]
    found = []
    places = {Path(home.paths.daily), Path(home.paths.knowledge), Path(home.paths.state)}
    for path in sorted(path for place in places for path in place.rglob("*") if path.is_file()):
        if "venv" in path.parts:
            continue
        data = path.read_bytes().decode("utf-8", "replace").casefold().encode()
        if any(needle in data for needle in needles):
            found.append(str(path))
    return found


# -- telling


def _shown(plan: Plan) -> Iterator[str]:
    yield f"To forget the {plan.kind} {plan.target!r}:"
    for entry in plan.entries:
        yield f"- entry {entry.source}: {_printable(entry.title)} ({len(entry.turns)} turns)"
    for ident in sorted(plan.buried):
        yield f"- what may be left of the forgotten entry {ident}"
    for day, row in plan.rows:
        yield f"- daily/{day.isoformat()}: {_printable(row)}"
    for event in plan.facts:
        yield f"- learned fact {event.id}: {_printable(event.content)}"
    for slug, count in sorted(plan.articles.items()):
        yield f"- article {slug}: " + ("the whole page" if count < 0 else f"{count} lines")
    if count := sum(plan.archives.values()):
        yield f"- {count} archived turns"
    if plan.jobs:
        yield f"- {len(plan.jobs)} spooled jobs, in whole or in part"
    yield "- every step of `memoria undo`, and copies in indexes, prepared pages, ledger and logs"


def _facts(plan: Plan, *, done: bool, left: Sequence[str]) -> dict[str, object]:
    return {
        "kind": plan.kind,
        "done": done,
        "entries": sorted(plan.ids),
        "lines": [[day.isoformat(), row] for day, row in plan.rows],
        "facts": [event.id for event in plan.facts],
        "articles": {slug: ("all" if count < 0 else count) for slug, count in sorted(plan.articles.items())},
        "archived_turns": sum(plan.archives.values()),
        "jobs": len(plan.jobs),
        "still_in": list(left),
    }


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:200]
