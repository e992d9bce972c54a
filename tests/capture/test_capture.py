"""Capture, as hooks started like the client starts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks import SESSION, Client, exchange, line
from memoria.capture import cursor
from memoria.capture.open_sessions import LIVE, OpenSessions


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def test_each_hook_takes_what_is_new_and_nothing_twice(client: Client) -> None:
    for number in range(3):
        client.write(exchange(number))
        assert client.fire("Stop") == ""
    assert client.captured() == client.transcript.read_bytes()
    assert "observer started" in client.log()
    client.fire("Stop")
    assert len(client.jobs()) == 3


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_a_closing_event_without_news_is_spooled_while_jobs_wait(client: Client, event: str) -> None:
    client.fire(event)
    client.write(exchange(1))
    client.fire("Stop")
    client.fire(event)
    assert [job.event for job in client.jobs()][-2:] == ["Stop", event]
    assert "worker started" in client.log()


def test_a_lost_cursor_is_made_good_by_the_last_job(client: Client) -> None:
    for number in (1, 2):
        client.write(exchange(number))
        client.fire("Stop")
    Path(client.paths.cursors, SESSION).unlink()
    client.write(exchange(3))
    client.fire("Stop")
    assert client.captured() == client.transcript.read_bytes()


def test_a_transcript_rewritten_while_jobs_wait_loses_nothing(client: Client) -> None:
    client.write(b"".join(exchange(number) for number in range(9)))
    client.fire("Stop")
    client.transcript.write_bytes(line("new beginning"))
    client.fire("Stop")
    before = len(client.captured())
    client.write(b"".join(exchange(number) for number in range(20, 40)))  # longer by now than the first job's end
    client.fire("Stop")
    assert line("new beginning") in client.captured()
    rest = client.captured()[before:]
    assert all(exchange(number) in rest for number in range(20, 40))


def test_a_session_that_moved_to_another_file_is_read_from_its_beginning(client: Client) -> None:
    client.write(exchange(1))
    client.fire("Stop")
    other = client.transcript.with_name("moved.jsonl")
    other.write_bytes(exchange(2) + exchange(3) + exchange(4))
    client.fire("Stop", transcript_path=str(other))
    assert all(exchange(number) in client.captured() for number in range(1, 5))


def test_a_transcript_that_is_not_there_yet_is_left_to_the_worker(client: Client) -> None:
    client.fire("Stop")
    (job,) = client.jobs()
    assert (job.start, job.end) == (0, 0)
    client.write(exchange(1))
    client.fire("Stop")
    assert client.captured() == exchange(1)


def test_more_than_eight_mebibytes_are_copied_from_the_end_and_the_rest_is_named(client: Client) -> None:
    big = line("x" * 1_000_000)
    client.write(big * 10)
    client.fire("Stop", stop_hook_active=True)
    header = client.spool.header(client.jobs()[0])
    assert (header["start"], header["end"], header["stop_hook_active"]) == (0, 10 * len(big), True)
    assert header["copied_from"] == 10 * len(big) - len(client.captured())
    assert client.captured() == big * 8


def test_each_summary_is_a_note_of_its_own_however_often_the_hook_is_installed(client: Client) -> None:
    for text in ("What was\nsaid.", "Second.", "What was\nsaid.", ""):
        client.fire("PostCompact", compact_summary=text)
    first, second, again = (json.loads(line)["uuid"] for job in client.jobs() for line in client.spool.lines(job))
    assert first == again != second


def test_a_job_that_cannot_be_written_leaves_the_cursor_where_it_was(client: Client) -> None:
    client.write(exchange(1))
    client.fire("SessionStart")
    tmp = Path(client.spool.tmp)
    tmp.rmdir()
    tmp.write_text("in the way", encoding="utf-8")
    client.fire("Stop")
    assert client.jobs() == []
    assert "ERROR" in client.log()
    tmp.unlink()
    client.fire("Stop")
    assert client.captured() == exchange(1)


def test_a_cursor_that_cannot_be_written_stops_neither_the_job_nor_the_worker(client: Client) -> None:
    client.write(exchange(1))
    client.fire("SessionStart")
    cursors = Path(client.paths.cursors)
    cursors.rmdir()
    cursors.write_text("in the way", encoding="utf-8")
    client.fire("SessionEnd")
    assert client.captured() == exchange(1)
    assert "worker started" in client.log()
    client.write(exchange(2))
    client.fire("SessionEnd")
    assert client.captured() == exchange(1) + exchange(2)


def test_a_long_session_asks_for_a_worker_while_it_goes_on(tmp_path: Path) -> None:
    client = Client(tmp_path, MEMORIA_LIMIT_FLUSH_TURNS_STOP="6")  # two turns each time
    for number in range(3):
        assert "worker" not in (client.log() if number else "")
        client.write(exchange(number))
        client.fire("Stop")
    assert "worker started" in client.log()


def test_nothing_is_captured_in_an_excluded_folder(client: Client) -> None:
    (client.cwd / ".memoria-off").touch()
    client.write(exchange(1))
    client.fire("Stop")
    client.fire("PostCompact", compact_summary="What was said.")
    client.fire("SessionEnd")
    assert client.jobs() == []
    assert "left alone" in client.log()
    (client.cwd / ".memoria-off").unlink()
    client.fire("SessionStart", source="resume")
    client.write(exchange(2))
    client.fire("Stop")
    assert client.captured() == exchange(2), "what was said before stays out"
    (client.cwd / ".memoria-off").touch()  # the summary may repeat what is said there
    client.fire("PostCompact", compact_summary="What was said.")
    assert [job.event for job in client.jobs()] == ["Stop"]


def test_of_a_session_that_was_in_an_excluded_folder_nothing_more_is_copied(tmp_path: Path) -> None:
    client = Client(tmp_path, MEMORIA_EXCLUDE="/home/ada/secret")
    for number, folder in enumerate((b"ada/shop", b"ada/secret", b"ada/shop")):
        client.write(exchange(number).replace(b"ada/shop", folder))
        client.fire("Stop")
    client.fire("PostCompact", compact_summary="It may tell what was said there.")
    assert client.captured() == exchange(0), "the worker knows what to skip"
    assert client.jobs()[-1].end == client.transcript.stat().st_size


def test_sessions_are_counted_and_continued_apart(tmp_path: Path) -> None:
    client = Client(tmp_path, MEMORIA_LIMIT_FLUSH_TURNS_STOP="4")
    client.write(exchange(1))
    client.fire("Stop", session_id="one")
    client.fire("Stop", session_id="two")
    assert "worker" not in client.log()
    Path(client.paths.cursors, "two").unlink()
    client.write(exchange(2))
    client.fire("Stop", session_id="one")
    client.fire("Stop", session_id="two")
    assert [(job.session, job.start) for job in client.jobs()] == [
        ("one", 0), ("two", 0), ("one", len(exchange(1))), ("two", len(exchange(1))),
    ]  # fmt: skip


@pytest.mark.parametrize(("path", "spooled"), [("", ["Stop"]), ("/nowhere\0", ["Stop", "SessionEnd"])])
def test_an_end_whose_transcript_cannot_be_found_starts_the_worker_for_what_waits_and_for_nothing_else(
    client: Client, path: str, spooled: list[str]
) -> None:
    client.fire("SessionEnd", transcript_path=path)
    assert "started" not in client.log()
    client.write(exchange(1))
    client.fire("Stop")
    client.fire("SessionEnd", transcript_path=path)
    assert [job.event for job in client.jobs()] == spooled
    assert "worker started" in client.log()
    assert "ERROR" not in client.log()


def test_after_a_clear_the_session_is_still_open_and_after_an_end_it_is_not(client: Client) -> None:
    client.fire("SessionStart", source="startup")
    live = Path(client.paths.where, SESSION + LIVE)
    assert live.exists()
    client.fire("SessionEnd", reason="clear")
    assert live.exists()
    client.fire("SessionEnd", reason="prompt_input_exit")
    assert not live.exists()


@pytest.mark.parametrize(("pauses", "copied"), [(1, exchange(2) + exchange(3)), (2, b"")])
def test_two_pauses_without_a_word_between_them_are_both_left_out(client: Client, pauses: int, copied: bytes) -> None:
    client.fire("SessionStart")
    client.write(exchange(1) + exchange(2) + exchange(3))
    ends = [0, len(exchange(1)), 2 * len(exchange(1))]
    silence = {"transcript": str(client.transcript), "spans": [ends[:2], ends[1:]][:pauses], "open": False}
    Path(client.paths.cursors, SESSION + cursor.OFF).write_text(json.dumps(silence), encoding="utf-8")
    client.fire("Stop")
    assert client.captured() == copied, "what follows two is left to the worker, which knows what to skip"
    assert [job.end for job in client.jobs()] == [client.transcript.stat().st_size]


def test_an_end_of_which_only_half_a_line_is_new_is_spooled(client: Client) -> None:
    client.write(line("the end")[:-1])
    client.fire("Stop")
    assert client.jobs() == []
    client.fire("SessionEnd")
    assert [job.event for job in client.jobs()] == ["SessionEnd"]


def test_a_session_leaves_a_job_without_a_transcript_when_there_was_a_prompt(client: Client) -> None:
    client.fire("SessionStart", source="startup")
    client.fire("SessionEnd", reason="prompt_input_exit")
    assert client.jobs() == []
    assert "left without a prompt" in client.log()
    client.fire("UserPromptSubmit", prompt="/init")
    client.fire("SessionEnd", reason="other")
    assert [job.event for job in client.jobs()] == ["SessionEnd"]


def test_a_prompt_is_told_as_open_until_its_answer_ends(client: Client) -> None:
    """Between a Stop and the look at the transcript, the block is older than the prompt."""
    sessions, client.env["CLAUDE_PID"] = OpenSessions(client.paths.where), "7"
    cases = (("Stop", False, True), ("PreCompact", True, True), ("Stop", False, False), ("SessionEnd", True, False))
    for number, (event, is_open, is_kept) in enumerate(cases):  # at the first there is no transcript yet
        client.fire("UserPromptSubmit", prompt="draw the frame")
        client.fire(event)
        assert ("draw the frame" in sessions.block(SESSION)) is is_open
        assert Path(client.paths.where, f"{SESSION}.7.sent").exists() is is_kept
        client.write(exchange(number))
    assert sessions.was_prompted(SESSION)
