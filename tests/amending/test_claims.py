"""The user's word against a claim: what it changes, that it holds, and that it can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoria.amending import claims
from memoria.base import failpoints
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import clock, locks
from memoria.ground.errors import ExpectedError
from memoria.statements.keeper import Keeper
from memoria.wiki.article import Claim
from wiki_home import PORT, PORT_PAGE, WikiHome, claim, entry, page

OLD, NEW = "The port of the listener is 8080", "The port of the listener is 9090"


@pytest.fixture
def wiki() -> WikiHome:
    made = WikiHome()
    made.log(PORT)
    made.compile([PORT_PAGE], "--force")
    return made


def digest(text: str) -> str:
    return Claim(text, ()).digest


def said(wiki: WikiHome) -> list[Entry]:
    daily = DailyLog.of(wiki.home.paths)
    return [entry for day in daily.days() for entry in daily.entries(day) if entry.model == "put-right"]


def stated(wiki: WikiHome) -> set[str]:
    with Keeper.at(wiki.home) as keeper:
        return {fact.content for fact in keeper.store.facts()}


def test_a_claim_that_is_put_right_cites_the_users_word_and_the_old_one_is_history(wiki: WikiHome) -> None:
    claims.correct(wiki.home, "concepts/port", digest(OLD), f"{NEW}.")
    now, _, past = wiki.text("concepts/port").partition("## History")
    (word,) = said(wiki)
    assert f"{NEW}. [[{word.source}" in now
    assert OLD not in now
    assert "The port of the listener is 8080" in past
    assert word.source in past
    assert f"{NEW}." in stated(wiki)
    assert word.project_key == PORT.project_key


def test_the_users_word_is_not_compiled_again_and_no_model_is_asked(wiki: WikiHome) -> None:
    wiki.prompts.clear()
    claims.correct(wiki.home, "concepts/port", digest(OLD), NEW)
    claims.retire(wiki.home, "concepts/port", digest("It is the listener"), "There is no listener any more.")
    before = wiki.text("concepts/port")
    wiki.compile([])
    assert not wiki.prompts
    assert wiki.text("concepts/port") == before


@pytest.mark.parametrize("day", [16, 30])
def test_no_later_compile_reverts_the_users_word(wiki: WikiHome, day: int) -> None:
    with clock_at("2026-11-20T10:00:00+00:00"):
        claims.correct(wiki.home, "concepts/port", digest(OLD), NEW)
    wiki.log(entry("b2", day, context="The port of the listener is 8080, as Claude found.", title="Port again"))
    wiki.compile([page("port", claim(OLD, "b2", supersedes=NEW))], "--force")
    now = wiki.text("concepts/port").partition("## History")[0]
    assert NEW in now
    assert OLD not in now


def test_a_newer_word_of_the_user_replaces_it(wiki: WikiHome) -> None:
    with clock_at("2026-11-20T10:00:00+00:00"):
        claims.correct(wiki.home, "concepts/port", digest(OLD), NEW)
    newest = "The port of the listener is 7070"
    wiki.log(entry("b2", 28, context=f"{newest}.", title="Port again", learned=(("correction", f"{newest}."),)))
    wiki.compile([page("port", claim(newest, "b2", supersedes=NEW))], "--force")
    now, _, past = wiki.text("concepts/port").partition("## History")
    assert newest in now
    assert NEW in past


def test_a_retired_claim_is_history_with_the_users_reason(wiki: WikiHome) -> None:
    claims.retire(wiki.home, "concepts/port", digest(OLD), "The listener reads it from the environment.")
    now, _, past = wiki.text("concepts/port").partition("## History")
    (word,) = said(wiki)
    assert OLD not in now
    assert OLD in past
    assert f"Why: The listener reads it from the environment. [[{word.source}" in past


def test_a_removed_claim_leaves_no_trace_and_does_not_come_back(wiki: WikiHome) -> None:
    claims.remove(wiki.home, "concepts/port", digest(OLD))
    assert "8080" not in wiki.text("concepts/port")
    assert not said(wiki)
    wiki.compile([PORT_PAGE], "--all", "--force")
    assert "8080" not in wiki.text("concepts/port")


@pytest.mark.parametrize("way", ["correct", "retire", "remove"])
def test_undo_takes_everything_back(wiki: WikiHome, way: str) -> None:
    wiki.log(entry("c3", 17, title="Port", context="x", learned=(("fact", f"{OLD}."),)))
    wiki.compile([page("other", claim(OLD, "c3"), title="Other")], "--force")
    before, facts = wiki.files(), stated(wiki)
    more = {"correct": (NEW,), "retire": ("Because.",), "remove": ()}[way]
    getattr(claims, way)(wiki.home, "concepts/port", digest(OLD), *more)
    assert f"{OLD}." not in stated(wiki)
    pages = [text.decode() for name, text in wiki.files().items() if name.startswith("concepts/")]
    assert len(pages) == 2
    assert not any(OLD in text.partition("## History")[0] for text in pages)
    assert wiki.undo() == 0
    assert wiki.files() == before
    assert stated(wiki) == facts
    assert not said(wiki)
    with Keeper.at(wiki.home) as keeper:
        assert not [past for past in keeper.store.taken_back().values() if past.content == OLD]
    wiki.compile([])
    assert wiki.files() == before


def test_what_cannot_be_done_is_said_and_changes_nothing(wiki: WikiHome) -> None:
    before = wiki.files()
    for ident, text, reason in (
        ("00000000", NEW, "no longer makes this claim"),
        (digest(OLD), "  ", "needs words"),
        (digest(OLD), OLD, "already"),
        (digest(OLD), "long " * 200, "at most"),
    ):
        with pytest.raises(ExpectedError, match=reason):
            claims.correct(wiki.home, "concepts/port", ident, text)
    with locks.held(Path(wiki.home.paths.compile_lock)), pytest.raises(ExpectedError, match="compile is running"):
        claims.correct(wiki.home, "concepts/port", digest(OLD), NEW)
    with pytest.raises(ExpectedError, match="no such article"):
        claims.remove(wiki.home, "concepts/nope", digest(OLD))
    assert wiki.files() == before
    assert not said(wiki)


def test_a_secret_in_the_users_word_is_not_written(wiki: WikiHome) -> None:
    secret = "ghp_" + "a8B3c9D2e7F1g6H5i4J0k8L3m9N2o7P1q6R5"  # not a key
    claims.correct(wiki.home, "concepts/port", digest(OLD), f"The listener needs the token {secret}")
    daily = DailyLog.of(wiki.home.paths)
    assert all(secret not in text for text in (wiki.text("concepts/port"), *map(daily.text, daily.days())))


def test_a_claim_that_only_gets_other_words_keeps_its_sources_and_has_no_history(wiki: WikiHome) -> None:
    claims.correct(wiki.home, "concepts/port", digest(OLD), "The port of the listener is: 8080.")
    text = wiki.text("concepts/port")
    assert "The port of the listener is: 8080." in text
    assert f"{PORT.source}|" in text
    assert "History" not in text


def test_a_kill_after_the_word_was_said_loses_nothing(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(name: str) -> None:
        if name == "correction.said":
            raise Killed

    monkeypatch.setattr(failpoints, "reached", kill)
    with pytest.raises(Killed):
        claims.correct(wiki.home, "concepts/port", digest(OLD), NEW)
    monkeypatch.undo()
    assert OLD in wiki.text("concepts/port")
    assert NEW in stated(wiki)  # it waits for the next compile as what the user said


@contextmanager
def clock_at(moment: str) -> Iterator[None]:
    now = clock.parse(moment)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: now)
        yield
