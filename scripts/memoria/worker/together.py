"""Together: a round of the exchange with other machines and the memory server, with the forgetting that it brings.

What was forgotten on another machine is forgotten here as ``memoria forget`` does it, in the archive, the indexes and
every copy, and a second round carries the result on at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from memoria.amending import forget_plan, proof, removal
from memoria.base import invocation
from memoria.daily import gate
from memoria.daily.ledger import Ledger
from memoria.exchange import carriers, keys, rounds
from memoria.exchange.carriers import Carrier, CarrierError
from memoria.exchange.memory_server import Server
from memoria.exchange.record import ENTRY, PROSE, UNNAMED, Record
from memoria.exchange.records import LOST, TO_FORGET, Records
from memoria.exchange.rounds import Exchanged, Round
from memoria.ground import clock, locks
from memoria.ground.errors import ExpectedError, MemoryServerError
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.pages import housekeeping, notices, refresh
from memoria.recall import session_start
from memoria.search.words import fold
from memoria.statements.keeper import Keeper
from memoria.transcripts.screen import Tombstones

log = logging.getLogger(__name__)

PAIR = "two wordings: {one} ({first}) and {other} ({second}, from {machine}); {settle}"


def run(home: Home, *, is_news: bool) -> None:
    """Exchange with the memory server, and with other machines after news or when the last time is some time ago.

    What cannot be done now is noted, for who asks, and done with the next exchange.
    """
    with locks.take(Path(home.paths.sync_lock)) as mine, ExitStack() as stack:
        if not mine:
            return
        try:
            records = stack.enter_context(Records.of(home.paths))
        except ExpectedError as error:  # a newer memoria wrote them
            _tell_failure(home, error)
            return
        server = _server_of(home)
        is_due = home.settings.sync and (is_news or session_start.is_apart(home.paths))
        if is_due:
            rounds.note_try(home.paths, clock.now())
        elif not server:
            return
        try:
            done = exchange(home, records, carrier_of(home) if is_due else None, server)
        except OSError as error:  # a full disk, or digests of forgotten texts that are damaged
            log.warning("exchange: %s", error)
            records.keep("problem", str(error))
            return
        if server:
            _tell_of_server(home, records)
        if done.lost:
            notices.tell(home.paths, "lost", f"memoria: your machines met: {done.line}.")
        if (failure := done.failure) and not isinstance(failure, MemoryServerError):
            _tell_failure(home, failure)
        elif done.held:
            notices.tell(home.paths, "sync", f"memoria: {describe_held(done.held)}")
        else:
            notices.tell(home.paths, "sync", "")


def _tell_failure(home: Home, failure: ExpectedError) -> None:
    log.warning("exchange: %s", failure)
    if not isinstance(failure, CarrierError):
        notices.tell(home.paths, "sync", f"memoria: the exchange with your other machines waits. {failure}")


def describe_held(count: int) -> str:
    """Return what is asked when so much is missing here."""
    return (
        f"{amount(count, 'piece')} of what was exchanged are missing in the files here: more than a person deletes at "
        f"once, so nothing was deleted elsewhere. {invocation.command('sync --restore')} writes them again; "
        f"{invocation.command('sync --deleted')} deletes them everywhere."
    )


def _server_of(home: Home) -> Server | None:
    try:
        return server_of(home)
    except ExpectedError as error:  # a wrong setting must not prevent pages and wiki from being prepared
        log.warning("%s", error)
        notices.tell(home.paths, "server", f"memoria: {error} Facts stay on this machine.")
        return None


def _tell_of_server(home: Home, records: Records) -> None:
    refused, denied = records.get("refused", {}), records.get("server", {}).get("denied")
    first = next((f"{ident}: {reason}" for ident, reason in refused.items()), "")
    told = {
        "server refusals": f"memoria: the memory server refuses {amount(len(refused), 'fact')} ({first}). Nothing "
        "changes on this machine; edit the fact." if refused else "",
        "server": "memoria: the memory server refuses the key. Facts stay on this machine until MEMORY_API_KEY is "
        "right." if denied else "",
    }  # fmt: skip
    for name, text in told.items():
        notices.tell(home.paths, name, text)


def carrier_of(home: Home, limit_s: float = carriers.NETWORK_S) -> Carrier | None:
    """Return what lies between this machine and the others."""
    address = home.settings.sync
    return carriers.open_carrier(address, Path(home.paths.exchange_clone), limit_s) if address else None


def server_of(home: Home) -> Server | None:
    """Return the user's memory server; raise ExpectedError when its address is none."""
    settings = home.settings
    return Server(settings.memory_api_url, settings.memory_api_key) if settings.memory_api_url else None


def exchange(
    home: Home, records: Records, carrier: Carrier | None, server: Server | None = None, *, taken: bool = False,
    restored: bool = False,
) -> Exchanged:  # fmt: skip
    """Exchange now; the caller holds the lock of the exchange."""
    with Keeper(home.paths, home.zone) as keeper:
        done = Round(home, keeper, records, taken, restored).run(carrier, server)
        count = _forget(home, keeper, records, done.forgotten)
        if count or (carrier and not done.failure and records.unsent_lines()):  # what stands again here
            Round(home, keeper, records).run(carrier, server)
        keeper.refresh()
        with closing(Ledger(home.paths)) as ledger:
            keeper.lines.daily.refresh(ledger)
            met = [f"{told['label']} {str(told['met'])[:10]}" for told in records.get("others", {}).values()]
            ledger.put(housekeeping.MET, ", ".join(sorted(met)))
            waiting = ledger.entries(waiting=True)
            ledger.put(gate.ELSEWHERE, [entry.id for entry in waiting if records.writer(f"e-{entry.id}")])
        if done.came or count or taken or restored:
            refresh.renew(home, keeper)
    if carrier:
        records.keep("problem", "" if isinstance(done.failure, MemoryServerError) else str(done.failure or ""))
    done.count, done.lost = count, records.get(LOST, 0)
    records.keep(LOST, 0)
    return done


def spread_forgetting(home: Home) -> list[str]:
    """Exchange after something was forgotten; return in words where it may stand still."""
    with locks.take(Path(home.paths.sync_lock), carriers.NETWORK_S) as mine, Records.of(home.paths) as records:
        try:
            if not mine:
                raise CarrierError("Another exchange is under way.")
            if failure := exchange(home, records, carrier_of(home)).failure:
                raise failure
        except ExpectedError as error:
            return [f"Your other machines, and what lies between them, hold it until the next exchange: {error}"]
        count = rounds.count_gone(records)
        behind = [str(told.get("label")) for told in records.get("others", {}).values() if told.get("gone", 0) < count]
    rows = [f"Not met since, and may hold it until then: {', '.join(sorted(behind))}."] if behind else []
    if carriers.is_git(home.settings.sync):
        kept = "encrypted, unreadable without your key" if keys.is_kept(home.paths) else "until it tidies up (git gc)"
        rows.append(f"A git host may keep what was replaced, {kept}.")
    return rows


def state(home: Home, records: Records) -> dict[str, Any]:
    """Return how the exchange stands, for who asks."""
    machines = records.get("others", {}).values()
    with Keeper.at(home) as keeper:
        pairs = [*_pairs(keeper), *_sections(records)]
    return {
        "address": home.settings.sync,
        "encrypted": keys.is_kept(home.paths),
        "last": records.get("last"),
        "problem": records.get("problem", ""),
        "held": records.get("held", 0),
        "machines": sorted(machines, key=lambda each: str(each.get("met")), reverse=True),
        "pairs": pairs,
    }


def _pairs(keeper: Keeper) -> Iterator[dict[str, str]]:
    """Yield the statements that two machines word otherwise and that both still stand."""
    live = {fact.id: fact for fact in keeper.store.facts()}
    for fact in live.values():
        ident, _, machine = fact.beside.partition(" ")
        if ident in live:
            settle = f"delete one: {invocation.command(f'learned delete {fact.id}')}"
            yield {"one": ident, "first": live[ident].content, "other": fact.id, "second": fact.content,
                   "machine": machine or "another machine", "settle": settle
                   }  # fmt: skip


def _sections(records: Records) -> Iterator[dict[str, str]]:
    """Yield the sections and entries that two people wrote otherwise at once, while both stand under their headings."""
    for first, second in records.pairs():
        if first.kind in (PROSE, ENTRY):
            file, heading = _place(first)
            yield {"one": heading, "first": file, "other": _place(second)[1], "second": file,
                   "machine": second.machine or "another machine", "settle": f"delete one in {file}, or make them one"
                   }  # fmt: skip


def _place(record: Record) -> tuple[str, str]:
    """Return the file and the heading of a section or an entry."""
    first, second = [*str(record.text).split("\n"), ""][:2]
    if record.kind == ENTRY:
        return f"daily/{first[:10]}.md", second.lstrip("# ")
    return f"knowledge/{record.root}.md", first.partition("\t")[0].lstrip("# ") or UNNAMED


def _forget(home: Home, keeper: Keeper, records: Records, idents: list[str]) -> int:
    """Forget what other machines forgot; return how much that was. What must wait is forgotten in the next round."""
    if not (idents or records.get(TO_FORGET)):
        return 0
    paths = home.paths
    with ExitStack() as stack:
        for lock in (paths.worker_lock, paths.compile_lock, paths.observer_lock):
            if not stack.enter_context(locks.take(Path(lock))):
                log.info("what was forgotten on another machine is forgotten with the next exchange")
                return 0
        count = 0
        keeper.refresh()
        keeper.store.forget_deleted(records.forgotten())
        refresh.settle(home, keeper)  # articles may still show what an exchange replaced
        keeper.store.shred()
        removal.sweep(home)  # whose word an exchange replaced, or was writing when it was killed
        for ident in idents:
            keeper.refresh()
            if ident.startswith("l-") and keeper.store.get(ident) is None:
                continue  # it went with its entry
            plan = forget_plan.plan(home, ident, "fact" if ident.startswith("l-") else "entry")
            if not plan.is_empty:
                removal.carry_out(home, plan)
                count += 1
        for needle in _needles(home):
            removal.carry_out(home, forget_plan.plan(home, needle, "text"))
            count += 1
        records.keep(TO_FORGET, False)
        return count


def _needles(home: Home) -> set[str]:
    """Return the forgotten texts that something here still holds: nothing but their digests came."""
    stones, found = Tombstones(home.paths), set[str]()
    for text in proof.texts(home) if stones else ():
        left = text
        while (needle := stones.find(left)) is not None:
            found.add(needle)
            left = fold(left).replace(needle, " ")
    return found
