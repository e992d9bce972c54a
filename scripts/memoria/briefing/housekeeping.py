"""Upkeep: what a worker does around its work, each a step of its own that may be missed once without loss.

Old temporary files go, logs keep to their size, learned facts that waited are brought in, compared with the client's
own memory and exchanged with the user's server, and the user is told of trouble. Knows the nouns it looks after; does
not know what the work is.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path

from memoria.base.paths import Paths
from memoria.briefing import notices
from memoria.capture.spool import Spool
from memoria.facts import already_saved
from memoria.facts.fact import GLOBAL
from memoria.facts.keeper import Keeper
from memoria.facts.memory_server import Server
from memoria.facts.sync import Sync
from memoria.ground.errors import ExpectedError, MemoryStoreError
from memoria.ground.home import Home
from memoria.indexing.client_memory import ClientMemory

log = logging.getLogger(__name__)

OUTDATED = ("recall.db",)  # counts of how often notes were of use (docs/decisions/0037-usage-counts.md)
MAX_SHOWN_S = 30 * 24 * 3600  # files of what sessions were shown go after that
STALE_TMP_S = 24 * 3600  # a hook writes its job within milliseconds; what is this old belongs to one that died


def be_modest() -> None:
    """Take the lowest priority: a memory must not be felt."""
    if hasattr(os, "nice"):
        os.nice(max(0, 10 - os.nice(0)))


def clean(paths: Paths) -> None:
    """Remove the temporary files of processes that died."""
    hidden = [
        (folder, ".*.tmp")
        for folder in (paths.archive, paths.page, Path(paths.page, "short"), paths.where, paths.knowledge)
    ]
    for folder, pattern in ((Spool(paths.spool).tmp, "*"), (paths.cursors, "*.tmp"), *hidden):
        for path in Path(folder).glob(pattern):
            try:
                if abs(time.time() - path.stat().st_mtime) > STALE_TMP_S:
                    path.unlink()
            except FileNotFoundError:  # the hook has just moved it
                continue
    remove_shown_notes(paths)
    remove_outdated(paths)


def remove_shown_notes(paths: Paths) -> None:
    """Remove what is written down of the notes that sessions long over were shown."""
    for path in Path(paths.hints).glob("*"):
        if time.time() - path.stat().st_mtime > MAX_SHOWN_S:
            path.unlink(missing_ok=True)


def remove_outdated(paths: Paths) -> None:
    """Remove the files that only an earlier version used."""
    for name in OUTDATED:
        for path in Path(paths.state).glob(f"{name}*"):
            path.unlink(missing_ok=True)


def rotate(home: Home) -> None:
    """The logs that hooks and the worker's own output append to keep one old file, as memoria.log does."""
    for name in ("hook.log", "worker.out"):
        path = Path(home.paths.log, name)
        if path.exists() and path.stat().st_size > home.settings.log_bytes:
            path.replace(path.with_name(name + ".1"))


def bring_in(keeper: Keeper) -> None:
    """Try again with learned facts that could not be written; what still cannot waits on."""
    try:
        keeper.drain()
    except MemoryStoreError as error:
        log.warning("%s", error)


def compare_with_client(home: Home, keeper: Keeper) -> None:
    """A fact learned now that the client has in its own memory of another project could hold everywhere."""
    facts = [fact for fact in keeper.fresh if fact.project != GLOBAL]
    if not facts:
        return
    client = ClientMemory.of(home.paths)
    for memory in client.listed():
        try:
            texts = [client.text(memory)]
        except OSError:  # gone since
            continue
        for fact in facts:
            if already_saved.holds(texts, fact):
                keeper.seen_in(fact.id, client.project(memory))


def exchange_facts(home: Home, keeper: Keeper) -> None:
    """Bring facts to the memory server and back, when the user has one; in full about every ten minutes.

    A refused key is said once, in the log (by ``Sync``) and to the user; an outage is nothing to be told of.
    """
    settings = home.settings
    if not settings.memory_api_url:
        return
    try:
        server = Server(settings.memory_api_url, settings.memory_api_key)
    except ExpectedError as error:  # a slip in a setting must not keep pages and wiki from being made
        log.warning("%s", error)
        notices.tell(Path(home.paths.state), "server", f"memoria: {error} Facts stay on this machine.")
        return
    done = Sync(keeper, server, Path(home.paths.state, "sync.lock")).run()
    for problem in done.problems:
        log.info("memory server: %s", problem)
    if keeper.denied:
        notices.tell(
            Path(home.paths.state),
            "server",
            "memoria: the memory server refuses the key. Facts stay on this machine until MEMORY_API_KEY is right.",
        )
    else:
        notices.clear(Path(home.paths.state), "server")


def tell_user(home: Home, failures: Sequence[str], deferred: Sequence[str]) -> None:
    """Leave a line for the next session's start for each kind of trouble; what is over is taken back."""
    folder = Path(home.paths.state)
    ends = {
        "failure": (failures, "Nothing is lost; it is tried again later. `memoria status` shows details."),
        "deferred": (deferred, "Nothing is lost. `memoria status` shows what waits."),
    }
    for kind, (texts, end) in ends.items():
        if texts:
            notices.tell(folder, kind, f"memoria: {texts[0]}. {end}")
        elif not Spool(home.paths.spool).jobs():
            notices.clear(folder, kind)
