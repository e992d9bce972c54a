from __future__ import annotations

import pytest

from memoria.search import comparison


def same(one: str, other: str) -> bool:
    return comparison.same(comparison.words(one), comparison.words(other))


def opposed(one: str, other: str) -> bool:
    return comparison.opposed(comparison.words(one), comparison.words(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs in Makefiles.", "Makefiles use tabs, always."),
        ("Never commit directly to main; open a pull request.", "Do not commit to main directly, open pull requests."),
        ("The user prefers short functions.", "I prefer short functions in this codebase"),
        ("Tests need the emulator running.", "The emulator needs to be running for tests."),
        ("Bitte keine Emojis in der Dokumentation", "In der Dokumentation keine Emojis."),
    ],
)
def test_the_same_said_otherwise_is_the_same(one: str, other: str) -> None:
    assert same(one, other)
    assert not opposed(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs, not spaces.", "Use spaces, not tabs."),
        ("Use pnpm instead of npm.", "Use npm instead of pnpm."),
        ("Use tabs for indentation.", "Don't use tabs for indentation."),
        ("Wir nutzen Poetry, nicht pip.", "Wir nutzen pip, nicht Poetry."),
        ("The API listens on port 8080.", "The API listens on port 9090."),
        ("Worker 3 uses port 9001.", "Worker 3 uses port 9005."),
        ("The timeout is 30s.", "The timeout is 60s."),
        ("Use two spaces for indentation, not tabs.", "Use tabs for indentation."),
    ],
)
def test_the_opposite_is_no_duplicate(one: str, other: str) -> None:
    assert opposed(one, other)
    assert not same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs in Makefiles.", "Deploys go out on Tuesdays."),
        ("The staging database is called db-legacy.", "The staging server is called kronos."),
        ("", "Use tabs."),
        ("Worker 3 uses port 9001.", "Worker 4 uses port 9002."),
        ("Worker 3 is flaky.", "Worker 4 is flaky."),
        ("Queue A is drained by 4 workers.", "Queue B is drained by 4 workers."),
        ("Queue A of the clinic is drained by 4 workers.", "Queue B of the clinic is drained by 9 workers."),
        (
            "Production of the clinic is hosted at Fly, in Amsterdam.",
            "Staging of the clinic is hosted at Fly, in Amsterdam.",
        ),
        ("Deploy from main at noon on Tuesday.", "Deploy from main at noon on Thursday."),
        ("In web/ use tabs, not spaces.", "In api/ use spaces, not tabs."),
    ],
)
def test_different_things_are_neither(one: str, other: str) -> None:
    assert not same(one, other)
    assert not opposed(one, other)


def test_of_texts_that_say_the_same_the_last_is_distinct() -> None:
    texts = ["Use tabs in Makefiles.", "Use tabs, not spaces.", "Makefiles use tabs, always.", "Use tabs in Makefiles."]
    assert comparison.distinct(texts) == [1, 3]
