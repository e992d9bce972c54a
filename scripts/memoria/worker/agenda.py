"""Agenda: what a flush does about the open items of its project.

A model is shown the items that the conversation may be about, with their ids, and says which are done or dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memoria.daily.open_items import OpenItem, OpenItems, is_same
from memoria.ground.clock import Zone
from memoria.models.protocol import JsonObject
from memoria.search import comparison
from memoria.search.words import overlap
from memoria.transcripts.intake import Stretch
from memoria.worker.session import Session

MAX_SHOWN = 20  # items in a request; a project with more shows those that share words with the conversation first


@dataclass(frozen=True, slots=True)
class Agenda:
    """The open items of a home, for its flushes."""

    items: OpenItems
    zone: Zone

    def shown(self, session: Session, stretch: Stretch) -> list[OpenItem]:
        """Return the items that a model is shown with this stretch of a session.

        Those of later days are left out, which an older session that is ingested cannot close.
        """
        self.items.refresh()
        last = max((part.time for part in stretch.exchanges if part.time), default=None)
        items = self.items.of(session.project)
        if last:
            items = [item for item in items if item.day <= self.zone.day(last).isoformat()]
        if len(items) <= MAX_SHOWN:
            return items
        said = comparison.words(" ".join(turn.text for part in stretch.exchanges for turn in part.turns)).stems
        newest = items[-MAX_SHOWN // 4 :]
        ranked = sorted(items, key=lambda item: (item not in newest, -overlap(comparison.words(item.text).stems, said)))
        return [item for item in items if item in ranked[:MAX_SHOWN]]

    def settle(self, shown: Iterable[OpenItem], data: JsonObject) -> list[str]:
        """Close what an answer says is done or dropped; return the action items of the entry.

        An item that the answer also lists as an action item is still open.
        """
        action_items = _distinct(data["action_items"])
        known = {item.id: item for item in shown if not any(is_same(item.text, text) for text in action_items)}
        for names, dropped in ((data["done"], False), (data["dropped"], True)):
            self.items.close([known[name] for name in names if name in known], dropped=dropped)
        return action_items


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return the texts without further wordings of an earlier one."""
    kept: list[str] = []
    for text in texts:
        if not any(is_same(text, known) for known in kept):
            kept.append(text)
    return kept
