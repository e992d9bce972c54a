"""Server round: one exchange of facts with the memory server, and what the user is told of it."""

from __future__ import annotations

import logging
from pathlib import Path

from memoria.base import invocation
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.printable import counted
from memoria.pages import notices
from memoria.statements.keeper import Keeper

log = logging.getLogger(__name__)


def run(home: Home, keeper: Keeper) -> bool:
    """Synchronise facts with the memory server, if the user has one; return whether anything changed here.

    This takes a lock of its own and may wait for the network, so the caller must hold no other lock. A refused key is
    reported once in the log (by ``Sync``) and to the user, and so are facts that the server refused. An outage is not
    reported; after one the server is asked less and less often.
    """
    settings = home.settings
    if not settings.memory_api_url:
        return False
    from memoria.exchange.memory_server import Server  # noqa: PLC0415 (takes 35 ms, needed only with a server)
    from memoria.exchange.sync import Sync  # noqa: PLC0415

    try:
        server = Server(settings.memory_api_url, settings.memory_api_key)
    except ExpectedError as error:  # a wrong setting must not prevent pages and wiki from being prepared
        log.warning("%s", error)
        notices.tell(home.paths, "server", f"memoria: {error} Facts stay on this machine.")
        return False
    sync = Sync(keeper, server, Path(home.paths.sync_lock))
    if sync.waits():
        return False
    done = sync.run()
    _tell_of_server(home, keeper)
    return bool(done.pulled or done.forgotten)


def _tell_of_server(home: Home, keeper: Keeper) -> None:
    refused = keeper.to_server.set_aside()
    if refused:
        first = f"{refused[0].body.get('id')}: {refused[0].reason}"[:160]
        notices.tell(
            home.paths,
            "server refusals",
            f"memoria: the memory server refuses {counted(len(refused), 'fact')} ({first}). "
            f"Nothing changes on this machine; edit the fact or run {invocation.shown('learned sync')}.",
        )
    else:
        notices.clear(home.paths, "server refusals")
    if keeper.denied:
        notices.tell(
            home.paths,
            "server",
            "memoria: the memory server refuses the key. Facts stay on this machine until MEMORY_API_KEY is right.",
        )
    else:
        notices.clear(home.paths, "server")
