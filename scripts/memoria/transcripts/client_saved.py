"""Client saves: what the assistant wrote into the client's own memory.

The client's memory is ``<config>/projects/<folder>/memory/**``, ``MEMORY.md`` and ``CLAUDE.md`` (``client_memory``
reads it for search). Knows tool uses and the lines that stand for them; does not know the transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memoria.base.paths import expanded

MAX_FILE_BYTES: Final = 200_000  # bytes read of one file; the client itself loads far less

CUT: Final = 4_000  # characters from which a tool's line counts as cut (``tooluse.LINE``)

_NEWLINE = "\\n"  # what stands for a line's end in a tool's line
_INSIDE = re.compile(r"/projects/(?:-|[A-Za-z]-)[^/]*/memory/")  # a path with hyphens for all else, absolute
_EDITORS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_PATH_END = re.compile(r"[/\\]memory[/\\][\w./\\-]+\b|\b(?:CLAUDE(?:\.local)?|MEMORY)\.md\b")
_IN_PATH = re.compile(r"[~\w$./\\:{}-]")
_MAX_PATH = 500
_WRITES = re.compile(
    r">>?|\btee\b|\bsed\s+(?:-\w+\s+)*-i|\b(?:cp|mv|dd|install)\b|\bperl\s+-\w*i|\bpython3?\b.*\bopen\("
)
_MCP_SAVES = re.compile(r"(?:memory|memories|remember|knowledge)", re.IGNORECASE)
_MCP_VERBS = re.compile(r"(?:add|create|store|save|write|remember|append|insert|upsert|update|observ)", re.IGNORECASE)


def is_memory(path: str) -> bool:
    """Whether a path names the client's own memory."""
    plain = path.replace("\\", "/")
    name = plain.rsplit("/", 1)[-1]
    return bool(_INSIDE.search(plain)) or name in ("CLAUDE.md", "CLAUDE.local.md", "MEMORY.md")


def written(name: str, given: Mapping[str, Any]) -> str:
    """The text that one tool use (its name and raw input) put into the client's memory; ``""`` when it did not."""
    if name in _EDITORS:
        path = str(given.get("file_path") or given.get("notebook_path") or "")
        return "\n".join(_new_text(given)) if is_memory(path) else ""
    if name == "Bash":
        command = str(given.get("command", ""))
        return command if _writes_memory(command) else ""
    if name.startswith("mcp__") and _saves_by_mcp(name, given):
        return "\n".join(_strings(given))
    return ""


def line(name: str, given: Mapping[str, Any]) -> str:
    """A tool use that wrote into the client's memory as one line that ``from_lines`` reads back; ``""`` for others."""
    text = written(name, given).strip().replace("\n", _NEWLINE)
    if not text:
        return ""
    path = str(given.get("file_path") or given.get("notebook_path") or "")
    return f"{name} {path}: {text}" if name in _EDITORS else f"{name} {text}"


def from_lines(tools: Iterable[str], cwd: str = "") -> list[str]:
    """What was written into the client's memory, from a turn's tool lines.

    As it was written then, as far as the line holds it; of a line that was cut the file as it is now counts too.
    """
    texts = []
    for line in tools:
        name, _, rest = line.partition(" ")
        if name in _EDITORS:
            path, _, text = rest.partition(": ")
            if is_memory(path):
                texts += [text, *([_text(Path(cwd) / path)] if len(line) >= CUT else [])]
        elif name == "Bash":
            texts.append("\n".join([rest, *_files_of(rest, cwd)]) if _writes_memory(rest) else "")
        elif name.startswith("mcp__") and _saves_by_mcp(name, {"line": rest}):
            texts.append(rest)
    return [text for text in texts if text]


def _new_text(given: Mapping[str, Any]) -> Iterator[str]:
    edits = given.get("edits")
    for part in (given, *(edits if isinstance(edits, list) else ())):
        if isinstance(part, Mapping):
            yield from (str(part[key]) for key in ("content", "new_string", "new_source") if part.get(key))


def _writes_memory(command: str) -> bool:
    return any(is_memory(path) for path in _paths(command)) and bool(_WRITES.search(command))


def _paths(text: str) -> Iterator[str]:
    """What looks like a path to a memory file. Linear in the text: from each likely end, a bounded way back."""
    for end in _PATH_END.finditer(text):
        start = end.start()
        while start > max(0, end.start() - _MAX_PATH):
            if not _IN_PATH.match(text[start - 1]) and text[start - 2 : start] != "\\ ":
                break
            start -= 1
        yield text[start : end.end()]


def _files_of(command: str, cwd: str) -> list[str]:
    return [_text(Path(cwd) / expanded(path)) for path in _paths(command) if is_memory(path)]


def _saves_by_mcp(name: str, given: Mapping[str, Any]) -> bool:
    server, _, tool = name.removeprefix("mcp__").partition("__")
    if not _MCP_VERBS.search(tool):
        return False
    if _MCP_SAVES.search(server) or _MCP_SAVES.search(tool):
        return True
    return any(is_memory(path) for text in _strings(given) for path in _paths(text))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):  # ValueError: a NUL or a lone surrogate
        return ""
