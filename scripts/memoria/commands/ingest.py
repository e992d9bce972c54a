"""Ingest: bring in conversations from before memoria, or from any folder of transcripts.

Says first what there is and what it would cost, and asks. Then it spools a few sessions at a time and lets the worker
do what it always does, so that every promise of the walk holds here too: what is recorded already is passed over, and a
run that is stopped anywhere is taken up by the next. The transcripts that the client would delete first come first.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tqdm import tqdm

from memoria.audit import estimate
from memoria.audit.receipt import BY_PROGRAM, CAPTURED, SKIPPED, Account, Receipt
from memoria.base import project
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import clock, files
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.home import Home
from memoria.models import budget, chain, prices, tasks
from memoria.models.metered import CHARS_PER_TOKEN
from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head

AT_ONCE = 4  # sessions in the spool for one worker
LOOK_S = 0.2  # between two looks at the spool
OUTPUT_TOKENS = 700  # of one entry, from the flush prompts of real sessions
ENTRY_TOKENS, COMPILE_TOKENS, ARTICLE_TOKENS = 700, 8_000, 6_000  # an entry, the articles near it, what is written


@dataclass(frozen=True, slots=True)
class Item:
    """One transcript to bring in; ``turns`` and ``chars`` by census."""

    account: Account
    turns: int
    chars: int


@dataclass(slots=True)
class Plan:
    """What is to be brought in, oldest first, and how many transcripts are not, by reason."""

    items: list[Item] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    seconds: float = 0.0  # that looking took

    @property
    def turns(self) -> int:
        """About how many turns there are."""
        return sum(item.turns for item in self.items)

    @property
    def chars(self) -> int:
        """About how many characters go to the model."""
        return sum(item.chars for item in self.items)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Model calls and tokens: an estimate from characters, not a count."""

    calls: int
    input_tokens: int
    output_tokens: int


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line takes."""
    parser.add_argument(
        "source", nargs="?", metavar="PATH", help="a transcript or a folder of them (default: all that Claude Code has)"
    )
    parser.add_argument("--since", metavar="DAY", default="", help="only sessions since 2026-11-01, or 14d")
    parser.add_argument("--project", metavar="NAME", default="", help="only this project (its name or key)")
    parser.add_argument("--limit", metavar="N", type=int, default=0, help="at most so many sessions")
    parser.add_argument("--dry-run", action="store_true", help="say what there is and what it would cost, no more")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def command(args: argparse.Namespace, home: Home) -> int:
    """Plan, say, ask, do; 1 when something could not be brought in."""
    source = Path(args.source).expanduser().absolute() if args.source else client_files.folder(os.environ)
    if not source.exists():
        raise ExpectedError(f"there is no {source}; name a transcript or a folder that holds some")
    ledger = Ledger.of(home.paths)
    try:
        plan = survey(home, ledger, source, args)
        print("\n".join(_described(plan, home, source)))
        if args.dry_run:
            return 0
        ledger.lift_waits()  # the budget may be another one by now
        if not plan.items:
            return _nothing_more(home)
        if not args.yes and not _agreed():
            return 1
        return _Run(home, ledger, Spool(home.paths.spool)).bring_in(plan)
    finally:
        ledger.close()


def survey(home: Home, ledger: Ledger, source: Path, args: argparse.Namespace) -> Plan:
    """Look at every transcript under ``source``; writes nothing but what was compared."""
    try:
        since = client_files.moment(args.since, home.zone, clock.now()) if args.since else 0.0
    except ValueError:
        raise UsageError(f"--since takes a day such as 2026-11-01, or 14d; not {args.since!r}") from None
    plan, started = Plan(), time.perf_counter()
    receipt = Receipt(home, ledger, Spool(home.paths.spool))
    for found in client_files.transcripts(source, sides=home.settings.keep_sidechains):
        if found.changed < since:
            continue
        if args.limit and len(plan.items) >= args.limit:
            break
        try:
            head = client_files.head(found.path)
            owner = project.of(head.cwd, home.settings.split_worktrees)
            if args.project not in ("", owner.name, owner.key):
                continue
            plan.bytes += found.size
            item = _item(receipt, found, head, owner, plan)
        except OSError as error:
            plan.passed[f"cannot be read ({error.strerror})"] += 1
            continue
        if item and item.turns:
            plan.items.append(item)
        elif item:
            plan.passed["nothing was said"] += 1
    plan.seconds = time.perf_counter() - started
    return plan


def _item(receipt: Receipt, found: Found, head: Head, owner: project.Project, plan: Plan) -> Item | None:
    """The transcript as far as it is not recorded; None when it is, or is not to be (then the plan says why)."""
    reason = receipt.left_alone(head)
    if reason and reason != BY_PROGRAM:
        plan.passed[reason] += 1
    elif receipt.is_open(found):
        plan.passed["going on: its hooks see to it"] += 1
    elif receipt.waits(head.session):
        plan.passed["waits in the spool already"] += 1
    else:
        return _counted(receipt, found, head, owner, plan)
    return None


def _counted(receipt: Receipt, found: Found, head: Head, owner: project.Project, plan: Plan) -> Item | None:
    fates = receipt.known_fates(found, head.session)
    account = Account(found, head.session, owner.name, owner.key, head.cwd, fates or {})
    if fates is not None and not account.open_turns:
        plan.passed["brought in already" if account.turns else "nothing was said"] += 1
        return None
    counted = estimate.count(found.path)
    if fates is None:
        return Item(account, counted.turns, counted.chars)
    return Item(account, account.open_turns, counted.chars * account.open_turns // max(1, account.turns))


def forecast(plan: Plan, call_chars: int) -> tuple[Estimate, Estimate]:
    """What the summaries and what the compiling after them will take, about."""
    calls = sum(max(1, -(-item.chars // call_chars)) for item in plan.items)
    fixed = len(tasks.flush({"project": "", "exchanges": []}).text) // CHARS_PER_TOKEN
    flush = Estimate(calls, plan.chars // CHARS_PER_TOKEN + calls * fixed, calls * OUTPUT_TOKENS)
    batches = -(-calls * ENTRY_TOKENS * CHARS_PER_TOKEN // call_chars)
    return flush, Estimate(batches, calls * ENTRY_TOKENS + batches * COMPILE_TOKENS, batches * ARTICLE_TOKENS)


def _described(plan: Plan, home: Home, source: Path) -> Iterator[str]:
    speed = plan.bytes / 1e6 / plan.seconds if plan.seconds else 0.0
    yield f"{source}: looked at {plan.bytes / 1e6:,.1f} MB in {plan.seconds:.1f} s ({speed:,.0f} MB/s)"
    yield f"to bring in  {len(plan.items):,} sessions, about {plan.turns:,} turns, {plan.chars:,} characters"
    yield from (f"passed over  {count:,} {reason}" for reason, count in sorted(plan.passed.items()))
    if not plan.items:
        yield "There is nothing to bring in."
        return
    flush, rest = forecast(plan, home.settings.call_chars)
    calls = flush.calls + rest.calls
    tokens = flush.input_tokens + rest.input_tokens, flush.output_tokens + rest.output_tokens
    yield (
        f"by estimate  {calls:,} model calls ({flush.calls:,} summaries, {rest.calls:,} compiles), {tokens[0]:,} "
        f"tokens in, {tokens[1]:,} out ({CHARS_PER_TOKEN} characters taken for a token)"
    )
    yield f"would cost   {_costs(tokens)} (prices of {prices.READ_ON}; a subscription pays in usage instead)"
    yield from _waits(home, tokens)


def _costs(tokens: tuple[int, int]) -> str:
    costs = [f"{name} ${price.of(*tokens):,.2f}" for name, price in prices.PRICES.items()]
    free = [name for name, backend in chain.BACKENDS.items() if backend.is_free and name != "scripted"]
    return " · ".join([*costs, f"{' and '.join(free)} $0"])


def _waits(home: Home, tokens: tuple[int, int]) -> Iterator[str]:
    name, daily = home.settings.model.split(",")[0], home.settings.daily_budget_usd
    price = prices.of_model(name)
    cost = price.of(*tokens) if price else 0.0
    yield f"model        {name}" + (f", about ${cost:,.2f}" if price else ", whose price is not known here")
    if daily and cost > daily:
        yield (
            f"budget       daily_budget_usd is ${daily:.2f}: this takes about {-(-cost // daily):.0f} days. What is "
            "over it waits; run the same command again, or set MEMORIA_DAILY_BUDGET_USD."
        )


def _nothing_more(home: Home) -> int:
    """A run that was killed may have left jobs, and where no hooks are installed nobody else takes them up."""
    jobs = Spool(home.paths.spool).jobs()
    if jobs:
        print(f"{len(jobs)} jobs wait in the spool: {detach.start_worker(home.settings, home.paths)}.")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nothing was done: nobody is there to agree. Say --yes, or --dry-run to look only.")
    return input("Bring them in? [y/N] ").strip().lower() in ("y", "yes")


@dataclass(slots=True)
class _Run:
    """One run over a plan: spools a few sessions, lets a worker take them, and looks how it went."""

    home: Home
    ledger: Ledger
    spool: Spool
    done: int = 0
    stopped: str = ""

    def bring_in(self, plan: Plan) -> int:
        """0 when all of the plan is recorded or was found not worth it."""
        began = clock.now()
        bar: tqdm[Any] = tqdm(total=plan.chars, unit="char", unit_scale=True, disable=None, desc="ingest")
        with bar:
            for at in range(0, len(plan.items), AT_ONCE):
                self._batch(plan.items[at : at + AT_ONCE], bar)
                if self.stopped:
                    break
        calls = self.ledger.calls_since(began - timedelta(seconds=1))
        cost = sum(usage.cost_usd for usage in budget.totals(calls, self.home.zone).values())
        print(f"{self.done} of {len(plan.items)} sessions brought in with {len(calls)} calls for ${cost:.4f}.")
        if self.stopped:
            print(f"Stopped: {self.stopped}. What was spooled waits; run the same command again for the rest.")
        return 0 if self.done == len(plan.items) else 1

    def _batch(self, items: Sequence[Item], bar: tqdm[Any]) -> None:
        receipt = Receipt(self.home, self.ledger, self.spool)
        waiting = {receipt.capture(item.account, "Ingest"): item for item in items}
        finished: list[Item] = []
        while waiting and not self.stopped:
            for name in self._work(waiting):
                item = waiting.pop(name)
                finished.append(item)
                bar.update(item.chars)
        after = Receipt(self.home, self.ledger, self.spool)
        for item in finished:
            fates = after.account(item.account.found).fates
            self.done += all(fate == CAPTURED or fate.startswith(SKIPPED) for fate in fates)

    def _work(self, waiting: dict[str, Item]) -> Iterator[str]:
        """Let a worker run; yields each job as it goes. Sets ``stopped`` when the worker leaves jobs to wait."""
        seen: set[str] = set()
        child = self._start()
        try:
            while True:
                ended = child.poll() is not None
                there = {job.name for job in self.spool.jobs()}
                for name in set(waiting) - there - seen:
                    seen.add(name)
                    yield name
                if ended:
                    break
                time.sleep(LOOK_S)
        except BaseException:
            child.send_signal(signal.SIGINT)
            child.wait(timeout=30)
            raise
        left = [self.ledger.tries(name)[2] for name in there.intersection(waiting)]
        if any(left):
            self.stopped = next(filter(None, left)).rstrip(".")
        elif left and child.returncode:
            self.stopped = f"the worker failed; see {self.home.paths.log}"
        elif left:  # another worker is at work, and will look again
            time.sleep(LOOK_S)

    def _start(self) -> subprocess.Popen[bytes]:
        with open(self.home.paths.worker_output, "ab", opener=files.private) as output:
            return subprocess.Popen(
                [sys.executable, "-m", "memoria", "flush"], env=detach.worker_environment(), stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
