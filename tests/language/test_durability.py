"""Sentences that no cue recognises are scored, and what ties a sentence to the work at hand outweighs a cue."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import durable_fit
from memoria.language import cues, durability
from memoria.models.extractive import summarize


@pytest.mark.parametrize(
    "line",
    [
        "We should NEVER manually set the created-at time stamps, please remove that.",
        "After every prompt that I give you, update the log with its words",
        "Every service should also come with a health check and a smoke test",
        "the installer should also contain the best practices of every platform that we support",
        "There should be no legacy fallback anywhere about anything",
        "after each step make sure that it works locally, then in production, then go to the next",
        "We should avoid workarounds because the platform is going to production",
    ],
)
def test_a_rule_that_no_cue_knows_is_told_by_its_score(line: str) -> None:
    assert cues.stated(line)


@pytest.mark.parametrize(
    "line",
    [
        "You are not using the helper of the other module.",
        "After signing in I don't want text on next screens to be centered.",
        "I accidentally declined it, please write it without asking",
        "never mind, I will do it",
        "For example, the API key should only be read from the environment",
        "Maybe we should always use the cluster for that kind of job",
        "There should not be lines under the links in the footer.",
    ],
)
def test_what_reports_doubts_or_speaks_of_a_screen_is_no_rule(line: str) -> None:
    assert not cues.stated(line)


def test_an_english_pattern_judges_no_german_rule() -> None:
    assert cues.stated("Commit-Nachrichten schreiben wir hier auf Englisch, auch wenn wir sonst Deutsch reden.")


@pytest.mark.parametrize(
    ("line", "worded"),
    [
        ("no emojis in commit messages", "No emojis in commit messages."),
        ("no fallbacks that hide errors", "No fallbacks that hide errors."),
        ("please no mocks in the tests", "No mocks in the tests."),
        ("no, we use yarn here", "We use yarn here."),
        ("no we use yarn here", "We use yarn here."),
        ("remember to always run the linter", "Always run the linter."),
        ("remember that we deploy on Fridays", "We deploy on Fridays."),
    ],
)
def test_a_lead_in_goes_and_what_forbids_stays(line: str, worded: str) -> None:
    assert cues.worded(line) == worded


@pytest.mark.parametrize("prompt", ["Find out the root cause of the slow import.", "please fix the root cause"])
def test_an_order_to_find_a_cause_tells_none(prompt: str) -> None:
    assert not summarize._kind_of_user(prompt)


def test_each_feature_is_named_once_and_every_mark_is_a_feature() -> None:
    names = [name for name, _, _ in durability.FEATURES]
    assert len(set(names)) == len(names)
    assert set(names) >= durability.MARKS | durability.LESSER_MARKS


def test_weights_are_fitted_from_labelled_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines.txt"
    file.write_text(
        "en | rule | we should always use uv\nen | order | add a button to the page\n" * 5, encoding="utf-8"
    )
    assert durable_fit.main(["--made", "0", str(file), str(file)]) == 0
    printed = capsys.readouterr().out.splitlines()
    weights = {line[:15].strip(): float(line[16:21]) for line in printed[1:] if "(" in line}
    assert weights["always"] > 0 > weights["one change"]
