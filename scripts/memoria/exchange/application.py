"""Application: from records to the daily logs, through the logs' own rewriting, under their lock.

An id is written only where its file still holds what was last seen there: a person who saves in this moment is not
overwritten, and their words become a record with the next scan. What was written is read back and noted as shown. A
kill between the two is no harm, because the scan knows the text again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from memoria.base.project import name_of
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import tombstone
from memoria.exchange.articles import ArticleApplication
from memoria.exchange.forms import END, ENTRY, STATEMENT, Day, day_of, fact_of
from memoria.exchange.record import FORGET, GONE, Record, digest_of
from memoria.exchange.records import Records
from memoria.ground.clock import Zone
from memoria.ground.errors import FileBusyError
from memoria.statements import lines
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper


@dataclass(slots=True)
class Application:
    """One bringing up to date of the daily logs.

    ``hides`` says whether a project is not exchanged. ``articles``: None while a compile is at work. ``forgotten``: the
    ids that stand here and were forgotten elsewhere, which the caller forgets.
    """

    records: Records
    keeper: Keeper
    hides: Callable[[str], bool] = lambda _: False
    articles: ArticleApplication | None = None
    forgotten: list[str] = field(default_factory=list)

    @property
    def daily(self) -> DailyLog:
        """The daily logs."""
        return self.keeper.lines.daily

    def run(self) -> None:
        """Write what is due; what cannot be written now stays due."""
        with self.records.transaction():
            self.records.spread()
        plan: dict[tuple[bool, str], list[str]] = {}
        due = list(dict.fromkeys(ident.partition("#")[0] for ident in self.records.due()))
        slugs = {whole for whole in due if "/" in whole}
        for whole in [whole for whole in due if whole not in slugs]:
            *others, last = self._files(whole) or [""]
            for file in others:
                plan.setdefault((False, file), []).append(whole)
            plan.setdefault((True, last), []).append(whole)
        left = slugs if self.articles is None else set()
        for (_, file), idents in sorted(plan.items()):
            left |= set(idents) - set(self._write(file, idents) if file else idents)
        if self.articles:
            self.keeper.refresh()  # new statements, which the articles link
            left |= slugs - set(self.articles.run(sorted(slugs)))
        with self.records.transaction():
            self.records.settle(ident for ident in self.records.due() if ident.partition("#")[0] not in left)

    def _files(self, whole: str) -> list[str]:
        """Return the files that an id stands in, then the one that it belongs to; none when nothing is to be done."""
        shown = self.records.shown(whole)
        stands = [shown.file] if shown and shown.digest != GONE and shown.file.startswith("daily/") else []
        gone = self.records.gone(whole)
        if gone:
            if stands:
                self.forgotten.append(whole)
            day = (gone.text or "").partition("\n")[0]
            return [f"daily/{day}"] if day and not stands else []
        live = self.records.standing(whole)
        if live and (live.kind not in (ENTRY, STATEMENT) or self.hides(live.project)):
            return []
        if live is None or live.text is None:
            return stands
        try:
            belongs = day_of(live.text)[0] if live.kind == ENTRY else fact_of(whole, live.text, None)[1]
        except ValueError:  # of a newer version, or no work of memoria's
            return []
        return [*(file for file in stands if file != f"daily/{belongs}"), f"daily/{belongs}"]

    def _write(self, file: str, idents: Sequence[str]) -> list[str]:
        """Write these ids into a day's file, or out of it; return those that stand there now as in the records."""
        day = date.fromisoformat(file.removeprefix("daily/"))
        done: list[str] = []

        def changed(text: str) -> str:
            rows = Day(text)
            held = {piece.id: piece.full for piece in rows.pieces(day) if piece.kind != FORGET}
            parts: dict[str, list[str]] = {whole: [whole, *self.records.parts(whole)] for whole in idents}
            for ident in held:
                if ident not in parts.get(ident.partition("#")[0], [ident]):
                    parts[ident.partition("#")[0]].append(ident)
            boxes = {whole: _items(self.records, whole) for whole in idents if whole.startswith("e-")}
            done[:] = [whole for whole, its in parts.items()
                       if all(self.records.is_as_seen(part, file, held) for part in its)]  # fmt: skip
            wrong = [whole for whole in done
                     if any(held.get(part, GONE) != self.records.wanted(part) for part in parts[whole])
                     or any(box and f"{whole}#{name}" not in held for name, box in boxes.get(whole, {}).items())
                     ]  # fmt: skip
            _Writing(self.records, rows, file, self.keeper.zone).write(wrong, held)
            return rows.text

        try:
            self.daily.rewrite(day, changed)
        except (FileBusyError, OSError):
            return []
        self._note(file, day, done)
        return done

    def _note(self, file: str, day: date, done: Collection[str]) -> None:
        """Note what the file holds now, for the next scan, and tell the keeper of statements."""
        stamp, rows = self.daily.stamp(day), Day(self.daily.text(day))
        held = {piece.id: piece.full for piece in rows.pieces(day) if piece.kind != FORGET}
        with self.records.transaction():
            self.records.note(file, stamp, set(done), held)
        self._tell(rows, day, [ident for ident in done if ident.startswith("l-")])

    def _tell(self, rows: Day, day: date, idents: Iterable[str]) -> None:
        """Tell the keeper of statements that it knew; it reads new ones from the log by itself."""
        store, gone = self.keeper.store, self.keeper.store.gone()
        known = [ident for ident in idents if ident in gone or store.get(ident)]
        facts = {fact.id: fact for fact in lines.of_day(rows, day)} if known else {}
        for ident in known:
            if ident in facts or store.day(ident) == day:
                self.keeper.take_over(ident, facts.get(ident), day)


@dataclass(slots=True)
class _Writing:
    """Writes ids into the rows of one day."""

    records: Records
    rows: Day
    file: str
    zone: Zone

    def write(self, idents: Iterable[str], held: Mapping[str, str]) -> None:
        """Write what lives here, entries with all that stands in them first; take out what does not."""
        statements: dict[str, list[Fact]] = {}
        entries: dict[str, str] = {}
        for ident in idents:
            live = self.records.standing(ident)
            if ident.startswith("l-"):
                self._sort(ident, live, statements)
            elif live and live.kind == ENTRY and live.text:
                entries[ident] = live.text
            elif gone := self.records.gone(ident):
                self._bury(ident, (gone.text or "").partition("\n")[2])
            else:
                self.rows.drop_entry(ident.removeprefix("e-"))
        for ident, text in entries.items():
            name = ident.removeprefix("e-")
            if held.get(ident) != digest_of(text):
                own = [lines.learned(fact) for fact in statements.pop(name, ())]
                self.rows.put_entry(name, day_of(text)[1], own)
            for item, state in _items(self.records, ident).items():
                self.rows.set_item(name, item, state)
        for entry, facts in statements.items():
            for fact in facts:
                time, where = f"{self.zone.local(fact.time):%H:%M}", "everywhere" if fact.project == GLOBAL else ""
                self.rows.put_statement(lines.learned(fact), entry, time, where or name_of(fact.project))

    def _sort(self, ident: str, live: Record | None, statements: dict[str, list[Fact]]) -> None:
        """Sort a statement of this day by its entry; take out one that is of another day, or of none."""
        found = fact_of(ident, live.text, self._part(f"{ident}#{END}")) if live and live.text else None
        if found and f"daily/{found[1]}" == self.file:
            statements.setdefault(found[2], []).append(found[0])
        elif line := self.rows.line_of(ident):
            self.rows.remove(line)

    def _part(self, ident: str) -> str | None:
        live = self.records.standing(ident)
        return live.text if live else None

    def _bury(self, ident: str, turns: str) -> None:
        name = ident.removeprefix("e-") if ident.startswith("e-") else "-"
        line = tombstone(name, turns.split("."))
        if line not in self.rows.rows and (name == "-" or name not in self.rows.ids()):
            self.rows.append(line)


def _items(records: Records, entry: str) -> dict[str, str]:
    """Return the boxes of an entry that were closed, or opened again, on any machine; in all its wordings."""
    parts = [part for each in (*records.firsts(entry), entry) for part in records.parts(each)]
    found = ((part.partition("#")[2], records.standing(part)) for part in parts)
    return {name: (record.text if record else None) or "" for name, record in found}
