"""An article is founded when there is something to say; thin ones wait on, or go back to, their project's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoria.commands import forget
from memoria.wiki import names
from memoria.wiki.links import LinkTargets
from memoria.wiki.snapshot import Snapshot
from wiki_home import WikiHome, claim, entry, page

pytestmark = pytest.mark.slow

QUEUE = "Uploads go through the queue."
RETRY = "Failed uploads are retried once an hour."
SHOP = "concepts/shop"


@pytest.fixture
def wiki(monkeypatch: pytest.MonkeyPatch) -> WikiHome:
    monkeypatch.delenv("MEMORIA_THIN_CLAIMS")  # as for a user
    return WikiHome()


def has(wiki: WikiHome, slug: str) -> bool:
    return wiki.wiki.path(slug).exists()


def section(wiki: WikiHome, slug: str, heading: str) -> list[str]:
    article = wiki.wiki.get(slug)
    assert article
    return [known.text for under, known in article.headed_claims if under == heading]


def dead_links(wiki: WikiHome) -> list[str]:
    snapshot = Snapshot(wiki.home, entry("x").day)
    targets = LinkTargets.of(Path(wiki.home.paths.home), snapshot.articles.values())
    return [
        f"{slug}: {problem}"
        for slug, each in snapshot.pages.items()
        for link in each.links
        if (problem := targets.problem(link, f"knowledge/{slug}"))
    ]


def test_one_claim_of_one_entry_stands_on_the_projects_page_under_its_topic(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,)))
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), title="Upload queue")])
    assert not has(wiki, "concepts/upload-queue")
    assert section(wiki, SHOP, "Upload queue") == [QUEUE]
    assert [article.slug for article in wiki.wiki.articles()] == [SHOP]


def test_the_summary_of_a_projects_page_names_the_topics_that_wait_on_it(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE, "Releases are tagged.")))
    tagged = page("releases", claim("Releases are tagged.", "a1"), title="Tagged releases")
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), title="Upload queue"), tagged])
    summary = wiki.wiki.get(SHOP).summary  # type: ignore[union-attr]
    assert summary.endswith("what has an article of its own: Upload queue, Tagged releases.")
    wiki.log(entry("b2", 17, lessons=(RETRY,)))
    wiki.compile([page("upload-queue", claim(RETRY, "b2"), title="Upload queue")])
    assert wiki.wiki.get(SHOP).summary.endswith("of its own: Tagged releases.")  # type: ignore[union-attr]


def test_what_relates_to_a_topic_without_an_article_links_the_projects_page(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,)), entry("b2", lessons=(RETRY, "It holds ten.", "It is kept in `jobs.db`.")))
    texts = (RETRY, "It holds ten.", "It is kept in `jobs.db`.")
    link = {"slug": "upload-queue", "why": "where they wait"}
    retries = page("retries", *(claim(text, "b2") for text in texts), title="Retries")
    wiki.compile([{**retries, "related": [link]}, page("upload-queue", claim(QUEUE, "a1"), title="Upload queue")])
    assert "- [[concepts/shop|shop]]: where they wait" in wiki.text("concepts/retries")
    wiki.log(entry("c3", 17, lessons=("Workers are started by `make up`.", "They log to `up.log`.", "There are six.")))
    texts = ("Workers are started by `make up`.", "They log to `up.log`.", "There are six.")
    workers = page("workers", *(claim(text, "c3") for text in texts), title="Workers")
    wiki.compile([{**workers, "related": [{"slug": "concepts/upload-queue", "why": "what they empty"}]}])
    assert "- [[concepts/shop|shop]]: what they empty" in wiki.text("concepts/workers")


def test_a_second_source_moves_the_topic_into_an_article_and_the_page_leads_there(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,)))
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), title="Upload queue")])
    wiki.log(entry("b2", 17, lessons=(RETRY,)))
    wiki.compile([page("upload-queue", claim(RETRY, "b2"), title="Upload queue")])
    article = wiki.wiki.get("concepts/upload-queue")
    assert article
    assert {known.text for known in article.claims} == {QUEUE, RETRY}
    assert {"daily/2026-11-16#^e-a1", "daily/2026-11-17#^e-b2"} == {
        s for known in article.claims for s in known.sources
    }
    assert QUEUE not in wiki.text(SHOP)
    assert "See [[concepts/upload-queue|Upload queue]]." in wiki.text(SHOP)
    assert dead_links(wiki) == []


def test_a_claim_that_waits_is_replaced_by_its_number_when_its_topic_moves_out(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=("Tiles are slow because the cache is cold.",)))
    wiki.compile([page("map-tiles", claim("Tiles are slow because the cache is cold.", "a1"), title="Map tiles")])
    cause = "Tiles are slow because the style is parsed twice."
    wiki.log(entry("b2", 17, lessons=(cause,)))

    def answer(prompt: Any) -> dict[str, Any]:
        [shown] = [each for each in prompt.material["articles"] if each["slug"] == "shop"]
        replaced = {**claim(cause, "b2"), "replaces": [shown["claims"][0]["number"]]}
        return {"articles": [page("map-tiles", replaced, title="Map tiles")]}

    wiki.compile(answer)
    article = wiki.wiki.get("concepts/map-tiles")
    assert article
    assert [known.text for known in article.claims] == [cause]
    assert [known.text for known in article.past] == ["Tiles are slow because the cache is cold."]
    assert "cache" not in article.summary


def test_what_ended_while_its_topic_waited_does_not_come_back_with_the_article(wiki: WikiHome) -> None:
    cold, style = "Tiles are slow because the cache is cold.", "Tiles are slow because the style is parsed twice."
    wiki.log(entry("a1", lessons=(cold,)))
    wiki.compile([page("map-tiles", claim(cold, "a1"), title="Map tiles")])
    wiki.log(entry("b2", 17, lessons=(style,)))
    wiki.compile([page("shop", {**claim(style, "b2", supersedes=cold), "section": "Map tiles"}, title="shop")])
    wiki.log(entry("c3", 18, lessons=("Tiles are vector tiles.",)))
    again = claim(cold, "a1"), claim("Tiles are vector tiles.", "c3")
    summary = f"Tiles are vector tiles. {cold}"
    wiki.compile([page("map-tiles", *again, title="Map tiles", summary=summary)], "--all", "--force")
    article = wiki.wiki.get("concepts/map-tiles")
    assert article
    assert {known.text for known in article.claims} == {style, "Tiles are vector tiles."}
    assert [known.text for known in article.past] == [cold]
    assert "cold" not in article.summary
    assert "cold" not in wiki.text(SHOP)


def test_a_claim_put_on_the_projects_page_itself_moves_out_with_its_topic_too(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,)), entry("b2", 17, lessons=(RETRY,)))
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), title="Upload queue")], "--file", "2026-11-16")
    second = {**claim(RETRY, "b2"), "section": "Upload queue"}
    wiki.compile([page("shop", second, title="shop")])
    assert has(wiki, "concepts/upload-queue")
    assert dead_links(wiki) == []


def test_a_word_of_the_user_founds_an_article_at_once(wiki: WikiHome) -> None:
    said = "Use pnpm, not npm."
    wiki.log(entry("a1", learned=(("correction", said),)))
    wiki.compile([page("shop-preferences-and-conventions", claim(said, "a1"), title="shop: preferences")])
    assert has(wiki, "concepts/shop-preferences-and-conventions")


def test_several_claims_of_one_entry_found_an_article(wiki: WikiHome) -> None:
    texts = (QUEUE, RETRY, "The bucket is emptied on Sundays.")
    wiki.log(entry("a1", lessons=texts))
    wiki.compile([page("upload-queue", *(claim(text, "a1") for text in texts), title="Upload queue")])
    assert has(wiki, "concepts/upload-queue")


@pytest.mark.parametrize(
    "title",
    ["3", "uuid", '"Agent"', "Tests", "0.2.1", "ce24e94d", "ce24e94d-ea12-40cb-9b87-ceb55770af78", "v2", "2026-11-20"],
)
def test_a_title_that_nobody_looks_up_makes_no_page_and_loses_no_claim(wiki: WikiHome, title: str) -> None:
    texts = (QUEUE, RETRY, "The bucket is emptied on Sundays.")
    wiki.log(entry("a1", lessons=texts))
    slug = "".join(letter if letter.isalnum() else "-" for letter in title.lower()).strip("-")
    wiki.compile([page(slug, *(claim(text, "a1") for text in texts), title=title)])
    assert [article.slug for article in wiki.wiki.articles()] == [SHOP]
    article = wiki.wiki.get(SHOP)
    assert article
    assert {known.text for known in article.claims} == set(texts)


@pytest.mark.parametrize(
    "title", ["Upload queue", "uv", "Redis", "S3", "Agent backoff", "HTTP 404 pages", "日志", "Go 1.22", "decade"]
)
def test_a_title_that_names_something_is_taken(title: str) -> None:
    assert names.fault(title) == ""


def test_a_project_with_a_name_that_is_a_number_has_a_page_with_a_title(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,), project="3", project_key="3-1a2b3c"))
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), title="Upload queue")])
    assert [(article.slug, article.title) for article in wiki.wiki.articles()] == [("concepts/project-3", "Project 3")]


def test_a_title_in_quotation_marks_loses_them(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,)), entry("b2", lessons=(RETRY,)))
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), claim(RETRY, "b2"), title="“Upload queue”")])
    assert [article.title for article in wiki.wiki.articles()] == ["Upload queue"]


# -- pages from before


@pytest.fixture
def thin(wiki: WikiHome, monkeypatch: pytest.MonkeyPatch) -> WikiHome:
    """A wiki of an older version: a thin page and one that is related to it."""
    monkeypatch.setenv("MEMORIA_THIN_CLAIMS", "0")
    older = WikiHome()
    older.log(
        entry("a1", lessons=(QUEUE,)), entry("b2", lessons=(RETRY,)), entry("c3", lessons=("Retries use jitter.",))
    )
    older.compile(
        [
            page("upload-queue", claim(QUEUE, "a1"), title="Upload queue", related=("retries",)),
            page("retries", claim(RETRY, "b2"), claim("Retries use jitter.", "c3"), title="Retries"),
        ]
    )
    monkeypatch.delenv("MEMORIA_THIN_CLAIMS")
    return WikiHome()


def touch(wiki: WikiHome) -> None:
    """Compile an answer that touches the thin page: a new article links to it."""
    stop, life = "Retries stop after a day.", "The bucket is emptied on Sundays."
    wiki.log(entry("d4", 18, lessons=(stop, life)), entry("e5", 18, lessons=(life,)))
    wiki.compile([page("bucket", claim(life, "d4", "e5"), title="Bucket rules", related=("upload-queue",))])


def test_a_thin_page_that_a_compile_touches_goes_to_its_projects_page_with_its_names(thin: WikiHome) -> None:
    touch(thin)
    assert not has(thin, "concepts/upload-queue")
    assert section(thin, SHOP, "Upload queue") == [QUEUE]
    article = thin.wiki.get(SHOP)
    assert article
    assert {"Upload queue", "upload-queue"} <= set(article.aliases)
    assert "[[concepts/shop|shop]]" in thin.text("concepts/retries")
    assert "concepts/upload-queue" not in thin.text("concepts/retries") + thin.text("concepts/bucket")
    assert "concepts/upload-queue" not in (thin.wiki.folder / "index.md").read_text()
    assert dead_links(thin) == []


def test_undo_brings_a_folded_page_back(thin: WikiHome) -> None:
    before = thin.files()
    touch(thin)
    assert not has(thin, "concepts/upload-queue")
    thin.undo()
    assert thin.files() == before


def test_a_folded_topic_is_founded_again_when_a_second_source_comes(thin: WikiHome) -> None:
    touch(thin)
    more = "The queue holds a thousand uploads."
    thin.log(entry("f6", 19, lessons=(more,)))
    thin.compile([page("upload-queue", claim(more, "f6"), title="Upload queue")])
    article = thin.wiki.get("concepts/upload-queue")
    assert article
    assert {known.text for known in article.claims} == {QUEUE, more}
    parent = thin.wiki.get(SHOP)
    assert parent
    assert "Upload queue" not in parent.aliases
    assert dead_links(thin) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (QUEUE, "Uploads go through my queue."),
        ("# Upload queue\n", "# Upload queue\n\nMy own summary of it.\n"),
        ("## Key Points\n", "## My notes\n\nAsk Kim.\n\n## Key Points\n"),
        (f"- {QUEUE} [[daily/2026-11-16#^e-a1|16 Nov]]", f"- {QUEUE} [[daily/2026-11-16#^e-a1|16 Nov]] ^here"),
    ],
)
def test_a_thin_page_that_a_person_edited_stays(thin: WikiHome, old: str, new: str) -> None:
    thin.edit("concepts/upload-queue", old, new)
    touch(thin)
    assert has(thin, "concepts/upload-queue")
    assert new.strip() in thin.text("concepts/upload-queue")


@pytest.mark.parametrize("link", ["[[concepts/upload-queue]]", "[[upload-queue]]", "[[Upload queue]]"])
def test_a_thin_page_that_a_person_linked_stays(thin: WikiHome, link: str) -> None:
    thin.edit("concepts/retries", "## Key Points\n", f"## See also\n\nThe {link}.\n\n## Key Points\n")
    touch(thin)
    assert has(thin, "concepts/upload-queue")


def test_a_thin_page_that_a_daily_log_links_to_stays(thin: WikiHome) -> None:
    day = Path(thin.home.paths.daily, "2026-11-16.md")
    day.write_text(day.read_text() + "\nSee [[upload-queue]].\n")
    touch(thin)
    assert has(thin, "concepts/upload-queue")


def test_a_page_of_the_users_words_is_not_folded(wiki: WikiHome) -> None:
    said = "Use pnpm, not npm."
    wiki.log(entry("a1", learned=(("correction", said),)))
    wiki.compile([page("conventions-of-shop", claim(said, "a1"), title="Conventions of shop")])
    wiki.log(entry("b2", lessons=(QUEUE, RETRY, "It holds ten.")))
    texts = (QUEUE, RETRY, "It holds ten.")
    wiki.compile([page("queue-of-uploads", *(claim(text, "b2") for text in texts), related=("conventions-of-shop",))])
    assert has(wiki, "concepts/conventions-of-shop")
    assert "queue-of-uploads" in wiki.text("concepts/conventions-of-shop")


# -- forgetting


def test_what_names_a_forgotten_topic_goes_with_its_claims(thin: WikiHome) -> None:
    touch(thin)
    assert "Upload queue" in thin.text(SHOP)
    thin.log(entry("f6", 19, lessons=("Releases are tagged.",)))
    thin.compile([page("releases", claim("Releases are tagged.", "f6"), title="Tagged releases")])
    assert thin.run(forget, "a1", "--yes") == 0
    assert "upload" not in thin.text(SHOP).lower().replace("the upload", "")
    assert section(thin, SHOP, "Tagged releases") == ["Releases are tagged."]


def test_the_line_that_leads_to_a_forgotten_article_goes_with_its_heading(wiki: WikiHome) -> None:
    wiki.log(entry("a1", lessons=(QUEUE,)), entry("c3", lessons=("Releases are tagged.",)))
    tagged = page("releases", claim("Releases are tagged.", "c3"), title="Tagged releases")
    wiki.compile([page("upload-queue", claim(QUEUE, "a1"), title="Upload queue"), tagged])
    wiki.log(entry("b2", 17, lessons=(RETRY,)))
    wiki.compile([page("upload-queue", claim(RETRY, "b2"), title="Upload queue")])
    assert "## Upload queue" in wiki.text(SHOP)
    assert wiki.run(forget, "concepts/upload-queue", "--yes") == 0
    assert "Upload queue" not in wiki.text(SHOP)
    assert section(wiki, SHOP, "Tagged releases") == ["Releases are tagged."]
