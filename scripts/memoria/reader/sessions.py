"""Sessions: every session that the ledger or a transcript knows, and what became of its turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memoria.audit.receipt import CAPTURED, NOT_UNDERSTOOD, REPEATED, SKIPPED
from memoria.base import project
from memoria.daily.ledger import Booked, Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.reader.site import Site
from memoria.reader.watch import change_time
from memoria.transcripts import client_files

_SIDE = "agent-"  # how the name of a sub-agent's transcript begins


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its entries, oldest first, and the number of its turns by what became of them.

    ``transcript`` is the path of the file that was compared, ``""`` when the turns are counted from the entries.
    """

    ident: str
    day: str
    project: str
    entries: tuple[Booked, ...]
    fates: Mapping[str, int]
    transcript: str = ""

    @property
    def turns(self) -> int:
        """All turns that are this session's own."""
        return sum(self.fates.values())

    @property
    def captured(self) -> int:
        """The turns that are in the daily logs."""
        return self.fates.get(CAPTURED, 0)

    @property
    def others(self) -> list[tuple[str, int]]:
        """What became of the other turns, most first."""
        rest = [(fate.removeprefix(SKIPPED), count) for fate, count in self.fates.items() if fate != CAPTURED]
        return sorted(rest, key=lambda each: (-each[1], each[0]))


def all_of(site: Site) -> tuple[Session, ...]:
    """Return the sessions that may be shown, the latest first."""
    return site.cached("sessions", lambda: _read(site), ledger_stamp(site.home))


def find(site: Site, ident: str) -> Session | None:
    """Return a session that may be shown, None when there is none of this id."""
    return next((one for one in all_of(site) if one.ident == ident), None)


def ledger_stamp(home: Home) -> tuple[int, ...]:
    """Return what changes whenever the ledger is written."""
    return change_time(home.paths.ledger), change_time(f"{home.paths.ledger}-wal")


def _read(site: Site) -> tuple[Session, ...]:
    entries: dict[str, list[Booked]] = {}
    for entry in site.catalog.entries.values():
        entries.setdefault(entry.session, []).append(entry)
    with closing(Ledger.of(site.home.paths)) as ledger:
        counts, checked = ledger.turn_counts(), _by_session(ledger)
    sessions = []
    for ident, booked in entries.items():
        path, fates = checked.get(ident, ("", {}))
        fates = fates or {CAPTURED: sum(counts.get(entry.id, 0) for entry in booked)}
        sessions.append(Session(ident, booked[-1].day, booked[-1].project, tuple(booked), fates, path))
    sessions += _without_entries(site, {name: known for name, known in checked.items() if name not in entries})
    return tuple(sorted(sessions, key=lambda one: (one.day, one.ident), reverse=True))


def own_turns(fates: Mapping[str, int]) -> Counter[str]:
    """Return the number of the turns that are a transcript's own, by what became of them."""
    found: Counter[str] = Counter()
    for fate, count in fates.items():
        if not fate.startswith((REPEATED, NOT_UNDERSTOOD)):
            found[fate] += count
    return found


def _by_session(ledger: Ledger) -> dict[str, tuple[str, Mapping[str, int]]]:
    """Return the transcript of each session that was compared, and the number of its own turns by their fates."""
    found: dict[str, tuple[str, Mapping[str, int]]] = {}
    for path, (_, fates) in ledger.checked().items():
        own = own_turns(fates)
        place = Path(path)
        if own and place.suffix == ".jsonl" and not place.name.startswith(_SIDE):
            found[place.stem] = (path, own)
    return found


def _without_entries(site: Site, checked: Mapping[str, tuple[str, Mapping[str, int]]]) -> Iterator[Session]:
    """Yield the sessions of which no entry is known and whose transcripts still say which project they belong to."""
    visible = site.visible()
    for ident, (path, fates) in checked.items():
        try:
            head = _head(path)
        except OSError:
            continue
        key = project.of(head.cwd, site.home.settings, site.home.paths).key if head.cwd else ""
        if visible.shows(key):
            began = clock.parse(head.began)
            day = site.home.zone.day(began).isoformat() if began else ""
            yield Session(ident, day, key, (), fates, path)


@lru_cache(maxsize=20_000)
def _head(path: str) -> client_files.Head:
    """Return what the first lines of a transcript say, which never changes."""
    return client_files.head(Path(path))
