"""A request carries the rules that its material needs, and no others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memoria.models import tasks

ENTRY = {"id": "b2", "day": "2026-11-17", "project": "shop", "title": "Port", "context": "It moved."}
CLAIM = {"number": 1, "day": "2026-11-16", "section": "Behaviour", "text": "The port is 8080.",
         "sources": ["daily/2026-11-16#^e-a1"]}  # fmt: skip
PAGE = {"slug": "port", "kind": "concept", "title": "Port", "project": "shop", "claims": [CLAIM]}
FACT = {"id": "l-1", "kind": "fact", "day": "2026-11-16", "origin": "user", "content": "The port is 8080."}
ITEM = {"id": "o-1", "day": "2026-11-16", "text": "Move the port"}


def compiled(*entries: dict[str, Any], **more: Any) -> str:
    return tasks.compile_({"entries": entries or (ENTRY,), "articles": [], "index": [], **more}).text


def flushed(**more: Any) -> str:
    return tasks.flush({"project": "shop", "exchanges": [{"user": "hi"}], **more}).text


def rule(task: str, about: str) -> list[str]:
    return [begin for begin, part in tasks.RULES_ABOUT[task].items() if part == about]


@pytest.mark.parametrize("task", tasks.RULES_ABOUT)
def test_every_such_rule_stands_once_in_the_instructions(task: str) -> None:
    text = (tasks.PROMPTS / f"{task}.md").read_text(encoding="utf-8")
    assert [len(re.findall(rf"^- {re.escape(begin)}", text, re.MULTILINE)) for begin in tasks.RULES_ABOUT[task]] == [
        1
    ] * len(tasks.RULES_ABOUT[task])


@pytest.mark.parametrize(
    ("about", "without", "sent"),
    [
        ("articles", compiled(), compiled(articles=[PAGE])),
        ("refused", compiled(), compiled(refused=["no source"])),
        ("ended", compiled(), compiled({**ENTRY, "ended": ["The port is 8080."]})),
        ("projects", compiled(), compiled(ENTRY, {**ENTRY, "project": "blog"})),
        ("open items", flushed(), flushed(open_items=[ITEM])),
        ("known", flushed(), flushed(known=[FACT])),
    ],
)
def test_a_rule_is_sent_with_what_it_is_about(about: str, without: str, sent: str) -> None:
    task = "flush" if about in ("open items", "known") else "compile"
    rules = rule(task, about)
    assert rules
    fields = [f'"{name}":' for name, part in tasks.FIELDS_ABOUT.items() if part == about]
    assert all(f"- {begin}" in sent for begin in rules)
    assert not any(f"- {begin}" in without for begin in rules)
    assert all(field in sent for field in fields)
    assert not any(field in without for field in fields)


def test_the_other_rules_are_sent_whole() -> None:
    everything = compiled(ENTRY, {**ENTRY, "project": "blog", "ended": ["x"]}, articles=[PAGE], refused=["no source"])
    assert (tasks.PROMPTS / "compile.md").read_text(encoding="utf-8").strip() in everything
    assert (tasks.PROMPTS / "flush.md").read_text(encoding="utf-8").strip() in flushed(known=[FACT], open_items=[ITEM])
    left = compiled().split("\n\nShape")[0].splitlines()
    assert set(left) < set((tasks.PROMPTS / "compile.md").read_text(encoding="utf-8").splitlines())


def test_an_answer_may_have_every_field_whatever_was_outlined() -> None:
    assert tasks.compile_({"entries": [ENTRY], "articles": [], "index": []}).schema == tasks.COMPILE_SCHEMA


def test_a_claim_is_shown_with_the_ids_that_an_answer_names() -> None:
    assert "claim 1 · 2026-11-16 · [Behaviour] The port is 8080. (a1)" in compiled(articles=[PAGE])


def test_a_known_fact_takes_no_more_room_than_a_learned_one_may() -> None:
    by_hand = flushed(known=[{**FACT, "content": "The port is 8080. " * 200}])
    assert len(by_hand) < len(flushed(known=[{**FACT, "content": "x" * 600}])) + 100
    assert "(3600 characters, cut)" in by_hand
