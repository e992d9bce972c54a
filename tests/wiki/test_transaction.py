"""Several files change together or not at all, whatever is killed and whoever else writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memoria.base import atomic, failpoints
from memoria.base.paths import Paths
from memoria.ground import files
from memoria.ground.swap import Swap
from memoria.wiki import transaction
from memoria.wiki.transaction import ChangedError, Transactions, digest
from places import TESTS

OLD = {"a.md": b"old a", "sub/b.md": b"old b"}
NEW: dict[str, bytes | None] = {"a.md": b"new a", "sub/b.md": None, "sub/c.md": b"new c"}
AFTER = {"a.md": b"new a", "sub/c.md": b"new c"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "knowledge/sub").mkdir(parents=True)
    for name, data in OLD.items():
        (tmp_path / "knowledge" / name).write_bytes(data)
    return tmp_path / "knowledge"


def of(root: Path) -> Transactions:
    return Transactions(Paths(str(root.parent), str(root.parent)))


def there(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def read() -> dict[str, str]:
    return {name: digest(data) for name, data in OLD.items()}


def killed(root: Path, what: str, at: str) -> int:
    program = (TESTS / "fixtures" / "programs" / "transaction.txt").read_text("utf-8")
    command = [sys.executable, "-c", program, str(Path(transaction.__file__).parents[2]), str(root), what]
    return subprocess.run(command, env={**os.environ, "MEMORIA_KILL_AT": at}, check=False).returncode


KILLS = [
    *(f"{step}:{times}" for step in ("files.written", "files.replaced") for times in range(1, 9)), "transaction.staged",
    "transaction.journaled", *(f"transaction.swapped:{times}" for times in range(1, 4)), "transaction.closed",
]  # fmt: skip


@pytest.mark.parametrize("at", KILLS)
@pytest.mark.slow
def test_a_commit_killed_anywhere_is_the_old_state_or_after_recovery_the_new_one(root: Path, at: str) -> None:
    status = killed(root, "commit", at)
    of(root).recover()
    assert there(root) in (OLD, AFTER)
    if status == 0:
        assert there(root) == AFTER
    assert not of(root).recover(), "recovery is done once"


@pytest.mark.parametrize("at", KILLS)
@pytest.mark.slow
def test_an_undo_killed_anywhere_is_the_new_state_or_after_recovery_the_old_one(root: Path, at: str) -> None:
    of(root).commit(NEW, read(), "a test")
    killed(root, "undo", at)
    is_finished = of(root).recover()
    assert there(root) in (OLD, AFTER)
    assert not is_finished or there(root) == OLD, "an undo is finished as an undo"
    if there(root) == OLD:
        assert of(root).steps() == []
    else:
        of(root).undo()
        assert there(root) == OLD


@pytest.mark.parametrize("name", ["a.md", "sub/c.md"])
def test_nothing_is_written_over_what_a_person_changed_or_made_since_it_was_read(root: Path, name: str) -> None:
    (root / name).write_bytes(b"a person's")
    with pytest.raises(ChangedError) as raised:
        of(root).commit(NEW, read(), "a test")
    assert raised.value.names == [name]
    assert there(root) == OLD | {name: b"a person's"}


@pytest.mark.parametrize("at", ["transaction.journaled", "transaction.swapped:1", "transaction.swapped:2"])
def test_a_person_who_saves_between_kill_and_recovery_keeps_the_file_and_the_step_goes_back_whole(
    root: Path, at: str
) -> None:
    """A step of which one file is missing would be booked as done and its content lost."""
    killed(root, "commit", at)
    (root / "a.md").write_bytes(b"a person's")
    of(root).recover()
    assert there(root) == OLD | {"a.md": b"a person's"}
    assert of(root).steps() == []


def test_recovery_removes_no_file_because_a_staged_copy_is_gone(root: Path) -> None:
    killed(root, "commit", "transaction.journaled")
    for copy in (root.parent / "undo").glob("*/*.new"):
        copy.unlink()
    of(root).recover()
    assert there(root)["a.md"] == b"old a"


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "x"}', '{"name": "x", "files": [{"path": "../../x"}]}'])
def test_a_journal_that_cannot_be_read_is_kept_aside_and_touches_nothing(root: Path, text: str) -> None:
    (root.parent / "undo").mkdir()
    (root.parent / "undo/journal.json").write_text(text)
    assert not of(root).recover()
    assert there(root) == OLD
    assert [path.read_text() for path in (root.parent / "undo").glob("journal.json.bak-*")] == [text]


@pytest.mark.parametrize("way", ["relative", "absolute"])
def test_a_journal_does_not_lead_out_of_the_wiki(root: Path, way: str) -> None:
    killed(root, "commit", "transaction.journaled")
    journal = root.parent / "undo/journal.json"
    plan = json.loads(journal.read_text())
    (row,) = (row for row in plan["files"] if not row["before"])  # a file that the step makes
    row["path"] = "../outside.md" if way == "relative" else str(root.parent / "outside.md")
    journal.write_text(json.dumps(plan))
    of(root).recover()
    assert not (root.parent / "outside.md").exists()


def test_the_last_steps_are_kept_and_undone_newest_first(root: Path) -> None:
    work = of(root)
    texts = [b"old a", *(b"%d" % number for number in range(transaction.KEPT_STEPS + 5))]
    for before, after in pairwise(texts):
        work.commit({"a.md": after}, {"a.md": digest(before)}, after.decode())
    assert [int(step.label) for step in work.steps()] == list(range(transaction.KEPT_STEPS + 4, 4, -1))
    for text in reversed(texts[5:-1]):
        assert work.undo()[1:] == (["a.md"], [])
        assert (root / "a.md").read_bytes() == text
    with pytest.raises(LookupError):
        work.undo()


def test_undo_leaves_alone_what_a_person_changed_since_and_says_so(root: Path) -> None:
    work = of(root)
    work.commit(NEW, read(), "a test")
    (root / "a.md").write_bytes(b"a person's")
    label, restored, kept = work.undo()
    assert (label, sorted(restored), kept) == ("a test", ["sub/b.md", "sub/c.md"], ["a.md"])
    assert there(root) == OLD | {"a.md": b"a person's"}


def test_what_is_cleared_is_nowhere_in_the_state(root: Path) -> None:
    work = of(root)
    work.commit(NEW, read(), "a test")
    work.clear()
    assert work.steps() == []
    work.forget()
    assert [path for path in (root.parent / "undo").rglob("*") if path.is_file()] == []


def test_a_file_that_changes_while_the_step_is_staged_is_not_written_over_and_nothing_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = files.replace

    def staging(path: Path, *given: Any, **named: Any) -> None:
        (root / "sub/b.md").write_bytes(b"a person's")
        replace(path, *given, **named)

    monkeypatch.setattr(files, "replace", staging)
    with pytest.raises(ChangedError):
        of(root).commit(NEW, read(), "a test")
    assert there(root) == OLD | {"sub/b.md": b"a person's"}
    assert list((root.parent / "undo").glob("*/")) == []


def test_no_file_is_swapped_before_the_journal_stands_and_none_is_left_after_it_goes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = root.parent / "undo/journal.json"
    seen: list[tuple[str, bool, bool]] = []

    def reached(step: str) -> None:
        seen.append((step, journal.exists(), there(root) == OLD))

    monkeypatch.setattr(failpoints, "reach", reached)
    of(root).commit(NEW, read(), "a test")
    steps = [row for row in seen if row[0].startswith("transaction.")]
    assert steps[0] == ("transaction.staged", False, True)
    assert steps[1] == ("transaction.journaled", True, True)
    assert [row[:2] for row in steps[2:]] == [("transaction.swapped", True)] * 3 + [("transaction.closed", False)]
    of(root).undo()
    undone = [row[:2] for row in seen if row[0].startswith("transaction.")][len(steps) :]
    assert undone[0] == ("transaction.journaled", True), "before an undo begins"
    assert not journal.exists()
    assert of(root).steps() == []


ENDS: tuple[dict[str, str], ...] = ({"id": "l-1", "ended": "2026-11-20T10:00:00+00:00", "successor": "l-2"},)


def queued(work: Transactions) -> list[dict[str, Any]]:
    return list(work.outbox.items().values())


def test_a_step_taken_back_because_a_person_wrote_meanwhile_says_so_and_cannot_be_undone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(step: str) -> None:
        if step == "transaction.journaled":
            (root / "sub/c.md").write_bytes(b"a person's")

    monkeypatch.setattr(failpoints, "reach", reached)
    with pytest.raises(ChangedError) as raised:
        of(root).commit(NEW, read(), "a test", ENDS)
    assert raised.value.names == ["sub/c.md"]
    assert there(root) == OLD | {"sub/c.md": b"a person's"}
    assert of(root).steps() == []
    assert queued(of(root)) == [], "no fact ends with it either"


def test_facts_end_with_their_step_and_go_on_with_its_undo(root: Path) -> None:
    work = of(root)
    work.commit(NEW, read(), "a test", ENDS)
    assert queued(work) == [*ENDS]
    work.undo()
    assert queued(work) == [*ENDS, ENDS[0] | {"resumed": ENDS[0]["ended"]}]


def test_the_facts_of_a_killed_step_end_when_it_is_completed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(step: str) -> None:
        if step == "transaction.journaled":
            raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setattr(failpoints, "reach", reached)
        with pytest.raises(KeyboardInterrupt):
            of(root).commit(NEW, read(), "a test", ENDS)
    assert queued(of(root)) == []
    of(root).recover()
    assert queued(of(root)) == [*ENDS]


def test_a_kept_copy_that_is_damaged_is_not_put_back(root: Path) -> None:
    of(root).commit(NEW, read(), "a test", appended={"log.md": BLOCK})
    for copy in (root.parent / "undo").glob("*/[013].*"):
        copy.write_bytes(b"damaged")
    assert of(root).undo() == ("a test", ["sub/c.md"], ["a.md", "sub/b.md", "log.md"])
    assert there(root) == {"a.md": b"new a", "log.md": BLOCK}


def test_what_killed_runs_staged_is_swept_and_whole_steps_are_not(root: Path) -> None:
    of(root).commit(NEW, read(), "a test")
    half = root.parent / "undo/00000009-20261121T000000"
    half.mkdir()
    (half / "0.new").write_bytes(b"secret")
    (root / ".a.md.77.tmp").write_bytes(b"secret")
    assert not of(root).recover()
    assert there(root) == AFTER
    assert not half.exists()
    assert len(of(root).steps()) == 1


def test_a_removed_file_is_gone_for_good_before_the_journal_goes_and_the_journal_before_the_end(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []
    work = of(root)
    monkeypatch.setattr(atomic, "sync_folder", lambda folder: synced.append((Path(folder).name, work.journal.exists())))
    work.commit({"sub/b.md": None}, read(), "a test")
    assert synced[-2:] == [("sub", True), ("undo", False)]


# -- a file that only grows

BLOCK = b"\n## today\n- Took in: x\n"


def grown(root: Path, block: bytes = BLOCK, pages: dict[str, bytes | None] | None = None) -> Transactions:
    work = of(root)
    work.commit(pages or {}, read(), "a test", appended={"log.md": block})
    return work


def stored(root: Path) -> int:
    return sum(path.stat().st_size for path in (root.parent / "undo").rglob("*") if path.is_file())


def test_no_copy_of_a_file_that_grows_is_kept_with_the_step(root: Path) -> None:
    (root / "log.md").write_bytes(b"# Log\n" + b"x" * 500_000)
    grown(root)
    assert (root / "log.md").read_bytes().endswith(b"x" + BLOCK)
    assert stored(root) < 5_000


@pytest.mark.parametrize("before", [b"# Log\n", b"", BLOCK + b"- Took in: y\n"], ids=["grown", "made", "again"])
def test_undo_takes_the_appended_block_back_and_leaves_what_a_person_wrote_around_it(root: Path, before: bytes) -> None:
    if before:
        (root / "log.md").write_bytes(before)
    grown(root).undo()
    assert (root / "log.md").exists() == bool(before)
    work = grown(root)
    (root / "log.md").write_bytes(b"# My log\n" + (root / "log.md").read_bytes() + b"\nA note of mine.\n")
    assert work.undo() == ("a test", ["log.md"], [])
    assert (root / "log.md").read_bytes() == b"# My log\n" + before + b"\nA note of mine.\n"


def test_undo_says_that_a_block_which_a_person_changed_was_left_alone(root: Path) -> None:
    (root / "log.md").write_bytes(b"# Log\n")
    work = grown(root)
    (root / "log.md").write_bytes(b"# Log\n\n## today\n- Took in: y\n")
    assert work.undo() == ("a test", [], ["log.md"])
    assert (root / "log.md").read_bytes() == b"# Log\n\n## today\n- Took in: y\n"


@pytest.mark.parametrize("written", [b"", BLOCK])
@pytest.mark.parametrize(("changed", "left"), [
    ({}, AFTER | {"log.md": b"# Log\n" + BLOCK}), ({"a.md": b"mine"}, OLD | {"a.md": b"mine", "log.md": b"# Log\n"}),
])  # fmt: skip
def test_a_block_is_added_once_however_far_a_killed_run_came_or_goes_back_when_a_person_saved_a_page_since(
    root: Path, written: bytes, changed: dict[str, bytes], left: dict[str, bytes]
) -> None:
    (root / "log.md").write_bytes(b"# Log\n")
    work = grown(root, pages=dict(NEW))
    (plan,) = (root.parent / "undo").glob("*/step.json")
    for name, data in {"log.md": b"# Log\n" + written, **changed}.items():
        (root / name).write_bytes(data)
    work.journal.write_bytes(plan.read_bytes())
    assert of(root).recover()
    assert there(root) == left
    assert not work.journal.exists()


def saving(monkeypatch: pytest.MonkeyPatch, saves: Iterator[bytes]) -> None:
    """Let a person save the log in the moment in which it is replaced."""
    replace = Swap.replace

    def racing(swap: Swap, path: Path, data: bytes | None, expected: bytes | None) -> None:
        if path.name == "log.md" and (saved := next(saves, b"")):
            path.write_bytes(saved)
        replace(swap, path, data, expected)

    monkeypatch.setattr(Swap, "replace", racing)


def test_a_save_while_appending_stands_and_gets_the_block(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "log.md").write_bytes(b"# Log\n")
    saving(monkeypatch, iter([b"# Log\n\nSaved.\n", b"# Log\n\nSaved twice.\n"]))
    grown(root)
    assert (root / "log.md").read_bytes() == b"# Log\n\nSaved twice.\n" + BLOCK


def test_a_step_whose_block_a_person_keeps_replacing_goes_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "log.md").write_bytes(b"# Log\n")
    saving(monkeypatch, iter([b"# Mine %d\n" % number for number in range(9)]))
    with pytest.raises(ChangedError):
        grown(root, pages=dict(NEW))
    assert there(root) == {**OLD, "log.md": b"# Mine 4\n"}
