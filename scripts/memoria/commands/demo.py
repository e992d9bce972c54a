"""Demo: the main job on a bundled conversation, with no account and no network.

The same hooks, spool, worker and compile that a real session uses, started the same way; only the client is missing
and the model is ``offline``. Into a scratch home unless told otherwise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memoria.audit.self_test import SelfTest
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.wiki.folder import Wiki

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
    """The bundled sessions, rehearsed, and waiting for what comes of them."""

    def __init__(self, scratch: Path, hooks: Path) -> None:
        settings = {"MEMORIA_PYTHON": sys.executable, "MEMORIA_TZ": "UTC"}
        settings["MEMORIA_LEARN_AT_ONCE"] = "false"  # so that each run makes the same: nobody types at this pace
        self.rehearsal = SelfTest(scratch, hooks, sys.executable, settings)
        self.paths = self.rehearsal.paths

    def replay(self, path: Path) -> None:
        """Play one session and wait for its entry."""
        for fired in self.rehearsal.replay(path.stem, path.read_bytes().splitlines(keepends=True)):
            if fired.fault:
                raise ExpectedError(f"the {fired.event} hook failed: {fired.fault}")
            print(f"  {fired.event:<13} {path.stem:<28} {fired.seconds * 1000:5.0f} ms")
        self._wait(lambda: not Spool(self.paths.spool).jobs(), "the daily log")

    def finish(self) -> None:
        """Take in what the worker's own compile, held back by its interval, has left waiting."""
        subprocess.run(
            [sys.executable, str(Path(places.ROOT, "scripts", "compile.py"))],
            env=self.rehearsal.environment, check=False, capture_output=True,
        )  # fmt: skip
        self.wait_for_wiki()

    def wait_for_wiki(self) -> None:
        """Wait until every entry is compiled."""
        self._wait(self._is_compiled, "the wiki")

    def _is_compiled(self) -> bool:
        ledger = Ledger.of(self.paths)
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
    daily = DailyLog.of(paths)
    print("\nDaily logs:")
    for day in daily.days():
        count = len(daily.entries(day))
        print(f"  {daily.path(day)}  ({count} session{'s' * (count != 1)})")
    print("Articles:")
    for article in wiki.articles():
        print(f"  {wiki.path(article.slug)}  {article.title}")
    print(f"\nStart reading at {Path(paths.knowledge, 'index.md')}")
    print(f"What the next session would start with: {paths.page_of('global')}")
