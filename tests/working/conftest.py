"""A Redis server of the test's own, and a shared store that tries again soon and gives a busy machine time."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from memoria.working import shared_store
from redis_server import RedisServer, require_redis
from shared_memory import raw


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    require_redis()
    server = RedisServer(tmp_path).start()
    yield server
    if server.process is not None:
        server.process.send_signal(signal.SIGCONT)
    server.stop()


@pytest.fixture
async def client(server: RedisServer) -> AsyncIterator[Any]:
    """What looks at the server itself."""
    one = raw(server.url)
    yield one
    await one.aclose()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_store, "FIRST_RETRY_S", 0.02)
    monkeypatch.setattr(shared_store, "LAST_RETRY_S", 0.1)
    monkeypatch.setattr(shared_store, "CALL_S", 60)
