"""Gemini CLI: chats, one file a session, in which a message may be written again.

``~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl``; until 0.2x ``.json``, one object with ``messages``. What a
sub-agent said lies in ``chats/<session>/<id>.jsonl``. In a JSONL file the first line is the session, a line with an
``id`` is a message, of which the last version counts, and ``$set`` and ``$rewindTo`` lines change the session. Read
from the source of google-gemini/gemini-cli (``ConversationRecord`` in ``packages/core/src/services/
chatRecordingTypes.ts``, ``chatRecordingService.ts``; 2026). ``$GEMINI_CLI_HOME`` takes the place of the home folder.

A file does not say its folder. ``<project>`` is the SHA-256 of the folder or, later, a short name; the folder is in
``.project_root`` beside ``chats/`` or in ``~/.gemini/projects.json``. A folder that neither names stays unknown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoria.ground.files import sha256
from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head, Json
from memoria.transcripts.clients.client import Client, Lines, record, records, text

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode

_PROJECTS, _NAMES, _ROOT = "tmp", "projects.json", ".project_root"
_RENAMED = {"absolute_path": "file_path", "dir_path": "path"}
_TOOLS = {
    "glob": "Glob",
    "google_web_search": "WebSearch",
    "grep_search": "Grep",
    "list_directory": "LS",
    "read_file": "Read",
    "replace": "Edit",
    "run_shell_command": "Bash",
    "search_file_content": "Grep",
    "web_fetch": "WebFetch",
    "write_file": "Write",
}


class Gemini(Client):
    """Gemini CLI's chats."""

    name = "gemini"
    title = "Gemini CLI"
    has_byte_ranges = False

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return ``~/.gemini``."""
        named = environ.get("GEMINI_CLI_HOME")
        return (Path(named).expanduser() if named else Path.home()) / ".gemini"

    def transcripts(self, root: Path, *, sides: bool = False) -> list[Found]:
        """Return the chats at or under ``root``; of Gemini's own folder, only those of its projects."""
        place = root / _PROJECTS if (root / _PROJECTS).is_dir() else root
        paths = {path.with_suffix(""): path for path in sorted(_files(place))}  # .json, then .jsonl that replaced it
        found = (
            item
            for path in paths.values()
            for item in client_files.at_path(path, agent=self.name, session=path.stem, side=_is_side(path))
        )
        return client_files.in_order(item for item in found if sides or not item.side)

    def head(self, path: Path) -> Head:
        """Return the session's id; a sub-agent's chat belongs to the session that its folder is named after."""
        whole = _records(path)
        named = next((text(value, "sessionId") for value in whole if isinstance(value, dict)), "")
        session = path.parent.name if _is_side(path) else named
        return Head(session or path.stem, _root(_project(path)))

    def lines(self, path: Path) -> Iterator[bytes]:
        """Yield a line for each message in its last version, and each line that cannot be read as it is."""
        head = self.head(path)
        last: dict[str, Any] = {}
        for number, value in enumerate(_records(path)):
            if isinstance(value, bytes):
                last[f"line {number}"] = value
            elif ident := text(value, "id"):
                last[ident] = value
            else:
                last |= {text(message, "id") or f"{number}": message for message in records(value, "messages")}
        for value in last.values():
            if isinstance(value, bytes):
                yield value
            else:
                line = {"session": head.session, "cwd": head.cwd, "side": _is_side(path), "message": value}
                yield json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def decoder(self) -> Decode:
        """Return the decoder of these lines, which needs no state."""
        return _values


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for place, folders, names in os.walk(root):
        folders.sort()
        inside = Path(place)
        if "chats" in (inside.name, inside.parent.name) or inside == root:
            yield from (inside / name for name in names if _is_chat(inside / name))


def _is_chat(path: Path) -> bool:
    return path.suffix == ".jsonl" or (path.suffix == ".json" and path.name.startswith("session-"))


def _is_side(path: Path) -> bool:
    return path.parent.parent.name == "chats"


def _project(path: Path) -> Path:
    """Return the folder that Gemini CLI keeps for the project."""
    return next((folder.parent for folder in path.parents if folder.name == "chats"), path.parent)


@cache
def _root(place: Path) -> str:
    """Return the folder of a project, ``""`` when nothing names it."""
    try:
        return (place / _ROOT).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        pass
    try:
        known = json.loads((place.parent.parent / _NAMES).read_bytes())
    except (OSError, ValueError):
        return ""
    for folder, name in record(known, "projects").items():
        if place.name in (name, sha256(folder)):
            return str(folder)
    return ""


def _records(path: Path) -> list[Json | bytes]:
    """Return the objects of a chat in order; a line that holds none is returned as it is."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return [_record(data)]
    return [_record(line) for line in data.splitlines(keepends=True) if line.strip(b" \t\r\n\0")]


def _record(line: bytes) -> Json | bytes:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else line.replace(b"\n", b" ").rstrip() + b"\n"


def _values(lines: Iterable[bytes], unreadable: Callable[[], None]) -> Iterator[Json]:
    for line in lines:
        value = _record(line)
        if isinstance(value, bytes):
            unreadable()
            continue
        make = Lines(text(value, "session"), text(value, "cwd"), is_side=value.get("side") is True)
        message = record(value, "message")
        if text(message, "type") == "user":
            yield from _prompt(make, message)
        elif text(message, "type") == "gemini":
            yield from _answer(make, message)


def _prompt(make: Lines, message: Json) -> Iterator[Json]:
    """Yield what a person typed; ``content`` also holds what the client added, such as the files it names."""
    blocks = _blocks(message.get("displayContent") or message.get("content"))
    if blocks:
        yield make.prompt(text(message, "id"), text(message, "timestamp"), blocks)


def _answer(make: Lines, message: Json) -> Iterator[Json]:
    ident, time = text(message, "id"), text(message, "timestamp")
    said = "\n\n".join(text(block, "text") for block in _blocks(message.get("content")))
    if said.strip():
        yield make.answer(ident, time, said)
    for call in records(message, "toolCalls"):
        name, when = text(call, "id"), text(call, "timestamp") or time
        given = {_RENAMED.get(key, key): part for key, part in record(call, "args").items()}
        yield make.use(f"{ident}/{name}", when, {name: _tool(text(call, "name"), given)})
        failure = _output(call) if text(call, "status") == "error" else ""
        yield make.result(f"{ident}/{name}#output", when, name, failure)


def _tool(name: str, given: Json) -> tuple[str, Json]:
    if name == "write_todos":
        todos = [{"status": todo.get("status"), "content": todo.get("description")} for todo in records(given, "todos")]
        return "TodoWrite", {"todos": todos}
    return _TOOLS.get(name, name or "tool"), given


def _blocks(content: object) -> list[Json]:
    """Return the text and pictures of a message: one part or a list of parts, of which some may be plain text."""
    parts = content if isinstance(content, list) else [content]
    blocks = []
    for part in parts:
        said = part if isinstance(part, str) else text(part, "text")
        is_thought = isinstance(part, dict) and part.get("thought") is True
        if said.strip() and not is_thought:
            blocks.append({"type": "text", "text": said})
        elif record(part, "inlineData") or record(part, "fileData"):
            blocks.append({"type": "image"})
    return blocks


def _output(call: Json) -> str:
    """Return what a failed tool said."""
    if shown := text(call, "resultDisplay"):
        return shown
    answers = [record(record(part, "functionResponse"), "response") for part in records(call, "result")]
    return "\n".join(text(answer, "error") or text(answer, "output") for answer in answers) or "failed without a word"
