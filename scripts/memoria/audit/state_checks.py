"""State checks: whether the memory's files can be written, lie in a safe place, and hold no work that is stuck."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, nullcontext
from pathlib import Path

from memoria.audit.client_settings import settings_file
from memoria.audit.finding import (
    BROKEN,
    NOTE,
    OK,
    UNFINISHED,
    Finding,
    Findings,
    excluded_entries,
    forgetting_problems,
    still_stored,
)
from memoria.audit.receipt import not_understood
from memoria.base import invocation
from memoria.base import paths as places
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import home_files, locks, printable
from memoria.ground.errors import CannotLockError, ExpectedError
from memoria.ground.home import Home

NAMED = 5  # files that are not read
FREE_MB, FREE_WARN_MB = 100, 1_000
OLD_JOB_S = 86_400.0
SYNCED = re.compile(  # how the folders of sync services are called
    r"(?:dropbox|onedrive|google ?drive|icloud|com~apple~clouddocs|mobile documents|cloudstorage|nextcloud"
    r"|syncthing)\b",
    re.IGNORECASE,
)
PLUGINS = "plugins/cache/*/memoria/*"  # where the client copies a plugin that is installed from the path of a clone
SYNC_MARKERS = (".stfolder", ".dropbox", ".dropbox.cache", ".nextcloudsync.log", ".sync")


def check_excluded(home: Home) -> Findings:
    """Check whether something is still stored of projects that were excluded since."""
    try:
        with closing(Ledger.of(home.paths)) as ledger:
            found = excluded_entries(home, ledger)
    except (ExpectedError, sqlite3.Error):  # another check names it
        return
    for project, count in found.items():
        yield Finding(
            "excluded",
            NOTE,
            still_stored(project, count),
            f"run {invocation.shown(f'forget --project {project}')}",
        )


def check_forgotten(home: Home) -> Findings:
    """Check whether it is known what was forgotten, and all of it is gone."""
    for text, remedy in forgetting_problems(home.paths):
        yield Finding("forgotten", NOTE if text == UNFINISHED else BROKEN, text, remedy)


def check_home(home: Home) -> Findings:
    """Check whether the memory lies where the next step of a person or a program could delete it."""
    folder = Path(home.paths.home)
    if Path(home.paths.state).is_relative_to(places.ROOT) or folder.is_relative_to(places.ROOT):
        yield Finding("home", NOTE, f"{folder} is in the clone of memoria: who deletes the clone deletes the memory",
                      f"close Claude Code, move daily, knowledge and .memoria to ~/memoria, and run "
                      f"{invocation.shown('config set home ~/memoria')}")  # fmt: skip
    for text, remedy in home.second_memories():
        yield Finding("home", NOTE, text, remedy)
    for copy in sorted(settings_file(None, os.environ).parent.glob(PLUGINS)):
        if places.holds_memory(str(copy)):
            yield Finding("home", NOTE, f"Claude Code copied the clone with your daily logs to {copy}",
                          f"when {folder} has them, delete daily, knowledge and .memoria in the copy")  # fmt: skip


def check_files(home: Home) -> Findings:
    """Check whether something lies among the daily logs and articles that is not read."""
    found = [*home_files.left_out(home.paths.daily, is_daily=True)]
    found += home_files.left_out(home.paths.knowledge, is_daily=False)
    if found:
        names = f"{', '.join(each.name for each in found[:NAMED])}{' and more' if len(found) > NAMED else ''}"
        yield Finding("files", NOTE, f"not read: {names}", f"{invocation.shown('doctor --wiki')} says why")
    else:
        yield Finding("files", OK, "everything below daily/ and knowledge/ is read")


def check_disk(home: Home) -> Findings:
    """Check whether the folders can be written and the disk has room."""
    refused = []
    for folder in (home.paths.home, home.paths.daily, home.paths.knowledge, home.paths.state, home.paths.spool):
        place = Path(folder)
        while not place.exists():  # it is made when something is kept
            place = place.parent
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                file.write(b"memoria")
        except OSError as error:
            refused.append(f"{folder}: {error.strerror}")
    free = shutil.disk_usage(home.paths.state).free // 1_000_000
    if refused:
        yield Finding("disk", BROKEN, f"cannot write {'; '.join(refused)}", "make it writable, or set MEMORIA_HOME")
    if free < FREE_MB:
        yield Finding("disk", BROKEN, f"{free} MB free", "make room: what cannot be spooled is read again later")
    elif not refused:
        few = free < FREE_WARN_MB
        yield Finding("disk", NOTE if few else OK, f"writable, {free:,} MB free", "make room soon" if few else "")


def check_lock(home: Home) -> Findings:
    """Check whether the file system of the state can lock files."""
    path = Path(home.paths.notices_lock)
    try:
        with locks.held(path) if path.exists() else nullcontext():
            yield Finding("lock", OK, "files can be locked")
    except CannotLockError as error:
        yield Finding("lock", BROKEN, str(error), "set MEMORIA_STATE to a folder on a local disk")


def check_synced(home: Home) -> Findings:
    """Check whether home or state is in a folder that a service syncs."""
    for about, folder, hurts in (("home", home.paths.home, False), ("state", home.paths.state, True)):
        service = sync_service(Path(folder))
        if service and hurts:
            yield Finding("synced", BROKEN, f"{about} {folder} is synced ({service}): databases and locks break there",
                          "set MEMORIA_STATE to a folder on this machine only")  # fmt: skip
        elif service:
            yield Finding("synced", NOTE, f"{about} {folder} is synced ({service})",
                          "fine for reading; let only one machine compile, and keep MEMORIA_STATE outside")  # fmt: skip
        elif hurts:
            yield Finding("synced", OK, "the state is in no synced folder that can be told by its name or marker")


def sync_service(folder: Path) -> str:
    """Return the name or marker by which a folder on the path belongs to a sync service; ``""`` when none does."""
    for place in (folder, *folder.parents):
        if SYNCED.match(place.name):
            return place.name
        for marker in SYNC_MARKERS:
            if (place / marker).exists():
                return str(place / marker)
    return ""


def check_jobs(home: Home) -> Findings:
    """Check whether jobs wait too long or have failed."""
    spool = Spool(home.paths.spool)
    waiting, failed = spool.jobs(), spool.jobs(spool.failed)
    ledger = Ledger.of(home.paths)
    try:
        reasons = [ledger.tries(job.name)[2] for job in waiting]
        aside = ledger.failed_compiles()
    finally:
        ledger.close()
    if aside:
        entries = printable.counted(len(aside), "entry")
        yield Finding("jobs", NOTE, f"{entries} not compiled, because the answers failed the checks: {aside[-1][1]}",
                      f"run {invocation.shown('compile --retry-failed')}, perhaps with another model")  # fmt: skip
    if failed:
        yield Finding("jobs", NOTE, f"{len(failed)} set aside in {spool.failed} after failing too often",
                      f"look at the .why files, then run {invocation.shown('flush --retry-failed')}")  # fmt: skip
    oldest = min((job.stamp / 1e9 for job in waiting), default=time.time())
    trouble = next(filter(None, reasons), "")
    if trouble:
        yield Finding(
            "jobs",
            NOTE,
            f"{len(waiting)} wait; one failed: {trouble}",
            f"{invocation.shown('status')} says when it is tried",
        )
    elif time.time() - oldest > OLD_JOB_S:
        yield Finding("jobs", NOTE, f"{len(waiting)} wait, one for {(time.time() - oldest) / 86_400:.0f} days",
                      f"run {invocation.shown('flush --now')}")  # fmt: skip
    elif not failed and not aside:
        yield Finding("jobs", OK, f"{len(waiting)} wait, none failed")


def check_understood(home: Home) -> Findings:
    """Check whether every line that may hold words was understood, in the transcripts compared so far."""
    ledger = Ledger.of(home.paths)
    try:
        compared = [(path, fates) for path, (_, fates) in ledger.checked().items()]
    finally:
        ledger.close()
    unknown = not_understood(compared)
    for one in unknown:
        lines = "1 line" if one.lines == 1 else f"{one.lines} lines"
        yield Finding("transcripts", NOTE, f"{lines} of an unknown form ({one.form}), for example {one.example}",
                      f"update memoria: it may be too old; {invocation.shown('verify --all')} looks again")  # fmt: skip
    if compared and not unknown:
        yield Finding("transcripts", OK, "every line that may hold words was understood")
