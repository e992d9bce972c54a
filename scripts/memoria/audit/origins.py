"""Origins: the turns behind an entry, as the transcript has them or else as the archive kept them.

Of the turns, those that say the same as a given text are found by the words that they share. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memoria.capture import cursor, spool, transcript
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.errors import ArchiveError
from memoria.ground.home import Home
from memoria.search import tokens
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

MAX_TURNS = 4  # of one source that are shown
NEAR_BEST = 0.6  # least share of the best turn's words that another turn must have


@dataclass(frozen=True, slots=True)
class Origin:
    """A turn and where it is: ``transcript`` if the file exists, ``line`` if the turn is in it, ``archived``."""

    key: str
    turn: Turn | None
    transcript: str = ""
    line: int = 0
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """An entry that a claim cites, None when it is in no daily log; its turns, and those that say what it says."""

    source: str
    entry: Entry | None
    origins: tuple[Origin, ...]
    matching: tuple[Origin, ...]


class Tracer:
    """Looks up entries and turns, reading each daily log and each transcript once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.daily = DailyLog.of(home.paths)
        self._days: dict[date, dict[str, Entry]] = {}
        self.archive = Archive.of(home.paths, home.settings.archive_mb)
        self._transcripts: dict[str, tuple[str, dict[str, tuple[int, Turn]]]] = {}

    def entry(self, source: str) -> Entry | None:
        """Return the entry that a source (``daily/2026-11-21#^e-01k9x2``) names, None when it is in no daily log."""
        day = source.removeprefix("daily/")[:10]
        return self._of_day(date.fromisoformat(day)).get(source) if clock.is_day(day) else None

    def entry_called(self, ident: str) -> Entry | None:
        """Return the entry with an id, None when no daily log has it; the latest days are read first."""
        for day in reversed(self.daily.days()):
            for entry in self._of_day(day).values():
                if entry.id == ident:
                    return entry
        return None

    def _of_day(self, day: date) -> dict[str, Entry]:
        if day not in self._days:
            self._days[day] = {entry.source: entry for entry in self.daily.entries(day)}
        return self._days[day]

    def trace(self, source: str, said: str) -> Trace:
        """Return the turns behind a source, and those of them that share words with ``said``."""
        entry = self.entry(source)
        if entry is None:
            return Trace(source, None, (), ())
        path, lines = self._transcript(entry.session)
        kept = {turn.key: turn for turn in self._archived(entry.id)}
        origins = []
        for key in entry.turns:
            line, turn = lines.get(key, (0, None))
            origins.append(Origin(key, turn or kept.get(key), path, line, key in kept))
        return Trace(source, entry, tuple(origins), matching(origins, set(tokens.of_query(said))))

    def _archived(self, entry_id: str) -> list[Turn]:
        try:
            return self.archive.turns(entry_id) or []
        except ArchiveError:
            return []

    def _transcript(self, session: str) -> tuple[str, dict[str, tuple[int, Turn]]]:
        """Return the session's transcript and, by key, the line and turn of what it still contains."""
        if session not in self._transcripts:
            path = self._path(session)
            self._transcripts[session] = path, dict(_turns(path)) if path else {}
        return self._transcripts[session]

    def _path(self, session: str) -> str:
        """Return the session's transcript as cursor, client or an import know it; ``""`` when it is gone."""
        known = cursor.latest(self.home.paths.cursors, spool.safe_name(session))
        paths = [known.transcript] if known else []
        paths.append(transcript.locate("", session, ""))
        with closing(Ledger.of(self.home.paths)) as ledger:
            paths += [path for path in ledger.checked() if Path(path).stem == session]
        return next((path for path in paths if path and Path(path).is_file()), "")


def matching(origins: Sequence[Origin], wanted: set[str]) -> tuple[Origin, ...]:
    """Return the turns that share most words with what is traced, each after the prompt that it answers.

    When none shares a word, return the beginning of the conversation.
    """
    shares = [len(wanted.intersection(tokens.of(said_in(origin)))) for origin in origins]
    best = max(shares, default=0)
    if not best:
        return tuple(origins[:2])
    chosen: set[int] = set()
    for number in sorted(range(len(origins)), key=lambda number: (-shares[number], number)):
        if shares[number] < NEAR_BEST * best or len(chosen) >= MAX_TURNS:
            break
        prompts = (before for before in range(number, -1, -1) if _is_prompt(origins[before]))
        chosen |= {number, next(prompts, number)}
    return tuple(origins[number] for number in sorted(chosen))


def _is_prompt(origin: Origin) -> bool:
    return origin.turn is not None and origin.turn.role == "user"


def said_in(origin: Origin) -> str:
    """Return what a turn says and does."""
    return "\n".join((origin.turn.text, *origin.turn.tools)) if origin.turn else ""


def _turns(path: str) -> Iterator[tuple[str, tuple[int, Turn]]]:
    reader = Reader(keep_sidechains=True)
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                for turn in reader.read([line]):
                    yield turn.key, (number, turn)
    except OSError:
        return
