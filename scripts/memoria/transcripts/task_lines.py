"""Task lines: what the client's own task tools say is open, done or dropped, read from their tool lines.

``TodoWrite`` writes the whole list each time; ``TaskCreate`` and ``TaskUpdate`` (``tool_lines``) change one task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

DONE = ("completed",)
DROPPED = ("deleted", "cancelled", "canceled")

_TODO = re.compile(r"(?:^|; )\[(\w+)\] (.*?)(?=; \[\w+\] |$)", re.DOTALL)
_UPDATE = re.compile(r"TaskUpdate \[(\w+)\] (?!#)(.+)", re.DOTALL)


@dataclass(slots=True)
class Tasks:
    """The ``statuses`` of tasks by their texts, and the texts of the last to-do list, None when none was written."""

    statuses: dict[str, str] = field(default_factory=dict)
    todos: tuple[str, ...] | None = None

    def with_status(self, *wanted: str) -> list[str]:
        """Return the texts of the tasks that have one of these statuses."""
        return [text for text, status in self.statuses.items() if status in wanted]

    @property
    def open(self) -> list[str]:
        """The texts of the tasks that are neither done nor dropped."""
        return [text for text, status in self.statuses.items() if status not in (*DONE, *DROPPED)]


def read(tools: Iterable[str]) -> Tasks:
    """Return the tasks as they stand after these tool lines."""
    tasks = Tasks()
    for line in tools:
        if line.startswith("TodoWrite "):
            _write_list(tasks, line.removeprefix("TodoWrite "))
        elif line.startswith("TaskCreate "):
            tasks.statuses[line.removeprefix("TaskCreate ").strip()] = "pending"
        elif update := _UPDATE.fullmatch(line):
            tasks.statuses[update[2].strip()] = update[1]
    return tasks


def _write_list(tasks: Tasks, text: str) -> None:
    """Take a whole list; what an earlier list held and this one does not, was dropped unless it was done."""
    listed = {found[2].strip(): found[1] for found in _TODO.finditer(text) if found[2].strip()}
    for former in tasks.todos or ():
        if former not in listed and tasks.statuses.get(former) not in DONE:
            tasks.statuses[former] = "deleted"
    tasks.statuses.update(listed)
    tasks.todos = tuple(listed)
