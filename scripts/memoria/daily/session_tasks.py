"""Session tasks: what a session's next flush must know of the client's tasks and its to-do list.

The ledger keeps the numbers of the tasks and the ids of the open items that they are, never their texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoria.daily.ledger import Ledger
from memoria.daily.open_items import ident

KEY = "tasks "  # the ledger's key of a session's tasks, before the session's id


@dataclass(frozen=True, slots=True)
class SessionTasks:
    """The tasks of all sessions of a home."""

    ledger: Ledger

    def known(self, session: str) -> dict[str, str]:
        """Return the subjects of a session's tasks by their numbers, as far as their items are still recorded."""
        numbers = self._stored(session).get("numbers", {})
        if not numbers:
            return {}
        texts = {ident(item.text): item.text for item in self.ledger.items()}
        return {number: texts[name] for number, name in numbers.items() if name in texts}

    def keep(self, session: str, tasks: Mapping[str, str], clean: Callable[[str], str]) -> None:
        """Keep the numbers of a session's tasks with the ids of their redacted subjects."""
        numbers = {number: ident(clean(subject)) for number, subject in tasks.items()}
        stored = self._stored(session)
        if numbers and stored.get("numbers") != numbers:
            self.ledger.put(KEY + session, {**stored, "numbers": numbers})

    def replace_list(self, session: str, texts: Sequence[str]) -> set[str]:
        """Keep a session's to-do list in place of the last one; return the ids of the items that it omits."""
        stored = self._stored(session)
        now = [ident(text) for text in texts]
        self.ledger.put(KEY + session, {**stored, "todos": now})
        return set(stored.get("todos", ())) - set(now)

    def _stored(self, session: str) -> dict[str, Any]:
        return self.ledger.get(KEY + session) or {}
