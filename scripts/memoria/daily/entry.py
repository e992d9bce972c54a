r"""Entry: the summary of one part of a session, and how it, a fact and an action item stand in a day's file.

An entry extends from its heading to its marker::

    ### Session (14:05) · memoria · Fix the flush race

    **Context:** …

    **Learned:**

    - [preference] Use pnpm instead of npm. ^l-7f3a91kc
      > no, we always use pnpm here
      <!-- learned {"origin": "user"} -->

    ^e-01k9x2

    <!-- memoria entry=01k9x2 session=… turns=… project=… model=haiku -->

The heading of another agent's session names the agent: ``### Session (14:05, codex) · …``.

A fact that was learned during a session stands under ``### Learned (10:30) · shop`` until the session's entry is
written. A forgotten entry leaves a tombstone. A part that a person wrote becomes an entry when a block id and a marker
with ``model=hand`` are added below it. This is the only module that knows these forms, of a fact only its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import takewhile
from typing import NamedTuple

from memoria.base import fence
from memoria.base.pattern import Pattern
from memoria.daily.ledger import Booked
from memoria.ground import markdown
from memoria.ground.files import sha256

ENTRY, FACT = "e", "l"
_REFERENCE = re.compile(
    r"(?:\[\[)?(?:(?:daily/)?\d{4}-\d{2}-\d{2}(?:\.md)?#)?#?\^?(?P<kind>[el])-(?P<id>[0-9a-z]+)(?:\|[^\]]*)?(?:\]\])?"
)


@dataclass(frozen=True, slots=True)
class Learned:
    """A learned fact in an entry: its ``kind`` (correction, preference, ...), its text and its id (``l-7f3a``).

    ``below`` holds the indented lines that belong to it, its quote and its particulars. ``ended``: it no longer holds.
    """

    kind: str
    text: str
    id: str
    below: tuple[str, ...] = ()
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """The summary of one part of a session.

    ``day`` and ``time`` (``HH:MM``) say when the conversation began, in the user's time zone. ``turns`` holds the keys
    of the turns that it covers. ``project`` is the name for people, ``project_key`` the identity;
    ``written_key`` is the key in the entry's marker where the project has another one by now. ``agent`` is the word for
    the coding agent, empty for Claude Code.
    """

    id: str
    day: date
    time: str
    session: str
    project: str
    project_key: str
    title: str
    context: str = ""
    key_exchanges: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    action_items: tuple[str, ...] = ()
    learned: tuple[Learned, ...] = ()
    turns: tuple[str, ...] = ()
    model: str = ""
    written_key: str = ""
    agent: str = ""

    @property
    def source(self) -> str:
        """The entry as a wikilink's target, e.g. ``daily/2026-11-21#^e-01k9x2``."""
        return f"daily/{self.day.isoformat()}#^e-{self.id}"

    @property
    def booking(self) -> Booked:
        """The entry as the ledger stores it."""
        day, key = self.day.isoformat(), self.project_key
        return Booked(self.id, day, self.session, key, self.title, self.turns, time=self.time)


class Reference(NamedTuple):
    """An id without its letter, and that letter: ``ENTRY`` or ``FACT``."""

    kind: str
    id: str

    @property
    def anchor(self) -> str:
        """The block id in a daily log, e.g. ``e-01k9x2``."""
        return f"{self.kind}-{self.id}"

    @classmethod
    def of(cls, text: str) -> Reference | None:
        """Return what ``e-01k9x2``, ``^l-7f3a``, ``daily/2026-11-21#^e-01k9x2`` or a wikilink names, else None."""
        match = _REFERENCE.fullmatch(text.strip())
        return cls(match["kind"], match["id"]) if match else None


CONTEXT, LEARNED_LABEL = "Context", "Learned"
LISTS = (  # and the list of a person's own lines, or of an older entry's, in each section
    ("Key Exchanges", "key_exchanges"),
    ("Decisions Made", "decisions"),
    ("Lessons Learned", "lessons"),
    ("Action Items", "action_items"),
    (LEARNED_LABEL, ""),
)
SECTION_OF = {"decision": "Decisions Made", "debugging": "Lessons Learned", "workaround": "Lessons Learned"}
KIND_IN = {"Decisions Made": "decision", "Lessons Learned": "debugging", LEARNED_LABEL: "fact"}  # without a kind
"""The section that statements of a kind stand in; those of every other kind stand under ``Learned``."""
HAND = "hand"  # stands for the model in the marker of an entry that a person wrote
EVERYWHERE = "*"  # stands for the project there, because a day's file belongs to all projects
FORGOTTEN = "(forgotten)"  # the title of an entry that held a forgotten text
_TITLE_CHARS = 80  # of an entry that a person wrote without a heading

SESSION = Pattern(r"### Session \((\d\d:\d\d)(?:, (?P<agent>[a-z]+))?\) · (?P<project>.*?) · (?P<title>.*)")
HEADING = Pattern(r"(#{1,6}) ")
LEARNED_HEADING = "### Learned ("
COMMENT = "<!-- memoria "
MARKER = Pattern(r"<!-- memoria entry=(\S+) session=(\S+) turns=(\S*) project=(\S+) model=(\S+) -->[ \t]*")
TOMBSTONE = Pattern(r"<!-- memoria forgotten entry=(\S+) turns=(\S*) -->[ \t]*")
_UNWORDLY = Pattern(r"[\s·<>\[\]`%]+")
BLOCK_ID = Pattern(r"\^(e-[0-9a-z]+)[ \t]*")
LABEL = Pattern(r"(?m)^\*\*(?P<label>[A-Z][A-Za-z ]+):\*\*[ \t]*(?P<rest>.*)$")
LEARNED = Pattern(  # a person's own line may have nothing but the id, and any marks of a list or quote
    r"(?=- \\?\[[a-z]+\\?\] |.*\S[ \t]\^l-[0-9a-z]+[ \t]*$)"
    r"(?:[ \t]*(?:[-*+>|\u2022]|(?<![-*+\u2022]\s)\d{1,3}[.)])[ \t]+)*"
    r"(?:\\?\[(?P<kind>[a-z]+)\\?\] )?(?P<text>.*?)(?:[ \t]+\^(?P<id>l-[0-9a-z]+))?[ \t]*"
)
BOX = Pattern(r"(?s)(?P<before>[ \t]*[-*+] )(?:\[(?P<box>[ xX-])\] )?(?P<text>.*?)(?P<after>[ \t]*)")
STRUCK = Pattern(r"(?s)~~(.+)~~")
OPEN, TICKED, DROPPED = "", "x", "~"  # states of an action item
QUOTE = Pattern(r"[ \t]+> (.*)")
_UNDERLINE = Pattern(r"(?:=+|--+)[ \t]*")  # of a heading, or a rule
_BREAK = Pattern(r"[ \t]*(?:\r\n|[\r\n])[ \t>]*")
_ENDED = Pattern(r'^(?!.*"repetition": true).*"ended": "\d')  # in the particulars
PARTICULARS = Pattern(r"[ \t]+<!-- learned (\{.*\}) -->[ \t]*")


def is_cut(text: str) -> bool:
    """Return whether the last entry of a log has no marker yet, as when its save stopped at the end of a line."""
    found = (row for row in reversed(text.splitlines()) if MARKER.fullmatch(row) or SESSION.fullmatch(row))
    return SESSION.fullmatch(next(found, "")) is not None


def render(entry: Entry) -> str:
    """Return the entry's markdown, which ends with its marker line."""
    line = markdown.line
    when = f"{entry.time}, {_word(entry.agent)}" if entry.agent else entry.time
    rows = [f"### Session ({when}) · {_word(entry.project)} · {line(entry.title)}", ""]
    if entry.context:
        rows += [f"**Context:** {line(entry.context)}", ""]
    for label, field in LISTS:
        box = "- [ ] " if field == "action_items" else "- "
        items = [box + line(markdown.strip_bullet(text)) for text in getattr(entry, field, ()) if line(text)]
        for learned in entry.learned:
            if SECTION_OF.get(learned.kind, LEARNED_LABEL) == label:
                items += learned_rows(replace(learned, text=line(learned.text)))
        if items:
            rows += [f"**{label}:**", "", *items, ""]
    key = entry.written_key or entry.project_key
    rows += [f"^e-{entry.id}", "", marker_line(entry.id, entry.session, entry.turns, key, entry.model)]
    return "\n".join(rows) + "\n"


def marker_line(entry_id: str, session: str, turns: Iterable[str], key: str, model: str) -> str:
    """Return the last line of an entry; ``key`` is its project's."""
    return (
        f"<!-- memoria entry={entry_id} session={_word(session)} turns={'.'.join(turns)} "
        f"project={_key_word(key)} model={_word(model)} -->"
    )


def fingerprint(entry: Entry) -> str:
    """Return twelve hexadecimal digits that change when a statement is added to an entry or taken from it.

    Neither its end nor its wording changes them, because its line on an article follows it by itself.
    """
    stated = [*entry.decisions, *entry.lessons, *([entry.context] if entry.model == HAND else [])]  # without ids yet
    return sha256("\n".join(sorted([*(learned.id or learned.text for learned in entry.learned), *stated])))[:12]


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


def read_entry(
    rows: Sequence[str], heading: re.Match[str] | None, marker: re.Match[str], day: date, aliases: Mapping[str, str]
) -> Entry:
    """Return the entry that stands in ``rows``, which end before its marker.

    ``heading`` is its first row, None when a person removed it. ``aliases`` maps former project keys to present ones.
    """
    named = HEADING.match(rows[0]) if rows else None
    said = _Said()
    said.read([unwrap(row) for row in rows[bool(named) :]])
    title = heading["title"] if heading else rows[0].lstrip("# ").strip() if named else ""
    key = written_key(marker)
    if not title and marker[5] == HAND:
        first = said.text or next((each.text for each in said.learned), "")
        title = first.partition("\n")[0][:_TITLE_CHARS]
    return Entry(
        id=marker[1],
        day=day,
        time=heading[1] if heading else "00:00",
        session=marker[2],
        project=heading["project"] if heading else "by hand" if marker[5] == HAND else key,
        project_key="" if key == EVERYWHERE else aliases.get(key, key),
        written_key=key if key in aliases else "",
        title=title,
        context=said.text,
        learned=tuple(said.learned),
        turns=keys(marker[3]),
        model=marker[5],
        agent=(heading["agent"] or "") if heading else "",
        **{field: tuple(said.items.get(label, ())) for label, field in LISTS if field},
    )


class _Said:
    """What the rows of an entry say: the ``items`` of each label, what was ``learned``, and all other text."""

    def __init__(self) -> None:
        self.items: dict[str, list[str]] = {}
        self.learned: list[Learned] = []
        self._context: list[str] = []
        self._besides: list[str] = []  # what a person wrote outside the parts that memoria writes

    @property
    def text(self) -> str:
        """The context, and below it what a person wrote besides."""
        return "\n\n".join(filter(None, ("\n".join(part).strip() for part in (self._context, self._besides))))

    def read(self, rows: Sequence[str]) -> None:
        """Read rows from the first to the last; the quote and the particulars below a statement belong to it."""
        lists, label = dict(LISTS), ""
        for number, whole in enumerate(rows):
            found, row, label = LABEL.match(whole), whole, label_below(whole, label)
            if found:
                row = found["rest"] if label in lists or label == CONTEXT else f"{label}: {found['rest']}"
            statement = LEARNED.fullmatch(row)
            if BLOCK_ID.fullmatch(row):
                label = ""
            elif statement and (statement["id"] or label == LEARNED_LABEL):
                self._learn(statement, rows[number + 1 :])
            elif label == CONTEXT:
                self._context.append(row)
            elif lists.get(label) and row.startswith("- "):
                self.items.setdefault(label, []).append(_item(row))
            elif not _is_below(row):
                self._besides.append(row)

    def _learn(self, statement: re.Match[str], rest: Sequence[str]) -> None:
        lines = tuple(row.rstrip() for row in takewhile(_is_below, rest))
        ended = any(_ENDED.search(line) for line in lines if is_particulars(line))
        known = Learned(statement["kind"] or "fact", statement["text"], statement["id"] or "", lines, ended)
        self.learned.append(known)


def label_below(row: str, label: str) -> str:
    """Return the label of what stands below a row, which itself stands under ``label``; a heading ends it."""
    found = LABEL.match(row) if row.startswith("**") else None
    return found["label"] if found else "" if is_heading(row) else label


def is_heading(row: str) -> bool:
    """Return whether what stands above a row ends with it, which is a heading or the line under one."""
    return HEADING.match(row) is not None or _UNDERLINE.fullmatch(row) is not None


def unwrap(row: str) -> str:
    """Return a row of a day's text as one line."""
    return _BREAK.sub(" ", row) if "\n" in row or "\r" in row else row


def _item(row: str) -> str:
    """Return the text of an item without its box and what strikes it through."""
    text = re.sub(r"^\[[ xX-]?\] ", "", row[2:]).strip()
    struck = STRUCK.fullmatch(text)
    return struck[1] if struck else text


def with_box(row: str, state: str) -> str:
    """Return the row of an action item in another state: ``OPEN``, ``TICKED`` or ``DROPPED``."""
    match = BOX.fullmatch(row)
    if match is None:
        return row
    struck = STRUCK.fullmatch(match["text"])
    text = struck[1] if struck else match["text"]
    shown = f"~~{text}~~" if state == DROPPED else text
    return f"{match['before']}[{'x' if state else ' '}] {shown}{match['after']}"


def is_ours(row: str) -> bool:
    """Return whether a row is a learned fact, belongs to one, or is one of memoria's comments."""
    if row.startswith(COMMENT) or is_particulars(row):
        return True
    match = LEARNED.fullmatch(row) if "^l-" in row else None
    return match is not None and match["id"] is not None and match["kind"] is not None


def _is_below(row: str) -> bool:
    """Return whether a row is the quote or the particulars of a statement."""
    return QUOTE.fullmatch(row) is not None or is_particulars(row)


def is_particulars(row: str) -> bool:
    """Return whether a row holds the particulars of a learned fact."""
    return "<!--" in row and PARTICULARS.fullmatch(row) is not None


def keys(joined: str) -> tuple[str, ...]:
    """Return the keys of turns that stand in a marker or a tombstone, joined by dots."""
    return tuple(key for key in joined.split(".") if key)


def _key_word(key: str) -> str:
    """Return a project's key as it stands in a marker: a comment holds no ``--``, and the key of "a (b)" does."""
    return _UNWORDLY.sub("-", fence.strip_invisible(key)).replace("--", "-%2D") or "-"


def written_key(marker: re.Match[str]) -> str:
    """Return the project's key that stands in a marker."""
    return marker[4].replace("%2D", "-")


def _word(text: str) -> str:
    """Return ``text`` as one word that can stand in a marker or between the dots of a heading."""
    return _UNWORDLY.sub("-", fence.strip_invisible(text)).replace("--", "-").strip("-") or "-"
