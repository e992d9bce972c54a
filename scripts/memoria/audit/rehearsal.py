"""Rehearsal: whether a session through the real hooks, in a scratch home, becomes an entry in time."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memoria.audit.client_settings import client_python
from memoria.audit.finding import BROKEN, NOTE, OK, Finding, Findings
from memoria.audit.self_test import SelfTest
from memoria.base import invocation
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
PATIENCE_S = 60.0  # for the worker of the rehearsal


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
        if time.monotonic() - started > PATIENCE_S:
            return Finding("rehearsal", BROKEN, f"no entry within {PATIENCE_S:.0f} s: {_last_words(rehearsal)}",
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
    if detach.is_starting(paths.starting("observer")) or detach.is_locked(paths.observer_lock):
        return True
    if detach.is_starting(paths.starting("worker")) or Spool(paths.spool).jobs() or detach.is_locked(paths.worker_lock):
        return True
    with closing(Ledger.of(paths)) as ledger:  # no file says that a compile was started
        is_due = gate.is_due(ledger, Home(Settings(), paths, clock.Zone("")))
    return is_due or detach.is_locked(paths.compile_lock)


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
