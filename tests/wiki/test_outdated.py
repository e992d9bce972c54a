"""What no longer holds is told as current nowhere, from the moment on at which it ceased to hold."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from facts import SHOP, a_fact
from memoria.base.project import Project
from memoria.commands import learned
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks
from memoria.index.index import Index
from memoria.mcp import fact_tools
from memoria.mcp.calls import Session
from memoria.pages import refresh
from memoria.statements import lines
from memoria.statements.fact import Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.past import Past
from memoria.wiki import outdated, summary
from memoria.wiki.article import Article
from memoria.wiki.transaction import ChangedError, Transactions
from wiki_home import WikiHome, claim, entry, page

OLD, NEW = "Packages are installed with pnpm.", "Packages are installed with Bun."
SUMMARY = f"How the shop is built. {OLD}"


@pytest.fixture
def home() -> WikiHome:
    """A wiki with an article made of an entry with a fact."""
    home = WikiHome()
    fact = a_fact(OLD, "decision", session="s-a1")
    home.log(replace(entry("a1", decisions=(OLD, "Images are built with buildx.")), learned=(lines.learned(fact),)))
    claims = claim(OLD, "a1"), claim("Images are built with buildx.", "a1")
    assert home.compile([page("building", *claims, title="Building", summary=SUMMARY)]) == 0
    return home


def the_fact(keeper: Keeper) -> Fact:
    (fact,) = (fact for fact in keeper.store.facts(live=False) if fact.content == OLD)
    return fact


def waiting(home: WikiHome) -> list[str]:
    with closing(Ledger.of(home.home.paths)) as ledger:
        DailyLog.of(home.home.paths).refresh(ledger)
        return [booked.id for booked in ledger.entries(waiting=True)]


def told(home: WikiHome) -> list[str]:
    """Where the old statement is told as current."""
    paths = home.home.paths
    article = home.wiki.get("concepts/building")
    assert article
    places = {"claims": " ".join(each.text for each in article.claims), "summary": article.summary}
    pages = [Path(paths.knowledge, "index.md"), Path(paths.page, f"{SHOP}.md")]
    places |= {path.name: path.read_text() for path in pages if path.exists()}
    with Index(paths.index) as index:
        for kind in ("entry", "fact"):
            hits = index.search("packages installed with pnpm", kinds=(kind,))
            places[f"search for {kind}"] = " ".join(passage for hit in hits for passage in hit.passages)
    return [place for place, text in places.items() if "pnpm" in text]


def test_a_summary_in_other_words_goes_with_the_last_claim_that_it_told(home: WikiHome) -> None:
    (known,) = (article for article in home.wiki.articles() if article.name == "building")
    known.summarise("The tool for that is pnpm.")
    for claim_ in [each for each in known.claims if "pnpm" not in each.text]:
        known.cut(claim_)
    with Keeper.at(home.home) as keeper:
        fact = the_fact(keeper)
    past = Past(OLD, "2026-11-20", NEW, projects=fact.projects, sources=(entry("a1").source,))
    assert outdated.take_out(known, [past]) > 0
    assert known.summary == summary.NOTHING


def test_what_was_superseded_is_told_as_current_nowhere(home: WikiHome) -> None:
    with Keeper.at(home.home) as keeper:
        refresh.renew(home.home, keeper)
        assert len(told(home)) == 6, "the premise: it is told everywhere"
        old = the_fact(keeper)
        keeper.take([a_fact(NEW, "decision", day=2, supersedes=(old.id,))])
        assert refresh.renew(home.home, keeper) == ["concepts/building"]
        assert keeper.store.past() == {}
    assert told(home) == []
    text = home.text("concepts/building")
    assert f"- Until 2026-11-18: {OLD}" in text
    assert "Images are built with buildx." in text
    assert "How the shop is built." in text
    assert waiting(home) == ["a1"], "the next compile works out the rest"


def test_the_compile_is_told_what_no_longer_holds_and_does_not_bring_it_back(home: WikiHome) -> None:
    with Keeper.at(home.home) as keeper:
        keeper.take([], endings=[Ending(the_fact(keeper).id, the_fact(keeper).time + timedelta(days=1), "user")])
        refresh.renew(home.home, keeper)
    assert home.compile([page("building", claim(OLD, "a1"))]) == 0
    assert f"no longer holds: {OLD}" in home.prompts[-1].text
    assert f"learned (decision): {OLD}" not in home.prompts[-1].text
    assert told(home) == []
    assert waiting(home) == []


def test_a_compile_that_runs_meanwhile_does_it_when_the_next_begins(home: WikiHome) -> None:
    with Keeper.at(home.home) as keeper:
        keeper.take([a_fact(NEW, "decision", day=2, supersedes=(the_fact(keeper).id,))])
        with locks.held(Path(home.home.paths.compile_lock)):
            assert refresh.renew(home.home, keeper) == []
        assert len(keeper.store.past()) == 1
    assert home.compile([]) == 0
    assert told(home) == []


def test_undo_brings_the_articles_back(home: WikiHome) -> None:
    before = home.text("concepts/building")
    with Keeper.at(home.home) as keeper:
        keeper.take([a_fact(NEW, "decision", day=2, supersedes=(the_fact(keeper).id,))])
        refresh.renew(home.home, keeper)
    assert home.undo() == 0
    assert home.text("concepts/building") == before


@pytest.mark.parametrize("action", ["edit", "delete"])
def test_a_persons_change_of_a_fact_reaches_the_articles_and_says_so(
    home: WikiHome, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Keeper.at(home.home) as keeper:
        ident = the_fact(keeper).id
    assert home.run(learned, action, ident, *([NEW] if action == "edit" else [])) == 0
    assert "Taken out of 1 article: concepts/building." in (said := capsys.readouterr().err)
    assert "The next compile reads daily/2026-11-16#^e-a1 again." in said
    assert told(home) == []
    log = DailyLog.of(home.home.paths).text(date(2026, 11, 16))
    assert log.count(f"- {NEW}\n") == (action == "edit"), "what the entry says besides the fact is changed too"
    assert "- Images are built with buildx.\n" in log
    assert (OLD in home.text("concepts/building")) == (action == "edit"), "what was deleted is no history either"
    assert waiting(home) == ["a1"]


@pytest.mark.parametrize("action", ["update", "forget"])
def test_an_mcp_clients_change_of_a_fact_reaches_the_articles_and_says_so(home: WikiHome, action: str) -> None:
    with Keeper.at(home.home) as keeper:
        fact = the_fact(keeper)
        keeper.write(replace(fact, origin="assistant"))  # over MCP, only those can be reworded
    session = Session(home.home, Project("shop", SHOP), "s-9")
    tool = {"update": fact_tools.update, "forget": fact_tools.forget}[action]
    said = tool(session, {"id": fact.id, "content": NEW})
    assert "Taken out of 1 article: concepts/building." in said
    assert "The next compile reads daily/2026-11-16#^e-a1 again." in said
    assert told(home) == []


def test_the_page_does_not_repeat_it_of_the_last_sessions(home: WikiHome) -> None:
    fact = a_fact(OLD, "decision", session="s-a2", day=1)
    context = f"The images were built. {OLD}"
    home.log(replace(entry("a2", 17, context=context), learned=(lines.learned(fact),)))
    assert waiting(home) == ["a2"]
    page = Path(home.home.paths.page, f"{SHOP}.md")
    with Keeper.at(home.home) as keeper:
        refresh.renew(home.home, keeper)
        assert context in page.read_text()
        for fact in keeper.store.facts():
            keeper.take([], endings=[Ending(fact.id, fact.time + timedelta(days=2), "user")])
        refresh.renew(home.home, keeper)
    assert "The images were built." in page.read_text()
    assert "pnpm" not in page.read_text()


@pytest.mark.parametrize("new", [NEW, ""])
def test_a_line_edited_by_hand_reaches_the_articles(home: WikiHome, new: str) -> None:
    with Keeper.at(home.home) as keeper:
        the_fact(keeper)
    path = DailyLog.of(home.home.paths).path(date(2026, 11, 16))
    rows = path.read_text().split("\n")
    path.write_text("\n".join(row.replace(OLD, new) for row in rows if new or "- [decision]" not in row))
    with Keeper.at(home.home) as keeper:
        assert refresh.renew(home.home, keeper) == ["concepts/building"]
    assert "claims" not in told(home)
    assert waiting(home) == ["a1"]


def test_a_missing_daily_log_takes_nothing_out_of_the_wiki(home: WikiHome) -> None:
    with Keeper.at(home.home) as keeper:
        the_fact(keeper)
    DailyLog.of(home.home.paths).path(date(2026, 11, 16)).unlink()
    with Keeper.at(home.home) as keeper:
        assert refresh.renew(home.home, keeper) == []


def test_a_page_that_a_person_saves_meanwhile_is_looked_at_again(home: WikiHome) -> None:
    past = [Past(OLD, "2026-11-18", projects=(SHOP,))]
    commit, failures = Transactions.commit, iter([True, False])

    def racing(self: Transactions, *given: object) -> str:
        if next(failures):
            home.edit("concepts/building", "buildx", "kaniko")
            raise ChangedError(["concepts/building.md"])
        return commit(self, *given)  # type: ignore[arg-type]

    with Index(home.home.paths.index) as index, patch.object(Transactions, "commit", racing):
        assert outdated.settle(home.home.paths, index, past, clock.now()) == ["concepts/building"]
    assert "kaniko" in home.text("concepts/building")
    assert {"claims", "summary", "index.md"}.isdisjoint(told(home))


def an_article(*claims: tuple[str, str], summary: str = "") -> Article:
    article = Article.new("concepts/x", "X", summary, date(2026, 11, 16))
    for text, source in claims:
        article.section("Key Points").add(f"- {text} [[{source}]]")
    return article


SOURCE = "daily/2026-11-16#^e-a1"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Installing packages takes a minute.", SOURCE),
        ("Packages are installed with Bun, which replaced pnpm.", SOURCE),
        (OLD, "daily/2026-11-20#^e-b1"),
        ("Worker 4 uses port 9002.", SOURCE),
        ("Staging of the clinic is hosted at Fly, in Amsterdam.", SOURCE),
    ],
)
def test_claims_that_say_something_else_or_are_newer_stay(text: str, source: str) -> None:
    article = an_article((text, source))
    past = [
        Past(OLD, "2026-11-18", NEW, sources=(SOURCE,)),
        Past("Worker 3 uses port 9001.", "2026-11-18", sources=(SOURCE,)),
        Past("Production of the clinic is hosted at Fly, in Amsterdam.", "2026-11-18", sources=(SOURCE,)),
    ]
    assert outdated.take_out(article, past) == 0
    assert [each.text for each in article.claims] == [text]


def test_a_claim_of_the_same_entry_in_other_words_goes() -> None:
    article = an_article(("All packages of the shop are installed with `pnpm`.", SOURCE), summary=OLD)
    assert outdated.take_out(article, [Past(OLD, "2026-11-18", NEW, sources=(SOURCE,))]) == 2
    assert article.claims == []
    assert article.summary == summary.NOTHING
    assert article.render().count("pnpm") == 1
