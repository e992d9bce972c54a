"""Ingest: record conversations from before memoria was installed, or from any folder of transcripts.

The command first says what there is and what it would cost, and asks. Then it spools a few sessions at a time and runs
the worker as usual, so that its guarantees hold here too: recorded conversations are skipped, and an interrupted run
is continued by the next. Transcripts that the client would delete first come first.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tqdm import tqdm

from memoria.audit.changes import OPEN_S
from memoria.audit.receipt import BY_PROGRAM, Account, Receipt
from memoria.base import project
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks, printable, projects
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.models import metered, tasks
from memoria.models.metered import CHARS_PER_TOKEN
from memoria.transcripts import client_files, clients
from memoria.transcripts.client_files import Found, Head
from memoria.transcripts.clients import Client
from memoria.transcripts.turn_reader import Reader
from memoria.worker.worker import work

Source = tuple[Client, Path]

AT_ONCE = 4  # sessions in the spool at a time
MAX_WORKERS = 10  # that leave jobs without an error; then something is wrong
OUTPUT_TOKENS = 700  # of one entry, measured on the flush prompts of real sessions
ENTRY_TOKENS, COMPILE_TOKENS, ARTICLE_TOKENS = 700, 8_000, 6_000  # an entry, the articles near it, the articles written
TOOL_CHARS = 160  # of a model's request for a tool use, beyond its name; the mean over 73 real transcripts


@dataclass(frozen=True, slots=True)
class Item:
    """One transcript to ingest, with estimated ``turns`` and ``chars``."""

    account: Account
    turns: int
    chars: int


@dataclass(slots=True)
class Plan:
    """What to ingest, oldest first, the number of skipped transcripts by reason, and the bytes that were read."""

    items: list[Item] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    @property
    def chars(self) -> int:
        """Estimated number of characters that go to the model."""
        return sum(item.chars for item in self.items)


def survey(home: Home, ledger: Ledger, sources: Sequence[Source], *, since: float = 0.0, name: str = "") -> Plan:
    """Examine every transcript of the sources; write nothing but the results of comparisons.

    ``since``: seconds since the epoch; a transcript that changed before is left out. ``name``: what a person calls the
    only project to ingest; ExpectedError when no transcript is of it.
    """
    plan = Plan()
    transcripts = client_files.sort(found for client, path in sources for found in client.transcripts(path))
    heads = []
    for found in transcripts:
        try:
            head = clients.client_of(found).head(found.path)
            heads.append((found, head, project.key_of(head.cwd, home.settings, home.paths)))
        except OSError as error:
            plan.passed[f"cannot be read ({error.strerror})"] += 1
    wanted = projects.resolve_folder(name, {owner for _, _, owner in heads}, home) if name else ""
    receipt = Receipt(home, ledger, Spool(home.paths.spool))
    for found, head, owner in heads:
        if found.changed_s < since or wanted not in ("", owner):
            continue
        plan.bytes += found.size
        try:
            item = _item(receipt, found, head, owner)
        except OSError as error:
            item = f"cannot be read ({error.strerror})"
        if isinstance(item, str):
            plan.passed[item] += 1
        else:
            plan.items.append(item)
    return plan


def _item(receipt: Receipt, found: Found, head: Head, owner: str) -> Item | str:
    """Return the unrecorded rest of a transcript, or why it is to be skipped."""
    reason = receipt.skip_reason(found, head)
    if reason and reason != BY_PROGRAM:
        return reason
    if receipt.is_open(found):
        return f"in progress, or ended less than {OPEN_S / 60:.0f} minutes ago: run this again when they are over"
    if receipt.waits(head.session):
        return "already waiting in the spool"
    fates = receipt.known_fates(found, head.session)
    account = Account(found, head.session, owner, head.cwd, fates or {})
    if account.turns and not account.open_turns:
        return "already recorded"
    reader = Reader(describing=False, decode=clients.client_of(found).decoder())
    turns = [*reader.read(client_files.lines(found.path)), *reader.settle()]
    chars = sum(turn.size + len(turn.tools) * TOOL_CHARS for turn in turns)
    if account.turns:
        return Item(account, account.open_turns, chars * account.open_turns // account.turns)
    return Item(account, len(turns), chars) if turns and fates is None else "nothing was said"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("source", nargs="?", metavar="PATH", help="a transcript or a folder of them (default: all at "
                        "their usual places)")  # fmt: skip
    parser.add_argument("--agent", choices=[*clients.CLIENTS], help="only this agent's sessions (default: all found)")
    parser.add_argument("--since", metavar="DAY", default="", help="only sessions since 2026-11-01, or 14d")
    parser.add_argument("--project", metavar="NAME", default="", help="only this project (its name or key)")
    parser.add_argument("--dry-run", action="store_true", help="print what there is and what it would cost, and stop")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def command(args: argparse.Namespace, home: Home) -> int:
    """Plan, report, ask and ingest; return 1 when something could not be ingested."""
    sources = _sources(args)
    with closing(Ledger(home.paths)) as ledger:
        plan = survey(home, ledger, sources, since=_start_time(args.since, home), name=args.project)
        print("\n".join(_describe(plan, home, sources)))
        if args.dry_run:
            return 0
        ledger.lift_waits()  # the budget may have changed
        if not plan.items:
            return _nothing_more(home)
        unasked = "Nothing was done, because input is not a terminal. Add --yes to agree, or --dry-run to look."
        if not args.yes and not printable.confirm("Ingest them?", unasked):
            return 1
        return 0 if _bring_in(home, ledger, plan) == len(plan.items) else 1


def _sources(args: argparse.Namespace) -> list[Source]:
    """Return where to look for which agent's sessions; ExpectedError when nothing is there."""
    if args.source:
        path = Path(args.source).expanduser().absolute()
        client = clients.find(args.agent) if args.agent else clients.owner(path)
        if not path.exists():
            raise ExpectedError(f"{path} does not exist. Name a transcript or a folder of transcripts.")
        return [(client, path)]
    agents = [clients.find(args.agent)] if args.agent else list(clients.CLIENTS.values())
    usual = [(client, client.folder(os.environ)) for client in agents]
    found = [(client, place) for client, place in usual if place.exists()]
    if not found:
        raise ExpectedError(f"{usual[0][1]} does not exist. Name a transcript or a folder of transcripts.")
    return found


def _start_time(text: str, home: Home) -> float:
    try:
        return client_files.moment(text, home.zone, clock.now()) if text else 0.0
    except ValueError:
        raise ExpectedError(f"--since takes a day such as 2026-11-01, or 14d; not {text!r}.") from None


def _describe(plan: Plan, home: Home, sources: Sequence[Source]) -> Iterator[str]:
    yield f"{', '.join(str(path) for _, path in sources)}: read {plan.bytes / 1e6:,.1f} MB"
    turns = printable.amount(sum(item.turns for item in plan.items), "turn")
    size = printable.amount(plan.chars, "character")
    yield f"to ingest    {printable.amount(len(plan.items), 'session')}, about {turns}, {size}"
    yield from (f"skipped      {count:,} {reason}" for reason, count in sorted(plan.passed.items()))
    if not plan.items:
        yield "There is nothing to ingest now."
        return
    yield from _estimate(plan, home)


def _estimate(plan: Plan, home: Home) -> Iterator[str]:
    """Yield what the calls for the summaries, and for the compiles after them, take by estimate."""
    size = home.settings.call_chars
    flushes = sum(max(1, -(-item.chars // size)) for item in plan.items)
    compiles = -(-flushes * ENTRY_TOKENS * CHARS_PER_TOKEN // size)
    fixed = len(tasks.flush({"project": "", "exchanges": []}).text) // CHARS_PER_TOKEN
    given = plan.chars // CHARS_PER_TOKEN + flushes * (fixed + ENTRY_TOKENS) + compiles * COMPILE_TOKENS
    written = flushes * OUTPUT_TOKENS + compiles * ARTICLE_TOKENS
    yield (f"estimated    {printable.amount(flushes + compiles, 'model call')}, {given:,} tokens in, {written:,} out "
           f"(at {CHARS_PER_TOKEN} characters per token)")  # fmt: skip
    name, daily = home.settings.model.split(",")[0], home.settings.daily_budget_usd
    cost = metered.price(name, given, written)
    told = f"about ${cost or 0:,.2f} (prices as of {metered.READ_ON}; a subscription counts usage instead)"
    yield f"model        {name}, {'price unknown' if cost is None else told}"
    if cost and daily and cost > daily:
        days = printable.amount(round(-(-cost // daily)), "day")
        yield (f"budget       daily_budget_usd is {printable.dollars(daily)}: this takes about {days}. The rest waits; "
               "run the same command again, or set MEMORIA_DAILY_BUDGET_USD.")  # fmt: skip


def _nothing_more(home: Home) -> int:
    """Start a worker for jobs that a killed run left; without hooks, nothing else would."""
    if jobs := Spool(home.paths.spool).jobs():
        word = detach.start_worker(home.settings, home.paths)
        print(f"{printable.amount(len(jobs), 'job')} waiting in the spool: {word}.")
    return 0


def _bring_in(home: Home, ledger: Ledger, plan: Plan) -> int:
    """Ingest the plan, say so, and return how many sessions are recorded or were found not worth recording."""
    began, sessions, stopped = clock.now(), 0, ""
    with tqdm(total=plan.chars, unit="char", unit_scale=True, disable=None, desc="ingest", file=sys.__stderr__) as bar:
        for at in range(0, len(plan.items), AT_ONCE):
            items = plan.items[at : at + AT_ONCE]
            stopped = _batch(home, ledger, items)
            after = Receipt(home, ledger, Spool(home.paths.spool))
            sessions += sum(after.account(item.account.found).is_settled for item in items)
            bar.update(sum(item.chars for item in items))
            if stopped:
                break
    calls = ledger.calls_since(began - timedelta(seconds=1))
    took = f"{printable.amount(len(calls), 'call')}, ${sum(call.cost_usd for _, call in calls):.4f}"
    print(f"{sessions:,} of {printable.amount(len(plan.items), 'session')} ingested ({took}).")
    if stopped:
        stopped = printable.sentence(stopped)
        print(f"Stopped: {stopped} Spooled sessions wait; run the same command again for the rest.")
    return sessions


def _batch(home: Home, ledger: Ledger, items: Sequence[Item]) -> str:
    """Spool some sessions and let a worker process them; return why it left any, ``""`` when it left none."""
    spool = Spool(home.paths.spool)
    receipt = Receipt(home, ledger, spool)
    waiting = {receipt.capture(item.account, "Ingest") for item in items}
    for _ in range(MAX_WORKERS):
        work(home)
        left = waiting.intersection(job.name for job in spool.jobs())
        reason = next(filter(None, (ledger.tries(name)[2] for name in left)), "")
        if reason or not left:
            return reason
        with locks.wait(Path(home.paths.worker_lock)):  # another worker is at them
            pass
    return f"the worker left {printable.amount(len(left), 'session')}; see {home.paths.log}"
