"""Client program: the ``claude`` that memoria's model calls run, which is the user's own.

In this order: the one inside the Agent SDK's wheel, where memoria was installed with that; the client whose hook
started this process; the first on PATH; the usual places. Whichever is no client, or too old, is passed over.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoria.base import interpreter, user_environment

OLDEST = (2, 1, 248)  # an older one reads the files that an ``@path`` in a conversation names
PLACES = (
    "~/.local/bin", "~/.claude/local", "~/.npm-global/bin", "~/.bun/bin", "~/.yarn/bin", "~/node_modules/.bin",
    "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin",
)  # fmt: skip
QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
DEADLINE_S = 20.0
MISSING = f"no Claude Code {'.'.join(map(str, OLDEST))} or newer found on PATH or in the usual places"
REMEDY = "install or update Claude Code, or put its folder on PATH"


def find() -> str:
    """Return the path of the client to run, ``""`` when there is none that is new enough."""
    return bundled_client() or next((path for path in _candidates() if _number(version(path)) >= OLDEST), "")


def bundled_client() -> str:
    """Return the client inside the Agent SDK's wheel, ``""`` where it was built without one."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    origin = spec and spec.origin
    return interpreter.find_in([str(Path(origin).parent / "_bundled")], "claude") if origin else ""


def version(program: str) -> str:
    """Return what ``--version`` of a client says, ``""`` when it does not run or is no client."""
    status, out, _ = run(program, ["--version"])
    said = out.strip()
    return said if status == 0 and said.endswith("(Claude Code)") else ""


def run(program: str, words: Sequence[str], folder: str | Path = ".") -> tuple[int, str, str]:
    """Run a client to its end in a folder, with the user's environment; return its status and what it printed."""
    environment = {**interpreter.reduce_environment(os.environ), **QUIET, "CLAUDE_INVOKED_BY": "memoria"}
    try:
        done = subprocess.run(
            [program, *words], env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", errors="replace", timeout=DEADLINE_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, "", str(error)
    return done.returncode, done.stdout, done.stderr


def _candidates() -> Iterator[str]:
    started_by = os.environ.get(user_environment.CLIENT, "")
    if os.path.isabs(started_by):  # noqa: PTH117 (a text from the environment)
        yield started_by
    usual = ([os.path.expanduser(each)] for each in PLACES)  # noqa: PTH111
    for folders in (os.environ.get("PATH", "").split(os.pathsep), *usual):
        if path := interpreter.find_in(folders, "claude"):
            yield path


def _number(said: str) -> tuple[int, ...]:
    found = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", said)
    return tuple(map(int, found.groups())) if found else ()
