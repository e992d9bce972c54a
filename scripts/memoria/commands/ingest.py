"""Ingest: record conversations from before memoria was installed, or from any folder of transcripts.

The command first says what there is and what it would cost, and asks. Then it spools a few sessions at a time and runs
the worker as usual, so that its guarantees hold here too: recorded conversations are skipped, and an interrupted run
is continued by the next. Transcripts that the client would delete first come first.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from tqdm import tqdm

from memoria.audit import ingest_plan
from memoria.audit.ingest_plan import Item, Plan, Source
from memoria.audit.receipt import Receipt
from memoria.base import paths as places
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import clock, files, printable
from memoria.ground.command_parser import positive
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.home import Home
from memoria.models import budget, chain, prices, tasks
from memoria.models.metered import CHARS_PER_TOKEN
from memoria.transcripts import client_files, clients
from memoria.transcripts.clients import Client

AT_ONCE = 4  # sessions in the spool at a time
LOOK_S = 0.2  # seconds between two checks of the spool
MAX_FRUITLESS = 3  # workers that end without an error and leave every job; then something is wrong
OUTPUT_TOKENS = 700  # of one entry, measured on the flush prompts of real sessions
ENTRY_TOKENS, COMPILE_TOKENS, ARTICLE_TOKENS = 700, 8_000, 6_000  # an entry, the articles near it, the articles written


@dataclass(frozen=True, slots=True)
class Estimate:
    """Model calls and tokens, estimated from characters."""

    calls: int
    input_tokens: int
    output_tokens: int


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "source",
        nargs="?",
        metavar="PATH",
        help="a transcript or a folder of them (default: all at their usual places)",
    )
    parser.add_argument(
        "--agent", choices=list(clients.CLIENTS), help="only this agent's sessions (default: all found)"
    )
    parser.add_argument("--since", metavar="DAY", default="", help="only sessions since 2026-11-01, or 14d")
    parser.add_argument("--project", metavar="NAME", default="", help="only this project (its name or key)")
    parser.add_argument("--limit", metavar="N", type=positive, default=0, help="at most this many sessions")
    parser.add_argument("--dry-run", action="store_true", help="print what there is and what it would cost, and stop")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print one JSON object; takes --dry-run or --yes")


def command(args: argparse.Namespace, home: Home) -> int:
    """Plan, report, ask and ingest; return 1 when something could not be ingested."""
    if args.json and not (args.dry_run or args.yes):
        raise UsageError("With --json nobody is asked. Add --yes to agree, or --dry-run to look.")
    sources = _sources(args)
    ledger = Ledger.of(home.paths)
    try:
        plan = ingest_plan.survey(
            home, ledger, sources, since=_since(args.since, home), name=args.project, limit=args.limit
        )
        if not args.json:
            print("\n".join(_described(plan, home, sources)))
        elif args.dry_run or not plan.items:
            _print_json(_facts(plan, home, sources))
        if args.dry_run:
            return 0
        ledger.lift_waits()  # the budget may have changed
        if not plan.items:
            return _nothing_more(home, quiet=args.json)
        if not args.yes and not _agreed():
            return 1
        run = _Run(home, ledger, Spool(home.paths.spool))
        done = run.bring_in(plan)
        if args.json:
            _print_json(_facts(plan, home, sources) | {"ingested": asdict(done)})
        else:
            _say(done, plan)
        return 0 if done.sessions == len(plan.items) else 1
    finally:
        ledger.close()


def _sources(args: argparse.Namespace) -> list[Source]:
    """Return where to look for which agent's sessions; ExpectedError when nothing is there."""
    if args.source:
        path = Path(args.source).expanduser().absolute()
        client = clients.by_name(args.agent) if args.agent else clients.owner(path)
        if not path.exists():
            raise ExpectedError(f"{path} does not exist. Name a transcript or a folder of transcripts.")
        return [(client, path)]
    agents = [clients.by_name(args.agent)] if args.agent else list(clients.CLIENTS.values())
    usual = [(client, client.folder(os.environ)) for client in agents]
    found = [(client, place) for client, place in usual if place.exists()]
    if not found:
        raise ExpectedError(f"{usual[0][1]} does not exist. Name a transcript or a folder of transcripts.")
    return found


def _since(text: str, home: Home) -> float:
    try:
        return client_files.moment(text, home.zone, clock.now()) if text else 0.0
    except ValueError:
        raise UsageError(f"--since takes a day such as 2026-11-01, or 14d; not {text!r}.") from None


def forecast(plan: Plan, call_chars: int) -> tuple[Estimate, Estimate]:
    """Estimate the calls for the summaries and for the compiles after them."""
    calls = sum(max(1, -(-item.chars // call_chars)) for item in plan.items)
    fixed = len(tasks.flush({"project": "", "exchanges": []}).text) // CHARS_PER_TOKEN
    flush = Estimate(calls, plan.chars // CHARS_PER_TOKEN + calls * fixed, calls * OUTPUT_TOKENS)
    batches = -(-calls * ENTRY_TOKENS * CHARS_PER_TOKEN // call_chars)
    return flush, Estimate(batches, calls * ENTRY_TOKENS + batches * COMPILE_TOKENS, batches * ARTICLE_TOKENS)


def _print_json(facts: dict[str, Any]) -> None:
    print(json.dumps(facts, indent=2, ensure_ascii=False))


def _facts(plan: Plan, home: Home, sources: Sequence[Source]) -> dict[str, Any]:
    """Return what there is to ingest, and what it would cost, as JSON-able data."""
    flush, rest = forecast(plan, home.settings.call_chars)
    name = home.settings.model.split(",")[0]
    price = prices.of_model(name)
    tokens = flush.input_tokens + rest.input_tokens, flush.output_tokens + rest.output_tokens
    return {
        "sources": [{"agent": client.name, "path": str(path)} for client, path in sources],
        "bytes": plan.bytes,
        "sessions": len(plan.items),
        "turns": plan.turns,
        "agents": [{"agent": client.name, "sessions": sessions, "turns": turns}
                   for client, sessions, turns in _shares(plan)],
        "chars": plan.chars,
        "skipped": dict(plan.passed),
        "summaries": asdict(flush),
        "compiles": asdict(rest),
        "model": name,
        "cost_usd": round(price.of(*tokens), 4) if price else None,
    }  # fmt: skip


def _described(plan: Plan, home: Home, sources: Sequence[Source]) -> Iterator[str]:
    speed = plan.bytes / 1e6 / plan.seconds if plan.seconds else 0.0
    read = ", ".join(str(path) for _, path in sources)
    yield f"{read}: read {plan.bytes / 1e6:,.1f} MB in {plan.seconds:.1f} s ({speed:,.0f} MB/s)"
    turns, characters = printable.counted(plan.turns, "turn"), printable.counted(plan.chars, "character")
    yield f"to ingest    {printable.counted(len(plan.items), 'session')}, about {turns}, {characters}"
    yield from _by_agent(plan)
    yield from (f"skipped      {count:,} {reason}" for reason, count in sorted(plan.passed.items()))
    if plan.quiet_at:
        when = home.zone.local(clock.at(plan.quiet_at))
        yield f"             ask again after {when:%H:%M} for what was in progress and no hook has captured by then"
    if not plan.items:
        yield "There is nothing to ingest now." if plan.quiet_at else "There is nothing to ingest."
        return
    flush, rest = forecast(plan, home.settings.call_chars)
    calls = flush.calls + rest.calls
    tokens = flush.input_tokens + rest.input_tokens, flush.output_tokens + rest.output_tokens
    yield (
        f"estimated    {printable.counted(calls, 'model call')} ({flush.calls:,} for summaries, {rest.calls:,} for "
        f"compiles), {tokens[0]:,} tokens in, {tokens[1]:,} out (at {CHARS_PER_TOKEN} characters per token)"
    )
    yield f"cost         {_costs(tokens)} (prices as of {prices.READ_ON}; a subscription counts usage instead)"
    yield from _waits(home, tokens)


def _by_agent(plan: Plan) -> Iterator[str]:
    """Yield the share of each agent when not all is Claude Code's."""
    shares = _shares(plan)
    if [client for client, _, _ in shares] != [clients.CLAUDE]:
        for client, sessions, turns in shares:
            counted = printable.counted(sessions, "session"), printable.counted(turns, "turn")
            yield f"             {client.title}: {counted[0]}, about {counted[1]}"


def _shares(plan: Plan) -> list[tuple[Client, int, int]]:
    """Return each agent that has sessions to ingest, their number, and about how many turns they have."""
    shares = []
    for client in clients.CLIENTS.values():
        items = [item for item in plan.items if item.account.found.agent == client.name]
        if items:
            shares.append((client, len(items), sum(item.turns for item in items)))
    return shares


def _costs(tokens: tuple[int, int]) -> str:
    costs = [f"{name} ${price.of(*tokens):,.2f}" for name, price in prices.PRICES.items()]
    free = [name for name, backend in chain.BACKENDS.items() if backend.is_free and name != "scripted"]
    return " · ".join([*costs, f"{' and '.join(free)} $0"])


def _waits(home: Home, tokens: tuple[int, int]) -> Iterator[str]:
    name, daily = home.settings.model.split(",")[0], home.settings.daily_budget_usd
    price = prices.of_model(name)
    cost = price.of(*tokens) if price else 0.0
    yield f"model        {name}" + (f", about ${cost:,.2f}" if price else ", price unknown")
    if daily and cost > daily:
        yield (
            f"budget       daily_budget_usd is {printable.dollars(daily)}: this takes about "
            f"{printable.counted(round(-(-cost // daily)), 'day')}. The rest waits; run the same command again, or set "
            "MEMORIA_DAILY_BUDGET_USD."
        )


def _nothing_more(home: Home, *, quiet: bool) -> int:
    """Start a worker for jobs that a killed run left; without hooks, nothing else would."""
    jobs = Spool(home.paths.spool).jobs()
    if jobs:
        waiting = printable.counted(len(jobs), "job")
        word = detach.start_worker(home.settings, home.paths)
        if not quiet:
            print(f"{waiting} waiting in the spool: {word}.")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nothing was done, because input is not a terminal. Add --yes to agree, or --dry-run to look.")
    return input("Ingest them? [y/N] ").strip().lower() in ("y", "yes")


@dataclass(frozen=True, slots=True)
class Done:
    """What was ingested; ``stopped`` says why that is not everything."""

    sessions: int
    calls: int
    cost_usd: float
    stopped: str


def _say(done: Done, plan: Plan) -> None:
    took = f"{printable.counted(done.calls, 'call')}, ${done.cost_usd:.4f}"
    print(f"{done.sessions:,} of {printable.counted(len(plan.items), 'session')} ingested ({took}).")
    if done.stopped:
        stopped = printable.sentence(done.stopped)
        print(f"Stopped: {stopped} Spooled sessions wait; run the same command again for the rest.")


@dataclass(slots=True)
class _Run:
    """One run over a plan: spools a few sessions, waits for a worker to process them, and checks the result."""

    home: Home
    ledger: Ledger
    spool: Spool
    done: int = 0
    fruitless: int = 0
    stopped: str = ""

    def bring_in(self, plan: Plan) -> Done:
        """Ingest the plan; a session counts when it is recorded or was found not worth recording."""
        began = clock.now()
        bar: tqdm[Any] = tqdm(total=plan.chars, unit="char", unit_scale=True, disable=None, desc="ingest")
        with bar:
            for at in range(0, len(plan.items), AT_ONCE):
                self._batch(plan.items[at : at + AT_ONCE], bar)
                if self.stopped:
                    break
        calls = self.ledger.calls_since(began - timedelta(seconds=1))
        cost = sum(usage.cost_usd for usage in budget.totals(calls, self.home.zone).values())
        return Done(self.done, len(calls), round(cost, 6), self.stopped)

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
            self.done += after.account(item.account.found).is_settled

    def _work(self, waiting: dict[str, Item]) -> Iterator[str]:
        """Run a worker and yield each job when it is done; set ``stopped`` when the worker leaves jobs waiting."""
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
            if not places.WINDOWS:  # there the worker is of the same console, and was told as this process was
                child.send_signal(signal.SIGINT)
            child.wait(timeout=30)
            raise
        left = [self.ledger.tries(name)[2] for name in there.intersection(waiting)]
        if any(left):
            self.stopped = next(filter(None, left))
        elif left and child.returncode:
            self.stopped = f"the worker failed; see {self.home.paths.log}"
        elif left:
            self._wait_for_another(len(left), progress=bool(seen))

    def _wait_for_another(self, left: int, *, progress: bool) -> None:
        """Wait while another worker is running; stop when ours end one after the other and do nothing."""
        self.fruitless = 0 if progress else self.fruitless + 1
        while detach.is_locked(self.home.paths.worker_lock):
            self.fruitless = 0
            time.sleep(LOOK_S)
        if self.fruitless >= MAX_FRUITLESS:
            waiting = printable.counted(left, "session")
            self.stopped = (
                f"the worker ended {MAX_FRUITLESS} times and left {waiting} as before; see {self.home.paths.log}"
            )

    def _start(self) -> subprocess.Popen[bytes]:
        with open(self.home.paths.worker_output, "ab", opener=files.private) as output:
            return subprocess.Popen(
                places.own_command(sys.executable, "flush"), env=detach.worker_environment(), stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
