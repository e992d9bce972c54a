"""opencode: sessions of messages of parts, each a row of a database or, in older versions, a file.

``$XDG_DATA_HOME/opencode`` (``~/.local/share/opencode`` on every system) holds ``opencode.db`` (tables ``session``,
``message`` and ``part``, whose ``data`` is JSON) and, until about 1.1, ``storage/session/<project>/<session>.json``,
``storage/message/<session>/<message>.json`` and ``storage/part/<message>/<part>.json``. Read from the source of
anomalyco/opencode, formerly sst/opencode (``message-v2.ts``, ``session.sql.ts``, ``storage.ts`` in
``packages/opencode/src``; 2026). A session in the database is called ``opencode.db/<session>`` here, as if it were a
file. The layout before the folder ``storage`` is not read; opencode moves such sessions when it starts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoria.base import sqlite
from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head, Json
from memoria.transcripts.clients.client import Client, Lines, edits, record, records, text

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode

_RENAMED = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}
_TOOLS = {
    "bash": "Bash",
    "edit": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "list": "LS",
    "read": "Read",
    "task": "Task",
    "todowrite": "TodoWrite",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "write": "Write",
}
_SESSIONS = """
    SELECT session.id, session.parent_id,
           max(session.time_updated, coalesce((SELECT max(time_updated) FROM part WHERE session_id = session.id), 0)),
           (SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = session.id)
    FROM session"""
_PARTS = """
    SELECT message.id, message.data, part.id, part.data
    FROM message JOIN part ON part.message_id = message.id
    WHERE message.session_id = ? ORDER BY message.time_created, message.id, part.id"""


class OpenCode(Client):
    """The sessions of opencode."""

    name = "opencode"
    title = "opencode"
    has_byte_ranges = False

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return opencode's folder of data."""
        named = environ.get("XDG_DATA_HOME")
        return (Path(named).expanduser() if named else Path.home() / ".local" / "share") / "opencode"

    def transcripts(self, root: Path, *, sides: bool = False) -> list[Found]:
        """Return the sessions at or under ``root``; one that the database holds too is taken from there."""
        if _is_row(root):
            return [item for item in _rows(root.parent) if item.path == root]
        stored = [item for path in _databases(root) for item in _rows(path)]
        known = {item.session for item in stored}
        filed = [item for path in _session_files(root) for item in _session_in_file(path) if item.session not in known]
        return client_files.in_order(item for item in (*stored, *filed) if sides or not item.side)

    def head(self, path: Path) -> Head:
        """Return the session's id and folder."""
        if _is_row(path):
            row = _query(path, "SELECT directory FROM session WHERE id = ?")
            if not row:
                raise FileNotFoundError(path)
            return Head(path.name, str(row[0][0]))
        info = _read(path)
        return Head(text(info, "id") or path.stem, text(info, "directory"))

    def lines(self, path: Path) -> Iterator[bytes]:
        """Yield a line for each part, with its message and the session's folder."""
        head, is_side = self.head(path), _is_side(path)
        parts = _stored_parts(path) if _is_row(path) else _filed_parts(path)
        for message, part in parts:
            broken = next((value for value in (message, part) if not isinstance(value, dict)), None)
            if broken is not None:
                yield str(broken).replace("\n", " ").encode("utf-8", "replace") + b"\n"
                continue
            line = {"session": head.session, "cwd": head.cwd, "side": is_side, "message": message, "part": part}
            yield json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def decoder(self) -> Decode:
        """Return the decoder of these lines, which needs no state."""
        return _values


def _is_row(path: Path) -> bool:
    return path.parent.suffix == ".db"


def _databases(root: Path) -> list[Path]:
    if root.suffix == ".db":
        return [root]
    return sorted(root.glob("opencode*.db")) if root.is_dir() else []


def _rows(path: Path) -> Iterator[Found]:
    """Yield the sessions in a database; none when it is of another form."""
    try:
        with closing(sqlite.read_only(str(path))) as db:
            for ident, parent, changed, size in db.execute(_SESSIONS).fetchall():
                yield Found(path / ident, int(size), int(changed) * 1_000_000, bool(parent), "opencode", ident)
    except sqlite3.Error:
        return


def _session_files(root: Path) -> list[Path]:
    if root.is_file():
        return [root] if root.suffix == ".json" else []
    return sorted((root / "storage" / "session").glob("*/*.json")) or sorted(root.glob("session/*/*.json"))


def _session_in_file(path: Path) -> Iterator[Found]:
    """Yield a session that is a file; it changed when its newest message did."""
    try:
        newest = (path.parents[2] / "message" / path.stem).stat().st_mtime_ns
    except OSError:
        newest = 0
    for item in client_files.at_path(path, agent="opencode", session=path.stem, side=_is_side(path)):
        yield Found(path, item.size, max(item.changed_ns, newest), item.side, "opencode", path.stem)


def _is_side(path: Path) -> bool:
    """Return whether a session is a sub-agent's, which names the session that began it."""
    try:
        if not _is_row(path):
            return bool(_read(path).get("parentID"))
        return bool(_query(path, "SELECT 1 FROM session WHERE id = ? AND parent_id IS NOT NULL"))
    except OSError:
        return False


def _query(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows that belong to a session; OSError when the database is gone, damaged or of another form."""
    try:
        with closing(sqlite.read_only(str(path.parent))) as db:
            return db.execute(query, (path.name,)).fetchall()
    except sqlite3.Error as error:
        raise OSError(f"opencode's database cannot be read: {error}") from error


def _stored_parts(path: Path) -> Iterator[tuple[object, object]]:
    for message_id, message, part_id, part in _query(path, _PARTS):
        yield _with_id(message, message_id), _with_id(part, part_id)


def _with_id(data: object, ident: str) -> object:
    """Return a row's object with its id, which stands in a column; what is no object stays as it is."""
    try:
        value = json.loads(str(data))
    except (ValueError, RecursionError):
        return str(data)
    return value | {"id": ident} if isinstance(value, dict) else value


def _filed_parts(path: Path) -> Iterator[tuple[object, object]]:
    storage = path.parents[2]
    for message_path in sorted((storage / "message" / path.stem).glob("*.json")):
        message = _read_any(message_path)
        for part_path in sorted((storage / "part" / message_path.stem).glob("*.json")):
            yield message, _read_any(part_path)


def _read(path: Path) -> Json:
    value = _read_any(path)
    return value if isinstance(value, dict) else {}


def _read_any(path: Path) -> object:
    """Return a file's JSON, or its text when it is none."""
    data = path.read_bytes()
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _values(lines: Iterable[bytes], unreadable: Callable[[], None]) -> Iterator[Json]:
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        message, part = record(value, "message"), record(value, "part")
        if not message or not part:
            unreadable()
            continue
        make = Lines(text(value, "session"), text(value, "cwd"), is_side=value.get("side") is True)
        yield from _part(make, message, part)


def _part(make: Lines, message: Json, part: Json) -> Iterator[Json]:
    ident, kind, role = text(part, "id"), text(part, "type"), text(message, "role")
    time = _time(part) or _time(message)
    if kind == "text" and not (part.get("synthetic") is True or part.get("ignored") is True):
        said = text(part, "text")
        if role == "user" and said.strip():
            yield make.prompt(ident, time, said)
        elif role == "assistant" and said.strip() and message.get("summary") is not True:  # a compaction's summary
            yield make.answer(ident, time, said)
    elif kind == "file" and role == "user" and text(part, "mime").startswith("image/"):
        yield make.prompt(ident, time, [{"type": "image"}])
    elif kind == "tool" and text(record(part, "state"), "status") in ("completed", "error"):
        yield from _tool(make, part, ident, time)


def _tool(make: Lines, part: Json, ident: str, time: str) -> Iterator[Json]:
    """Yield a tool's use once it has ended, and its output when it failed."""
    state, call, name = record(part, "state"), text(part, "callID") or ident, text(part, "tool")
    given = {_RENAMED.get(key, key): value for key, value in record(state, "input").items()}
    if name in ("patch", "apply_patch"):
        uses = list(edits(text(given, "patchText"))) or [(name, given)]
    elif name == "todowrite":
        todos = [{"status": todo.get("status"), "content": todo.get("content")} for todo in records(given, "todos")]
        uses = [("TodoWrite", {"todos": todos})]
    else:
        uses = [(_TOOLS.get(name, name or "tool"), given)]
    yield make.use(ident, time, {f"{call}.{number}" if number else call: use for number, use in enumerate(uses)})
    yield make.result(f"{ident}#output", time, call, _failure(state))


def _failure(state: Json) -> str:
    """Return what a tool said when it failed, ``""`` when it did not."""
    code = record(state, "metadata").get("exit")
    if isinstance(code, int) and code:
        return f"Exit code: {code}\n{text(state, 'output')}"
    return text(state, "error") or ("failed without a word" if state.get("status") == "error" else "")


def _time(value: Json) -> str:
    """Return when a part began, or a message was made, as text; times are milliseconds since the epoch."""
    times = record(record(value, "state") or value, "time")
    stamp = times.get("start", times.get("created"))
    if not isinstance(stamp, int | float):
        return ""
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
