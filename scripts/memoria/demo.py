"""Demo: the main job on a bundled conversation, with no account and no network.

The same hooks, spool, worker and compile that a real session uses, started the same way; only the client is missing
and the model is ``offline``. Into a scratch home unless told otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memoria import paths as places
from memoria.errors import ExpectedError
from memoria.home import Home
from memoria.ledger import Ledger
from memoria.paths import Paths
from memoria.spool import Spool
from memoria.wiki import Wiki

TRANSCRIPTS = Path(__file__).with_name("demo_transcripts")
PATIENCE_S = 120.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command line takes."""
    parser.add_argument("--home", metavar="DIR", help="build it here and keep it (default: a new scratch folder)")


def command(args: argparse.Namespace, home: Home) -> int:  # noqa: ARG001 (the demo never touches the user's home)
    """Run the walk and print where to read what it made."""
    hooks = Path(places.ROOT, "hooks")
    if not hooks.is_dir():
        raise ExpectedError("The demo runs the hooks of a clone; start it there with `uv run memoria demo`.")
    scratch = Path(args.home).expanduser().resolve() if args.home else Path(tempfile.mkdtemp(prefix="memoria-demo-"))
    scratch.mkdir(parents=True, exist_ok=True)
    demo = _Demo(scratch, hooks)
    sessions = sorted(TRANSCRIPTS.glob("*.jsonl"))
    print(f"Replaying {len(sessions)} sessions through the hooks into {scratch}")
    for path in sessions:
        demo.replay(path)
        if path is sessions[0]:  # the worker compiles at once when there is no wiki yet, later once an hour
            demo.wait_for_wiki()
    demo.finish()
    _say(demo.paths)
    return 0


class _Demo:
    """One scratch home and the environment that the hooks are started with."""

    def __init__(self, scratch: Path, hooks: Path) -> None:
        self.paths = Paths(str(scratch))
        self.hooks = hooks
        self.project = scratch / "tidemark"
        self.project.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIA_", "CLAUDE"))}
        self.environment = kept | {
            "MEMORIA_HOME": str(scratch),
            "MEMORIA_MODEL": "offline",
            "MEMORIA_PYTHON": sys.executable,
            "MEMORIA_TZ": "UTC",
            "XDG_CONFIG_HOME": str(scratch / ".config"),
        }

    def replay(self, path: Path) -> None:
        """Play one session: the transcript grows, and the hooks fire as the client fires them."""
        session = path.stem
        transcript = Path(self.paths.state, "demo", path.name)
        transcript.parent.mkdir(parents=True, exist_ok=True)
        transcript.unlink(missing_ok=True)
        lines = path.read_bytes().splitlines(keepends=True)
        self._fire("session-start", "SessionStart", session, transcript, source="startup")
        middle = len(lines) // 2
        with transcript.open("ab") as file:
            file.writelines(lines[:middle])
        self._fire("stop", "Stop", session, transcript, stop_hook_active=False)
        with transcript.open("ab") as file:
            file.writelines(lines[middle:])
        self._fire("session-end", "SessionEnd", session, transcript, reason="other")
        self._wait(lambda: not Spool(self.paths.spool).jobs(), "the daily log")

    def _fire(self, file: str, event: str, session: str, transcript: Path, **fields: object) -> None:
        payload = {
            "session_id": session,
            "transcript_path": str(transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-S", "-I", str(self.hooks / f"{file}.py")],
            input=json.dumps(payload).encode(), env=self.environment, check=True, capture_output=True,
        )  # fmt: skip
        print(f"  {event:<13} {session:<28} {(time.perf_counter() - started) * 1000:5.0f} ms")

    def finish(self) -> None:
        """Take in what the worker's own compile, held back by its interval, has left waiting."""
        subprocess.run(
            [sys.executable, str(Path(places.ROOT, "scripts", "compile.py"))],
            env=self.environment, check=False, capture_output=True,
        )  # fmt: skip
        self.wait_for_wiki()

    def wait_for_wiki(self) -> None:
        """Wait until every entry is compiled."""
        self._wait(self._is_compiled, "the wiki")

    def _is_compiled(self) -> bool:
        ledger = Ledger(Path(self.paths.ledger))
        try:
            counts = ledger.counts()
        finally:
            ledger.close()
        return counts["entries"] > 0 and counts["uncompiled"] == 0

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > deadline:
                raise ExpectedError(f"{what} was not made within {PATIENCE_S:.0f} s; look into {self.paths.log}")
            time.sleep(0.05)


def _say(paths: Paths) -> None:
    wiki = Wiki.of(paths)
    days = sorted(Path(paths.daily).glob("*.md"))
    print("\nDaily logs:")
    for path in days:
        print(f"  {path}  ({path.read_text(encoding='utf-8').count('### Session')} sessions)")
    print("Articles:")
    for article in wiki.articles():
        print(f"  {wiki.path(article.slug)}  {article.title}")
    print(f"\nStart reading at {Path(paths.knowledge, 'index.md')}")
    print(f"What the next session would start with: {Path(paths.page, 'global.md')}")
