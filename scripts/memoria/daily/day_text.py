"""Day text: the entries and learned facts in the text of a day's file, and edits of them.

A person may write anywhere in the file: each line keeps its own line ending, and an edit changes only the bytes of the
lines it concerns. Knows neither files nor locks.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from memoria.base.pattern import Pattern
from memoria.daily.entry import (
    BLOCK_ID,
    BOX,
    COMMENT,
    CONTEXT,
    EVERYWHERE,
    FORGOTTEN,
    HAND,
    HEADING,
    KIND_IN,
    LEARNED,
    LEARNED_HEADING,
    MARKER,
    PARTICULARS,
    QUOTE,
    SESSION,
    STRUCK,
    TOMBSTONE,
    Entry,
    Learned,
    is_heading,
    is_ours,
    is_particulars,
    keys,
    label_below,
    learned_rows,
    marker_line,
    read_entry,
    tombstone,
    unwrap,
    with_box,
    written_key,
)
from memoria.ground import markdown
from memoria.ground.files import sha256

NAMED_CHARS = 600  # of an item or a paragraph of a person's that becomes a statement

_BULLETS = ("-", "*", "+")
_PART = "### "  # the level of an entry's heading, and of the parts that a person adds
_OPEN = Pattern(r"\s*<!-- (?:learned|memoria) ")  # a comment for programs
_ANY = Pattern("")
_GOES_ON = Pattern(r"\s+(?!>|<!--|[-*+] |1[.)] )\S")  # with what stands above
_LISTED = frozenset((CONTEXT, "Key Exchanges", "Action Items"))  # labels of what is no statement
_ITEM = Pattern(r"(?s)[-*+][ \t]+(?!\[[ xX-]?\] |\[\[|~~)(?P<text>\S.*)")  # no box, link or line that was struck out


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """A learned fact and its rows, ``first`` to ``end`` (exclusive).

    ``session``, ``project`` and ``entry`` (its id) are those of the entry that holds it, empty when it is in none;
    below the heading of a session, of whose entry the marker is lost, ``project`` is its name.
    """

    learned: Learned
    first: int
    end: int
    session: str = ""
    project: str = ""
    entry: str = ""

    @property
    def quote(self) -> str:
        """The words that prove the fact, empty when there are none."""
        found = (match[1].rstrip(" \t") for row in self.learned.below if (match := QUOTE.fullmatch(row)))
        return next(found, "")

    @property
    def particulars(self) -> list[str]:
        """The content of each comment below the line, as JSON."""
        return [match[1] for row in self.learned.below if (match := PARTICULARS.fullmatch(row))]


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An action item: the ``entry`` that holds it, its ``row``, and its text without box and strike-through."""

    entry: str
    row: int
    text: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Part:
    """An entry, or a part that a person wrote, with the text up to the next part.

    ``heading`` is the whole line, empty when there is none. ``title`` and ``project`` come from the entry (a key) or
    the heading (a name). ``anchor`` is the block id (``e-01k9x2``), empty when there is none. ``text`` is the part
    without its heading and without comments for programs; ``raw`` is the whole part.
    """

    heading: str
    anchor: str
    title: str
    project: str
    text: str
    raw: str
    entry: Entry | None

    @property
    def is_learned(self) -> bool:
        """Whether memoria wrote the heading, above statements that are in no entry yet."""
        return self.heading.startswith(LEARNED_HEADING)


@dataclass(frozen=True, slots=True)
class _Span:
    """The rows of an entry: ``first`` to ``last`` (its marker). ``heading`` is None when a person removed it."""

    first: int
    last: int
    heading: re.Match[str] | None
    marker: re.Match[str]


class DayText:
    """The rows of a day's file, each with its line ending. An item's or a paragraph's text is one, however it wraps."""

    def __init__(self, text: str, aliases: Mapping[str, str] | None = None) -> None:
        """Split ``text``, which must have the line endings of the file.

        ``aliases`` maps former project keys, which may stand in the text, to the present ones, which are returned.
        """
        self.aliases = aliases or {}
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""  # some editors put one at the start of a file
        text = text.removeprefix(self._mark)
        properties = text.removesuffix(markdown.split_frontmatter(text)[1])
        lines = [*_lines(properties), *_join_lines(_lines(text.removeprefix(properties)))]
        self.rows = [line.rstrip("\r\n") for line in lines]
        self._ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
        own = {end for end in self._ends if end}
        self._newline = "\r\n" if own == {"\r\n"} else "\n"  # for the lines that are added

    @property
    def text(self) -> str:
        """The whole text; parts that were not edited are unchanged."""
        return self._mark + "".join(row + end for row, end in zip(self.rows, self._ends, strict=True))

    # -- reading

    def entries(self, day: date) -> Iterator[Entry]:
        """Yield the entries in order, without a person's own text between them.

        A marker without a heading before it also counts as an entry.
        """
        for span in self._spans():
            yield self._entry(span, day)

    def tombstones(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return id and turn keys of each forgotten entry; an id of ``-`` stands for turns that never had one."""
        found = filter(None, map(TOMBSTONE.fullmatch, self.rows))
        return [(match[1], keys(match[2])) for match in found]

    def ids(self) -> set[str]:
        """Return the ids of the entries, including forgotten ones."""
        return {span.marker[1] for span in self._spans()} | {ident for ident, _ in self.tombstones()}

    def block_ids(self) -> Counter[str]:
        """Return how often each entry's block id (``e-01k9x2``) has a line of its own."""
        return Counter(match[1] for row in self.rows if (match := BLOCK_ID.fullmatch(row)))

    def facts(self) -> Iterator[LearnedLine]:
        """Yield the learned facts that have an id, in order."""
        inside, owner, rows = self._spans_by_row(), "", list(map(unwrap, self.rows))
        for number, row in enumerate(rows):
            if row.startswith(_PART):
                owner = named["project"] if (named := SESSION.fullmatch(row)) else ""
            match = LEARNED.fullmatch(row) if "^l-" in row else None
            if not match or not match["id"]:
                continue
            end = number + 1
            while end < len(rows) and (QUOTE.fullmatch(rows[end]) or PARTICULARS.fullmatch(rows[end])):
                end += 1
            learned = Learned(match["kind"] or "fact", match["text"], match["id"], tuple(rows[number + 1 : end]))
            place: tuple[str, ...] = "", owner
            if span := inside.get(number):
                key = written_key(span.marker)
                place = span.marker[2], self.aliases.get(key, key), span.marker[1]
            yield LearnedLine(learned, number, end, *place)

    def items(self) -> Iterator[ItemLine]:
        """Yield the action items of the entries, and whatever else has a box there, in order.

        A person closes an item by ``[x]`` or ``[-]``, or by striking it through.
        """
        inside, before, label = self._spans_by_row(), None, ""
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            span = inside.get(number)
            if span is not before:
                before, label = span, ""
            label = label if in_code else label_below(row, label)
            match = BOX.fullmatch(row) if row.lstrip()[:1] in _BULLETS else None
            if in_code or span is None or match is None or not match["text"]:
                continue
            if match["box"] or label == "Action Items":
                struck = STRUCK.fullmatch(match["text"])
                is_open = (match["box"] or " ") == " " and not struck
                yield ItemLine(span.marker[1], number, unwrap(struck[1] if struck else match["text"]), is_open)

    def parts(self, day: date) -> Iterator[Part]:
        """Yield all parts of the text: its beginning, each entry, and each part under a heading of an entry's level.

        Properties are none of them. Text that a person wrote below an entry, without a heading, is of the entry's part.
        """
        spans = {span.first: span for span in self._spans()}
        inside = self._spans_by_row()
        heads = {number for number, row in enumerate(self.rows) if row.startswith(_PART) and number not in inside}
        starts = sorted({self._properties(), *spans, *heads})
        for start, end in pairwise([*starts, len(self.rows)]):
            yield self._part(start, end, self._entry(spans[start], day) if start in spans else None)

    def _part(self, start: int, end: int, entry: Entry | None) -> Part:
        rows = self.rows[start:end]
        heading = rows[0] if rows and rows[0].startswith(_PART) else ""
        session = SESSION.fullmatch(heading)
        title, project = (session["title"], session["project"]) if session else (heading.lstrip("# ").strip(), "")
        if heading.startswith(LEARNED_HEADING):
            project = heading.partition(" · ")[2]
        anchor = next((match[1] for row in rows if (match := BLOCK_ID.fullmatch(row))), "")
        if entry:
            title, project, anchor = entry.title or title, entry.project_key, f"e-{entry.id}"
        prose = (row for row in rows[bool(heading) :] if not row.startswith(COMMENT) and not is_particulars(row))
        return Part(heading, anchor, title, project, "\n".join(prose), "".join(f"{row}\n" for row in rows), entry)

    def _entry(self, span: _Span, day: date) -> Entry:
        return read_entry(self.rows[span.first : span.last], span.heading, span.marker, day, self.aliases)

    def _spans(self) -> list[_Span]:
        """Return the entries. One whose heading a person changed begins at the last heading before its marker."""
        spans: list[_Span] = []
        first, heading = 0, None
        runs = self._runs() if any(f" model={HAND} " in row for row in self.rows) else []
        for number, row in enumerate(self.rows):
            if not row.startswith(("<", "#")):  # most rows: a pattern costs more
                continue
            if marker := MARKER.fullmatch(row):
                by_hand = marker[5] == HAND
                spans.append(_Span(runs[number] if by_hand else first, number, None if by_hand else heading, marker))
                first, heading = number + 1, None
            elif session := SESSION.fullmatch(row):
                first, heading = number, session
            elif heading is None and (other := HEADING.match(row)):
                first = number + (len(other[1]) == 1)  # the title of the page is not part of an entry
        return spans

    def _spans_by_row(self) -> dict[int, _Span]:
        """Return the entry of each row that belongs to one, of several the first."""
        return {number: span for span in reversed(self._spans()) for number in range(span.first, span.last + 1)}

    def _runs(self) -> list[int]:
        """Return, for each row, the first row of the run of a person's rows that it belongs to.

        A run ends before a heading of an entry's level or above, after an entry's marker, and after what memoria wrote
        below a heading of its own. Properties at the top, as Obsidian writes them, belong to none.
        """
        runs: list[int] = []
        first, below = self._properties(), False
        ours = self._own_rows()
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            level = 0 if in_code else markdown.heading(row)[0]
            if 0 < level <= len(_PART.strip()):
                first = number + (level == 1 or row.startswith(LEARNED_HEADING))
                below = row.startswith(LEARNED_HEADING)
            runs.append(first)
            if not in_code and ours[number] and (below or row.startswith(COMMENT)):
                first = number + 1
        return runs

    def _properties(self) -> int:
        """Return how many rows of properties the file begins with."""
        raw, _ = markdown.split_frontmatter("\n".join(self.rows))
        return 0 if raw is None else 2 + (raw.count("\n") + 1 if raw else 0)

    def _own_rows(self) -> list[bool]:
        """Return, for each row, whether it is a learned fact, belongs to one, or is one of memoria's comments."""
        ours: list[bool] = []
        for row in map(unwrap, self.rows):
            ours.append(is_ours(row) or (ours[-1:] == [True] and QUOTE.fullmatch(row) is not None))
        return ours

    def rest(self) -> list[tuple[int, int]]:
        """Return the parts that are no entries yet: the first row and the end (exclusive).

        That is what a person wrote, and what is left of a session's entry, with its statements.
        """
        inside = self._spans_by_row()
        found: dict[int, int] = {}
        for number, (first, row, ours) in enumerate(zip(self._runs(), self.rows, self._own_rows(), strict=True)):
            if number < first or not row.strip() or number in inside or first in inside or HEADING.match(row):
                continue
            if not ours or (SESSION.fullmatch(self.rows[first]) and not row.startswith(COMMENT)):
                found[first] = number + 1
        return list(found.items())

    # -- rewriting

    def mark(self, day: date, lost: Mapping[str, str], keys: Mapping[str, str]) -> int:
        """Turn each part that a person wrote into an entry, by two lines below it; return how many there were.

        A part with the block id of one of the ``lost`` entries gets its marker back. What else stands below a session's
        heading, such as the rest of a damaged file, belongs to the project it names; ``keys`` has each name's key.
        """
        parts = self.rest()
        taken = self.ids()
        for first, end in reversed(parts):
            rows = self.rows[first:end]
            ids = (found[1].removeprefix("e-") for row in rows if (found := BLOCK_ID.fullmatch(row)))
            if ident := next((each for each in ids if each in lost and each not in taken), ""):
                added = [lost[ident]]
            else:
                named = SESSION.fullmatch(rows[0])
                owner = keys.get(named["project"], named["project"]) if named else EVERYWHERE
                while not ident or ident in taken:
                    ident = sha256(f"{day} {ident} {chr(10).join(rows)}")[:10]
                added = [f"^e-{ident}", "", marker_line(ident, "-", (), owner, HAND)]
            taken.add(ident)
            blank = [""] if end < len(self.rows) and self.rows[end].strip() else []
            self._put(end, end, ["", *added, *blank])
        return len(parts)

    def name(self, entries: Collection[str]) -> int:
        """Give an id to each statement of these entries that has none; return how many there were.

        That is what stands under the labels of statements, and in an entry that a person wrote, or below a person's
        heading in another, each item and each short paragraph; but not what repeats a statement of the day,
        as the lists of 0.2.0 did.
        """
        count, told = 0, {line.learned.text for line in self.facts()}
        kept = [
            ours or in_code for ours, (_, in_code) in zip(self._own_rows(), markdown.code_rows(self.rows), strict=True)
        ]
        for span in self._spans():
            label, by_hand = "", span.marker[5] == HAND
            for number in range(span.first, span.last) if span.marker[1] in entries else ():
                row = self.rows[number].rstrip()
                label = label if kept[number] else label_below(row, label)
                by_hand = by_hand or (number > span.first and not kept[number] and is_heading(row))
                text = "" if kept[number] else self._read_unnamed(number, label, by_hand=by_hand)
                if text and unwrap(text) not in told:
                    ident = sha256(f"{span.marker[1]} {unwrap(text)}")[:8]
                    kind = f"[{KIND_IN[label]}] " if label in KIND_IN and not LEARNED.fullmatch(unwrap(row)) else ""
                    self._put(number, number + 1, [f"{row.removesuffix(text)}{kind}{text} ^l-{ident}"])
                    count += 1
        return count

    def _read_unnamed(self, number: int, label: str, *, by_hand: bool) -> str:
        """Return the text of a row that is a statement without an id, ``""`` when it is none."""
        row = self.rows[number].rstrip()
        if markdown.BLOCK_ID.search(row) or len(row) > NAMED_CHARS or not (label in KIND_IN or by_hand):
            return ""
        if item := _ITEM.fullmatch(row):
            goes_on = _GOES_ON.match(self.rows[number + 1])  # half of it would be another statement
            return item["text"] if label not in _LISTED and not goes_on else ""
        around = (*self.rows[max(0, number - 1) : number], *self.rows[number + 1 : number + 2])
        is_alone = not any(other.strip() and not HEADING.match(other) for other in around)
        return row if not label and is_alone and row[:1].isalnum() else ""

    def append(self, block: str) -> None:
        """Add the lines of ``block`` at the end, after a blank line."""
        rows = block.removesuffix("\n").split("\n")
        if self.rows and self.rows[-1].strip():
            rows.insert(0, "")
        self._put(len(self.rows), len(self.rows), rows)

    def take_in(self, copy: DayText, day: date) -> bool:
        """Take over what only a copy of the same day holds; return whether nothing of the copy is left over.

        That is its entries, learned facts and a person's rows. What both hold stays as it is here, except that an
        entry which is forgotten there is forgotten here; one whose turns others have here is not wanted.
        """
        self.bury({ident for ident, _ in copy.tombstones()})
        ids, mine = self.ids(), set(self.rows)
        facts = {line.learned.id for line in self.facts()}
        turns = {key for entry in self.entries(day) for key in entry.turns}
        known: set[int] = set()
        new: set[int] = set()
        for span in copy._spans():
            entry = copy._entry(span, day)
            is_known = entry.id in ids or (entry.turns and turns.issuperset(entry.turns))
            (known if is_known else new).update(range(span.first, span.last + 1))
        for line in copy.facts():
            if line.learned.id in facts:
                known.update(range(line.first, line.end))
        block, heading = [""], ""
        for number, row in enumerate(copy.rows):
            if number in new or number in known:
                block, heading = [*block, row] if number in new else block, ""
            elif row.startswith(_PART):
                heading = row
            elif (row.strip() and row not in mine) or not (row.strip() or block[-1] == ""):
                block, heading = [*block, *([heading, ""] if heading else []), row], ""
        if any(map(str.strip, block)):
            self.append("\n".join(block).strip("\n"))
        return set(filter(str.strip, copy.rows)) <= set(self.rows)

    def add(self, learned: Learned, time: str, project: str) -> None:
        """Add a learned fact at the end; facts of the same time (``HH:MM``) and project share a heading."""
        heading = f"{LEARNED_HEADING}{time}) · {project}"
        rows = learned_rows(learned)
        end = next((n for n in range(len(self.rows), 0, -1) if self.rows[n - 1].strip()), 0)
        last = next((row for row in reversed(self.rows) if HEADING.match(row)), "")
        if last == heading and any(line.end == end for line in self.facts()):
            self._put(end, end, rows)
        else:
            self.append("\n".join([heading, "", *rows]))

    def change(self, line: LearnedLine, learned: Learned) -> None:
        """Replace the lines of a learned fact, but not its own row when that is in order and says the same."""
        row, *below = learned_rows(learned)
        own = self.rows[line.first]
        is_same = (line.learned.kind, line.learned.text) == (learned.kind, learned.text)
        is_whole = is_ours(unwrap(own)) or line.session == "-"  # in whose entries a line needs no kind
        self._put(line.first, line.end, [own if is_same and is_whole else row, *below])

    def set_box(self, item: ItemLine, state: str) -> None:
        """Tick an action item's box or open it again; one that was ``DROPPED`` is struck through as well."""
        self._put(item.row, item.row + 1, [with_box(self.rows[item.row], state)])

    def remove(self, line: LearnedLine) -> None:
        """Remove a learned fact, and with it a ``### Learned`` heading that becomes empty."""
        self._put(line.first, line.end, [])
        start = next((n for n in range(line.first - 1, -1, -1) if self.rows[n].strip()), None)
        if start is None or not self.rows[start].startswith(LEARNED_HEADING):
            return
        rest = enumerate(self.rows[start + 1 :], start + 1)
        end = next((number for number, row in rest if row.strip()), len(self.rows))
        if end == len(self.rows) or HEADING.match(self.rows[end]):
            blank = start + 1 < line.first and not self.rows[start + 1]
            self._put(start, start + 1 + blank, [])

    def drop(self, idents: Collection[str]) -> None:
        """Remove each of these learned facts; a person may have written one twice."""
        for line in reversed(list(self.facts())):
            if line.learned.id in idents:
                self.remove(line)

    def bury(self, ids: Collection[str]) -> None:
        """Replace each of these entries, from heading to marker, with a tombstone."""
        for span in reversed(self._spans()):
            if span.marker[1] in ids:
                self._put(span.first, span.last + 1, [tombstone(span.marker[1], keys(span.marker[3]))])

    def withdraw(self, ids: Collection[str]) -> None:
        """Remove each of these entries, from heading to marker, with the blank line before it."""
        for span in reversed(self._spans()):
            if span.marker[1] in ids:
                first = span.first - (span.first > 1 and not self.rows[span.first - 1].strip())
                self._put(first, span.last + 1, [])

    def strike(self, held: Callable[[str], bool]) -> None:
        """Remove what ``held`` is true of; a session's heading loses only its title, a marker stays."""
        for number in range(len(self.rows) - 1, -1, -1):
            row = self.rows[number]
            if not row.startswith(COMMENT) and held(unwrap(row)):
                session = SESSION.fullmatch(row)
                left = [f"{row[: session.start('title')]}{FORGOTTEN}"] if session else []
                if rest := "" if session else "".join(markdown.drop_lines(row.splitlines(keepends=True), held)):
                    left = [rest.rstrip("\r\n")]
                self._put(number, number + 1, left)

    def _put(self, first: int, end: int, rows: Sequence[str]) -> None:
        """Replace the rows ``first`` to ``end`` (exclusive) with ``rows``, keeping their line endings."""
        if first and rows and not self._ends[first - 1]:  # the file does not end in a line ending
            self._ends[first - 1] = self._newline
        old = self._ends[first:end]
        inner, last = (old[0] or self._newline, old[-1]) if old else (self._newline, self._newline)
        self.rows[first:end] = rows
        self._ends[first:end] = [inner] * (len(rows) - 1) + [last] * bool(rows)


def _lines(text: str) -> Iterator[str]:
    return io.StringIO(text, newline="")


def _join_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with those joined that are one row: the text of an item, a paragraph or a quote, or a comment.

    A comment of memoria's loses its line breaks, which a formatter made; of all else they stay.
    """
    for rows in markdown.texts(lines, lambda row: _ANY if _OPEN.match(row) else markdown.more_text(row)):
        joined = "".join(rows)
        row = joined.rstrip("\r\n")
        yield unwrap(row) + joined[len(row) :] if _OPEN.match(row) else joined
