"""The parts ``forget`` and ``exclude`` of ``trust.py``: what is left of words that must not be stored.

The sessions run through the hooks' own functions, the observer, the worker and the ``offline`` model, which repeats
what it reads, or a scripted one. What is left is searched for by a simple search of its own, not by memoria's.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import io
import json
import os
import random
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.commands import forget as forget_command
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.worker import loop, worker

TEXTS, ORDERS = 100, 200
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "capitals": str.upper,
    "composed": lambda text: unicodedata.normalize("NFC", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "U+2028": lambda text: text.replace(" ", "\u2028", 1),
    "U+2029": lambda text: text.replace(" ", "\u2029", 1),
    "U+0085": lambda text: text.replace(" ", "\x85", 1),
    "line feed": lambda text: text.replace(" ", "\n", 1),
    "blanks": lambda text: text.replace(" ", " \t  "),
    "no-break space": lambda text: text.replace(" ", "\xa0"),
    "soft hyphen": lambda text: f"{text[:3]}\xad{text[3:]}",
    "full width": lambda text: "".join(chr(ord(each) + 0xFEE0) if "a" <= each <= "z" else each for each in text),
}
SUMMARY = {
    "worth_saving": True, "title": "Work", "context": "Work.", "key_exchanges": [],
    "action_items": [], "statements": [],
}  # fmt: skip
_HIDDEN = str.maketrans("", "", "\xad")


class Session:
    """A session of the client: its transcript and its hooks."""

    def __init__(self, home: Home, folder: Path, name: str) -> None:
        self.home = home
        self.name = name
        self.path = folder / f"{name}.jsonl"
        self.number = 0

    def says(self, text: str, cwd: Path) -> None:
        """Let the user and the assistant speak in turn."""
        self.number += 1
        role = "user" if self.number % 2 else "assistant"
        value = {
            "type": role, "uuid": f"{self.name}-{self.number}", "sessionId": self.name, "cwd": str(cwd),
            "timestamp": "2026-11-20T14:05:00Z", "isSidechain": False,
            "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
        }  # fmt: skip
        with self.path.open("ab") as file:
            file.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def hook(self, event: str, cwd: Path, **more: str) -> None:
        """Run a hook's function."""
        fields = {"hook_event_name": event, "session_id": self.name, "transcript_path": str(self.path), "cwd": str(cwd)}
        capture(Event({**fields, **more}), self.home.settings, self.home.paths)


def looks(home: Home) -> None:
    """Run observer and worker."""
    asyncio.run(loop.work(home))
    worker.work(home, insist=True)


@contextlib.contextmanager
def world(answer: object = None) -> Iterator[tuple[Path, Home]]:
    """Yield a folder and a home of its own in it, whose model gives this ``answer``, or is ``offline``."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.json") if answer else None
        if script:
            script.write_text(json.dumps({"flush": [answer]}))
        env = {
            "PATH": os.defpath, "HOME": folder, "MEMORIA_HOME": str(Path(folder, "memoria")),
            "MEMORIA_MODEL": f"scripted:{script}" if script else "offline", "MEMORIA_RETRY_S": "0",
            "MEMORIA_PYTHON": "/bin/true", "MEMORIA_FLUSH_TURNS_END": "1", "MEMORIA_TRANSCRIPT_WAIT_S": "0",
            "CLAUDE_CONFIG_DIR": str(Path(folder, "client")),
        }  # fmt: skip
        with patch.dict(os.environ, env, clear=True):
            yield Path(folder), Home.open()


def left(home: Home, text: str) -> list[str]:
    """Return the files that hold the text, whatever its form."""
    wanted = _plain(text)
    found = []
    for path in Path(home.paths.home).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            said = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "ignore")
            forms = (said, said.replace("\\n", " ").replace("\\t", " "), _unescaped(said))
            found += [path.name] if any(wanted in _plain(form) for form in forms) else []
    return found


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKD", text.translate(_HIDDEN)).casefold().split())


def _unescaped(text: str) -> str:
    for code in {text[at + 2 : at + 6] for at in range(len(text)) if text.startswith("\\u", at)}:
        with contextlib.suppress(ValueError):
            text = text.replace(f"\\u{code}", chr(int(code, 16)))
    return text


def forget() -> bool:
    """Forget texts in many forms in sessions that go on and that have ended, and count what is left."""
    draw = random.Random(13)
    before = after = later = failed = 0
    for _ in range(TEXTS):
        text = f"{_word(draw)} {_word(draw)} é{_word(draw)} {draw.randrange(10**6)} {_word(draw)}"
        with world() as (folder, home):
            sessions = [Session(home, folder, f"s{number}") for number in range(len(FORMS))]
            for number, (session, form) in enumerate(zip(sessions, FORMS.values(), strict=True)):
                session.says(f"Note that {form(text)} is decided.", folder)
                session.says("We will use it for the importer.", folder)
                session.hook("Stop" if number % 2 else "SessionEnd", folder)
            looks(home)
            for session in sessions[1::2]:  # what no hook has seen
                session.says(f"Again: {text}!", folder)
                session.says("Fine.", folder)
            before += bool(left(home, text))
            failed += _forgotten(home, text)
            after += bool(left(home, text))
            for session in sessions[1::2]:
                session.says("And the rest?", folder)
                session.says("The rest is fine.", folder)
                session.hook("PreCompact", folder)
                looks(home)
                session.hook("PostCompact", folder, compact_summary=f"The user said: {text}.")
                session.hook("SessionEnd", folder)
            later += bool(left(home, text))
            looks(home)
            later += bool(left(home, text))
    print(
        f"{TEXTS} texts in {len(FORMS)} forms: stored {before}, left after forgetting {after}, "
        f"back in a session that went on {later}, proofs that failed {failed}"
    )
    return before == TEXTS and not after + later + failed


def _forgotten(home: Home, text: str) -> int:
    parser = argparse.ArgumentParser()
    forget_command.arguments(parser)
    with contextlib.redirect_stdout(io.StringIO()):
        return forget_command.command(parser.parse_args([text, "--as", "text", "--yes"]), home)


def _word(draw: random.Random) -> str:
    return "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(4))


def exclude() -> bool:
    """Let sessions enter and leave an excluded folder in any order, and count leaks and losses."""
    draw = random.Random(13)
    leaks = lost = lines = 0
    for _ in range(ORDERS):
        with world(SUMMARY) as (folder, home):
            shop, secret = folder / "shop", folder / "secret"
            for path in (shop, secret):
                path.mkdir()
            (secret / ".memoria-off").touch()
            session, said = Session(home, folder, "s1"), []
            for number in range(draw.randrange(4, 14)):
                cwd = draw.choice((shop, secret))
                word = f"{'pelican' if cwd == shop else 'quagga'}{number:03d}"
                session.says(word, cwd)
                said += [word] if cwd == shop else []
                if draw.random() < 0.5:
                    session.hook(draw.choice(("Stop", "PreCompact")), cwd)
                    leaks += bool(left(home, "quagga"))
                if draw.random() < 0.2:
                    session.hook("PostCompact", cwd, compact_summary=f"They said {word}.")
                if draw.random() < 0.3:
                    looks(home)
                    leaks += bool(left(home, "quagga"))
            session.hook("SessionEnd", cwd)
            looks(home)
            leaks += bool(left(home, "quagga"))
            archive = Archive.of(home.paths)
            kept = {turn.text for each in archive.listed() for turn in archive.read(each)}
            lost += len(set(said) - kept) if any(Path(home.paths.cursors).iterdir()) else 0
            lines += session.number
    print(f"{ORDERS} orders of {lines} lines: {leaks} leaks, {lost} lines lost that were not excluded")
    return not leaks and not lost
