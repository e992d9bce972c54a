"""Housekeeping: tasks that a worker does beside flushing; skipping one of them once does no harm.

It removes old temporary files, rotates logs, stores learned facts that waited, and leaves notices of failures.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base import invocation, state
from memoria.base.paths import Paths
from memoria.base.visibility import Visibility
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import home_files
from memoria.ground.errors import LedgerDamagedError, MemoryStoreError
from memoria.ground.files import sha256
from memoria.ground.home import Home
from memoria.ground.printable import sentence
from memoria.ground.replaced import Replaced, conflict_copies
from memoria.pages import notices

if TYPE_CHECKING:
    from memoria.statements.keeper import Keeper

log = logging.getLogger(__name__)

PAGES_DUE = "pages_due"  # ledger key: whether there are entries that the prepared pages may not show
WIKI_STATE = "wiki_state"  # ledger key: the articles when the index page and the prepared pages were last made
MET = "met"  # ledger key: the other machines, each with the day on which it last took part in an exchange
MAX_SHOWN_S = 30 * 24 * 3600  # age at which the files of notes that sessions were shown are removed
STALE_TMP_S = 24 * 3600  # a hook writes its job within milliseconds, so an older file belongs to one that died


def are_pages_outdated(home: Home) -> bool:
    """Return whether a project was excluded since the pages were made."""
    try:
        then = home_files.text(home.paths.hidden).splitlines()
    except (OSError, ValueError):  # no page was ever made
        then = []
    return then != Visibility(home.settings, home.paths).hidden_keys()


def wiki_state(paths: Paths) -> str:
    """Return a digest of the names, times and sizes of all articles, which changes when a person edits one.

    It is ``""`` while there is no article.
    """
    articles = home_files.articles(paths.knowledge)
    found = [f"{slug} {status.st_mtime_ns} {status.st_size}\n" for slug, status in articles]
    return sha256("".join(found)) if found else ""


def clean(paths: Paths) -> None:
    """Remove what died processes left and damaged indexes, and bring the state folder's README up to date."""
    state.sign(paths)
    folders = (
        paths.state, paths.archive, paths.page, paths.short_page, paths.where, paths.facts_outbox, paths.knowledge,
    )  # fmt: skip
    for folder in (paths.server_outbox, paths.saved):  # of 0.2.0; what waited for a server is found by comparing
        shutil.rmtree(folder, ignore_errors=True)
    hidden = [(folder, ".*.[0-9]*.tmp") for folder in folders]  # others are an editor's
    aside = (paths.state, f"{Path(paths.index).name}.bak-*")  # of what is rebuilt; other files set aside are the user's
    counters = (paths.state, "spawns*")  # of 0.2.0
    for folder, pattern in ((Spool(paths.spool).tmp, "*"), (paths.cursors, "*.tmp"), aside, counters, *hidden):
        for path in Path(folder).glob(pattern):
            with suppress(FileNotFoundError):  # the hook has just moved the file
                if abs(time.time() - path.stat().st_mtime) > STALE_TMP_S:
                    path.unlink()
    find_late_saves(paths)
    remove_shown_notes(paths)


def find_late_saves(paths: Paths) -> None:
    """Give a person's saves that no file holds a name, and name all that wait to be merged at the next start."""
    Replaced(Path(paths.replaced)).settle()
    copies = conflict_copies(Path(paths.daily), Path(paths.knowledge))
    names = ", ".join(path.relative_to(paths.home).as_posix() for path in copies[:3])
    more = f" and {len(copies) - 3} more" if len(copies) > 3 else ""
    told = "memoria: a file was saved in your editor while memoria wrote it. What you saved is in "
    told += f"{names}{more}; take over what is missing, then delete the copy."
    notices.tell(paths, "conflict", told if copies else "")


def remove_shown_notes(paths: Paths) -> None:
    """Remove the files of notes that sessions were shown more than ``MAX_SHOWN_S`` seconds ago."""
    for path in Path(paths.hints).glob("*"):
        if time.time() - path.stat().st_mtime > MAX_SHOWN_S:
            path.unlink()


def rotate(home: Home) -> None:
    """Rotate the logs and the worker's output; each keeps one old file."""
    for path in map(Path, (home.paths.memoria_log, home.paths.hook_log, home.paths.worker_output)):
        if path.exists() and path.stat().st_size > home.settings.log_bytes:
            with suppress(OSError):  # Windows renames no file that another process has open
                path.replace(path.with_name(path.name + ".1"))


def retry_failed(home: Home) -> None:
    """Put the jobs that were set aside after failing back into the queue, and forget their failed attempts."""
    spool = Spool(home.paths.spool)
    jobs = spool.jobs(spool.failed)
    with suppress(LedgerDamagedError), closing(Ledger(home.paths)) as ledger:  # the worker makes a new one then
        ledger.forget_tries(job.name for job in jobs)
    for job in jobs:
        spool.retry(job)


def bring_in(keeper: Keeper) -> None:
    """Retry learned facts that could not be stored; those that fail again wait on."""
    try:
        keeper.drain()
    except MemoryStoreError as error:
        log.warning("%s", error)


def tell_user(home: Home, failures: Sequence[str], deferred: Sequence[str]) -> None:
    """Leave a notice for the next session's start for each kind of failure; withdraw notices that no longer apply."""
    end = f"Nothing is lost; memoria will try again, and {invocation.command('status')} shows what waits."
    for kind, texts in (("failure", failures), ("deferred", deferred)):
        if texts:
            notices.tell(home.paths, kind, f"memoria: {sentence(texts[0])} {end}")
        elif not Spool(home.paths.spool).jobs():
            notices.tell(home.paths, kind, "")
