"""SelfTest: a session played through the real hooks into a scratch home, as the client would fire them.

Only the client is missing, and the model is ``offline``: no account, no network, nothing of the user's own home is read
or written. The doctor plays one, to see whether it becomes an entry in time; the demo plays others.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memoria.audit.checks import BROKEN, NOTE, OK, Finding, Findings
from memoria.audit.client_settings import client_python
from memoria.base import interpreter, invocation
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.home import Home

SLOW_HOOK_S = 0.5  # SessionEnd has 1.5 s for the hooks of all plugins together
PATIENCE_S, IDLE_S = 60.0, 15.0  # for the worker of the rehearsal, and for it to begin
FLAGS = ("-S", "-I")
HOOK_DEADLINE_S = 30.0
NOT_INHERITED = ("MEMORIA_", "MEMORY_API_", "CLAUDE")  # a rehearsal writes to no memory server either


@dataclass(frozen=True, slots=True)
class Fired:
    """One hook that ran: seconds on the wall clock, exit status, and what it printed."""

    event: str
    seconds: float
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def fault(self) -> str:
        """What is wrong with it; ``""`` when nothing is: status 0, and nothing or one JSON object printed."""
        if self.status:
            return f"exit status {self.status}: {self.stderr.decode('utf-8', 'replace').strip()[-300:]}"
        try:
            is_protocol = not self.stdout or isinstance(json.loads(self.stdout), dict)
        except ValueError:
            is_protocol = False
        return "" if is_protocol else f"printed {self.stdout[:80]!r}, which is not the protocol"


class SelfTest:
    """One scratch home and the environment that the hooks are started with."""

    def __init__(self, scratch: Path, hooks: Path, python: str, settings: Mapping[str, str]) -> None:
        """``python``: what the hooks run on; ``settings``: ``MEMORIA_*`` variables beside the home and the model."""
        self.paths = Paths(str(scratch))
        self.hooks = hooks
        self.python = python
        self.project = scratch / "tidemark"
        self.project.mkdir(parents=True, exist_ok=True)
        inherited = interpreter.reduced(os.environ)
        kept = {name: value for name, value in inherited.items() if not name.startswith(NOT_INHERITED)}
        self.environment = {
            **kept,
            "MEMORIA_HOME": str(scratch),
            "MEMORIA_MODEL": "offline",
            "XDG_CONFIG_HOME": str(scratch / ".config"),
            "XDG_CACHE_HOME": str(scratch / ".cache"),
            "CLAUDE_CONFIG_DIR": str(scratch / ".claude"),  # the user's own transcripts are none of its business
            **settings,
        }

    def replay(self, session: str, lines: Sequence[bytes]) -> Iterator[Fired]:
        """Play one session: the transcript grows, and the hooks fire as the client fires them."""
        transcript = Path(self.environment["CLAUDE_CONFIG_DIR"], "projects", self.project.name, f"{session}.jsonl")
        transcript.parent.mkdir(parents=True, exist_ok=True)
        transcript.unlink(missing_ok=True)
        middle = len(lines) // 2
        yield self._fire("session-start", "SessionStart", session, transcript, source="startup")
        with transcript.open("ab") as file:
            file.writelines(lines[:middle])
        yield self._fire("stop", "Stop", session, transcript, stop_hook_active=False)
        with transcript.open("ab") as file:
            file.writelines(lines[middle:])
        yield self._fire("session-end", "SessionEnd", session, transcript, reason="other")

    def fire(self, file: str, event: str, **fields: object) -> Fired:
        """Fire a hook of a session of its own, which has said nothing yet."""
        return self._fire(file, event, "next", Path(self.environment["CLAUDE_CONFIG_DIR"], "next.jsonl"), **fields)

    def _fire(self, file: str, event: str, session: str, transcript: Path, **fields: object) -> Fired:
        payload = {
            "session_id": session,
            "transcript_path": str(transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }
        started = time.perf_counter()
        try:
            run = subprocess.run(
                [self.python, *FLAGS, str(self.hooks / "start.py"), file],
                input=json.dumps(payload).encode(), env=self.environment, check=False, capture_output=True,
                timeout=HOOK_DEADLINE_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Fired(event, time.perf_counter() - started, 127, b"", str(error).encode())
        return Fired(event, time.perf_counter() - started, run.returncode, run.stdout, run.stderr)


def check_rehearsal(home: Home) -> Findings:
    """Play a session through the real hooks into a scratch home, and time it up to the entry that the worker writes."""
    hooks = Path(places.ROOT, "hooks")
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
        waited = time.monotonic() - started
        if waited > PATIENCE_S or (waited > IDLE_S and not _has_processes(rehearsal.paths)):
            return Finding("rehearsal", BROKEN, f"no entry after {waited:.0f} s: {_last_words(rehearsal)}",
                           f"see what {invocation.shown('flush --now')} says")  # fmt: skip
        time.sleep(0.05)
    took_s = time.monotonic() - started
    while _is_at_work(rehearsal.paths) and time.monotonic() - started < PATIENCE_S:
        time.sleep(0.05)  # what still works would make the scratch folder again
    return Finding("rehearsal", OK, f"the worker wrote the entry {took_s:.1f} s after the last hook")


def _is_at_work(paths: Paths) -> bool:
    """Return whether observer, worker or compile is at work or about to begin; the first starts the second, and so on.

    They are looked at in this order, so that none is missed that another one has started meanwhile.
    """
    if _has_processes(paths) or Spool(paths.spool).jobs():
        return True
    with closing(Ledger.of(paths)) as ledger:  # no file says that a compile was started
        is_due = gate.is_due(ledger, Home(Settings(), paths, clock.Zone("")))
    return is_due or detach.is_locked(paths.compile_lock)


def _has_processes(paths: Paths) -> bool:
    """Return whether an observer or a worker runs."""
    return any(map(detach.is_locked, (paths.observer_lock, paths.worker_lock)))


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
