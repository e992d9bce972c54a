"""The crash suite in small; the long form is bench/crash.py."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bench import crash
from memoria.base import atomic

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="kills as POSIX knows them")]


@pytest.mark.timeout(600)
def test_sixteen_kills_lose_nothing_and_keep_nothing_twice(tmp_path: Path) -> None:
    total = crash.run(tmp_path, 16, seed=7)
    assert total.kills.total() >= 16
    assert set(total.kills) & set(crash.HOOK), "no hook was killed"
    assert set(total.kills) & set(crash.WORKER), "no worker was killed"
    assert set(total.kills) & set(crash.COMPILE), "no compile was killed"
    assert total.clean, total


@pytest.mark.timeout(300)
def test_sixty_four_hooks_at_once_lose_nothing(tmp_path: Path) -> None:
    swarm = crash.burst(tmp_path / "burst", 8, 64)
    assert swarm.turns >= 128
    assert swarm.clean, swarm


def test_the_suite_notices_a_turn_that_is_lost_or_kept_twice(tmp_path: Path) -> None:
    world = crash.World(tmp_path / "world", 1, 3)
    tally = crash.Tally()
    world.say(world.sessions[0])
    world.mend(tally)
    assert tally.clean, tally
    (page,) = Path(world.paths.knowledge, "concepts").glob("*.md")
    page.unlink()
    world._check(tally)
    assert tally.torn > 0
    (day,) = Path(world.paths.daily).glob("*.md")
    text = day.read_text(encoding="utf-8")
    day.write_text(text + text, encoding="utf-8")
    world._check(tally)
    assert tally.twice > 0
    assert tally.lost == 0
    assert tally.unlearned > 0
    day.unlink()
    world._check(tally)
    assert tally.lost > 0


REACHED = re.compile(r'failpoints\.reach\("([\w.]+)"\)')
ENDS = re.findall(r'failpoints\.reach\(step \+ "\.(\w+)"\)', Path(atomic.__file__).read_text(encoding="utf-8"))


def test_every_named_step_is_reached_somewhere_in_the_rooms() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (crash.ROOT / "scripts" / "memoria").rglob("*.py"))
    written = {f"{name}.{end}" for name in re.findall(r'atomic\.replace\(.*step="(\w+)"', source) for end in ENDS}
    assert [step for step in crash.STEPS if step not in written | set(REACHED.findall(source))] == []
