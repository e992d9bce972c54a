"""Home: the search box, what was learned today, the projects, and what needs a person, with what can be done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta

from memoria.base import paths as places
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.exchange.records import Records
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.ground.printable import amount, dollars
from memoria.models import metered, protocol
from memoria.pages.housekeeping import MET, retry_failed
from memoria.reader.site import Asked, Done, Site, View
from memoria.worker import together

MAX_PROJECTS = 12
MAX_LEARNED, MAX_ARTICLES = 8, 6
NOTE_DAYS = 7  # for which a refused compile is shown
_NOTED = {
    "refused": "A claim was not written",
    "compile-failed": "A compile failed",
    "missing": "A part of a conversation is missing",
}
_COMPILE_AGAIN = ("/retry/waiting", "Compile again")


def show(site: Site, asked: Asked) -> View:
    """Return the first page, or that of one project (``?project=KEY``)."""
    catalog = site.catalog
    key = asked.query.get("project", "")
    projects = [shown for shown in catalog.projects if not key or shown.key == key]
    today = site.today.isoformat()  # a clock that was ahead gave days after it, which are not the last ones
    rows = [row for shown in projects for row in shown.articles if row.updated <= today]
    rows.sort(key=lambda row: row.updated, reverse=True)
    live = [fact for fact in catalog.facts.values() if fact.ended is None]
    days = ((f"{site.home.zone.day(fact.last or fact.time)}", fact) for fact in live)
    facts = [(day, fact) for day, fact in days if day <= today and (not key or key in fact.projects)]
    latest = max([facts[0][0] if facts else "", rows[0].updated if rows else ""])
    with closing(Ledger(site.home.paths)) as ledger:
        met = str(ledger.get(MET) or "") if site.home.settings.sync else ""
    values = {
        "today": today,
        "latest": latest,
        "learned": [fact for day, fact in facts if day == latest][:MAX_LEARNED],
        "articles": [row for row in rows if row.updated == latest][:MAX_ARTICLES],
        "projects": projects if asked.query.get("all") else projects[:MAX_PROJECTS],
        "more": 0 if asked.query.get("all") else max(len(projects) - MAX_PROJECTS, 0),
        "chosen": catalog.label(key) if key else "",
        "project": key,
        "needs": needs(site.home),
        "counts": {"articles": len(catalog.rows), "facts": len(live), "entries": len(catalog.entries)},
        "met": met,
        "label": catalog.label,
        "holding": catalog.holding,
        "line": site.markdown.line,
    }
    return View("home.html", catalog.label(key) if key else "Home", values)


@dataclass(frozen=True, slots=True)
class Need:
    """Something that needs a person: ``action`` is the path of the form that does it, ``button`` what it says."""

    title: str
    text: str
    action: str = ""
    button: str = ""


def needs(home: Home) -> list[Need]:
    """Return what needs a person now, the most important first."""
    with closing(Ledger(home.paths)) as ledger:
        return [
            *_jobs(home), *_compiles(ledger), *_machines(home),
            *(list(_budget(home, ledger)) or _waiting_needs(home, ledger)), *_settings(home), *_notes(ledger),
        ]  # fmt: skip


def _jobs(home: Home) -> Iterator[Need]:
    spool = Spool(home.paths.spool)
    if failed := spool.jobs(spool.failed):
        what = amount(len(failed), "conversation")
        waits = "it waits" if len(failed) == 1 else "they wait"
        yield Need(f"{what} could not be summarised", f"Nothing is lost: {waits} in the spool.", "/retry/flush",
                   "Try again")  # fmt: skip


def _compiles(ledger: Ledger) -> Iterator[Need]:
    if aside := ledger.failed_compiles():
        reason = aside[-1][1]
        yield Need(f"{amount(len(aside), 'entry')} could not be compiled", reason, "/retry/compile", "Compile again")


def _machines(home: Home) -> Iterator[Need]:
    if not home.settings.sync:
        return
    with Records.of(home.paths) as records:
        told = together.state(home, records)
    if told["problem"]:
        yield Need("The exchange with your other machines waits", told["problem"])
    if told["held"]:
        yield Need("Much is missing here", together.describe_held(told["held"]))
    for pair in told["pairs"]:
        yield Need("Two machines say this in other words", together.PAIR.format(**pair))


def _budget(home: Home, ledger: Ledger) -> Iterator[Need]:
    limit, now = home.settings.daily_budget_usd, clock.now()
    calls = ledger.calls_since(metered.day_bounds(now, home.zone)[0])
    spent = sum(call.cost_usd for _, call in calls)
    if limit and spent >= limit:
        yield Need("Today's budget is used up", f"{dollars(spent)} of {dollars(limit)}; the rest waits for midnight.")


def _waiting_needs(home: Home, ledger: Ledger) -> Iterator[Need]:
    told = {job.session: reason for job in Spool(home.paths.spool).jobs() if (reason := ledger.tries(job.name)[2])}
    if told:
        what = f"{amount(len(told), 'conversation')} could not be summarised yet"
        yield Need(what, list(told.values())[-1], "/retry/flush", "Try again")


def _settings(home: Home) -> Iterator[Need]:
    for problem in (*home.settings.problems, *protocol.problems(home.settings)):
        yield Need("A setting needs a look", problem)


def _notes(ledger: Ledger) -> Iterator[Need]:
    """Yield what was noted of late and is not over: not of entries compiled since, nor of those that were set aside."""
    waiting = any(ledger.entries(waiting=True))
    aside = {entry for entry, _ in ledger.failed_compiles()}
    since = (clock.now() - timedelta(days=NOTE_DAYS)).isoformat()
    seen = set()
    for time, kind, subject, text in ledger.notes():
        is_over = {*subject.split(",")} <= aside if kind == "refused" else kind == "compile-failed" and not waiting
        about = kind if kind == "compile-failed" else text  # why the last compile failed is enough
        if kind in _NOTED and time >= since and about not in seen and not is_over:
            seen.add(about)
            yield Need(_NOTED[kind], text, *(_COMPILE_AGAIN if kind == "compile-failed" else ()))


def retry_flush(site: Site, _: Asked) -> Done:
    """Give the failed jobs back to the worker, and start it."""
    retry_failed(site.home)
    with closing(Ledger(site.home.paths)) as ledger:
        ledger.lift_waits()
    detach.start_worker(site.home.settings, site.home.paths)
    return Done("/", "The conversations are being summarised again.")


def retry_compile(site: Site, _: Asked) -> Done:
    """Start a compile of the entries that were set aside."""
    return _compile(site, "--retry-failed")


def retry_waiting(site: Site, _: Asked) -> Done:
    """Start a compile of the entries that wait for one."""
    return _compile(site)


def _compile(site: Site, *words: str) -> Done:
    detach.start(places.own_command(sys.executable, "compile", *words), site.home.paths)
    return Done("/", "A compile has been started.")
