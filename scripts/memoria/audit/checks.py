"""Checks: what the doctor looks at, each a function that yields findings.

Whether the client starts memoria's hooks, and what they start has all that it needs; whether the memory's files can be
written, lie in a safe place, and hold no work that is stuck.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memoria.audit.client_settings import MAKE_LINKS, ClientSettings, client_python, missing_links
from memoria.audit.receipt import not_understood
from memoria.base import interpreter, invocation, user_environment
from memoria.base import paths as places
from memoria.base.visibility import Visibility
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import client_program, clock, home_files, locks, printable
from memoria.ground.errors import CannotLockError, ClientSettingsError, ExpectedError
from memoria.ground.home import Home
from memoria.transcripts import client_files
from memoria.transcripts.screen import Tombstones

OK, NOTE, BROKEN = "ok", "note", "broken"
HOOK_PYTHON, WORKER_PYTHON = (3, 9), (3, 11)
PACKAGES = ("claude_agent_sdk", "jinja2", "yaml")
NO_PYTHON_WINDOWS = (
    "install Python 3.9 or newer and make it answer to `python3`: the installer from python.org brings only py.exe and "
    "python.exe, so copy python.exe to python3.exe beside it; Windows' own python3.exe only opens the Store"
)
VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
PROBE = (
    "import sys; from importlib.util import find_spec; print('.'.join(map(str, sys.version_info[:3])), "
    f"*(name for name in {PACKAGES!r} if find_spec(name) is None))"
)
NAMED = 5  # files that are not read
FREE_MB, FREE_WARN_MB = 100, 1_000
LONG_LOCK_S = 1_800.0  # that a lock is held without a model call
SYNCED = re.compile(  # how the folders of sync services are called
    r"(?:dropbox|onedrive|google ?drive|icloud|com~apple~clouddocs|mobile documents|cloudstorage|nextcloud"
    r"|syncthing)\b",
    re.IGNORECASE,
)
PLUGINS = "plugins/cache/*/memoria/*"  # where the client copies a plugin that is installed from the path of a clone
SYNC_MARKERS = (".stfolder", ".dropbox", ".dropbox.cache", ".nextcloudsync.log", ".sync")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ``level`` is ok, note (works, and could be better) or broken; ``remedy`` is one line."""

    about: str
    level: str
    text: str
    remedy: str = ""


Findings = Iterator[Finding]


def check_hooks(_: Home) -> Findings:
    """Check whether the client starts the hooks: once, all of them, and from files that exist."""
    try:
        files = ClientSettings.read_both(os.environ)
    except ClientSettingsError as error:
        yield Finding("hooks", BROKEN, str(error), "correct the client's settings file")
        return
    remedy = f"run {invocation.command('install')}"
    for file in files:
        if file.value.get("disableAllHooks"):
            yield Finding("hooks", BROKEN, f'"disableAllHooks" stands in {file.path}', "take it out: no hook runs")
    if any(file.plugin for file in files):
        if missing := missing_links():
            yield Finding("hooks", BROKEN, missing, MAKE_LINKS)
        elif gone := "".join(file.missing_source for file in files):
            yield Finding("hooks", BROKEN, f"{gone} is gone, from which the client reads the plugin", remedy)
        else:
            yield Finding("hooks", OK, "installed as a plugin")
    elif any(file.plugin is False for file in files):
        yield Finding("hooks", BROKEN, "the plugin is switched off", "run `claude plugin enable memoria@memoria`")
    elif not any(file.our_hooks for file in files):
        yield Finding("hooks", BROKEN, "not installed", f"{remedy}, or install the plugin")
    for file in files:
        if file.our_hooks:
            yield _older_install(file)


def _older_install(file: ClientSettings) -> Finding:
    """Say that hooks stand in the settings, which are those of an install before 0.3, and whether they still run."""
    words = [word for line in file.our_commands for word in line if re.search(r"[/\\]hooks[/\\][\w-]+(\.py)?$", word)]
    gone = [word for word in words if not Path(word).exists()]
    remedy = f"run {invocation.command('install')}, which replaces them by the plugin"
    if gone:
        return Finding("hooks", BROKEN, f"{file.path} names {gone[0]}, which is gone", remedy)
    return Finding("hooks", NOTE, f"{file.path} starts hooks in the way of memoria 0.2", remedy)


def check_firing(home: Home) -> Findings:
    """Check whether hooks have fired lately, and without errors."""
    rows = home_files.last_rows(home.paths.hook_log)
    if not rows:
        yield Finding("firing", NOTE, "no hook has fired yet", "restart Claude Code, say something, and look again")
        return
    errors = [row for row in rows if " ERROR " in row or "NO WORKER" in row]
    last = clock.parse(rows[-1].split(" ", 1)[0])
    newest = max((found.changed_s for found in client_files.transcripts(client_files.folder(os.environ))), default=0.0)
    if errors:
        yield Finding("firing", NOTE, f"a hook failed: {errors[-1]}", f"the rest of it stands in {home.paths.hook_log}")
    if last and newest - last.timestamp() > 3_600:
        when = datetime.fromtimestamp(newest, UTC).isoformat(timespec="minutes")
        yield Finding("firing", BROKEN, f"no hook since {last:%Y-%m-%d %H:%M} UTC, though a session ran until {when}",
                      f"restart Claude Code, or else run {invocation.command('install')} again")  # fmt: skip
    elif last:
        yield Finding("firing", OK, f"last {rows[-1]}")


def check_pythons(home: Home) -> Findings:
    """Check the interpreters of the hooks and the worker."""
    python = client_python(os.environ)
    version = _ask([python, "-S", "-I", "-c", VERSION]) if python else ""
    if not version:
        found = f"{python} does not run" if python else "not found as the client would look for it"
        yield Finding("python3", BROKEN, found, NO_PYTHON_WINDOWS if places.WINDOWS else "install Python 3.9 or newer")
    elif _number(version) < HOOK_PYTHON:
        yield Finding("python3", BROKEN, f"{python} is {version}", "hooks need Python 3.9+ as `python3` on PATH")
    else:
        yield Finding("python3", OK, f"{python} is {version}")
    yield from check_worker(home)


def check_worker(home: Home) -> Findings:
    """Check whether the interpreter that a hook would start the worker with has our packages."""
    python = interpreter.find(home.settings)
    reason, _ = interpreter.failure()
    if not python and reason:
        yield Finding("worker", BROKEN, f"its packages cannot be installed: {reason}",
                      "mend that; the next hook tries again")  # fmt: skip
        return
    if not python:
        yield Finding("worker", NOTE, "its packages are not installed yet", "the next session installs them")
        return
    told = _ask([python, "-c", PROBE], 120.0).split()
    remedy = f"delete {interpreter.environment()}: it is made again"
    if places.is_wheel():
        remedy = f"install it again: `{invocation.INSTALL_TOOL} --reinstall`"
    elif python != interpreter.python_of(interpreter.environment()):
        remedy = "run `uv sync` in the clone, or set MEMORIA_PYTHON"
    if not told:
        yield Finding("worker", BROKEN, f"{python} does not run", remedy)
    elif _number(told[0]) < WORKER_PYTHON:
        yield Finding("worker", BROKEN, f"{python} is {told[0]}", "the worker needs Python 3.11 or newer")
    elif told[1:]:
        yield Finding("worker", BROKEN, f"{python} lacks {', '.join(told[1:])}", remedy)
    else:
        yield Finding("worker", OK, f"{python} is {told[0]} and has all packages")


def check_client(_: Home) -> Findings:
    """Check whether a model call finds a client that is new enough."""
    program = client_program.find()
    if program:
        yield Finding("client", OK, f"{program} is {client_program.version(program)}")
    else:
        yield Finding("client", NOTE, client_program.MISSING, f"{client_program.REMEDY}: calls of Claude models run it")


def _ask(words: list[str], deadline_s: float = 20.0) -> str:
    try:
        run = subprocess.run(
            words, capture_output=True, timeout=deadline_s, check=False, env=detach.worker_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.decode("utf-8", "replace").strip() if run.returncode == 0 else ""


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def check_excluded(home: Home) -> Findings:
    """Check whether something is still stored of projects that were excluded since."""
    try:
        with closing(Ledger(home.paths)) as ledger:
            counts = Counter(entry.project for entry in ledger.entries())
    except (ExpectedError, sqlite3.Error):  # another check names it
        return
    visible = Visibility(home.settings, home.paths)
    for project, count in sorted(counts.items()):
        if visible.hides(project):
            stored = f"{printable.amount(count, 'entry')} of the excluded project {project}, which no session is shown"
            yield Finding("excluded", NOTE, stored, f"run {invocation.command(f'forget --project {project}')}")


def check_forgotten(home: Home) -> Findings:
    """Check whether it is known what was forgotten, and all of it is gone."""
    if Path(home.paths.forgetting).exists():
        remedy = f"the next worker completes it; {invocation.command('flush')} starts one now"
        yield Finding("forgotten", NOTE, "a forget was interrupted", remedy)
    try:
        Tombstones(home.paths)
    except OSError as error:
        remedy = "until then nothing is taken in or searched, because nobody knows what was forgotten"
        yield Finding("forgotten", BROKEN, f"{home.paths.forgotten} cannot be read: {error.strerror}", remedy)


def check_home(home: Home) -> Findings:
    """Check whether the memory lies where the next step of a person or a program could delete it."""
    folder = Path(home.paths.home)
    if Path(home.paths.state).is_relative_to(places.ROOT) or folder.is_relative_to(places.ROOT):
        yield Finding("home", NOTE, f"{folder} is in the clone of memoria: who deletes the clone deletes the memory",
                      f"close Claude Code, move daily, knowledge and .memoria to ~/memoria, and run "
                      f"{invocation.command('config set home ~/memoria')}")  # fmt: skip
    for text, remedy in home.second_memories():
        yield Finding("home", BROKEN if Path(home.paths.gone).exists() else NOTE, text, remedy)
    for copy in sorted(Path(user_environment.config_folder(os.environ)).glob(PLUGINS)):
        if places.holds_memory(str(copy)):
            yield Finding("home", NOTE, f"Claude Code copied the clone with your daily logs to {copy}",
                          f"when {folder} has them, delete daily, knowledge and .memoria in the copy")  # fmt: skip


def check_files(home: Home) -> Findings:
    """Check whether something lies among the daily logs and articles that is not read."""
    found = [*home_files.other_files(home.paths.daily, is_daily=True)]
    found += home_files.other_files(home.paths.knowledge, is_daily=False)
    if found:
        names = f"{', '.join(each.name for each in found[:NAMED])}{' and more' if len(found) > NAMED else ''}"
        yield Finding("files", NOTE, f"not read: {names}", f"{invocation.command('doctor --wiki')} says why")
    else:
        yield Finding("files", OK, "everything below daily/ and knowledge/ is read")


def check_disk(home: Home) -> Findings:
    """Check whether the folders can be written and the disk has room."""
    refused = []
    for folder in (home.paths.home, home.paths.daily, home.paths.knowledge, home.paths.state, home.paths.spool):
        place = Path(folder)
        while not (place.exists() or place.is_symlink()):  # it is made when something is kept
            place = place.parent
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                file.write(b"memoria")
        except OSError as error:
            refused.append(f"{folder}: {error.strerror}")
    stores = filter(os.path.exists, (home.paths.ledger, home.paths.facts, home.paths.index))
    refused += [f"{path}: no permission" for path in stores if not os.access(path, os.R_OK | os.W_OK)]
    free = shutil.disk_usage(home.paths.state).free // 1_000_000
    if refused:
        yield Finding("disk", BROKEN, f"cannot write {'; '.join(refused)}", "make it writable, or set MEMORIA_HOME")
    if free < FREE_MB:
        yield Finding("disk", BROKEN, f"{free} MB free", "make room: what cannot be spooled is read again later")
    elif not refused:
        few = free < FREE_WARN_MB
        yield Finding("disk", NOTE if few else OK, f"writable, {free:,} MB free", "make room soon" if few else "")


def check_lock(home: Home) -> Findings:
    """Check whether files can be locked, and whether a process of ours that holds a lock gets on."""
    for path in map(Path, (home.paths.worker_lock, home.paths.compile_lock, home.paths.observer_lock)):
        pid, seconds = _holder(path)
        if seconds > LONG_LOCK_S and not _has_called(home):
            yield Finding("lock", NOTE, f"process {pid} holds {path.name} for {seconds / 60:.0f} min without progress",
                          f"end it (`kill -9 {pid}`): nothing is lost, the next one goes on")  # fmt: skip
    path = Path(home.paths.notices_lock)
    try:
        with locks.take(path) if path.exists() else nullcontext():
            yield Finding("lock", OK, "files can be locked")
    except CannotLockError as error:
        yield Finding("lock", BROKEN, str(error), "set MEMORIA_STATE to a folder on a local disk")


def _has_called(home: Home) -> bool:
    """Return whether a model was asked in the time after which a process counts as stuck."""
    with closing(Ledger(home.paths)) as ledger:
        return bool(ledger.calls_since(clock.now() - timedelta(seconds=LONG_LOCK_S)))


def _holder(path: Path) -> tuple[int, float]:
    """Return who holds a lock, and for how long it has run, where the kernel says so (Linux); (0, 0) elsewhere."""
    try:
        inode = f":{path.stat().st_ino}"
        rows = map(str.split, Path("/proc/locks").read_text(encoding="ascii").splitlines())
        pid = next(int(row[4]) for row in rows if row[1] == "FLOCK" and row[5].endswith(inode))
        return pid, time.time() - Path(f"/proc/{pid}").stat().st_mtime
    except (OSError, ValueError, StopIteration):
        return 0, 0.0


def check_synced(home: Home) -> Findings:
    """Check whether home or state is in a folder that a service syncs."""
    for about, folder, hurts in (("home", home.paths.home, False), ("state", home.paths.state, True)):
        service = sync_service(Path(folder))
        if service and hurts:
            yield Finding("synced", BROKEN, f"{about} {folder} is synced ({service}): databases and locks break there",
                          "set MEMORIA_STATE to a folder on this machine only")  # fmt: skip
        elif service:
            yield Finding("synced", NOTE, f"{about} {folder} is synced ({service})",
                          "fine for one machine; of several, each has a home of its own and runs "
                          f"{invocation.command('sync FOLDER')}")  # fmt: skip
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
    with closing(Ledger(home.paths)) as ledger:
        is_tried = any(ledger.tries(job.name)[2] for job in waiting)
        aside = ledger.failed_compiles()
    days = max((time.time() - job.stamp / 1e9 for job in waiting), default=0.0) / 86_400
    told = f"{len(waiting)} wait, {len(failed)} failed"
    told += f", {printable.amount(len(aside), 'entry')} not compiled" if aside else ""
    if failed or aside or is_tried or days > 1:
        told += f", one waits for {days:.0f} days" if days > 1 else ""
        yield Finding("jobs", NOTE, told, f"{invocation.command('status')} says why, and what to do")
    else:
        yield Finding("jobs", OK, told)


def check_understood(home: Home) -> Findings:
    """Check whether every line that may hold words was understood, in the transcripts compared so far."""
    with closing(Ledger(home.paths)) as ledger:
        compared = [(path, fates) for path, (_, fates) in ledger.check_results().items()]
    unknown = not_understood(compared)
    for one in unknown:
        told = f"{printable.amount(one.lines, 'line')} of an unknown form ({one.form}), for example {one.example}"
        remedy = f"update memoria: it may be too old; {invocation.command('verify --all')} looks again"
        yield Finding("transcripts", NOTE, told, remedy)
    if compared and not unknown:
        yield Finding("transcripts", OK, "every line that may hold words was understood")
