"""SelfTest: a session played through the real hooks into a scratch home, as the client would fire them.

Only the client is missing, and the model is ``offline``: no account, no network, nothing of the user's own home is read
or written. Knows the hooks' files and the payloads; does not know what comes of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoria.base import interpreter
from memoria.base.paths import Paths

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
