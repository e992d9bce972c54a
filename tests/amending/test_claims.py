"""The user's word against a line of an article: what it changes, that it holds, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.amending import corrections
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.article import Claim
from wiki_home import IS, PORT, PORT_PAGE, WikiHome, entry, placed, stated
from wiki_home import LISTENS as OLD

NEW = "The port of the listener is 9090."
SLUG = "concepts/port"


@pytest.fixture
def wiki() -> WikiHome:
    made = WikiHome()
    made.log(PORT)
    made.compile([PORT_PAGE])
    return made


def digest(text: str) -> str:
    return Claim(text, ()).digest


def facts(wiki: WikiHome, *, live: bool = True) -> dict[str, Fact]:
    with Keeper.at(wiki.home) as keeper:
        return {fact.content: fact for fact in keeper.store.facts(live=live)}


def parts(wiki: WikiHome) -> tuple[str, str]:
    now, _, past = wiki.text(SLUG).partition("## History")
    return now, past


def test_a_line_that_is_put_right_shows_the_users_word_and_the_old_one_is_history(wiki: WikiHome) -> None:
    corrections.correct(wiki.home, SLUG, digest(OLD), NEW)
    new = facts(wiki)[NEW]
    now, past = parts(wiki)
    assert (new.origin, new.quote, new.project) == ("user", NEW, PORT.project_key)
    assert f"- {NEW} [[daily/" in now
    assert f"#^{new.id}|" in now
    assert OLD not in now
    assert OLD in past
    assert f"Since then: {NEW}" in past


def test_the_users_word_is_not_compiled_again_and_no_model_is_asked(wiki: WikiHome) -> None:
    corrections.correct(wiki.home, SLUG, digest(OLD), NEW)
    corrections.retire(wiki.home, SLUG, digest(IS), "There is no listener any more.")
    before = wiki.text(SLUG)
    wiki.compile(lambda _: pytest.fail("asked"))
    assert wiki.text(SLUG) == before


def test_no_word_of_the_assistants_reverts_the_users(wiki: WikiHome) -> None:
    corrections.correct(wiki.home, SLUG, digest(OLD), NEW)
    ident = facts(wiki)[NEW].id
    wiki.log(entry("b2", 30, learned=stated("Claude found that the port of the listener is 8080.")))
    wiki.compile([placed("port", ends=[{"id": ident, "by": "l-b20"}])])
    assert NEW in parts(wiki)[0]


def test_a_removed_line_leaves_no_trace_and_does_not_come_back(wiki: WikiHome) -> None:
    corrections.remove(wiki.home, SLUG, digest(OLD))
    assert "8080" not in wiki.text(SLUG)
    wiki.compile([placed("port")], "--all", "--force")
    assert "8080" not in wiki.text(SLUG)


@pytest.mark.parametrize("way", ["correct", "retire", "reason", "remove"])
def test_undo_takes_everything_back(wiki: WikiHome, way: str) -> None:
    before, known = wiki.text(SLUG), facts(wiki)
    more = {"correct": (NEW,), "reason": ("It is read from the environment now.",)}.get(way, ())
    getattr(corrections, "retire" if way == "reason" else way)(wiki.home, SLUG, digest(OLD), *more)
    assert OLD not in facts(wiki)
    assert wiki.undo() == 0
    assert wiki.text(SLUG) == before
    assert facts(wiki) == known
    wiki.compile([placed("port")])
    assert wiki.text(SLUG) == before


def test_what_cannot_be_done_is_said_and_changes_nothing(wiki: WikiHome) -> None:
    before = wiki.files()
    for ident, text, reason in (
        ("00000000", NEW, "no longer says this"),
        (digest(OLD), "  ", "needs words"),
        (digest(OLD), OLD, "already"),
        (digest(OLD), "long " * 200, "at most"),
    ):
        with pytest.raises(ExpectedError, match=reason):
            corrections.correct(wiki.home, SLUG, ident, text)
    with locks.held(Path(wiki.home.paths.compile_lock)), pytest.raises(ExpectedError, match="compile is running"):
        corrections.correct(wiki.home, SLUG, digest(OLD), NEW)
    with pytest.raises(ExpectedError, match="no such article"):
        corrections.remove(wiki.home, "concepts/nope", digest(OLD))
    assert wiki.files() == before


def test_a_line_that_only_gets_other_words_is_the_same_statement_without_a_history(wiki: WikiHome) -> None:
    corrections.correct(wiki.home, SLUG, digest(OLD), "The listener has the port 8080.")
    assert facts(wiki)["The listener has the port 8080."].id == "l-a10"
    assert "History" not in wiki.text(SLUG)
