"""The user's word against a line of an article: what it changes, that it holds, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.amending import corrections
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.statements.fact import MAX_STORED, Fact
from memoria.statements.keeper import Keeper
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


def ident(wiki: WikiHome, text: str = OLD) -> str:
    return facts(wiki)[text].id


def facts(wiki: WikiHome, *, live: bool = True) -> dict[str, Fact]:
    with Keeper.at(wiki.home) as keeper:
        return {fact.content: fact for fact in keeper.store.facts(live=live)}


def put_right(wiki: WikiHome, text: str) -> None:
    with Keeper.at(wiki.home) as keeper:
        corrections.edit(wiki.home, keeper, ident(wiki), text)


def parts(wiki: WikiHome) -> tuple[str, str]:
    now, _, past = wiki.text(SLUG).partition("## History")
    return now, past


def test_a_line_that_is_put_right_shows_the_users_word_and_the_old_one_is_history(wiki: WikiHome) -> None:
    put_right(wiki, NEW)
    new = facts(wiki)[NEW]
    now, past = parts(wiki)
    assert f"- {NEW} [[daily/" in now
    assert f"#^{new.id}|" in now
    assert OLD not in now
    assert OLD in past
    assert f"Since then: {NEW}" in past


def test_the_users_word_is_not_compiled_again_and_no_model_is_asked(wiki: WikiHome) -> None:
    put_right(wiki, NEW)
    corrections.retire(wiki.home, ident(wiki, IS))
    before = wiki.text(SLUG)
    assert IS not in parts(wiki)[0]
    wiki.compile(lambda _: pytest.fail("asked"))
    assert wiki.text(SLUG) == before


def test_no_word_of_the_assistants_reverts_the_users(wiki: WikiHome) -> None:
    put_right(wiki, NEW)
    right = ident(wiki, NEW)
    wiki.log(entry("b2", 30, learned=stated("Claude found that the port of the listener is 8080.")))
    wiki.compile([placed("port", ends=[{"id": right, "by": "l-b20"}])])
    assert NEW in parts(wiki)[0]


def test_undo_takes_back_that_a_statement_was_retired(wiki: WikiHome, capsys: pytest.CaptureFixture[str]) -> None:
    before, known = wiki.text(SLUG), facts(wiki)
    corrections.retire(wiki.home, ident(wiki))
    assert OLD not in facts(wiki)
    assert OLD in parts(wiki)[1]
    assert wiki.undo() == 0
    assert "Undone: retired a statement; " in capsys.readouterr().out
    assert wiki.text(SLUG) == before
    assert facts(wiki) == known
    wiki.compile([placed("port")])
    assert wiki.text(SLUG) == before


def test_what_cannot_be_done_is_said_and_changes_nothing(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE_S", 0.01)
    known = ident(wiki)
    before = wiki.files()
    with locks.take(Path(wiki.home.paths.compile_lock)), pytest.raises(ExpectedError, match="compile is running"):
        corrections.retire(wiki.home, known)
    with pytest.raises(ExpectedError, match="no learned fact"):
        corrections.retire(wiki.home, "l-00000000")
    with pytest.raises(ExpectedError, match="at most"):
        put_right(wiki, "x" * (MAX_STORED + 1))
    assert wiki.files() == before
    put_right(wiki, "x" * MAX_STORED)
    corrections.retire(wiki.home, known)
    with pytest.raises(ExpectedError, match="already"):
        corrections.retire(wiki.home, known)
