"""Restore: entries of daily logs that were deleted, as far as ledger, archive and wiki still know them.

The ledger has an entry's day, session, project, title and turn keys; the archive has its redacted turns; the wiki has
the lines of its statements. The rest stood in the daily log only. Entries that were forgotten do not come back: neither
ledger nor archive knows them. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
from memoria.statements.fact import Fact
from memoria.statements.lines import learned
from memoria.statements.store import Store
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from memoria.wiki import index_page, lines
from memoria.wiki.article import HISTORY
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
    statements = _statements(home)
    archive = Archive.of(home.paths)
    daily = DailyLog.of(home.paths)
    restored: list[Entry] = []
    for each in lost:
        left = statements.get(each.day.isoformat(), [])
        made = []
        for booked in each.entries:
            own = [fact for fact in left if fact.session == booked.session or booked is each.entries[-1]]
            left = [fact for fact in left if fact not in own]
            made.append(_entry(home, ledger, archive, booked, each.day, own))
        entries = sorted(filter(_holds_something, made), key=lambda entry: (entry.time, entry.id))
        with Store.of(home.paths) as store:
            for statement in (statement for entry in entries for statement in entry.learned):
                store.unmark_deleted(statement.id)  # otherwise its line counts as one that a person put back
        for entry in entries:
            daily.append(entry)
        restored += entries
    daily.refresh(ledger)
    _record(home, ledger, restored)
    return restored


def _holds_something(entry: Entry) -> bool:
    return bool(entry.turns or entry.key_exchanges or entry.learned)


def _entry(home: Home, ledger: Ledger, archive: Archive, booked: Booked, day: date, facts: Sequence[Fact]) -> Entry:
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
        learned=tuple(map(learned, facts)),
        turns=keys,
        model=RESTORED,
    )


def _prompts(turns: Iterable[Turn]) -> list[str]:
    said = [printable.line(turn.text) for turn in turns if turn.role == "user"]
    return [
        text if len(text) <= PROMPT_CHARS else f"{text[: PROMPT_CHARS - 1]}…" for text in said[:MAX_PROMPTS] if text
    ]


def _statements(home: Home) -> dict[str, list[Fact]]:
    """Return the statements that have a line on an article and are written in a daily log, by that log's day."""
    with Store.of(home.paths) as store:
        known = {fact.id: fact for fact in (*store.deleted(), *store.facts(live=False))}
    found: dict[str, dict[str, Fact]] = {}
    for article in Wiki.of(home.paths).articles():
        for section, _, claim in article.lines():
            if claim.id and not claim.is_own and (claim.id in known or not section.named(HISTORY)):
                told = replace(lines.found_on(article, section, claim, date.min), id=claim.id)
                found.setdefault(claim.day, {})[claim.id] = known.get(claim.id, told)
    return {day: list(facts.values()) for day, facts in found.items()}


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
