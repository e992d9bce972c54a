"""Agenda: what a flush does about the open items of its project.

A model is shown the items that the conversation may be about, with their ids, and says which are done or dropped. The
client's own task tools say the same without a model: what they leave open becomes an action item of the entry, what
they complete closes the item of the same words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memoria.daily.open_items import OpenItem, OpenItems, is_same
from memoria.daily.session_tasks import SessionTasks
from memoria.ground.clock import Zone
from memoria.models.protocol import JsonObject
from memoria.search import comparison, identifiers
from memoria.search.words import overlap, word_set, words
from memoria.transcripts import tool_lines
from memoria.transcripts.intake import Stretch
from memoria.transcripts.tool_lines import DONE, DROPPED, Tasks
from memoria.worker.session import Session

COVERED = 0.6  # share of a task's words that an action item has that tells of it among other things
# The words of tasks that end with their session, such as "Run tests and lint" or "Commit and push all changes".
_ROUTINE = word_set(
    """again all and any build changes check checks ci commit everything fmt for format formatter formatting full
    integration lint linter linting mise pass passes passing push rerun run suite sure test tests that the to type
    typecheck types unit verify"""
)
MAX_SHOWN = 20  # items in a request; a project with more shows those that share words with the conversation first


@dataclass(frozen=True, slots=True)
class Agenda:
    """The open items of a home, for its flushes."""

    items: OpenItems
    tasks: SessionTasks
    zone: Zone

    def shown(self, session: Session, stretch: Stretch) -> list[OpenItem]:
        """Return the items that a model is shown with this stretch of a session."""
        self.items.refresh()
        items = self._known_then(session, stretch)
        if len(items) <= MAX_SHOWN:
            return items
        said = comparison.words(" ".join(turn.text for part in stretch.exchanges for turn in part.turns)).stems
        newest = items[-MAX_SHOWN // 4 :]
        ranked = sorted(items, key=lambda item: (item not in newest, -overlap(comparison.words(item.text).stems, said)))
        return [item for item in items if item in ranked[:MAX_SHOWN]]

    def settle(self, session: Session, stretch: Stretch, shown: Iterable[OpenItem], data: JsonObject) -> list[str]:
        """Close what an answer and the task tools say is done or dropped; return the action items of the entry.

        An item that the answer also lists as an action item is still open.
        """
        tasks = _tasks(stretch)
        known_items, said = self.items.of(session.project), data["action_items"]
        left = (text for text in tasks.open if _is_new(text, known_items) and not _is_routine(text))
        found = [*said, *(text for text in left if not any(_is_part(text, item) for item in said))]
        action_items = _distinct(found)
        known = {item.id: item for item in shown if _is_new(item.text, action_items)}
        everything = self._known_then(session, stretch)
        gone = self._gone_from_list(session, tasks)
        for names, texts, dropped in (
            (data["done"], tasks.with_status(*DONE), False),
            (data["dropped"], [*tasks.with_status(*DROPPED), *gone], True),
        ):
            named = [known[name] for name in names if name in known]
            self.items.close([*named, *_named(everything, texts)], dropped=dropped)
        return action_items

    def _known_then(self, session: Session, stretch: Stretch) -> list[OpenItem]:
        """Return the open items without those of later days, which an older session that is ingested cannot close."""
        last = max((part.time for part in stretch.exchanges if part.time), default=None)
        items = self.items.of(session.project)
        return [item for item in items if item.day <= self.zone.day(last).isoformat()] if last else items

    def _gone_from_list(self, session: Session, tasks: Tasks) -> list[str]:
        """Return the texts that the session's last to-do list held before this stretch and that a newer one omits."""
        if tasks.todos is None:
            return []
        omitted = self.tasks.replace_list(session.id, tasks.todos)
        return [item.text for item in self.items.of(session.project) if item.id in omitted]


def _tasks(stretch: Stretch) -> Tasks:
    """Return the tasks after a stretch, without those of sub-agents, which end with them."""
    turns = (turn for part in stretch.exchanges for turn in part.turns if not turn.sidechain)
    return tool_lines.read_tasks(line for turn in turns for line in turn.tools)


def _named(items: Iterable[OpenItem], texts: Iterable[str]) -> list[OpenItem]:
    wanted = list(texts)
    return [item for item in items if any(is_same(item.text, text) for text in wanted)]


def _is_new(text: str, known: Iterable[OpenItem | str]) -> bool:
    return not any(is_same(text, item if isinstance(item, str) else item.text) for item in known)


def _is_routine(text: str) -> bool:
    """Return whether a task is a step of its session that nobody needs to be told of later."""
    return set(words(text)) <= _ROUTINE


def _is_part(text: str, item: str) -> bool:
    """Return whether an action item tells of a task among other things: with its names and most of its words."""
    plain = item.casefold()
    if not all(name.casefold() in plain for name in identifiers.in_prose(text)):
        return False
    said = comparison.words(text).stems
    return bool(said) and sum(stem in plain for stem in said) >= COVERED * len(said)


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return the texts without further wordings of an earlier one."""
    kept: list[str] = []
    for text in texts:
        if _is_new(text, kept):
            kept.append(text)
    return kept
