"""Client checks: whether the client starts memoria's hooks, and whether what they start has all that it needs."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from memoria.audit.client_settings import MAKE_LINKS, ClientSettings, client_python, missing_links, settings_file
from memoria.audit.finding import BROKEN, NOTE, OK, Finding, Findings
from memoria.base import interpreter, invocation
from memoria.base import paths as places
from memoria.capture import detach
from memoria.ground import client_program, clock, home_files
from memoria.ground.errors import ClientSettingsError
from memoria.ground.home import Home
from memoria.transcripts import client_files

HOOK_PYTHON, WORKER_PYTHON = (3, 9), (3, 11)
PACKAGES = ("memoria", "claude_agent_sdk", "jsonschema", "yaml")
NO_PYTHON_WINDOWS = (
    "install Python 3.9 or newer and make it answer to `python3`: the installer from python.org brings only py.exe and "
    "python.exe, so copy python.exe to python3.exe beside it; Windows' own python3.exe only opens the Store"
)
VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
PROBE = (
    "import sys; from importlib.util import find_spec; print('.'.join(map(str, sys.version_info[:3])), "
    f"*(name for name in {PACKAGES!r} if find_spec(name) is None))"
)


def check_hooks(home: Home) -> Findings:
    """Check whether the client starts the hooks: once, all of them, and from files that exist."""
    del home
    try:
        files = [ClientSettings.read(settings_file(project, os.environ)) for project in (None, Path())]
    except ClientSettingsError as error:
        yield Finding("hooks", BROKEN, str(error), "correct the client's settings file")
        return
    for file in files:
        if file.value.get("disableAllHooks"):
            yield Finding("hooks", BROKEN, f'"disableAllHooks" stands in {file.path}', "take it out: no hook runs")
    if any(file.plugin for file in files):
        missing = missing_links()
        if missing:
            yield Finding("hooks", BROKEN, missing, MAKE_LINKS)
        else:
            yield Finding("hooks", OK, "installed as a plugin")
    elif any(file.plugin is False for file in files):
        yield Finding("hooks", BROKEN, "the plugin is switched off", "run `claude plugin enable memoria@memoria`")
    elif not any(file.ours for file in files):
        yield Finding("hooks", BROKEN, "not installed", f"run {invocation.shown('install')}, or install the plugin")
    for file in files:
        if file.ours:
            yield _older_install(file)


def _older_install(file: ClientSettings) -> Finding:
    """Say that hooks stand in the settings, which are those of an install before 0.3, and whether they still run."""
    words = [word for line in file.our_commands for word in line if re.search(r"[/\\]hooks[/\\][\w-]+(\.py)?$", word)]
    gone = [word for word in words if not Path(word).exists()]
    remedy = f"run {invocation.shown('install')}, which replaces them by the plugin"
    if gone:
        return Finding("hooks", BROKEN, f"{file.path} names {gone[0]}, which is gone", remedy)
    return Finding("hooks", NOTE, f"{file.path} starts hooks in the way of memoria 0.2", remedy)


def check_firing(home: Home) -> Findings:
    """Check whether hooks have fired lately, and without errors."""
    log = Path(home.paths.hook_log)
    try:
        with home_files.open_regular(log) as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            rows = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
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
                      f"restart Claude Code, or else run {invocation.shown('install')} again")  # fmt: skip
    elif last:
        yield Finding("firing", OK, f"last {rows[-1]}")


def check_pythons(home: Home) -> Findings:
    """Check the interpreters of the hooks and the worker, and uv."""
    python = client_python(os.environ)
    version = _asked([python, "-S", "-I", "-c", VERSION]) if python else ""
    if not version:
        found = f"{python} does not run" if python else "not found as the client would look for it"
        yield Finding("python3", BROKEN, found, NO_PYTHON_WINDOWS if places.WINDOWS else "install Python 3.9 or newer")
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
    yield from check_worker(home)


def check_worker(home: Home) -> Findings:
    """Check whether the interpreter that a hook would start the worker with has our packages."""
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


def check_client(home: Home) -> Findings:
    """Check whether a model call finds a client that is new enough."""
    del home
    program = client_program.find()
    if program:
        yield Finding("client", OK, f"{program} is {client_program.version(program)}")
    else:
        yield Finding("client", NOTE, client_program.MISSING, f"{client_program.REMEDY}: calls of Claude models run it")


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
