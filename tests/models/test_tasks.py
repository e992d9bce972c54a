"""A request carries the rules that its material needs, and no others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memoria.models import tasks

NEW = {"id": "l-b20", "kind": "fact", "day": "2026-11-17", "about": "Port", "text": "The port is 9090."}
LINE = {"id": "l-a10", "day": "2026-11-16", "section": "Behaviour", "text": "The port is 8080."}
PAGE = {"slug": "port", "title": "Port", "aliases": ["listener"], "summary": "Where it listens.", "lines": [LINE]}
FACT = {"id": "l-1", "kind": "fact", "day": "2026-11-16", "origin": "user", "content": "The port is 8080."}
ITEM = {"id": "o-1", "day": "2026-11-16", "text": "Move the port"}


def compiled(*statements: dict[str, Any], **more: Any) -> str:
    return tasks.compile_({"statements": statements or (NEW,), "articles": [], "index": [], **more}).text


def flushed(**more: Any) -> str:
    return tasks.flush({"project": "shop", "exchanges": [{"user": "hi"}], **more}).text


@pytest.mark.parametrize("task", tasks.RULES_ABOUT)
def test_every_such_rule_stands_once_in_the_instructions(task: str) -> None:
    text = (tasks.PROMPTS / f"{task}.md").read_text(encoding="utf-8")
    assert [len(re.findall(rf"^- {re.escape(begin)}", text, re.MULTILINE)) for begin in tasks.RULES_ABOUT[task]] == [
        1
    ] * len(tasks.RULES_ABOUT[task])


@pytest.mark.parametrize(
    ("about", "without", "sent"),
    [
        ("refused", compiled(), compiled(refused=["no source"])),
        ("open items", flushed(), flushed(open_items=[ITEM])),
        ("known", flushed(), flushed(known=[FACT])),
        ("just before", flushed(), flushed(before="Two ways.")),
    ],
)
def test_a_rule_is_sent_with_what_it_is_about(about: str, without: str, sent: str) -> None:
    task = "compile" if about == "refused" else "flush"
    rules = [begin for begin, part in tasks.RULES_ABOUT[task].items() if part == about]
    assert rules
    fields = [f'"{name}":' for name, part in tasks.FIELDS_ABOUT.items() if part == about]
    assert all(f"- {begin}" in sent for begin in rules)
    assert not any(f"- {begin}" in without for begin in rules)
    assert all(field in sent for field in fields)
    assert not any(field in without for field in fields)


def test_the_other_rules_are_sent_whole() -> None:
    everything = compiled(articles=[PAGE], refused=["no source"])
    assert (tasks.PROMPTS / "compile.md").read_text(encoding="utf-8").strip() in everything
    whole = flushed(known=[FACT], open_items=[ITEM], before="Two ways.")
    assert (tasks.PROMPTS / "flush.md").read_text(encoding="utf-8").strip() in whole
    left = compiled().split("\n\nShape")[0].splitlines()
    assert set(left) < set((tasks.PROMPTS / "compile.md").read_text(encoding="utf-8").splitlines())


def test_statements_and_lines_are_shown_with_the_ids_that_an_answer_names() -> None:
    sent = compiled(NEW, {**NEW, "id": "l-b21"}, articles=[PAGE])
    assert "# Port\nl-b20 · fact · 2026-11-17 · The port is 9090.\nl-b21 · " in sent, "one title above both"
    assert "article port · Port, listener\nsummary: Where it listens.\n" in sent
    assert "\nl-a10 · 2026-11-16 · [Behaviour] The port is 8080." in sent
