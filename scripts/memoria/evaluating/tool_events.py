"""Tool events: the tool uses and failures of a past session, as the client would have told the hooks of them.

A transcript is read as one line for each tool use (``transcripts.tool_lines``): an edit is known by its file and the
identifiers in it, a command by its beginning, and a sub-agent by its task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memoria.recall.tool_notes import AGENT_TOOLS
from memoria.transcripts.turn import Turn

BEFORE, FAILURE, SUBAGENT = "PreToolUse", "PostToolUseFailure", "SubagentStart"
NAMES = (BEFORE, FAILURE, SUBAGENT)
_EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_COMMAND = "Bash"


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """An event of the turn at ``place``: its ``name``, and the ``fields`` that the hook is told."""

    name: str
    fields: dict[str, Any]
    place: int


def of(turns: Sequence[Turn]) -> Iterator[ToolEvent]:
    """Yield the events of a session's own turns, in order; a sub-agent's tool uses are not its own."""
    tools: dict[str, str] = {}  # the tool of each use, by its id
    latest: set[str] = set()  # the tools of the last turn that used any: an archived turn has no ids
    for place, turn in enumerate(turns):
        if turn.sidechain:
            continue
        if turn.role == "error":
            if _COMMAND in ({tools.get(use, "") for use in turn.uses} or latest):
                yield ToolEvent(FAILURE, {"tool_name": _COMMAND, "error": turn.text}, place)
        elif turn.tools:
            used = [line.partition(" ")[0] for line in turn.tools]
            tools.update(zip(turn.uses, used, strict=False))
            latest = set(used)
            yield from (event for line in turn.tools for event in _before(line, place))


def _before(line: str, place: int) -> Iterator[ToolEvent]:
    tool, _, about = line.partition(" ")
    name, given = BEFORE, {"command": about}
    if tool in _EDITS:
        path, _, names = about.partition(": ")
        given = {"file_path": path, "new_string": names}
    elif tool in AGENT_TOOLS:
        kind, _, task = about.partition(" · ")
        name, given = SUBAGENT, {"subagent_type": kind, "prompt": task}
    elif tool != _COMMAND:
        return
    yield ToolEvent(name, {"tool_name": tool, "tool_input": given}, place)
