"""Sessions of the past, as a home and the client hold them: transcript, entry, archived turns and facts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memoria.base import project
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.statements.fact import Fact, Stamp, new_id
from memoria.statements.keeper import Keeper
from memoria.transcripts import client_files
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn_reader import Reader

TURN = timedelta(minutes=2)


@dataclass
class Said:
    """A prompt, its answer, and what the answer did: (tool, input) pairs.

    ``error`` is what the first tool failed with, and ``then`` what was said after the tools.
    """

    prompt: str
    answer: str = "Done."
    tools: Sequence[tuple[str, dict[str, Any]]] = ()
    error: str = ""
    then: str = ""


@dataclass
class Past:
    """Builds a history session by session in the home of the test."""

    home: Home
    folder: Path
    sessions: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The project's key."""
        return project.of(str(self.folder), self.home.settings, self.home.paths).key

    def session(self, at: datetime, *said: Said, context: str = "", facts: Sequence[Fact] = ()) -> str:
        """Record a session with its entry and facts; return its id."""
        ident = f"s{len(self.sessions) + 1}"
        self.sessions.append(ident)
        path = client_files.folder(os.environ) / "-shop" / f"{ident}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self._lines(ident, at, said)))
        with path.open("rb") as file:
            turns = [*Reader(describing=True).read(file)]
        entry = Entry(
            id=f"{ident}abc", day=at.date(), time=f"{at:%H:%M}", session=ident, project="shop", project_key=self.key,
            title=said[0].prompt[:40], context=context, turns=tuple(turn.key for turn in turns), model="m",
        )  # fmt: skip
        daily = DailyLog.of(self.home.paths)
        daily.append(entry)
        Archive.of(self.home.paths, 10).keep(entry.id, at.date(), turns)
        with closing(Ledger.of(self.home.paths)) as ledger:
            daily.refresh(ledger)
        with Keeper.at(self.home) as keeper:
            keeper.take(facts)
        return ident

    def fact(self, content: str, at: datetime, kind: str = "decision", **given: Any) -> Fact:
        """Return a fact that was said at a moment."""
        ident = new_id(kind, content, Stamp(self.key, "s", at))
        usual: dict[str, Any] = {"importance": 0.7, "origin": "user", "quote": content}
        return Fact(kind=kind, content=content, project=self.key, time=at, id=ident, **{**usual, **given})

    def _lines(self, ident: str, at: datetime, said: Sequence[Said]) -> list[bytes]:
        lines = []
        for number, each in enumerate(said):
            moment = at + number * TURN
            used = [
                {"type": "tool_use", "id": f"t{number}{place}", "name": name, "input": given}
                for place, (name, given) in enumerate(each.tools)
            ]
            failed = {"type": "tool_result", "tool_use_id": f"t{number}0", "is_error": True, "content": each.error}
            contents = (
                ("user", each.prompt, True),
                ("assistant", [*used, {"type": "text", "text": each.answer}], True),
                ("user", [failed], each.error),
                ("assistant", [{"type": "text", "text": each.then}], each.then),
            )
            for place, (role, content, _) in enumerate(part for part in contents if part[2]):
                message = {"role": role, "content": content, "id": f"m{ident}{number}{place}"}
                about = {"uuid": f"{ident}-{number}-{place}-{role}", "sessionId": ident, "cwd": str(self.folder)}
                kind = {"type": role, "userType": "external", "isSidechain": False, "timestamp": moment.isoformat()}
                lines.append({**kind, **about, "message": message})
                moment += timedelta(seconds=20)
        return [json.dumps(line).encode() + b"\n" for line in lines]
