"""Client saves: what the assistant wrote into the client's own memory.

The client's memory is ``<config>/projects/<folder>/memory/**``, ``MEMORY.md`` and ``CLAUDE.md`` (``client_memory``
reads it for search). Knows tool uses and the lines that stand for them; does not know the transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_NEWLINE = "\\n"  # what stands for a line's end in a tool's line
_INSIDE = re.compile(r"/projects/(?:-|[A-Za-z]-)[^/]*/memory/")  # a path with hyphens for all else, absolute
_EDITORS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_WORD = re.compile(r"[^\s'\"<>|;&()]+")
_WRITES = re.compile(r">|\b(?:tee|cp|mv|sed)\b")


def is_memory(path: str) -> bool:
    """Return whether a path names the client's own memory."""
    plain = path.replace("\\", "/")
    name = plain.rsplit("/", 1)[-1]
    return bool(_INSIDE.search(plain)) or name in ("CLAUDE.md", "CLAUDE.local.md", "MEMORY.md")


def line(name: str, given: Mapping[str, Any]) -> str:
    """A tool use that wrote into the client's memory as one line that ``from_lines`` reads back; ``""`` for others."""
    if name == "Bash":
        command = str(given.get("command", "")).strip().replace("\n", _NEWLINE)
        return f"{name} {command}" if _writes_memory(command) else ""
    path = str(given.get("file_path") or given.get("notebook_path") or "")
    if name not in _EDITORS or not is_memory(path):
        return ""
    text = "\n".join(_new_text(given)).strip().replace("\n", _NEWLINE)
    return f"{name} {path}: {text}" if text else ""


def from_lines(tools: Iterable[str]) -> list[str]:
    """Return what was written into the client's memory, from a turn's tool lines and as far as these hold it."""
    texts = []
    for tool in tools:
        name, _, rest = tool.partition(" ")
        path, _, text = rest.partition(": ")
        if name in _EDITORS and is_memory(path):
            texts.append(text)
        elif name == "Bash" and _writes_memory(rest):
            texts.append(rest)
    return [text for text in texts if text]


def _new_text(given: Mapping[str, Any]) -> Iterator[str]:
    edits = given.get("edits")
    for part in (given, *(edits if isinstance(edits, list) else ())):
        if isinstance(part, Mapping):
            yield from (str(part[key]) for key in ("content", "new_string", "new_source") if part.get(key))


def _writes_memory(command: str) -> bool:
    return bool(_WRITES.search(command)) and any(map(is_memory, _WORD.findall(command)))
