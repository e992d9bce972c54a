"""Hooks as the client starts them, and the transcripts they read: what the tests of the hook floor stand on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from memoria.base.paths import Paths
from memoria.capture.spool import Job, Spool
from places import ROOT

PLUGIN = {"enabledPlugins": {"memoria@memoria": True}}
DECLARED = json.loads(Path(ROOT, "hooks", "hooks.json").read_text("utf-8"))["hooks"]
SESSION = "5e551014-0000-4000-8000-000000000001"


def line(text: str, role: str = "user", *, key: str = "", time: str = "2026-11-20T10:00:00.000Z") -> bytes:
    """A transcript line as the client writes it; the same text has the same uuid unless ``key`` says otherwise."""
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    value = {
        "parentUuid": None, "isSidechain": False, "type": role, "message": {"role": role, "content": content},
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, key or f"{role} {text}")), "timestamp": time,
        "cwd": "/home/ada/shop", "sessionId": SESSION, "version": "2.1.329", "gitBranch": "main",
    }  # fmt: skip
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def exchange(number: int, time: str = "2026-11-20T10:00:00.000Z") -> bytes:
    """A question and its answer."""
    return line(f"question {number}", time=time) + line(f"answer {number}", "assistant", time=time)


def arguments(event: str, root: Path = ROOT) -> list[str]:
    """The arguments that ``hooks/run`` starts ``python3`` with for the hook of a memoria at ``root``."""
    return ["-S", "-I", str(root / "hooks" / "start.py"), name_of(event)]


def client_settings(value: object) -> None:
    """The settings that the client of this test's environment has."""
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "settings.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def name_of(event: str) -> str:
    """The hook's name, which ``hooks/run`` is given."""
    (group,) = DECLARED[event]
    (handler,) = group["hooks"]
    return str(handler["command"]).split()[1]


class Client:
    """Fires hooks of one session for one home; the worker is ``/bin/true`` unless told otherwise."""

    def __init__(self, base: Path, *, python: str = sys.executable, **settings: str) -> None:
        self.python = python
        self.paths = Paths(str(base / "mémoria home"))
        self.spool = Spool(self.paths.spool)
        self.transcript = base / "my prôjects" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.cwd = base / "my prôject"
        self.cwd.mkdir(exist_ok=True)
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(base), "MEMORIA_HOME": self.paths.home,
            "XDG_CONFIG_HOME": str(base / "config"), "CLAUDE_CONFIG_DIR": str(base / ".claude"),
            "MEMORIA_PYTHON": "/bin/true", **settings,
        }  # fmt: skip

    def write(self, data: bytes) -> None:
        """The client appends to the transcript."""
        with self.transcript.open("ab") as file:
            file.write(data)

    def payload(self, event: str, **fields: object) -> dict[str, object]:
        """What the client says on stdin."""
        base = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.cwd)}
        return {**base, "hook_event_name": event, **fields}

    def fire(self, event: str, raw: bytes | None = None, **fields: object) -> str:
        """Run a hook to its end; what it printed. It never fails."""
        given = json.dumps(self.payload(event, **fields)).encode() if raw is None else raw
        done = subprocess.run(
            [self.python, *arguments(event)],
            input=given, env=self.env, cwd=self.cwd, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == b""
        return done.stdout.decode()

    def jobs(self) -> list[Job]:
        """What waits."""
        return self.spool.jobs()

    def captured(self) -> bytes:
        """The bytes of all waiting slices."""
        return b"".join(b"".join(self.spool.lines(job)) for job in self.jobs())

    def log(self) -> str:
        """The hooks' log."""
        return Path(self.paths.hook_log).read_text(encoding="utf-8")
