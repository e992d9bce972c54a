"""A compile's answer names ids; code renders the lines, and what an answer cannot name it cannot change."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Learned
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.index.index import Index
from memoria.models import tasks
from memoria.statements.fact import Ending
from memoria.statements.keeper import Keeper
from memoria.wiki.article import Article
from memoria.wiki.settle import Settle
from memoria.worker import request
from wiki_home import IS, LISTENS, PORT_PAGE, WikiHome, answer_of, entry, placed, stated

SLUG = "concepts/port"
TIDES = ("Tides are computed from harmonics.", "Harmonics are summed by `tide.py`.")


def slugs(wiki: WikiHome) -> list[str]:
    return wiki.wiki.slugs()


def replaces(ident: str) -> str:
    """Return the row below a statement that says which one it replaces."""
    return f'  <!-- learned {{"origin": "user", "supersedes": ["{ident}"]}} -->'


BY_TIDE = Learned("decision", "The port of the listener follows the tide.", "l-b20", (replaces("l-a10"),))


def end(wiki: WikiHome, old: str, new: str) -> None:
    """End a statement because another holds, as a flush does."""
    with Keeper.at(wiki.home) as keeper:
        keeper.take([], endings=[Ending(old, clock.now(), "user", new)])
        Settle(wiki.home, keeper, Index(wiki.home.paths.index)).run()


def refused(wiki: WikiHome) -> list[str]:
    return [text for _, _, _, text in wiki.ledger(lambda ledger: ledger.notes("refused"))]


def test_what_is_left_out_stands_on_the_projects_own_page_under_its_kind(wiki: WikiHome) -> None:
    wiki.log(entry("b2", 17, learned=stated("We deploy on Mondays.", kind="decision")))
    wiki.compile(lambda _: {"places": []})
    assert slugs(wiki) == ["concepts/shop"]
    assert "## Behaviour\n\n- The port" in wiki.text("concepts/shop")
    assert "## Decisions\n\n- We deploy on Mondays. [[" in wiki.text("concepts/shop")


def test_one_statement_alone_founds_no_article_and_moves_when_a_second_comes(wiki: WikiHome) -> None:
    wiki.log(entry("b2", 17, learned=stated(TIDES[0])))
    wiki.compile([PORT_PAGE | {"ids": ["l-a10", "l-a11"]}, placed("tides", "l-b20", title="Tides")])
    assert "## Tides\n\n- Tides are computed" in wiki.text("concepts/shop")
    wiki.log(entry("c3", 18, learned=stated(TIDES[1])))
    wiki.compile([placed("tides", "l-c30", title="Tides")])
    assert all(text in wiki.text("concepts/tides") for text in TIDES)
    assert "# shop\n\nNothing of this stands here any longer.\n" in wiki.text("concepts/shop"), "it still holds"


def test_the_projects_page_says_in_its_summary_which_topics_it_has_now(wiki: WikiHome) -> None:
    for day, text, topic in ((16, TIDES[0], "Tides"), (17, "We deploy on Mondays.", "Deploys"), (18, IS, "Ports")):
        wiki.log(entry(f"b{day}", day, learned=stated(text)))
        wiki.compile([placed(topic.lower(), f"l-b{day}0", title=topic)])
    assert "\n# shop\n\nTides, Deploys, Ports.\n" in wiki.text("concepts/shop")


@pytest.mark.parametrize("file", ["My shop", "team/rules of the (old) shop"])
def test_an_article_whose_file_a_person_renames_is_continued(wiki: WikiHome, file: str) -> None:
    wiki.compile(lambda _: {"places": []})
    page = Path(wiki.home.paths.knowledge, "concepts", f"{file}.md")
    page.parent.mkdir(exist_ok=True)
    wiki.wiki.path("concepts/shop").rename(page)
    wiki.log(entry("b2", 17, learned=stated(*TIDES)))
    wiki.compile([placed(page.stem, "l-b20", summary="Tides are computed.")])
    assert slugs(wiki) == [f"concepts/{file}"]
    assert all(text in wiki.text(f"concepts/{file}") for text in (LISTENS, *TIDES, "# shop\n\nTides are computed.\n"))


def test_the_articles_of_a_project_go_on_when_its_repository_is_renamed(wiki: WikiHome) -> None:
    wiki.compile(lambda _: {"places": []})
    Path(wiki.home.paths.projects).write_text(json.dumps({"aliases": {"shop-1a2b3c": "store-4d5e6f"}}))
    texts = ("The port of the listener is 9090.", TIDES[0])
    wiki.log(entry("b2", 17, learned=stated(*texts), project="store", project_key="store-4d5e6f"))
    end(wiki, "l-a10", "l-b20")
    wiki.compile(lambda _: {"places": []})
    assert slugs(wiki) == ["concepts/shop"]
    now, _, past = wiki.text("concepts/shop").partition("## History")
    assert all(text in now for text in texts)
    assert f"Since then: {texts[0]}" in past


def test_a_thing_that_is_renamed_is_found_by_both_names_and_a_persons_title_stays(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    for day, title in ((17, "Door"), (18, "Gate")):
        wiki.log(entry(f"b{day}", day, learned=stated(f"The listener is called the {title} since {day}.")))
        wiki.compile([placed("port", title=title, aliases=["Door"])])
        article = Article(SLUG, wiki.text(SLUG))
        assert (article.title, article.aliases) == ("Door", ["Port"]), "by one model once, then it is settled"
        assert article.last_day == f"2026-11-{day}"
    wiki.log(entry("c3", 19, learned=stated(*TIDES)))
    wiki.compile([placed("tides", "l-c30", "l-c31", title="Tides", aliases=["tides", "Ebb"])])
    tides = Article("concepts/tides", wiki.text("concepts/tides"))
    assert tides.aliases == ["Ebb"], "the title is no other name of itself"
    assert "\n# Door\n" in wiki.text(SLUG)


@pytest.mark.parametrize("name", ["port", "concepts/port.md", "Port", "ports"])
def test_an_article_is_meant_by_its_slug_or_its_names(wiki: WikiHome, name: str) -> None:
    wiki.compile([{**PORT_PAGE, "aliases": ["door"]}])
    wiki.log(entry("b2", 17, learned=stated("The host of the listener is local.")))
    wiki.compile([placed(name, "l-b20", "l-a11", section="Own topic")])  # one stands on it under another heading
    assert slugs(wiki) == [SLUG]
    assert re.search(rf"## Own topic\n\n- {IS} .*\n- The host of the listener is local. ", wiki.text(SLUG))
    assert "door" in wiki.text(SLUG)


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_name_that_another_page_has_means_the_projects_own_page_each_time(wiki: WikiHome, is_broken: bool) -> None:
    if is_broken:
        path = wiki.wiki.path(SLUG)
        path.parent.mkdir(parents=True)
        path.write_text("---\ntitle: [Port\n---\n# Port\n")
    else:
        wiki.log(entry("z9", 12, learned=stated(*TIDES), project="sea", project_key="sea-9f9f9f"))
    wiki.compile([PORT_PAGE])
    before = wiki.text(SLUG)
    for day, text in ((17, "The host of the listener is local."), (18, "The listener speaks TLS.")):
        wiki.log(entry(f"b{day}", day, learned=stated(text)))
        wiki.compile([placed("port", title="Port")])
        assert text in wiki.text("concepts/port-shop")
    assert wiki.text(SLUG) == before


def test_an_end_is_applied_if_the_rules_allow_it(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 18, learned=stated("The port of the listener is 9090.")))
    ends = [{"id": one, "by": by} for one, by in (("l-b20", "l-none"), ("l-a10", "l-b20"), ("l-b20", "l-a11"))]
    wiki.compile([placed("port", ends=ends)])
    now, _, history = wiki.text(SLUG).partition("## History")
    assert "9090" in now
    assert "- Until 2026-11-18: The port of the listener is 8080." in history, "its own day, not the compile's"
    assert "9090" not in history.partition("Since then")[0], "an older statement ends no newer one"


def test_two_that_say_the_same_are_one_line(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 18, learned=stated("8080 is where the listener's port is.")))
    wiki.compile([placed("port", same=[{"id": "l-a10", "other": "l-b20"}])])
    text = wiki.text(SLUG)
    assert "8080 is where" in text
    assert LISTENS not in text


def test_one_of_two_new_ones_that_say_the_same_is_placed_and_none_is_refused(wiki: WikiHome) -> None:
    wiki.log(entry("b2", 17, learned=stated(TIDES[0], "Harmonics are what tides are computed from, no less.")))
    wiki.compile([placed("port", "l-a10", "l-a11"), placed("tides", same=[{"id": "l-b20", "other": "l-b21"}])])
    text = "".join(data.decode() for name, data in wiki.files().items() if name.startswith("concepts/"))
    assert (TIDES[0] in text, text.count("- Harmonics are what")) == (False, 1)
    assert refused(wiki) == []


@pytest.mark.parametrize(("proposed", "stands"), [
    ("The listener of the shop is on port 8080.", True),
    ("The listener of the shop is on port 8081.", False),
    ("The listener of the shop is in `server.go`.", False),
])  # fmt: skip
def test_a_summary_stands_if_every_number_and_name_in_it_does(wiki: WikiHome, proposed: str, stands: bool) -> None:
    wiki.compile([{**PORT_PAGE, "summary": proposed}])
    article = Article(SLUG, wiki.text(SLUG))
    assert (article.summary == proposed) == stands
    assert article.summary
    assert any("summary" in text for text in refused(wiki)) != stands


def test_an_article_gets_another_summary_also_when_nothing_new_stands_there(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 17, learned=stated(*TIDES)))

    def answer(prompt: Any) -> Any:
        given = answer_of(prompt, placed("tides"))
        return {**given, "articles": [*given["articles"], {"slug": "port", "summary": "It listens on port 8080."}]}

    wiki.compile(answer)
    assert "\n# Port\n\nIt listens on port 8080.\n" in wiki.text(SLUG)


def test_a_summary_may_tell_what_holds_in_words_of_what_ended(wiki: WikiHome) -> None:
    wiki.log(entry("b2", 17, learned=stated("`shop check` exits with 2 when a check fails.")))
    wiki.compile([placed("port")])
    wiki.log(entry("c3", 18, learned=stated("`shop check` exits with 1 when a check fails; 2 means wrong usage.")))
    said = "`shop check` looks at the port, prints a table and exits with 1 when a check fails."
    wiki.compile([placed("port", "l-c30", summary=said, ends=[{"id": "l-b20", "by": "l-c30"}])])
    assert f"\n# Port\n\n{said}\n" in wiki.text(SLUG)


@pytest.mark.parametrize("moves", [True, False])
def test_what_took_the_place_of_another_may_belong_elsewhere(wiki: WikiHome, moves: bool) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(replace(entry("b2", 18), learned=(BY_TIDE,)))
    end(wiki, "l-a10", "l-b20")
    wiki.compile(lambda _: pytest.fail("no call for it alone"))
    assert BY_TIDE.text in wiki.text(SLUG).partition("## Behaviour")[2].partition(IS)[0], "where the other stood"
    local = Learned("decision", "The listener of the shop is local.", "l-c30", (replaces("l-a11"),))
    tide = Learned("fact", TIDES[0], "l-c31")
    wiki.log(replace(entry("c3", 19), learned=(local, tide)))
    end(wiki, "l-a11", "l-c30")
    wiki.compile([placed("hosts", *["l-c30"] * moves, "l-c31")])
    material = wiki.prompts[-1].material
    assert [row["id"] for row in material["statements"]] == ["l-c30", "l-c31"]
    shown = {row["id"]: page["slug"] for page in material["articles"] for row in page["lines"]}
    assert shown["l-c30"] == "port", "where it stands now"
    assert sum(local.text in wiki.text(slug).partition("## History")[0] for slug in slugs(wiki)) == 1
    assert (local.text in wiki.text(SLUG).partition("## History")[0]) != moves, "what is left out stays"


@pytest.mark.parametrize("by_answer", [False, True])
def test_what_took_the_place_of_a_topic_alone_is_no_second_statement_of_it(wiki: WikiHome, by_answer: bool) -> None:
    wiki.compile([placed("ports", "l-a10", title="Ports"), placed("hosts", "l-a11", title="Hosts")])
    wiki.log(replace(entry("b2", 18), learned=(BY_TIDE, Learned("fact", TIDES[0], "l-b21"))))
    ends = [{"id": "l-a10", "by": "l-b20"}] if by_answer else []
    if not by_answer:
        end(wiki, "l-a10", "l-b20")
    wiki.compile([placed("ports", "l-b20", title="Ports", ends=ends), placed("tides", "l-b21", title="Tides")])
    assert slugs(wiki) == ["concepts/shop"]
    assert f"## Ports\n\n- {BY_TIDE.text}" in wiki.text("concepts/shop")


def test_a_persons_summary_stays(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    article = Article(SLUG, wiki.text(SLUG))
    wiki.edit(SLUG, f"\n{article.summary}\n", "\nMine, and 7 words of it.\n")
    wiki.log(entry("b2", 18, learned=stated("The host of the listener is local.")))
    wiki.compile([{**PORT_PAGE, "summary": "The host of the listener is local."}])
    assert "\nMine, and 7 words of it.\n" in wiki.text(SLUG)


def test_links_come_in_both_directions_with_their_reason_and_none_without(wiki: WikiHome) -> None:
    wiki.log(entry("b2", 17, learned=stated(*TIDES)))
    links = [{"from": "port", "to": "tides", "why": "the port floods"}, {"from": "tides", "to": "nowhere", "why": "x"},
             {"from": "tides", "to": "shop", "why": ""}]  # fmt: skip
    wiki.log(entry("c3", 17, learned=stated("We deploy on Mondays.")))
    wiki.compile([placed("port", "l-a10", "l-a11", links=links), placed("tides", "l-b20", "l-b21")])
    assert "## Related\n\n- [[concepts/tides|Tides]]: the port floods\n" in wiki.text(SLUG)
    assert "- [[concepts/port|Port]]: the port floods\n" in wiki.text("concepts/tides")
    assert "nowhere" not in wiki.text("concepts/tides")
    assert "concepts/shop" not in wiki.text("concepts/tides")


@pytest.mark.parametrize(("text", "ids", "stands"), [
    ("The listener of the shop listens on 8080.", ["l-a10", "l-a11"], True),
    ("The listener of the shop listens on 9090.", ["l-a10", "l-a11"], False),
    ("The listener listens on 8080.", ["l-a10"], False),
    ("The listener listens on 8080.", ["l-a10", "l-none"], False),
])  # fmt: skip
def test_a_connection_cites_two_statements_and_says_what_they_name(
    wiki: WikiHome, text: str, ids: list[str], stands: bool
) -> None:
    wiki.compile([placed("port", connections=[{"text": text, "ids": ids}])])
    assert (f"## Connections\n\n- {text} [[daily/2026-11-16#^l-a10|16 Nov]] [[" in wiki.text(SLUG)) == stands
    assert ("## Connections" in wiki.text(SLUG)) == stands
    assert any("connects nothing" in text for text in refused(wiki)) != stands


def test_the_request_grows_with_neither_wiki_nor_log(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 18, learned=stated("The listener of the shop has a host.")))
    wiki.compile([placed("port")])
    prompt = wiki.prompts[-1].text
    assert f"l-a10 · 2026-11-16 · [Behaviour] {LISTENS}" in prompt
    assert "l-b20 · fact · 2026-11-18 · The listener of the shop has a host." in prompt
    monkeypatch.setattr(request, "SHOWN_LINES", 1)
    wiki.log(entry("c3", 18, learned=stated("The port of the listener is high.")))
    wiki.compile([placed("port")])
    shown = [row["id"] for page in wiki.prompts[-1].material["articles"] for row in page["lines"]]
    assert shown == ["l-a11", "l-b20"], "the two that are asked about once more"
    assert len((tasks.PROMPTS / "compile.md").read_text()) <= 1_400
    assert len((tasks.PROMPTS / "flush.md").read_text()) <= 1_600


def test_a_project_is_shown_its_own_articles_and_those_of_all(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 17, learned=stated(LISTENS, IS), project="bar", project_key="bar-9f8e7d"))
    wiki.compile([placed("port")])
    assert wiki.prompts[-1].material["articles"] == []


def test_everything_is_compiled_when_nothing_is_to_be_placed(wiki: WikiHome) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 18, title="Talk", context="Nothing to keep."))
    wiki.compile(lambda _: pytest.fail("asked about nothing"))
    assert wiki.ledger(Ledger.counts)["uncompiled"] == 0


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b/c", "concepts/../x", "C:x", "a\0b", ".."])
def test_no_name_leads_out_of_the_wiki(wiki: WikiHome, name: str) -> None:
    wiki.compile([placed(name)])
    assert all(re.fullmatch(r"(concepts/[a-z0-9-]+|index|log)\.md", file) for file in wiki.files())
    assert sum(IS in data.decode() for file, data in wiki.files().items() if "/" in file) == 1


@pytest.mark.parametrize("is_opened", [True, False])
def test_what_the_answer_places_takes_no_other_place_and_what_it_ends_keeps_its_own(
    wiki: WikiHome, is_opened: bool
) -> None:
    wiki.compile([PORT_PAGE])
    wiki.log(entry("b2", 18, learned=stated("The port of the listener is 9090.", *TIDES, "The port has a master.")))
    rest = placed("port", "l-b23") if is_opened else placed("tides", "l-b23")
    tides = placed("tides", "l-b20", "l-b21", "l-b22", "l-a10", ends=[{"id": "l-a10", "by": "l-b20"}])
    wiki.compile([tides, rest])
    now, _, history = wiki.text(SLUG).partition("## History")
    assert "9090" in wiki.text("concepts/tides").partition("## History")[0]
    assert "9090" not in now
    assert LISTENS not in wiki.text("concepts/tides")
    assert "- Until 2026-11-18: The port of the listener is 8080." in history


def test_a_summary_may_not_tell_what_ended_nor_stay_when_the_page_supports_it_no_more(wiki: WikiHome) -> None:
    wiki.log(entry("b2", 17, learned=stated("Carts are kept in Redis.", "Carts have an owner.")))
    wiki.compile([placed("carts", "l-b20", "l-b21", summary="Carts are kept in Redis.")])
    wiki.log(entry("c3", 18, learned=stated("Carts are kept in Postgres, and no longer in Redis.")))
    ends = [{"id": "l-b20", "by": "l-c30"}]
    wiki.compile([placed("carts", "l-c30", summary="Carts are kept in Redis.", ends=ends)])
    article = Article("concepts/carts", wiki.text("concepts/carts"))
    assert article.summary != "Carts are kept in Redis."
    article.summarise("Carts were counted in 2019.")  # as an earlier version could
    wiki.wiki.path("concepts/carts").write_text(article.render())
    wiki.log(entry("d4", 19, learned=stated("Carts are cheap.")))
    wiki.compile([placed("carts")])
    assert "2019" not in wiki.text("concepts/carts")


def test_a_statement_of_an_earlier_article_is_written_to_its_log_when_it_moves(wiki: WikiHome) -> None:
    told = "The listener of the shop was begun in spring."
    rows = "".join(f"- {text} [[daily/2026-11-16#^e-a1|16 Nov]]\n" for text in (told, "The listener has a door."))
    path = wiki.wiki.path("concepts/beginnings")
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nproject: shop · shop-1a2b3c\n---\n\n# Beginnings\n\nOf it.\n\n## Behaviour\n\n{rows}")
    wiki.compile([placed("port", "l-a10", "l-a11", f"${told}")])
    (claim,) = [claim for claim in Article(SLUG, wiki.text(SLUG)).claims if claim.text == told]
    assert not claim.is_own
    assert f"{told} ^{claim.id}\n" in DailyLog(wiki.home.paths).text(date(2026, 11, 16))
    assert told not in wiki.text("concepts/beginnings")
