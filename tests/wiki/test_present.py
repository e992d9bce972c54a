"""An article tells how things are now: what was replaced or retired stands dated under History and nowhere else."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memoria.daily.entry import Entry, Learned
from memoria.wiki.article import Article, Claim
from memoria.wiki.draft import Draft
from memoria.wiki.folder import Wiki
from memoria.wiki.owners import Owners
from memoria.wiki.repeated import repeats
from wiki_home import claim, entry, page

SLUG = "concepts/uploads"
QUEUE = "Uploads go through the queue"
BUCKET = "Uploads go straight to the bucket"
OLD = entry("a1", 16, decisions=(f"{QUEUE}, because the API was slow.",), context="Files are limited to 30 MB.")
NEW = entry("b2", 18, decisions=(f"{BUCKET}.",), context="The queue was removed. Files are limited to 30 MB.")


def said(ident: str, day: int, text: str, kind: str = "correction", **stated: object) -> Entry:
    """An entry with one fact that the user stated."""
    below = (f"  <!-- learned {json.dumps({'origin': 'user', **stated})} -->",)
    made = entry(ident, day, context=text)
    return Entry(**{name: getattr(made, name) for name in made.__dataclass_fields__}
                 | {"learned": (Learned(kind, text, f"l-{ident}", below, ended="ended" in stated),)})  # fmt: skip


class Pages:
    """A wiki in a folder, whose claims are numbered in the order in which they stand."""

    def __init__(self, folder: Path) -> None:
        self.wiki = Wiki(folder)
        self.entries: dict[str, Entry] = {}

    def numbered(self) -> dict[int, tuple[str, Claim]]:
        claims = [(article.slug, known) for article in self.wiki.articles() for known in article.claims]
        return dict(enumerate(claims, 1))

    def draft(self, entries: list[Entry], *proposals: Any, **given: Any) -> Draft:
        self.entries |= {each.source: each for each in entries}
        names = {article.slug: (article.title, *article.aliases) for article in self.wiki.articles()}
        owners = Owners({article.slug: article.project for article in self.wiki.articles()}, {})
        draft = Draft(self.wiki, entries, names=names, owners=owners, entry_at=self.entries.get,
                      numbered=self.numbered(), **given)  # fmt: skip
        draft.take({"articles": list(proposals)}, [])
        return draft

    def take(self, entries: list[Entry], *proposals: Any, **given: Any) -> Article:
        draft = self.draft(entries, *proposals, **given)
        for name, data in draft.pages.changes().items():
            path = self.wiki.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return self.read()

    def read(self, slug: str = SLUG) -> Article:
        article = self.wiki.get(slug)
        assert article is not None
        return article

    def edit(self, old: str, new: str) -> None:
        path = self.wiki.folder / f"{SLUG}.md"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    return Pages(tmp_path / "knowledge")


def current(article: Article) -> list[str]:
    return [known.text for known in article.claims]


def past(article: Article) -> list[str]:
    return [known.text for known in article.past]


def replacing(text: str, source: str, *numbers: int, **given: Any) -> Any:
    return {**claim(text, source), "replaces": list(numbers), **given}


# -- numbers


def test_a_claim_replaces_several_by_their_numbers(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), claim("Files are limited to 30 MB", "a1"),
                           claim("The API was slow", "a1")))  # fmt: skip
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1, 3)))
    assert current(article) == [BUCKET, "Files are limited to 30 MB"]
    assert past(article) == [QUEUE, "The API was slow"]
    assert article.render().count("Until 2026-11-18") == 2


def test_a_retired_claim_goes_to_the_history_with_its_reason_and_where_it_was_said(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), claim("Files are limited to 30 MB", "a1")))
    article = pages.take(
        [NEW], page("uploads", retire=[{"claim": 1, "why": "The queue was removed", "sources": ["b2"]}])
    )
    assert current(article) == ["Files are limited to 30 MB"]
    history = article.render().split("## History")[1]
    assert f"- Until 2026-11-18: {QUEUE} [[" in history
    assert f"  - Why: The queue was removed [[{NEW.source}|18 Nov]]" in history


@pytest.mark.parametrize(
    ("why", "sources"), [("`v9` removed it", ["b2"]), ("The queue was removed", ["zz"]), ("…", ["b2"])]
)
def test_a_claim_is_not_retired_for_a_reason_that_no_entry_gives(pages: Pages, why: str, sources: list[str]) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    draft = pages.draft([NEW], page("uploads", retire=[{"claim": 1, "why": why, "sources": sources}]))
    assert draft.pages.changes() == {}
    assert draft.is_failed


def test_an_older_entry_retires_nothing(pages: Pages) -> None:
    pages.take([NEW], page("uploads", claim(BUCKET, "b2")))
    row = {"claim": 1, "why": "The API was slow", "sources": ["a1"]}
    assert pages.draft([OLD], page("uploads", retire=[row])).pages.changes() == {}


def test_a_claim_is_moved_under_the_heading_that_is_named(pages: Pages) -> None:
    pages.take([OLD], page("uploads", {**claim(QUEUE, "a1"), "section": "Behaviour"},
                           {**claim("The API was slow", "a1"), "section": "Behaviour"}))  # fmt: skip
    article = pages.take([NEW], page("uploads", move=[{"claim": 2, "section": "Gotchas"}]))
    assert article.headed_claims[1][0] == "Gotchas"
    assert past(article) == []


def test_sections_stand_in_order_and_history_last_whatever_came_first(pages: Pages) -> None:
    rows = [("The API was slow", "Gotchas"), (QUEUE, "Decisions"), ("Files are limited to 30 MB", "Behaviour"),
            ("The queue is for files", "The queue")]  # fmt: skip
    pages.take([OLD], page("uploads", *({**claim(text, "a1"), "section": heading} for text, heading in rows)))
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 3)))
    found = [section.heading for section in article.sections]
    assert found == ["Behaviour", "The queue", "Decisions", "Gotchas", "History"]


def test_a_page_of_the_old_form_is_divided_when_it_grows(pages: Pages) -> None:
    texts = [f"Fact {word} of the uploads" for word in ("one", "two", "three", "four", "five", "six")]
    flat = pages.take([OLD], page("uploads", claim(QUEUE, "a1"), *(claim(text, "a1") for text in texts[:5])))
    assert {heading for heading, _ in flat.headed_claims} == {"Key Points"}
    article = pages.take([NEW], page("uploads", claim("Fact six of the uploads", "b2")))
    headings = dict(article.headed_claims[::-1])
    assert set(headings) == {"Behaviour", "Decisions"}
    assert headings["Decisions"].text == QUEUE
    assert len(article.claims) == 7


def test_sources_are_shown_by_their_day_and_each_day_once(pages: Pages) -> None:
    twin = entry("c3", 16, decisions=(f"{QUEUE}.",))
    article = pages.take([OLD, twin, entry("d4", 17, context=QUEUE)], page("uploads", claim(QUEUE, "a1", "c3", "d4")))
    row = next(row for row in article.render().splitlines() if row.startswith("- Uploads"))
    assert row == f"- {QUEUE} [[{OLD.source}|16 Nov]] [[{twin.source}|2]] [[daily/2026-11-17#^e-d4|17 Nov]]"
    assert article.claims[0].sources == (OLD.source, twin.source, "daily/2026-11-17#^e-d4")


# -- summaries


def test_the_summary_is_written_anew_when_a_claim_changed(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), summary="Uploads travel through the queue."))
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1), summary="Files go to the bucket at once."))
    assert article.summary == "Files go to the bucket at once."


@pytest.mark.parametrize(
    "given",
    ["", "Uploads go through the queue.", "They are limited to 99 MB.", "How files travel: through the queue they go."],
)
def test_a_summary_that_is_missing_or_stale_or_unproven_is_written_from_the_claims(pages: Pages, given: str) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), summary="Uploads go through the queue."))
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1), summary=given))
    assert article.summary == BUCKET


def test_a_summary_with_a_value_that_was_superseded_does_not_stay(pages: Pages) -> None:
    old, new = (
        entry("a1", 16, context="The limit is 30 MB"),
        entry("b2", 17, context="The limit went from 30 MB to 50 MB"),
    )
    pages.take([old], page("uploads", claim("The limit of a file is 30 MB", "a1"), summary="Files of up to 30 MB."))
    article = pages.take(
        [new], page("uploads", replacing("The limit of a file is 50 MB", "b2", 1), summary="Up to 30 MB.")
    )
    assert "30" not in article.summary


def test_a_new_summary_may_say_again_what_the_present_one_says(pages: Pages) -> None:
    first = entry("a1", 16, context="Uploads run with `make send`", lessons=("`send` needs a token.",))
    pages.take([first], page("uploads", claim("`send` needs a token.", "a1"), summary="Uploads run with `make send`."))
    summary = "Uploads run with `make send`, which needs a token and writes `sent.log`."
    article = pages.take(
        [entry("b2", 18, lessons=("It writes `sent.log`.",))],
        page("uploads", claim("It writes `sent.log`.", "b2"), summary=summary),
    )
    assert article.summary == summary


def test_a_summary_names_the_new_value_and_the_file_of_what_changed(pages: Pages) -> None:
    """The claim that is replaced was short, the new one is long, and only the old one named the file."""
    old = entry("a1", 16, context="Images are 320 px wide.", decisions=("Pillow in `build/img.py` makes the images.",))
    pages.take([old], page("uploads", claim("Images are 320 px wide.", "a1"),
                           claim("Pillow in `build/img.py` makes the images.", "a1")))  # fmt: skip
    sharp = "Images are 480 px wide instead of 320 px, because on the dense screens of phones 320 px looks blurred."
    fast = "`pyvips` makes the images instead of Pillow, because it takes a third of the time."
    new = entry("b2", 18, context="It was slow; `build/img.py` uses `pyvips` now.", decisions=(sharp, fast))
    summary = "Images are 480 px wide and made by `pyvips` in `build/img.py`."
    article = pages.take([new], page("uploads", replacing(sharp, "b2", 1), replacing(fast, "b2", 2), summary=summary))
    assert article.summary == summary


@pytest.mark.parametrize("given", ["Images are 320 px wide.", "Pillow makes the images.", "It is in `old.py`."])
def test_a_summary_does_not_name_the_old_value_beside_a_new_one(pages: Pages, given: str) -> None:
    old = entry("a1", 16, context="Images are 320 px wide.", decisions=("Pillow in `old.py` makes the images.",))
    pages.take([old], page("uploads", claim("Images are 320 px wide.", "a1"),
                           claim("Pillow in `old.py` makes the images.", "a1")))  # fmt: skip
    sharp, fast = "Images are 480 px wide.", "`pyvips` in `new.py` makes the images."
    new = entry("b2", 18, context="`old.py` was renamed to `new.py`; 480 px instead of 320 px", decisions=(sharp, fast))
    article = pages.take(
        [new], page("uploads", replacing(sharp, "b2", 1), replacing(fast, "b2", 2), summary=f"{given} {sharp}")
    )
    assert given not in article.summary


def test_a_summary_that_code_writes_tells_of_what_the_title_names(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), summary=f"{QUEUE}.", title="Uploads"))
    new = entry("b2", 18, context=f"Broken files pass. {BUCKET}.")
    article = pages.take([new], page("uploads", {**claim("Broken files pass.", "b2"), "section": "Behaviour"},
                                     {**replacing(BUCKET, "b2", 1), "section": "Decisions"}))  # fmt: skip
    assert current(article)[0] == "Broken files pass."
    assert article.summary == BUCKET


def test_an_open_item_is_no_claim(pages: Pages) -> None:
    known = entry("a1", 16, context="Uploads wait for Noor", action_items=("Ask Noor to upload the photos again.",))
    draft = pages.draft([known], page("uploads", claim("Ask Noor to upload photos again", "a1"),
                                      claim("Uploads wait for Noor", "a1")))  # fmt: skip
    assert [known.text for known in draft.pages.articles[SLUG].claims] == ["Uploads wait for Noor"]
    assert not draft.is_failed
    assert "is an open item" in draft.refused[0]


def test_a_retired_claims_page_tells_nothing_in_its_summary(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    article = pages.take(
        [NEW], page("uploads", retire=[{"claim": 1, "why": "The queue was removed", "sources": ["b2"]}])
    )
    assert "queue" not in article.summary
    assert current(article) == []


def test_what_a_person_wrote_in_the_summary_stays_theirs(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), summary="Uploads of files."))
    pages.edit("Uploads of files.", "My own words about uploads.")
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1), summary="Files go to the bucket."))
    assert article.summary == "My own words about uploads."
    assert current(article) == [BUCKET]


def test_of_a_persons_summary_only_what_no_longer_holds_goes_and_is_not_lost(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), summary="Uploads of files."))
    pages.edit("Uploads of files.", "My own words about files. Uploads go through the queue, I think.")
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1), summary="Files go to the bucket."))
    assert article.summary == "My own words about files."
    assert "Uploads go through the queue, I think." in article.render().split("## History")[1]
    again = pages.take(
        [entry("c3", 20, context="It is quick")], page("uploads", claim("It is quick", "c3"), summary="X.")
    )
    assert again.summary == "My own words about files."


def test_the_summary_of_a_page_from_before_is_not_lost_when_it_is_replaced(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), summary="Here uploads go through the big queue."))
    path = pages.wiki.folder / f"{SLUG}.md"
    rows = [row for row in path.read_text().splitlines(keepends=True) if not row.startswith("summary_digest")]
    path.write_text("".join(rows))
    article = pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1), summary="Files go to the bucket."))
    assert article.summary == BUCKET
    assert "Here uploads go through the big queue." in article.render().split("## History")[1]


# -- the user's word


@pytest.mark.parametrize("kind", ["correction", "preference", "decision", "fact"])
def test_an_older_word_of_the_user_yields_to_a_newer_one_of_any_kind(pages: Pages, kind: str) -> None:
    pages.take([said("a1", 16, "No, use pnpm in this project")], page("uploads", claim("The project uses pnpm", "a1")))
    newer = said("b2", 18, "Use npm from now on, not pnpm", kind)
    article = pages.take([newer], page("uploads", replacing("The project uses npm, not pnpm", "b2", 1)))
    assert current(article) == ["The project uses npm, not pnpm"]
    assert past(article) == ["The project uses pnpm"]


def test_a_word_of_the_user_does_not_yield_to_the_assistant(pages: Pages) -> None:
    pages.take([said("a1", 16, "No, use pnpm in this project")], page("uploads", claim("The project uses pnpm", "a1")))
    theirs = entry("b2", 18, decisions=("The project uses npm",), learned=[("decision", "The project uses npm")])
    for proposal in (
        page("uploads", replacing("The project uses npm", "b2", 1)),
        page("uploads", retire=[{"claim": 1, "why": "The project uses npm", "sources": ["b2"]}]),
    ):
        draft = pages.draft([theirs], proposal)
        assert draft.pages.changes() == {}
        assert not draft.is_failed  # no fault of the answer


def test_a_newer_word_of_the_user_does_not_yield_to_an_older_one(pages: Pages) -> None:
    pages.take([said("b2", 18, "Use npm from now on")], page("uploads", claim("The project uses npm", "b2")))
    older = said("a1", 16, "No, use pnpm in this project")
    article = pages.take([older], page("uploads", replacing("The project uses pnpm", "a1", 1)))
    assert current(article) == ["The project uses npm"]
    assert past(article) == ["The project uses pnpm"]


def test_of_two_words_of_one_day_the_later_moment_decides(pages: Pages) -> None:
    noon = said("a1", 16, "Use npm from now on", time="2026-11-16T12:00:00+00:00")
    night = said("b2", 16, "No, use pnpm here", time="2026-11-16T22:00:00+00:00")
    pages.take([night], page("uploads", claim("The project uses pnpm", "b2")))
    article = pages.take([noon], page("uploads", replacing("The project uses npm", "a1", 1)))
    assert current(article) == ["The project uses pnpm"]


def test_a_word_of_the_user_ends_what_the_assistant_said(pages: Pages) -> None:
    pages.take([entry("b2", 18, context="The project uses npm")], page("uploads", claim("The project uses npm", "b2")))
    article = pages.take([said("a1", 16, "We use pnpm, not npm")],
                         page("uploads", replacing("The project uses pnpm", "a1", 1)))  # fmt: skip
    assert current(article) == ["The project uses pnpm"]


def test_the_user_takes_back_what_they_said_without_a_new_rule(pages: Pages) -> None:
    pages.take([said("a1", 16, "Always use pnpm")], page("uploads", claim("The project uses pnpm", "a1")))
    row = {"claim": 1, "why": "The user dropped the rule on pnpm", "sources": ["b2"]}
    dropped = said("b2", 18, "Forget the rule on pnpm, it no longer holds", "preference")
    assert current(pages.take([dropped], page("uploads", retire=[row]))) == []


def test_a_word_that_was_ended_protects_nothing(pages: Pages) -> None:
    ended = said("a1", 16, "No, use pnpm in this project", ended="2026-11-17T09:00:00+00:00")
    pages.take([ended], page("uploads", claim("The project uses pnpm", "a1")))
    article = pages.take([entry("b2", 18, context="The project uses npm")],
                         page("uploads", replacing("The project uses npm", "b2", 1)))  # fmt: skip
    assert current(article) == ["The project uses npm"]


def test_what_a_person_wrote_into_a_daily_log_is_the_users_word(pages: Pages) -> None:
    by_hand = entry("h1", 16, context="The project uses pnpm", model="hand", project_key="shop-1a2b3c")
    pages.take([by_hand], page("uploads", claim("The project uses pnpm", "h1")))
    draft = pages.draft([entry("b2", 18, context="The project uses npm")],
                        page("uploads", replacing("The project uses npm", "b2", 1)))  # fmt: skip
    assert draft.pages.changes() == {}


def test_look_alikes_do_not_end_one_another(pages: Pages) -> None:
    for one, other in (("Worker 3 is the slow one of them", "Worker 4 is the slow one of them"),
                       ("Worker 3 uses port 9001 here", "Worker 4 uses port 9002 here")):  # fmt: skip
        pages.take([entry("a1", 16, context=one)], page("uploads", claim(one, "a1")))
        article = pages.take([entry("b2", 18, context=other)], page("uploads", claim(other, "b2")))
        assert {one, other} <= set(current(article))


# -- refused before, and rewording


def test_a_claim_that_was_refused_can_be_compiled_again(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    seen = {"a1": {SLUG: frozenset({Claim(QUEUE, ()).digest})}}
    article = pages.take([OLD], page("uploads", claim("Files are limited to 30 MB", "a1")), touched=seen)
    assert current(article) == [QUEUE, "Files are limited to 30 MB"]


def test_a_claim_that_a_person_removed_stays_away_also_in_other_words(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1"), claim("The API was slow", "a1")))
    seen = {"a1": {SLUG: frozenset(known.digest for known in pages.read().claims)}}
    pages.edit(f"- The API was slow [[{OLD.source}|16 Nov]]\n", "")
    for text in ("The API was slow", "Slow was the API of the uploads"):
        article = pages.take([OLD], page("uploads", claim(text, "a1")), touched=seen)
        assert current(article) == [QUEUE]


def test_a_page_is_reworded_without_a_history_of_its_words(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    article = pages.take([OLD], page("uploads", replacing(f"{QUEUE}, because the API was slow", "a1", 1)))
    assert current(article) == [f"{QUEUE}, because the API was slow"]
    assert past(article) == []


def test_a_page_may_be_reworded_whole(pages: Pages) -> None:
    texts = [f"Fact {word} of the uploads" for word in ("one", "two", "three", "four", "five")]
    pages.take([OLD], page("uploads", *(claim(text, "a1") for text in texts)))
    rows = [replacing(f"{text} is as it is", "b2", number) for number, text in enumerate(texts, 1)]
    pages.draft([NEW], page("uploads", *rows)).pages.check(0.5)


# -- citations


def test_each_cited_entry_supports_the_claim_by_itself_or_goes(pages: Pages) -> None:
    other = entry("c3", 17, context="Tea was served.")
    both = entry("d4", 17, context="Files are limited to 30 MB, and uploads are slow.")
    article = pages.take([OLD, other, both], page("uploads", claim("Files are limited to 30 MB", "a1", "c3", "d4")))
    assert article.claims[0].sources == (OLD.source, both.source)


def test_a_claim_that_no_entry_supports_by_itself_is_not_written(pages: Pages) -> None:
    half = entry("c3", 17, context="The bucket is `eu-1`.")
    draft = pages.draft([OLD, half], page("uploads", claim("Files up to 30 MB go to `eu-1`", "a1", "c3")))
    assert draft.pages.changes() == {}


def test_an_edited_entry_is_cited_only_for_what_it_still_says(pages: Pages) -> None:
    twin = entry("c3", 17, context="Files are limited to 30 MB.")
    pages.take([OLD, twin], page("uploads", claim("Files are limited to 30 MB", "a1", "c3")))
    edited = entry("c3", 17, context="Files are limited.")
    article = pages.take([edited], edited={"c3": {SLUG: None}})
    assert article.claims[0].sources == (OLD.source,)


# -- the same again


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The uploads go through a queue", "Uploads go through the queue", True),
        ("Flush locks are held early in the run", "In the run flush lock are held early", True),
        ("The cache keeps 30 files of a user", "The cache keeps 50 files of a user", False),
        ("Parser calls renderer for each page", "Renderer calls parser for each page", False),
        ("Lint runs before the tests of shop", "The tests of shop run before lint", False),
        ("The shop is open now", "The shop is not open now", False),
        ("The shop was open", "The shop is open", False),
        ("Run `a b` and `c d` in this order", "Run `c d` and `a b` in this order", False),
    ],
)
def test_sentences_that_say_the_same_again(one: str, other: str, same: bool) -> None:
    assert repeats(one, other) is same


def test_a_near_duplicate_of_a_claim_adds_only_its_source(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    article = pages.take(
        [entry("c3", 17, context=QUEUE)], page("uploads", claim("The uploads go through the queues", "c3"))
    )
    assert [known.sources for known in article.claims] == [(OLD.source, "daily/2026-11-17#^e-c3")]


def test_one_topic_under_two_slugs_is_one_page_although_it_is_not_near(pages: Pages) -> None:
    pages.take(
        [OLD], page("upload-queue", claim(QUEUE, "a1"), title="Upload queue"), page("uploads", claim("Slow API", "a1"))
    )
    draft = pages.draft([NEW], page("queue-of-uploads", claim(BUCKET, "b2"), title="Queues of uploads"))
    assert draft.pages.created == []


def test_a_claim_of_the_history_does_not_come_back_reworded_from_its_entry(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1)))
    article = pages.take([OLD], page("uploads", claim("All uploads go through the queue", "a1")))
    assert current(article) == [BUCKET]


def test_a_re_reversal_by_a_new_entry_is_current_again(pages: Pages) -> None:
    pages.take([OLD], page("uploads", claim(QUEUE, "a1")))
    pages.take([NEW], page("uploads", replacing(BUCKET, "b2", 1)))
    again = entry("c3", 20, context=f"{QUEUE} again.")
    article = pages.take([again], page("uploads", replacing(QUEUE, "c3", 1)))
    assert current(article) == [QUEUE]
    assert BUCKET in past(article)
    assert article.updated == date(2026, 11, 20).isoformat()
