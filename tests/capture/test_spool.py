from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.base import state
from memoria.base.paths import Paths, safe_name
from memoria.capture.spool import Job, Spool

HEADER: dict[str, object] = {"session": "s/1", "event": "Stop", "start": 3, "end": 9}


@pytest.fixture
def spool(paths: Paths) -> Spool:
    state.open_state(paths)
    return Spool(paths.spool)


def test_a_jobs_content_never_changes_on_its_way_and_is_its_owners_alone(spool: Spool) -> None:
    job = Job(spool.add(HEADER, b"one\ntwo\n"))
    content = Path(spool.path(job)).read_bytes()
    spool.claim(job)
    spool.release(job)
    spool.claim(job)
    spool.fail(job, "poison")
    assert Path(spool.failed, job.name + ".why").read_text(encoding="utf-8") == "poison\n"
    spool.retry(job)
    assert Path(spool.path(job)).read_bytes() == content
    assert Path(spool.path(job)).stat().st_mode & 0o777 == 0o600
    assert list(Path(spool.failed).iterdir()) == []
    assert spool.header(job) == HEADER
    assert list(spool.lines(job)) == [b"one\n", b"two\n"]
    spool.claim(job)
    spool.acknowledge(job)
    assert spool.jobs() == []


def test_a_job_is_durable_when_it_is_added_the_file_before_the_rename_and_the_folder_after_it(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cursor moves on the strength of this: after a power cut the job must be there, whole, under its name."""
    steps: list[tuple[str, str]] = []
    rename, fsync = os.rename, os.fsync
    places = {Path(box).stat().st_ino: Path(box).name for box in (spool.tmp, spool.new, spool.cur, spool.failed)}

    def renaming(source: str, target: str) -> None:
        rename(source, target)
        steps.append(("rename", Path(target).parent.name))

    def syncing(descriptor: int) -> None:
        steps.append(("fsync", places.get(os.fstat(descriptor).st_ino, "job")))
        fsync(descriptor)

    monkeypatch.setattr(os, "rename", renaming)
    monkeypatch.setattr(os, "fsync", syncing)
    job = Job(spool.add(HEADER, b"x\n"))
    assert steps == [("fsync", "job"), ("rename", "new"), ("fsync", "new")]
    for move, box in ((spool.claim, "cur"), (spool.release, "new")):
        steps.clear()
        move(job)
        assert steps == [("rename", box), ("fsync", box)]
    spool.claim(job)
    steps.clear()
    spool.acknowledge(job)
    assert steps == [("fsync", "cur")]


def test_a_job_that_was_not_renamed_is_not_there(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            spool.add(HEADER, b"x\n")
    assert spool.jobs() == []
    spool.add(HEADER, b"x\n")
    assert len(spool.jobs()) == 1


def test_a_spool_that_somebody_deleted_is_made_again(spool: Spool) -> None:
    for box in (spool.tmp, spool.new, spool.cur, spool.failed):
        Path(box).rmdir()
    assert spool.jobs() == []
    spool.add(HEADER, b"x\n")
    assert len(spool.jobs()) == 1


def test_why_nothing_can_be_spooled_is_said_and_asking_leaves_nothing(spool: Spool) -> None:
    assert (spool.refusal(), list(Path(spool.tmp).iterdir())) == ("", [])
    Path(spool.tmp).rmdir()
    Path(spool.tmp).touch()
    assert spool.refusal() == os.strerror(errno.ENOTDIR)


def test_jobs_come_oldest_first_and_other_files_are_passed_over(spool: Spool) -> None:
    names = [spool.add(HEADER, b"") for _ in range(5)]
    Path(spool.new, ".DS_Store").touch()
    Path(spool.new, "a.b.c.d.e.job").touch()
    assert [job.name for job in spool.jobs()] == names
    assert (spool.jobs()[0].start, spool.jobs()[0].end, spool.jobs()[0].event) == (3, 9, "Stop")


@given(st.text(max_size=200))
def test_any_text_becomes_a_file_name(text: str) -> None:
    name = safe_name(text)
    assert 0 < len(name) <= 80
    assert name.isascii()
    assert not set(name) & set("./\\: \0")


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_them_all(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:7]))
    job = Job(spool.add(HEADER, b"one\ntwo\n"))
    assert list(spool.lines(job)) == [b"one\n", b"two\n"]


def test_a_job_never_takes_the_place_of_another(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    name = Job(spool.add(HEADER, b"")).name
    Path(spool.tmp, name).write_bytes(b"being written")
    with pytest.raises(FileExistsError):
        spool.add(HEADER, b"")
    assert Path(spool.tmp, name).read_bytes() == b"being written"


def test_a_claimed_job_is_listed_and_may_be_claimed_again_and_one_without_a_header_is_refused(spool: Spool) -> None:
    job = Job(spool.add(HEADER, b""))
    spool.claim(job)
    spool.claim(job)
    Path(spool.new).rmdir()
    assert [known.name for known in spool.jobs()] == [job.name]
    Path(spool.path(job)).write_bytes(b"[]\n")
    with pytest.raises(ValueError, match="JSON object"):
        spool.header(job)


def test_sessions_that_look_alike_as_file_names_have_names_of_their_own() -> None:
    assert len({*map(safe_name, ("a/b", "a:b", "a_b", "x" * 64 + "1", "x" * 64 + "2"))}) == 5
