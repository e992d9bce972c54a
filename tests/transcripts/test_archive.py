"""The kept turns come back as they were, redacted, within the cap, and nothing unreadable is ever deleted."""

from __future__ import annotations

import argparse
import gzip
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from memoria.commands import show
from memoria.daily.entry import Entry, render
from memoria.ground.errors import ArchiveError, ExpectedError
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn

DAY = date(2026, 11, 21)
CAP = 1_000_000
SAID = Turn("u1", "user", "Fix the race — bitte ✓", time=datetime(2026, 11, 21, 9, 30, tzinfo=UTC), cwd="/p")
DONE = Turn("a1", "assistant", "", tools=("Bash: pytest -q (exit 0)", "Edit: a.py"))


def archive(tmp_path: Path, cap: int = CAP) -> Archive:
    return Archive(tmp_path / "archive", cap)


def names(kept: Archive) -> list[str]:
    return sorted(path.name for path in kept.folder.iterdir())


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    secret = "ghp" + "_" + "a1B2c3D4e5F6" * 3
    kept = archive(tmp_path)
    kept.keep(
        "e1", DAY, [Turn("k", "user", f"use ✓ {secret}", tools=(f"Bash: curl -H 'Authorization: Bearer {secret}'",))]
    )
    (path,) = kept.folder.iterdir()
    plain = gzip.decompress(path.read_bytes()).decode()
    assert secret not in plain
    assert "use ✓ [redacted:github-token]" in plain


def test_turns_come_back_as_they_were_and_later_ones_of_an_entry_join_the_earlier(tmp_path: Path) -> None:
    kept = archive(tmp_path)
    kept.keep("e1", DAY, [SAID])
    kept.keep("e1", date(2026, 11, 22), [DONE])
    assert archive(tmp_path).turns("e1") == [SAID, DONE]
    assert len(names(kept)) == 1


def size(kept: Archive) -> int:
    return sum(each.stamp[1] for each in kept.list_kept())


def test_the_oldest_go_first_and_the_newest_stays(tmp_path: Path) -> None:
    kept = archive(tmp_path)
    for day in (3, 1, 2):
        kept.keep(f"e{day}", date(2026, 11, day), [SAID])
    one = size(kept) // 3
    small = archive(tmp_path, one * 2)
    small.keep("e4", date(2026, 11, 4), [SAID])
    assert [name[:10] for name in names(small)] == ["2026-11-03", "2026-11-04"]
    assert size(small) <= small.cap_bytes


def test_pruning_never_removes_what_it_cannot_parse(tmp_path: Path) -> None:
    kept = archive(tmp_path)
    kept.keep("old", date(2026, 1, 1), [SAID])
    strange = {
        "2020-01-01-broken.jsonl.gz": b"not gzip at all",
        "2020-01-02-foreign.jsonl.gz": gzip.compress(b'{"some": "one else\'s"}\n'),
        "notes.txt": b"a person's own file",
        "2020-01-03.jsonl.gz": b"no id in the name",
    }
    for name, data in strange.items():
        (kept.folder / name).write_bytes(data)
    Archive(kept.folder, 1).keep("new", DAY, [SAID])
    assert names(kept) == sorted([*strange, "2026-11-21-new.jsonl.gz"])


def test_a_broken_file_says_so_and_is_not_written_over(tmp_path: Path) -> None:
    kept = archive(tmp_path)
    kept.keep("e1", DAY, [SAID])
    (path,) = kept.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ArchiveError, match="cannot be read"):
        kept.turns("e1")
    kept.keep("e1", DAY, [DONE])
    assert kept.turns("e1") == [DONE]
    assert len(names(kept)) == 2


def test_forgetting_an_entry_removes_its_turns(tmp_path: Path) -> None:
    kept = archive(tmp_path)
    kept.keep("e1", DAY, [SAID])
    kept.keep("e2", DAY, [SAID])
    assert kept.remove("e1") is True
    assert kept.remove("e1") is False
    assert (kept.turns("e1"), kept.turns("e2")) == (None, [SAID])


def test_an_id_that_would_leave_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not an entry id"):
        archive(tmp_path).keep("../x", DAY, [SAID])


def shown(home: Home, capsys: pytest.CaptureFixture[str], entry: str) -> str:
    assert show.command(argparse.Namespace(entry=entry), home) == 0
    return capsys.readouterr().out


@pytest.fixture
def home() -> Home:
    """A home with one entry in its daily log and its turns in the archive."""
    home = Home.open()
    Archive(Path(home.paths.archive), CAP).keep("01k9x2", DAY, [SAID, DONE, Turn("n", "note", "bell \x07\x1b[2J")])
    folder = Path(home.paths.daily)
    folder.mkdir(parents=True, exist_ok=True)
    entries = [
        Entry(name, DAY, "10:30", "s", "memoria", "memoria-abc123", "Fix the race", "A race.")
        for name in ("01k9x2", "lost")
    ]
    (folder / f"{DAY}.md").write_text("\n".join(map(render, entries)), encoding="utf-8")
    return home


@pytest.mark.parametrize(
    "reference", ["01k9x2", "e-01k9x2", "^e-01k9x2", "daily/2026-11-21#^e-01k9x2", "[[daily/2026-11-21#^e-01k9x2]]"]
)
def test_show_takes_an_id_in_every_form_it_is_written_in(
    home: Home, capsys: pytest.CaptureFixture[str], reference: str
) -> None:
    text = shown(home, capsys, reference)
    assert "Fix the race · memoria · 2026-11-21" in text
    assert "Fix the race — bitte ✓" in text
    assert "  · Bash: pytest -q (exit 0)" in text


def test_show_tells_an_unknown_entry_from_one_whose_turns_are_gone(home: Home) -> None:
    for entry, told in (("nosuch", "no entry 'nosuch'"), ("lost", "daily/2026-11-21#"), ("what?", "no entry 'what")):
        with pytest.raises(ExpectedError, match=told):
            show.command(argparse.Namespace(entry=entry), home)
