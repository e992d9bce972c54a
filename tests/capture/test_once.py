"""Of hooks that are installed twice one answers each event, whatever the moment and the order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoria.capture import hook

PLUGIN, SETTINGS = "/a/plugin (a plugin)", "/a/clone (the settings)"


class Machine:
    """Two installations and a clock."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "where"
        self.now = 1_000_000.0
        self.patch = monkeypatch
        monkeypatch.setattr("memoria.capture.hook.time.time", lambda: self.now)

    def asks(self, installation: str, event: str = "prompt", session: str = "s1") -> bool:
        self.patch.setattr(hook, "installation", lambda: installation)
        first = hook.is_first(str(self.folder), session, event)
        for claim in self.folder.glob(f"{session}.{event}.{int(self.now // hook.CLAIM_S)}{hook.CLAIM}"):
            os.utime(claim, (self.now, self.now))
        return first


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize(("one", "other"), [(PLUGIN, SETTINGS), (SETTINGS, PLUGIN)])
def test_the_first_of_two_installations_answers_and_may_repeat_it(machine: Machine, one: str, other: str) -> None:
    assert machine.asks(one)
    assert not machine.asks(other)
    assert machine.asks(one)


def test_two_hooks_of_one_event_are_told_apart_from_the_next_event(machine: Machine) -> None:
    machine.now = 1_000_009.9  # the next moment begins between the two
    assert machine.asks(PLUGIN)
    machine.now = 1_000_010.1
    assert not machine.asks(SETTINGS)
    machine.now += 2 * hook.CLAIM_S
    assert machine.asks(SETTINGS)
