"""Doctor: does everything that memoria stands on work here? Each finding with its remedy.

Looks, and plays a session through the real hooks into a scratch home. Changes nothing; asks a model only with
``--deep``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from memoria.audit import excluded, forgotten, mcp_probe
from memoria.audit.client_settings import ClientSettings, client_python, plugin_hooks, settings_file
from memoria.audit.receipt import not_understood
from memoria.audit.self_test import SelfTest
from memoria.base import interpreter, state
from memoria.base import paths as places
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks, printable
from memoria.ground.errors import CannotLockError, ClientSettingsError, ExpectedError, HomeRefusedError, ModelError
from memoria.ground.home import Home
from memoria.models import chain, tasks
from memoria.models.metered import Metered
from memoria.transcripts import client_files

OK, NOTE, BROKEN = "ok", "note", "broken"
HOOK_PYTHON, WORKER_PYTHON = (3, 9), (3, 11)
PACKAGES = ("memoria", "claude_agent_sdk", "jsonschema", "yaml")
FREE_MB, FREE_WARN_MB = 100, 1_000
SLOW_HOOK_S = 0.5  # SessionEnd has 1.5 s for the hooks of all plugins together
LONG_LOCK_S = 1_800.0
OLD_JOB_S = 86_400.0
PATIENCE_S = 60.0  # for the worker of the rehearsal
SYNCED = re.compile(  # how the folders of sync services are called
    r"(?:dropbox|onedrive|google ?drive|icloud|com~apple~clouddocs|mobile documents|cloudstorage|nextcloud"
    r"|syncthing)\b",
    re.IGNORECASE,
)
PLUGINS = "plugins/cache/*/memoria/*"  # where the client copies a plugin that is installed from the path of a clone
CLIENT_PATIENCE_S = 30.0  # what the client gives an MCP server
SYNC_MARKERS = (".stfolder", ".dropbox", ".dropbox.cache", ".nextcloudsync.log", ".sync")
VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
PROBE = (
    "import sys; from importlib.util import find_spec; print('.'.join(map(str, sys.version_info[:3])), "
    f"*(name for name in {PACKAGES!r} if find_spec(name) is None))"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ``level`` is ok, note (works, and could be better) or broken; ``remedy`` is one line."""

    about: str
    level: str
    text: str
    remedy: str = ""


Findings = Iterator[Finding]


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line takes."""
    parser.add_argument("--deep", action="store_true", help="also ask the model one short question (costs a little)")
    parser.add_argument("--json", action="store_true", help="the same as one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the findings; 1 when something is broken."""
    checks = (*CHECKS, *([_model] if args.deep else []))
    return _told(args, (finding for check in checks for finding in check(home)))


def refused(args: argparse.Namespace, error: HomeRefusedError) -> int:
    """The home cannot be opened (of a newer memoria, not writable): that is the finding, nothing else is looked at."""
    return _told(args, iter([Finding("state", BROKEN, error.what, error.remedy)]))


def _told(args: argparse.Namespace, found: Findings) -> int:
    findings: list[Finding] = []
    for finding in found:
        findings.append(finding)
        if not args.json:
            print("\n".join(_lines(finding)), flush=True)
    broken = sum(finding.level == BROKEN for finding in findings)
    if args.json:
        print(json.dumps({"broken": broken, "findings": [asdict(one) for one in findings]}, indent=2))
    else:
        print(f"\n{broken} broken, {sum(one.level == NOTE for one in findings)} to note, {len(findings)} looked at.")
    return 1 if broken else 0


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.level:<7}{finding.about:<12}{finding.text}"
    if finding.remedy:
        yield f"{'':<19}-> {finding.remedy}"


def _settings(home: Home) -> Findings:
    for problem in home.settings.problems:
        yield Finding("settings", NOTE, problem, "correct it in config.json or in the environment")
    if home.settings.disabled:
        yield Finding(
            "settings", BROKEN, "memoria is switched off", "unset MEMORIA_DISABLED, or `disabled` in config.json"
        )
    unknown = chain.problems(home.settings)
    for problem in unknown:
        yield Finding("settings", BROKEN, problem, "correct `model` in config.json or MEMORIA_MODEL in the environment")
    if not (home.settings.problems or home.settings.disabled or unknown):
        yield Finding("settings", OK, f"home {home.paths.home}, state version {state.VERSION}")


def _excluded(home: Home) -> Findings:
    """Whether something is still stored of projects that were excluded since."""
    try:
        with closing(Ledger.of(home.paths)) as ledger:
            found = excluded.remaining(home, ledger)
    except (ExpectedError, sqlite3.Error):  # another check names it
        return
    for project, count in found.items():
        yield Finding("excluded", NOTE, excluded.sentence(project, count), f"run `memoria forget --project {project}`")


def _forgotten(home: Home) -> Findings:
    """Whether it is known what was forgotten, and all of it is gone."""
    for text, remedy in forgotten.problems(home.paths):
        yield Finding("forgotten", NOTE if text == forgotten.UNFINISHED else BROKEN, text, remedy)


def _home(home: Home) -> Findings:
    """Whether the memory lies where the next step of a person or a program could take it away."""
    folder = Path(home.paths.home)
    if Path(home.paths.state).is_relative_to(places.ROOT) or folder.is_relative_to(places.ROOT):
        yield Finding("home", NOTE, f"{folder} is in the clone of memoria: who deletes the clone deletes the memory",
                      "run `memoria move ~/memoria`")  # fmt: skip
    for copy in sorted(_client_folder().glob(PLUGINS)):
        if places.holds_memory(str(copy)):
            yield Finding("home", NOTE, f"Claude Code copied the clone with your daily logs to {copy}",
                          "run `memoria move`, then delete that folder")  # fmt: skip


def _client_folder() -> Path:
    return settings_file(None, os.environ).parent


def _hooks(home: Home) -> Findings:
    del home
    try:
        files = [ClientSettings.read(settings_file(project, os.environ)) for project in (None, ".")]
    except ClientSettingsError as error:
        yield Finding("hooks", BROKEN, str(error), "correct the client's settings file")
        return
    as_plugin = any(name.startswith("memoria@") for file in files for name in file.plugins)
    installed = [file for file in files if file.ours]
    for file in files:
        if file.value.get("disableAllHooks"):
            yield Finding("hooks", BROKEN, f'"disableAllHooks" stands in {file.path}', "take it out: no hook runs")
    if as_plugin and installed:
        yield Finding("hooks", NOTE, "installed twice: as a plugin and in the settings", "run `memoria uninstall`")
    elif not as_plugin and not installed:
        yield Finding("hooks", BROKEN, "not installed", "run `memoria install`, or install the plugin")
    elif as_plugin:
        yield Finding("hooks", OK, "installed as a plugin")
    for file in installed:
        yield _declared(file)


def _declared(file: ClientSettings) -> Finding:
    """Whether the settings name every hook that this memoria has, and files that are there."""
    try:
        wanted = set(plugin_hooks(Path(places.ROOT), "python3"))
    except ClientSettingsError:  # no clone: a plugin's or a wheel's memoria looks at a clone's hooks
        wanted = set(file.ours)
    words = re.findall(r'"([^"]*[/\\]hooks[/\\][\w-]+\.py)"', json.dumps(file.ours, ensure_ascii=False))
    gone = [word for word in words if not Path(word).exists()]
    if gone:
        return Finding("hooks", BROKEN, f"{file.path} names {gone[0]}, which is gone", "run `memoria install` again")
    if any("-c" not in words for words in file.our_commands):
        return Finding("hooks", NOTE, f"{file.path} starts hooks in a form that blocks prompts once the clone is moved",
                       "run `memoria install` again")  # fmt: skip
    if wanted - set(file.ours):
        names = ", ".join(sorted(wanted - set(file.ours)))
        return Finding("hooks", NOTE, f"{file.path} lacks {names}", "run `memoria install` again")
    return Finding("hooks", OK, f"installed in {file.path}")


def _firing(home: Home) -> Findings:
    log = Path(home.paths.hook_log)
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            rows = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        yield Finding("firing", NOTE, "no hook has fired yet", "restart Claude Code, say something, and look again")
        return
    errors = [row for row in rows if " ERROR " in row or "NO WORKER" in row]
    last = clock.parse(rows[-1].split(" ", 1)[0]) if rows else None
    newest = max((found.changed for found in client_files.transcripts(client_files.folder(os.environ))), default=0.0)
    if errors:
        yield Finding("firing", NOTE, f"a hook failed: {errors[-1]}", f"the rest of it stands in {log}")
    if last and newest - last.timestamp() > 3_600:
        when = datetime.fromtimestamp(newest, UTC).isoformat(timespec="minutes")
        yield Finding("firing", BROKEN, f"no hook since {last:%Y-%m-%d %H:%M} UTC, though a session ran until {when}",
                      "restart Claude Code; if that does not help, run `memoria install` again")  # fmt: skip
    elif last:
        yield Finding("firing", OK, f"last {rows[-1]}")


def _pythons(home: Home) -> Findings:
    python = client_python(os.environ)
    version = _asked([python, "-S", "-I", "-c", VERSION]) if python else ""
    if not version:
        yield Finding("python3", BROKEN, "not found as the client would look for it", "install Python 3.9 or newer")
    elif _number(version) < HOOK_PYTHON:
        yield Finding(
            "python3", BROKEN, f"{python} is {version}", "hooks need Python 3.9 or newer as `python3` on PATH"
        )
    else:
        yield Finding("python3", OK, f"{python} is {version}")
    uv = interpreter.find_uv()
    told = _asked([uv, "--version"]) if uv else ""
    yield Finding(
        "uv", OK if told else NOTE, told or "not found", "" if told else "install uv: https://docs.astral.sh/uv/"
    )
    yield from _worker(home)


def _worker(home: Home) -> Findings:
    """Whether the interpreter that a hook would start the worker with has our packages."""
    python = interpreter.find(home.settings)
    reason = interpreter.failure()
    if not python and reason:
        yield Finding("worker", BROKEN, f"its packages cannot be installed: {reason}",
                      "mend that; the next hook tries again")  # fmt: skip
        return
    if not python:
        yield Finding("worker", NOTE, "its packages are not installed yet", "the next session installs them")
        return
    told = _asked([python, "-c", PROBE], 120.0).split()
    remedy = f"delete {interpreter.environment()}: it is made again"
    if python != interpreter.python_of(interpreter.environment()):
        remedy = "run `uv sync` in the clone, or set MEMORIA_PYTHON"
    if not told:
        yield Finding("worker", BROKEN, f"{python} does not run", remedy)
    elif _number(told[0]) < WORKER_PYTHON:
        yield Finding("worker", BROKEN, f"{python} is {told[0]}", "the worker needs Python 3.11 or newer")
    elif told[1:]:
        yield Finding("worker", BROKEN, f"{python} lacks {', '.join(told[1:])}", remedy)
    else:
        yield Finding("worker", OK, f"{python} is {told[0]} and has all packages")


def _mcp(home: Home) -> Findings:
    """Start the MCP server as the client does, and ask what it offers."""
    manifest = Path(places.ROOT, ".claude-plugin", "plugin.json")
    if not manifest.is_file():  # an installed wheel: its owner chose how the server is started
        return
    declared = json.loads(manifest.read_text("utf-8"))["mcpServers"]["memoria"]
    words = [word.replace("${CLAUDE_PLUGIN_ROOT}", places.ROOT) for word in declared["args"]]
    started = time.monotonic()
    try:
        tools = mcp_probe.tools(
            [client_python(os.environ) or declared["command"], *words], home.settings.python, CLIENT_PATIENCE_S
        )
    except mcp_probe.ProbeError as error:
        yield Finding("mcp", BROKEN, str(error), "see the finding about the worker; the client shows more in /mcp")
        return
    seconds = time.monotonic() - started
    if tools == [mcp_probe.STAND_IN]:
        yield Finding("mcp", NOTE, "the server answers and has no tools yet", "see the finding about the worker")
    else:
        yield Finding("mcp", OK, f"the server offers {len(tools)} tools after {seconds:.1f} s")


def _asked(words: list[str], deadline_s: float = 20.0) -> str:
    try:
        run = subprocess.run(
            words, capture_output=True, timeout=deadline_s, check=False, env=detach.worker_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.decode("utf-8", "replace").strip() if run.returncode == 0 else ""


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _disk(home: Home) -> Findings:
    refused = []
    for folder in (home.paths.home, home.paths.daily, home.paths.knowledge, home.paths.state, home.paths.spool):
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
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


def _lock(home: Home) -> Findings:
    path = Path(home.paths.worker_lock)
    try:
        free = True
        if path.exists():
            with locks.held(path) as mine:
                free = mine
    except CannotLockError as error:
        yield Finding("lock", BROKEN, str(error), "set MEMORIA_STATE to a folder on a local disk")
        return
    if free:
        yield Finding("lock", OK, "free: no worker is at work")
        return
    pid, seconds = _holder(path)
    who = f"process {pid}, started {seconds / 60:.0f} min ago" if pid else "another process"
    stuck = seconds > LONG_LOCK_S
    yield Finding("lock", NOTE if stuck else OK, f"held by {who}", f"end it if it hangs: kill {pid}" if stuck else "")


def _holder(path: Path) -> tuple[int, float]:
    """Who holds a lock and since when it runs, where the kernel says so (Linux); (0, 0) elsewhere."""
    try:
        inode = path.stat().st_ino
        rows = [row.split() for row in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        pid = next(int(row[4]) for row in rows if row[1] == "FLOCK" and row[5].endswith(f":{inode}"))
        return pid, max(0.0, time.time() - Path(f"/proc/{pid}").stat().st_mtime)
    except (OSError, ValueError, IndexError, StopIteration):
        return 0, 0.0


def _synced(home: Home) -> Findings:
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
    """The name or marker by which a folder on the path belongs to a sync service; ``""`` when none does."""
    for place in (folder, *folder.parents):
        if SYNCED.match(place.name):
            return place.name
        for marker in SYNC_MARKERS:
            if (place / marker).exists():
                return str(place / marker)
    return ""


def _jobs(home: Home) -> Findings:
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
                      "run `memoria compile --retry-failed`, perhaps with another model")  # fmt: skip
    if failed:
        yield Finding("jobs", NOTE, f"{len(failed)} set aside in {spool.failed} after failing too often",
                      "look at the .why files, then run `memoria flush --retry-failed`")  # fmt: skip
    oldest = min((job.stamp / 1e9 for job in waiting), default=time.time())
    trouble = next(filter(None, reasons), "")
    if trouble:
        yield Finding(
            "jobs", NOTE, f"{len(waiting)} wait; one failed: {trouble}", "`memoria status` says when it is tried"
        )
    elif time.time() - oldest > OLD_JOB_S:
        yield Finding("jobs", NOTE, f"{len(waiting)} wait, one for {(time.time() - oldest) / 86_400:.0f} days",
                      "run `memoria flush --now`")  # fmt: skip
    elif not failed and not aside:
        yield Finding("jobs", OK, f"{len(waiting)} wait, none failed")


def _understood(home: Home) -> Findings:
    """Whether every line that may hold words was understood, in the transcripts that were compared so far."""
    ledger = Ledger.of(home.paths)
    try:
        compared = [(path, fates) for path, (_, fates) in ledger.checked().items()]
    finally:
        ledger.close()
    unknown = not_understood(compared)
    for one in unknown:
        lines = "1 line" if one.lines == 1 else f"{one.lines} lines"
        yield Finding("transcripts", NOTE, f"{lines} of an unknown form ({one.form}), for example {one.example}",
                      "update memoria: the client may be newer; `memoria verify --all` looks again")  # fmt: skip
    if compared and not unknown:
        yield Finding("transcripts", OK, "every line that may hold words was understood")


def _clock(home: Home) -> Findings:
    if home.settings.tz and home.zone.zone is None:
        yield Finding(
            "clock", NOTE, f"there is no time zone {home.settings.tz!r}; the system's is used", "correct MEMORIA_TZ"
        )
    files = [Path(home.paths.ledger), Path(home.paths.hook_log), *Path(home.paths.daily).glob("*.md")]
    ahead = max((path.stat().st_mtime for path in files if path.exists()), default=0.0) - time.time()
    local = home.zone.local(clock.now())
    if ahead > 300:
        yield Finding("clock", NOTE, f"{local:%Y-%m-%d %H:%M %Z}: our own files are {ahead / 60:.0f} min ahead of it",
                      "set the clock; entries land on the day it says")  # fmt: skip
    else:
        yield Finding("clock", OK, f"{local:%Y-%m-%d %H:%M %Z}")


def _rehearsal(home: Home) -> Findings:
    """A session through the real hooks into a scratch home, timed, up to the entry that the worker writes."""
    hooks = Path(places.ROOT, "hooks")
    if not hooks.is_dir():
        yield Finding("rehearsal", NOTE, "this memoria has no hooks beside it", "run the doctor of the clone or plugin")
        return
    with tempfile.TemporaryDirectory(prefix="memoria-doctor-", ignore_cleanup_errors=True) as folder:
        settings = {"MEMORIA_PYTHON": home.settings.python} if home.settings.python else {}
        rehearsal = SelfTest(Path(folder, "home"), hooks, client_python(os.environ) or "python3", settings)
        fired = list(rehearsal.replay("doctor", list(_conversation(rehearsal.project))))
        faults = [f"{one.event}: {one.fault}" for one in fired if one.fault]
        times = ", ".join(f"{one.event} {one.seconds * 1000:.0f} ms" for one in fired)
        slow = max(one.seconds for one in fired) > SLOW_HOOK_S
        if faults:
            yield Finding("rehearsal", BROKEN, f"a hook failed: {faults[0]}", "please report it with this line")
            return
        yield Finding("rehearsal", NOTE if slow else OK, f"hooks ran: {times}",
                      "all SessionEnd hooks together have 1.5 s: see what else runs here" if slow else "")  # fmt: skip
        yield _outcome(rehearsal)


def _outcome(rehearsal: SelfTest) -> Finding:
    started = time.monotonic()
    daily = DailyLog.of(rehearsal.paths)
    while not any(daily.entries(day) for day in daily.days()):
        if time.monotonic() - started > PATIENCE_S:
            return Finding("rehearsal", BROKEN, f"no entry within {PATIENCE_S:.0f} s: {_last_words(rehearsal)}",
                           "see what `memoria flush --now` says")  # fmt: skip
        time.sleep(0.05)
    while Spool(rehearsal.paths.spool).jobs() and time.monotonic() - started < PATIENCE_S:
        time.sleep(0.05)  # the scratch folder goes when the worker is done with it
    return Finding(
        "rehearsal", OK, f"the worker wrote the entry {time.monotonic() - started:.1f} s after the last hook"
    )


def _last_words(rehearsal: SelfTest) -> str:
    paths = rehearsal.paths
    for path in (paths.worker_output, paths.memoria_log, paths.hook_log):
        try:
            rows = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            continue
        if rows:
            return rows[-1]
    return "the worker left no word"


def _conversation(project: Path) -> Iterator[bytes]:
    said = (
        ("user", "Is the harbour gauge off? Please check and remember what we decide."),
        ("assistant", "Decision: we correct the gauge by 3 cm with a table, because the drift is stable."),
        ("user", "Good. From now on, write the table in metres."),
        ("assistant", "Understood: the table is written in metres from now on."),
    )
    for number, (role, text) in enumerate(said):
        yield json.dumps({
            "type": role, "uuid": f"doctor-{number}", "sessionId": "doctor", "cwd": str(project),
            "timestamp": clock.now().isoformat(), "message": {"role": role, "content": text},
        }).encode() + b"\n"  # fmt: skip


def _model(home: Home) -> Findings:
    """One short question to the model, within the budget and booked like any other."""
    ledger = Ledger.of(home.paths)
    started = time.monotonic()
    exchange = {"user": "Is it on?", "assistant": "Yes, it is on.", "tools": [], "errors": [], "notes": []}
    try:
        completion = Metered.of(home, ledger).complete(tasks.flush({"project": "doctor", "exchanges": [exchange]}), "")
    except ModelError as error:
        yield Finding("model", BROKEN, str(error), "log in, start the server, or choose another in MEMORIA_MODEL")
        return
    finally:
        ledger.close()
    usage = completion.usage
    yield Finding(
        "model", OK, f"{completion.model} answered in {time.monotonic() - started:.1f} s for ${usage.cost_usd:.4f}"
    )


CHECKS: tuple[Callable[[Home], Findings], ...] = (
    _settings, _excluded, _forgotten, _home, _hooks, _firing, _pythons, _mcp, _disk, _lock, _synced, _jobs,
    _understood, _clock,
    _rehearsal,
)  # fmt: skip
