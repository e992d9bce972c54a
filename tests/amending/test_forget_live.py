"""What was forgotten stays forgotten in every form, in a session that goes on, and what cannot be read is said."""

from __future__ import annotations

import asyncio
import gzip
import html
import json
import unicodedata
from pathlib import Path

import pytest

from home_of import DAY, entry, line, run, scripted
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.capture.spool import Spool
from memoria.commands import forget
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Tombstones
from memoria.transcripts.turn import Turn
from memoria.worker import observer, worker

pytestmark = pytest.mark.slow

TEXT = "The café's Ångström licence ends"
NOTHING = {
    "worth_saving": True, "title": "Licences", "context": "On licences.", "key_exchanges": [],
    "action_items": [], "statements": [],
}  # fmt: skip
FORMS = {
    "as it is": TEXT, "capitals": TEXT.upper(), "decomposed": unicodedata.normalize("NFD", TEXT),
    "U+2028": TEXT.replace(" ", "\u2028"), "U+2029": TEXT.replace(" ", "\u2029", 1),
    "U+0085": TEXT.replace(" ", "\x85", 1), "line feed": TEXT.replace(" ", "\n", 1),
    "form feed": TEXT.replace(" ", "\x0c", 1), "tabs": TEXT.replace(" ", " \t "),
    "no-break space": TEXT.replace(" ", "\xa0"), "soft hyphen": TEXT.replace("lic", "li\xadc"),
    "zero width": TEXT.replace("café", "ca\u200bfé"),
    "full width": TEXT.replace("licence", "".join(chr(ord(letter) + 0xFEE0) for letter in "licence")),
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    scripted(tmp_path, monkeypatch, flush=[NOTHING])
    monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")
    monkeypatch.setenv("MEMORIA_LIMIT_TRANSCRIPT_WAIT_S", "0")
    return Home.open()


def holding(home: Home, text: str = "licence ends") -> list[str]:
    """The files that hold the end of the text; an independent and simple search, for what no form changes."""
    found = []
    for path in Path(home.paths.home).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            said = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
            plain = unicodedata.normalize("NFKC", said.replace("\xad", "")).casefold()
            if text in " ".join(plain.replace("\\t", " ").split()):
                found.append(path.name)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_found_and_forgotten_in_every_form(home: Home, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = f"Note that {FORMS[form]} in May."
    entry(home, "01aa", "Licences", context="On licences.")
    Archive.of(home.paths, 1).keep("01aa", DAY, [Turn("k1", "user", said), Turn("k2", "assistant", "Fine.")])
    assert holding(home)
    assert run(forget, home, TEXT, "--yes", "--as", "text") == 0
    assert holding(home) == []
    assert [turn.text for turn in Archive.of(home.paths).turns("01aa") or []] == ["Fine."]
    assert "nothing contains it" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_named(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    entry(home, "01aa", "Licences", context=f'{TEXT} "so".')
    broken, kept = Path(home.paths.archive, f"{DAY}-01bb.jsonl.gz"), Path(home.paths.state, "kept.json")
    broken.write_bytes(b"\x1f\x8b no archive")
    kept.write_text(json.dumps(json.dumps("\n".join(f'{TEXT} "so".'.split()))))  # whatever the escapes in it are
    shown = Path(home.paths.state, "shown.html")
    shown.write_text(html.escape(f'{TEXT} "so".'))
    assert run(forget, home, f'{TEXT} "so".', "--yes", "--as", "text") == 1
    told = capsys.readouterr().out
    assert [path.name in told for path in (broken, kept, shown)] == [True, True, True]


class Live:
    """A session of the client that goes on: its transcript, its hooks, its worker and its observer."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.path = folder / "s1.jsonl"
        self.number = 0

    def says(self, *texts: str) -> None:
        with self.path.open("ab") as file:
            for text in texts:
                self.number += 1
                file.write(line(self.number, "assistant" if self.number % 2 == 0 else "user", text))

    def hook(self, name: str, **more: str) -> None:
        fields = {"hook_event_name": name, "session_id": "s1", "transcript_path": str(self.path), "cwd": "/shop"}
        capture(Event({**fields, **more}), self.home.settings, self.home.paths)

    def looks(self) -> None:
        asyncio.run(observer.work(self.home))
        worker.work(self.home, insist=True)


@pytest.fixture
def live(home: Home, tmp_path: Path) -> Live:
    session = Live(home, tmp_path)
    session.says(f"Note that {TEXT} in May.", f"Noted: {TEXT} in May.")
    session.hook("Stop")
    session.says(f"Again, {TEXT}!", "Fine.")  # no hook has seen this
    return session


@pytest.mark.parametrize("whole", [False, True], ids=["the text", "the session"])
def test_a_session_that_goes_on_does_not_bring_it_back(home: Home, live: Live, *, whole: bool) -> None:
    live.looks()
    assert run(forget, home, "s1" if whole else TEXT, "--yes", "--as", "session" if whole else "text") == 0
    assert holding(home) == []
    for name in ("Stop", "PreCompact", "PostCompact", "Stop", "SessionEnd"):
        live.says("And what of the rest?", "The rest is fine.")
        live.hook(name, compact_summary=f"The user said that {TEXT} in May.")
        assert holding(home) == []
        live.looks()
        assert holding(home) == []


def test_a_job_that_names_a_range_of_the_transcript_does_not_bring_it_back(home: Home, live: Live) -> None:
    assert run(forget, home, TEXT, "--yes", "--as", "text") == 0
    end = live.path.stat().st_size
    header = {"event": "SessionEnd", "session": "s1", "transcript": str(live.path), "cwd": "/shop"}
    Spool(home.paths.spool).add({**header, "start": 0, "copied_from": end, "end": end}, b"")
    live.looks()
    assert holding(home) == []


def test_the_text_said_in_another_session_is_not_kept_and_the_rest_is(home: Home, live: Live) -> None:
    run(forget, home, TEXT, "--yes", "--as", "text")
    other = Live(home, live.path.parent)
    other.path, other.number = live.path.with_name("s2.jsonl"), 100
    other.says(f"By the way, {FORMS['decomposed']} in May.", "What of pnpm?", "We use pnpm here.", "Good.")
    data = other.path.read_bytes()
    header = {"event": "SessionEnd", "session": "s2", "transcript": "", "start": 0, "end": len(data), "cwd": "/shop"}
    Spool(home.paths.spool).add(header, data)
    other.looks()
    assert holding(home) == []
    kept = [archived.entry for archived in Archive.of(home.paths).list_kept()]
    texts = [turn.text for ident in kept for turn in Archive.of(home.paths).turns(ident) or []]
    assert "We use pnpm here." in texts


def test_the_clients_own_memory_is_named_and_not_changed(
    home: Home, live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = tmp_path / "shop"
    slug = "".join(c if c.isalnum() else "-" for c in str(shop))
    own, shared = tmp_path / "client/projects" / slug / "memory/MEMORY.md", shop / ".claude/memory/ada.md"
    Path(home.paths.projects).write_text(json.dumps({"folders": {str(shop): {"key": "shop-1"}}, "aliases": {}}))
    side = own.parents[1] / "agent-1.jsonl"
    for path in (own, shared, side):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Licences\n\n- {TEXT} in May.\n- We use pnpm.\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "client"))
    assert run(forget, home, TEXT, "--yes", "--as", "text") == 0
    printed = capsys.readouterr().out
    for path in (own, shared, side):
        assert f"- {path}\n" in printed
        assert TEXT in path.read_text()
    assert holding(home) == []


def test_a_tombstone_does_not_hold_the_text(home: Home, live: Live) -> None:
    run(forget, home, TEXT, "--yes", "--as", "text")
    stones = Path(home.paths.forgotten)
    assert stones.stat().st_mode & 0o777 == 0o600
    assert not any(word in stones.read_text().casefold() for word in ("ngstr", "licence"))
    text = {"length": 7, "digest": "a757203249ab65f5271830995e72f0fb", "begin": 1558}  # as it was written before
    stones.write_text(json.dumps({"salt": "00", "texts": [text]}))
    assert Tombstones(home.paths).holds("Noted: Quaggas.")
