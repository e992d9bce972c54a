"""Forms: what of daily logs and articles is exchanged, and how it is written into those of another machine.

An entry travels without its statements and with all its boxes open; a statement travels as a fact with the day and the
entry that it stands in, its end by itself; a box that was closed is a part of its entry. So two machines that end, tick
and reword different things of one entry have no two versions of it.

The places of statements are a set, a record each: which statement, under which heading, and what a person nested below
it. A line that is written on the article alone, a connection and a link to a related page travel as their rows; a
person's prose travels by the section. A row of the history travels as it is to where nothing is known of it, because
otherwise it follows from the end of its statement. A summary of memoria's is a part of the article's description.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from memoria.daily.day_text import DayText, LearnedLine
from memoria.daily.entry import (
    BLOCK_ID,
    BOX,
    COMMENT,
    DROPPED,
    HAND,
    LABEL,
    LEARNED_HEADING,
    LEARNED_LABEL,
    LISTS,
    MARKER,
    OPEN,
    SECTION_OF,
    STRUCK,
    TICKED,
    Learned,
    learned_rows,
    with_box,
    written_key,
)  # fmt: skip
from memoria.daily.open_items import ident as item_ident
from memoria.exchange.record import ARTICLE, END, ENTRY, FORGET, ITEM, PLACE, PROSE, STATEMENT, Piece, pack, prose_id
from memoria.ground import clock, markdown
from memoria.ground.files import sha256
from memoria.statements import lines
from memoria.statements.fact import Fact
from memoria.statements.store import Store
from memoria.wiki import lines as on_page
from memoria.wiki.article import HISTORY, RELATED, SECTION, SINCE_ROWS, Article, Claim, Section

LEAD: Final = "p-"  # the part of what a person wrote before the first section
_END: Final = ("ended", "successor", "repetition")
_TIMED: Final = re.compile(r"### (?:Session|Learned) \((\d\d:\d\d)")
_NAMES, _DAYS = ("aliases", "tags"), ("project", "created", "updated")  # in the frontmatter of an article
_LABELS: Final = [label for label, _ in LISTS]


class Day(DayText):
    """A day's text, as it is exchanged. Project keys stand in it as they were written."""

    def pieces(self, day: date) -> Iterator[Piece]:
        """Yield what the text holds: tombstones, entries with their closed boxes, and statements with their ends."""
        for ident, turns in self.tombstones():
            name = f"e-{ident}" if ident != "-" else f"t-{'.'.join(turns)}"
            yield Piece(name, FORGET, f"{day}\n{'.'.join(turns)}")
        learned, items = list(self.facts()), list(self.items())
        rows = [row.replace("\r\n", "\n").replace("\r", "\n") for row in self.rows]  # those that wrap
        for item in items:
            rows[item.row] = with_box(rows[item.row], OPEN)
        spans = self._spans()
        by_hand = {span.marker[1] for span in spans if span.marker[5] == HAND}
        for line in learned:
            there = f"{_bullet(rows[line.first])}^{line.learned.id}" if line.entry in by_hand else ""
            rows[line.first : line.end] = [there, *[""] * (line.end - line.first - 1)]
        for span in spans:
            ident, key = span.marker[1], written_key(span.marker)
            said = [row for row in rows[span.first : span.last] if not BLOCK_ID.fullmatch(row)]
            bare = "\n".join([*_squeeze(said), "", self.rows[span.last].rstrip()])
            above = self.rows[span.first :: -1]  # the time of day is that of the next heading where it tells none
            time = next((match[1] for row in above if (match := _TIMED.match(row))), "")
            head = f"{day} {time}".rstrip()
            yield Piece(f"e-{ident}", ENTRY, f"{head}\n{bare}", key)
            for item in items:
                if item.entry == ident and not item.is_open:
                    match = BOX.fullmatch(self.rows[item.row])
                    state = DROPPED if match and STRUCK.fullmatch(match["text"]) else TICKED
                    yield Piece(f"e-{ident}#{item_ident(item.text)}", ITEM, state, key)
        facts = {fact.id: fact for fact in lines.read_facts(self, day)}
        for line in learned:
            if fact := facts.pop(line.learned.id, None):
                text, end = texts_of({**fact.to_dict(), "day": day.isoformat(), "entry": line.entry})
                yield Piece(fact.id, STATEMENT, text, fact.project)
                if end:
                    yield Piece(f"{fact.id}#{END}", END, end, fact.project)

    # -- writing

    def put_entry(self, ident: str, text: str, statements: Sequence[Learned]) -> None:
        """Write an entry from its record with its boxes open; statements that stand in it stay in it."""
        day, time, _, bare = entry_of(text)
        known = {learned.id for learned in statements}
        there = [line.learned for line in self.facts() if line.entry == ident and line.learned.id not in known]
        own = {line.learned.id: self.rows[line.first : line.end] for line in self.facts()}
        block = _block(ident, bare, [*there, *statements], day, own)
        if span := next((span for span in self._spans() if span.marker[1] == ident), None):
            self._put(span.first, span.last + 1, block)
        else:
            self._insert(block, time)

    def put_statements(self, given: Iterable[tuple[Learned, str]], entry: str) -> None:
        """Write each statement's line in place of the old one, into its entry, or else below a heading.

        ``given``: also what tells the time of day and the project in that heading.
        """
        there = {line.learned.id for line in self.facts()}
        new: dict[str, list[Learned]] = {}
        for learned, about in given:
            if learned.id in there and (line := self.line_of(learned.id)):
                self.change(line, learned)
            else:
                new.setdefault(f"{LEARNED_HEADING}{about}", []).append(learned)
        if span := next((span for span in self._spans() if span.marker[1] == entry), None):
            every = [learned for below in new.values() for learned in below]
            self._put(span.first, span.last, _add_statements(self.rows[span.first : span.last], every))
            return
        for heading, below in new.items():
            if heading not in self.rows:
                self._insert([heading, ""], heading.removeprefix(LEARNED_HEADING)[:5])
            start = self.rows.index(heading)
            ends = (n for n, row in enumerate(self.rows) if n > start and row.startswith(("#", COMMENT)))
            end = next(ends, len(self.rows))
            last = max((line.end for line in self.facts() if start < line.first < end), default=min(start + 2, end))
            self._put(last, last, [row for learned in below for row in learned_rows(learned)])

    def _insert(self, rows: Sequence[str], time: str) -> None:
        """Write a part before the first one of a later minute, or at the end; in a minute each home has its order."""
        timed = ((number, _TIMED.match(row)) for number, row in enumerate(self.rows))
        at = next((number for number, other in timed if other and other[1] > time), None)
        if at is None:
            self.append("\n".join(rows) + "\n")
        else:
            self._put(at, at, [*rows, ""])

    def line_of(self, ident: str) -> LearnedLine | None:
        """Return the line of a statement."""
        return next((line for line in self.facts() if line.learned.id == ident), None)

    def drop_entry(self, ident: str) -> None:
        """Remove an entry; statements in it that still stand are kept below a heading of their own."""
        if span := next((span for span in self._spans() if span.marker[1] == ident), None):
            kept, heading = [line.learned for line in self.facts() if line.entry == ident], span.heading
            self.withdraw({ident})
            about = f"{heading[1]}) · {heading['project']}" if heading else "00:00) · everywhere"
            self.put_statements([(learned, about) for learned in kept], "")

    def set_item(self, ident: str, name: str, state: str) -> None:
        """Close or open a box of an entry."""
        for item in self.items():
            if item.entry == ident and item_ident(item.text) == name:
                self.set_box(item, state)


def texts_of(stored: Mapping[str, Any]) -> tuple[str, str]:
    """Return the texts of a statement's record and of that of its end, ``""`` when it has none."""
    end = {name: stored[name] for name in _END if name in stored}
    bare = {name: value for name, value in stored.items() if value and name not in ("id", *_END)}
    return pack(bare), pack(end) if end else ""


def fact_of(ident: str, text: str, end: str | None) -> tuple[Fact, date, str]:
    """Return a statement with its day and entry from its records; raise ValueError when they hold none."""
    stored: dict[str, Any] = {**json.loads(text), **(json.loads(end) if end else {}), "id": ident}
    return Fact.from_dict(stored), date.fromisoformat(str(stored.get("day"))), str(stored.get("entry", ""))


def entry_of(text: str) -> tuple[date, str, bool, str]:
    """Return the day of an entry from its record, its time, whether that is of what stands above it, and its text.

    Raise ValueError when the record holds none.
    """
    head, _, bare = text.partition("\n")
    if not MARKER.fullmatch(bare.rpartition("\n")[2]):
        raise ValueError("no entry")
    return date.fromisoformat(head[:10]), head[11:16], not _TIMED.match(bare), bare


def _bullet(row: str) -> str:
    return row[:2] * row.startswith(("- ", "* ", "+ "))


def _block(ident: str, bare: str, statements: Sequence[Learned], day: date, own: Mapping[str, list[str]]) -> list[str]:
    """Return the lines of an entry with its statements, each in its section, or where a person wrote it.

    ``own``: the rows of each statement as they stand here.
    """
    *rows, marker = bare.split("\n")
    rows = _strip(rows)
    known = {learned.id: learned for learned in statements}
    left = dict(known)  # those without a row of a person's, who may have written one twice
    for number in reversed(range(len(rows) if f" model={HAND} " in marker else 0)):
        there = rows[number].removeprefix(_bullet(rows[number]))
        if there.startswith("^l-"):
            left.pop(there[1:], None)
            learned = known.get(there[1:])
            row = f"{_bullet(rows[number])}{learned.text} ^{learned.id}" if learned else ""
            forms = own.get(there[1:], [row]), [row], [row, *(learned.below if learned else ())]
            rows[number : number + 1] = _render_by_hand(forms, learned, marker, day) if learned else []
    rows = _add_statements([*rows, ""], list(left.values()))
    return [*rows, f"^e-{ident}", "", marker]


def _render_by_hand(forms: Iterable[list[str]], learned: Learned, marker: str, day: date) -> list[str]:
    """Return the lines of a statement in an entry that a person wrote: the first of these forms that says it all."""
    for rows in forms:
        told = [lines.to_learned(fact) for fact in lines.read_facts(DayText("\n".join([*rows, marker, ""])), day)]
        if told == [learned] or not learned.below:
            return rows
    return learned_rows(learned)


def _add_statements(rows: Sequence[str], statements: Sequence[Learned]) -> list[str]:
    """Return an entry's rows with statements at the ends of their sections, which are made where they are missing."""
    done = list(rows)
    for place, label in enumerate(_LABELS):
        new = [row for learned in statements if SECTION_OF.get(learned.kind, LEARNED_LABEL) == label
               for row in learned_rows(learned)]  # fmt: skip
        if not new:
            continue
        starts = {match["label"]: number for number, row in enumerate(done) if (match := LABEL.match(row))}
        begin, later = starts.get(label, -1), [starts[name] for name in _LABELS[place + 1 :] if name in starts]
        last = next((number for number, row in enumerate(done) if BLOCK_ID.fullmatch(row)), len(done))
        end = min([number for number in starts.values() if number > begin >= 0] + [*(later if begin < 0 else ()), last])
        while end and not done[end - 1].strip():
            end -= 1
        head = [] if begin >= 0 else ["", f"**{label}:**", ""]
        tail = [""] if end < len(done) and done[end].strip() else []
        done[end:end] = [*head, *new, *tail]
    return done


def _squeeze(rows: Sequence[str]) -> list[str]:
    """Return rows without labels that nothing stands below, and without blank rows but one between others."""
    kept: list[str] = []
    label = ""
    for row in map(str.rstrip, rows):
        found = LABEL.fullmatch(row)
        if found and not found["rest"]:
            label = row
        elif row:
            if label and not LABEL.match(row):
                kept += [label, ""]
            label = ""
            kept.append(row)
        elif kept and kept[-1] and not label:
            kept.append("")
    return _strip(kept)


class Page(Article):
    """An article, as it is exchanged. A person's sections with one heading are one piece."""

    def pieces(self) -> Iterator[Piece]:
        """Yield what the page holds."""
        told: dict[str, Any] = {name: self.front.text(name) for name in _DAYS} | {"title": self.title}
        told |= {name: self.front.texts(name) for name in _NAMES}
        told |= {"summary": self.summary} if self.wrote_summary else {}
        yield Piece(self.slug, ARTICLE, pack(told), self.project)
        placed: set[str] = set()
        every = [(section, list(self._rows(section))) for section in self.sections]
        for section, rows in sorted(every, key=lambda each: each[0].is_headed(HISTORY)):
            for _, part, text in rows:
                if part not in placed:
                    yield Piece(f"{self.slug}#{part}", PLACE, text, self.project, follows=section.is_headed(HISTORY))
                placed.add(part)
        for part, prose in self._prose(every):
            if any(row.strip() for row in prose[1:]):
                yield Piece(f"{self.slug}#{part}", PROSE, "\n".join(prose), self.project)

    def _rows(self, section: Section) -> Iterator[tuple[int, str, str]]:
        """Yield each row that memoria writes in a section, with its part of the id and its text."""
        for number, claim in section.claims():
            part = _part(claim, section)
            if part:
                nested = map(_reason, Section(section.heading, section.raw, list(section.rows)).cut(number)[1:])
                is_shown = part == claim.id and not claim.is_own and not section.is_headed(HISTORY)
                row = "" if is_shown else claim.render()
                yield number, part, "\n".join([section.heading, row, *nested])

    def _prose(self, every: Iterable[tuple[Section, list[tuple[int, str, str]]]]) -> Iterator[tuple[str, list[str]]]:
        """Yield the parts of the page that a person wrote, each with the heading's row first; without those rows."""
        yield LEAD, ["", *self._read_opening()[1]]
        above = ""
        for section, told in every:
            if section is self._section_of(prose_id(section.heading)):
                ours = {row for number, _, _ in told for row in range(number, section.block(number))}
                rows = [row for number, row in enumerate(section.rows) if number not in ours]
                rows += [row for each in self._repeated(section) for row in (each.row, *each.rows)]
                yield prose_id(section.heading), [f"{section.row}\t{above}", *_strip(rows)]
            above = section.heading

    def _section_of(self, part: str) -> Section | None:
        return next((each for each in self.sections if prose_id(each.heading) == part), None)

    def _repeated(self, section: Section) -> list[Section]:
        """Return the other sections of prose with the heading of this one, which is the first of them."""
        return [each for each in self.sections if each is not section and each.is_headed(section.heading)
                and not on_page.is_for_statements(each)]  # fmt: skip

    def _read_opening(self) -> tuple[list[str], list[str]]:
        """Return what stands before the first section: memoria's summary, and what a person wrote."""
        rows = _strip([row for row in self.lead if markdown.heading(row)[0] != 1])
        end = next((number for number, row in enumerate(rows) if not row.strip()), len(rows))
        own = end if self.wrote_summary else 0
        return rows[:own], _strip(rows[own:])

    # -- writing

    def describe(self, told: Mapping[str, Any]) -> None:
        """Let the page have this title, these names, days and summary; without a summary, a person's."""
        if told["title"] != self.title:
            self.entitle(str(told["title"]))
        for name in filter(told.__contains__, _NAMES):  # records of November 2026 have fewer
            if told[name] != self.front.texts(name):
                self.front.set(name, list(map(str, told[name])))
        for name in filter(told.__contains__, _DAYS):
            if told[name] != self.front.text(name):
                self.front.set(name, str(told[name]))
        if self.wrote_summary and self.summary != told.get("summary", ""):
            self.summarise(str(told.get("summary", "")))

    def place(self, part: str, text: str, claim: Claim | None, store: Store) -> None:
        """Write a row under its heading, in place of the one that stands elsewhere; in the history it stays."""
        heading, row, *nested = text.split("\n")
        if any(section.is_headed(HISTORY) for section, number in self._find(part)):
            return
        self.displace(part)
        rows = [claim.render() if claim else row, *nested]
        if heading == HISTORY:
            self.file(rows)
        else:
            on_page.place(self, heading, rows, part, store)

    def displace(self, part: str) -> None:
        """Remove a row, with what is nested in it."""
        for section, number in self._find(part):
            self.cut(section, number)

    def _find(self, part: str) -> list[tuple[Section, int]]:
        return [(section, number) for section in self.sections for number, own, _ in self._rows(section) if own == part]

    def _place_below(self, above: str, part: str) -> int:
        """Return where a person's section belongs that was written below another one, or at the page's end."""
        if above == HISTORY:
            self.section(HISTORY)  # what ended comes with it
        names = [section.heading for section in self.sections]
        end = names.index(HISTORY) if HISTORY in names else len(names)
        at = names.index(above) + 1 if above in names else end * bool(above)
        persons = [not on_page.is_for_statements(section) for section in self.sections]
        while at < len(names) and persons[at] and prose_id(names[at]) < part:  # which decides between machines
            at += 1
        return at

    def move(self, part: str, above: str) -> None:
        """Let a person's section stand below another one, as it is; a section of statements stays."""
        section = self._section_of(part)
        if section and not on_page.is_for_statements(section):
            self.sections.remove(section)
            section.rows = ["", *_strip(section.rows)]
            self.insert(section, self._place_below(above, part))

    def write_prose(self, part: str, text: str) -> None:
        """Write a person's prose in place of what stands of it; without a text, remove it."""
        head, *rows = text.split("\n")
        raw, _, above = head.partition("\t")
        if part == LEAD:
            self._write_lead(rows)
            return
        section = self._section_of(part)
        if rows and section is None:
            section = Section(markdown.heading(raw)[1], raw)
            self.insert(section, self._place_below(above, part))
        elif rows and any(each.heading == above for each in self.sections if each is not section):  # else it stays
            self.move(part, above)
        if section is not None:
            others = self._repeated(section)
            self.sections = [each for each in self.sections if all(each is not other for other in others)]
            kept = [row for number, _, _ in self._rows(section) for row in section.rows[number : section.block(number)]]
            below = (number for number, (row, in_code) in enumerate(markdown.code_rows(rows))
                     if not in_code and markdown.heading(row)[0] == SECTION)  # fmt: skip
            end = next(below, len(rows))
            section.rows = [row for part in (rows[:end], kept, rows[end:]) if part for row in ("", *part)] + [""]
            if not rows and not kept:
                self.sections.remove(section)

    def _write_lead(self, rows: list[str]) -> None:
        title, summary = [row for row in self.lead if markdown.heading(row)[0] == 1], self._read_opening()[0]
        lead = [row for part in (title, summary, rows) if part for row in ("", *part)]
        self.lead = [*lead[not self.front.raw :], ""]


def new_page(slug: str, text: str) -> Page:
    """Return the page of an article's record, without lines; raise ValueError when it holds none."""
    told = json.loads(text)
    created, title = str(told.get("created", "")), str(told["title"])
    day = date.fromisoformat(created) if clock.is_day(created) else clock.now().date()
    page = Page.new(slug, title, str(told.get("summary", "")), day, str(told.get("project", "")))
    if not created:  # by hand, without a frontmatter
        page = Page(slug, f"# {markdown.line(title)}\n")
    page.describe(told)
    return page


def _part(claim: Claim, section: Section) -> str:
    """Return by which part of its id a row is known: a statement, those that it connects, a page, or its own words."""
    if section.is_headed(RELATED):
        links = markdown.links(claim.render())
        return f"r-{links[0].target.removesuffix('.md')}" if links else ""
    if section.is_headed(HISTORY) and not claim.ids and claim.text.startswith("Until "):
        return f"h-{claim.digest}"
    return f"c-{sha256(' '.join(sorted(claim.ids)))[:8]}" if claim.is_connection else claim.id


def _reason(row: str) -> str:
    """Return a row; of one that says what holds instead, its link, because the words are that statement's."""
    is_told = row.startswith(SINCE_ROWS) and "[[" in row
    return row[: row.index(": ") + 2] + row[row.rindex("[[") :] if is_told else row


def _strip(rows: list[str]) -> list[str]:
    """Return rows without blank ones at both ends."""
    told = [number for number, row in enumerate(rows) if row.strip()]
    return rows[told[0] : told[-1] + 1] if told else []
