"""What search makes of words: terms, stems, what two texts share, names out of code, and cues of what is urgent."""

from __future__ import annotations

import pytest

from memoria.search import comparison, cues, identifiers, stemming, tokens, words
from memoria.search.stemming import porter
from memoria.search.words import stems
from places import TESTS

# -- tokens


@pytest.mark.parametrize(("text", "terms"), [
    ("The code is under the MIT licence", ["code", "mit", "licenc"]), ("do NOT push", ["push"]),
    ("Wir bauen auf dem Server", ["bauen", "server"]), ("Le serveur est dans la zone", ["serveur", "zone"]),
    ("c'est l'année", ["anne"]), ("Anna's", ["anna"]), ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
])  # fmt: skip
def test_stop_words_and_what_an_apostrophe_cuts_off_are_no_terms(text: str, terms: list[str]) -> None:
    assert tokens.of(text) == terms


def test_a_day_is_asked_for_by_its_day_month_and_year() -> None:
    assert set(tokens.of("21 November 2026")) <= set(tokens.of_day("2026-11-21"))
    assert set(tokens.of("2026-11-21")) & set(tokens.of_day("2026-11-21"))
    assert tokens.of_day("") == tokens.of_day("2026-13-01") == []


# -- words


def test_shares_are_between_none_and_all() -> None:
    small, large, none = {"a", "b"}, {"b", "c", "d"}, set[str]()
    assert words.jaccard(small, large) == 0.25
    assert words.overlap(small, large) == words.coverage(small, large) == 0.5
    assert words.coverage(large, small) == pytest.approx(1 / 3)
    for share in (words.jaccard, words.overlap, words.coverage):
        assert share(none, none) == share(none, large) == 0
        assert share(large, large) == 1


def test_what_is_too_long_is_cut_between_words_unless_that_leaves_less_than_half() -> None:
    greek, letters = "alpha beta, gamma", {6: "abcde…", 8: "abcdefg…"}
    assert [words.shorten(greek, limit) for limit in (17, 16, 13)] == [greek, "alpha beta…", "alpha beta…"]
    assert {limit: words.shorten("abcdefghij", limit) for limit in letters} == letters
    assert [words.shorten(text, 8) for text in ("ab cdefghij", "abcd efghij")] == ["ab cdef…", "abcd…"]


def test_titles_that_differ_in_endings_and_little_words_are_one() -> None:
    assert stems("The flush races") == stems("Flush race")
    assert stems("Flush worker") != stems("Flush work")


def test_each_stemmer_cuts_as_deep_as_its_use_allows() -> None:
    for word, stem in {"verwendungen": "verwend", "planned": "plan", "adds": "add", "walls": "wall", "access": "access",
                       "used": "used", "verified": "verif", "see": "see", "running": "run"}.items():  # fmt: skip
        assert stemming.without_ending(word) == stem
    assert stemming.porter("generation") == stemming.porter("general") == "gener"
    published = (TESTS / "fixtures" / "porter.txt").read_text("utf-8").split()
    assert [*map(porter, published[::2])] == published[1::2]
    assert stemming.without_ending("generation") != stemming.without_ending("general")


# -- comparison


def same(one: str, other: str) -> bool:
    return comparison.same(comparison.words(one), comparison.words(other))


@pytest.mark.parametrize(("one", "other"), [
    ("Use tabs in Makefiles.", "Makefiles use tabs, always."),
    ("Never commit directly to main; open a pull request.", "Do not commit to main directly, open pull requests."),
    ("The user prefers short functions.", "I prefer short functions in this codebase"),
    ("Tests need the emulator running.", "The emulator needs to be running for tests."),
    ("Bitte keine Emojis in der Dokumentation", "In der Dokumentation keine Emojis."),
])  # fmt: skip
def test_the_same_said_otherwise_is_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(("one", "other"), [
    ("Use tabs, not spaces.", "Use spaces, not tabs."), ("Use pnpm instead of npm.", "Use npm instead of pnpm."),
    ("Write helper classes in tests.", "Don't write helper classes in tests."),
    ("In tests write helper classes.", "Never in tests write helper classes."),
    ("Wir nutzen Poetry, nicht pip.", "Wir nutzen pip, nicht Poetry."),
    ("The API listens on port 8080.", "The API listens on port 9090."),
    ("Worker 3 uses port 9001.", "Worker 3 uses port 9005."), ("The timeout is 30s.", "The timeout is 60s."),
    ("Use two spaces for indentation, not tabs.", "Use tabs for indentation."),
])  # fmt: skip
def test_the_opposite_is_no_duplicate(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize(("one", "other"), [
    ("Use tabs in Makefiles.", "Deploys go out on Tuesdays."),
    ("The staging database is called db-legacy.", "The staging server is called kronos."), ("", "Use tabs."),
    ("Worker 3 uses port 9001.", "Worker 4 uses port 9002."), ("Worker 3 is flaky.", "Worker 4 is flaky."),
    ("Queue A is drained by 4 workers.", "Queue B is drained by 4 workers."),
    ("Queue A of the clinic is drained by 4 workers.", "Queue B of the clinic is drained by 9 workers."),
    ("Production of the clinic is hosted at Fly, in Rome.", "Staging of the clinic is hosted at Fly, in Rome."),
    ("Builds upload reports to staging.", "Builds upload reports to staging, never logs, traces, dumps or cores."),
    ("Deploy from main at noon on Tuesday.", "Deploy from main at noon on Thursday."),
    ("In web/ use tabs, not spaces.", "In api/ use spaces, not tabs."),
    ("Run the tests before a commit.", "Run the tests after a commit."),
    ("No, no tests.", "`mise run test` runs the unit tests before each commit."),
])  # fmt: skip
def test_different_things_are_not_the_same(one: str, other: str) -> None:
    assert not same(one, other)


def test_of_texts_that_say_the_same_the_last_is_distinct() -> None:
    texts = ["Use tabs in Makefiles.", "Use tabs, not spaces.", "Makefiles use tabs, always.", "Use tabs in Makefiles."]
    assert comparison.distinct(texts) == [1, 3]


# -- identifiers


@pytest.mark.parametrize(("text", "names"), [
    ("see scripts/memoria/flush.py and a/b.py", ["scripts/memoria/flush.py", "a/b.py"]),
    ("the probe asks /health, the config is ~/.memoria/settings", ["/health", "~/.memoria/settings"]),
    ("`uv run pytest` with --no-cov", ["uv run pytest", "--no-cov"]),
    ("flush_session calls parseUrl and SQLite", ["flush_session", "parseUrl", "SQLite"]),
    ("MAX_LINES at most", ["MAX_LINES"]),
    ("@types/node and setup.cfg", ["@types/node", "setup.cfg"]), ("read and/or write", []), ("CI/CD", []),
    ("see https://example.org/page", []), ("Is it done? Yes.", []),
])  # fmt: skip
def test_names_in_prose(text: str, names: list[str]) -> None:
    assert identifiers.in_prose(text) == names


def test_a_called_name_in_code_keeps_its_arguments() -> None:
    assert identifiers.in_code(["def load(path):", "x = a_b(raw, True)"]) == ["load(path)", "a_b(raw, True)"]


# -- cues


@pytest.mark.parametrize(("said", "kind"), [
    ("No, use tabs in Makefiles.", "correction"), ("Nein, die Tests laufen mit pnpm.", "correction"),
    ("That's wrong, the port is 9090.", "correction"), ("Never push to main on a Friday.", "preference"),
    ("Schreib Commits immer auf Englisch.", "preference"), ("From now on ask before you deploy.", "preference"),
    ("We decided to keep carts in Postgres.", "decision"), ("Wir haben uns für SQLite entschieden.", "decision"),
    ("Let's go with Redis for the queue.", "decision"),
])  # fmt: skip
def test_a_cue_says_what_a_sentence_states(said: str, kind: str) -> None:
    assert cues.stated(f"Please look at the importer. {said}") == [(said, kind)]


@pytest.mark.parametrize("said", [
    "Add a test for the importer.", "Should we always use uv for this?", "/compact never lose this",
    "See this:\n```\nnever call me directly\n```",
    "> we always use pnpm\nand what they wrote below it never counts", "<log>always failing</log>",
    f"never {'x ' * 800}",
])  # fmt: skip
def test_requests_questions_and_what_is_quoted_hold_no_cue(said: str) -> None:
    assert cues.stated(said) == []
