"""Offline: what it selects from a conversation, how it groups entries, and that it invents nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.facts.claim_check import Material, check
from memoria.facts.fact import Stamp
from memoria.ground.errors import BadAnswerError
from memoria.models import tasks
from memoria.models.extractive.offline import Offline
from memoria.models.protocol import JsonObject, Prompt


def exchange(user: str = "", assistant: str = "", **more: list[str]) -> JsonObject:
    return {"user": user, "assistant": assistant, "tools": [], "errors": [], "notes": [], **more}


def flushed(*exchanges: JsonObject) -> JsonObject:
    return Offline().complete(tasks.flush({"project": "shop", "exchanges": list(exchanges)})).data


def entry(number: int, **more: Any) -> JsonObject:
    return {
        "id": f"e{number}",
        "day": f"2026-11-{number:02d}",
        "project": "shop",
        "title": f"Work on day {number}",
        "context": "",
        "key_exchanges": [],
        "action_items": [],
        "learned": [],
        **more,
    }


def compiled(*entries: JsonObject, articles: tuple[JsonObject, ...] = ()) -> dict[str, JsonObject]:
    material = {"today": "2026-11-21", "entries": list(entries), "articles": list(articles), "index": list(articles)}
    data = Offline().complete(tasks.compile_(material)).data
    return {article["slug"]: article for article in data["articles"]}


def kinds(data: JsonObject) -> dict[str, str]:
    return {fact["content"]: fact["kind"] for fact in data["statements"]}


LONG = "I looked at the code and changed the handler so that it closes the file. "


def test_small_talk_is_not_worth_saving() -> None:
    data = flushed(
        exchange("hello", "Hello! How can I help you with your project today?"), exchange("thanks!", "Sure.")
    )
    assert data["worth_saving"] is False


def test_the_title_is_the_first_real_request_without_its_politeness() -> None:
    data = flushed(exchange("hi", "Hello!"), exchange("Can you please fix the race in flush.py?", LONG))
    assert data["title"] == "Fix the race in flush.py"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("# Plan: Versioned completion\n\n## Context\n\nThe installer appends a line.", "Versioned completion"),
        ("# Implementation Plan: `shop reset` Command\n\nIt deletes all state.", "`shop reset` Command"),
        ("## Context\n\nThe logger writes a file for each session.", "The logger writes a file for each session"),
        ("use uv", "Implement the following plan"),
        ("", "Implement the following plan"),
    ],
)
def test_a_plan_to_implement_is_called_by_its_subject(said: str, title: str) -> None:
    assert flushed(exchange(f"Implement the following plan:\n\n{said}", LONG))["title"] == title


@pytest.mark.parametrize(
    "said",
    [
        "Good, the fix is in place.",
        "This is the actual root cause.",
        "The issue is now clear and simple.",
    ],
)
def test_a_cause_that_names_nothing_is_not_learned(said: str) -> None:
    assert (
        flushed(exchange("Why does the build server fail?", f"{said} And so it goes on for long."))["statements"] == []
    )
    named = flushed(exchange("Why does it fail?", "The root cause was the missing index. And so it goes on for long."))
    assert [fact["content"] for fact in named["statements"]] == ["The root cause was the missing index."]


@pytest.mark.parametrize(
    "said",
    [
        "\u2705 Warning enabled (with a TODO: ask at the prompt)",
        "Added two comments, both tagged `TODO(ENT-221)`, for later.",
        "The backfill is handled elsewhere, so let me check if both still need to be kept.",
        "`Resolve` still needs to exist for its callers in `rewind.go`.",
    ],
)
def test_what_is_done_or_holds_is_not_left_to_do(said: str) -> None:
    assert flushed(exchange("Look at the build server, please.", said))["action_items"] == []
    left = flushed(exchange("Look at the build server, please.", "We still need to add tests of the relay server."))
    assert left["action_items"] == ["We still need to add tests of the relay server."]


def test_a_file_alone_is_no_outcome() -> None:
    said = "This is how the store looks at the moment.\n\n`cmd/shop/manual_commit_rewind.go`."
    assert "manual_commit" not in flushed(exchange("Replace the migration of the store", said))["context"]


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("You never close the file after reading it.", "You never close the file after reading it"),
        ("This is not what I wanted to see here.", "This is not what I wanted to see here"),
        ("We should not use the cache for the export.", "We should not use the cache for the export"),
        ("Don't deploy; delete the old bucket first", "Don't deploy. delete the old bucket first"),
        ("Move the tables, but never the ones of customers", "Move the tables, but never the ones of customers"),
        ("you can use your LSP for this, right?", "You can use your LSP for this, right?"),
        ("Can you help me understand how decorators work?", "Understand how decorators work"),
        ("I have not changed the parser since Monday", "I have not changed the parser since Monday"),
    ],
)
def test_a_title_does_not_turn_the_request_round(said: str, title: str) -> None:
    assert flushed(exchange(said, LONG))["title"] == title


def test_a_request_is_kept_with_how_it_ended() -> None:
    said = "Let me look.\n\nI'll edit the lock now.\n\nFixed the race: `flush.py` now takes the lock before the header."
    line = flushed(exchange("Fix the race in flush.py", said))["key_exchanges"][0]
    assert line == "Fix the race in flush.py → Fixed the race: `flush.py` now takes the lock before the header."


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("No, use `uv` instead of pip here.", "correction"),
        ("Always run the formatter before a commit.", "preference"),
        ("From now on keep functions under fifty lines.", "preference"),
        ("Short message, no emoji: that's how I want all commits.", "preference"),
        ("OK, decided: one file, not one per station.", "decision"),
        ("We decided to keep SQLite because it needs no server.", "decision"),
        ("The cause was a missing index on `orders`.", "debugging"),
        ("Our staging database lives in `db-2.internal`, not in the cluster.", "fact"),
    ],
)
def test_what_the_user_says_is_learned_word_for_word(said: str, kind: str) -> None:
    data = flushed(exchange(f"Please update the importer. {said}", LONG))
    assert kinds(data).get(said) == kind
    fact = next(fact for fact in data["statements"] if fact["content"] == said)
    assert fact["quote"] == said


@pytest.mark.parametrize(
    "said",
    [
        "I always get an error when I open the page.",
        "No problem, go on with the importer then.",
        "Should we always use uv for this?",
        "Maybe the cause is the cache.",
        "Please remember that, I keep having to say it.",
        "Let's build the cache we decided on this morning.",
    ],
)
def test_what_only_sounds_like_a_rule_is_not_learned(said: str) -> None:
    assert said not in kinds(flushed(exchange(f"Please update the importer. {said}", LONG)))


def test_an_error_is_kept_with_the_fix_that_followed() -> None:
    lessons = flushed(
        exchange(
            "Run the importer", "Fixed it by passing `--encoding utf-8`.", errors=["Exit code 1\nUnicodeDecodeError: x"]
        )
    )
    assert kinds(lessons) == {"`UnicodeDecodeError: x` → Fixed it by passing `--encoding utf-8`.": "debugging"}


def test_an_error_is_not_paired_with_an_outcome_that_is_about_something_else() -> None:
    said = "The importer is faster now, fixed the page of orders and updated its docs."
    lessons = flushed(
        exchange("Run the importer", said, errors=["Exit code 1\nerror: value of `Close` is not checked"])
    )
    assert lessons["statements"] == []


def test_a_command_that_was_run_again_and_again_is_learned_without_what_differs_from_run_to_run() -> None:
    runs = ["uv run pytest tests/test_a.py::test_x", "uv run pytest -q -k other 2>&1 | tail", "cd x && uv run pytest"]
    shown = exchange(
        "Please mend the importer", LONG, tools=[f"Bash {run}" for run in [*runs, "npm install left-pad"] * 2]
    )
    (fact,) = flushed(shown)["statements"]
    assert (fact["content"], fact["kind"]) == ("Often run: `uv run pytest`", "operational")
    (checked,) = check([fact], Material.of([shown]), Stamp("p", "s", datetime(2026, 11, 21, tzinfo=UTC))).facts
    assert checked.content == fact["content"]


@pytest.mark.parametrize(
    "said",
    [
        "Changed from manual setup to the automatic hook to save time.",
        "The fix was updating `handlers.py` to match the new signature.",
        "`WithAgent` is now used in the logging package of the project.",
    ],
)
def test_what_the_assistant_did_is_not_learned_as_what_holds(said: str) -> None:
    assert flushed(exchange("Please mend the importer", f"{LONG}{said}"))["statements"] == []


def test_open_work_is_an_action_item_and_a_proposal_is_not() -> None:
    data = flushed(exchange("Add the export", f"{LONG}We still need to update the docs. Shall I do that next?"))
    assert data["action_items"] == ["We still need to update the docs."]


def test_code_blocks_are_not_read_as_speech() -> None:
    said = "Done with the export.\n```python\n# We decided to always use tabs because of the linter\n```"
    data = flushed(exchange("Add the export of orders", said))
    assert data["statements"] == []


def test_preferences_of_a_project_have_their_article() -> None:
    rule = {"kind": "preference", "content": "Always run the formatter before a commit."}
    article = compiled(entry(1, learned=[rule]))["shop-preferences-and-conventions"]
    assert [(claim["text"], claim["sources"]) for claim in article["claims"]] == [(rule["content"], ["e1"])]


def test_a_name_that_recurs_becomes_an_article_with_every_claim_sourced() -> None:
    articles = compiled(
        entry(1, decisions=["We chose `InvoiceWriter` to render bills because it needs no browser."]),
        entry(2, lessons=["`InvoiceWriter` fails when the locale is missing."]),
    )
    article = articles["invoice-writer"]
    assert article["title"] == "InvoiceWriter"
    assert [claim["sources"] for claim in article["claims"]] == [["e1"], ["e2"]]
    assert all(claim["sources"] for other in articles.values() for claim in other["claims"])


def test_no_article_stands_alone_when_there_are_others() -> None:
    other = entry(3, decisions=["We chose `drip-hose` because of the wind."])
    articles = compiled(entry(1, lessons=["The cause was a missing index."]), other)
    assert len(articles) > 2
    assert all(len(article["related"]) >= 2 for article in articles.values())
    assert all(link["slug"] in articles for article in articles.values() for link in article["related"])


def test_a_denial_is_no_topic() -> None:
    said = (
        "The lamp shop doesn't exist any more.",
        "The boat yard doesn't exist in the north.",
        "A kite doesn't exist.",
    )
    found = compiled(*(entry(number, decisions=[text]) for number, text in enumerate(said, 1)))
    assert "Doesn't exist" not in [article["title"] for article in found.values()]


def known(slug: str, *claims: str, title: str = "", aliases: tuple[str, ...] = ()) -> JsonObject:
    return {
        "slug": slug,
        "kind": "concept",
        "title": title or slug,
        "aliases": list(aliases),
        "tags": [],
        "summary": "What it is.",
        "claims": [
            {"number": number, "day": "2026-11-18", "section": "Key Points", "text": claim, "sources": ["e0"]}
            for number, claim in enumerate(claims, 1)
        ],
    }


def test_a_known_article_is_continued_under_its_slug_and_not_founded_twice() -> None:
    article = known("bill-rendering", "Bills are rendered to PDF.", aliases=("InvoiceWriter",))
    articles = compiled(entry(1, lessons=["`InvoiceWriter` fails when the locale is missing."]), articles=(article,))
    assert "invoice-writer" not in articles
    assert [claim["text"] for claim in articles["bill-rendering"]["claims"]] == [
        "`InvoiceWriter` fails when the locale is missing."
    ]


def test_what_an_article_says_already_is_not_said_again() -> None:
    article = known("invoice-writer", "`InvoiceWriter` needs a locale.")
    articles = compiled(entry(1, lessons=["`InvoiceWriter` needs a locale."]), articles=(article,))
    assert "invoice-writer" not in articles


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Orders are stored in MySQL on `db-1`.", "We switched from MySQL to Postgres for orders, on `db-1`."),
        ("The timeout of `InvoiceWriter` is 30 seconds.", "The timeout of `InvoiceWriter` is 60 seconds."),
    ],
)
def test_a_changed_fact_names_the_claim_it_replaces(old: str, new: str) -> None:
    articles = compiled(entry(1, decisions=[old]), entry(2, decisions=[new]))
    replaced = {claim["text"]: claim["supersedes"] for article in articles.values() for claim in article["claims"]}
    assert replaced[new] == old
    assert replaced[old] == ""


def test_a_changed_fact_goes_to_the_page_that_holds_the_old_one() -> None:
    old = "Our staging database runs on `db-2.internal`, not in the cluster."
    new = "We switched from `db-2.internal` to `db-3.internal` for the staging database."
    page = known("concepts/shop", old, title="shop")
    articles = compiled(entry(2, decisions=[new]), articles=(page,))
    found = [(claim["text"], claim["sources"], claim["supersedes"]) for claim in articles["concepts/shop"]["claims"]]
    assert (new, ["e2"], old) in found
    assert "shop-decisions" not in articles


def test_a_name_that_an_old_claim_and_a_new_one_share_becomes_an_article() -> None:
    page = known("concepts/shop-decisions", "We chose `InvoiceWriter` because it needs no browser.")
    articles = compiled(entry(2, lessons=["`InvoiceWriter` fails above 5,000 rows."]), articles=(page,))
    assert [claim["text"] for claim in articles["invoice-writer"]["claims"]] == [
        "`InvoiceWriter` fails above 5,000 rows."
    ]
    assert "concepts/shop-decisions" in [link["slug"] for link in articles["invoice-writer"]["related"]]


def test_two_different_facts_of_one_subject_stand_side_by_side() -> None:
    one, other = "`InvoiceWriter` fails when the locale is missing.", "`InvoiceWriter` needs 200 MB of memory per bill."
    claims = compiled(entry(1, lessons=[one]), entry(2, lessons=[other]))["invoice-writer"]["claims"]
    assert [claim["supersedes"] for claim in claims] == ["", ""]


def test_it_answers_the_same_each_time() -> None:
    material = [entry(1, lessons=["`A_b` fails."]), entry(2, decisions=["We chose `A_b` because of `CcDd`."])]
    assert compiled(*material) == compiled(*material)


def test_a_task_that_takes_a_language_model_is_refused() -> None:
    with pytest.raises(BadAnswerError, match="language model"):
        Offline().complete(Prompt(task="contradictions", text="", schema={}))


PIECES = """always|never|use `uv`|No, |because|TODO: x|\n- |```|`a_b.py`|switched from|to|MySQL|InvoiceWriter|
|. |?|\ud800|\x00|日本語|<ide_x>|/clear"""
WORDS = st.sampled_from([*PIECES.split("|"), "|", "x" * 3_000])
TEXT = st.lists(WORDS, max_size=30).map(" ".join)
EXCHANGE = st.builds(exchange, TEXT, TEXT, tools=st.lists(TEXT, max_size=3), errors=st.lists(TEXT, max_size=3))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(EXCHANGE, max_size=6))
def test_whatever_was_said_the_note_fits_its_schema(exchanges: list[JsonObject]) -> None:
    flushed(*exchanges)  # raises BadAnswerError when it does not


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6))
def test_whatever_entries_hold_the_articles_fit_their_schema_and_have_sources(
    texts: list[tuple[str, str, str]],
) -> None:
    entries = [
        entry(number, title=title or "x", decisions=[one] if one else [], lessons=[two] if two else [])
        for number, (title, one, two) in enumerate(texts, 1)
    ]
    ids = {item["id"] for item in entries}
    for article in compiled(*entries).values():
        assert article["claims"]
        assert all(set(claim["sources"]) <= ids for claim in article["claims"])
