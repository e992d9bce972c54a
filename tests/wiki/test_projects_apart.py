"""Two projects' claims never share a page, not even when their folders have one name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoria.base.settings import Settings
from memoria.base.visibility import Visibility
from memoria.capture.hook import Event
from memoria.index import sources
from memoria.index.index import Index
from memoria.recall import session_start
from memoria.statements.fact import GLOBAL
from memoria.statements.keeper import Keeper
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Owners, is_name, unquote
from wiki_home import WikiHome, entry, placed

ONE, TWO = "api-111111", "api-222222"
TABS, SPACES = "Indent with tabs in client code", "Indent with two spaces in client code"


@pytest.fixture
def home() -> WikiHome:
    home = WikiHome()
    known = {
        "/w/client1/api": {"key": ONE, "remote": "git.example.com/client1/api", "commit": ""},
        "/w/client2/api": {"key": TWO, "remote": "git.example.com/client2/api", "commit": ""},
    }
    Path(home.home.paths.projects).write_text(json.dumps({"folders": known, "aliases": {}}))
    return home


def both(home: WikiHome) -> None:
    home.log(
        entry("a1", project="api", project_key=ONE, learned=[("preference", TABS)]),
        entry("b1", 17, project="api", project_key=TWO, learned=[("preference", SPACES)]),
    )


def pages(home: WikiHome) -> dict[str, str]:
    return {path.stem: path.read_text() for path in Path(home.home.paths.knowledge, "concepts").glob("*.md")}


def test_two_projects_share_neither_a_call_nor_an_article_and_names_tell_them_apart(home: WikiHome) -> None:
    both(home)
    home.log(entry("a2", 18, project="api", project_key=ONE, learned=[("preference", "Client code has no tabs.")]))
    home.log(entry("b2", 18, project="api", project_key=TWO, learned=[("preference", "Client code has tabs in it.")]))
    home.compile([placed("conventions", title="Conventions")])
    found = pages(home)
    assert set(found) == {"conventions", "conventions-client2-api"}
    one, two = found["conventions"], found["conventions-client2-api"]
    assert [rule in page for page in (one, two) for rule in (TABS, SPACES)] == [True, False, False, True]
    assert f"project: api · {ONE}" in one
    assert "# Conventions (client2-api)" in two
    assert len(home.prompts) == 2
    assert not any(TABS in prompt.text and SPACES in prompt.text for prompt in home.prompts)


def test_a_mixed_page_of_0_1_0_stays_for_all_and_each_line_belongs_where_it_was_said(home: WikiHome) -> None:
    """It has both clients' rules, and no owner."""
    both(home)
    article = Article.new("concepts/api-conventions", "api: conventions", "How things are done.", entry("a1").day)
    article.add(Claim(TABS, ("daily/2026-11-16#^e-a1",)))
    article.add(Claim(SPACES, ("daily/2026-11-17#^e-b1",)))
    article.add(Claim("Reviews are on Tuesdays", ("daily/2026-11-16#^e-a1",)))
    article.add(Claim("Both run on Debian", ("daily/2026-11-16#^e-a1", "daily/2026-11-17#^e-b1")))
    section, number, _ = list(article.lines())[1]
    article.retire(section, number, "2026-11-18")
    article.section("Key Points").add("- a person's own line")
    path = home.wiki.path(article.slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    wrong = "- No day [[daily/2026-02-30#^e-a1]]\n- No month [[daily/2026-13-01#^e-a1]]\n"
    path.write_text(f"{article.render()}\n## Notes\n\n{wrong}")
    home.compile([])
    assert "project:" not in path.read_text().split("---")[1]
    with Keeper.at(home.home) as keeper:
        where = {fact.content: fact.projects for fact in keeper.store.facts()}
    assert where["Reviews are on Tuesdays"] == (ONE,), "what was said in a project is nobody else's"
    assert set(where["Both run on Debian"]) == {ONE, TWO}
    assert where["No day"] == (GLOBAL,)
    home.log(entry("a3", 19, project="api", project_key=ONE, learned=[("decision", "Both run on Debian stable.")]))
    home.compile([placed("api-conventions")])
    assert "Reviews are on Tuesdays" in home.prompts[-1].text
    assert SPACES not in home.prompts[-1].text
    assert "How things are done" not in home.prompts[-1].text, "a summary may tell any line"


def test_a_session_sees_its_own_project_and_what_is_for_all(home: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    both(home)
    home.compile([placed("tabs")])
    by_hand = Path(home.home.paths.knowledge, "concepts", "licences.md")
    by_hand.write_text("---\ntitle: Licences\n---\n\n# Licences\n\nClient code is under the MIT licence.\n")
    home.log(entry("a2", 18, project="api", project_key=ONE), entry("b2", 18, project="api", project_key=TWO))
    home.compile([])
    start = Event({"hook_event_name": "SessionStart", "session_id": "s9", "source": "startup", "cwd": "/elsewhere"})
    told = json.dumps(session_start.session_start(start, Settings.load(), home.home.paths))
    assert TABS not in told
    view = Visibility(Settings.load(), home.home.paths, TWO)
    with Index(home.home.paths.index) as index:
        sources.refresh(index, home.home.paths)
        found = {hit.path for hit in index.search("indent client code", view=view)}
    assert {"knowledge/concepts/client2-api.md", "knowledge/concepts/licences.md"} <= found
    assert "knowledge/concepts/api.md" not in found


def test_pages_and_titles_are_told_apart_by_what_their_project_is_called() -> None:
    taken = ["conventions", "api", "api-notes", "api-notes-client1-api", "n" * 79, "n" * 68 + "-client1-api"]
    owners = Owners({f"concepts/{name}": TWO for name in taken} | {"concepts/all": ""}, {ONE: "client1-api"}, {})
    wanted = {
        "all": "all", "conventions": "conventions-client1-api", "api": "client1-api", "api-notes": "client1-api-notes",
        "n" * 79: "n" * 69 + "-api-111111",
    }  # fmt: skip
    assert {name: owners.free_slug("concepts", name, ONE) for name in wanted} == {
        name: f"concepts/{found}" for name, found in wanted.items()
    }
    for name in ("client1-api", "api-111111", "api-111111-2"):
        owners.pages[f"concepts/conventions-{name}"] = TWO
    assert owners.free_slug("concepts", "conventions", ONE) == "concepts/conventions-api-111111-3"
    assert owners.free_slug("concepts", "conventions", "") == "concepts/conventions-general"
    titles = ["api: notes", "notes", "apis", "notes (general)", "twice", "twice (client1-api)"]
    found = [owners.distinct_title(title, ONE, titles) for title in ("API: notes", "Notes", "apis", "Twice", "Else")]
    assert found == ["client1-api: notes", "Notes (client1-api)", "apis (client1-api)", f"Twice ({ONE})", "Else"]
    assert owners.distinct_title("Notes", "", titles[:3]) == "Notes (general)"


def test_a_title_names_something_without_the_quotes_around_it() -> None:
    names = ["", "42", "v2", "x", "é", "X 1", "deadbeef1", "123e4567-e89b-12d3-a456-426614174000", "C++", "42 things"]
    assert list(map(is_name, names)) == [False, False, False, False, True, True, False, False, False, True]
    titles = [' "Port" ', "„Der Port“", "the 'port'", "'port", "port"]
    assert list(map(unquote, titles)) == ["Port", "Der Port", "the 'port'", "'port", "port"]
