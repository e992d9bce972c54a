"""What Claude saw: the page and the notes that a session was given, and what became of them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.transcripts.screen import Tombstones
from reader_home import Browser, fill

PAGE = "Notes\n<memoria-notes-1a2b3c>\n## What matters most\n- Use pnpm.\n</memoria-notes-1a2b3c>\n"
SECRET = "ghp_" + "a8B3c9D2e7F1g6H5i4J0k8L3m9N2o7P1q6R5"  # not a key
NOTES = (
    "Notes that may fit:\n<memoria-notes-1a2b3c>\n"
    "- [fact, 2026-11-20, the user] Charges carry the `order_key` of the order. (daily/2026-11-20#^l-c1001)\n"
    "- [article, 2026-11-20] The queue is called `slow_lane` now. (knowledge/concepts/order-queue.md)\n"
    "- [fact, 2026-11-20] Somebody likes tea with milk. (daily/2026-11-20#^l-c1002)\n</memoria-notes-1a2b3c>\n"
)


@pytest.fixture
def home() -> Home:
    home = Home.open()
    fill(home)
    return home


def _transcript(home: Home, rows: list[dict[str, object]]) -> None:
    path = Path.home() / ".claude" / "projects" / "p" / "s-c1.jsonl"
    path.parent.mkdir(parents=True)
    about = {"sessionId": "s-c1", "cwd": "/shop", "timestamp": "2026-11-20T10:05:00Z"}
    path.write_text("".join(json.dumps({**about, "uuid": f"u{n}", **row}) + "\n" for n, row in enumerate(rows)))
    with closing(Ledger(home.paths)) as ledger:
        ledger.check(str(path), "1-2-0", {"captured": 4})


def _added(event: str, text: str) -> dict[str, object]:
    content = {"type": "hook_additional_context", "content": [text], "hookEvent": event, "hookName": event}
    return {"type": "attachment", "attachment": content}


def test_a_session_shows_its_page_and_each_note_with_what_it_comes_from(home: Home) -> None:
    answer = [{"type": "text", "text": "I pass the order_key to charge()."}]
    _transcript(
        home,
        [
            _added("SessionStart", PAGE),
            {"type": "user", "message": {"role": "user", "content": "How are charges of an order identified?"}},
            _added("UserPromptSubmit", NOTES),
            _added("UserPromptSubmit", "Another hook's words."),
            {"type": "assistant", "message": {"role": "assistant", "id": "m1", "content": answer}},
        ],
    )
    page = Browser(home).enter().get("/session/s-c1/seen").text
    assert "The session started with" in page
    assert "- Use pnpm." in page
    assert "Another hook" not in page
    first, second, third = page.partition('<ul class="notes">')[2].split("<li>")[1:4]
    assert 'href="/fact/l-c1001"' in first
    assert 'href="/article/concepts/order-queue"' in second
    assert "tea with milk" in third


def test_where_the_transcript_is_gone_the_page_says_so(home: Home) -> None:
    assert "Not known: the transcript is gone" in Browser(home).enter().get("/session/s-c1/seen").text


def test_what_was_given_in_a_folder_that_was_excluded_since_is_not_shown(home: Home, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    off = {"cwd": str(hidden)}
    _transcript(
        home,
        [
            {"type": "user", "message": {"role": "user", "content": "How are charges of an order identified?"}},
            _added("UserPromptSubmit", NOTES),
            {"type": "user", "message": {"role": "user", "content": "How does the zeppelin land?"}, **off},
            {**_added("UserPromptSubmit", NOTES.replace("tea with milk", "tea in a zeppelin")), **off},
            {**_added("SessionStart", PAGE), **off},
        ],
    )
    page = Browser(home).enter().get("/session/s-c1/seen").text
    assert page.count("zeppelin") == 2
    assert "Use pnpm" in page
    (hidden / ".memoria-off").touch()
    page = Browser(home).enter().get("/session/s-c1/seen").text
    assert "How are charges of an order identified?" in page
    assert "zeppelin" not in page
    assert "Use pnpm" not in page
    assert page.count("Not shown: ") == 2
    assert ".memoria-off" in page


def test_no_secret_that_was_typed_is_shown(home: Home) -> None:
    prompt = f"Charges of the order fail with order_key={SECRET} now."
    _transcript(
        home, [{"type": "user", "message": {"role": "user", "content": prompt}}, _added("UserPromptSubmit", NOTES)]
    )
    page = Browser(home).enter().get("/session/s-c1/seen").text
    assert "Charges of the order fail" in page
    assert SECRET not in page


def test_what_was_forgotten_since_is_not_shown_again(home: Home) -> None:
    prompt = "How are charges of an order identified? <private>my salary</private>"
    _transcript(
        home,
        [
            _added("SessionStart", PAGE),
            {"type": "user", "message": {"role": "user", "content": prompt}},
            _added("UserPromptSubmit", NOTES),
        ],
    )
    Tombstones(home.paths).add("Somebody likes tea with milk.")
    Tombstones(home.paths).add("- Use pnpm.")
    page = Browser(home).enter().get("/session/s-c1/seen").text
    assert "How are charges" in page
    assert "slow_lane" in page
    assert not [text for text in ("my salary", "tea with milk", "pnpm") if text in page]
