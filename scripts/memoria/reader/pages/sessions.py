"""Sessions: all of them with what became of their turns, and one of them turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memoria.daily.ledger import Ledger
from memoria.ground import printable
from memoria.reader import address, sessions
from memoria.reader.sessions import Session
from memoria.reader.site import Asked, Site, View, not_found
from memoria.transcripts import client_files
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

PAGE = 40  # sessions on one page
PAGE_TURNS = 100
EXCERPT = 220  # characters of a turn


@dataclass(frozen=True, slots=True)
class Fate:
    """A turn and what became of it: the ``path`` and title of its entry, or the reason why it has none."""

    who: str
    time: str
    text: str
    path: str
    said: str


def show(site: Site, asked: Asked) -> View:
    """Return the sessions, filtered by ``project``, ``q`` (words of titles) and ``only`` (``open``, ``none``)."""
    key, words, only = (asked.query.get(name, "") for name in ("project", "q", "only"))
    known = sessions.all_of(site)
    found = [one for one in known if _fits(one, key, words.casefold().split(), only)]
    values = {
        "shown": address.paginate(found, PAGE, "/sessions", asked.query),
        "project": key,
        "query": words,
        "only": only,
        "projects": sorted({(site.catalog.label(one.project), one.project) for one in known if one.project}),
        "label": site.catalog.label,
    }
    return View("sessions.html", "Sessions", values)


def _fits(one: Session, key: str, words: list[str], only: str) -> bool:
    if key and one.project != key:
        return False
    if (only == "none" and one.entries) or (only == "open" and not one.others):
        return False
    titles = " ".join(entry.title for entry in one.entries).casefold()
    return all(word in titles or word in one.ident for word in words)


def show_one(site: Site, asked: Asked) -> View:
    """Return a session: its entries, what became of its turns in numbers, and for ``?turns=1`` each of them."""
    ident = asked.path["ident"]
    one = sessions.find(site, ident)
    if one is None:
        return not_found("There is no such session, or nothing of it is known any more.")
    with closing(Ledger.of(site.home.paths)) as ledger:
        turns = _turns(site, one) if asked.query.get("turns") and one.transcript else []
        shown = address.paginate(turns, PAGE_TURNS, address.session(ident), asked.query) if turns else None
        fates = _fates(site, shown.items, ledger) if shown else []
        counts = {entry.id: len(ledger.turns_of(entry.id)) for entry in one.entries}
    values = {
        "session": one,
        "label": site.catalog.label(one.project),
        "counts": counts,
        "has_transcript": bool(one.transcript) and Path(one.transcript).is_file(),
        "turns": shown,
        "fates": fates,
    }
    return View("session.html", one.entries[-1].title if one.entries else "A session without entries", values)


def _turns(site: Site, one: Session) -> list[tuple[Turn, str]]:
    """Return the turns of a session, each with its folder; none when its transcript is gone."""
    reader = Reader(keep_sidechains=site.home.settings.keep_sidechains, describing=False)
    try:
        with client_files.open_lines(Path(one.transcript)) as file:
            turns = [*reader.read(file), *reader.settle()]
    except OSError:
        return []
    cwd, found = "", []
    for turn in turns:
        cwd = turn.cwd or cwd
        found.append((turn, cwd))
    return found


def _fates(site: Site, turns: Sequence[tuple[Turn, str]], ledger: Ledger) -> list[Fate]:
    """Return what became of turns; what memoria may not keep is not shown either, although the transcript has it."""
    screen = Screen.of(site.home)
    return [_fate(site, turn, ledger, screen.reason(turn, cwd)) for turn, cwd in turns]


def _fate(site: Site, turn: Turn, ledger: Ledger, hidden: str) -> Fate:
    ident = ledger.entry_of(turn.key)
    entry = site.catalog.entries.get(ident or "")
    path, said = "", hidden or ledger.reason_of(turn.key) or "not recorded yet"
    if ident:
        path, said = (address.entry(entry.id), entry.title) if entry else ("", "in an entry that was taken out")
    text = "" if hidden else printable.shortened(site.redact(turn.text), EXCERPT)
    who = {"user": "You", "assistant": "Claude", "error": "Error", "note": "Note"}[turn.role]
    return Fate(who, f"{site.local(turn.time):%Y-%m-%d %H:%M}" if turn.time else "", text, path, said)
