"""Ten days of one project: facts that change, are corrected, edited by hand and deleted, and read right at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoria.commands import forget
from memoria.ground import markdown
from memoria.wiki.article import Article
from wiki_home import WikiHome, claim, entry, page

pytestmark = pytest.mark.slow

DAYS: list[tuple[Any, list[dict[str, Any]]]] = [
    (
        entry("d1", 10, context="The listener of the shop runs on port 8080; carts are kept in Redis."),
        [
            page("listener", claim("The listener of the shop runs on port 8080", "d1"), title="Listener",
                 related=("carts",)),
            page("carts", claim("Carts are kept in Redis", "d1"), title="Carts"),
        ],
    ),
    (
        entry("d2", 11, learned=[("preference", "Commit messages are short and imperative")]),
        [page("shop-preferences-and-conventions", claim("Commit messages are short and imperative", "d2"))],
    ),
    (  # the value changes, and the model forgets to say what it replaces
        entry("d3", 12, context="The listener of the shop runs on port 9090 now."),
        [page("listener", claim("The listener of the shop runs on port 9090", "d3"))],
    ),
    (  # the user corrects it
        entry("d4", 13, learned=[("correction", "No, the listener of the shop runs on port 8443")]),
        [page("listener", claim("The listener of the shop runs on port 8443", "d4",
                                supersedes="The listener of the shop runs on port 9090"))],
    ),
    (  # the assistant guesses again: a correction does not yield to that
        entry("d5", 14, context="It seems that the listener of the shop runs on port 9090."),
        [page("listener", claim("The listener of the shop runs on port 9090", "d5"))],
    ),
    (  # the same thing under another name, with a number nobody said
        entry("d6", 15, context="Carts expire after 7 days."),
        [page("the-carts", claim("Carts expire after 7 days", "d6"), claim("Carts hold 500 items", "d6"),
              title="Cart")],
    ),
    (  # the store moves
        entry("d7", 16, learned=[("decision", "Carts move from Redis to Postgres")]),
        [page("carts", claim("Carts are kept in Postgres, no longer in Redis", "d7",
                             supersedes="Carts are kept in Redis"))],
    ),
    (entry("d8", 17, context="Nothing new."), []),
    (  # what a person deleted is said by a new entry again: then it is news
        entry("d9", 18, context="Carts expire after 7 days, the user confirms."),
        [page("carts", claim("Carts expire after 7 days", "d9"))],
    ),
    (
        entry("d10", 19, context="Checkout reads carts and asks the listener."),
        [page("checkout", claim("Checkout reads carts and asks the listener", "d10"), kind="connection",
              title="Checkout", related=("carts", "listener"))],
    ),
]  # fmt: skip


def by_hand(wiki: WikiHome, day: int) -> None:
    """What a person does in the evening of some days."""
    if day == 2:
        wiki.edit("concepts/listener", "# Listener", "# The front door")
        wiki.edit("concepts/listener", "title: Listener", "title: The front door\nowner: Mara")
    if day == 6:
        wiki.edit("concepts/carts", "- Carts expire after 7 days [[daily/2026-11-15#^e-d6|15 Nov]]\n", "")
        wiki.edit("concepts/carts", "## Related", "## Open questions\n\nWho empties them?\n\n## Related")


@pytest.fixture
def wiki() -> WikiHome:
    home = WikiHome()
    for number, (each, answer) in enumerate(DAYS, 1):
        home.log(each)
        home.compile(answer)
        by_hand(home, number)
    return home


def article(wiki: WikiHome, slug: str) -> Article:
    found = wiki.wiki.get(slug)
    assert found
    return found


def test_each_fact_has_one_current_value_and_the_old_ones_are_dated(wiki: WikiHome) -> None:
    listener = article(wiki, "concepts/listener")
    assert [claim.text for claim in listener.claims] == ["The listener of the shop runs on port 8443"]
    history = next(section for section in listener.sections if section.heading == "History")
    assert [row.split(" [[")[0] for row in history.rows if row] == [
        "- Until 2026-11-12: The listener of the shop runs on port 8080",
        "- Until 2026-11-13: The listener of the shop runs on port 9090",
    ]


def test_what_a_person_wrote_stands(wiki: WikiHome) -> None:
    assert article(wiki, "concepts/listener").title == "The front door"
    assert "owner: Mara" in wiki.text("concepts/listener")
    assert "## Open questions\n\nWho empties them?\n" in wiki.text("concepts/carts")
    assert "[[concepts/listener|The front door]]" in wiki.text("index")


def test_near_duplicates_went_into_one_article_and_inventions_into_none(wiki: WikiHome) -> None:
    assert wiki.wiki.slugs() == [
        "concepts/carts", "concepts/listener", "concepts/shop-preferences-and-conventions", "connections/checkout",
    ]  # fmt: skip
    assert [(claim.text, claim.sources) for claim in article(wiki, "concepts/carts").claims] == [
        ("Carts are kept in Postgres, no longer in Redis", ("daily/2026-11-16#^e-d7",)),
        ("Carts expire after 7 days", ("daily/2026-11-18#^e-d9",)),
    ]


def test_every_link_leads_somewhere_and_every_claim_has_a_source(wiki: WikiHome) -> None:
    pages = {path.removesuffix(".md") for path in wiki.files()}
    days = {f"daily/{path.stem}": path.read_text() for path in Path(wiki.home.paths.daily).glob("*.md")}
    for slug in wiki.wiki.slugs():
        found = article(wiki, slug)
        assert all(claim.sources for claim in found.claims)
        for link in markdown.links(wiki.text(slug)):
            if link.anchor:
                assert f"\n{link.anchor[1:]}\n" in days[link.target]
            else:
                assert link.target in pages | set(days)


def test_the_whole_story_compiled_again_changes_no_byte(wiki: WikiHome) -> None:
    before = wiki.files()
    wiki.compile([each for _, answer in DAYS for each in answer], "--all")
    assert wiki.files() == before


def test_the_whole_story_can_be_undone(wiki: WikiHome) -> None:
    wiki.undo("--steps", "4")
    assert "Carts are kept in Redis" in [claim.text for claim in article(wiki, "concepts/carts").claims]
    assert "Who empties them?" in wiki.text("concepts/carts")


def test_what_is_forgotten_in_the_end_is_gone_and_the_rest_reads_on(wiki: WikiHome) -> None:
    ident = "d9"
    assert any(f"^e-{ident}" in wiki.text(slug) for slug in wiki.wiki.slugs())
    assert wiki.run(forget, ident, "--as", "entry", "--yes") == 0
    for slug in wiki.wiki.slugs():
        assert f"^e-{ident}]]" not in wiki.text(slug)
    assert "Carts are kept in Postgres, no longer in Redis" in [c.text for c in article(wiki, "concepts/carts").claims]
    wiki.compile([each for _, answer in DAYS for each in answer], "--all")
    assert not any(f"^e-{ident}]]" in wiki.text(slug) for slug in wiki.wiki.slugs())
