"""Codex's hooks: installed beside the user's own, harmless when memoria is gone, and as durable as Claude Code's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import agents
import home_of
from memoria.commands import flush, install, verify
from memoria.ground.errors import ClientSettingsError, ExpectedError
from memoria.ground.home import Home
from shelves import Shelf, entries, since

SESSION = "0198a4c2-7b1e-7a30-9c55-1f2e3d4c5b6a"


@pytest.fixture
def codex() -> Path:
    """Codex's folder, with settings of the user's own."""
    folder = Path(os.environ["HOME"], ".codex")
    folder.mkdir()
    (folder / "config.toml").write_text('notify = ["notify-send", "Codex"]\nmodel = "gpt-5.5"\n', "utf-8")
    return folder


def run(verb: Any, *words: str) -> int:
    return home_of.run(verb, Home.open(), *words)


def fire(folder: Path, event: str, **fields: object) -> subprocess.CompletedProcess[bytes]:
    """Run what hooks.json declares for the event as Codex does: a line for the user's shell, the event on stdin."""
    (group,) = json.loads((folder / "hooks.json").read_text("utf-8"))["hooks"][event]
    (handler,) = group["hooks"]
    said = {
        "session_id": SESSION, "hook_event_name": event, "cwd": "/home/mira/weir", "model": "gpt-5.5-codex",
    } | fields  # fmt: skip
    shell = shutil.which("sh") or "/bin/sh"
    environment = {**os.environ, "PYTHONPATH": ""}
    return subprocess.run([shell, "-c", handler["command"]], input=json.dumps(said).encode(), env=environment,
                          capture_output=True, timeout=60, check=False)  # fmt: skip


def rollout(folder: Path) -> Path:
    """The fixture's rollout in the user's folder, with nothing in it yet."""
    path = folder / "sessions" / "2026" / "08" / "14" / f"rollout-2026-08-14T09-12-00-{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def stop(folder: Path, path: Path) -> subprocess.CompletedProcess[bytes]:
    return fire(folder, "Stop", transcript_path=str(path), turn_id="turn-1", stop_hook_active=False,
                last_assistant_message=None, permission_mode="default")  # fmt: skip


def test_the_users_own_hooks_stay_as_they_are_and_the_user_is_told_to_trust_ours(
    codex: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = {"hooks": [{"type": "command", "command": "say done", "timeout": 5}]}
    before = json.dumps({"hooks": {"Stop": [theirs], "PreToolUse": []}}, indent=4)
    (codex / "hooks.json").write_text(before, "utf-8")
    config = (codex / "config.toml").read_bytes()
    assert run(install, "--agent", "codex") == 0
    assert "open /hooks and trust" in capsys.readouterr().out
    hooks = json.loads((codex / "hooks.json").read_text("utf-8"))["hooks"]
    assert hooks["Stop"][0] == theirs
    assert sorted(hooks) == ["PreToolUse", "SessionStart", "Stop"]
    assert (codex / "config.toml").read_bytes() == config
    assert run(install, "--remove", "--agent", "codex") == 0
    assert json.loads((codex / "hooks.json").read_text("utf-8")) == json.loads(before)


def test_nothing_is_written_where_codex_has_not_run_or_its_file_cannot_be_understood(codex: Path) -> None:
    (codex / "hooks.json").write_text('{"hooks": [', "utf-8")
    with pytest.raises(ClientSettingsError, match="correct it and try again"):
        run(install, "--agent", "codex")
    shutil.rmtree(codex)
    with pytest.raises(ExpectedError, match="Codex has not run here"):
        run(install, "--agent", "codex")
    assert not codex.exists()


@pytest.mark.slow
def test_what_the_hooks_captured_becomes_an_entry_of_codex_and_the_receipt_is_whole(
    client: Shelf, codex: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(install, "--agent", "codex")
    home = Home.open()
    since(home, 0)
    path = rollout(codex)
    shutil.copy(next(agents.FIXTURES.glob(f"codex/sessions/**/*{SESSION}.jsonl")), path)
    stop(codex, path)
    moment = path.stat().st_mtime - agents.AGE_S
    os.utime(path, (moment, moment))
    capsys.readouterr()
    run(verify, "--json")
    assert json.loads(capsys.readouterr().out)["waiting"] == 16
    assert run(flush, "--now") == 0
    capsys.readouterr()
    run(verify, "--json")
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["turns"], receipt["captured"], receipt["missing"]) == (16, 16, 0)
    assert [(entry.agent, entry.session) for entry in entries(home)] == [("codex", SESSION)]
