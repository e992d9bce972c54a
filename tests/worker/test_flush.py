"""Flush: from waiting jobs to entries, with a model that says what the test told it to."""

from __future__ import annotations

import json
import operator
import os
import sqlite3
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents import FIXTURES
from as_before import same
from facts import a_fact, keeper, sync
from home_of import run
from hooks import SESSION, exchange, line
from memoria import cli
from memoria.base import project
from memoria.capture import detach, open_sessions
from memoria.capture.hook import Event
from memoria.capture.spool import Job, Spool
from memoria.commands import flush, query, search
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks
from memoria.ground.errors import BadAnswerError, LedgerDamagedError, ModelUnavailableError, OverBudgetError
from memoria.ground.home import Home
from memoria.mcp import fact_tools
from memoria.mcp.calls import Session
from memoria.models.protocol import Prompt
from memoria.statements.keeper import Keeper
from memoria.transcripts import intake
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn_reader import Reader
from memoria.worker import conversation, worker
from memoria.worker.worker import Report, Worker
from memoria.worker.writer import Writer
from memory_server import MemoryServer
from places import TRANSCRIPTS
from scripted_model import Scripted

ANSWER = {
    "worth_saving": True, "title": "A day's work", "context": "It went well.", "key_exchanges": [],
    "action_items": [], "statements": [],
}  # fmt: skip
NOTHING = {**ANSWER, "worth_saving": False}
BAD = BadAnswerError("no JSON")
AWAY = ModelUnavailableError("overloaded")


class Bench:
    """A home, its spool, and flushes over it."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base = base
        self.set = monkeypatch.setenv
        self.set("MEMORIA_MODEL", "offline")
        self.set("MEMORIA_TZ", "UTC")
        self.set("MEMORIA_LIMIT_TRANSCRIPT_WAIT_S", "0")
        self.transcript = base / "t.jsonl"
        self.naps: list[float] = []
        self.opened: list[Worker] = []
        self.model = Scripted([ANSWER])

    @property
    def home(self) -> Home:
        return Home.open()

    @property
    def spool(self) -> Spool:
        return Spool(self.home.paths.spool)

    def script(self) -> None:
        """Let workers that the test does not build itself ask a scripted model; the compile they start is nothing."""
        script = self.base / "answers.json"
        script.write_text(json.dumps({"flush": [ANSWER]}), encoding="utf-8")
        self.set("MEMORIA_MODEL", f"scripted:{script}")
        self.set("MEMORIA_PYTHON", "/bin/true")

    def job(self, data: bytes = b"", event: str = "SessionEnd", session: str = SESSION, **header: Any) -> str:
        """Spool a slice as a hook does; the transcript is there."""
        self.transcript.touch()
        known = {"transcript": str(self.transcript), "start": 0, "copied_from": 0, "end": len(data), "cwd": "/x/shop"}
        return self.spool.add({**known, "event": event, "session": session, **header}, data)

    def flush(self, *answers: Any, now: float = 0.0) -> tuple[Worker, Report]:
        """One run with these answers."""
        verb = Worker(self.home)
        self.opened.append(verb)
        self.model = Scripted(answers or [ANSWER])
        verb.flush.model.model = self.model
        verb.flush.model.sleep = self.naps.append
        verb.now = (lambda: time.time() + now) if now else time.time
        verb.roll = lambda: 0.5
        return verb, verb.run()

    def entries(self) -> list[Any]:
        daily = self.opened[-1].daily
        return [entry for day in daily.days() for entry in daily.entries(day)]

    def waiting(self) -> list[str]:
        return [job.name for job in self.spool.jobs()]

    def failed(self) -> list[str]:
        return [job.name for job in self.spool.jobs(self.spool.failed)]

    def said(self) -> str:
        return "\n".join(prompt.text for prompt in self.model.prompts)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    bench = Bench(tmp_path, monkeypatch)
    yield bench
    for verb in bench.opened:
        verb.ledger.close()


def keys(*data: bytes) -> set[str]:
    return {turn.key for turn in Reader().read(b"".join(data).splitlines(keepends=True))}


def kept(bench: Bench) -> Counter[str]:
    return Counter(key for entry in bench.entries() for key in entry.turns)


def test_a_statement_that_nobody_could_ask_for_is_given_phrases_by_the_next_flush_that_shows_it(bench: Bench) -> None:
    own = project.key_of("/x/shop", bench.home.settings, bench.home.paths)
    told = [a_fact("The harbour gauge is read in inches.", project=own),
            a_fact("The harbour pump runs at noon.", project=own, asked_as=("when does it run",))]  # fmt: skip
    with Keeper.at(bench.home) as keeper:
        keeper.take(told)
    bench.job(line("Mend the harbour gauge and the harbour pump") + line("Done.", "assistant"))
    asked: list[Any] = [{"id": fact.id, "asked_as": ["add a unit", "show a depth"]} for fact in told]
    asked += [{"id": "l-unknown1", "asked_as": ["x y"]}, "no object", {"id": told[0].id}]
    bench.flush({**ANSWER, "asked": asked})
    assert f"{told[0].id}* · " in bench.said()
    assert f"{told[1].id} · " in bench.said()
    with Keeper.at(bench.home) as keeper:
        known = {fact.id: fact.asked_as for fact in keeper.store.facts()}
    assert known == {told[0].id: ("add a unit", "show a depth"), told[1].id: ("when does it run",)}
    bench.job(line("Mend the harbour gauge again") + line("It is.", "assistant"), session="another")
    bench.flush()
    assert f"{told[0].id} · " in bench.said()


def test_what_was_remembered_or_came_from_a_server_is_found_by_the_phrases_that_a_flush_gives_it(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = project.key_of("/x/shop", bench.home.settings, bench.home.paths)
    gauge, pump = "The harbour gauge is read in inches.", "The harbour pump runs at noon."
    with MemoryServer() as server, keeper(tmp_path / "there") as there, Keeper.at(bench.home) as here:
        there.take([a_fact(gauge, project=own)])
        for home in (there, here):
            sync(home, server)
    fact_tools.remember(Session(bench.home, own, "", "/x/shop"), {"content": pump})
    with Keeper.at(bench.home) as here:
        ids = {fact.content: fact.id for fact in here.store.facts()}
    assert set(ids) == {gauge, pump}
    ways = {gauge: "convert a depth to metres", pump: "schedule the ebb alarm"}
    bench.job(line("Mend the harbour gauge and the harbour pump") + line("Done.", "assistant"))
    bench.flush({**ANSWER, "asked": [{"id": ids[text], "asked_as": [way]} for text, way in ways.items()]})
    for text, way in ways.items():
        for verb in (search, query):
            assert run(verb, bench.home, way) == 0
            assert text in capsys.readouterr().out


def test_an_entry_names_the_agent_whose_session_it_tells(bench: Bench) -> None:
    rollout = next(FIXTURES.rglob("rollout-2025-07*.jsonl"))
    bench.job(rollout.read_bytes(), agent="codex")
    bench.flush()
    assert {entry.agent for entry in bench.entries()} == {"codex"}


def test_all_jobs_of_a_session_become_one_call_and_one_entry(bench: Bench) -> None:
    Path(bench.spool.cur).rmdir()  # as in a copy that leaves out what is empty
    for number in range(4):
        bench.job(exchange(number), "Stop")
    bench.job(exchange(4))
    bench.flush()
    assert len(bench.model.prompts) == 1
    assert kept(bench) == Counter(dict.fromkeys(keys(*map(exchange, range(5))), 1))
    assert bench.waiting() == []


@pytest.mark.parametrize(("event", "turns", "written"), [("PreCompact", 2, 1), ("Stop", 6, 0)])
def test_too_little_waits_for_the_next_event_and_is_never_dropped(
    bench: Bench, event: str, turns: int, written: int
) -> None:
    bench.set("MEMORIA_LIMIT_FLUSH_TURNS_STOP", "3")  # one answer counts as two turns, however many it took
    bench.job(b"".join(map(exchange, range(turns // 2))), event)
    bench.flush()
    assert (len(bench.entries()), len(bench.waiting())) == (written, 1 - written)
    bench.job(exchange(99))
    bench.flush()
    assert keys(exchange(0), exchange(99)) <= set(kept(bench))
    assert set(kept(bench).values()) == {1}


@pytest.mark.parametrize("minute", [60, -60])  # the clock may have been set back since
def test_a_session_that_never_ended_is_taken_when_it_was_idle_long_enough(bench: Bench, minute: int) -> None:
    bench.job(exchange(1), "Stop")
    bench.flush(now=119 * minute)
    assert bench.entries() == []
    bench.flush(now=121 * minute)
    assert len(bench.entries()) == 1


def test_a_model_that_cannot_be_had_is_asked_later_and_the_job_is_not_blamed(bench: Bench) -> None:
    name = bench.job(exchange(1))
    for day in range(8):
        verb, report = bench.flush(AWAY, now=day * 86400)
        assert report.failures
    assert bench.waiting() == [name]
    count, not_before, reason = verb.ledger.tries(name)
    assert count == 0
    assert reason == "overloaded"
    _, report = bench.flush(now=7 * 86400)
    assert bench.model.prompts == []  # too early
    assert not_before - time.time() < 8 * 86400 + clock.MAX_DELAY_S
    assert [clock.is_waiting(26 * 3600 + late, 0) for late in (0, 1)] == [True, False]
    assert [clock.backoff(count, 1.0) for count in (1, 2, 9, 10, 9_999)] == [60, 120, 15_360, 21_600, 21_600]
    assert [clock.is_waiting(hours * 3600, 0) for hours in (0, 1 / 3600, 26, 26.001)] == [False, True, True, False]
    bench.flush(now=9 * 86400)
    assert bench.waiting() == []


def test_bad_answers_count_and_end_in_failed_with_the_reason_while_others_go_on(bench: Bench) -> None:
    poison = bench.job(line("poison"), session="p")

    def answer(prompt: Prompt) -> Any:
        return BAD if "poison" in prompt.text else ANSWER

    for day in range(5):
        ahead = day * 86400.0
        bench.job(exchange(day), session=f"other-{day}")
        verb = Worker(bench.home)
        bench.opened.append(verb)
        verb.flush.model.model, verb.flush.model.sleep = Scripted(answer), bench.naps.append
        verb.now, verb.roll = partial(operator.add, time.time(), ahead), lambda: 1.0
        verb.run()
        assert len(bench.entries()) == day + 1
        assert day == 4 or verb.ledger.tries(poison)[1] == verb.now() + 60 * 2**day, "each wait is longer"
    assert bench.failed() == [poison]
    why = Path(bench.spool.failed, poison + ".why").read_text(encoding="utf-8")
    assert why == "BadAnswerError: no JSON\n"


def test_a_job_that_cannot_be_read_is_set_aside_and_the_rest_of_its_session_goes_on(bench: Bench) -> None:
    torn = bench.job(exchange(1), "Stop")
    bench.job(exchange(2))
    Path(bench.spool.new, torn).write_bytes(b"\0\0\0")
    bench.flush()
    assert bench.failed() == [torn]
    assert set(kept(bench)) == keys(exchange(2))
    assert bench.waiting() == []


def test_a_job_that_vanishes_stops_nobody_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = bench.job(exchange(1), session="gone")
    bench.job(exchange(2), session="here")
    real, looks = Spool.header, iter([False, False, True])  # after a look at both for their projects

    def header(self: Spool, job: Job) -> dict[str, object]:
        if next(looks, False):
            Path(self.new, gone).unlink()
        return real(self, job)

    monkeypatch.setattr(Spool, "header", header)
    _, report = bench.flush()
    assert (set(kept(bench)), len(report.failures)) == (keys(exchange(2)), 1)


def test_nothing_worth_saving_writes_no_entry_but_a_line_in_the_ledger(bench: Bench) -> None:
    bench.job(exchange(1))
    verb, _ = bench.flush(NOTHING)
    assert bench.entries() == []
    assert bench.waiting() == []
    (note,) = verb.ledger.notes("no-entry")
    assert "nothing worth saving" in note[3]
    bench.job(exchange(1))
    bench.flush()
    assert bench.model.prompts == []  # recorded: not asked again


@pytest.mark.parametrize(("zone", "day"), [("UTC", "2026-11-20"), ("Asia/Tokyo", "2026-11-21")])
def test_an_entry_stands_on_the_users_day_when_it_happened(bench: Bench, zone: str, day: str) -> None:
    bench.set("MEMORIA_TZ", zone)
    bench.job(exchange(1, time="2026-11-20T23:30:00Z"))
    bench.flush()
    assert [entry.day for entry in bench.entries()] == [date.fromisoformat(day)]


def test_what_follows_a_night_is_an_entry_of_its_own_day(bench: Bench) -> None:
    bench.job(
        exchange(1, time="2026-11-20T23:59:00Z")
        + exchange(2, time="2026-11-21T00:30:00Z")
        + exchange(3, time="2026-11-21T08:00:00Z")
        + exchange(4, time="2026-11-21T13:00:00Z"),
        "PreCompact",
    )
    bench.set("MEMORIA_LIMIT_FLUSH_TURNS_COMPACT", "6")  # of all days together
    bench.flush({**ANSWER, "statements": [{"kind": "fact", "content": "question 1", "quote": "question 1"}]}, ANSWER)
    assert [(entry.day.day, entry.time) for entry in bench.entries()] == [(20, "23:59"), (21, "08:00")]
    assert set(kept(bench).values()) == {1}
    with Keeper.at(bench.home) as there:
        assert [fact.time.day for fact in there.store.facts()] == [20], "the day in whose log it is"


def test_a_transcript_that_is_not_there_yet_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.set("MEMORIA_LIMIT_TRANSCRIPT_WAIT_S", "20")
    name = bench.job(b"")
    bench.transcript.unlink()
    monkeypatch.setattr("memoria.transcripts.intake.time.sleep", lambda _: bench.transcript.write_bytes(exchange(1)))
    bench.flush()
    assert set(kept(bench)) == keys(exchange(1))
    assert name not in bench.waiting()


def test_a_job_whose_transcript_never_comes_does_not_hold_back_what_the_session_said_elsewhere(bench: Bench) -> None:
    lost = bench.job(b"", "Stop", transcript=str(bench.base / "never.jsonl"))
    bench.job(exchange(1))
    bench.flush()
    assert set(kept(bench)) == keys(exchange(1))
    verb, report = bench.flush()  # looks at once, and tells of no failure: the next hook may find it
    assert (bench.waiting(), report.failures, verb.ledger.tries(lost)[0]) == ([lost], [], 0)
    assert verb.ledger.tries(lost)[1] <= time.time()
    bench.flush(now=25 * 3600)
    assert bench.waiting() == []


def test_a_range_no_hook_copied_is_read_from_the_transcript(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_LINE", 2_000)
    whole, new = exchange(1) + b"torn\n", exchange(2)
    old = whole + b"x" * 4_500 + b"\n"
    bench.transcript.write_bytes(old + new)
    bench.job(new, copied_from=len(old), end=len(old) + len(new))
    verb, _ = bench.flush()
    assert set(kept(bench)) == keys(exchange(1), new)
    assert list(project.read(bench.home.paths.projects).folders) == ["/x/shop"], "it is learned where work is done"
    told = "\n".join(note[3] for note in verb.ledger.notes("missing"))
    assert "1 line of job" in told
    assert f"bytes {len(whole)} to {len(old)} of {bench.transcript}: a single line" in told


@pytest.mark.parametrize("fate", ["gone", "folder", "fifo", "shorter"])
def test_a_range_that_is_gone_is_named_and_the_rest_is_kept(bench: Bench, fate: str) -> None:
    new = exchange(2)
    bench.job(new, copied_from=1000, end=1000 + len(new))
    bench.transcript.unlink()
    if fate == "folder":
        bench.transcript.mkdir()
    elif fate == "fifo":
        os.mkfifo(bench.transcript)
    elif fate == "shorter":
        bench.transcript.write_bytes(exchange(1)[:100])
    verb, _ = bench.flush()
    assert set(kept(bench)) == keys(new)
    (note,) = verb.ledger.notes("missing")
    assert note[3].startswith(f"bytes {100 * (fate == 'shorter')} to 1000 of {bench.transcript}: ")
    assert bench.waiting() == []


def test_what_was_written_after_the_last_hook_looked_is_kept(bench: Bench) -> None:
    bench.transcript.write_bytes(exchange(1) + exchange(2)[:-1])  # without a last newline
    bench.job(exchange(1))
    bench.flush()
    assert set(kept(bench)) == keys(exchange(1), exchange(2))


def test_overlapping_slices_and_forks_count_once(bench: Bench) -> None:
    bench.job(exchange(1) + exchange(2), "Stop")
    bench.job(exchange(2) + exchange(3))
    bench.job(exchange(1) + exchange(2) + exchange(3) + exchange(4), session="fork")
    bench.flush()
    assert kept(bench) == Counter(dict.fromkeys(keys(*map(exchange, range(1, 5))), 1))


def test_an_entry_whose_writer_died_is_not_written_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    bench.job(exchange(1))
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", dies)
        with pytest.raises(KeyboardInterrupt):
            bench.flush()
    bench.job(exchange(2))
    bench.flush()
    assert kept(bench) == Counter(dict.fromkeys(keys(exchange(1), exchange(2)), 1))
    assert "question 1" not in bench.said()


def test_a_long_turn_whose_first_piece_fails_is_tried_again_whole(bench: Bench) -> None:
    bench.set("MEMORIA_LIMIT_CALL_CHARS", "2000")
    bench.set("MEMORIA_LIMIT_RETRY_S", "")
    text = " ".join(f"word{number:03d}" for number in range(300))
    bench.job(line(text))
    bench.flush(BAD, ANSWER)
    assert kept(bench) == Counter()
    assert len(bench.waiting()) == 1
    bench.flush(ANSWER, now=86400)
    assert kept(bench) == Counter(dict.fromkeys(keys(line(text)), 1))
    assert all(f"word{number:03d}" in bench.said() for number in range(300))
    assert len({entry.id for entry in bench.entries()}) == len(bench.model.prompts) == 2, "an entry for each piece"


@pytest.mark.parametrize("set_aside", [True, False])
def test_who_asks_for_it_does_not_wait_out_what_a_failed_job_has_to_wait(bench: Bench, *, set_aside: bool) -> None:
    bench.set("MEMORIA_LIMIT_MAX_ATTEMPTS", "1" if set_aside else "5")
    bench.job(exchange(1))
    bench.flush(BAD, BAD, BAD)
    assert (len(bench.failed()), len(bench.waiting())) == (int(set_aside), int(not set_aside))
    bench.script()
    assert flush.command(Namespace(retry_failed=set_aside, now=not set_aside, json=False), bench.home) == 0
    assert len(bench.entries()) == 1
    assert bench.failed() == bench.waiting() == []


def test_two_workers_are_one(bench: Bench) -> None:
    bench.script()
    bench.job(exchange(1))
    with locks.take(Path(bench.home.paths.worker_lock)) as mine:
        assert mine
        assert worker.work(bench.home) == 0
    assert len(bench.waiting()) == 1
    assert worker.work(bench.home) == 1


def test_a_job_that_comes_while_the_worker_lets_go_is_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.script()
    bench.job(exchange(1))
    real: Callable[..., Report] = worker._run_locked
    late = iter([lambda: bench.job(exchange(2), session="late")])

    def run(home: Home, *, insist: bool) -> Report:
        report = real(home, insist=insist)
        next(late, lambda: "")()
        return report

    monkeypatch.setattr(worker, "_run_locked", run)
    assert worker.work(bench.home) == 2
    assert bench.waiting() == []


def test_a_ledger_found_damaged_at_work_is_begun_anew_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.script()
    bench.job(exchange(1))
    bench.flush()
    bench.job(exchange(1) + exchange(2))
    real = Worker.run
    hits = iter([True])

    def run(self: Worker) -> Report:
        if next(hits, False):
            raise LedgerDamagedError("malformed")
        return real(self)

    monkeypatch.setattr(Worker, "run", run)
    assert worker.work(bench.home) == 1
    assert set(kept(bench).values()) == {1}
    assert list(Path(bench.home.paths.state).glob("ledger.db.bak-*"))
    hits = iter([True, True])
    with pytest.raises(LedgerDamagedError):
        worker.work(bench.home)


def pages(bench: Bench) -> str:
    return "".join(each.read_text("utf-8") for each in Path(bench.home.paths.page).rglob("*") if each.is_file())


def test_the_worker_makes_the_pages_for_a_new_entry_and_those_that_a_killed_one_owed(bench: Bench) -> None:
    bench.script()
    bench.job(exchange(1))
    worker.work(bench.home)
    assert "A day's work" in pages(bench)
    for path in Path(bench.home.paths.page).rglob("*"):
        if path.is_file():
            path.unlink()
    worker.work(bench.home)
    assert pages(bench) == ""  # nothing new, nothing owed
    bench.job(exchange(2))
    bench.job(exchange(3), session="of nothing")
    evening = {**ANSWER, "title": "Its evening", "action_items": ["Paint it."]}
    bench.flush(evening, NOTHING)  # by one that is killed then
    worker.work(bench.home)
    assert all(text in pages(bench) for text in ("Its evening", "Paint it."))
    (log,) = Path(bench.home.paths.daily).glob("*.md")
    log.write_text(log.read_text().replace("- [ ] Paint", "- [x] Paint"))
    worker.work(bench.home)
    assert "Paint it." not in pages(bench)
    with Keeper.at(bench.home) as there:
        # remembered, and nobody made the page
        there.take([replace(a_fact("The mole digs at night.", project="shop"), time=clock.now())])
    worker.work(bench.home)
    assert "The mole digs" in pages(bench)
    assert [" 1 learned " in path.read_text() for path in Path(bench.home.paths.days).iterdir()] == [True]
    bench.set("MEMORIA_EXCLUDE", "/x/shop")
    worker.work(bench.home)
    assert "Its evening" not in pages(bench), "of a folder that is excluded since"


def test_what_failed_is_told_at_the_next_start(bench: Bench) -> None:
    bench.script()
    name = bench.job(exchange(1))
    Path(bench.spool.new, name).write_bytes(b"\0\0\0")
    worker.work(bench.home)
    assert "set aside" in Path(bench.home.paths.state, "notice").read_text(encoding="utf-8")


def test_a_pattern_of_the_users_that_removes_nothing_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.script()
    for pattern, is_told in (("ACME (", True), ("ACME", False)):
        monkeypatch.setenv("MEMORIA_REDACT_EXTRA", pattern)
        bench.job(exchange(1 + is_told))
        worker.work(bench.home)
        notice = Path(bench.home.paths.state, "notice")
        assert (notice.exists() and "'ACME (' is not a regular" in notice.read_text("utf-8")) == is_told
        for verb in ("status", "doctor"):
            cli.main([verb])
        told = capsys.readouterr().out
        assert (told.count("'ACME (' is not a regular"), "last flush    never" in told) == (2 * is_told, False)


@pytest.mark.parametrize(("minutes", "starts"), [(None, 1), (59, 0), (61, 1)])
def test_a_compile_is_started_when_the_interval_has_passed_and_there_is_something_new(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, minutes: int | None, starts: int
) -> None:
    monkeypatch.setattr(gate, "FIRST_ENTRIES", 0)  # there is something to read
    bench.script()
    verb = Worker(bench.home)
    if minutes is not None:
        verb.ledger.put("last_compile", (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat())
    verb.close()
    started: list[Any] = []
    monkeypatch.setattr(detach, "start", lambda way, _: started.append(way))
    worker.work(bench.home)
    assert started == []
    bench.job(exchange(1))
    worker.work(bench.home)
    assert len(started) == starts
    assert all(way[-1] == "--due" for way in started)


@pytest.mark.parametrize("is_own", [False, True], ids=["excluded", "memoria's own"])
def test_what_waits_of_a_folder_excluded_since_or_began_in_our_own_is_let_go_without_a_call(
    bench: Bench, tmp_path: Path, is_own: bool
) -> None:
    (tmp_path / ".memoria-off").touch()
    data = exchange(1)  # of a session that went elsewhere from our own
    bench.job(
        data if is_own else data.replace(b"/home/ada/shop", str(tmp_path).encode()),
        cwd=str(Path(bench.home.paths.state, "claude") if is_own else tmp_path),
    )
    verb, _ = bench.flush()
    assert bench.model.prompts == []
    assert bench.waiting() == []
    assert all(verb.ledger.reason_of(key) for key in keys(exchange(1)))
    assert bench.entries() == []


def test_a_session_of_several_calls_is_written_whole(bench: Bench) -> None:
    bench.set("MEMORIA_LIMIT_CALL_CHARS", "2000")
    text = [line(f"question {number} " + "word " * 200) for number in range(35)]  # more turns than are looked at ahead
    bench.job(b"".join(text))
    bench.flush()
    assert len(bench.model.prompts) > 2
    assert kept(bench) == Counter(dict.fromkeys(keys(*text), 1))


def test_no_secret_is_sent_to_a_model(bench: Bench) -> None:
    key = "ghp" + "_" + "a1B2c3D4e5F6" * 3
    bench.job(line(f"use {key} to push") + exchange(1))
    bench.flush()
    assert "to push" in bench.said()
    assert key not in bench.said()


def test_a_secret_that_the_model_names_is_kept_nowhere(bench: Bench) -> None:
    bench.job(line("the door opens with brave otter, 4711; Brave\n  Otter; room 47110, and otters swim") + exchange(1))
    named = ["brave otter", "4711", "the", "", "x" * 201, 7, "[redacted:own]", "redacted", {"a": "b"}]
    fact = {"kind": "fact", "content": "The door opens with brave otter.", "quote": "the door opens with brave otter"}
    bench.flush({**ANSWER, "context": "The door: brave otter", "statements": [fact], "secrets": named})
    (entry,) = bench.entries()
    assert (entry.context, [said.text for said in entry.learned]) == (
        "The door: [redacted:seen]", ["The door opens with [redacted:seen]."]
    )  # fmt: skip
    archive = Archive.of(bench.home.paths)
    (archived,) = archive.list_kept()
    assert archive.read(archived)[0].text == (
        "the door opens with [redacted:seen], [redacted:seen]; [redacted:seen]; room 47110, and otters swim"
    )
    files = [path for path in bench.base.rglob("*") if path.is_file() and path != bench.transcript]
    assert not [path for path in files if b"brave otter" in path.read_bytes()]
    bench.job(line("and the window?") + exchange(2), session="s2")
    bench.flush({**ANSWER, "secrets": "brave otter"})
    assert len(bench.entries()) == 2


def test_an_entry_that_cannot_be_written_is_unknown_to_the_ledger_and_the_job_is_not_blamed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.set("MEMORIA_LIMIT_MAX_ATTEMPTS", "1")
    name = bench.job(exchange(1))
    for error in (OSError(28, "No space left on device"), sqlite3.OperationalError("database is locked")):
        with monkeypatch.context() as patch:
            patch.setattr(DailyLog, "append", lambda *_, error=error: (_ for _ in ()).throw(error))
            verb, _ = bench.flush()
        assert all(verb.ledger.entry_of(key) is None for key in keys(exchange(1)))
        assert bench.waiting() == [name]
        verb.ledger.lift_waits()
    verb, _ = bench.flush(now=86400)
    assert set(kept(bench)) == keys(exchange(1))
    assert verb.ledger.tries(name)[2] == ""


def test_a_fault_of_ours_counts_and_stops_no_other_session(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.set("MEMORIA_LIMIT_MAX_ATTEMPTS", "2")
    name = bench.job(line("poison"), session="one")
    real = Writer.write_entry

    def write(self: Writer, stretch: Any, *given: Any) -> str:
        if "poison" in str(stretch):
            raise ZeroDivisionError
        return real(self, stretch, *given)

    monkeypatch.setattr(Writer, "write_entry", write)
    bench.job(exchange(2), session="two")
    bench.flush()
    assert set(kept(bench)) == keys(exchange(2))
    assert bench.waiting() == [name]
    assert [job.name for job in bench.spool.jobs(bench.spool.new)] == [name]
    bench.flush(now=86400)
    assert bench.failed() == [name]


def test_what_is_over_budget_waits_until_the_budget_is_new(bench: Bench) -> None:
    name = bench.job(exchange(1))
    until = datetime.now(UTC) + timedelta(hours=5)
    verb, report = bench.flush(OverBudgetError("spent", until))
    assert verb.ledger.tries(name)[1] == pytest.approx(until.timestamp(), abs=1)
    assert report.deferred
    assert report.failures == []


def test_a_bad_answer_about_one_day_holds_up_no_other(bench: Bench) -> None:
    bench.set("MEMORIA_LIMIT_RETRY_S", "")
    late = [exchange(n, time=f"2026-11-2{n}T10:00:00Z") for n in range(3)]
    bench.job(b"".join(late))
    bench.flush(ANSWER, BAD, ANSWER)
    assert [entry.day.day for entry in bench.entries()] == [20, 22]
    bench.flush(now=86400)
    assert [entry.day.day for entry in bench.entries()] == [20, 21, 22]


def test_a_job_whose_prompt_may_yet_be_taken_back_is_read_again(bench: Bench) -> None:
    bench.set("MEMORIA_LIMIT_FLUSH_TURNS_STOP", "2")
    queued = (
        b'{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-20T10:00:01.000Z","sessionId":"s",'
        b'"content":"and the tests too"}\n'
    )
    name = bench.job(exchange(1) + queued, "Stop")
    bench.flush()
    assert set(kept(bench)) == keys(exchange(1))
    assert "and the tests too" not in bench.said()
    assert [job.name for job in bench.spool.jobs(bench.spool.new)] == bench.waiting() == [name]


def test_what_claude_said_before_the_first_prompt_is_told_and_nothing_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, then = exchange(8) + exchange(9) + exchange(1), exchange(2) + exchange(3, time="2026-11-21T08:00:00Z")
    monkeypatch.setattr(conversation, "TAIL_BYTES", len(exchange(1)) + 9)
    bench.transcript.write_bytes(first + then + exchange(4))
    bench.job(then, start=len(first), copied_from=len(first), end=len(first + then))
    bench.flush(ANSWER, ANSWER, ANSWER)
    assert [prompt.material["before"] for prompt in bench.model.prompts] == ["answer 1", "answer 2", "answer 3"]


def test_turns_in_which_nobody_speaks_are_recorded_and_not_sent(bench: Bench) -> None:
    note = b'{"type":"memoria-note","uuid":"n1","text":"What was said.","timestamp":"2026-11-20T10:00:01.000Z"}\n'
    bench.job(note, "PostCompact")
    bench.job(b"")
    verb, _ = bench.flush()
    assert bench.model.prompts == []
    assert [bool(verb.ledger.reason_of(key)) for key in keys(note)] == [True]


@pytest.mark.parametrize(
    ("ago", "key", "read"),
    [(None, "", False), (3600, "", False), (5, "", True), (3600, "p1", True), (5, "queued", True)],
    ids=["no transcript", "said before", "by its words", "by its id", "as it waits"],
)
def test_a_prompt_over_which_the_client_was_killed_is_taken_up_once(
    bench: Bench, ago: int | None, key: str, *, read: bool
) -> None:
    asked = {"session_id": SESSION, "prompt_id": "p1", "prompt": "go on", "transcript_path": str(bench.transcript)}
    bench.set("CLAUDE_PID", "999999999")
    open_sessions.keep_sent(Event({**asked, "cwd": "/x/shop"}), bench.home.paths)
    if ago is not None:
        moment = datetime.now(UTC) - timedelta(seconds=ago)
        told = line("go on", time=moment.isoformat()).replace(b'"uuid":"', f'"uuid":"{key}'.encode())
        waits = told.replace(b'"type":"user"', b'"type":"queue-operation","operation":"enqueue","content":"go on"')
        bench.transcript.write_bytes(exchange(1) + (waits if key == "queued" else told))
    for _ in range(2):
        bench.flush()
    assert sum(kept(bench).values()) == (3 if read else 1)
    assert bench.waiting() == open_sessions.find_dead(bench.home.paths) == []
    assert {(entry.session, entry.project) for entry in bench.entries()} == {(SESSION, "shop")}


def test_the_summary_of_a_compaction_goes_with_the_next_prompt_also_on_another_day(bench: Bench) -> None:
    note = b'{"type":"memoria-note","uuid":"n1","text":"The mole was said.","timestamp":"2026-11-20T20:00:00.000Z"}\n'
    bench.job(note, "PostCompact")
    bench.job(exchange(1, time="2026-11-21T08:00:00Z"))
    bench.flush()
    assert [(entry.day.day, entry.time) for entry in bench.entries()] == [(21, "08:00")]
    assert "The mole was said." in bench.said()


def test_sessions_become_a_day_as_they_did_before(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a model is told of three recorded sessions, and what becomes of its answers."""
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))
    said = {
        "client-2.1": "semicolons as separators", "survey/plans": "use postgres instead",
        "client-2.0": "bump the version",
    }  # fmt: skip
    rows: list[object] = []
    for number, (name, quote) in enumerate(said.items()):
        data = (TRANSCRIPTS / f"{name}.jsonl").read_bytes()
        bench.job(data, session=f"s-{number}", cwd="/home/ada/loom", time="2026-03-01T11:00:00Z")
        claim = {"kind": "decision", "content": f"It says {number}.", "importance": 0.7, "quote": quote}
        lesson = {"kind": "debugging", "content": "A lesson of it.", "quote": quote, "tags": ["a", "b"]}
        answer = {
            **ANSWER, "title": f"Loom · {number}", "key_exchanges": ["One", "- Two"], "action_items": ["Do it", "do"],
            "statements": [claim, lesson, {**claim, "quote": "not said"}], "ended": [{"id": "l-none", "quote": quote}],
        }  # fmt: skip
        _, report = bench.flush(answer)
        rows += ["==", len(report.entries), *report.failures, *report.deferred]
        rows += [prompt.text.partition("\n<")[2] for prompt in bench.model.prompts]
    daily, ledger = bench.opened[-1].daily, bench.opened[-1].ledger
    rows += [daily.text(day) for day in daily.days()]
    rows += [*ledger.notes("refused"), *ledger.entries()]
    with Keeper.at(bench.home) as keeper:
        rows += [fact.to_dict() for fact in keeper.store.facts(live=False)]
    text = "\n".join(map(str, rows)).replace(str(bench.base), "~")
    for number, entry in enumerate(bench.entries()):
        text = text.replace(entry.id, f"entry{number}")
    same("read/flushed.txt", [text])
