"""Entry: the summary of one part of a session, as a record, and references to entries and statements.

Does not know the form of an entry in a file (``day_text`` does) or where its content comes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from memoria.daily.ledger import Booked

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
    def booked(self) -> Booked:
        """The entry as the ledger stores it."""
        return Booked(self.id, self.day.isoformat(), self.session, self.project_key, self.title, self.turns)


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
