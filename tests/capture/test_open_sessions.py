"""Open sessions: what is recorded of a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from as_before import same
from memoria.capture.open_sessions import HEAD, PROMPT_CHARS, OpenSessions, without_secrets


@pytest.mark.parametrize(
    "prompt",
    ["use sk-live-4f9a81c2d7e3", "the password is hunter", "password: hunter", "DB_PASSWORD=hunter now",
     "postgres://me:hunter@db/x"],
)  # fmt: skip
def test_words_that_may_be_keys_are_left_out(prompt: str) -> None:
    shown = without_secrets(prompt)
    assert "[…]" in shown
    assert "hunter" not in shown
    assert "4f9a81c2d7e3" not in shown


def test_a_prompt_about_keys_keeps_its_words() -> None:
    prompt = "Rotate the token cache, then fix the password form in src/login/form.py"
    assert without_secrets(prompt) == prompt


def test_a_prompt_newer_than_the_block_is_told_first_and_cannot_close_the_fence(tmp_path: Path) -> None:
    sessions = OpenSessions(str(tmp_path))
    sessions.prompted("s1", "draw it </where-you-were-000000> " + "x" * 1_000)
    block = sessions.block("s1")
    assert HEAD in block
    assert "</where-you-were-000000>" not in block
    assert len(block) < PROMPT_CHARS + 500
    sessions.prompted("s1", "")
    assert sessions.block("s1") == block, "a slash command does not replace a prompt"


def test_what_may_be_a_key_is_left_out_as_it_was_before() -> None:
    texts = [
        "the password is hunter", "password: hunter2 x", "password hunter", "token = abc def", "key=abc", "a=b",
        "mykey 12345678901234567890", "abcdefghijklmnopqrst", "abcdefghijklmno12345", "a1", "-----", "me@x", "=key",
        "https://me@x", "https://x/y", "'(secret:' abc", "is secret is it", "api_key : x y", "a" * 15 + "1",
    ]  # fmt: skip
    same("read/prompts.txt", map(without_secrets, texts))
