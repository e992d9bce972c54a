"""Demo: run the whole pipeline on bundled conversations, without an account or network.

It starts the same hooks, spool, worker and compile as a real session, in the same way, with the same checks; only the
client is missing, and the model's answers are recorded ones. It writes into a temporary home unless told otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from memoria.base import interpreter, invocation
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.wiki.folder import Wiki

TRANSCRIPTS = Path(__file__).with_name("demo_transcripts")
ANSWERS = TRANSCRIPTS / "answers.json"
PATIENCE_S = 120.0
COMMAND = "pip install httpx"
NOT_INHERITED = ("MEMORIA_", "MEMORY_API_", "CLAUDE")  # the demo writes to no memory server either


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--home", metavar="DIR", help="create the demo's home here (default: a new temporary folder)")


def without_home(args: argparse.Namespace) -> int:
    """Run the demo and print where to read its result; the user's home is not even opened."""
    scratch = Path(args.home).expanduser().resolve() if args.home else Path(tempfile.mkdtemp(prefix="memoria-demo-"))
    scratch.mkdir(parents=True, exist_ok=True)
    if any(scratch.iterdir()):  # a home's own conversations would be given the recorded answers
        raise ExpectedError(f"{scratch} is not empty; name a folder that is not there yet.")
    demo = _Demo(scratch)
    sessions = sorted(TRANSCRIPTS.glob("*.jsonl"))
    print(f"Replaying {len(sessions)} sessions through the hooks into {scratch}, with recorded answers of a model")
    for path in sessions:
        demo.replay(path)
        demo.wait_for_wiki()
    demo.finish()
    _say(demo.paths)
    print(f"\nThe next session starts with this page:\n\n{demo.page()}\n")
    print(f"Before `{COMMAND}` runs, Claude is given:\n\n{demo.note()}\n")
    called = invocation.program().replace("uv run", "uv run --no-dev --no-binary-package claude-agent-sdk")
    print(f"Look around: MEMORIA_HOME={shlex.quote(demo.paths.home)} {called} open")
    return 0


class _Demo:
    """Replays the bundled sessions as the client would, and waits for their results."""

    def __init__(self, scratch: Path) -> None:
        self.paths = Paths(str(scratch))
        self.project = scratch / "tidemark"
        self.project.mkdir()
        self.shelf = scratch / ".claude"
        answers = scratch / ANSWERS.name
        shutil.copyfile(ANSWERS, answers)  # the model writes beside it which of them it has given
        inherited = interpreter.reduce_environment(os.environ)
        self.environment = {
            **{name: value for name, value in inherited.items() if not name.startswith(NOT_INHERITED)},
            "MEMORIA_HOME": str(scratch),
            "MEMORIA_MODEL": f"scripted:{answers}",
            "MEMORIA_PYTHON": sys.executable,
            "MEMORIA_TZ": "UTC",
            "MEMORIA_LEARN_AT_ONCE": "false",  # for the same result on every run: nobody types at this pace
            "XDG_CONFIG_HOME": str(scratch / ".config"),
            "XDG_CACHE_HOME": str(scratch / ".cache"),
            "CLAUDE_CONFIG_DIR": str(self.shelf),  # the user's own transcripts are none of its business
        }

    def replay(self, path: Path) -> None:
        """Play one session, whose transcript grows while the hooks fire, and wait for its entry."""
        lines = path.read_bytes().splitlines(keepends=True)
        transcript = self.shelf / "projects" / self.project.name / path.name
        transcript.parent.mkdir(parents=True, exist_ok=True)
        middle = len(lines) // 2
        for name, event, said, about in (
            ("session-start", "SessionStart", [], {"source": "startup"}),
            ("stop", "Stop", lines[:middle], {"stop_hook_active": False}),
            ("session-end", "SessionEnd", lines[middle:], {"reason": "other"}),
        ):
            if said:
                with transcript.open("ab") as file:
                    file.writelines(said)
            started = time.perf_counter()
            self._fire(name, event, transcript, about)
            print(f"  {event:<13} {path.stem:<28} {(time.perf_counter() - started) * 1000:5.0f} ms")
        self._wait(lambda: not Spool(self.paths.spool).jobs(), "the daily log")

    def _fire(self, name: str, event: str, transcript: Path, about: Mapping[str, object]) -> str:
        """Fire one hook and return what it gives to the session, without the lines that frame it."""
        payload = {
            "session_id": transcript.stem,
            "transcript_path": str(transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **about,
        }
        hook = Path(places.ROOT, "hooks", "start.py")
        run = subprocess.run(
            [sys.executable, "-S", "-I", str(hook), name],
            input=json.dumps(payload).encode(), env=self.environment, check=False, capture_output=True,
        )  # fmt: skip
        if run.returncode:
            raise ExpectedError(f"The {event} hook failed: {run.stderr.decode('utf-8', 'replace').strip()[-300:]}")
        text = json.loads(run.stdout or b"{}").get("hookSpecificOutput", {}).get("additionalContext", "")
        rows = [row for row in text.splitlines() if not row.startswith("<")]
        return "\n".join(f"  {row}".rstrip() for row in rows)

    def finish(self) -> None:
        """Compile the entries that the worker left waiting because of the interval, and compare the transcripts."""
        self._run("compile")
        self.wait_for_wiki()
        self._run("verify")  # for the receipt in the reader

    def page(self) -> str:
        """Return what the next session is given."""
        return self._fire("session-start", "SessionStart", self.shelf / "next.jsonl", {"source": "startup"})

    def note(self) -> str:
        """Return what is given before a command; the page holds all that a prompt could need of three sessions."""
        command = {"tool_name": "Bash", "tool_input": {"command": COMMAND}, "tool_use_id": "toolu_demo"}
        return self._fire("pre-tool-use", "PreToolUse", self.shelf / "next.jsonl", command)

    def _run(self, verb: str) -> None:
        command = places.own_command(sys.executable, verb)
        subprocess.run(command, env=self.environment, check=False, capture_output=True)

    def wait_for_wiki(self) -> None:
        """Wait until every entry is compiled."""
        self._wait(self._is_compiled, "the wiki")

    def _is_compiled(self) -> bool:
        with closing(Ledger(self.paths)) as ledger:
            counts = ledger.counts()
        return counts["entries"] > 0 and counts["uncompiled"] == 0

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > deadline:
                raise ExpectedError(f"Timed out after {PATIENCE_S:.0f} s waiting for {what}; see {self.paths.log}.")
            time.sleep(0.05)


def _say(paths: Paths) -> None:
    days, articles = DailyLog(paths).days(), Wiki(paths).slugs()
    print(f"\n{printable.amount(len(days), 'daily log')}, {printable.amount(len(articles), 'article')}.")
    print(f"Start reading at {Path(paths.knowledge, 'index.md')}")
