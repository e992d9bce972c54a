"""Factory: open the store that the settings name."""

from __future__ import annotations

from pathlib import Path

from memoria.base.invocation import DISTRIBUTION
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import StoreUnreachableError
from memoria.working.failover_store import FailoverStore, SharedStore
from memoria.working.sqlite_store import SqliteStore
from memoria.working.store import Store


def open_store(settings: Settings | None = None, paths: Paths | None = None) -> Store:
    """Return the embedded store in the state folder, or Redis with it as a fallback when ``redis_url`` is set."""
    settings = settings or Settings.load()
    paths = paths or Paths.of(settings)
    file = Path(paths.working)
    url = settings.redis_url
    return FailoverStore(lambda: shared_store(url), SqliteStore(file, journal=True)) if url else SqliteStore(file)


def shared_store(url: str) -> SharedStore:
    """Return the store on that Redis server, not connected yet. StoreUnreachableError when it can never be reached."""
    try:
        from memoria.working.redis_store import RedisStore  # noqa: PLC0415 (an optional dependency; slow to import)
    except ImportError:
        raise StoreUnreachableError(
            f"MEMORIA_REDIS_URL is set, but the redis package is missing; install {DISTRIBUTION}[redis]"
        ) from None
    try:
        return RedisStore(url)
    except ValueError as error:
        raise StoreUnreachableError(f"MEMORIA_REDIS_URL is not a valid Redis URL: {error}") from error
