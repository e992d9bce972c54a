"""Driving the real client through a session: several prompts, a ``/compact``, an end; and small plugins that probe it.

One process for the whole session (``claude -p`` with JSON lines on stdin and stdout), so that SessionStart and
SessionEnd fire once as in a person's session. Every hook's outcome is reported by the client itself.

    with MessagesApi(lambda request: "hello") as api:
        with Session(clean_env(home, api.url), cwd, "--plugin-dir", str(root)) as session:
            assert session.ask("hi") == "hello"
            session.compact()
            session.settle()
            session.end()
    assert session.failed_hooks == []
"""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from real_client import bundled_claude

Json = dict[str, Any]
COMPACTED = re.compile(r"<local-command-stdout>Compacted ?(.*?)</local-command-stdout>", re.DOTALL)
STREAM = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-hook-events")


@dataclass(frozen=True)
class HookRun:
    """One hook as the client saw it end: ``event`` (``Stop``), ``outcome`` (``success``, ``cancelled``, ...)."""

    event: str
    outcome: str
    exit_code: int | str  # empty when the client names none
    stdout: str
    stderr: str


class Session:
    """One run of the client in ``cwd`` with exactly ``env``; ``options`` go on its command line."""

    def __init__(self, env: Mapping[str, str], cwd: Path, *options: str) -> None:
        self.events: list[Json] = []
        self.stderr = ""
        self._arrived: queue.Queue[Json | None] = queue.Queue()
        self._process = subprocess.Popen(
            [str(bundled_claude()), "-p", *STREAM, *options], env=dict(env), cwd=cwd, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_out, self._read_err)]
        for reader in self._readers:
            reader.start()

    def ask(self, prompt: str, timeout: float = 60) -> str:
        """Send a prompt (or a slash command) and wait for its result; returns the result's text."""
        self.begin(prompt)
        deadline = time.monotonic() + timeout
        while (event := self._next(deadline)) is not None:
            if event["type"] == "result":
                return str(event.get("result", ""))
        raise AssertionError(f"the client ended before it answered {prompt!r}: {self.stderr}")

    def begin(self, prompt: str) -> None:
        """Send a prompt and wait for nothing."""
        assert self._process.stdin is not None
        line = {"type": "user", "message": {"role": "user", "content": prompt}}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def compact(self) -> None:
        """``/compact``; fails unless the client says that it compacted."""
        self.ask("/compact")
        assert any(event.get("compact_result") == "success" for event in self.events), self.events

    def settle(self, timeout: float = 60) -> None:
        """Wait for the hooks that run on in the background: a client that exits at once cancels them."""
        deadline = time.monotonic() + timeout
        while self._hook_ids("hook_started") - self._hook_ids("hook_response"):
            assert self._next(deadline) is not None, "the client ended while hooks were running"

    def end(self, timeout: float = 60) -> int:
        """Close the session as a person would and wait for the client to exit; returns its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        status = self._process.wait(timeout)
        for reader in self._readers:  # a background child may hold the pipes open; what the client said has arrived
            reader.join(1)
        while self._next(time.monotonic(), soft=True) is not None:
            pass
        return status

    def kill(self) -> None:
        """End the client as a crash does."""
        self._process.kill()
        self._process.wait()
        for reader in self._readers:  # the pipes end with the client, unless a child of a hook holds them
            reader.join(5)

    @property
    def id(self) -> str:
        """The session's id."""
        return next(str(event["session_id"]) for event in self.events if event.get("session_id"))

    @property
    def hooks(self) -> list[HookRun]:
        """SessionStart, UserPromptSubmit and Stop hooks as they ended; see ``compactions`` for those around one."""
        ended = [event for event in self.events if event.get("subtype") == "hook_response"]
        fields = ("outcome", "exit_code", "stdout", "stderr")
        return [HookRun(event["hook_event"], *(event.get(name, "") for name in fields)) for event in ended]

    @property
    def failed_hooks(self) -> list[HookRun]:
        """Those of them that the client counts as anything but a success."""
        return [run for run in self.hooks if run.outcome != "success" or run.exit_code not in (0, "", None)]

    @property
    def compactions(self) -> list[str]:
        """What the client reported of the hooks around each ``/compact``: one line a hook, with its output if any."""
        said = [str(event["message"]["content"]) for event in self.events if event["type"] == "user"]
        return [match[1] for match in map(COMPACTED.search, said) if match]

    def _hook_ids(self, subtype: str) -> set[str]:
        return {str(event["hook_id"]) for event in self.events if event.get("subtype") == subtype}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._process.poll() is None:
            self.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not any(reader.is_alive() for reader in self._readers):
                pipe.close()

    def _read_out(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._arrived.put(json.loads(line))
        self._arrived.put(None)

    def _read_err(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.stderr += line

    def _next(self, deadline: float, *, soft: bool = False) -> Json | None:
        """The next event (kept in ``events``); None when the client said its last."""
        try:
            event = self._arrived.get(timeout=max(deadline - time.monotonic(), 0.01))
        except queue.Empty:
            if soft:
                return None
            self.kill()
            raise AssertionError(f"the client did not answer in time; it said: {self.events[-3:]}") from None
        if event is not None:
            self.events.append(event)
        return event


def transcripts(env: Mapping[str, str]) -> list[Path]:
    """The main transcripts that the client keeps: what its own list of sessions is made from."""
    return sorted(Path(env["CLAUDE_CONFIG_DIR"], "projects").glob("*/*.jsonl"))


@dataclass(frozen=True)
class Probe:
    """One hook of a probing plugin: Python source that finds ``folder`` (a str) and ``payload`` (bytes) defined."""

    source: str
    options: Json  # further fields of the handler: async, timeout


def probe_plugin(root: Path, folder: Path, probes: Mapping[str, Probe]) -> Path:
    """A plugin under ``root`` with these hooks, by event; they leave what they find in ``folder``. Returns ``root``."""
    (root / ".claude-plugin").mkdir(parents=True)
    (root / "hooks").mkdir()
    about = {"name": "probe", "version": "1.0.0", "description": "Probes the client.", "author": {"name": "tests"}}
    (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(about))
    hooks = {}
    for event, probe in probes.items():
        script = root / "hooks" / f"{event}.py"
        head = f"import os, sys, time\nfolder = {str(folder)!r}\npayload = sys.stdin.buffer.read()\n"
        script.write_text(head + probe.source, encoding="utf-8")
        run = {"type": "command", "command": sys.executable, "args": ["-S", "-I", str(script)], **probe.options}
        hooks[event] = [{"hooks": [run]}]
    (root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    return root


def held(env: Mapping[str, str], cwd: Path, prompts: Sequence[str], *options: str) -> Session:
    """Hold a whole session: its prompts one after the other, the hooks that run on, and its end; no hook may fail."""
    with Session(env, cwd, *options) as session:
        for prompt in prompts:
            session.ask(prompt)
        session.settle()
        session.end()
    assert session.failed_hooks == []
    return session


def wait_until(true: Callable[[], object], what: str, timeout: float = 60) -> None:
    """Wait for a condition; the test fails with ``what`` when it does not come true."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.01)
