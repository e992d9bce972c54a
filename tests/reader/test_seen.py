"""What Claude saw: the page and the notes that a session was given, and what became of them."""

from __future__ import annotations

from pathlib import Path

from memoria.ground.home import Home
from memoria.transcripts.screen import Tombstones
from reader_home import Browser, asked, given, transcribe

PAGE = "Notes\n<memoria-notes-1a2b3c>\n## What matters most\n- Use pnpm.\n</memoria-notes-1a2b3c>\n"
SECRET = "ghp_" + "a8B3c9D2e7F1g6H5i4J0k8L3m9N2o7P1q6R5"  # not a key
NOTES = (
    "Notes that may fit:\n<memoria-notes-1a2b3c>\n"
    "- [fact, 2026-11-20, the user] Charges carry the `order_key` of the order. (daily/2026-11-20#^l-c1001)\n"
    "- [article, 2026-11-20] The queue is called `slow_lane` now. (knowledge/concepts/order-queue.md)\n"
    "- [fact, 2026-11-20] Somebody likes tea with milk. (daily/2026-11-20#^l-c1002)\n</memoria-notes-1a2b3c>\n"
)


CHARGES = "How are charges of an order identified?"


def seen(home: Home, *rows: dict[str, object]) -> str:
    """The page of what was seen in a session with these lines."""
    transcribe(home, "s-c1", [*rows], {"captured": 4})
    return Browser(home).enter().get("/session/s-c1/seen").text


def test_a_session_shows_its_page_and_each_note_with_what_it_comes_from(home: Home) -> None:
    answer = [{"type": "text", "text": "I pass the order_key to charge()."}]
    page = seen(
        home, given("SessionStart", PAGE), asked(CHARGES), given("UserPromptSubmit", NOTES),
        given("UserPromptSubmit", "Another hook's words."),
        {"type": "assistant", "message": {"role": "assistant", "id": "m1", "content": answer}},
    )  # fmt: skip
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
    page = seen(
        home, asked(CHARGES), given("UserPromptSubmit", NOTES), asked("How does the zeppelin land?") | off,
        given("UserPromptSubmit", NOTES.replace("tea with milk", "tea in a zeppelin")) | off,
        given("SessionStart", PAGE) | off,
    )  # fmt: skip
    assert page.count("zeppelin") == 2
    assert "Use pnpm" in page
    (hidden / ".memoria-off").touch()
    page = Browser(home).enter().get("/session/s-c1/seen").text
    assert CHARGES in page
    assert "zeppelin" not in page
    assert "Use pnpm" not in page
    assert page.count("Not shown: ") == 2
    assert ".memoria-off" in page


def test_no_secret_that_was_typed_is_shown(home: Home) -> None:
    prompt = f"Charges of the order fail with order_key={SECRET} now."
    page = seen(home, asked(prompt), given("UserPromptSubmit", NOTES))
    assert "Charges of the order fail" in page
    assert SECRET not in page


def test_what_was_forgotten_since_is_not_shown_again(home: Home) -> None:
    Tombstones(home.paths).add("Somebody likes tea with milk.")
    Tombstones(home.paths).add("- Use pnpm.")
    prompt = asked(f"{CHARGES} <private>my salary</private>")
    page = seen(home, given("SessionStart", PAGE), prompt, given("UserPromptSubmit", NOTES))
    assert "How are charges" in page
    assert "slow_lane" in page
    assert not [text for text in ("my salary", "tea with milk", "pnpm") if text in page]
