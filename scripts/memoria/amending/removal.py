"""Removal: carry out the plan of a forget.

The wiki goes first, because what a person saves there meanwhile is read while its statements are known. The daily logs
go last. Then every cache is rebuilt and the databases are overwritten. A tombstone with ids and no text stays in the
daily log, and a digest of a forgotten text in the state folder, so that nothing brings it back.

While a removal is under way, a file in the state folder says what is removed, texts included. After an interruption the
next worker or the next ``forget`` goes on from it.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

from memoria.amending import forget_plan, proof
from memoria.amending.forget_plan import Plan
from memoria.base import atomic
from memoria.base.paths import safe_name
from memoria.capture import cursor
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import tombstone
from memoria.daily.ledger import Ledger
from memoria.exchange import rounds, team
from memoria.ground import clock, database, files, home_files, projects
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.projects import Projects
from memoria.ground.replaced import Replaced
from memoria.ground.said import words
from memoria.ground.swap import Swap
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages import page, refresh
from memoria.search.words import fold, holds
from memoria.statements.keeper import Keeper, Outbox
from memoria.transcripts import intake
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Tombstones
from memoria.wiki.settle import Settle
from memoria.wiki.transaction import TRIES, ChangedError, Transactions
from memoria.working import session_of
from memoria.working.shared_store import open_store
from memoria.working.task_reading import pass_over


def carry_out(home: Home, plan: Plan) -> None:
    """Remove everything in the plan; the caller keeps worker, compile and observer from running."""
    paths = home.paths
    record = {"kind": plan.kind, "target": plan.target, "needles": plan.needles, "proving": plan.proof_texts}
    files.replace(Path(paths.forgetting), json.dumps(record), mode=atomic.PRIVATE)
    if plan.needle:  # first, so that nothing takes the text in again meanwhile
        Tombstones(paths).add(plan.needle)
    for session in plan.sessions:
        cursor.set_uncopied(paths.cursors, session)
    _wiki(home, plan)
    wanted = [fold(text) for text in plan.needles]
    with Keeper.at(home) as keeper:
        for fact in plan.facts:
            if keeper.store.get(fact.id):  # one that still waits goes with the outbox
                keeper.delete(fact.id)
        for fact in keeper.store.facts(live=False):
            if len(left := tuple(line for line in fact.history if not plan.has(line))) < len(fact.history):
                keeper.write(replace(fact, history=left))
        keeper.store.forget_deleted(_delete_facts(keeper, plan))
        _outbox(keeper.outbox, plan)
        team.follow(home, keeper, lambda text: proof.holds(text, wanted))
    _spool(home, plan)
    asyncio.run(_clear_working(home, plan))
    _archive(home, plan)
    _daily(home, plan)
    _remove_others(home, plan)
    Projects(paths.projects).forget(plan.folders, plan.project)
    projects.forget_folders(paths, plan.folders)
    sweep(home)
    with closing(Ledger(paths)) as ledger:
        DailyLog(paths).refresh(ledger)
        ledger.strike_notes(lambda text: proof.holds(text, wanted))
        ledger.shred()
        _caches(home, ledger)
    _logs(home, plan)
    gone = {f"e-{entry.id}": f"{entry.day}\n{'.'.join(entry.turns)}" for entry in plan.entries}
    pages = [f"knowledge/{name.removesuffix('.md')}" for name, data in plan.pages.items() if data is None]
    rounds.forget(home, gone | dict.fromkeys((fact.id for fact in plan.facts), ""), pages, plan.names)
    Path(paths.forgetting).unlink()
    atomic.sync_folder(paths.state)


def sweep(home: Home) -> None:
    """Remove earlier versions of files, also what a killed process left in the middle of replacing one."""
    Transactions(home.paths).recover()
    Transactions(home.paths).clear()
    DailyLog(home.paths).sweep()
    Replaced(Path(home.paths.replaced)).settle(everything=True)


def finish(home: Home) -> Plan | None:
    """Read what a person wrote on pages, then go on with a removal that was interrupted; return its plan, if any."""
    path = Path(home.paths.forgetting)
    _settle(home)
    try:
        record = json.loads(home_files.read(path))
        kind, target = str(record["kind"]), str(record["target"])
        needles, proving = list(map(str, record["needles"])), list(map(str, record["proving"]))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError, home_files.RefusedFileError) as error:
        raise ExpectedError(f"{path} is damaged ({error}); forget again what was not, and delete it") from error
    try:
        plan = forget_plan.plan(home, target, kind)
    except ExpectedError:  # what it names is gone already
        plan = Plan(kind, target)
    plan.earlier, plan.earlier_proving = needles, proving
    carry_out(home, plan)
    return plan


def _settle(home: Home) -> None:
    with Keeper.at(home) as keeper:
        refresh.settle(home, keeper)


def _delete_facts(keeper: Keeper, plan: Plan) -> list[str]:
    """Return the ids of the deleted facts that say what is forgotten."""
    facts = {fact.id for fact in plan.facts}
    sessions = {entry.session for entry in plan.entries} | plan.sessions
    return [
        fact.id
        for fact in keeper.store.deleted_facts()
        if fact.id in facts
        or (plan.project and plan.project in fact.projects)
        or (fact.session and fact.session in sessions)
        or plan.has(words(json.dumps(fact.to_dict())))
    ]


def _spool(home: Home, plan: Plan) -> None:
    """Remove the turns from jobs, and jobs left empty; a tombstone names the turns that never had an entry."""
    if plan.keys:
        _bury(home, home.zone.day(clock.now()), tombstone("-", plan.keys))
    held = plan.has
    for name, gone in plan.jobs.items():
        path = Path(name)
        header = path.read_bytes().partition(b"\n")[0]
        lines = [line for line, turns in intake.job_lines(path)
                 if not any(key in gone for key, _ in turns) and not held(line.decode("utf-8", "replace"))]  # fmt: skip
        files.replace(path, b"".join([header, b"\n", *lines]))
        if not intake.job_turns(path):
            path.unlink()
            path.with_name(path.name + ".why").unlink(missing_ok=True)


def _outbox(outbox: Outbox, plan: Plan) -> None:
    """Remove the facts that wait to be stored and go, and whatever contains the text."""
    facts, held = {fact.id for fact in plan.facts}, plan.has
    for path, body in outbox.items().items():
        if ("event" in body and body.get("id") in facts) or held(words(json.dumps(body))):
            path.unlink(missing_ok=True)


async def _clear_working(home: Home, plan: Plan) -> None:
    """Clear the working memory of the sessions and projects; for a text, delete the values that contain it."""
    file = Path(home.paths.working)
    if not (file.exists() or home.settings.redis_url):
        return
    sessions = plan.whole | {safe_name(each.session) for each in plan.entries if not plan.needle}
    projects = {f"project:{entry.project_key}" for entry in plan.entries if plan.kind == "project"}
    store, held = open_store(home.settings, home.paths), plan.has
    try:
        for scope in await store.scopes():
            whole = safe_name(session_of(scope) or "") in sessions or scope in projects
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
    days = {archived.entry: date.fromisoformat(archived.day) for archived in archive.list_kept()}
    for ident in {*plan.archives, *plan.ids}:
        turns = [] if ident in plan.ids or not plan.needle else archive.turns(ident) or []
        rest = [turn for turn in turns if not holds(turn.words, plan.needle)]
        archive.remove(ident)
        if rest:
            archive.keep(ident, days[ident], rest)


def _wiki(home: Home, plan: Plan) -> None:
    """Write the pages of the plan; a plan that a person's save has overtaken is made again."""
    for _ in range(TRIES):
        try:
            Transactions(home.paths).commit(plan.pages, plan.read, "forget")
        except ChangedError:
            _settle(home)
            again = forget_plan.plan(home, plan.target, plan.kind)
            plan.pages, plan.read, plan.facts = again.pages, again.read, again.facts
        else:
            return
    raise ExpectedError("Pages keep changing while they are forgotten from; run the command again when they are saved.")


def _daily(home: Home, plan: Plan) -> None:
    log_ = DailyLog(home.paths)
    for day in log_.days():
        if plan.needle:
            log_.rewrite(day, lambda text: forget_plan.strike_lines(text, plan.needle))
        if plan.ids:
            log_.edit(day, lambda text: text.bury(plan.ids))
    for entry in plan.entries:
        _bury(home, entry.day, tombstone(entry.id, entry.turns))  # of one that a person removed


def _bury(home: Home, day: date, line: str) -> None:
    DailyLog(home.paths).edit(day, lambda text: None if line in text.rows else text.append(line))


def _remove_others(home: Home, plan: Plan) -> None:
    exchange = Swap(home.paths)
    for path, (before, after) in plan.others.items():
        exchange.replace(path, after, before)


def _caches(home: Home, ledger: Ledger) -> None:
    """Rebuild the caches from what remains, instead of searching them."""
    for path in Path(home.paths.state).glob(f"{Path(home.paths.index).name}*"):  # and files set aside, and SQLite's
        path.unlink()
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        # Prepared pages, shown notes (one may be repeated), positions of sessions (written again after a turn).
        for folder, pattern in ((home.paths.page, "**/*"), (home.paths.hints, "*"), (home.paths.where, "*.[mps]*")):
            for path in Path(folder).glob(pattern):
                if path.is_file():
                    path.unlink()
        with Keeper.at(home) as keeper:
            Settle(home, keeper, index).run()  # what it reads now was no person's deletion
            Transactions(home.paths).clear()  # earlier versions of the wiki
            keeper.store.shred()
            page.prepare(home, ledger, DailyLog(home.paths), index, keeper)


def _logs(home: Home, plan: Plan) -> None:
    """Delete lines that contain a forgotten text from logs and notice, in place, because others may have them open.

    Files that were set aside because they could not be read are deleted when they contain one.
    """
    wanted = [fold(text) for text in plan.needles]
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
