"""Client: what memoria has to know of a coding agent to read its sessions, and the lines that its records become.

One module of this package knows one agent's files; ``table`` lists them. All agents' lines are translated into the
form of Claude Code's lines, so that turns, tool lines and exclusions are the same for all of them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head, Json

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode

_PARTS = {"*** Add File: ": "Write", "*** Update File: ": "Edit", "*** Delete File: ": "Delete"}


class Client(Protocol):
    """One coding agent. ``name`` is the word for ``--agent`` and in entries, ``title`` the name for people."""

    name: str
    title: str
    has_byte_ranges: bool = True  # whether a session is one file to which lines are only appended

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return the folder in which the agent keeps its sessions."""
        ...

    def transcripts(self, root: Path, *, sides: bool = False) -> list[Found]:
        """Return the sessions at or under ``root``, the one that changed longest ago first.

        ``sides``: also those of sub-agents. What cannot be listed is passed over.
        """
        ...

    def head(self, path: Path) -> Head:
        """Return the session's id and working folder; OSError when it cannot be read."""
        ...

    def lines(self, path: Path) -> Iterator[bytes]:
        """Yield the session's lines as a job in the spool holds them; OSError when it cannot be read."""
        with client_files.open_lines(path) as file:
            yield from file

    def decoder(self) -> Decode:
        """Return a new decoder, which reads the lines of one session in their order."""
        ...

    def kept_days(self, environ: Mapping[str, str]) -> float:
        """Return for how many days after its last line the agent keeps a session."""
        del environ
        return math.inf


@dataclass(slots=True)
class Lines:
    """Makes the lines of one session. ``ident`` is unique for what was said, and stays the same in each reading."""

    session: str = ""
    cwd: str = ""
    branch: str = ""
    is_side: bool = False

    def prompt(self, ident: str, time: str, content: object) -> Json:
        """Return what a person typed: a text, or a list of text and image blocks."""
        return self._line("user", ident, time, content) | {"promptSource": "typed"}

    def answer(self, ident: str, time: str, text: str) -> Json:
        """Return what the agent said."""
        return self._line("assistant", ident, time, [{"type": "text", "text": text}])

    def use(self, ident: str, time: str, tools: Mapping[str, tuple[str, Json]]) -> Json:
        """Return the use of tools, by their ids, with names and inputs."""
        blocks = [
            {"type": "tool_use", "id": call, "name": name, "input": given} for call, (name, given) in tools.items()
        ]
        return self._line("assistant", ident, time, blocks)

    def result(self, ident: str, time: str, call: str, failure: str) -> Json:
        """Return the end of a tool's use; of its output only the ``failure`` is kept, empty when it did not fail."""
        block = {"type": "tool_result", "tool_use_id": call, "is_error": bool(failure), "content": failure}
        return self._line("user", ident, time, [block])

    def note(self, ident: str, time: str, text: str) -> Json:
        """Return what the agent's client recorded of the user."""
        return self._line("memoria-note", ident, time, None) | {"text": text}

    def _line(self, kind: str, ident: str, time: str, content: object) -> Json:
        return {
            "type": kind,
            "uuid": ident,
            "timestamp": time,
            "sessionId": self.session,
            "cwd": self.cwd,
            "gitBranch": self.branch,
            "isSidechain": self.is_side,
            "message": {"content": content},
        }


def text(value: Any, name: str) -> str:
    """Return the text under a key, ``""`` when there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def record(value: Any, name: str) -> Json:
    """Return the object under a key, an empty one when there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def records(value: Any, name: str) -> list[Json]:
    """Return the objects in the list under a key."""
    found = value.get(name) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def command(given: object) -> str:
    """Return a shell command as one line: a text, or a list of words such as ``["bash", "-lc", "make"]``."""
    if isinstance(given, str):
        return given
    words = [str(word) for word in given] if isinstance(given, list) else []
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def edits(patch: str) -> Iterator[tuple[str, Json]]:
    """Yield the tool uses that a patch in the ``*** Begin Patch`` form stands for, one for each file."""
    name, path, before, after = "", "", list[str](), list[str]()
    for row in [*patch.split("\n"), "*** End Patch"]:
        start = next((part for part in _PARTS if row.startswith(part)), "")
        if name and (start or row.startswith("*** End Patch")):
            yield _edit(name, path, before, after)
            name = ""
        if start:
            name, path, before, after = _PARTS[start], row.removeprefix(start).strip(), [], []
        elif row.startswith("+"):
            after.append(row[1:])
        elif row.startswith("-"):
            before.append(row[1:])


def _edit(name: str, path: str, before: list[str], after: list[str]) -> tuple[str, Json]:
    if name == "Write":
        return name, {"file_path": path, "content": "\n".join(after)}
    if name == "Edit":
        return name, {"file_path": path, "old_string": "\n".join(before), "new_string": "\n".join(after)}
    return name, {"file_path": path}
