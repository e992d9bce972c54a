"""Verify: account for every turn in the transcripts that Claude Code and other agents still have.

Reads only, unless asked: ``--repair`` spools what is missing like any other conversation.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoria.audit.changes import MISSING
from memoria.audit.receipt import (
    ASIDE,
    BEFORE,
    CAPTURED,
    REPEATED,
    SKIPPED,
    UNHOOKED,
    WORDS,
    Account,
    Receipt,
    not_understood,
)
from memoria.base import invocation
from memoria.base.project import name_of
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import home_files
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.pages import notices
from memoria.transcripts import client_files, clients

REMEDIES = {ASIDE: "flush --retry-failed", BEFORE: "ingest records them", UNHOOKED: "ingest records them"}
SHOWN = 20  # transcripts listed with something missing


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--repair", action="store_true", help="capture what is missing and start the worker")
    parser.add_argument("--all", action="store_true", help="also read transcripts that were compared before")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the receipt; return 1 when something is missing (and was not repaired), deleted, or cannot be read."""
    with closing(Ledger(home.paths)) as ledger:
        daily = DailyLog(home.paths)
        daily.refresh(ledger)
        there = {day.isoformat() for day in daily.days()}
        removed = Counter(entry.day for entry in ledger.removed_entries())
        moved = {Path(each.name).stem: each.name for each in home_files.other_files(daily.folder, is_daily=True)}
        deleted = [{"day": day, "entries": count, "moved_to": moved.get(day, "")}
                   for day, count in sorted(removed.items()) if day not in there]  # fmt: skip
        receipt = Receipt(home, ledger, Spool(home.paths.spool))
        accounts, unreadable = compare(receipt, forced=args.all)
        missing = [account for account in accounts if account.missing]
        lost = [text for _, _, _, text in ledger.notes("missing")]
        repaired = [receipt.capture(account, "Verify") for account in missing] if args.repair else []
    facts = _facts(home, receipt, accounts, lost) | {"unreadable": unreadable, "repaired": repaired}
    facts["deleted_days"] = deleted
    facts["removed_entries"] = sum(count for day, count in removed.items() if day in there)
    if repaired:
        facts["worker"] = detach.start_worker(home.settings, home.paths)
    print(json.dumps(facts, indent=2, ensure_ascii=False) if args.json else "\n".join(_lines(facts)))
    _notify(home, [] if repaired else missing)
    return 1 if (missing and not repaired) or unreadable or deleted else 0


def compare(receipt: Receipt, *, forced: bool) -> tuple[list[Account], list[str]]:
    """Account for every session of every agent; return what could not be read besides."""
    accounts, unreadable = [], []
    for found in clients.sessions(list(clients.CLIENTS)):
        try:
            accounts.append(receipt.account(found, forced=forced))
        except FileNotFoundError:  # the client has deleted it in the meantime
            continue
        except OSError as error:
            unreadable.append(f"{found.path}: {error.strerror or error}")
    return accounts, unreadable


def _facts(home: Home, receipt: Receipt, accounts: Sequence[Account], lost: Sequence[str]) -> dict[str, Any]:
    fates: Counter[str] = Counter()
    for account in accounts:
        fates.update(account.fates)
    skipped = {fate.removeprefix(SKIPPED): count for fate, count in fates.items() if fate.startswith(SKIPPED)}
    return {
        "transcripts": str(client_files.folder(os.environ)),
        "home": home.paths.home,
        "installed": datetime.fromtimestamp(receipt.install_time, UTC).isoformat(),
        "sessions": len({account.session for account in accounts}),
        "turns": sum(account.turns for account in accounts),
        "repeated": fates[REPEATED],
        "not_understood": [
            one._asdict() for one in not_understood((str(each.found.path), each.fates) for each in accounts)
        ],
        **{fate.replace(" ", "_"): fates[fate] for fate in WORDS},
        "skipped": skipped,
        "missing_in": [
            {"session": one.session, "project": name_of(one.project), "missing": one.missing, "turns": one.turns,
             "transcript": str(one.found.path)}
            for one in accounts
            if one.missing
        ],
        "lost_ranges": list(lost),
    }  # fmt: skip


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    yield f"Receipt for {facts['transcripts']} against {facts['home']}\n"
    yield f"{'sessions':<15}{facts['sessions']:>8,}"
    yield f"{'turns':<15}{facts['turns']:>8,}"
    for fate, words in WORDS.items():
        count = facts[fate.replace(" ", "_")]
        if fate != MISSING and (count or fate == CAPTURED):
            how = f" ({invocation.program()} {REMEDIES[fate]})" if fate in REMEDIES else ""
            yield f"{fate:<15}{count:>8,}  {words}{how}"
    if facts["repeated"]:
        yield f"{'repeated':<15}{facts['repeated']:>8,}  {REPEATED}: counted there"
    for reason, count in sorted(facts["skipped"].items()):
        yield f"{'skipped':<15}{count:>8,}  {reason}"
    yield f"{MISSING:<15}{facts['missing']:>8,}" + _remedy(facts)
    for one in facts["missing_in"][:SHOWN]:
        yield f"  {one['missing']} of {amount(one['turns'], 'turn')} · {one['project']} · {one['transcript']}"
    if (more := len(facts["missing_in"]) - SHOWN) > 0:
        yield f"  and {amount(more, 'more transcript')}"
    for one in facts["not_understood"]:
        lines = amount(one["lines"], "line")
        yield f"{lines} of an unknown form ({one['form']}), for example {one['example']}: what they say may be missed"
    for day in facts["deleted_days"]:
        found = f"move it back from daily/{day['moved_to']}" if day["moved_to"] else "put it back from a backup"
        yield f"daily/{day['day']}.md is gone with {amount(day['entries'], 'entry')}: {found}"
    yield from (f"cannot be read: {text}" for text in facts["unreadable"])
    yield from (f"never read: {text}" for text in facts["lost_ranges"])


def _remedy(facts: dict[str, Any]) -> str:
    if facts["repaired"]:
        return f"  now spooled in {amount(len(facts['repaired']), 'job')} ({facts['worker']})"
    return f"  {invocation.program()} verify --repair captures them" if facts["missing"] else "  all is accounted for"


def _notify(home: Home, missing: Sequence[Account]) -> None:
    """Tell the user once about missing turns, and withdraw the notice when none is missing."""
    turns = sum(account.missing for account in missing)
    told = f"memoria has not captured {amount(turns, 'turn')}. {invocation.command('verify --repair')} captures them; "
    told += f"{invocation.command('doctor')} says whether the hooks fire."
    notices.tell(home.paths, "missing", told if turns else "")
