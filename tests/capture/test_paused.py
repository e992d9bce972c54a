"""Silence: what is said with memoria switched off is never captured, and what is said before and after is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.faults import World

pytestmark = pytest.mark.slow


class Person:
    """Somebody who switches memoria off and on; what was said with it on and off, as tokens."""

    def __init__(self, base: Path) -> None:
        self.world = World(base)
        self.world.env["MEMORIA_MODEL"] = "offline"
        self.on: set[str] = set()
        self.off: set[str] = set()
        self.world.say(self.world.session)
        self.world.fire("Stop")
        self.on |= self.world.said

    def run(self, source: str, *, on: bool, events: tuple[str, ...] = ("Stop", "SessionEnd")) -> None:
        """One run of the client: the session begins or goes on, two exchanges are said, the client ends."""
        if on:
            self.world.env.pop("MEMORIA_DISABLED", None)
        else:
            self.world.env["MEMORIA_DISABLED"] = "1"
        assert on or self.world.fire("SessionStart", source=source).out == ""
        if on:
            self.world.fire("SessionStart", source=source)
        for event in events or ("",):
            before = set(self.world.said)
            self.world.say(self.world.session)
            (self.on if on else self.off).update(self.world.said - before)
            if event:
                assert self.world.fire(event, reason="other").out == ""

    def settle(self) -> None:
        """The worker runs; exactly what was said with memoria on stands in the archive, and verify agrees."""
        self.world.env.pop("MEMORIA_DISABLED", None)
        self.world.age()
        Path(self.world.paths.since).write_text("0\n", encoding="utf-8")
        assert self.world.verb("flush", "--now").status == 0
        done = self.world.verb("verify", "--all", "--json")
        facts = json.loads(done.out)
        assert (done.status, facts["missing"]) == (0, 0), facts
        assert facts["captured"] == len(self.on)
        assert facts["skipped"].get("memoria was switched off", 0) == len(self.off)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "world")


def test_a_session_begun_switched_off_and_resumed_is_captured_from_there(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    world.fire("SessionStart", source="startup")  # another session has made the state
    world.env["MEMORIA_DISABLED"] = "1"
    world.say(world.session)
    world.fire("SessionEnd", reason="other")
    secret = set(world.said)
    del world.env["MEMORIA_DISABLED"]
    world.fire("SessionStart", source="resume")
    world.say(world.session)
    world.fire("SessionEnd", reason="other")
    spooled = "".join(path.read_text(encoding="utf-8") for path in Path(world.spool.new).iterdir())
    assert not any(word in spooled for word in secret)
    assert world.verb("flush", "--now").status == 0
    done = world.verb("verify", "--all", "--json")
    facts = json.loads(done.out)
    assert (facts["captured"], facts["skipped"]) == (2, {"memoria was switched off": 2})


@pytest.mark.parametrize("events", [("Stop", "SessionEnd"), ()])
def test_what_was_said_in_between_stays_out_also_when_the_terminal_was_killed(
    person: Person, events: tuple[str, ...]
) -> None:
    person.run("resume", on=False, events=events)
    person.settle()
    person.run("resume", on=True)
    person.settle()


def test_where_you_were_says_nothing_of_it_though_it_lies_between_two_stretches_that_are_kept(person: Person) -> None:
    world = person.world
    assert world.verb("observe").status == 0
    person.run("resume", on=True, events=())  # no hook told of it: what is read next begins here
    person.run("resume", on=False)
    del world.env["MEMORIA_DISABLED"]
    world.fire("SessionStart", source="resume")
    weak = {"type": "user", "uuid": "weak", "sessionId": world.session, "message": {"role": "user", "content": "go on"}}
    with world.transcript(world.session).open("a", encoding="utf-8") as file:
        file.write(json.dumps(weak) + "\n")
    world.fire("Stop")
    assert world.verb("observe").status == 0
    state = b"".join(path.read_bytes() for path in Path(world.paths.state).rglob("*") if path.is_file())
    assert b"go on" in state
    assert not [word for word in person.off if word.encode() in state]
