"""Entry: what one stretch of a session came to, as a record.

Does not know how an entry stands in a file (``day_text`` does) nor where its content comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from memoria.daily.ledger import Booked


@dataclass(frozen=True, slots=True)
class Learned:
    """One learned line: ``kind`` (correction, preference, ...), one topic of text, its id (``l-7f3a``).

    ``below``: the indented lines that belong to it, its quote and its particulars.
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
