"""What is said in an excluded folder is stored nowhere, line by line; what is said elsewhere in the session is."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path

import pytest

from home_of import DAY, run, scripted
from memoria.base.paths import Paths
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.capture.spool import Spool
from memoria.commands import forget
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Tombstone, Tombstones
from memoria.transcripts.turn import Turn
from memoria.worker import observer, worker

SUMMARY = {
    "worth_saving": True, "title": "Work", "context": "Work.", "key_exchanges": [],
    "action_items": [], "statements": [],
}  # fmt: skip


class Session:
    """One session that moves between a shop, which is kept, and a folder ``secret``, which is excluded."""

    def __init__(self, folder: Path) -> None:
        self.shop, self.secret = folder / "shop", folder / "secret"
        for path in (self.shop, self.secret):
            path.mkdir()
        (self.secret / ".memoria-off").touch()
        self.path = folder / "user" / ".claude" / "projects" / "shop" / "s1.jsonl"
        self.path.parent.mkdir(parents=True)
        self.number = 0

    def says(self, text: str, folder: Path | None) -> None:
        self.number += 1
        role = "user" if self.number % 2 else "assistant"
        value = {
            "type": role, "uuid": f"33333333-aaaa-4aaa-8aaa-{self.number:012d}", "sessionId": "s1",
            "timestamp": "2026-11-20T14:05:00Z", "isSidechain": False,
            "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
            **({"cwd": str(folder)} if folder else {}),
        }  # fmt: skip
        with self.path.open("ab") as file:
            file.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def hook(self, home: Home, name: str, folder: Path, **more: str) -> None:
        fields = {"hook_event_name": name, "session_id": "s1", "transcript_path": str(self.path), "cwd": str(folder)}
        capture(Event({**fields, **more}), home.settings, home.paths)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "user" / ".claude"))
    return Session(tmp_path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    scripted(tmp_path, monkeypatch, flush=[SUMMARY])
    monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")
    return Home.open()


def stored(home: Home) -> str:
    """All that the home holds, archives unpacked."""
    files = (path for path in Path(home.paths.home).rglob("*") if path.is_file() and path.suffix != ".gz")
    turns = [str(Archive.of(home.paths).read(each)) for each in Archive.of(home.paths).list_kept()]
    return "\n".join([*(path.read_bytes().decode("utf-8", "replace") for path in files), *turns])


def looks(home: Home) -> None:
    asyncio.run(observer.work(home))
    worker.work(home, insist=True)


@pytest.mark.parametrize("order", ["shop secret shop", "secret shop secret shop"])
def test_each_line_counts_by_its_own_folder_in_any_order(home: Home, session: Session, order: str) -> None:
    for number, name in enumerate(order.split()):
        folder = session.shop if name == "shop" else session.secret
        for role in ("question", "answer"):
            said = "pelican" if name == "shop" else "quagga"  # a line without a folder is judged by the one before
            session.says(f"{said} {role} {number}", folder if role == "question" else None)
            session.hook(home, "Stop", session.shop)  # the client's folder is not always that of its lines
            assert "quagga" not in stored(home)
        session.hook(home, "Stop", folder)
        looks(home)
    session.hook(home, "PreCompact", folder)
    session.hook(home, "PostCompact", folder, compact_summary="They spoke of the quagga.")
    session.hook(home, "SessionEnd", folder)
    looks(home)
    assert "quagga" not in stored(home)
    kept = [turn.text for each in Archive.of(home.paths).list_kept() for turn in Archive.of(home.paths).read(each)]
    assert sorted(kept) == sorted(
        f"pelican {role} {number}"
        for number, name in enumerate(order.split()) if name == "shop" for role in ("question", "answer")
    )  # fmt: skip
    assert Spool(home.paths.spool).jobs() == []


def test_what_waits_when_a_folder_is_excluded_is_let_go(home: Home, session: Session) -> None:
    queued = {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "quagga again, later"}
    line = json.dumps({**queued, "timestamp": "2026-11-20T14:06:00Z"}) + "\n"
    for text in ("quagga", "quagga again"):
        with session.path.open("a") as file:
            file.write(line)  # before the first line with a folder, and after it
        session.says(text, session.shop)
    session.says("pelican", session.shop.with_name("lake"))
    session.hook(home, "Stop", session.shop)
    (session.shop / ".memoria-off").touch()
    looks(home)
    assert "quagga again" not in stored(home)
    assert "· lake ·" in stored(home)


def test_an_archive_whose_entry_was_never_written_is_forgotten_with_its_turns(home: Home, session: Session) -> None:
    session.says("pelican", session.shop)
    session.says("Fine.", session.shop)
    session.hook(home, "SessionEnd", session.shop)
    looks(home)
    archive = Archive.of(home.paths, 1)
    (kept,) = archive.list_kept()
    archive.keep("0dead", DAY, archive.read(kept))
    archive.keep("0alone", DAY, [Turn("unrecorded", "user", "Kept nowhere else.")])
    assert run(forget, home, f"e-{kept.entry}", "--yes") == 0
    assert [each.entry for each in archive.list_kept()] == ["0alone"]


def test_what_is_kept_of_a_forgotten_text_is_another_in_every_home(tmp_path: Path) -> None:
    mine, theirs = (Tombstones(Paths(str(tmp_path / name))) for name in ("mine", "theirs"))
    for each, text in itertools.product((mine, theirs), ("abc", "Quagga")):  # the former would be found everywhere
        each.path.parent.mkdir(parents=True, exist_ok=True)
        each.add(text)
    assert (mine.holds("abc"), mine.holds("two QUAGGAS")) == (False, True)
    assert len({mine.salt, theirs.salt, *(stone.digest for each in (mine, theirs) for stone in each.stones)}) == 4


def test_what_another_machine_or_an_earlier_version_forgot_is_known_here(tmp_path: Path) -> None:
    here = Tombstones(Paths(str(tmp_path)))
    here.path.parent.mkdir(parents=True)
    here.take(Tombstone(12, "7fbbb82e0632b75c1d15d7c5564cd1a6", 3353, "00" * 16))
    assert (here.find("Two quagga\nHERDS."), here.holds("quagga herd")) == ("quagga herds", False)
    assert all(map(here.line_holds, (b'{"content": [{"text": "Two quagga herds."}]}', b'{"text": "Two quagga herds')))
    assert here.purge("one\ntwo quagga herds\nthree\n") == "one\nthree\n"
    assert here.purge("- one\n  of two\n- my two quagga\n  herds\n\nfour\n") == "- one\n  of two\n\nfour\n"
    assert (here.salt, here.path.stat().st_mode & 0o777) == ("00" * 16, 0o600), "one salt, where machines meet first"
