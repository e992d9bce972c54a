"""Open items: what is left to do in a project, as the boxes of its daily logs say it.

The boxes are the record: an item is open as ``- [ ]`` and closed as ``- [x]``, whoever wrote it. Items of the same
words, or nearly the same, are one item with several copies. A person who ticks one copy closes them all; a copy that is
written later opens the item again. This module knows neither models nor tools.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from memoria.base.pattern import Pattern
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.daily.entry import DROPPED, TICKED
from memoria.daily.ledger import Item, Ledger
from memoria.ground.errors import FileBusyError
from memoria.ground.files import short_id
from memoria.search.words import jaccard

# What says no more than that an item is open: "the tests are not written yet" is "write the tests".
_OPENNESS = Pattern(
    r"(?i)\b(?:not|n't|nicht|pas|no)\b(?=.*\b(?:yet|encore|todavía|aún)\b)"
    r"|\b(?:noch nicht|pas encore|todavía no|aún no)\b"
    r"|\b(?:yet|still|encore|todavía|aún|remains?|to ?do|pending|open)\b(?::|(?= to be\b)|(?=[ .]*$))"
)

log = logging.getLogger(__name__)

ALIKE = 0.85  # least share of their words that two wordings of one item have in common
MIN_WORDS, MAX_MORE = 3, 3  # or one has all words of the other, which has at least three, and at most three more
HAND = ""  # the project of what a person wrote into a daily log, which belongs to all projects


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item with an open copy: ``id`` (``o-5fk2c8aa``), ``day`` and ``text`` of its first; ``latest`` is its last."""

    id: str
    day: str
    text: str
    project: str
    latest: tuple[str, int]
    copies: tuple[Item, ...]


def ident(text: str) -> str:
    """Return the id of an item, which depends on the letters and digits of its text alone."""
    return "o-" + short_id("".join(sign for sign in text.casefold() if sign.isalnum()))


def is_same(one: str, other: str) -> bool:
    """Return whether two texts are wordings of one item."""
    return ident(one) == ident(other) or _Wording(one).is_same(_Wording(other))


@dataclass(slots=True)
class OpenItems:
    """The open items of a home."""

    daily: DailyLog
    ledger: Ledger

    def of(self, project: str) -> list[OpenItem]:
        """Return the open items of a project, and those that a person noted for all projects, the latest last."""
        return self.all_of({project, HAND})

    def all_of(self, projects: Collection[str]) -> list[OpenItem]:
        """Return the open items of these projects, the latest last."""
        known: dict[str, list[Item]] = {}
        for item in self.ledger.items():
            known.setdefault(item.project, []).append(item)
        found = [_open_item(group) for project in projects for group in _groups(known.get(project, ()))]
        return sorted((item for item in found if item), key=lambda item: (item.latest, item.id))

    def refresh(self) -> bool:
        """Bring the list up to date with the daily logs, and close the other copies of what a person ticked.

        Return whether the list has changed.
        """
        before = self.ledger.items()
        self.daily.refresh(self.ledger)
        items = self.ledger.items()
        ticked = [item for item in items if item.ticked]
        for project in {item.project for item in ticked}:
            for group in _groups([item for item in items if item.project == project]):
                if any(item.ticked for item in group):
                    self._tick(group)
        self.ledger.close_items(ticked)
        return items != before

    def close(self, items: Iterable[OpenItem], *, dropped: bool = False) -> None:
        """Tick every copy of these items in the daily logs; strike them through if they were ``dropped``."""
        for item in items:
            self._tick(item.copies, dropped=dropped)

    def _tick(self, copies: Sequence[Item], *, dropped: bool = False) -> None:
        """Close these lines and nothing else in their files; a file that a person keeps saving is left for later."""
        for day in dict.fromkeys(copy.day for copy in copies):
            wanted = {(copy.entry, copy.text) for copy in copies if copy.day == day}

            def tick(rows: DayText, wanted: set[tuple[str, str]] = wanted) -> None:
                for line in list(rows.items()):
                    if line.is_open and (line.entry, line.text) in wanted:
                        rows.set_box(line, DROPPED if dropped else TICKED)

            try:
                self.daily.edit(date.fromisoformat(day), tick)
            except FileBusyError as error:
                log.warning("open items of %s stay open: %s", day, error)
                continue
            self.ledger.close_items(copy for copy in copies if copy.day == day)


def _open_item(group: list[Item]) -> OpenItem | None:
    """Return the item of these copies if one of them was written after the last that is closed."""
    last_closed = max(((item.day, item.row) for item in group if not item.is_open), default=("", -1))
    left = [item for item in group if item.is_open and (item.day, item.row) > last_closed]
    if not left:
        return None
    first, last = left[0], left[-1]
    return OpenItem(ident(first.text), first.day, first.text, first.project, (last.day, last.row), tuple(group))


class _Wording:
    """The words of an item, for comparing."""

    __slots__ = ("names", "words")

    def __init__(self, text: str) -> None:
        from memoria.search import comparison, identifiers  # noqa: PLC0415 (slow to import, and most days have none)

        self.words = comparison.words(_OPENNESS.sub(" ", text.replace("`", "")))
        self.names = frozenset(name.casefold() for name in identifiers.find(text))

    def is_same(self, other: _Wording) -> bool:
        """Return whether both name the same numbers and, but for a few words, the same things."""
        mine, theirs = self.words, other.words
        few, many = sorted((mine.stems, theirs.stems))  # a part before the whole
        is_part = len(few) >= MIN_WORDS and few <= many and len(many) - len(few) <= MAX_MORE
        is_other = self.names != other.names and bool(self.names and other.names)
        is_other |= (mine.numbers, mine.against) != (theirs.numbers, theirs.against)
        return not is_other and (is_part or jaccard(few, many) >= ALIKE)


def _groups(items: Iterable[Item]) -> list[list[Item]]:
    """Return the items of a project, in order, with the copies of one item together."""
    groups: list[list[Item]] = []
    by_ident: dict[str, int] = {}
    wordings: list[_Wording] = []
    by_stem: dict[str, set[int]] = {}
    for item in items:
        name = ident(item.text)
        if name not in by_ident:
            wording = _Wording(item.text)
            near = sorted(set().union(*(by_stem.get(stem, ()) for stem in wording.words.stems)))
            number = next((place for place in near if wordings[place].is_same(wording)), len(groups))
            if number == len(groups):
                groups.append([])
                wordings.append(wording)
                for stem in wording.words.stems:
                    by_stem.setdefault(stem, set()).add(number)
            by_ident[name] = number
        groups[by_ident[name]].append(item)
    return groups
