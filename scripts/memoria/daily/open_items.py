"""Open items: what is left to do in a project, as the boxes of its daily logs say it.

The boxes are the record: an item is open as ``- [ ]`` and closed as ``- [x]``, whoever wrote it. Items of the same
words are one item with several copies. A person who ticks one copy closes them all; a copy that is written later opens
the item again. This module knows neither models nor tools.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from memoria.daily.daily_log import DailyLog, parsed
from memoria.daily.ledger import Item, Ledger
from memoria.ground.errors import FileBusyError
from memoria.ground.files import sha256

log = logging.getLogger(__name__)

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
    plain = "".join(sign for sign in text.casefold() if sign.isalnum())
    number = int(sha256(plain)[:10], 16)  # 40 bits
    return "o-" + "".join("0123456789abcdefghjkmnpqrstvwxyz"[number >> shift & 31] for shift in range(35, -1, -5))


def is_same(one: str, other: str) -> bool:
    """Return whether two texts are one item: the same letters and digits, whatever stands between them."""
    return ident(one) == ident(other)


@dataclass(slots=True)
class OpenItems:
    """The open items of a home."""

    daily: DailyLog
    ledger: Ledger

    def of(self, project: str) -> list[OpenItem]:
        """Return the open items of a project, and those that a person noted for all projects, the latest last."""
        return self._open(self.ledger.items({project, HAND}))

    def everywhere(self, projects: Collection[str]) -> list[OpenItem]:
        """Return the open items of these projects, the latest last."""
        return self._open(self.ledger.items(projects))

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
                    self._tick([item for item in group if item.is_open])
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

            def ticked(text: str, wanted: set[tuple[str, str]] = wanted) -> str:
                rows = parsed(text)
                for line in list(rows.items()):
                    if line.is_open and (line.entry, line.text) in wanted:
                        rows.close(line, dropped=dropped)
                return rows.text

            try:
                self.daily.rewrite(date.fromisoformat(day), ticked)
            except FileBusyError as error:
                log.warning("open items of %s stay open: %s", day, error)
                continue
            self.ledger.close_items(copy for copy in copies if copy.day == day)

    def _open(self, items: Iterable[Item]) -> list[OpenItem]:
        projects: dict[str, list[Item]] = {}
        for item in items:
            projects.setdefault(item.project, []).append(item)
        found = [_open_item(group) for own in projects.values() for group in _groups(own)]
        return sorted((item for item in found if item), key=lambda item: (item.latest, item.id))


def _open_item(group: list[Item]) -> OpenItem | None:
    """Return the item of these copies if one of them was written after the last that is closed."""
    last_closed = max(((item.day, item.row) for item in group if not item.is_open), default=("", -1))
    left = [item for item in group if item.is_open and (item.day, item.row) > last_closed]
    if not left:
        return None
    first, last = left[0], left[-1]
    copies = tuple(item for item in group if item.is_open)
    return OpenItem(ident(first.text), first.day, first.text, first.project, (last.day, last.row), copies)


def _groups(items: Iterable[Item]) -> list[list[Item]]:
    """Return the items of a project, in order, with the copies of one item together."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(ident(item.text), []).append(item)
    return list(groups.values())
