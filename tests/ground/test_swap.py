"""A file that a person saves while it is exchanged stands as they saved it, whichever way system and editor work."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from editors import EDITORS, Save
from memoria.base import failpoints
from memoria.base.paths import Paths
from memoria.ground import replaced as replaced_module
from memoria.ground import swap as swap_module
from memoria.ground.errors import SavedMeanwhileError
from memoria.ground.replaced import conflict_copies
from memoria.ground.swap import Swap

OLD, NEW, MINE = b"old", b"new", b"a person's"
SWAP = f".day.md.{swap_module._short_name(OLD)}{swap_module._short_name(NEW)}.swap"


@pytest.fixture(params=["one step", "several steps", "no leases"])
def work(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Swap:
    """An exchange as Linux does it, as other systems do, and on a file system without leases."""
    if request.param == "several steps":
        monkeypatch.setattr(swap_module, "_system_call", lambda: lambda *_: min(-1, ctypes.set_errno(errno.EINVAL)))
    elif sys.platform != "linux":
        pytest.skip("only Linux exchanges names in one step")
    else:
        monkeypatch.setattr(swap_module, "_exchange_in_steps", None)
    if request.param != "one step":
        monkeypatch.setattr(replaced_module, "is_open_for_writing", lambda _: None)
    monkeypatch.setattr(swap_module, "WRITING_S", 0.1)
    monkeypatch.setattr(replaced_module, "STILL_S", 0.005)
    return Swap(Paths(str(tmp_path)))


@pytest.fixture
def day(tmp_path: Path) -> Path:
    path = tmp_path / "daily" / "day.md"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


def at(monkeypatch: pytest.MonkeyPatch, step: str, *calls: Callable[[], object]) -> None:
    """Make each of the calls at one time that ``step`` is reached."""
    left = list(calls)
    monkeypatch.setattr(failpoints, "reach", lambda name: left and name == step and left.pop(0)())


def has_leases(path: Path) -> bool:
    with path.open("rb") as file:
        return replaced_module.is_open_for_writing(file.fileno()) is not None


def beside(day: Path) -> list[str]:
    return sorted(path.name for path in day.parent.iterdir() if path != day)


@pytest.mark.parametrize(("data", "step"), [(NEW, "files.written"), (NEW, "files.compared"), (None, "files.compared")])
@pytest.mark.parametrize("save", EDITORS.values(), ids=EDITORS)
def test_a_save_before_the_exchange_stands(
    work: Swap, day: Path, save: Save, data: bytes | None, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, step, lambda: save(day, MINE))
    with pytest.raises(SavedMeanwhileError):
        work.replace(day, data, OLD)
    assert (day.read_bytes(), beside(day)) == (MINE, [])


def test_a_file_that_a_person_removes_before_the_exchange_stays_away(
    work: Swap, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data, expected in ((NEW, OLD), (None, OLD), (None, MINE)):
        day.write_bytes(OLD)
        at(monkeypatch, "files.compared", day.unlink)
        with pytest.raises(SavedMeanwhileError):
            work.replace(day, data, expected)
        assert (day.exists(), beside(day)) == (expected == MINE, [])


def created(path: Path, save: Save) -> None:
    path.touch()
    save(path, MINE)


@pytest.mark.parametrize("save", EDITORS.values(), ids=EDITORS)
def test_a_file_that_a_person_creates_before_ours_stands(
    work: Swap, day: Path, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = day.with_name("other.md")
    at(monkeypatch, "files.compared", lambda: created(other, save))
    with pytest.raises(SavedMeanwhileError):
        work.replace(other, NEW, None)
    assert (other.read_bytes(), beside(other)) == (MINE, ["day.md"])


def test_a_save_in_place_that_began_before_the_exchange_and_ended_after_it_stands(
    work: Swap, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[IO[bytes]] = []

    def reached(step: str) -> None:
        if step == "files.compared":
            files.append(day.open("wb"))
        elif step == "files.replaced":
            with files.pop() as file:
                file.write(MINE)

    monkeypatch.setattr(failpoints, "reach", reached)
    with pytest.raises(SavedMeanwhileError):
        work.replace(day, NEW, OLD)
    assert (day.read_bytes(), beside(day)) == (MINE, [])


def test_a_save_in_place_that_is_not_finished_is_not_read_as_the_content(day: Path, tmp_path: Path) -> None:
    """Else the half that stands would be taken for the person's text and exchanged."""
    if not has_leases(day):
        pytest.skip("the file system has no leases")
    asked: list[bool] = []
    with day.open("wb", buffering=0) as file:

        def being_written(descriptor: int) -> bool:
            asked.append(is_being_written(descriptor))
            if len(asked) == 2:
                file.write(MINE)
                file.close()
            return asked[-1]

        is_being_written = replaced_module.is_being_written
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(replaced_module, "is_being_written", being_written)
            assert Swap(Paths(str(tmp_path))).read(day) == MINE
    assert asked == [True, True, False]


def test_without_leases_a_file_is_complete_once_it_stands_still_whatever_its_time(
    day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            day.write_bytes(MINE)
            os.utime(day, ns=(0, 0))

    monkeypatch.setattr(replaced_module, "is_open_for_writing", lambda _: None)
    monkeypatch.setattr("time.sleep", sleep)
    assert Swap(Paths(str(tmp_path))).read(day) == MINE
    assert slept.count(replaced_module.STILL_S) == 2


def test_a_save_into_the_replaced_file_after_the_exchange_becomes_a_conflict_copy(
    work: Swap, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day.chmod(0o640)
    with day.open("r+b") as editor:
        work.replace(day, NEW, OLD)
        assert work.replaced.settle() == []
        editor.write(MINE)
    (copy,) = work.replaced.settle()
    assert (day.read_bytes(), copy.read_bytes(), copy.parent) == (NEW, MINE, day.parent)
    assert copy.stat().st_mode & 0o777 == 0o640
    assert [copy.name[-1:], *conflict_copies(day.parent)] == ["Z", copy]
    assert work.replaced.settle() == []


def test_a_replaced_file_is_kept_for_seconds_when_nobody_had_it_open_and_else_for_a_day(
    work: Swap, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaced_module, "CLOSED_S", -1)
    expected = 0 if has_leases(day) else 2
    work.replace(day, NEW, OLD)
    work.replaced.settle()
    kept = list(work.replaced.folder.iterdir())
    assert len(kept) == expected
    with day.open("r+b"):
        work.replace(day, OLD, NEW)
    work.replaced.settle()
    assert len(list(work.replaced.folder.iterdir())) == len(kept) + 2
    monkeypatch.setattr(replaced_module, "OPEN_S", -1)
    for name, data in (
        ("1-1-1.json", b"{"),
        ("1-1-1.old", OLD),
        ("2-2-2.json", b"{"),
    ):  # as a power cut may leave a record
        (work.replaced.folder / name).write_bytes(data)
    work.replaced.settle()
    assert list(work.replaced.folder.iterdir()) == []


def test_everything_goes_when_something_is_forgotten_but_not_a_late_save(work: Swap, day: Path) -> None:
    with day.open("r+b") as editor:
        work.replace(day, NEW, OLD)
        editor.write(MINE)
        editor.flush()
        (copy,) = work.replaced.settle(everything=True)
    assert copy.read_bytes() == MINE
    assert not work.replaced.folder.exists()


def test_the_later_of_two_saves_stands_and_the_earlier_is_a_conflict_copy(
    day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "files.compared", lambda: EDITORS["rename"](day, b"earlier"))
    exchange = swap_module.exchange_names
    calls: list[int] = []

    def exchanging(source: Path, target: Path) -> None:
        calls.append(1)
        if len(calls) == 2:
            EDITORS["rename"](day, b"later")
        exchange(source, target)

    monkeypatch.setattr(swap_module, "exchange_names", exchanging)
    with pytest.raises(SavedMeanwhileError):
        Swap(Paths(str(tmp_path))).replace(day, NEW, OLD)
    assert day.read_bytes() == b"later"
    assert [copy.read_bytes() for copy in conflict_copies(day.parent)] == [b"earlier"]


@pytest.mark.parametrize("saved", [OLD, b"earlier"])
@pytest.mark.parametrize("number", [0, errno.EPERM], ids=["links", "no links"])
def test_a_file_created_while_the_name_is_free_stands_and_what_had_the_name_is_not_lost(
    day: Path, tmp_path: Path, saved: bytes, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Path) -> None:
        raise OSError(number, "the file system has no links")

    monkeypatch.setattr(swap_module, "_system_call", lambda: None)
    monkeypatch.setattr(os, "link", refused if number else os.link)
    at(monkeypatch, "files.compared", lambda: day.write_bytes(saved))
    put_new = swap_module.put_new

    def putting(source: Path, target: Path) -> None:
        target.write_bytes(MINE)
        put_new(source, target)

    monkeypatch.setattr(swap_module, "put_new", putting)
    with pytest.raises(SavedMeanwhileError):
        Swap(Paths(str(tmp_path))).replace(day, NEW, OLD)
    assert day.read_bytes() == MINE
    assert [copy.read_bytes() for copy in conflict_copies(day.parent)] == [saved] * (saved != OLD)


LEFT = {  # what a killed process left beside the file, and what then stands
    "not exchanged": ({"day.md": OLD, SWAP: NEW}, {"day.md": OLD}),
    "exchanged": ({"day.md": NEW, SWAP: OLD}, {"day.md": NEW}),
    "a save came out": ({"day.md": NEW, SWAP: MINE}, {"day.md": MINE}),
    "put back": ({"day.md": MINE, SWAP: NEW}, {"day.md": MINE}),
    "put back by a link": ({"day.md": MINE, SWAP: MINE}, {"day.md": MINE}),
    "no name": ({SWAP: NEW, f"{SWAP}.taken": OLD}, {"day.md": OLD}),
    "a save without a name": ({SWAP: NEW, f"{SWAP}.taken": MINE}, {"day.md": MINE}),
    "two saves": ({"day.md": b"later", SWAP: MINE}, {"day.md": b"later", "copy": MINE}),
}


@pytest.mark.parametrize("way", LEFT)
def test_what_a_killed_process_left_is_completed_or_given_back(work: Swap, day: Path, way: str) -> None:
    before, after = LEFT[way]
    day.unlink()
    for name, data in before.items():
        day.with_name(name).write_bytes(data)
    work.recover(day.parent)
    found = {"copy" if ".conflict-" in path.name else path.name: path.read_bytes() for path in day.parent.iterdir()}
    assert found == after


def test_a_file_keeps_its_mode_and_attributes_and_a_symbolic_link_its_target(
    work: Swap, day: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "notes"
    elsewhere.mkdir()
    day.replace(elsewhere / "mine.md")
    day.symlink_to(elsewhere / "mine.md")
    (elsewhere / "mine.md").chmod(0o640)
    if hasattr(os, "setxattr"):
        os.setxattr(elsewhere / "mine.md", "user.tag", b"red")
    descriptors = sorted(Path("/dev/fd").iterdir())
    work.replace(day, NEW, OLD)
    assert sorted(Path("/dev/fd").iterdir()) == descriptors, "all are closed again"
    assert day.is_symlink()
    assert (elsewhere / "mine.md").read_bytes() == NEW
    assert (elsewhere / "mine.md").stat().st_mode & 0o777 == 0o640
    if hasattr(os, "getxattr"):
        assert os.getxattr(elsewhere / "mine.md", "user.tag") == b"red"
    (elsewhere / SWAP.replace("day", "mine")).write_bytes(OLD)  # as a killed process leaves it
    work.recover(day.parent)
    assert [path.name for path in elsewhere.iterdir()] == ["mine.md"]


@pytest.mark.parametrize(("folder", "file"), [(0o700, 0o600), (0o755, 0o644)])
def test_a_new_file_and_a_new_folder_are_open_to_those_that_the_folder_above_is_open_to(
    work: Swap, day: Path, folder: int, file: int
) -> None:
    day.parent.chmod(folder)
    new = day.parent / "below" / "new.md"
    work.replace(new, NEW, None)
    assert (new.parent.stat().st_mode & 0o777, new.stat().st_mode & 0o777) == (folder, file)


def test_a_file_that_an_editor_has_moved_away_to_write_it_anew_is_waited_for(
    day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day.rename(day.with_name("day.md~"))
    monkeypatch.setattr(swap_module, "MISSING_S", 60)
    monkeypatch.setattr("time.sleep", lambda _: day.write_bytes(MINE))
    assert Swap(Paths(str(tmp_path))).read(day) == MINE


def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it(
    work: Swap, day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("write", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="No space"):
                work.replace(day, NEW, OLD)
        assert (day.read_bytes(), beside(day)) == (OLD, [])
