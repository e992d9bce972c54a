"""A compile's answer is a proposal: nothing is written that its entries do not support."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.daily.entry import Entry
from memoria.ground.errors import DropRefusedError
from memoria.wiki.draft import Draft
from memoria.wiki.draft_pages import MAX_RELATED
from memoria.wiki.folder import Wiki
from memoria.wiki.owners import Owners
from memoria.wiki.transaction import digest
from wiki_home import claim, entry, page


@pytest.fixture
def wiki(tmp_path: Path) -> Wiki:
    return Wiki(tmp_path / "knowledge")


def take(wiki: Wiki, entries: list[Entry], *pages: dict, near: tuple[str, ...] = (), **given: object) -> Draft:  # type: ignore[type-arg]
    names = {article.slug: (article.title, *article.aliases) for article in wiki.articles()}
    owners = Owners({article.slug: article.project for article in wiki.articles()}, {})
    draft = Draft(wiki, entries, names=names, owners=owners, **given)  # type: ignore[arg-type]
    draft.take({"articles": list(pages)}, list(near))
    return draft


def write(wiki: Wiki, draft: Draft) -> None:
    for name, data in draft.pages.changes().items():
        path = wiki.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def claims(draft: Draft, slug: str) -> list[str]:
    return [found.text for found in draft.pages.articles[slug].claims]


OLD = entry("a1", 16, context="The port of the listener is 8080 for now.")
NEW = entry("b2", 17, context="The port of the listener is 9090 for now.")


def test_a_claim_names_its_entry_and_one_without_is_not_written(wiki: Wiki) -> None:
    draft = take(wiki, [OLD], page("port", claim("The port is 8080", "a1"), claim("No source", "zz")))
    assert draft.pages.articles["concepts/port"].claims[0].sources == ("daily/2026-11-16#^e-a1",)
    assert claims(draft, "concepts/port") == ["The port is 8080"]
    assert draft.refused == ["port: no known source for “No source”"]


def test_a_number_that_the_entry_does_not_hold_is_not_written(wiki: Wiki) -> None:
    draft = take(wiki, [OLD, NEW], page("port", claim("The port is 9090", "a1"), claim("The port is 8080", "a1")))
    assert claims(draft, "concepts/port") == ["The port is 8080"]
    assert "9090 not in the source" in draft.refused[0]


def test_an_entrys_own_marker_supports_nothing(wiki: Wiki) -> None:
    draft = take(wiki, [entry("a1", turns=("12345",), context="x")], page("port", claim("It is 12345", "a1")))
    assert draft.pages.changes() == {}


def test_a_summary_is_held_to_the_entries_too(wiki: Wiki) -> None:
    draft = take(wiki, [OLD], page("port", claim("The port is 8080", "a1"), summary="Listens on 9999."))
    assert draft.pages.articles["concepts/port"].summary == "The port is 8080"


@pytest.mark.parametrize("supersedes", ["The port of the listener is 8080", ""])
def test_a_new_value_supersedes_the_old_one_with_its_date(wiki: Wiki, supersedes: str) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port of the listener is 8080", "a1"))))
    new = claim("The port of the listener is 9090", "b2", supersedes=supersedes)
    draft = take(wiki, [NEW], page("port", new))
    assert claims(draft, "concepts/port") == ["The port of the listener is 9090"]
    assert "- Until 2026-11-17: The port of the listener is 8080 [[" in draft.pages.articles["concepts/port"].render()


def test_a_page_keeps_the_phrases_it_is_asked_as_the_newest_first(wiki: Wiki) -> None:
    first = claim("The port of the listener is 8080", "a1")
    write(wiki, take(wiki, [OLD], page("port", first, asked_as=["open the firewall", 7, "x" * 90])))
    many = [f"open door {number}" for number in range(9)]
    draft = take(wiki, [NEW], page("port", claim("The listener needs 9090 open", "b2"), asked_as=many))
    assert draft.pages.articles["concepts/port"].front.texts("asked_as") == [*many[:5], "open the firewall"]


def test_a_page_to_which_nothing_is_added_gets_no_phrases(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port is 8080", "a1"))))
    assert take(wiki, [OLD], page("port", asked_as=["open the firewall"])).pages.changes() == {}


def test_an_old_value_that_comes_in_late_goes_straight_to_the_history(wiki: Wiki) -> None:
    write(wiki, take(wiki, [NEW], page("port", claim("The port of the listener is 9090", "b2"))))
    draft = take(wiki, [OLD], page("port", claim("The port of the listener is 8080", "a1")))
    assert claims(draft, "concepts/port") == ["The port of the listener is 9090"]
    assert "- Until 2026-11-17: The port of the listener is 8080 [[" in draft.pages.articles["concepts/port"].render()


def test_a_claim_is_superseded_on_the_page_where_it_stands(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("net", claim("The port of the listener is 8080", "a1"))))
    new = claim("The listener moved to 9090", "b2", supersedes="The port of the listener is 8080")
    draft = take(wiki, [NEW], page("port", new), near=("concepts/net",))
    assert claims(draft, "concepts/net") == []
    assert claims(draft, "concepts/port") == ["The listener moved to 9090"]


def corrected(ident: str, day: int, text: str) -> Entry:
    return entry(ident, day, learned=[("correction", text)])


def test_a_correction_by_the_user_does_not_yield_to_inference(wiki: Wiki) -> None:
    said = corrected("a1", 16, "No, the port of the listener is 8080")
    write(wiki, take(wiki, [said], page("port", claim("The port of the listener is 8080", "a1"))))
    draft = take(
        wiki, [NEW], page("port", claim("The port of the listener is 9090", "b2")),
        entry_at=lambda source: said if source.endswith("a1") else None,
    )  # fmt: skip
    assert draft.pages.changes() == {}
    assert "the user said" in draft.refused[0]


def test_a_correction_yields_to_a_later_correction(wiki: Wiki) -> None:
    said = corrected("a1", 16, "No, the port of the listener is 8080")
    write(wiki, take(wiki, [said], page("port", claim("The port of the listener is 8080", "a1"))))
    again = corrected("b2", 17, "Wrong: the port of the listener is 9090")
    draft = take(
        wiki, [again], page("port", claim("The port of the listener is 9090", "b2")), entry_at=lambda _: said
    )  # fmt: skip
    assert claims(draft, "concepts/port") == ["The port of the listener is 9090"]


@pytest.mark.parametrize(
    ("title", "aliases"),
    [("The flush race", []), ("Flush races", []), ("Race in the flush", []), ("Other", ["flush race"]),
     ("Worker collision", [])],
)  # fmt: skip
def test_a_near_duplicate_updates_the_page_that_is_there(wiki: Wiki, title: str, aliases: list[str]) -> None:
    first = page("the-race", claim("The port is 8080", "a1"), title="Flush race", aliases=["Worker collision"])
    write(wiki, take(wiki, [OLD], first))
    new = page("something-else", claim("The port is 9090", "b2"), title=title, aliases=aliases)
    draft = take(wiki, [NEW], new, near=("concepts/the-race",))
    assert draft.pages.created == []
    assert set(draft.pages.changes()) == {"concepts/the-race.md"}


@pytest.mark.parametrize("title", ["Flush race 2", "Worker race", "Spool: decisions"])
def test_another_thing_gets_its_own_page(wiki: Wiki, title: str) -> None:
    for name in ("Flush race", "Flush race 1", "Flush: decisions"):
        write(wiki, take(wiki, [OLD], page(name.lower().replace(" ", "-").replace(":", ""),
                                           claim("The port is 8080", "a1"), title=name)))  # fmt: skip
    draft = take(wiki, [NEW], page("new-thing", claim("The port is 9090", "b2"), title=title), near=wiki.slugs())  # type: ignore[arg-type]
    assert draft.pages.created == ["concepts/new-thing"]


def linked(draft: Draft, slug: str) -> set[str]:
    """The articles that an article links; its sources, which are daily logs, do not count."""
    return {link.target for link in draft.pages.articles[slug].links if not link.target.startswith("daily/")}


def test_an_article_links_two_others_when_they_exist_although_the_model_named_none(wiki: Wiki) -> None:
    ports = [page(name, claim(f"The port of {name} is 8080", "a1")) for name in ("alder", "birch", "cedar")]
    draft = take(wiki, [OLD], *ports)
    assert linked(draft, "concepts/alder") == {"concepts/birch", "concepts/cedar"}
    write(wiki, draft)
    near = ("concepts/cedar", "concepts/birch", "concepts/alder")
    later = take(wiki, [NEW], page("dune", claim("The port is 9090", "b2")), near=near)
    assert linked(later, "concepts/dune") == {"concepts/cedar", "concepts/birch"}, "the best two, and no more"


def test_an_article_the_model_gave_one_link_is_given_a_second_and_one_with_two_none(wiki: Wiki) -> None:
    names = ("alder", "birch", "cedar", "dune")
    draft = take(wiki, [OLD], *(page(name, claim(f"The port of {name} is 8080", "a1")) for name in names))
    write(wiki, draft)
    near = tuple(f"concepts/{name}" for name in names)
    one = take(wiki, [NEW], page("elm", claim("The port is 9090", "b2"), related=("concepts/dune",)), near=near)
    assert linked(one, "concepts/elm") == {"concepts/dune", "concepts/alder"}
    both = ("concepts/dune", "concepts/cedar")
    two = take(wiki, [NEW], page("fir", claim("The port is 9090", "b2"), related=both), near=near)
    assert linked(two, "concepts/fir") == set(both)


def test_links_resolve_or_are_not_written(wiki: Wiki) -> None:
    one = page("one", claim("The port is 8080", "a1"), related=("two", "nowhere", "one"))
    draft = take(wiki, [OLD], one, page("two", claim("For now", "a1")))
    assert {link.target for link in draft.pages.articles["concepts/one"].links} == {"concepts/two", "daily/2026-11-16"}
    assert "[[concepts/one|one]]" in draft.pages.articles["concepts/two"].render()


def test_what_connects_fewer_than_two_pages_is_a_concept(wiki: Wiki) -> None:
    loose = page("loose", claim("The port is 8080", "a1"), kind="connection", related=("nowhere", "one"))
    draft = take(wiki, [OLD], page("one", claim("For now", "a1")), loose)
    assert sorted(draft.pages.created) == ["concepts/loose", "concepts/one"]


@pytest.mark.parametrize("slug", ["../../outside", "daily/x", "concepts/../../x"])
def test_no_slug_leads_out_of_the_wiki(wiki: Wiki, slug: str) -> None:
    draft = take(wiki, [OLD], page(slug, claim("The port is 8080", "a1"), title="../x"))
    assert all(name.startswith("concepts/") and ".." not in name for name in draft.pages.changes())


def test_model_text_cannot_forge_structure(wiki: Wiki) -> None:
    text = "x [[daily/2026-01-01#^e-zz]] <!-- memoria took=1 --> \n## History\n- y"
    draft = take(wiki, [entry("a1", context="9 " + text)], page("x", claim(text, "a1"), title="T\n# U"))
    again = Wiki.parse("concepts/x", draft.pages.changes()["concepts/x.md"])
    assert [section.heading for section in again.sections] == ["Key Points"]
    assert again.claims[0].sources == ("daily/2026-11-16#^e-a1",)
    assert "<!--" not in again.render()


def test_a_page_with_broken_frontmatter_is_left_alone(wiki: Wiki) -> None:
    path = wiki.folder / "concepts/port.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\n[broken\n---\n# Port\n")
    draft = Draft(wiki, [OLD], names={"concepts/port": ("Port",)})
    draft.take({"articles": [page("port", claim("The port is 8080", "a1"))]}, [])
    assert draft.pages.changes() == {}
    assert "repair it" in draft.refused[0]


def test_a_persons_own_file_name_is_no_obstacle(wiki: Wiki) -> None:
    path = wiki.folder / "concepts/net/My Port [x].md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"# My Port\r\n\r\nMine.\r\n")
    draft = take(wiki, [OLD], page("port", claim("The port is 8080", "a1"), title="My port"))
    assert list(draft.pages.changes()) == ["concepts/net/My Port [x].md"]
    assert b"The port is 8080" in draft.pages.changes()["concepts/net/My Port [x].md"]


def test_a_page_that_would_lose_most_of_its_claims_is_refused(wiki: Wiki) -> None:
    texts = [f"Fact {word} of the shop is as it is" for word in ("one", "two", "three", "four", "five")]
    write(wiki, take(wiki, [OLD], page("shop", *(claim(text, "a1") for text in texts))))
    answer = page("shop", *(claim(f"{text} no more", "b2", supersedes=text) for text in texts))
    draft = take(wiki, [NEW], answer)
    with pytest.raises(DropRefusedError, match="5 of its"):
        draft.pages.check(0.5)
    take(wiki, [NEW], page("shop", *answer["claims"][:3])).pages.check(0.5)


def test_a_page_of_many_claims_may_lose_a_small_share_of_them(wiki: Wiki) -> None:
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    texts = [f"Fact {word} of the shop is as it is" for word in words]
    write(wiki, take(wiki, [OLD], page("shop", *(claim(text, "a1") for text in texts))))
    four = page("shop", *(claim(f"{text} no more", "b2", supersedes=text) for text in texts[:4]))
    take(wiki, [NEW], four).pages.check(0.5)
    with pytest.raises(DropRefusedError, match="4 of its 10"):
        take(wiki, [NEW], four).pages.check(0.3)


def test_a_claim_that_something_links_to_does_not_go(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port of the listener is 8080", "a1"))))
    path = wiki.folder / "concepts/port.md"
    path.write_text(path.read_text() + "\nMine, and others point at it. ^mine\n")
    draft = take(wiki, [NEW], page("port", claim("The listener is nice", "b2")))
    draft.pages.check(0.5)
    draft.pages.articles["concepts/port"] = Wiki.parse("concepts/port", path.read_bytes().replace(b"^mine", b""))
    with pytest.raises(DropRefusedError, match=r"\^mine would be lost"):
        draft.pages.check(0.5)


def test_what_a_page_is_checked_against_is_how_it_was_and_not_how_it_is_now(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port of the listener is 8080", "a1"))))
    draft = take(wiki, [NEW], page("port", claim("The port of the listener is 9090", "b2")))
    assert [known.text for known in draft.pages.before["concepts/port"].claims] == ["The port of the listener is 8080"]
    assert draft.pages.read["concepts/port.md"] == digest((wiki.folder / "concepts/port.md").read_bytes())


def test_a_page_begins_on_the_day_of_its_oldest_claim_and_moves_on_to_its_newest(wiki: Wiki) -> None:
    both = page("port", claim("The listener is nice", "b2"), claim("The port is 8080", "a1"))
    text = take(wiki, [OLD, NEW], both).pages.articles["concepts/port"].render()
    assert "created: '2026-11-16'" in text
    assert "updated: '2026-11-17'" in text
    assert "[[daily/2026-11-16]]" in text
    assert "[[daily/2026-11-17]]" in text


def test_two_proposals_of_one_answer_that_mean_one_page_make_one_page(wiki: Wiki) -> None:
    one = page("flush-race", claim("The port is 8080", "a1"), title="Flush race")
    for slug, title in (("other", "flush race"), ("other", "Flush races"), ("flush-race", "Something else")):
        draft = take(wiki, [OLD], one, page(slug, claim("For now", "a1"), title=title))
        assert draft.pages.created == ["concepts/flush-race"]


def test_a_page_that_the_same_answer_founded_is_known_by_an_alias_of_the_next_proposal(wiki: Wiki) -> None:
    one = page("flush-race", claim("The port is 8080", "a1"), title="Flush race")
    other = page("collision", claim("For now", "a1"), title="Worker collision", aliases=["Races of flushes"])
    assert take(wiki, [OLD], one, other).pages.created == ["concepts/flush-race"]


def test_a_page_is_known_by_a_title_that_has_only_small_words(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("people", claim("The port is 8080", "a1"), title="Who We Are")))
    draft = take(wiki, [NEW], page("team", claim("The port is 9090", "b2"), title="who we are"))
    assert list(draft.pages.articles) == ["concepts/people"]


def test_a_page_for_all_projects_does_not_link_back_to_that_of_one(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port is 8080", "a1"))))
    path = wiki.folder / "concepts/port.md"
    path.write_text("".join(row for row in path.read_text().splitlines(keepends=True) if "project:" not in row))
    draft = take(wiki, [NEW], page("tea", claim("The port is 9090", "b2"), title="Tea", related=("port",)))
    assert "[[concepts/port" in draft.pages.articles["concepts/tea"].render()
    assert "concepts/tea" not in draft.pages.articles["concepts/port"].render()


def test_no_two_pages_share_an_alias(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port is 8080", "a1"), title="Port", aliases=["Socket"])))
    draft = take(wiki, [NEW], page("tea", claim("The listener is nice", "b2"), title="Tea", aliases=["Port", "Chai"]))
    assert list(draft.pages.articles["concepts/tea"].aliases) == ["Chai"]


def test_of_two_values_from_one_day_the_later_one_read_stands(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port of the listener is 8080", "a1"))))
    same_day = entry("c3", 16, context="The port of the listener is 9090 for now.")
    draft = take(wiki, [same_day], page("port", claim("The port of the listener is 9090", "c3")))
    assert claims(draft, "concepts/port") == ["The port of the listener is 9090"]


def test_a_claim_that_outdates_itself_stays(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port of the listener is 8080", "a1"))))
    again = entry("b2", 17, context=OLD.context)
    text = "The port of the listener is 8080"
    draft = take(wiki, [again], page("port", claim(text, "b2", supersedes=text)))
    assert claims(draft, "concepts/port") == [text]
    assert "Until" not in draft.pages.articles["concepts/port"].render()


def test_a_claim_on_another_page_goes_only_when_it_is_quoted(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("net", claim("The port of the listener is 8080", "a1"))))
    new = claim("The listener moved to 9090", "b2", supersedes="The port of the house is painted blue")
    draft = take(wiki, [NEW], page("port", new), near=("concepts/net",))
    assert claims(draft, "concepts/net") == ["The port of the listener is 8080"]


@pytest.mark.parametrize(
    ("kind", "text", "stands"),
    [
        ("correction", "No, the port of the listener is 8080", "8080"),
        ("preference", "The port of the listener is 8080", "8080"),
        ("correction", "Tea is served at noon", "9090"),  # of another thing
        ("decision", "The port of the listener is 8080", "9090"),  # nothing says that it was the user
    ],
)
def test_only_the_users_word_on_the_same_protects_a_claim(wiki: Wiki, kind: str, text: str, stands: str) -> None:
    said = entry("a1", 16, context=OLD.context, learned=[(kind, text)])
    draft = take(wiki, [said, NEW], page("port", claim("The port of the listener is 8080", "a1")),
                 page("port", claim("The port of the listener is 9090", "b2")))  # fmt: skip
    assert claims(draft, "concepts/port") == [f"The port of the listener is {stands}"]


def test_a_claim_without_words_or_without_a_source_is_not_written(wiki: Wiki) -> None:
    draft = take(wiki, [OLD], page("port", claim("…!", "a1"), claim("For now", "nowhere")))
    assert draft.pages.changes() == {}
    assert len(draft.refused) == 2


def test_what_a_person_took_out_comes_back_only_from_an_entry_that_is_new(wiki: Wiki) -> None:
    again = entry("b2", 17, context=OLD.context)
    write(wiki, take(wiki, [OLD], page("port", claim("For now", "a1"))))
    seen = {"a1": {"concepts/port": None}}
    draft = take(wiki, [OLD], page("port", claim("The port is 8080", "a1")), touched=seen)
    assert claims(draft, "concepts/port") == ["For now"]
    assert "no longer has" in draft.refused[0]
    draft = take(wiki, [OLD, again], page("port", claim("The port is 8080", "a1", "b2")), touched=seen)
    assert claims(draft, "concepts/port") == ["For now", "The port is 8080"]


def test_a_hub_has_a_limit_on_its_links_whoever_links(wiki: Wiki) -> None:
    spokes = [page(f"spoke-{name}", claim("For now", "a1"), related=("hub",)) for name in map(chr, range(97, 123))]
    spokes += [page(f"rim-{name}", claim("For now", "a1"), related=("hub",)) for name in map(chr, range(97, 123))]
    names = tuple(str(spoke["slug"]) for spoke in spokes)
    hub = page("hub", claim("The port is 8080", "a1"), related=names)
    for pages in ([hub, *spokes], [*spokes, hub]):
        draft = take(wiki, [OLD], *pages)
        assert draft.pages.articles["concepts/hub"].render().count("\n- [[") <= MAX_RELATED


def test_what_was_learned_supports_a_claim(wiki: Wiki) -> None:
    said = entry("a1", 16, learned=[("preference", "Listen on 8080")])
    assert claims(take(wiki, [said], page("port", claim("It listens on 8080", "a1"))), "concepts/port")


def test_two_values_of_one_entry_both_stand(wiki: Wiki) -> None:
    both = entry("a1", 16, context="The port of the listener is 8080 and the port of the listener is 9090.")
    texts = ["The port of the listener is 8080", "The port of the listener is 9090"]
    draft = take(wiki, [both], page("port", *(claim(text, "a1") for text in texts)))
    assert claims(draft, "concepts/port") == texts


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The port is 8080", "The port is 9090"),  # too short to be told apart from another thing
        ("The port of the listener is 8080", "The door of the listener is 9090"),
        ("The port of the listener is red", "The port of the listener is blue"),
        ("The listener of house 1 is on 8080", "The listener of house 2 is on 9090"),
    ],
)
def test_only_a_long_claim_with_one_other_number_is_another_value(wiki: Wiki, first: str, second: str) -> None:
    one, two = entry("a1", 16, context=first), entry("b2", 17, context=second)
    draft = take(wiki, [one, two], page("port", claim(first, "a1"), claim(second, "b2")))
    assert claims(draft, "concepts/port") == [first, second]


def test_a_page_is_not_made_of_links_alone(wiki: Wiki) -> None:
    write(wiki, take(wiki, [OLD], page("port", claim("The port is 8080", "a1"))))
    assert take(wiki, [NEW], page("tea", related=("port",))).pages.created == []


def test_an_entry_read_again_does_not_take_back_what_outdated_it_on_the_same_day(wiki: Wiki) -> None:
    old, new = "The port of the listener is 8080", "The port of the listener is 9090"
    same_day = entry("b2", 16, context=NEW.context)
    write(wiki, take(wiki, [OLD], page("port", claim(old, "a1"))))
    write(wiki, take(wiki, [same_day], page("port", claim(new, "b2", supersedes=old))))
    draft = take(wiki, [OLD], page("port", claim(old, "a1", supersedes=new)))
    assert claims(draft, "concepts/port") == [new]


def test_a_page_that_has_links_enough_links_back_to_one_that_links_it(wiki: Wiki) -> None:
    hub = page("hub", claim("The port is 8080", "a1"), related=("one", "two"))
    write(wiki, take(wiki, [OLD], hub, page("one", claim("For now", "a1")), page("two", claim("For now", "a1"))))
    listener = page("new", claim("The listener is nice", "b2"), title="New listener", related=("hub",))
    draft = take(wiki, [NEW], listener)
    assert "concepts/new" in {link.target for link in draft.pages.articles["concepts/hub"].links}
