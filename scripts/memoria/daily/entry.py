"""Entry: the summary of one part of a session, as a record.

Does not know the form of an entry in a file (``day_text`` does) or where its content comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from memoria.daily.ledger import Booked


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
