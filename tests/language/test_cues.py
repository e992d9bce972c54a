"""Cues: whoever asks what a sentence of the user's is gets the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.facts import local_judge
from memoria.language import cues
from memoria.models.extractive import offline, summarize

ANSWER = "I looked at the code and changed the handler so that it closes the file."
RULES = ("correction", "preference")


def by_sentence(said: str) -> set[str]:
    cue = cues.of(said)
    return {cue.kind} if cue else set()


def by_the_check_after_a_turn(said: str) -> set[str]:
    return set(local_judge.notice(exchange(said)).kinds)


def by_the_judge_without_a_model(said: str) -> set[str]:
    return {claim["kind"] for claim in local_judge.claims([exchange(said)])}


def by_the_offline_models_judgement(said: str) -> set[str]:
    return {fact["kind"] for fact in offline.TASKS["learn"]({"exchanges": [exchange(said)]})["statements"]}


def by_the_offline_models_summary(said: str) -> set[str]:
    return {fact["kind"] for fact in summarize.note({"exchanges": [exchange(said)]}).get("statements", ())}


CALLERS = (
    by_sentence,
    by_the_check_after_a_turn,
    by_the_judge_without_a_model,
    by_the_offline_models_judgement,
    by_the_offline_models_summary,
)


def exchange(said: str) -> dict[str, Any]:
    return {"user": said, "assistant": ANSWER, "tools": ["Edit importer.py"], "errors": []}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("No, we always use uv", "correction"),
        ("no we use pnpm in here", "correction"),
        ("nope, use tabs", "correction"),
        ("No, never use npm here.", "correction"),
        ("Nah, we don't use axios.", "correction"),
        ("ok no, use `uv` instead of pip here", "correction"),
        ("Nein, wir nehmen immer pnpm", "correction"),
        ("nein, nimm bitte pnpm", "correction"),
        ("Nee, wir schreiben Commits auf Englisch.", "correction"),
        ("Nein, nicht npm verwenden, wir nehmen hier immer pnpm", "correction"),
        ("Don't use default exports, ever.", "correction"),
        ("We always use uv", "preference"),
        ("Always run the formatter before a commit.", "preference"),
        ("From now on keep functions under fifty lines.", "preference"),
        ("I prefer table driven tests over copies", "preference"),
        ("Wir nehmen immer pnpm", "preference"),
        ("Ab jetzt bitte nur noch Tests mit pytest.", "preference"),
        ("By convention the migrations are numbered.", "preference"),
    ],
)
def test_every_caller_sees_the_same_rule(caller: Callable[[str], set[str]], said: str, kind: str) -> None:
    assert caller(said) & set(RULES) == {kind}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(
    "said",
    [
        "no, the other file",
        "No, that never worked before",
        "nope, use the second one",
        "No, use that one instead please",
        "no, we never figured out why it hangs",
        "no, we always get an error there",
        "No problem, go on with the importer then.",
        "Nein danke, das reicht so.",
        "Nein, nimm das andere",
        "Should we always use uv for this?",
        "No, for now use the old endpoint.",
        "I always get an error when I open the page.",
        "Wir nehmen das hier für heute",
        "> No, we always use uv",
        "```\nNo, we always use uv\n```",
        "fix what this page shows\n" + "It is a long page.\n" * 100 + "No, we always use uv",
    ],
)
def test_no_caller_takes_a_step_a_report_or_a_paste_for_a_rule(caller: Callable[[str], set[str]], said: str) -> None:
    if caller is by_sentence:
        assert not [cue for sentence in cues.own_sentences(said) if (cue := cues.of(sentence)) and cue.kind in RULES]
    else:
        assert caller(said).isdisjoint(RULES)
