"""Codex CLI: rollouts, one JSONL file a session, to which lines are only appended.

``$CODEX_HOME`` (``~/.codex``) holds ``sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`` and ``archived_sessions/``. A
line is ``{"timestamp", "type", "payload"}``; its types are ``session_meta``, ``turn_context``, ``response_item``,
``event_msg``, ``compacted`` and ``inter_agent_communication``. Read from the source of openai/codex (``RolloutItem`` in
``codex-rs/protocol/src/protocol.rs``, ``ResponseItem`` in ``models.rs``, ``codex-rs/rollout/src/policy.rs``; versions
0.31 to 0.150). Before 0.31 the items stood on the lines themselves, without a time.

Turns come from ``response_item`` lines: they hold what was said and done in all versions, and the events repeat it.
Rollouts that Codex has compressed (``.jsonl.zst``) are not read: the standard library has no decoder before 3.14.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memoria.ground.files import sha256
from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head, Json, objects, text_of

INTERRUPTED = "(the user interrupted Codex here)"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_ITEMS = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
          "local_shell_call", "web_search_call")  # fmt: skip
# What Codex itself puts into messages of the user: ``contextual_user_message.rs``.
_CONTEXT = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(\w+_\w+|instructions|plugins|subagents|skill|permissions)\b)", re.IGNORECASE
)
_SHELL = re.compile(r"\s*<user_shell_command>.*?<command>\s*(.*?)\s*</command>", re.DOTALL)
_REQUEST = "## My request for Codex:"  # after what an editor's extension says of the open files
_EXIT = re.compile(r"(?:^|\n)(?:Exit code: |Process exited with code )(-?\d+)")
_OUTPUT = re.compile(r"(?:^|\n)Output:\n")
_FILES = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.*)$", re.MULTILINE)


def folder(environ: Mapping[str, str]) -> Path:
    """Return ``$CODEX_HOME``, by default ``~/.codex``."""
    named = environ.get("CODEX_HOME")
    return Path(named).expanduser() if named else Path.home() / ".codex"


def transcripts(root: Path, *, sides: bool = False) -> list[Found]:
    """Return the rollouts at or under ``root``; of Codex's own folder, only those in its folders of sessions."""
    places = [root / "sessions", root / "archived_sessions"]
    roots = places if any(place.is_dir() for place in places) else [root]
    found = (item for place in roots for path in _rollouts(place) for item in _rollout_at(path))
    return [item for item in found if sides or not item.side]


def head(path: Path) -> Head:
    """Return what the first line says; a rollout is called as its file is."""
    with path.open("rb") as file:
        meta = _meta(next(iter(objects(file.readline(client_files.HEAD_BYTES))), {}))
    return Head(_session(path), text_of(meta, "cwd"), text_of(meta, "originator"))


def _rollouts(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for place, _, names in os.walk(root):
        yield from (Path(place, name) for name in names if name.startswith("rollout-") and name.endswith(".jsonl"))


def _rollout_at(path: Path) -> Iterator[Found]:
    return client_files.find_at(path, agent="codex", session=_session(path), side=_is_side(path))


def _session(path: Path) -> str:
    match = _ID.search(path.stem)
    return match[0] if match else path.stem


def _is_side(path: Path) -> bool:
    """Return whether a sub-agent's thread was recorded, by the beginning of the first line."""
    try:
        with path.open("rb") as file:
            return b'"subagent"' in file.readline()
    except OSError:
        return False


def _meta(value: Json) -> Json:
    """Return the payload of a first line, which was the line itself in old rollouts."""
    return _record(value, "payload") if value.get("type") == "session_meta" else value


class Decoder:
    """Reads the lines of one rollout, or a part of them, in their order; knows the folder from the lines before."""

    def __init__(self) -> None:
        self._session = self._cwd = ""
        self._is_side = False
        self._number = 0
        self._began = ""

    def __call__(self, lines: Iterable[bytes], unreadable: Callable[[], None]) -> Iterator[Json]:
        """Yield the lines in Claude Code's form; ``unreadable`` is called for each that cannot be read."""
        for line in lines:
            self._number += 1
            values = objects(line)
            if not values and line.endswith(b"\n") and line.strip(b" \t\r\n\0"):
                unreadable()
            for value in values:
                yield from self._value(value, sha256(line))

    def _value(self, value: Json, digest: str) -> Iterator[Json]:
        kind, time = text_of(value, "type"), text_of(value, "timestamp")
        payload = _record(value, "payload")
        if kind == "session_meta" or (not kind and "timestamp" in value):
            self._begin(_meta(value))
        elif kind == "turn_context":
            self._cwd = text_of(payload, "cwd") or self._cwd
        elif kind == "response_item":
            yield from self._item(payload, time, text_of(payload, "id") or digest)
        elif kind == "event_msg" and text_of(payload, "type") == "turn_aborted":
            if text_of(payload, "reason") in ("", "interrupted"):
                yield self._line("memoria-note", digest, time, text=INTERRUPTED)
        elif kind in _ITEMS and not payload:  # before 0.31; two lines may be the same there, and have no time
            yield from self._item(value, self._began, f"{self._session}:{self._number}")

    def _begin(self, meta: Json) -> None:
        """Take in what a session's first line says; in a fork the line of the session it came from follows."""
        if not self._session:
            self._session = text_of(meta, "id")
            self._began = text_of(meta, "timestamp")
            self._is_side = "subagent" in json.dumps(meta.get("source", "")) + text_of(meta, "thread_source")
        self._cwd = text_of(meta, "cwd") or self._cwd

    def _item(self, item: Json, time: str, ident: str) -> Iterator[Json]:
        kind = text_of(item, "type")
        if kind == "message":
            yield from self._message(item, time, ident)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call, failure = text_of(item, "call_id"), _failure(item.get("output"))  # of the output nothing else is kept
            block = {"type": "tool_result", "tool_use_id": call, "is_error": bool(failure), "content": failure}
            yield self._line("user", f"{call or ident}#output", time, [block])
        elif kind in _ITEMS:
            call = text_of(item, "call_id") or ident
            blocks = [
                {"type": "tool_use", "id": f"{call}.{number}" if number else call, "name": name, "input": given}
                for number, (name, given) in enumerate(_uses(kind, item))
            ]
            yield self._line("assistant", call, time, blocks)

    def _message(self, item: Json, time: str, ident: str) -> Iterator[Json]:
        role = text_of(item, "role")
        parts = _records(item, "content")
        if role == "assistant":
            said = "\n\n".join(text_of(part, "text") for part in parts)
            yield self._line("assistant", ident, time, [{"type": "text", "text": said}])
        elif role == "user":
            blocks = [block for part in parts if (block := _typed_block(part))]
            if blocks:
                yield self._line("user", ident, time, blocks, promptSource="typed")
            shell = "\n".join(match[1] for part in parts if (match := _SHELL.match(text_of(part, "text"))))
            if shell:
                yield self._line("memoria-note", f"{ident}#shell", time, text=f"(the user ran in the shell: {shell})")

    def _line(self, kind: str, ident: str, time: str, content: object = None, **more: str) -> Json:
        """Return a line of the session; ``ident`` is unique for what was said, and stays the same in each reading."""
        return {
            "type": kind,
            "uuid": ident,
            "timestamp": time,
            "sessionId": self._session,
            "cwd": self._cwd,
            "isSidechain": self._is_side,
            "message": {"content": content},
            **more,
        }


def _typed_block(part: Json) -> Json | None:
    """Return what a person typed or pasted of a message's content, None when Codex wrote it."""
    if text_of(part, "type") == "input_image":
        return {"type": "image"}
    said = text_of(part, "text")
    if not said.strip() or _CONTEXT.match(said):
        return None
    return {"type": "text", "text": said.rpartition(_REQUEST)[2].strip()}


def _uses(kind: str, item: Json) -> list[tuple[str, Json]]:
    """Return the tools that an item calls, as Claude Code's tools where they are the same."""
    action = _record(item, "action")
    if kind == "local_shell_call":
        return [("Bash", {"command": _command(action.get("command"))})]
    if kind == "web_search_call":
        return [("WebSearch", {"query": text_of(action, "query"), "url": text_of(action, "url")})]
    name = text_of(item, "name") or "tool"
    given = _arguments(item.get("input" if kind == "custom_tool_call" else "arguments"))
    if name == "apply_patch":
        return list(_edits(text_of(given, "input"))) or [(name, {})]
    return [_tool(name, given)]


def _tool(name: str, given: Json) -> tuple[str, Json]:
    run = given.get("command", given.get("cmd"))
    if name in ("shell", "container.exec", "shell_command", "exec_command") and run:
        return "Bash", {"command": _command(run)}
    if name == "update_plan":
        steps = [{"status": step.get("status"), "content": step.get("step")} for step in _records(given, "plan")]
        return "TodoWrite", {"todos": steps}
    if name == "view_image":
        return "Read", {"file_path": text_of(given, "path")}
    return name, given


def _arguments(given: object) -> Json:
    """Return a tool's arguments, which are JSON in a text; other text stands under ``input``."""
    if not isinstance(given, str):
        return given if isinstance(given, dict) else {}
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"input": given}


def _failure(output: Any) -> str:
    """Return what a tool's output says when it failed, ``""`` when it did not."""
    is_failed = isinstance(output, dict) and output.get("success") is False
    said = output.get("content") if isinstance(output, dict) else output
    if isinstance(said, list):
        said = "\n".join(text_of(part, "text") for part in said)
    if not isinstance(said, str):
        return ""
    inner = _arguments(said) if said.startswith("{") else {}
    code = _record(inner, "metadata").get("exit_code")
    if code is not None:  # to about 0.50: the output is JSON
        return f"Exit code: {code}\n{text_of(inner, 'output')}" if code else ""
    match = _EXIT.search(said[:400])
    if match and match[1] != "0":
        start = _OUTPUT.search(said)
        return f"Exit code: {match[1]}\n{said[start.end() :] if start else said[match.end() :]}"
    return said if is_failed or said.startswith(("apply_patch verification failed", "err: ", "failed to ")) else ""


def _record(value: Any, name: str) -> Json:
    """Return the object under a key, an empty one when there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _records(value: Any, name: str) -> list[Json]:
    """Return the objects in the list under a key."""
    found = value.get(name) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _command(given: object) -> str:
    """Return a shell command as one line: a text, or a list of words such as ``["bash", "-lc", "make"]``."""
    if isinstance(given, str):
        return given
    words = [str(word) for word in given] if isinstance(given, list) else []
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _edits(patch: str) -> Iterator[tuple[str, Json]]:
    """Yield the tool uses that a patch in the ``*** Begin Patch`` form stands for, one for each file."""
    _, *parts = _FILES.split(patch)
    while parts:
        kind, path, body, *parts = parts
        rows = body.split("\n")
        before, after = ("\n".join(row[1:] for row in rows if row.startswith(sign)) for sign in "-+")
        given: Json = {"file_path": path.strip()}
        if kind == "Add":
            yield "Write", given | {"content": after}
        elif kind == "Update":
            yield "Edit", given | {"old_string": before, "new_string": after}
        else:
            yield "Delete", given
