"""What a prompt states: rules as people type them, what they ask to keep, and what belongs to a trial."""

from __future__ import annotations

import pytest

from memoria.language import cues
from memoria.language.spelling import spelled


def stated(prompt: str) -> list[str]:
    return [sentence for sentence, _ in cues.stated(prompt)]


@pytest.mark.parametrize(
    "said",
    [
        "dont use axios, use our own client",
        "u cant just delete the fixtures",
        "i told u to run the formatter everytime you make a change",
        "Remember not to commit the `.cache` folder.",
        "Don't start the emulator in this project because CI has none.",
        "we don't  mock clocks",
        "don\u2019t push to main",
        "next time, ask before you add a dependency",
        "no claude attribution in the commits please, and never a co-author line",
        "stop with the emojis in headings",
        "you need to use our logger",
        "Each migration must have a way back.",
        "whenever we add a new region it must be in the list",
        "we should stick with SQLite",
        "we won't add a new dependency for that kind of thing",
        "don't be so verbose, one paragraph is enough",
        "we have to make sure that tenants never see one another's rows",
        "no helpers that hide a timeout",
        "For every release, write the notes first.",
        "never merge before I have approved it",
    ],
)
def test_a_rule_is_recognised_as_people_type_it(said: str) -> None:
    assert stated(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "it cant find the file",
        "every time you open the dialog it crashes",
        "for each file it prints a warning",
        "we don't need the second table",
        "we don't have the logs yet",
        "you can't just drag it, can you?",
        "do not rename anything, look at the callers first",
        "let's just push the fix straight to main",
        "I want to stay in the left column",
        "save it in memory so that the list is faster",
        "Can you add this to CLAUDE.md?",
        "Please remember that, I keep having to say it.",
        "you should use my values instead of yours",
        "Don't make circles transparent, they look odd.",
    ],
)
def test_a_report_or_an_order_is_none(said: str) -> None:
    assert stated(said) == []


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("Only one job runs at a time. Add this rule to your memory.", "Only one job runs at a time."),
        ("do it. And memorize this.. the tag is made by the release job", "the tag is made by the release job"),
        (
            "The board is flashed over USB, add to project memory.",
            "The board is flashed over USB, add to project memory.",
        ),
        ("add this to claude.md: ports are in ports.toml", "add this to claude.md: ports are in ports.toml"),
        ("We test on Linux alone. Can you put that into CLAUDE.md?", "We test on Linux alone."),
    ],
)
def test_what_the_user_asks_to_keep_is_kept_whatever_its_form(prompt: str, kept: str) -> None:
    assert stated(prompt) == [kept]


def test_nothing_in_a_trial_holds_on_unless_it_says_so() -> None:
    rules = "Never use the network. Use threads, not processes."
    assert len(stated(rules)) == 2
    assert stated(f"Let's make a little experiment. {rules}") == []
    assert stated("Pretend that we have no network. From now on, answer in English.") == [
        "From now on, answer in English."
    ]


def test_spelling_leaves_other_words_alone() -> None:
    assert spelled("Dont  do  it, pls") == "Don't do it, please"
    assert spelled("DONT") == "DON'T"
    assert spelled("the user's menu cantaloupe") == "the user's menu cantaloupe"
