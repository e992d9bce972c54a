"""What a session asks of a model: ``uv run python -m bench.asked [FOLDER] [--half] [--turns] [--keep FOLDER]``.

Plays each transcript of FOLDER (default: the real ones beside the repository, or in ``$MEMORIA_SHARED``) through the
hooks, turn by turn, and runs the worker after each answer and the compile that it starts, with a model that costs
nothing. The model learns one fact of each third exchange and notes each exchange in two lines, so that later requests
carry facts, open items and articles. A turn is a request of the user's with all that answered it; it cost a call when
one was made before the next request. Prints calls, the share of turns that cost one, and bytes, by task.

Uses nothing that version 0.1.0 does not have: run this file with the interpreter of an older worktree to compare.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import detach
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.models.protocol import Prompt
from memoria.models.scripted import Scripted
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader
from memoria.worker import worker

INHERITED = ("ANTHROPIC_", "CLAUDE", "MEMORIA_", "MEMORY_", "OLLAMA_", "XDG_")
COMPILED = "compile"
HEADS = ("calls", "turns that cost one", "bytes/session", "bytes/turn", "bytes/call")
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Piece:
    """The lines of one turn, whether the user said something in it, and when it ended."""

    lines: list[bytes] = field(default_factory=list)
    asked: str = ""
    until: datetime | None = None


@dataclass(slots=True)
class Played:
    """The calls of one session: by task, their bytes, and after how many turns any was made."""

    name: str
    turns: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    busy: Counter[str] = field(default_factory=Counter)
    costly: list[str] = field(default_factory=list)


def pieces(path: Path) -> list[Piece]:
    """Return a transcript cut where the user asks for something new."""
    reader = Reader()
    found = [Piece()]
    answered = False
    with path.open("rb") as file:
        for line in file:
            turns = list(reader.read([line]))
            if answered and any(_is_request(turn) for turn in turns):
                found.append(Piece())
                answered = False
            piece = found[-1]
            piece.lines.append(line)
            for turn in turns:
                piece.until = turn.time or piece.until
                piece.asked = piece.asked or (turn.text if _is_request(turn) else "")
                answered = answered or turn.role in ("assistant", "error")
    for turn in reader.settle():
        found[-1].asked = found[-1].asked or (turn.text if _is_request(turn) else "")
    return found


def _is_request(turn: Turn) -> bool:
    return turn.role == "user" and not turn.sidechain and bool(turn.text)


def answer(prompt: Prompt) -> dict[str, Any]:
    """Return what a model of few words would answer."""
    if prompt.task == "learn":
        return {"statements": _learned(prompt.material["exchanges"])}
    if prompt.task == "flush":
        return _note(prompt.material["exchanges"])
    if prompt.task == "compile":
        return {"places": [{"id": row["id"], "article": _slug(row["about"])} for row in prompt.material["statements"]]}
    return {name: [] for name in prompt.schema.get("required", ())}


def _note(exchanges: list[dict[str, Any]]) -> dict[str, Any]:
    asked = [text for part in exchanges if (text := _first(part["user"]))]
    answered = [text for part in exchanges if (text := _first(part["assistant"]))]
    return {
        "worth_saving": bool(asked or answered),
        "title": " ".join((asked or answered or [""])[0].split()[:8])[:100],
        "context": (asked or answered or [""])[0],
        "key_exchanges": [*asked[:8], *answered[-4:]],
        "action_items": [f"Follow up on {' '.join(asked[-1].split()[:8])}"] if len(asked) > 2 else [],
        "statements": _learned(exchanges),
    }


def _learned(exchanges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    said = [text for part in exchanges[::3] if len(text := _first(part["user"])) >= 40]
    return [
        {"kind": "preference", "content": text, "importance": 0.6, "tags": [], "keywords": [], "quote": text}
        for text in said[:5]
    ]


def _first(text: str) -> str:
    """Return the first line of a text that says something, at most 200 characters."""
    return next((" ".join(row.split())[:200] for row in text.splitlines() if len(row.strip()) > 2), "")


def _slug(title: str) -> str:
    words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in title.lower())
    return "-".join(words.split()[:4])[:80].strip("-") or "notes"


class Player:
    """Plays transcripts into one home."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = Home.open()
        self.settings = Settings.load()
        self.paths = Paths.of(self.settings)
        self.now = START
        self.model = Scripted(answer, "scripted")
        self.started: list[list[str]] = []

    def play(self, path: Path) -> Played:
        played = Played(path.stem)
        cut = pieces(path)
        name = f"bench-{path.stem}"[-60:]
        copy = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-bench", f"{name}.jsonl")
        copy.parent.mkdir(parents=True, exist_ok=True)
        told = {"session_id": name, "transcript_path": str(copy), "cwd": _cwd(path)}
        self.now += timedelta(hours=8)
        for number, piece in enumerate(cut, 1):
            before = len(self.model.prompts)
            with copy.open("ab") as file:
                file.writelines(piece.lines)
            self._hook({**told, "hook_event_name": "Stop"})
            if number == len(cut):
                self._hook({**told, "hook_event_name": "SessionEnd", "reason": "other"})
            self._count(played, piece, self.model.prompts[before:])
        return played

    def _hook(self, fields: dict[str, object]) -> None:
        capture(Event(fields), self.settings, self.paths)
        self.now += timedelta(minutes=4)
        self.started.clear()
        worker.work(self.home)
        if any("compile" in word for way in self.started for word in way[:3]):
            self._compile()

    def _compile(self) -> None:
        verb = importlib.import_module("memoria.commands.compile")
        parser = argparse.ArgumentParser()
        verb.arguments(parser)
        with contextlib.redirect_stdout(io.StringIO()):
            verb.command(parser.parse_args(["--due"]), self.home)

    def _count(self, played: Played, piece: Piece, prompts: list[Prompt]) -> None:
        played.turns += bool(piece.asked)
        for prompt in prompts:
            played.calls[prompt.task] += 1
            played.sent[prompt.task] += len(prompt.text.encode("utf-8", "replace"))
        tasks = {prompt.task for prompt in prompts}
        if piece.asked:
            played.busy.update(tasks)
            played.busy["session"] += bool(tasks - {COMPILED})
            played.busy["any"] += bool(tasks)
            said = " ".join(piece.asked.split())[:150]
            if tasks:
                played.costly.append(f"{'+'.join(sorted(tasks))}: {said}")


def _cwd(path: Path) -> str:
    """Return the folder that a transcript names first, else one named after the file."""
    with path.open("rb") as file:
        for line in file:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and value.get("cwd"):
                return str(value["cwd"])
    return f"/bench/{path.stem}"


@contextlib.contextmanager
def staged(base: Path) -> Iterator[Player]:
    """Give the player a world of its own, with nothing of the caller's."""
    user = base / "user"
    user.mkdir(parents=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(INHERITED)}
    env = {
        **kept, "HOME": str(user), "XDG_CONFIG_HOME": str(user / ".config"), "CLAUDE_CONFIG_DIR": str(user / ".claude"),
        "MEMORIA_HOME": str(base / "memoria"), "MEMORIA_TZ": "UTC", "MEMORIA_LIMIT_RETRY_S": "0",
        "MEMORIA_PYTHON": sys.executable, "MEMORIA_LIMIT_LEARN_MODELS": "",
        "MEMORIA_LIMIT_TRANSCRIPT_WAIT_S": "0",
    }  # fmt: skip
    with patch.dict(os.environ, env, clear=True):
        player = Player(base)

        def start(ways: list[list[str]], *_: object, **__: object) -> None:
            player.started.append(ways[0])

        with (
            patch.object(clock, "now", lambda: player.now),
            patch.object(detach, "start", start),
            patch("memoria.pages.housekeeping.lower_priority", lambda: None),
            patch("memoria.models.chain.from_settings", lambda *_: player.model),
        ):
            yield player


def report(sessions: list[Played]) -> None:
    """Print the figures of all sessions."""
    turns = sum(each.turns for each in sessions)
    calls: Counter[str] = sum((each.calls for each in sessions), Counter())
    sent: Counter[str] = sum((each.sent for each in sessions), Counter())
    busy: Counter[str] = sum((each.busy for each in sessions), Counter())
    count = len(sessions)
    print(f"{count} sessions, {turns} turns")
    print(
        f"{'task':<12}{'calls':>7}{'turns that cost one':>22}{'bytes/session':>15}{'bytes/turn':>12}{'bytes/call':>12}"
    )
    rows = [(name, calls[name], busy[name], sent[name]) for name in sorted(calls)]
    own = [name for name in calls if name != COMPILED]
    rows.append(("session", sum(calls[name] for name in own), busy["session"], sum(sent[name] for name in own)))
    rows.append(("all", calls.total(), busy["any"], sent.total()))
    for name, number, after, size in rows:
        share = f"{after} ({after / max(turns, 1):.1%})"
        print(
            f"{name:<12}{number:>7}{share:>22}{size // max(count, 1):>15,}{size // max(turns, 1):>12,}"
            f"{size // max(number, 1):>12,}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    shared = Path(os.environ.get("MEMORIA_SHARED") or Path(__file__).parents[2] / "shared") / "transcripts"
    parser.add_argument("folder", nargs="?", type=Path, default=shared)
    parser.add_argument("--half", action="store_true", help="only the smaller half of the files")
    parser.add_argument("--turns", action="store_true", help="also print the turns that cost a call")
    parser.add_argument("--keep", type=Path, help="write every request to this folder")
    args = parser.parse_args()
    paths = sorted(args.folder.glob("*.jsonl"))
    if args.half:
        paths = sorted(paths, key=lambda path: path.stat().st_size)[: len(paths) // 2]
    with tempfile.TemporaryDirectory(prefix="memoria-asked-") as scratch, staged(Path(scratch)) as player:
        sessions = [player.play(path) for path in sorted(paths)]
    for each in sessions if args.turns else ():
        print(f"-- {each.name}: {each.turns} turns", *each.costly, sep="\n   ")
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        for number, prompt in enumerate(player.model.prompts, 1):
            Path(args.keep, f"{number:04}-{prompt.task}.txt").write_text(prompt.text, "utf-8", "replace")
    report(sessions)


if __name__ == "__main__":
    main()
