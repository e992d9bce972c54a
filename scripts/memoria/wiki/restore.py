"""Restore: entries of daily logs that were deleted, as far as ledger, archive and wiki still know them.

The ledger has an entry's day, session, project, title and turn keys; the archive has its redacted turns; the wiki has
the claims that cite it. The rest of the summary and the learned facts stood in the daily log only. Entries that were
forgotten do not come back: neither ledger nor archive knows them. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.daily.entry import Entry
from memoria.daily.entry_form import fingerprint, render
from memoria.daily.ledger import Booked, Ledger
from memoria.ground import clock, home_files, printable
from memoria.ground.errors import ArchiveError
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from memoria.wiki import index_page
from memoria.wiki.folder import LOG, Wiki
from memoria.wiki.transaction import Transactions

RESTORED = "restored"  # stands for the model in the marker
MAX_PROMPTS = 12  # of a conversation that a restored entry names
PROMPT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Lost:
    """A day whose file is gone, with the entries that were in it."""

    day: date
    entries: tuple[Booked, ...]


def lost_days(home: Home, ledger: Ledger) -> list[Lost]:
    """Return the days that had entries and have no file, oldest first."""
    there = {day.isoformat() for day in DailyLog.of(home.paths).days()}
    found: dict[str, dict[str, Booked]] = {}
    for booked in ledger.entries():
        found.setdefault(booked.day, {})[booked.id] = booked
    for kept in Archive.of(home.paths).listed():  # also when the ledger is new
        found.setdefault(kept.day, {}).setdefault(kept.entry, Booked(kept.entry, kept.day, "", "", ""))
    gone = sorted(name for name in found if name not in there)
    return [Lost(date.fromisoformat(name), tuple(found[name].values())) for name in gone]


def restore(home: Home, ledger: Ledger, lost: Iterable[Lost]) -> list[Entry]:
    """Write the entries of lost days again and return them; the caller holds the compile lock."""
    claims = _claims(home)
    archive = Archive.of(home.paths)
    daily = DailyLog.of(home.paths)
    restored: list[Entry] = []
    for each in lost:
        made = [_entry(home, ledger, archive, booked, each.day, claims) for booked in each.entries]
        entries = sorted(filter(_holds_something, made), key=lambda entry: (entry.time, entry.id))
        for entry in entries:
            daily.append(entry)
        restored += entries
    daily.refresh(ledger)
    _record(home, ledger, restored)
    return restored


def _holds_something(entry: Entry) -> bool:
    return bool(entry.turns or entry.key_exchanges or entry.lessons)


def _entry(
    home: Home, ledger: Ledger, archive: Archive, booked: Booked, day: date, claims: Mapping[str, list[str]]
) -> Entry:
    try:
        turns = archive.turns(booked.id) or []
    except ArchiveError:
        turns = []
    times = [turn.time for turn in turns if turn.time]
    keys = ledger.turns_of(booked.id) or tuple(turn.key for turn in turns)
    prompts = _prompts(turns)
    return Entry(
        id=booked.id,
        day=day,
        time=f"{home.zone.local(min(times)):%H:%M}" if times else "00:00",
        session=booked.session or "-",
        project=booked.project.rpartition("-")[0] or booked.project or "unknown",
        project_key=booked.project or "-",
        title=booked.title or (prompts[0] if prompts else ""),
        key_exchanges=tuple(prompts),
        lessons=tuple(claims.get(booked.id, ())),
        turns=keys,
        model=RESTORED,
    )


def _prompts(turns: Iterable[Turn]) -> list[str]:
    said = [printable.line(turn.text) for turn in turns if turn.role == "user"]
    return [
        text if len(text) <= PROMPT_CHARS else f"{text[: PROMPT_CHARS - 1]}…" for text in said[:MAX_PROMPTS] if text
    ]


def _claims(home: Home) -> dict[str, list[str]]:
    """Return the claims of the wiki that cite an entry, by the entry's id."""
    found: dict[str, list[str]] = {}
    for article in Wiki.of(home.paths).articles():
        for claim in article.claims:
            for source in claim.sources:
                found.setdefault(source.rpartition("^e-")[2], []).append(claim.text)
    return found


def _record(home: Home, ledger: Ledger, restored: list[Entry]) -> None:
    """Record that compiled entries have another text now, so that they are not compiled again."""
    log = Path(home.paths.knowledge, LOG)
    if not log.is_file():
        return
    known = index_page.compiled_entries(home_files.text(log))
    again = [_as_read(entry) for entry in restored if entry.id in known]
    if again:
        block = index_page.restored_block(home.zone.local(clock.now()), again)
        label = f"restore of {printable.counted(len(again), 'entry')}"
        Transactions.of(home.paths).commit({}, {}, label, appended={LOG: block.encode()})
        ledger.mark_compiled({entry.id: fingerprint(entry) for entry in again})


def _as_read(entry: Entry) -> Entry:
    """Return the entry as it is read back from its file: that is the text whose fingerprint counts."""
    return next(DayText(render(entry)).entries(entry.day))
