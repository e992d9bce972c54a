"""Daily log: one markdown file a day, entries appended under a lock, each known by its marker.

The file is the truth: the ledger's list of turns and entries is read back from the markers. Knows the entry's form
(shown in README); does not know where an entry's content comes from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memoria.base import failpoints, fence
from memoria.base.paths import Paths
from memoria.daily.ledger import Booked, Ledger
from memoria.ground import files, locks, markdown

_NAME = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
_HEADING = re.compile(r"^### Session \((\d\d:\d\d)\) · (.*?) · (.*)$", re.MULTILINE)
_MARKER = re.compile(
    r"^<!-- memoria entry=(\S+) session=(\S+) turns=(\S*) project=(\S+) model=(\S+) -->[ \t\r]*$", re.MULTILINE
)
_TOMBSTONE = re.compile(r"^<!-- memoria forgotten entry=(\S+) turns=(\S*) -->[ \t\r]*$", re.MULTILINE)
_LABEL = re.compile(r"^\*\*(?P<label>[A-Z][A-Za-z ]+):\*\*[ \t]*(?P<rest>.*)$", re.MULTILINE)
_LEARNED = re.compile(r"^- \[(?P<kind>[a-z]+)\] (?P<text>.*?)(?: \^(?P<id>l-[0-9a-z]+))?$")

LISTS = (
    ("Key Exchanges", "key_exchanges"),
    ("Decisions Made", "decisions"),
    ("Lessons Learned", "lessons"),
    ("Action Items", "action_items"),
)


@dataclass(frozen=True, slots=True)
class Learned:
    """One learned line: ``kind`` (correction, preference, ...), one topic of text, its id (``l-7f3a``).

    ``below``: indented lines that belong to it, its proof and particulars (see ``memory.lines``).
    """

    kind: str
    text: str
    id: str
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What one stretch of a session came to.

    ``day`` and ``time`` (``HH:MM``) are the user's, when the conversation began; ``turns`` are the keys of the turns it
    stands for; ``project`` is the name people read, ``project_key`` the identity.
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

    @property
    def source(self) -> str:
        """The entry as a wikilink's target, e.g. ``daily/2026-11-21#^e-01k9x2``."""
        return f"daily/{self.day.isoformat()}#^e-{self.id}"

    @property
    def booked(self) -> Booked:
        """The entry as the ledger keeps it."""
        return Booked(self.id, self.day.isoformat(), self.session, self.project_key, self.title, self.turns)


def render(entry: Entry) -> str:
    """The entry's markdown, ending in its marker line."""
    rows = [f"### Session ({entry.time}) · {_word(entry.project)} · {markdown.line(entry.title)}", ""]
    if entry.context:
        rows += [f"**Context:** {markdown.line(entry.context)}", ""]
    for label, field in LISTS:
        items = [text for text in getattr(entry, field) if markdown.line(text)]
        if items:
            box = "- [ ] " if field == "action_items" else "- "
            rows += [f"**{label}:**", "", *(box + markdown.item(text)[2:] for text in items), ""]
    if entry.learned:
        rows += ["**Learned:**", ""]
        for event in entry.learned:
            rows += [f"- [{event.kind}] {markdown.line(event.text)} ^{event.id}", *event.below]
        rows.append("")
    rows += [f"^e-{entry.id}", ""]
    rows.append(
        f"<!-- memoria entry={entry.id} session={_word(entry.session)} turns={'.'.join(entry.turns)} "
        f"project={_word(entry.project_key)} model={_word(entry.model)} -->"
    )
    return "\n".join(rows) + "\n"


def parse(text: str, day: date) -> Iterator[Entry]:
    """The entries of a day's file, in order; a person's own text between them is passed over.

    An entry reaches from its heading to its marker; a marker without a heading before it still counts.
    """
    begin = 0
    for marker in _MARKER.finditer(text):
        block = text[begin : marker.start()]
        begin = marker.end()
        headings = list(_HEADING.finditer(block))
        heading = headings[-1] if headings else None
        body = block[heading.end() :] if heading else block
        sections = _sections(body)
        yield Entry(
            id=marker[1],
            day=day,
            time=heading[1] if heading else "00:00",
            session=marker[2],
            project=heading[2] if heading else marker[4],
            project_key=marker[4],
            title=heading[3] if heading else "",
            context=sections.get("Context", ""),
            learned=tuple(_learned(sections.get("Learned", ""))),
            turns=tuple(key for key in marker[3].split(".") if key),
            model=marker[5],
            **{field: tuple(_items(sections.get(label, ""))) for label, field in LISTS},
        )


def tombstones(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What was forgotten in a day's file: entry id (``-``: turns that never had one) and the keys of its turns."""
    for match in _TOMBSTONE.finditer(text):
        yield match[1], tuple(key for key in match[2].split(".") if key)


def tombstone(entry_id: str, turns: Iterable[str]) -> str:
    """The line that stays of a forgotten entry: it holds no word of it, and keeps its turns from coming back."""
    return f"<!-- memoria forgotten entry={entry_id} turns={'.'.join(turns)} -->"


def without(text: str, ids: Collection[str]) -> str:
    """A day's text in which these entries are tombstones, from heading to marker."""
    kept: list[str] = []
    begin = 0
    for marker in _MARKER.finditer(text):
        headings = list(_HEADING.finditer(text, begin, marker.start()))
        if marker[1] in ids:
            kept += [text[begin : headings[-1].start()] if headings else "", tombstone(marker[1], marker[3].split("."))]
        else:
            kept.append(text[begin : marker.end()])
        begin = marker.end()
    return "".join([*kept, text[begin:]])


def _sections(body: str) -> dict[str, str]:
    found = list(_LABEL.finditer(body))
    ends = [*(match.start() for match in found[1:]), len(body)]
    sections = {}
    for match, end in zip(found, ends, strict=False):  # a person may have taken every label out
        rest = body[match.end() : end].split("\n^e-", 1)[0]
        sections[match["label"]] = f"{match['rest']}\n{rest}".strip()
    return sections


def _items(section: str) -> Iterator[str]:
    for row in section.splitlines():
        if row.startswith("- "):
            yield re.sub(r"^\[[ xX]?\] ", "", row[2:]).strip()


def _learned(section: str) -> Iterator[Learned]:
    for row in section.splitlines():
        match = _LEARNED.match(row)
        if match:
            yield Learned(match["kind"], match["text"], match["id"] or "")


def _word(text: str) -> str:
    """``text`` as one word that can stand in a marker or between the dots of a heading."""
    return re.sub(r"[\s·<>]+", "-", fence.visible(text)).replace("--", "-").strip("-") or "-"


class DailyLog:
    """The folder of daily files."""

    def __init__(self, folder: Path, lock: Path) -> None:
        """``lock`` is the file whose lock every writer of daily logs holds."""
        self.folder = folder
        self.lock = lock

    @classmethod
    def of(cls, paths: Paths) -> DailyLog:
        """The daily logs of these paths."""
        return cls(Path(paths.daily), Path(paths.daily_lock))

    def path(self, day: date) -> Path:
        """The file of a day."""
        return self.folder / f"{day.isoformat()}.md"

    def days(self) -> list[date]:
        """The days that have a file, oldest first."""
        names = [path.name for path in self.folder.glob("*.md")] if self.folder.is_dir() else []
        return sorted(date.fromisoformat(name[:-3]) for name in names if _NAME.fullmatch(name) and _is_day(name[:-3]))

    def entries(self, day: date) -> list[Entry]:
        """The entries of a day; none when it has no file."""
        try:
            text = self.path(day).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        return list(parse(text, day))

    def append(self, entry: Entry, change: Callable[[str], str] = str) -> bool:
        """Write the entry at the end of its day, synced, in one step; False when its id stands there already.

        ``change`` is made to what stands there in the same step: it takes out what the entry brings along.
        OSError (disk full, read-only) leaves the file as it was.
        """
        path = self.path(entry.day)
        with locks.waiting(self.lock):
            while True:
                before = _change_mark(path)
                # bytes, because reading as text would turn the line ends of a person's editor into ours
                text = path.read_bytes().decode("utf-8", "surrogateescape") if before else _header(entry.day)
                stands = (*_MARKER.finditer(text), *_TOMBSTONE.finditer(text))
                if any(match[1] == entry.id for match in stands):  # written, or written and forgotten
                    return False
                whole = change(text).rstrip("\r\n") + "\n\n" + render(entry)
                if _change_mark(path) == before:  # a person saving at this very moment is not overwritten
                    files.replace(path, whole.encode("utf-8", "surrogateescape"))
                    failpoints.reached("daily.appended")
                    return True

    def rewrite(self, day: date, change: Callable[[str], str]) -> bool:
        """Replace a day's text by ``change`` of it, under the lock; False when that is what stands there."""
        path = self.path(day)
        with locks.waiting(self.lock):
            while True:
                before = _change_mark(path)
                text = path.read_bytes().decode("utf-8", "surrogateescape") if before else _header(day)
                changed = change(text)
                if changed == text:
                    return False
                if _change_mark(path) == before:  # as in append
                    files.replace(path, changed.encode("utf-8", "surrogateescape"))
                    return True

    def forgotten(self, day: date) -> list[tuple[str, tuple[str, ...]]]:
        """The tombstones of a day, as ``tombstones`` gives them."""
        return list(tombstones(self.text(day)))

    def text(self, day: date) -> str:
        """A day's text as it stands, ``""`` when it has no file."""
        try:
            return self.path(day).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def sweep(self) -> None:
        """Remove half-written files of writers that were killed."""
        with locks.waiting(self.lock):
            files.sweep(self.folder)

    def refresh(self, ledger: Ledger) -> None:
        """Read into the ledger whatever changed on disk, by anyone, since it was last read."""
        stamps = {day.isoformat(): _change_mark(self.path(day)) for day in self.days()}
        for name in ledger.stale_logs(stamps):
            day = date.fromisoformat(name)
            entries = [entry.booked for entry in self.entries(day)]
            ledger.reread(name, stamps[name], entries, self.forgotten(day))
        for name in ledger.gone_logs(stamps):
            ledger.forget_log(name)

    def find(self, booked: Iterable[Booked]) -> list[Entry]:
        """The entries that the ledger names, as they stand now, oldest first; one that is gone is left out."""
        wanted: dict[str, set[str]] = {}
        for entry in booked:
            wanted.setdefault(entry.day, set()).add(entry.id)
        return [
            entry
            for day in sorted(wanted)
            for entry in self.entries(date.fromisoformat(day))
            if entry.id in wanted[day]
        ]


def _header(day: date) -> str:
    return f"# Daily Log: {day.isoformat()}\n"


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _change_mark(path: Path) -> str:
    """A text that differs once the file was written; ``""`` when there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
