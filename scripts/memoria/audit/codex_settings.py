"""Codex settings: which hooks of memoria's stand in Codex's hooks.json, whose form is that of Claude Code's settings.

Read from the source of openai/codex (``codex-rs/hooks/src/engine/discovery.rs``, ``schema.rs``) and its documentation
(https://developers.openai.com/codex/hooks), 2026: ``$CODEX_HOME/hooks.json`` maps events to groups of handlers, a
handler's ``command`` is a line for the user's shell (``commandWindows`` for cmd.exe), an exit status of 2 makes Codex
go on with what the hook said, and a handler runs only after the user has trusted it. A handler that is declared
``async`` was passed over in earlier versions.
"""

from __future__ import annotations

import shlex
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

from memoria.audit.client_settings import FLOOR_FLAGS, LAUNCHER, Hooks
from memoria.transcripts.clients.table import CLIENTS

EVENTS = ("SessionStart", "Stop")  # those that all versions with hooks have, from 0.114 on
TIMEOUT_S = 30
TRUST = (
    "Codex runs a hook only after you have trusted it: start codex, open /hooks and trust memoria's two hooks. "
    "Codex before 0.130 also needs codex_hooks = true under [features] in its config.toml."
)


def folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of Codex's settings."""
    return CLIENTS["codex"].folder(environ)


def hooks_file(environ: Mapping[str, str]) -> Path:
    """Return the user's file of hooks."""
    return folder(environ) / "hooks.json"


def codex_hooks(root: Path, python: str) -> Hooks:
    """Return the hooks of the memoria at ``root``.

    A memoria that has been removed must not make Codex go on: the status is 0 whatever the interpreter says.
    """
    launcher = str(root / "hooks" / LAUNCHER)
    launched = [launcher, "codex", launcher, *([python] if python else [])]
    words = [python or "python3", *FLOOR_FLAGS, str(root / "hooks" / "codex.py")]
    handler: dict[str, object] = {
        "type": "command",
        "command": f"{shlex.join(launched)} || true",
        "commandWindows": f"{subprocess.list2cmdline(words)} || exit 0",
        "timeout": TIMEOUT_S,
    }
    return {event: [{"hooks": [dict(handler)]}] for event in EVENTS}


def switched_off(environ: Mapping[str, str]) -> bool:
    """Return whether Codex's config.toml says that no hook is to run."""
    try:
        features = tomllib.loads((folder(environ) / "config.toml").read_text("utf-8")).get("features")
    except (OSError, ValueError):
        return False
    return isinstance(features, dict) and any(features.get(name) is False for name in ("hooks", "codex_hooks"))
