"""Saved: what the assistant kept itself in the client's own memory, and reading that memory.

A fact that stands there already is not learned again; the others of the same turns are. The client's memory is
``<config>/projects/<folder>/memory/**``, ``MEMORY.md`` and ``CLAUDE.md``; it is read, never written. Knows the client's
folders and the lines that stand for tool uses; does not know the transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoria.memory import likeness
from memoria.memory.event import Event

COVERED: Final = 0.6  # share of a fact's words that one saved statement must hold
LARGEST: Final = 200_000  # bytes read of one file; the client itself loads far less

_EDITORS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_PATH = re.compile(r"(?:[~\w$./\\:{}-]|\\ )*(?:[/\\]memory[/\\][\w./\\-]+|\b(?:CLAUDE(?:\.local)?|MEMORY)\.md)\b")
_WRITES = re.compile(
    r">>?|\btee\b|\bsed\s+(?:-\w+\s+)*-i|\b(?:cp|mv|dd|install)\b|\bperl\s+-\w*i|\bpython3?\b.*\bopen\("
)
_MCP_SAVES = re.compile(r"(?:memory|memories|remember|knowledge)", re.IGNORECASE)
_MCP_VERBS = re.compile(r"(?:add|create|store|save|write|remember|append|insert|upsert|update|observ)", re.IGNORECASE)
_STATEMENT = re.compile(r"(?<=[.!?])\s+|\n+|\\n")


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the client's memory: its ``path``, the ``text``, when it was changed (seconds since 1970)."""

    path: Path
    text: str
    changed: float


def is_memory(path: str) -> bool:
    """Whether a path names the client's own memory."""
    plain = path.replace("\\", "/")
    name = plain.rsplit("/", 1)[-1]
    inside = "/projects/" in plain and "/memory/" in plain
    return inside or name in ("CLAUDE.md", "CLAUDE.local.md", "MEMORY.md")


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


def from_lines(tools: Iterable[str], cwd: str = "") -> list[str]:
    """The same from a turn's tool lines (``Write <path>: …``), where the text itself is not in the line.

    What was written is then looked up in the file as it is now; a command's or an MCP call's own line is text enough.
    """
    texts = []
    for line in tools:
        name, _, rest = line.partition(" ")
        if name in _EDITORS:
            path = rest.split(": ", 1)[0].strip()
            texts.append(_text(Path(cwd) / path) if is_memory(path) else "")
        elif name == "Bash":
            texts.append("\n".join([rest, *_files_of(rest, cwd)]) if _writes_memory(rest) else "")
        elif name.startswith("mcp__") and _saves_by_mcp(name, {"line": rest}):
            texts.append(rest)
    return [text for text in texts if text]


def holds(texts: Iterable[str], event: Event) -> bool:
    """Whether one saved statement says what the fact says."""
    claims = [likeness.words(event.content), likeness.words(event.quote)]
    for text in texts:
        for statement in _STATEMENT.split(text):
            told = likeness.words(statement)
            if any(claim.stems and likeness.covered(claim, told) >= COVERED for claim in claims):
                return True
    return False


def without_saved(events: Iterable[Event], texts: list[str]) -> list[Event]:
    """The events that the assistant did not save itself."""
    return [event for event in events if not holds(texts, event)] if texts else list(events)


def documents(config: Path, root: Path | None = None) -> list[Document]:
    """The client's memory that concerns a project (all projects without ``root``), and the user's own ``CLAUDE.md``.

    ``config`` is the client's folder (``~/.claude`` or ``CLAUDE_CONFIG_DIR``). Files that cannot be read are left out.
    """
    folder = client_folder(root) if root else "*"
    paths = [config / "CLAUDE.md", *sorted(config.glob(f"projects/{folder}/memory/**/*.md"))]
    if root:
        paths += [root / "CLAUDE.md", root / "CLAUDE.local.md", root / ".claude" / "CLAUDE.md"]
    found = ((path, _text(path)) for path in dict.fromkeys(paths))
    return [Document(path, text, path.stat().st_mtime) for path, text in found if text]


def client_folder(root: Path) -> str:
    """The name of a project's folder in the client's configuration: the path with everything odd as a hyphen."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(root))


def _new_text(given: Mapping[str, Any]) -> Iterator[str]:
    edits = given.get("edits")
    for part in (given, *(edits if isinstance(edits, list) else ())):
        if isinstance(part, Mapping):
            yield from (str(part[key]) for key in ("content", "new_string", "new_source") if part.get(key))


def _writes_memory(command: str) -> bool:
    return bool(_WRITES.search(command)) and any(is_memory(path) for path in _PATH.findall(command))


def _files_of(command: str, cwd: str) -> list[str]:
    return [_text((Path(cwd) / path).expanduser()) for path in _PATH.findall(command) if is_memory(path)]


def _saves_by_mcp(name: str, given: Mapping[str, Any]) -> bool:
    server, _, tool = name.removeprefix("mcp__").partition("__")
    into_memory = bool(_MCP_SAVES.search(server) or _MCP_SAVES.search(tool))
    names_file = any(is_memory(path) for text in _strings(given) for path in _PATH.findall(text))
    return bool(_MCP_VERBS.search(tool)) and (into_memory or names_file)


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
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
