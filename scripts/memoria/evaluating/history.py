"""History: the sessions of the past, read from the client's transcripts or, where these are gone, from the archive."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoria.audit.receipt import Receipt
from memoria.base import exclude, project
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.errors import ArchiveError
from memoria.ground.home import Home
from memoria.recall import prompt_notes
from memoria.transcripts import client_files
from memoria.transcripts.archive import Archive, Kept
from memoria.transcripts.client_files import Found
from memoria.transcripts.json_lines import objects
from memoria.transcripts.turn import Exchange, Turn, exchanges
from memoria.transcripts.turn_reader import Reader

HEAD_BYTES = 1_000_000  # of a transcript in which its first time is searched


@dataclass(frozen=True, slots=True)
class Session:
    """A session that can be asked again: its exchanges that begin with a prompt that a person typed."""

    ident: str
    project: str
    cwd: str
    began: datetime
    ended: datetime
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session that has not been read yet: its transcript, or the files of the archive that hold its turns."""

    ident: str
    began: datetime
    cwd: str
    path: Path | None
    kept: tuple[Kept, ...] = ()


class History:
    """The sessions of one home."""

    def __init__(self, home: Home, ledger: Ledger, source: Path) -> None:
        """``source`` is a transcript or a folder of transcripts."""
        self.home = home
        self.ledger = ledger
        self.source = source
        self.archive = Archive.of(home.paths)

    def candidates(self) -> list[Candidate]:
        """Return the sessions that a person may have typed in, oldest first."""
        transcripts = dict(self._transcripts())
        found = [*filter(None, transcripts.values()), *self._archived(transcripts)]
        return sorted(found, key=lambda candidate: (candidate.began, candidate.ident))

    def _transcripts(self) -> Iterator[tuple[str, Candidate | None]]:
        """Yield the session of each transcript that can be read; None for one that is to be left alone."""
        receipt = Receipt(self.home, self.ledger, Spool(self.home.paths.spool))
        for found in client_files.transcripts(self.source):
            try:
                head = client_files.head(found.path)
                began = _began(found)
                if began is None or receipt.left_alone(found, head):
                    yield head.session, None
                else:
                    yield head.session, Candidate(head.session, began, head.cwd, found.path)
            except OSError:  # deleted meanwhile, or unreadable: the archive may have it
                continue

    def _archived(self, known: Container[str]) -> Iterator[Candidate]:
        """Yield the sessions whose transcripts are gone."""
        sessions = {entry.id: entry.session for entry in self.ledger.entries()}
        kept: dict[str, list[Kept]] = {}
        for each in self.archive.listed():
            session = sessions.get(each.entry, "")
            if session and session not in known:
                kept.setdefault(session, []).append(each)
        for session, files in kept.items():
            turns = [turn for each in files[:1] for turn in self._turns(each)]
            timed = next((turn for turn in turns if turn.time), None)
            cwd = next((turn.cwd for turn in turns if turn.cwd), "")
            if timed and timed.time and not exclude.reason(cwd, self.home.settings, self.home.paths):
                yield Candidate(session, timed.time, cwd, None, tuple(files))

    def _turns(self, kept: Kept) -> list[Turn]:
        try:
            return self.archive.read(kept)
        except ArchiveError:
            return []

    def read(self, candidate: Candidate) -> Session | None:
        """Return the session; None when no person typed in it. What another session's entry holds is a copy."""
        if candidate.path is None:
            turns = [turn for each in candidate.kept for turn in self._turns(each)]
        else:
            turns = [turn for turn in _read(candidate.path) if not self._is_copy(turn, candidate.ident)]
        cwd = candidate.cwd or next((turn.cwd for turn in turns if turn.cwd), "")
        asked = tuple(each for each in exchanges(turns) if _is_asked(each))
        times = [turn.time for turn in turns if turn.time]
        if not asked or not times:
            return None
        key = project.of(cwd, self.home.settings, self.home.paths).key
        return Session(candidate.ident, key, cwd, min(times), max(times), asked)

    def key(self, candidate: Candidate) -> str:
        """Return the key of a session's project."""
        return project.of(candidate.cwd, self.home.settings, self.home.paths).key

    def _is_copy(self, turn: Turn, session: str) -> bool:
        return self.ledger.session_of(turn.key) not in ("", session)


def prompt_of(exchange: Exchange) -> str:
    """Return what the person typed."""
    return "\n\n".join(exchange.texts("user"))


def answers_of(exchange: Exchange) -> Sequence[Turn]:
    """Return the turns that answered."""
    return [turn for turn in exchange.turns if turn.role != "user"]


def _is_asked(exchange: Exchange) -> bool:
    return prompt_notes.is_asking(prompt_of(exchange)) and any(turn.role == "assistant" for turn in exchange.turns)


def _read(path: Path) -> list[Turn]:
    reader = Reader(describing=True)
    try:
        with client_files.opened(path) as file:
            return [*reader.read(file), *reader.settle()]
    except OSError:
        return []


def _began(found: Found) -> datetime | None:
    """Return the first time that a transcript's lines name."""
    with client_files.opened(found.path) as file:
        while file.tell() < HEAD_BYTES and (line := file.readline(HEAD_BYTES)):
            for value in objects(line):
                if moment := clock.parse(value.get("timestamp")):
                    return moment
    return None
