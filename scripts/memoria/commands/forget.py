"""Forget: remove a text, an entry, a session, a project or an article from everything that memoria stores.

The command shows what it would remove (``forget_plan`` finds it), then removes it: facts and the memory server's copies
first, the Markdown last. Then every cache is rebuilt and the databases are overwritten. A tombstone with ids and no
text stays in the daily log, and a digest of a forgotten text in the state folder, so that nothing brings it back: no
compile, no flush, no verify, and no session that goes on. At the end everything is searched for it. After a kill at any
point, run the command again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import date
from pathlib import Path

from memoria.briefing import housekeeping
from memoria.briefing.page import Pages
from memoria.capture import cursor
from memoria.capture.spool import safe_name
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText, tombstone
from memoria.daily.ledger import Ledger
from memoria.facts.keeper import Keeper
from memoria.facts.outbox import Outbox
from memoria.forgetting import forget_plan, proof
from memoria.forgetting.forget_plan import Plan
from memoria.forgetting.proof import Proof
from memoria.ground import clock, database, files, locks, printable, project_folders
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.home import Home
from memoria.ground.projects import Projects
from memoria.ground.replaced import Replaced
from memoria.indexing import sources
from memoria.indexing.index import Index
from memoria.language.folding import folded, holds
from memoria.observing.observer import pass_over
from memoria.transcripts.archive import Archive
from memoria.transcripts.tombstones import Tombstones
from memoria.wiki.transaction import ChangedError, Transactions
from memoria.working.factory import open_store
from memoria.working.scope import session_of

REPLANS = 5  # new plans when a person saves a page in the meantime
SHOWN_CHARS = 200  # of a title or a line, in the question to the user


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "what", nargs="*", help="a text, an entry (e-…), a fact (l-…), a session's id, a project or an article"
    )
    parser.add_argument("--project", default="", metavar="NAME", help="a project (its name or key), as --as project")
    parser.add_argument(
        "--as", dest="kind", choices=forget_plan.KINDS, default="", help="its kind, if it could be several"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed and stop")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Show, ask, remove; return 1 when something contains it afterwards or cannot be read."""
    target = args.project or " ".join(args.what).strip()
    if not target or (args.project and args.what):
        raise UsageError("Name one thing to forget: a text, an entry, a session, an article, or a --project.")
    with _alone(home):
        Transactions.of(home.paths).recover()
        plan = forget_plan.plan(home, target, "project" if args.project else args.kind)
        if plan.is_empty:
            raise ExpectedError(f"Nothing is stored about {plan.target!r}; there is nothing to forget.")
        if not args.json or not (args.dry_run or args.yes):
            print("\n".join(_shown(plan)))
        found = Proof()
        done = not args.dry_run and (args.yes or _agreed())
        if done:
            _carry_out(home, plan)
            found = asyncio.run(proof.search(home, plan.proving))
        if args.json:
            print(json.dumps(_facts(plan, found, done=done), ensure_ascii=False, indent=2))
        elif done:
            print("\n".join(_proven(home, found)))
    return 0 if found.is_clean else 1


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Keep worker, compile and observer from running in the meantime."""
    with ExitStack() as stack:
        stack.enter_context(locks.waiting(Path(home.paths.worker_lock)))
        stack.enter_context(locks.waiting(Path(home.paths.compile_lock)))
        stack.enter_context(locks.waiting(Path(home.paths.observer_lock)))
        yield


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise ExpectedError("Nothing was removed. Add --yes to remove it, or --dry-run to see what would be removed.")
    return input("Remove all this? It cannot be undone. [y/N] ").strip().casefold() in ("y", "yes")


# -- removing


def _carry_out(home: Home, plan: Plan) -> None:
    paths = home.paths
    if plan.needle:  # first, so that nothing takes the text in again meanwhile
        Tombstones.of(paths).add(plan.needle)
    for session in plan.sessions:
        cursor.set_uncopied(paths.cursors, session)
    with Keeper.at(home) as keeper:
        for fact in plan.facts:
            keeper.delete(fact.id)
        keeper.store.settle_past(keeper.store.past())  # they hold forgotten words, and the wiki is rewritten below
        for outbox in (keeper.outbox, keeper.to_server):
            _outbox(outbox, plan)
        keeper.store.shred()
    _spool(home, plan)
    asyncio.run(_working(home, plan))
    _archive(home, plan)
    _wiki(home, plan)
    _daily(home, plan)
    Projects.read(paths.projects).forget(plan.folders, plan.project)
    project_folders.forget(paths, plan.folders)
    shutil.rmtree(paths.undo, ignore_errors=True)  # it holds earlier versions of the wiki
    Replaced(Path(paths.replaced)).settle(everything=True)  # and this folder earlier versions of every file
    ledger = Ledger.of(paths)
    try:
        DailyLog.of(paths).refresh(ledger)
        wanted = [folded(text) for text in plan.needles]
        ledger.strike_notes(lambda text: proof.holds(text, wanted))
        ledger.shred()
        _caches(home, ledger)
    finally:
        ledger.close()
    _logs(home, plan)


def _spool(home: Home, plan: Plan) -> None:
    """Remove the turns from jobs, and jobs left empty; a tombstone names the turns that never had an entry."""
    if plan.keys:
        DailyLog.of(home.paths).rewrite(home.zone.day(clock.now()), lambda text: _with_turn_tombstone(text, plan.keys))
    held = plan.held
    for name, gone in plan.jobs.items():
        path = Path(name)
        header = path.read_bytes().partition(b"\n")[0]
        lines = [line for line, turns in forget_plan.job_lines(path)
                 if not any(key in gone for key, _ in turns) and not held(line.decode("utf-8", "replace"))]  # fmt: skip
        files.replace(path, b"".join([header, b"\n", *lines]), mode=0o600)
        if not forget_plan.job_turns(path):
            path.unlink()
            path.with_name(path.name + ".why").unlink(missing_ok=True)


def _outbox(outbox: Outbox, plan: Plan) -> None:
    """Remove work that waits and contains the text, or is about a session that goes."""
    held = plan.held
    for folder, items in ((outbox.folder, outbox.waiting()), (outbox.aside, outbox.set_aside())):
        for item in items:
            fact = item.body.get("event")
            session = str(fact.get("session", "")) if isinstance(fact, dict) else ""
            goes = session and safe_name(session) in plan.sessions and not plan.needle
            if goes or held(json.dumps([item.body, item.reason])):
                (folder / item.name).unlink(missing_ok=True)


async def _working(home: Home, plan: Plan) -> None:
    """Clear the working memory of the sessions and projects; for a text, delete the values that contain it."""
    file = Path(home.paths.working)
    if not (file.exists() or home.settings.redis_url):
        return
    sessions = {entry.session for entry in plan.entries if not plan.needle}
    sessions |= {plan.target} if plan.kind == "session" else set()
    projects = {f"project:{entry.project_key}" for entry in plan.entries if plan.kind == "project"}
    store, held = open_store(home.settings, home.paths), plan.held
    try:
        for scope in [seen.name for seen in await store.scopes()]:
            whole = session_of(scope) in sessions or scope in projects
            for internal in (True, False):
                for key, record in (await store.records(scope, internal=internal)).items():
                    if whole or held(f"{key} {record.value}"):
                        await store.delete(scope, key)
        for session in plan.sessions:
            await pass_over(session, home.paths.cursors, store)
    finally:
        await store.close()
    with closing(database.connect(file)) as db:
        database.shred(db)


def _archive(home: Home, plan: Plan) -> None:
    archive = Archive.of(home.paths, max(1, home.settings.archive_mb))
    days = {
        entry.id: entry.day for day in DailyLog.of(home.paths).days() for entry in DailyLog.of(home.paths).entries(day)
    }
    days |= {archived.entry: date.fromisoformat(archived.day) for archived in archive.listed()}
    for ident in {*plan.archives, *plan.ids}:
        turns = [] if ident in plan.ids or not plan.needle else archive.turns(ident) or []
        rest = [turn for turn in turns if not holds(forget_plan.words(turn), plan.needle)]
        archive.remove(ident)
        if rest:
            archive.keep(ident, days[ident], rest)


def _wiki(home: Home, plan: Plan) -> None:
    """Write the pages of the plan; a plan that a person's save has overtaken is made again."""
    for _ in range(REPLANS):
        try:
            Transactions.of(home.paths).commit(plan.pages, plan.read, "forget")
        except ChangedError:
            again = forget_plan.plan(home, plan.target, plan.kind)
            plan.pages, plan.read = again.pages, again.read
        else:
            return
    raise ExpectedError("Pages keep changing while they are forgotten from; run the command again when they are saved.")


def _daily(home: Home, plan: Plan) -> None:
    log_ = DailyLog.of(home.paths)
    for day in log_.days():
        if plan.needle:
            log_.rewrite(day, lambda text: forget_plan.without_lines(text, plan.needle))
        if plan.ids:
            log_.rewrite(day, lambda text: _with_tombstones(text, plan.ids))


def _with_turn_tombstone(text: str, keys: Sequence[str]) -> str:
    """Return a day's text with a tombstone for turns that never had an entry."""
    line = tombstone("-", keys)
    day = DayText(text)
    if line not in day.rows:
        day.append(line)
    return day.text


def _with_tombstones(text: str, ids: Collection[str]) -> str:
    """Return a day's text in which these entries are tombstones."""
    day = DayText(text)
    day.bury(ids)
    return day.text


def _caches(home: Home, ledger: Ledger) -> None:
    """Rebuild the caches from what remains, instead of searching them."""
    for path in Path(home.paths.state).glob(f"{Path(home.paths.index).name}*"):  # and files set aside, and SQLite's
        path.unlink()
    housekeeping.remove_outdated(home.paths)
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        # Prepared pages, shown notes (one may be repeated), positions of sessions (written again after a turn).
        for folder, pattern in (
            (home.paths.page, "**/*"),
            (home.paths.hints, "*"),
            (home.paths.where, "*.[mp]*"),
            (home.paths.saved, "*"),
        ):
            for path in Path(folder).glob(pattern):
                if path.is_file():
                    path.unlink()
        with Keeper.at(home) as keeper:
            keeper.store.settle_past(keeper.store.past())
            Pages.of(home.paths).prepare(home.settings, ledger, DailyLog.of(home.paths), index, keeper)


def _logs(home: Home, plan: Plan) -> None:
    """Delete lines that contain a forgotten text from logs and notice, in place, because others may have them open.

    Files that were set aside because they could not be read are deleted when they contain one.
    """
    wanted = [folded(text) for text in plan.needles]
    for path in [*Path(home.paths.log).glob("*"), Path(home.paths.notice), Path(home.paths.notices_given)]:
        if path.is_file():
            rows = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
            rest = [row for row in rows if not proof.holds(row, wanted)]
            if len(rest) < len(rows):
                with path.open("r+b") as file:
                    file.write("\n".join(rest).encode("utf-8", "surrogateescape"))
                    file.truncate()
    for path in Path(home.paths.state).rglob("*.bak-*"):
        if path.is_file() and proof.holds(path.read_bytes().decode("utf-8", "ignore"), wanted):
            path.unlink()


# -- printing


def _shown(plan: Plan) -> Iterator[str]:
    yield f"To forget the {plan.kind} {plan.target!r}:"
    for entry in plan.entries:
        turns = printable.counted(len(entry.turns), "turn")
        yield f"- entry {entry.source}: {printable.line(entry.title)[:SHOWN_CHARS]} ({turns})"
    for ident in sorted(plan.tombstones):
        yield f"- remaining copies of the forgotten entry {ident}"
    for day, row in plan.rows:
        yield f"- daily/{day.isoformat()}: {printable.line(row)[:SHOWN_CHARS]}"
    for fact in plan.facts:
        yield f"- learned fact {fact.id}: {printable.line(fact.content)[:SHOWN_CHARS]}"
    for slug, count in sorted(plan.articles.items()):
        yield f"- article {slug}: " + ("the whole page" if count < 0 else printable.counted(count, "line"))
    for folder in plan.folders:
        yield f"- that {printable.line(folder)} is a project's folder, and its remote"
    if count := sum(plan.archives.values()):
        yield f"- {printable.counted(count, 'archived turn')}"
    if plan.jobs:
        yield f"- {printable.counted(len(plan.jobs), 'spooled job')}, entirely or in part"
    yield "- all steps of `memoria undo`, and copies in indexes, prepared pages, working memory, ledger and logs"


def _proven(home: Home, found: Proof) -> Iterator[str]:
    """Yield what was searched, and what may hold the text still."""
    searched = f"{printable.counted(found.files, 'file')} ({printable.counted(found.bytes, 'byte')})"
    if found.values:
        searched += f" and {printable.counted(found.values, 'value')} of working memory"
    yield f"{'Forgotten' if found.is_clean else 'Removed'}. Searched {searched}: " + (
        "nothing contains it." if found.is_clean else "not everything is clean."
    )
    yield from (f"Still contains it: {printable.line(place)}" for place in found.holding)
    yield from (f"Cannot be read, and may contain it: {printable.line(place)}" for place in found.unread)
    if home.settings.memory_api_url:
        yield "The memory server is told to delete its copies of the facts with the next exchange."
    if found.client:
        yield "Claude Code's own files contain it; memoria does not change them and keeps nothing of it from them:"
        yield from (f"- {printable.line(path)}" for path in found.client)


def _facts(plan: Plan, found: Proof, *, done: bool) -> dict[str, object]:
    return {
        "kind": plan.kind,
        "done": done,
        "entries": sorted(plan.ids),
        "lines": [[day.isoformat(), row] for day, row in plan.rows],
        "facts": [fact.id for fact in plan.facts],
        "articles": {slug: ("all" if count < 0 else count) for slug, count in sorted(plan.articles.items())},
        "archived_turns": sum(plan.archives.values()),
        "jobs": len(plan.jobs),
        "folders": plan.folders,
        "searched": {"files": found.files, "bytes": found.bytes, "values": found.values},
        "still_in": found.holding,
        "unread": found.unread,
        "client_files": found.client,
    }
