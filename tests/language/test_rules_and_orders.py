"""Rules and orders: what holds on is learned, what was meant for the moment is not, in each language."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from memoria.language import cues
from places import BENCH


def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("durable", BENCH / "durable.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["durable"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("half", [0, 1])
def test_what_is_learned_without_a_model_is_durable_nine_times_in_ten(half: int) -> None:
    durable = bench()
    score = durable.measure(durable.by_both, durable.read(durable.SET)[half::2])
    assert (score.precision >= 0.9, score.recall >= 0.6) == (True, True), (score.precision, score.recall)


@pytest.mark.parametrize("language", ["de", "fr", "es", "ru", "zh", "ja"])
def test_each_language_has_its_rules(language: str) -> None:
    durable = bench()
    lines = [line for line in durable.read(durable.SET) if line.language == language]
    score = durable.measure(durable.by_both, lines)
    assert (score.precision >= 0.9, score.recall >= 0.6) == (True, True), (score.precision, score.recall)


@pytest.mark.parametrize(
    "said",
    [
        "Do not change the code just yet.",
        "no, I did not say commit anything",
        "don't create a pr, just a commit",
        "We should use a map here, not a list.",
        "This must never be public.",
        "The tests always fail on my machine.",
        "It walks both trees, and for each file in the set, it reads the content again.",
        "Make sure all packages have their latest versions.",
        "Search the codebase for any mention of the old name.",
        "Das Ergebnis ist immer falsch.",
        "dans ce projet il y a une erreur",
        "los tests siempre se caen",
        "тесты всегда падают",
        "点击以后页面报错",
        "必ずエラーになります",
    ],
)
def test_an_order_or_a_report_is_no_rule(said: str) -> None:
    assert [cue.kind for sentence in cues.own_sentences(said) if (cue := cues.of(sentence))] == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("We use pnpm.", "preference"),
        ("no emojis please", "preference"),
        ("Run the linter after every change.", "preference"),
        ("You can run the tests without asking.", "preference"),
        ("Before committing, run the type checker.", "preference"),
        ("No, from now on the changes go to develop.", "preference"),
        ("We decided to keep that endpoint.", "decision"),
        ("Commits schreiben wir hier auf Englisch.", "preference"),
        ("永远不要直接推送。", "preference"),
    ],
)
def test_a_rule_is_known_by_its_wording(said: str, kind: str) -> None:
    assert [cue.kind for sentence in cues.own_sentences(said) if (cue := cues.of(sentence))] == [kind]


def test_sentences_end_where_chinese_and_japanese_end_them() -> None:
    assert cues.sentences("先不要推送。以后都用英文。") == ["先不要推送。", "以后都用英文。"]
    assert cues.worded("以后都用英文。") == "以后都用英文。"


def test_a_rule_in_a_list_is_kept_without_its_mark() -> None:
    assert [said for said, _ in cues.stated("- drop the dash before each commit\n- look at the build")] == [
        "drop the dash before each commit"
    ]
