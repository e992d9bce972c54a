"""Facts for tests about learning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.daily.day_text import DayText
from memoria.daily.entry import learned_rows
from memoria.exchange.memory_server import Server
from memoria.exchange.record import STATEMENT
from memoria.exchange.records import Records
from memoria.exchange.rounds import Round
from memoria.exchange.rows import SERVER
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.ground.home import Home
from memoria.statements import lines
from memoria.statements.fact import Fact, Stamp, new_id
from memoria.statements.keeper import Keeper
from memory_server import KEY, MemoryServer

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
SHOP, BLOG = "shop-1a2b3c", "blog-4d5e6f"


def a_fact(content: str, kind: str = "preference", *, day: float = 0, project: str = SHOP, **given: Any) -> Fact:
    moment = MONDAY + timedelta(days=day)
    usual = {"importance": 0.7, "origin": "user", "session": "s-1", "quote": content}
    ident = new_id(kind, content, Stamp(project, str(given.get("session", "s-1")), moment))
    return Fact(kind=kind, content=content, project=project, time=moment, id=ident, **{**usual, **given})


def rendered(fact: Fact) -> str:
    """The fact's lines in a daily log."""
    return "\n".join(learned_rows(lines.to_learned(fact))) + "\n"


def parsed(text: str, day: date) -> list[Fact]:
    """The facts of a day's text."""
    return lines.read_facts(DayText(text), day)


def keeper(folder: Path) -> Keeper:
    kept = Keeper(Paths(str(folder)), Zone("UTC"))
    kept.refresh()
    return kept


@dataclass(frozen=True)
class Synced:
    """What an exchange with the memory server did."""

    pushed: int = 0
    pulled: int = 0
    problems: tuple[str, ...] = ()


def records_of(home: Keeper) -> Records:
    return Records.of(Paths(str(home.lines.daily.folder.parent)))


def refused(home: Keeper) -> dict[str, str]:
    """What the memory server refuses, with its reason."""
    with records_of(home) as records:
        return dict(records.get("refused", {}))


def server_state(home: Keeper) -> dict[str, Any]:
    with records_of(home) as records:
        return dict(records.get("server", {}))


def sync(home: Keeper, server: MemoryServer, *, key: str = KEY, skew: float = 0, timeout: float = 5) -> Synced:
    """Exchange a home's facts with the server; ``skew``: hours that the home's clock is ahead."""
    settings, now = Settings(), clock.now
    settings.home, settings.tz = str(home.lines.daily.folder.parent), "UTC"
    one = Home(settings, Paths(settings.home), Zone("UTC"))

    def told() -> datetime:
        return now() + timedelta(hours=skew)

    with records_of(home) as records, mock.patch.object(clock, "now", told):
        done = Round(one, home, records).run(None, Server(server.url, key, timeout=timeout))
    home.refresh()
    came = done.came[SERVER][STATEMENT] if SERVER in done.came else 0
    return Synced(done.stored, came, (str(done.failure),) if done.failure else ())


def meet(server: MemoryServer, *homes: Keeper) -> None:
    """Exchange the facts of some homes with the server, one after the other."""
    for home in homes:
        assert sync(home, server).problems == ()


def said(home: Keeper) -> list[str]:
    return sorted(fact.content for fact in home.store.facts())
