"""Status: what the hooks, the worker and the compile did last, what waits, what failed, and what it cost.

The command only reads and is safe at any time.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoria.base import invocation
from memoria.base.paths import Paths
from memoria.capture.spool import Spool
from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.models import protocol
from memoria.wiki.folder import Wiki

DAYS = 7  # of calls and costs shown
ROWS = 10  # of each kind shown


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the status; always return 0, because a person must judge it."""
    facts = gather(home)
    if args.json:
        print(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        other = protocol.problems(home.settings)  # those of the settings themselves stand on standard error
        print("\n".join(_lines(facts | {"problems": other}, home.zone)))
    return 0


def gather(home: Home) -> dict[str, Any]:
    """Return all facts as JSON-able data; times are ISO 8601 UTC, or None for what never happened."""
    paths = home.paths
    with closing(Ledger(paths)) as ledger:
        spool = Spool(paths.spool)
        waiting, failed = spool.jobs(), spool.jobs(spool.failed)
        return {
            "home": paths.home,
            "is_begun": not home.scratch,
            "other_memories": [": ".join(found) for found in home.second_memories()],
            "state": Paths.of(home.settings).state,
            "disabled": home.settings.disabled,
            "model": home.settings.model,
            "last_hook": _last_hook(paths.hook_log),
            "last_flush": ledger.get("last_flush"),
            "last_compile": ledger.get("last_compile"),
            "waiting": [
                {"job": job.name, "session": job.session, "event": job.event, "since": _iso(job.stamp / 1e9)}
                | _trouble(ledger, job.name)
                for job in waiting
            ],
            "failed": [{"job": job.name, "reason": _reason(spool, job.name)} for job in failed],
            "compiles_failed": [{"entry": entry, "reason": reason} for entry, reason in ledger.failed_compiles()],
            **_counts(ledger, home),
            "articles": len(Wiki(paths).slugs()),
            "calls": _calls_by_day(home, ledger),
            "notes": [
                {"time": time, "kind": kind, "subject": subject, "text": text}
                for time, kind, subject, text in ledger.notes()
                if kind in ("missing", "refused", "compile-failed")
            ][:10],
            **_exchanges(home),
            "problems": [*home.settings.problems, *protocol.problems(home.settings)],
        }


def _counts(ledger: Ledger, home: Home) -> dict[str, int]:
    """Return how much there is; what no compile here can take in does not wait for one."""
    return ledger.counts() | {"uncompiled": len(gate.find_compilable(ledger, home)) + ledger.count_by_hand()}


def _exchanges(home: Home) -> dict[str, dict[str, Any]]:
    """How the exchange with other machines, and with the memory server, stands; empty where there is none."""
    found: dict[str, dict[str, Any]] = {"sync": {}, "memory_server": {}}
    if not (home.settings.sync or home.settings.memory_api_url):
        return found
    from memoria.exchange.records import Records  # noqa: PLC0415 (only for what is exchanged)
    from memoria.worker import together  # noqa: PLC0415

    with Records.of(home.paths) as records:
        if home.settings.sync:
            found["sync"] = together.state(home, records)
        state, refused = records.get("server", {}), records.get("refused", {})
    if home.settings.memory_api_url:
        found["memory_server"] = {
            "waiting": state.get("waiting", 0),
            "problem": state.get("problem", ""),
            "refused": [{"id": ident, "reason": reason} for ident, reason in refused.items()],
        }
    return found


def _sync_lines(facts: dict[str, Any], zone: clock.Zone) -> list[str]:
    if not facts:
        return []
    met = ", ".join(f"{each['label']} {_wall(each['met'], zone)}" for each in facts["machines"]) or "none yet"
    rows = [f"machines      last exchange {_wall(facts['last'], zone)}; met {met}"]
    rows += [f"  {facts['problem']}"] if facts["problem"] else []
    told = [f"{amount(facts['held'], 'piece')} missing here"] if facts["held"] else []
    told += [f"{amount(len(facts['pairs']), 'pair')} of two wordings"] if facts["pairs"] else []
    return rows + ([f"  {', '.join(told)}: {invocation.command('sync --status')}"] if told else [])


def _server_lines(facts: dict[str, Any]) -> list[str]:
    if not facts:
        return []
    refused = f", {len(facts['refused'])} refused" if facts["refused"] else ""
    rows = [f"memory server {facts['problem'] or 'in order'}; {facts['waiting']} waiting{refused}"]
    return rows + [f"  {one['id']}: {one['reason']}" for one in facts["refused"][:10]]


def _last_hook(path: str) -> dict[str, str] | None:
    """Return the last line that a hook wrote."""
    if not (rows := home_files.last_rows(path)):
        return None
    time, _, text = rows[-1].partition(" ")
    return {"time": time, "what": text}


def _trouble(ledger: Ledger, job: str) -> dict[str, Any]:
    count, not_before, reason = ledger.tries(job)
    return {"tries": count, "next_try": _iso(not_before), "reason": reason} if reason else {}


def _reason(spool: Spool, job: str) -> str:
    try:
        return Path(spool.failed, job + ".why").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def _calls_by_day(home: Home, ledger: Ledger) -> list[dict[str, Any]]:
    """Return calls, failures, tokens and dollars by the user's day, latest first."""
    days: dict[str, dict[str, Any]] = defaultdict(
        lambda: {"calls": 0, "failed": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
    )
    for when, call in ledger.calls_since(clock.now() - timedelta(days=DAYS)):
        day = days[home.zone.day(when).isoformat()]
        day["calls"] += 1
        day["failed"] += call.outcome != "ok"
        day["input_tokens"] += call.input_tokens
        day["output_tokens"] += call.output_tokens
        day["cost_usd"] = round(day["cost_usd"] + call.cost_usd, 6)
    return [{"day": day, **sums} for day, sums in sorted(days.items(), reverse=True)]


def _home_lines(facts: dict[str, Any]) -> Iterator[str]:
    yield f"memoria in {facts['home']}" + (" (switched off by the setting `disabled`)" if facts["disabled"] else "")
    if not facts["is_begun"]:
        yield "nothing is kept there yet: the first session with the hooks begins it"
    yield from (f"home          {text}" for text in facts["other_memories"])


def _lines(facts: dict[str, Any], zone: clock.Zone) -> Iterator[str]:
    yield from _home_lines(facts)
    hook = facts["last_hook"]
    yield "last hook     " + (f"{_wall(hook['time'], zone)}  {hook['what']}" if hook else "never: is it installed?")
    yield f"last flush    {_wall(facts['last_flush'], zone)}"
    yield f"last compile  {_wall(facts['last_compile'], zone)}"
    entries, articles = amount(facts["entries"], "entry"), amount(facts["articles"], "article")
    yield f"knowledge     {entries} ({facts['uncompiled']} not compiled), {articles}"
    yield f"model         {facts['model']}"
    yield f"waiting       {amount(len(facts['waiting']), 'job')}"
    for job in facts["waiting"][:ROWS]:
        yield f"  {job['event']} of {job['session']} since {_wall(job['since'], zone)}{_retry(job, zone)}"
    again = f" ({invocation.command('flush --retry-failed')})" if facts["failed"] else ""
    yield f"failed        {amount(len(facts['failed']), 'job')}{again}"
    yield from (f"  {job['job']}: {job['reason']}" for job in facts["failed"][:ROWS])
    if aside := facts["compiles_failed"]:
        yield f"set aside     {amount(len(aside), 'entry')} ({invocation.command('compile --retry-failed')})"
        yield from (f"  {one['entry']}: {one['reason']}" for one in aside[:ROWS])
    yield from _sync_lines(facts["sync"], zone)
    yield from _server_lines(facts["memory_server"])
    for day in facts["calls"]:
        calls, tokens = amount(day["calls"], "call"), amount(day["input_tokens"] + day["output_tokens"], "token")
        yield f"{day['day']}    {calls} ({day['failed']} failed), {tokens}, ${day['cost_usd']:.4f}"
    for note in facts["notes"]:
        yield f"note          {_wall(note['time'], zone)} {note['kind']}: {note['text']}"
    yield from (f"settings      {problem}" for problem in facts["problems"])


def _retry(job: dict[str, Any], zone: clock.Zone) -> str:
    if "reason" not in job:
        return ""
    failed = f"failed {amount(job['tries'], 'time')}, " if job["tries"] else ""
    return f": {failed}next attempt {_wall(job['next_try'], zone)}: {job['reason']}"


def _wall(time: str | None, zone: clock.Zone) -> str:
    """Return an ISO time in the user's zone; text that is not a time is returned unchanged."""
    moment = clock.parse(time)
    return zone.to_local(moment).strftime("%Y-%m-%d %H:%M") if moment else time or "never"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
