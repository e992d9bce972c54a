"""Facts and exchanges for tests about learning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoria.base.paths import Paths
from memoria.exchange.memory_server import Server
from memoria.exchange.sync import Sync, Synced
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.statements.fact import Fact, Stamp, new_id
from memoria.statements.keeper import Keeper
from memoria.transcripts.turn import Exchange, Turn
from memory_server import KEY, MemoryServer

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
SHOP, BLOG = "shop-1a2b3c", "blog-4d5e6f"


def a_fact(content: str, kind: str = "preference", *, day: float = 0, project: str = SHOP, **given: Any) -> Fact:
    moment = MONDAY + timedelta(days=day)
    usual = {"importance": 0.7, "origin": "user", "session": "s-1", "quote": content}
    ident = new_id(kind, content, Stamp(project, str(given.get("session", "s-1")), moment))
    return Fact(kind=kind, content=content, project=project, time=moment, id=ident, **{**usual, **given})


def keeper(folder: Path, *, server: bool = False) -> Keeper:
    return Keeper.of(Paths(str(folder)), Zone("UTC"), server=server)


def sync(
    home: Keeper, server: MemoryServer, *, full: bool = False, key: str = KEY, skew: float = 0, timeout: float = 5
) -> Synced:
    """Exchange a home's facts with the server; ``skew``: hours that the home's clock is ahead."""
    lock = home.store.path.with_name("sync.lock")
    client = Server(server.url, key, timeout=timeout)
    return Sync(home, client, lock, now=lambda: clock.now() + timedelta(hours=skew)).run(full=full)


def exchange(
    number: int, user: str, assistant: str = "Done.", *, errors: tuple[str, ...] = (), tools: tuple[str, ...] = ()
) -> Exchange:
    moment = MONDAY + timedelta(minutes=number)
    turns = [Turn(f"u{number}", "user", user, time=moment)]
    turns += [Turn(f"e{number}-{place}", "error", text, time=moment) for place, text in enumerate(errors)]
    turns.append(Turn(f"a{number}", "assistant", assistant, tools=tools, time=moment))
    return Exchange(tuple(turns))
