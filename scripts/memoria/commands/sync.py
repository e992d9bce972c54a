"""Sync: let the memory of several machines be one, by a git repository, a folder of the user's own or a memory server.

The same command on each machine; where the exchange is encrypted, the twelve words besides.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from memoria.base import invocation
from memoria.exchange import carriers, keys, meeting
from memoria.exchange.carriers import Carrier
from memoria.exchange.keys import Key, KeyAwayError
from memoria.exchange.meeting import Meeting
from memoria.exchange.record import ENDING
from memoria.exchange.records import Records
from memoria.exchange.rounds import Round
from memoria.ground import clock, files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home, change_config
from memoria.ground.printable import amount
from memoria.ground.swap import Swap
from memoria.statements.keeper import Keeper
from memoria.worker import together

LIMIT_S = 900.0  # for a fetch or push that a person waits for: the first one brings everything


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("address", nargs="?", help="a git address, or a folder that something synchronises")
    parser.add_argument("--encrypt", action="store_true", help="encrypt in a folder too (any other address always is)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--status", action="store_true", help="say which machines there are and when they last met")
    which.add_argument("--off", action="store_true", help="exchange nothing more; nothing is deleted anywhere")
    which.add_argument("--key", choices=("show", "new"), nargs="?", const="show", help="show the key, or change it")
    which.add_argument("--restore", action="store_true", help="write again what is missing here")
    which.add_argument("--deleted", action="store_true", help="delete on all machines what is missing here")
    parser.add_argument("--json", action="store_true", help="print JSON (with --status)")


def command(args: argparse.Namespace, home: Home) -> int:
    """Do what is asked; without anything, exchange now."""
    if args.off:
        change_config(Swap(home.paths), {"sync": None})
        print("This machine exchanges nothing more. What it has sent stays where it is.")
        return 0
    if args.address or (args.encrypt and home.settings.sync):
        _join(args, home)
    if not home.settings.sync and (args.key or not (home.settings.memory_api_url or args.status)):
        raise ExpectedError(f"Name a git address or a folder: {invocation.command('sync ADDRESS')}.")
    with locks.require(Path(home.paths.sync_lock), "An exchange", LIMIT_S), Records.of(home.paths) as records:
        if args.status:
            told = together.state(home, records)
            lines = _lines(home, told, records.get("server", {}))
            print(json.dumps(told, indent=2, ensure_ascii=False) if args.json else "\n".join(lines))
        elif args.key:
            _key(args.key, home, records)
        else:
            missing = records.get("held", 0) if args.restore else 0
            done = together.exchange(home, records, together.carrier_of(home, LIMIT_S), together.server_of(home),
                                     taken=args.deleted, restored=args.restore)  # fmt: skip
            if done.failure:
                raise done.failure
            print(f"{done.line[:1].upper()}{done.line[1:]}.")
            print(f"{amount(missing, 'piece')} written again.\n" if missing else "", end="")
            if done.held:
                print(together.describe_held(done.held))
            if refused := records.get("refused", {}):
                what = f"the memory server refused {amount(len(refused), 'fact')} ({next(iter(refused.values()))})"
                raise ExpectedError(f"{what}. Edit the fact; each exchange tries again.")
    return 0


def _join(args: argparse.Namespace, home: Home) -> None:
    """Set the address, after the key fits what lies there; a wrong key changes nothing."""
    address = carriers.address_of(args.address or home.settings.sync)
    carrier = _open(address, home)
    listed = carrier.list_files()
    is_ours = any(place == meeting.TEST or place[1].endswith((ENDING, meeting.ABOUT)) for place in listed)
    if not (is_ours or carriers.is_git(address)) and (other := next(Path(address).glob("[!.]*"), None)):
        raise ExpectedError(f"{address} holds other things ({other.name}). Name a folder of its own in it.")
    key = _key_for(listed, carrier, home, is_wanted=args.encrypt or carriers.is_far(address))
    if key and not keys.is_kept(home.paths):
        place = keys.keep(home.paths, key)
        print(f"Encrypted; the key is in {place}.")
    change_config(Swap(home.paths), {"sync": address})
    home.settings.sync = address


def _open(address: str, home: Home) -> Carrier:
    if not carriers.is_git(address):
        folder = Path(address)
        if not folder.parent.is_dir():
            raise ExpectedError(f"There is no folder {folder.parent}.")
        files.make_folder(folder)
    return carriers.open_carrier(address, Path(home.paths.exchange_clone), LIMIT_S)


def _key_for(listed: set[carriers.Place], carrier: Carrier, home: Home, *, is_wanted: bool) -> Key | None:
    """Return the key of what lies there: the kept one, the one of the words that a person gives, or a new one."""
    kept = None
    with suppress(KeyAwayError):
        kept = keys.read_key(home.paths)
    if meeting.TEST not in listed:
        if any(name.endswith(ENDING) for _, name in listed):
            if is_wanted:
                way = f"use it without --encrypt, then run {invocation.command('sync --key new')}, which encrypts it"
                raise ExpectedError(f"What lies there is not encrypted; {way}.")
            if kept:
                print(f"What lies there is not encrypted. The key of the former place goes: {kept.words}")
            keys.drop(home.paths)
            return None
        if kept:
            print("What goes there is encrypted with the key that this machine has.")
        elif is_wanted:
            kept = Key.new()
            print("Your other machines need these twelve words. Keep them: nobody can restore them.\n")
            print(f"  {kept.words}\n")
        return kept
    if kept and meeting.opens(kept, carrier):
        return kept
    print("What lies there is encrypted. Its twelve words:", end=" ", flush=True)
    key = Key.of_words(sys.stdin.readline())
    if not meeting.opens(key, carrier):
        raise ExpectedError("What lies there is encrypted with another key. Nothing was changed.")
    keys.drop(home.paths)
    return key


def _key(action: str, home: Home, records: Records) -> None:
    """Show the key, or write everything anew with another one."""
    key = keys.read_key(home.paths)
    if action == "show":
        print(key.words if key else "Nothing is encrypted, and there is no key.")
        return
    new = Key.new()
    with Keeper.at(home) as keeper:
        round_, carrier = Round(home, keeper, records), _open(home.settings.sync, home)
        if failure := round_.run(carrier).failure:
            raise failure
        Meeting(records, carrier, key, round_.machine).rekey(new)
    keys.drop(home.paths)
    keys.keep(home.paths, new)
    print(f"Everything is encrypted with a new key, which your other machines need:\n\n  {new.words}\n\n"
          f"There, {invocation.command('sync')} says how to give it.")  # fmt: skip


def _lines(home: Home, told: dict[str, Any], server: dict[str, Any]) -> Iterator[str]:
    if told["address"]:
        yield f"{told['address']}, {'encrypted' if told['encrypted'] else 'not encrypted'}"
        yield f"last exchange {_time_text(home, told['last'])}" + (f"; {told['problem']}" if told["problem"] else "")
    elif not home.settings.memory_api_url:
        yield f"off: this machine meets no other; {invocation.command('sync ADDRESS')} lets it"
    if home.settings.memory_api_url:
        state = server.get("problem") or ("in order" if server else "not asked yet")
        yield f"memory server {home.settings.memory_api_url}: {state}"
    for machine in told["machines"]:
        yield f"{machine['label']} met {_time_text(home, machine['met'])}"
    if told["held"]:
        yield together.describe_held(told["held"])
    for pair in told["pairs"]:
        yield together.PAIR.format(**pair)


def _time_text(home: Home, moment: object) -> str:
    known = clock.parse(moment)
    return f"{home.zone.to_local(known):%Y-%m-%d %H:%M}" if known else "never"
