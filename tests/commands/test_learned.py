from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from facts import BLOG, SHOP, a_fact
from home_of import run
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.commands import learned, why
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.statements.fact import Ending
from memoria.statements.keeper import Keeper


@pytest.fixture
def home(tmp_path: Path) -> Home:
    one = Home(Settings.load(), Paths(str(tmp_path / "memoria")), Zone("UTC"))
    with Keeper.at(one) as keeper:
        tuesdays = a_fact("Deploys go out on Tuesdays.", "operational", project=BLOG)
        keeper.take([a_fact("Use pnpm, not npm.", "correction"), tuesdays])
        keeper.take([a_fact("Use pnpm, not npm.", "correction", day=1, project=BLOG)])
    return one


def told(home: Home, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run(learned, home, "--json", *words) == 0
    return json.loads(capsys.readouterr().out)


def test_facts_are_edited_promoted_and_deleted(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(learned, home, "list", "pnpm") == 0
    ident = capsys.readouterr().out.split()[0]
    said_of = {("edit", "Use", "bun."): "Use bun.", ("promote",): "everywhere", ("delete",): f"deleted: {ident}"}
    for (action, *words), said in said_of.items():
        assert run(learned, home, action, ident, *words) == 0
        assert said in capsys.readouterr().out
    assert "bun" not in "".join(path.read_text() for path in Path(home.paths.daily).glob("*.md"))
    (left,) = told(home, capsys)
    with Keeper.at(home) as keeper:
        keeper.take([], endings=[Ending(left["id"], clock.now(), "user")])
    found = [[fact["content"] for fact in told(home, capsys, "list", "tuesday", *more)] for more in ((), ("--ended",))]
    assert found == [[], ["Deploys go out on Tuesdays."]]
    assert run(learned, home, "list", "--ended") == 0
    assert ", ended)" in capsys.readouterr().out


def test_an_edit_changes_log_page_and_what_waits_for_the_server_and_holds_no_secret(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ident = told(home, capsys, "list", "--kind", "correction")[0]["id"]
    monkeypatch.setenv("MEMORY_API_URL", "http://127.0.0.1:9")
    home = Home(Settings.load(), home.paths, home.zone)
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    assert run(learned, home, "edit", ident, "The", "bucket", "takes", key) == 0
    assert "`memoria sync`" in capsys.readouterr().err
    with Keeper.at(home) as keeper:
        log = keeper.lines.daily.path(home.zone.day(keeper.get(ident).time)).read_text()
        page = Path(home.paths.page, f"{SHOP}.md").read_text()
    for text in (log, page):
        assert "The bucket takes" in text
        assert key not in text


def test_what_cannot_be_done_is_said_and_changes_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    before = told(home, capsys)
    ident = before[0]["id"]
    for words, reason in (
        (("delete", ident, "l-nothing"), "no learned fact 'l-nothing'"),
        (("promote", ident, "l-nothing"), "no learned fact 'l-nothing'"),
        (("edit", "l-nothing", "words"), "no learned fact 'l-nothing'"),
        (("edit", ident, "word " * 200), "at most 600 characters"),
        (("edit", ident, " "), "a fact needs words"),
    ):
        with pytest.raises(ExpectedError, match=reason):
            run(learned, home, *words)
    assert told(home, capsys) == before


def test_why_says_of_a_statement_without_a_conversation_that_none_is_known(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    told, heard = a_fact("Use tabs.", quote="", session=""), a_fact("Use pnpm.", quote="no, pnpm here", session="")
    with Keeper.at(home) as keeper:
        keeper.take([told, heard])
    assert run(why, home, told.id) == 0
    assert "no conversation of this machine is known" in capsys.readouterr().out
    assert run(why, home, heard.id) == 0
    assert "learned from: no, pnpm here" in capsys.readouterr().out
    page = Path(home.paths.knowledge, "concepts", "tabs.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"# Tabs\n\n## Key Points\n\n- Use tabs. [[daily/{told.time:%Y-%m-%d}#^{told.id}|then]]\n")
    assert run(why, home, "use", "tabs") == 0
    assert "no conversation of this machine is known" in capsys.readouterr().out
