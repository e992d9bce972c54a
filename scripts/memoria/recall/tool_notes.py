"""Tool notes: what was said about the file, command or symbol that a tool is about to touch.

Looked up when the client is about to edit a file or to run a command, because a rule helps at the decision that it
concerns. Most tool uses touch nothing that any rule names: one prepared file tells, and nothing else is read for them.
"""

from __future__ import annotations

import os

from memoria.recall import mentions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings
    from memoria.capture import hook

AGENT_TOOLS = ("Agent", "Task")


def pre_tool_use(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the notes that name what an edit or a command touches, or None; record the task of a sub-agent."""
    tool, given = event.text("tool_name"), event.fields.get("tool_input")
    if not isinstance(given, dict):
        return None
    if tool in AGENT_TOOLS:
        from memoria.recall import subagent_page  # noqa: PLC0415 (most tool uses start no sub-agent)

        subagent_page.record(event, given, settings, paths)
        return None
    if not settings.tool_notes or not os.path.exists(paths.index):
        return None
    touched = mentions.of_tool(tool, given, event.cwd)
    if not touched.may_be_named(_names(paths.named)):
        return None
    from memoria.recall import naming_notes  # noqa: PLC0415 (most tool uses touch nothing that a rule names)

    return naming_notes.answer(event, settings, paths, touched)


def _names(path: str) -> str:
    """Return the names in all rules, ``""`` while they are not known."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
