"""A session that is summarised while it goes on, because the user corrected or ruled something.

Jobs as hooks spool them, worker and observer as they are; only the model says what the test told it to.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from client_session import wait_until
from hooks import SESSION, line
from memoria.capture import detach
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground.errors import BadAnswerError, ModelUnavailableError
from memoria.ground.home import Home
from memoria.models.protocol import Prompt
from memoria.models.scripted import Item
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.statements.lines import Lines
from memoria.statements.store import Store
from memoria.worker import observer, worker
from memoria.worker.observer import DueCheck
from memoria.worker.worker import Report, Worker
from scripted_model import Scripted

FLAG = "No, never push {} to main, because main is deployed at once."
PLAIN = "Please look at part {} of the settings page and tell me what you find."
AWAY = ModelUnavailableError("overloaded")
BAD = BadAnswerError("no JSON")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def flag(number: int) -> str:
    return FLAG.format(f"branch-{number}")


def plain(number: int) -> str:
    return PLAIN.format(f"part-{number}")


def fact(words: str) -> dict[str, Any]:
    """One fact about what a user said, in words of its own that no other fact shares."""
    name = next(part for part in words.split() if "-" in part)
    return {"kind": "fact", "content": f"The {name} matters {name}.", "quote": words, "origin": "user"}


def answer(prompt: Prompt) -> Item:
    """A model that learns one fact from each exchange."""
    said = [part["user"] for part in prompt.material["exchanges"]]
    learned = [fact(words) for words in said if words in ALL]
    return {"worth_saving": True, "title": "A day's work", "context": "It went well.", "statements": learned}


ALL = {*map(flag, range(40)), *map(plain, range(40))}


class Person:
    """Someone at work: says things, and a worker looks."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.set = monkeypatch.setenv
        self.set("MEMORIA_MODEL", "offline")
        self.set("MEMORIA_TZ", "UTC")
        self.set("MEMORIA_LIMIT_RETRY_S", "")
        self.set("MEMORIA_LIMIT_FLUSH_IDLE_MIN", "1000000")
        self.transcript = base / "t.jsonl"
        self.transcript.touch()
        self.said = 0
        self.model = Scripted(answer)
        self.ahead = 0.0  # seconds

    @property
    def home(self) -> Home:
        return Home.open()

    @property
    def spool(self) -> Spool:
        return Spool(self.home.paths.spool)

    def says(self, text: str, event: str = "Stop", *, key: str = "", session: str = SESSION, **header: Any) -> str:
        """A request and its answer, and the hook after it; returns the job's name."""
        self.said += 1
        moment = f"{NOON + timedelta(minutes=self.said):%Y-%m-%dT%H:%M:%S.000Z}"
        data = line(text, key=key, time=moment) + line(
            f"answer {self.said}", "assistant", key=key and key + "a", time=moment
        )
        return self.spooled(data, event, session, **header)

    def spooled(self, data: bytes, event: str = "Stop", session: str = SESSION, **header: Any) -> str:
        start = self.transcript.stat().st_size
        with self.transcript.open("ab") as file:
            file.write(data)
        end = start + len(data)
        known = {"transcript": str(self.transcript), "start": start, "copied_from": start, "end": end, "cwd": "/x/shop"}
        return self.spool.add({**known, "event": event, "session": session, **header}, data)

    def ends(self, session: str = SESSION) -> None:
        self.spooled(b"", "SessionEnd", session)

    def work(self) -> Report:
        """One run of the worker."""
        verb = Worker(self.home)
        verb.flush.model.model = self.model
        verb.now = lambda: time.time() + self.ahead
        try:
            return verb.run()
        finally:
            verb.close()

    def asked(self) -> list[list[str]]:
        """What the user said in each call so far."""
        return [[part["user"] for part in prompt.material["exchanges"]] for prompt in self.model.prompts]

    def facts(self) -> list[Fact]:
        """What stands in the store, which must be what stands in the daily logs."""
        daily = DailyLog(self.home.paths)
        written = [event for day in daily.days() for event in Lines(daily).read(day)]
        with Store(self.home.paths) as store:
            found = store.facts(live=False)
        assert sorted(event.id for event in found) == sorted(event.id for event in written)
        return found

    def entries(self) -> list[Entry]:
        daily = DailyLog(self.home.paths)
        return [entry for day in daily.days() for entry in daily.entries(day)]

    def contents(self) -> Counter[str]:
        return Counter(event.content for event in self.facts())


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(tmp_path, monkeypatch)


def learned(*texts: str) -> Counter[str]:
    return Counter(fact(text)["content"] for text in texts)


def test_a_flagged_turn_is_summarised_at_once_with_what_waits_and_the_rest_at_the_end(person: Person) -> None:
    person.says(plain(1))
    person.work()
    assert person.model.prompts == []
    person.says(flag(2))
    person.work()
    assert person.asked() == [[plain(1), flag(2)]]
    assert person.spool.jobs() == []
    person.says(plain(3))
    person.work()
    assert len(person.asked()) == 1
    person.ends()
    person.work()
    assert person.asked()[1:] == [[plain(3)]]
    assert person.contents() == learned(plain(1), flag(2), plain(3))
    assert len(person.entries()) == 2


def test_what_a_hook_made_the_client_go_on_with_waits_for_its_end(person: Person) -> None:
    person.says(flag(1), stop_hook_active=True)
    person.work()
    assert person.asked() == []
    person.says(plain(2))
    person.work()
    assert person.asked() == [[flag(1), plain(2)]]


@contextmanager
def at_work(person: Person, folder: Path) -> Iterator[list[list[str]]]:
    """A worker that has asked a model about ``flag(1)`` and is answered at the end; what the user said in each call."""
    gate, script = folder / "gate", folder / "answers.json"
    person.set("MEMORIA_MODEL", f"scripted:{script}")
    nothing = {"worth_saving": False}
    script.write_text(json.dumps({"flush": [{"wait_for": str(gate), "answer": nothing}, nothing]}))
    person.says(flag(1))
    running = threading.Thread(target=worker.work, args=(person.home,))
    running.start()
    calls = script.with_name("answers.json.calls")
    wait_until(calls.exists, "the model is asked")
    asked: list[list[str]] = []
    yield asked
    gate.touch()
    running.join()
    wait_until(lambda: len(calls.read_text(encoding="utf-8").splitlines()) > 1, "there is a second call")
    material = [json.loads(row)["material"] for row in calls.read_text(encoding="utf-8").splitlines()]
    asked += [[part["user"] for part in each["exchanges"]] for each in material]


def test_turns_that_come_while_one_summary_runs_are_taken_together_by_one_trailing_run(
    person: Person, tmp_path: Path
) -> None:
    person.set("MEMORIA_PYTHON", "/bin/true")
    with at_work(person, tmp_path) as asked:
        for number in (2, 3, 4):
            person.says(flag(number))
            DueCheck(person.home).run()
        assert detach.start_worker(person.home.settings, person.home.paths) == "worker busy"
    assert asked == [[flag(1)], [flag(2), flag(3), flag(4)]]


def test_who_asks_for_it_gets_what_the_worker_at_work_leaves(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, sleep = threading.Event(), time.sleep

    def look_again(seconds: float) -> None:
        waits.set()
        sleep(seconds)

    with at_work(person, tmp_path) as asked:
        person.says(plain(2))
        asking = threading.Thread(target=worker.work, args=(person.home,), kwargs={"insist": True})
        monkeypatch.setattr(time, "sleep", look_again)
        asking.start()
        wait_until(lambda: waits.is_set() or not asking.is_alive(), "who asks has found the other at work")
    asking.join()
    assert asked == [[flag(1)], [plain(2)]]


RULE, REVERSAL = ("Never install with npm, always use pnpm-9.", "No, from now on never use pnpm-9, always use bun-1.")


def reverser(prompt: Prompt) -> Item:
    """A model that learns the two rules, and knows of the old one only what the request shows."""
    said = " ".join(part["user"] for part in prompt.material["exchanges"])
    old = [line.split(" · ")[0] for line in prompt.text.split("\n") if line.endswith("user · Install with pnpm-9.")]
    learned: list[dict[str, Any]] = []
    if RULE in said:
        learned.append({"kind": "preference", "content": "Install with pnpm-9.", "quote": RULE})
    if REVERSAL in said:
        learned.append({"kind": "decision", "content": "bun-1 does it.", "quote": REVERSAL, "supersedes": old})
    answer: dict[str, Any] = {"statements": learned}
    if "It is all over" in said:
        answer["ended"] = [{"id": ident, "quote": "It is all over"} for ident in old]
    return answer | {"worth_saving": True, "title": "Tools"}


@pytest.mark.parametrize("at_once", ["1", "0"])
def test_a_flush_is_shown_what_is_known_and_ends_it_by_its_id(person: Person, at_once: str) -> None:
    person.set("MEMORIA_LEARN_AT_ONCE", at_once)
    person.model = Scripted(reverser)
    for number, text in enumerate((RULE, REVERSAL)):
        person.says(text, session=f"s-{number}")
        person.work()
        person.ends(session=f"s-{number}")
        person.work()
    old, new = sorted(person.facts(), key=lambda fact: fact.time)
    assert (old.content, old.successor, old.ended) == ("Install with pnpm-9.", new.id, new.time)
    assert new.supersedes == (old.id,)
    assert [entry.learned[0].text for entry in person.entries()] == [old.content, new.content]


PICKED = "No, from now on the second one."


@pytest.mark.parametrize(
    "offered", ["Either `make ship`, or `bin/release` from CI with ghp_16C7e42F292c6912E7710c838347Ae17.", ""]
)
def test_words_that_answer_what_was_summarised_already_are_told_with_it(person: Person, offered: str) -> None:
    told = {"kind": "preference", "content": "Deploy with `bin/release`.", "quote": PICKED}
    claim = {"kind": "decision", "content": "Deploys go out of CI.", "quote": "Either `make ship`"}

    def learns(prompt: Prompt) -> Item:
        said = [part["user"] for part in prompt.material["exchanges"]]
        return {"worth_saving": True, "title": "Deploys", "statements": [told, claim] if PICKED in said else []}

    person.model = Scripted(learns)
    person.spooled(line(flag(1)) + line(offered or "Noted.", "assistant"))
    person.work()
    person.says(PICKED)
    person.work()
    _, prompt = person.model.prompts
    assert ("<just before-" in prompt.text, "- just before:" in prompt.text) == (True, True)
    assert "ghp_" not in prompt.text
    assert [fact.content for fact in person.facts()] == [told["content"] if offered else PICKED]


@pytest.mark.parametrize("at_once", [True, False])
def test_what_the_user_takes_back_ends_with_nothing_in_its_place(person: Person, at_once: bool) -> None:
    """At once, the rule is of the same session; the reversal raises no flag, so that it is read at the end."""
    person.set("MEMORIA_LEARN_AT_ONCE", f"{at_once:d}")
    person.model = Scripted(reverser)
    for number, text in enumerate((RULE, f"{plain(1)} It is all over with that tool, do not use it.")):
        session = SESSION if at_once else f"s-{number}"
        person.says(text, session=session)
        person.work()
        assert len(person.asked()) == (1 if at_once else number), "it can be left to the end"
        if number or not at_once:
            person.ends(session=session)
            person.work()
    (old,) = person.facts()
    assert (old.ended is not None, old.successor) == (True, "")
    assert [line.ended for entry in person.entries() for line in entry.learned] == [True]


def test_what_stands_at_the_end_of_a_prompt_too_long_for_one_call_is_learned(person: Person) -> None:
    def told(prompt: Prompt) -> Item:
        said = "".join(part["user"] for part in prompt.material["exchanges"])
        events = [fact(flag(number)) for number in (1, 2) if flag(number) in said]
        return {"worth_saving": True, "title": "A day", "context": "", "statements": events}

    person.set("MEMORIA_LIMIT_CALL_CHARS", "3000")
    person.model = Scripted(told)
    person.says(f"{flag(1)} Here is the log. {'one line and another. ' * 300}{flag(2)}")
    person.ends()
    assert person.work().failures == []
    assert len(person.asked()) > 2
    assert person.contents() == learned(flag(1), flag(2))


def test_pages_show_what_was_learned_and_deleted_by_hand_whoever_saw_it_first(person: Person) -> None:
    person.says(flag(1))
    person.work()  # dies before pages are made
    home = person.home
    worker.work(home)
    pages = Path(home.paths.page)
    words = "The branch-1 matters"
    assert any(words in path.read_text() for path in pages.glob("*.md"))
    (path,) = Path(home.paths.daily).glob("*.md")
    path.write_text("# Daily Log\n")
    with Keeper.at(home):  # as `memoria learned list` does
        pass
    worker.work(home)
    assert not any(words in path.read_text() for path in pages.glob("*.md"))


def test_what_an_old_session_said_and_a_newer_one_replaced_does_not_hold_again(person: Person) -> None:
    """Read late, as by ingest: that it is over must stand in the log too, from which the store is read again."""

    def told(prompt: Prompt) -> Item:
        (said,) = [part["user"] for part in prompt.material["exchanges"]]
        known = [fact["id"] for fact in prompt.material["known"]]
        preference = {"kind": "preference", "content": said, "quote": said, "origin": "user", "supersedes": known}
        return {"worth_saving": True, "title": "A day", "context": "", "statements": [preference]}

    person.model = Scripted(told)
    newer, older = (f"{word} use tabs in the Makefile of the shop, please." for word in ("Never", "Always"))
    person.said = 100
    person.says(newer, session="newer")
    person.ends("newer")
    person.work()
    person.said = 0
    person.says(older)
    person.ends()
    person.work()
    with Keeper.at(person.home) as keeper:
        assert [event.content for event in keeper.store.facts()] == [newer]
        assert len(keeper.store.facts(live=False)) == 2


# -- who starts the worker


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def start(*_: object) -> str:
        found.append("worker")
        return "worker started"

    monkeypatch.setattr(detach, "start_worker", start)
    return found


def test_the_observer_starts_the_worker_for_a_flagged_turn_and_once(person: Person, started: list[str]) -> None:
    attention = DueCheck(person.home)
    person.says(plain(1))
    attention.run()
    assert started == []
    person.says(flag(2))
    attention.run()
    attention.run()
    assert started == ["worker"]


def test_the_observer_starts_no_worker_for_what_is_done_or_has_to_wait(person: Person, started: list[str]) -> None:
    person.says(flag(1))
    person.work()
    DueCheck(person.home).run()
    assert started == []
    person.model = Scripted([AWAY])
    person.says(flag(2))
    person.work()
    person.says(flag(3))
    DueCheck(person.home).run()
    assert started == []


def test_an_observer_looks_again_for_a_hook_that_found_it_at_work(
    person: Person, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, looks = DueCheck.run, list[int]()

    def counted(self: DueCheck) -> None:
        run(self)
        looks.append(len(looks))
        if len(looks) == 1:
            person.says(flag(2))  # its hook starts no observer: the lock is held

    monkeypatch.setattr(DueCheck, "run", counted)
    Path(person.home.paths.state).mkdir(parents=True, exist_ok=True)
    asyncio.run(observer.work(person.home))
    assert started == ["worker"]
    assert len(looks) == 2
