r"""Day text: read entries and learned facts from the text of a day's file, and rewrite parts of it.

An entry extends from its heading to its marker::

    ### Session (14:05) · memoria · Fix the flush race

    **Context:** …

    **Learned:**

    - [preference] Use pnpm instead of npm. ^l-7f3a91kc
      > no, we always use pnpm here
      <!-- learned {"origin": "user"} -->

    ^e-01k9x2

    <!-- memoria entry=01k9x2 session=… turns=… project=… model=haiku -->

A fact that was learned during a session stands under ``### Learned (10:30) · shop`` until the session's entry is
written. A forgotten entry leaves a tombstone. A part that a person wrote becomes an entry when a block id and a marker
with ``model=hand`` are added below it. This is the only module that knows these forms. A person may write anywhere in
the file: each line keeps its own line ending, and an edit changes only the bytes of the lines it concerns. Knows
neither files nor locks, and of a fact only its lines.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import takewhile

from memoria.base import fence
from memoria.daily.entry import Entry, Learned
from memoria.ground import markdown

LISTS = (
    ("Key Exchanges", "key_exchanges"),
    ("Decisions Made", "decisions"),
    ("Lessons Learned", "lessons"),
    ("Action Items", "action_items"),
)
HAND = "hand"  # stands for the model in the marker of an entry that a person wrote
EVERYWHERE = "*"  # stands for the project there, because a day's file belongs to all projects
TITLE_CHARS = 80  # of an entry that a person wrote without a heading
FORGOTTEN = "(forgotten)"  # the title of an entry that held a forgotten text

_SESSION = re.compile(r"### Session \((\d\d:\d\d)\) · (.*?) · (.*)")
_HEADING = re.compile(r"(#{1,6}) ")
_PART = "### "  # the level of an entry's heading, and of the parts that a person adds
_LEARNED_HEADING = "### Learned ("
_COMMENT = "<!-- memoria "
_MARKER = re.compile(r"<!-- memoria entry=(\S+) session=(\S+) turns=(\S*) project=(\S+) model=(\S+) -->[ \t]*")
_TOMBSTONE = re.compile(r"<!-- memoria forgotten entry=(\S+) turns=(\S*) -->[ \t]*")
_UNWORDLY = re.compile(r"[\s·<>\[\]`%]+")
_BLOCK_ID = re.compile(r"\^(e-[0-9a-z]+)[ \t]*")
_LABEL = re.compile(r"^\*\*(?P<label>[A-Z][A-Za-z ]+):\*\*[ \t]*(?P<rest>.*)$", re.MULTILINE)
_LEARNED = re.compile(r"- \[(?P<kind>[a-z]+)\] (?P<text>.*?)(?:[ \t]+\^(?P<id>l-[0-9a-z]+))?[ \t]*")
_STATED = re.compile(r"(- (?:\[[ xX]\] )?|\*\*Context:\*\* )(.*\S)[ \t]*")
_BOX = re.compile(r"(?P<before>[ \t]*[-*+] )(?:\[(?P<box>[ xX-])\] )?(?P<text>.*?)(?P<after>[ \t]*)")
_STRUCK = re.compile(r"~~(.+)~~")
_QUOTE = re.compile(r"[ \t]+> (.*)")
_ENDED = re.compile(r'^(?!.*"repetition": true).*"ended": "\d')  # in the particulars
_PARTICULARS = re.compile(r"[ \t]+<!-- learned (\{.*\}) -->[ \t]*")


def render(entry: Entry, line: Callable[[str], str] = markdown.line) -> str:
    """Return the entry's markdown, which ends with its marker line; ``line`` makes its texts safe to write."""
    rows = [f"### Session ({entry.time}) · {_word(entry.project)} · {line(entry.title)}", ""]
    if entry.context:
        rows += [f"**Context:** {line(entry.context)}", ""]
    for label, field in LISTS:
        items = [text for text in getattr(entry, field) if line(text)]
        if items:
            box = "- [ ] " if field == "action_items" else "- "
            rows += [f"**{label}:**", "", *(box + line(markdown.unbulleted(text)) for text in items), ""]
    if entry.learned:
        rows += ["**Learned:**", ""]
        for learned in entry.learned:
            rows += learned_rows(replace(learned, text=line(learned.text)))
        rows.append("")
    rows += [f"^e-{entry.id}", ""]
    rows.append(
        f"<!-- memoria entry={entry.id} session={_word(entry.session)} turns={'.'.join(entry.turns)} "
        f"project={_key_word(entry.written_key or entry.project_key)} model={_word(entry.model)} -->"
    )
    return "\n".join(rows) + "\n"


def fingerprint(entry: Entry) -> str:
    """Return eight hexadecimal digits that change whenever the entry's text does, but not with what is escaped.

    The lines below a learned fact count only when it ceases to hold; its particulars change when it is said again.
    """
    ended = [f"ended {learned.id}" for learned in entry.learned if learned.ended]
    entry = replace(entry, learned=tuple(replace(learned, below=()) for learned in entry.learned))
    return hashlib.sha256("\n".join([render(entry, str), *ended]).encode("utf-8", "replace")).hexdigest()[:8]


def learned_rows(learned: Learned) -> list[str]:
    """Return the lines of a learned fact."""
    return [f"- [{learned.kind}] {learned.text} ^{learned.id}", *learned.below]


def below(quote: str, particulars: str) -> tuple[str, ...]:
    """Return the indented lines of a learned fact: its quote, if there is one, and its particulars (JSON)."""
    return (*([f"  > {quote}"] if quote else ()), f"  <!-- learned {particulars} -->")


def tombstone(entry_id: str, turns: Iterable[str]) -> str:
    """Return the line that replaces a forgotten entry: it holds none of its text, and keeps its turns from coming back.

    An ``entry_id`` of ``-`` stands for turns that never had an entry.
    """
    return f"<!-- memoria forgotten entry={entry_id} turns={'.'.join(turns)} -->"


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """A learned fact and its rows, ``first`` to ``end`` (exclusive).

    ``session`` and ``project`` are those of the entry that holds it, empty when it is outside an entry.
    """

    learned: Learned
    first: int
    end: int
    session: str = ""
    project: str = ""

    @property
    def quote(self) -> str:
        """The words that prove the fact, empty when there are none."""
        found = [match[1].rstrip(" \t") for row in self.learned.below if (match := _QUOTE.fullmatch(row))]
        return found[-1] if found else ""

    @property
    def particulars(self) -> list[str]:
        """The content of each comment below the line, as JSON."""
        return [match[1] for row in self.learned.below if (match := _PARTICULARS.fullmatch(row))]


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

    ``heading`` is the whole line, empty when there is none. ``title`` and ``project`` come from the entry or the
    heading. ``anchor`` is the block id (``e-01k9x2``), empty when there is none. ``text`` is the part without its
    heading and without comments for programs; ``raw`` is the whole part.
    """

    heading: str
    anchor: str
    title: str
    project: str
    text: str
    raw: str
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class _Span:
    """The rows of an entry: ``first`` to ``last`` (its marker). ``heading`` is None when a person removed it."""

    first: int
    last: int
    heading: re.Match[str] | None
    marker: re.Match[str]


class DayText:
    """The rows of a day's file, each with its line ending."""

    def __init__(self, text: str, aliases: Mapping[str, str] | None = None) -> None:
        """Split ``text``, which must have the line endings of the file.

        ``aliases`` maps former project keys, which may stand in the text, to the present ones, which are returned.
        """
        self.aliases = aliases or {}
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""  # some editors put one at the start of a file
        lines = list(io.StringIO(text.removeprefix(self._mark), newline=""))
        self.rows = [line.rstrip("\r\n") for line in lines]
        self._ends = [line[len(row) :] for line, row in zip(lines, self.rows, strict=True)]
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
        found = filter(None, map(_TOMBSTONE.fullmatch, self.rows))
        return [(match[1], _keys(match[2])) for match in found]

    def ids(self) -> set[str]:
        """Return the ids of the entries, including forgotten ones."""
        return {span.marker[1] for span in self._spans()} | {ident for ident, _ in self.tombstones()}

    def block_ids(self) -> Counter[str]:
        """Return how often each entry's block id (``e-01k9x2``) has a line of its own."""
        return Counter(match[1] for row in self.rows if (match := _BLOCK_ID.fullmatch(row)))

    def learned(self) -> Iterator[LearnedLine]:
        """Yield the learned facts that have an id, in order."""
        spans = iter(self._spans())
        span = next(spans, None)
        for number, row in enumerate(self.rows):
            while span and number > span.last:
                span = next(spans, None)
            match = _LEARNED.fullmatch(row)
            if not match or not match["id"]:
                continue
            end = number + 1
            while end < len(self.rows) and (_QUOTE.fullmatch(self.rows[end]) or _PARTICULARS.fullmatch(self.rows[end])):
                end += 1
            learned = Learned(match["kind"], match["text"], match["id"], tuple(self.rows[number + 1 : end]))
            inside = span is not None and number >= span.first
            place = (span.marker[2], self._key(_written_key(span.marker))) if span and inside else ()
            yield LearnedLine(learned, number, end, *place)

    def items(self) -> Iterator[ItemLine]:
        """Yield the action items of the entries, and whatever else has a box there, in order.

        A person closes an item by ``[x]`` or ``[-]``, or by striking it through.
        """
        spans = iter(self._spans())
        span = next(spans, None)
        label = ""
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            while span and number > span.last:
                span, label = next(spans, None), ""
            if found := _LABEL.match(row):
                label = found["label"]
            match = _BOX.fullmatch(row)
            if in_code or span is None or number < span.first or match is None or not match["text"]:
                continue
            if match["box"] or label == "Action Items":
                struck = _STRUCK.fullmatch(match["text"])
                is_open = (match["box"] or " ") == " " and not struck
                yield ItemLine(span.marker[1], number, struck[1] if struck else match["text"], is_open)

    def parts(self, day: date) -> Iterator[Part]:
        """Yield all parts of the text: its beginning, each entry, and each part under a heading of an entry's level.

        Text that a person wrote below an entry, without a heading, belongs to the entry's part.
        """
        spans = {span.first: span for span in self._spans()}
        inside = {number for span in spans.values() for number in range(span.first, span.last + 1)}
        heads = {number for number, row in enumerate(self.rows) if row.startswith(_PART) and number not in inside}
        starts = sorted({0, *spans, *heads})
        for start, end in zip(starts, [*starts[1:], len(self.rows)], strict=True):
            yield self._part(start, end, self._entry(spans[start], day) if start in spans else None)

    def _part(self, start: int, end: int, entry: Entry | None) -> Part:
        rows = self.rows[start:end]
        heading = rows[0] if rows and rows[0].startswith(_PART) else ""
        session = _SESSION.fullmatch(heading)
        title, project = (session[3], session[2]) if session else (heading.lstrip("# ").strip(), "")
        anchor = next((match[1] for row in rows if (match := _BLOCK_ID.fullmatch(row))), "")
        if entry:
            title, project, anchor = entry.title or title, entry.project_key, f"e-{entry.id}"
        prose = (row for row in rows[bool(heading) :] if not row.startswith(_COMMENT) and not _is_particulars(row))
        return Part(heading, anchor, title, project, "\n".join(prose), "".join(f"{row}\n" for row in rows), entry)

    def _entry(self, span: _Span, day: date) -> Entry:
        heading, marker = span.heading, span.marker
        named = _HEADING.match(self.rows[span.first])
        body = "\n".join(self.rows[span.first + bool(named) : span.last])
        sections = _sections(body)
        context = "\n\n".join(filter(None, (sections.get("Context", ""), _besides(body, sections))))
        title = heading[3] if heading else self.rows[span.first].lstrip("# ").strip() if named else ""
        key = _written_key(marker)
        return Entry(
            id=marker[1],
            day=day,
            time=heading[1] if heading else "00:00",
            session=marker[2],
            project=heading[2] if heading else "by hand" if marker[5] == HAND else key,
            project_key="" if key == EVERYWHERE else self._key(key),
            written_key=key if key in self.aliases else "",
            title=title or (context.split("\n")[0][:TITLE_CHARS] if marker[5] == HAND else ""),
            context=context,
            learned=tuple(_listed_facts(sections.get("Learned", ""))),
            turns=_keys(marker[3]),
            model=marker[5],
            **{field: tuple(_items(sections.get(label, ""))) for label, field in LISTS},
        )

    def _key(self, written: str) -> str:
        """Return the present key of the project whose key is ``written`` in the text."""
        return self.aliases.get(written, written)

    def _spans(self) -> list[_Span]:
        """Return the entries. One whose heading a person changed begins at the last heading before its marker."""
        spans: list[_Span] = []
        first, heading = 0, None
        runs = self._runs() if any(f" model={HAND} " in row for row in self.rows) else []
        for number, row in enumerate(self.rows):
            if marker := _MARKER.fullmatch(row):
                by_hand = marker[5] == HAND
                spans.append(_Span(runs[number] if by_hand else first, number, None if by_hand else heading, marker))
                first, heading = number + 1, None
            elif session := _SESSION.fullmatch(row):
                first, heading = number, session
            elif heading is None and (other := _HEADING.match(row)):
                first = number + (len(other[1]) == 1)  # the title of the page is not part of an entry
        return spans

    def _runs(self) -> list[int]:
        """Return, for each row, the first row of the run of a person's rows that it belongs to.

        A run ends before a heading of an entry's level or above, and after a fact or a comment of memoria's.
        """
        runs: list[int] = []
        first = 0
        ours = self._ours()
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            level = 0 if in_code else markdown.heading(row)[0]
            if 0 < level <= len(_PART.strip()):
                first = number + (level == 1 or row.startswith(_LEARNED_HEADING))
            runs.append(first)
            if not in_code and ours[number]:
                first = number + 1
        return runs

    def _ours(self) -> list[bool]:
        """Return, for each row, whether it is a learned fact, belongs to one, or is one of memoria's comments."""
        ours: list[bool] = []
        for row in self.rows:
            ours.append(_is_ours(row) or (ours[-1:] == [True] and _QUOTE.fullmatch(row) is not None))
        return ours

    def unmarked(self) -> list[tuple[int, int]]:
        """Return the parts that a person wrote and that are no entries yet: the first row and the end (exclusive)."""
        inside = {number for span in self._spans() for number in range(span.first, span.last + 1)}
        found: dict[int, int] = {}
        for number, (first, row, ours) in enumerate(zip(self._runs(), self.rows, self._ours(), strict=True)):
            if row.strip() and number not in inside and first not in inside and not ours and not _HEADING.match(row):
                found[first] = number + 1
        return list(found.items())

    # -- rewriting

    def mark(self, day: date) -> int:
        """Turn each part that a person wrote into an entry, by two lines below it; return how many there were."""
        parts = self.unmarked()
        taken = self.ids()
        for first, end in reversed(parts):
            text, ident = "\n".join(self.rows[first:end]), ""
            while not ident or ident in taken:
                ident = hashlib.sha256(f"{day} {ident} {text}".encode("utf-8", "replace")).hexdigest()[:10]
            taken.add(ident)
            marker = f"<!-- memoria entry={ident} session=- turns= project={EVERYWHERE} model={HAND} -->"
            blank = [""] if end < len(self.rows) and self.rows[end].strip() else []
            self._put(end, end, ["", f"^e-{ident}", "", marker, *blank])
        return len(parts)

    def append(self, block: str) -> None:
        """Add the lines of ``block`` at the end, after a blank line."""
        rows = block.removesuffix("\n").split("\n")
        if self.rows and self.rows[-1].strip():
            rows.insert(0, "")
        self._put(len(self.rows), len(self.rows), rows)

    def add(self, learned: Learned, time: str, project: str) -> None:
        """Add a learned fact at the end; facts of the same time (``HH:MM``) and project share a heading."""
        heading = f"{_LEARNED_HEADING}{time}) · {project}"
        rows = learned_rows(learned)
        end = next((n for n in range(len(self.rows), 0, -1) if self.rows[n - 1].strip()), 0)
        last = next((row for row in reversed(self.rows) if _HEADING.match(row)), "")
        if last == heading and any(line.end == end for line in self.learned()):
            self._put(end, end, rows)
        else:
            self.append("\n".join([heading, "", *rows]))

    def change(self, line: LearnedLine, learned: Learned) -> None:
        """Replace the lines of a learned fact."""
        self._put(line.first, line.end, learned_rows(learned))

    def close(self, item: ItemLine, *, dropped: bool = False) -> None:
        """Tick an action item's box; a ``dropped`` one is struck through as well."""
        match = _BOX.fullmatch(self.rows[item.row])
        if match is not None:
            text = f"~~{match['text']}~~" if dropped and not _STRUCK.fullmatch(match["text"]) else match["text"]
            self._put(item.row, item.row + 1, [f"{match['before']}[x] {text}{match['after']}"])

    def remove(self, line: LearnedLine) -> None:
        """Remove a learned fact, and with it a ``### Learned`` heading that becomes empty."""
        self._put(line.first, line.end, [])
        start = next((n for n in range(line.first - 1, -1, -1) if _HEADING.match(self.rows[n])), None)
        if start is None or not self.rows[start].startswith(_LEARNED_HEADING):
            return
        rest = enumerate(self.rows[start + 1 :], start + 1)
        end = next((number for number, row in rest if row.strip()), len(self.rows))
        if end == len(self.rows) or _HEADING.match(self.rows[end]):
            blank = start + 1 < line.first and not self.rows[start + 1]
            self._put(start, start + 1 + blank, [])

    def restate(self, ident: str, change: Callable[[str], str]) -> None:
        """Apply ``change`` to the context and the items of the entry that holds a fact; an item left empty is removed.

        The fact's own lines stay as they are, and so does an entry that a person wrote.
        """
        place = next((line.first for line in self.learned() if line.learned.id == ident), -1)
        span = next((span for span in self._spans() if span.first <= place < span.last), None)
        if span is None or span.marker[5] == HAND:
            return
        ours = self._ours()
        for number in range(span.last - 1, span.first, -1):
            stated = None if ours[number] else _STATED.fullmatch(self.rows[number])
            if stated and (text := change(stated[2])) != stated[2]:
                self._put(number, number + 1, [stated[1] + text] if text else [])

    def bury(self, ids: Collection[str]) -> None:
        """Replace each of these entries, from heading to marker, with a tombstone."""
        for span in reversed(self._spans()):
            if span.marker[1] in ids:
                self._put(span.first, span.last + 1, [tombstone(span.marker[1], _keys(span.marker[3]))])

    def strike(self, held: Callable[[str], bool]) -> None:
        """Remove each line for which ``held`` is true; a session's heading loses only its title, a marker stays."""
        for number in range(len(self.rows) - 1, -1, -1):
            row = self.rows[number]
            if row.startswith(_COMMENT) or not held(row):
                continue
            session = _SESSION.fullmatch(row)
            left = [f"### Session ({session[1]}) · {session[2]} · {FORGOTTEN}"] if session else []
            self._put(number, number + 1, left)

    def _put(self, first: int, end: int, rows: Sequence[str]) -> None:
        """Replace the rows ``first`` to ``end`` (exclusive) with ``rows``, keeping their line endings."""
        if first and rows and not self._ends[first - 1]:  # the file does not end in a line ending
            self._ends[first - 1] = self._newline
        old = self._ends[first:end]
        inner, last = (old[0] or self._newline, old[-1]) if old else (self._newline, self._newline)
        self.rows[first:end] = rows
        self._ends[first:end] = [inner] * (len(rows) - 1) + [last] * bool(rows)


def _sections(body: str) -> dict[str, str]:
    found = list(_LABEL.finditer(body))
    ends = [*(match.start() for match in found[1:]), len(body)]
    sections = {}
    for match, end in zip(found, ends, strict=False):  # a person may have removed every label
        rest = body[match.end() : end].split("\n^e-", 1)[0]
        sections[match["label"]] = f"{match['rest']}\n{rest}".strip()
    return sections


def _besides(body: str, sections: dict[str, str]) -> str:
    """Return what a person wrote in an entry outside the parts that memoria writes there."""
    first = _LABEL.search(body)
    rows = body[: first.start() if first else len(body)].split("\n")
    lists = {label for label, _ in LISTS}
    for label, section in sections.items():
        if label in lists:
            rows += [row for row in section.split("\n") if not row.startswith("- ")]
        elif label == "Learned":
            rows += [row for row in section.split("\n") if not _LEARNED.fullmatch(row) and not row[:1].isspace()]
        elif label != "Context":
            rows += [f"{label}: {section}"]
    return "\n".join(row for row in rows if not _BLOCK_ID.fullmatch(row)).strip()


def _is_ours(row: str) -> bool:
    """Return whether a row is a learned fact, belongs to one, or is one of memoria's comments."""
    if row.startswith(_COMMENT) or _is_particulars(row):
        return True
    match = _LEARNED.fullmatch(row)
    return match is not None and match["id"] is not None


def _items(section: str) -> Iterator[str]:
    for row in section.split("\n"):
        if row.startswith("- "):
            text = re.sub(r"^\[[ xX-]?\] ", "", row[2:]).strip()
            struck = _STRUCK.fullmatch(text)
            yield struck[1] if struck else text


def _listed_facts(section: str) -> Iterator[Learned]:
    rows = section.split("\n")
    for number, row in enumerate(rows):
        if match := _LEARNED.fullmatch(row):
            below = takewhile(lambda other: _QUOTE.fullmatch(other) or _is_particulars(other), rows[number + 1 :])
            lines = tuple(other.rstrip() for other in below)
            ended = any(_ENDED.search(line) for line in lines if _is_particulars(line))
            yield Learned(match["kind"], match["text"], match["id"] or "", lines, ended)


def _is_particulars(row: str) -> bool:
    return _PARTICULARS.fullmatch(row) is not None


def _keys(joined: str) -> tuple[str, ...]:
    return tuple(key for key in joined.split(".") if key)


def _key_word(key: str) -> str:
    """Return a project's key as it stands in a marker: a comment holds no ``--``, and the key of "a (b)" does."""
    return _UNWORDLY.sub("-", fence.visible(key)).replace("--", "-%2D") or "-"


def _written_key(marker: re.Match[str]) -> str:
    return marker[4].replace("%2D", "-")


def _word(text: str) -> str:
    """Return ``text`` as one word that can stand in a marker or between the dots of a heading."""
    return _UNWORDLY.sub("-", fence.visible(text)).replace("--", "-").strip("-") or "-"
