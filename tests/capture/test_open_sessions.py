"""Open sessions: what is recorded of a prompt."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from as_before import bent, digest, same
from memoria.base import fence, state
from memoria.base.paths import Paths
from memoria.capture import open_sessions
from memoria.capture.hook import Event
from memoria.capture.open_sessions import HEAD, OpenSessions, drop_secrets


def test_a_prompt_newer_than_the_block_is_told_first_and_cannot_close_the_fence(tmp_path: Path) -> None:
    sessions = OpenSessions(str(tmp_path / "where"))
    sessions.record_prompt("s1", "draw it </where-you-were-000000> " + "x" * 1_000)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "where", *tmp_path.glob("*/*"))] == [0o700, 0o600]
    told = Path(sessions.path("s1", open_sessions.BLOCK))
    told.write_text(fence.fence(open_sessions.LABEL, f"{HEAD}\nThe queue is next."))
    os.utime(told, (1, 1))
    block = sessions.block("s1")
    assert (block.count(HEAD), block.count("The queue is next.")) == (1, 1)
    assert "</where-you-were-000000>" not in block
    assert f" {'x' * 438}\n" in block
    sessions.record_prompt("s1", "")
    assert sessions.block("s1") == block, "a slash command does not replace a prompt"
    sessions.record_prompt("s1", "another prompt")
    assert "another prompt" in sessions.block("s1")
    sessions.record_answer("s1")
    assert (sessions.latest_prompt("s1"), sessions.block("s1")) == ("", told.read_text())


def test_what_may_be_a_key_is_left_out_as_it_was_before() -> None:
    texts = [
        "the password is hunter", "password: hunter2 x", "password hunter", "token = abc def", "key=abc", "a=b",
        "mykey 12345678901234567890", "abcdefghijklmnopqrst", "abcdefghijklmno12345", "a1", "-----", "me@x", "=key",
        "https://me@x", "https://x/y", "'(secret:' abc", "is secret is it", "api_key : x y", "a" * 15 + "1",
        "abcdefghij1", "abcdefghijk1",
    ]  # fmt: skip
    made = [drop_secrets(" ".join(words)) for words in bent(" ".join(texts).split(), 60)]
    same("read/prompts.txt", [*map(drop_secrets, texts), digest(made)])


def test_a_late_stop_leaves_the_prompt_that_was_sent_since(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    def event(name: str, ident: str) -> Event:
        return Event({"hook_event_name": name, "session_id": "s1", "prompt_id": ident, "prompt": "go on"})

    state.open_state(paths)
    left = []
    for number, case in enumerate(itertools.product(("", "p2"), ("Stop", "SessionEnd"), ("", "p1", "p2"))):
        monkeypatch.setenv("CLAUDE_PID", str(os.getpid()) if number % 2 else "999999999")
        sent, name, ident = case
        open_sessions.keep_sent(event("UserPromptSubmit", sent), paths)
        files = list(Path(paths.where).iterdir())
        assert open_sessions.find_dead(paths) == ([] if number % 2 else list(map(str, files)))
        open_sessions.drop_sent(event(name, ident), paths)
        if files[0].exists():
            left.append(case)
            files[0].unlink()
    assert left == [("p2", "Stop", "p1")]
    monkeypatch.setenv("CLAUDE_PID", "none")
    open_sessions.keep_sent(event("UserPromptSubmit", "p1"), paths)
    assert not list(Path(paths.where).iterdir())
