"""Ingest plan: which transcripts an ingest would record and how much is in them, and why it passes over the others.

Knows transcripts, the ledger and the spool; does not know models or prices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from memoria.audit.changes import OPEN_S
from memoria.audit.receipt import BY_PROGRAM, Account, Receipt
from memoria.base import project
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import projects
from memoria.ground.home import Home
from memoria.transcripts import client_files, clients
from memoria.transcripts.client_files import Found, Head
from memoria.transcripts.clients import Client
from memoria.transcripts.turn_reader import Reader

Source = tuple[Client, Path]

TOOL_CHARS = 160  # of a model's request for a tool use, beyond its name; the mean over 73 real transcripts


@dataclass(frozen=True, slots=True)
class Item:
    """One transcript to ingest, with estimated ``turns`` and ``chars``."""

    account: Account
    turns: int
    chars: int


@dataclass(slots=True)
class Plan:
    """What to ingest, oldest first, and the number of skipped transcripts by reason."""

    items: list[Item] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    quiet_at: float = 0.0  # when the last of those that may be in progress counts as ended, if it does not go on

    @property
    def turns(self) -> int:
        """Estimated number of turns."""
        return sum(item.turns for item in self.items)

    @property
    def chars(self) -> int:
        """Estimated number of characters that go to the model."""
        return sum(item.chars for item in self.items)


def survey(
    home: Home, ledger: Ledger, sources: Sequence[Source], *, since: float = 0.0, name: str = "", limit: int = 0
) -> Plan:
    """Examine every transcript of the sources; write nothing but the results of comparisons.

    ``since``: seconds since the epoch; a transcript that changed before is left out. ``name``: what a person calls the
    only project to ingest; UsageError when no transcript is of it. ``limit``: most sessions, 0 for all.
    """
    plan = Plan()
    transcripts = _listed(home, sources)
    wanted = _wanted(home, transcripts, name)
    receipt = Receipt(home, ledger, Spool(home.paths.spool))
    for found in transcripts:
        if found.changed < since:
            continue
        if limit and len(plan.items) >= limit:
            break
        try:
            head = clients.of(found).head(found.path)
            owner = project.of(head.cwd, home.settings, home.paths)
            if wanted not in ("", owner.key):
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
    return plan


def _listed(home: Home, sources: Sequence[Source]) -> list[Found]:
    """Return the transcripts of all sources, the one that changed longest ago first."""
    sides = home.settings.keep_sidechains
    return client_files.in_order(found for client, path in sources for found in client.transcripts(path, sides=sides))


def _wanted(home: Home, transcripts: Sequence[Found], name: str) -> str:
    """Return the key of the project that is meant, ``""`` when none is; UsageError when no transcript is of it."""
    if not name:
        return ""
    keys = set()
    for found in transcripts:
        with suppress(OSError):
            keys.add(project.of(clients.of(found).head(found.path).cwd, home.settings, home.paths).key)
    return projects.meant(name, keys, home)


def _item(receipt: Receipt, found: Found, head: Head, owner: project.Project, plan: Plan) -> Item | None:
    """Return the unrecorded rest of a transcript; None, with a reason in the plan, when it is to be skipped."""
    reason = receipt.left_alone(found, head)
    if reason and reason != BY_PROGRAM:
        plan.passed[reason] += 1
    elif receipt.is_open(found):
        plan.passed["in progress, or ended just now"] += 1
        plan.quiet_at = max(plan.quiet_at, found.changed + OPEN_S)
    elif receipt.waits(head.session):
        plan.passed["already waiting in the spool"] += 1
    else:
        return _counted(receipt, found, head, owner, plan)
    return None


def _counted(receipt: Receipt, found: Found, head: Head, owner: project.Project, plan: Plan) -> Item | None:
    fates = receipt.known_fates(found, head.session)
    account = Account(found, head.session, owner.name, owner.key, head.cwd, fates or {})
    if fates is not None and not account.open_turns:
        plan.passed["already recorded" if account.turns else "nothing was said"] += 1
        return None
    keeps = receipt.home.settings.keep_sidechains
    reader = Reader(keep_sidechains=keeps, describing=False, decode=clients.of(found).decoder())
    turns = [*reader.read(client_files.lines(found.path)), *reader.settle()]
    chars = sum(turn.size + len(turn.tools) * TOOL_CHARS for turn in turns)
    if fates is None:
        return Item(account, len(turns), chars)
    return Item(account, account.open_turns, chars * account.open_turns // max(1, account.turns))
