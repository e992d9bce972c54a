"""Shown notes: the notes that a session was given, so that none is repeated before a compaction.

Each session has one small file with one JSON object per line. The hook appends the key of each note that it shows, and
a line when the client compacts. A lost file causes a repetition; an incomplete line is skipped.
"""

from __future__ import annotations

import os
import time

from memoria.base import quickjson
from memoria.base.paths import Paths, opener, private_folder, safe_name, text_of
from memoria.base.settings import Settings
from memoria.capture import hook


class ShownNotes:
    """The notes that one session, by the client's name for it, was shown."""

    __slots__ = ("_lines", "folder", "path")

    def __init__(self, folder: str, session: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, safe_name(session))
        self._lines: list[dict[str, object]] | None = None

    def lines(self) -> list[dict[str, object]]:
        """Return the recorded objects in order, read once; ``[]`` when there is no file."""
        if self._lines is None:
            self._lines = read(self.path)
        return self._lines

    def keys(self) -> set[str]:
        """Return the keys of the notes that are still in the model's context: those shown since the last compaction."""
        return {str(line["key"]) for line in self._read_since_compaction() if "key" in line}

    def was_compacted(self) -> bool:
        """Return whether the client has compacted the session."""
        return any("compacted" in line for line in self.lines())

    def page(self) -> str:
        """Return the page that the session was last given, ``""`` when it was given none."""
        pages = [str(line["page"]) for line in self.lines() if "page" in line]
        return pages[-1] if pages else ""

    def stop_keys(self) -> set[str]:
        """Return the keys of the rules over which the user was asked before a tool use."""
        return {str(line["stopped"]) for line in self.lines() if "stopped" in line}

    def asked_prompts(self) -> set[object]:
        """Return the numbers of the prompts for which a model was asked since the last compaction."""
        return {line["asked"] for line in self._read_since_compaction() if isinstance(line.get("asked"), int)}

    def _read_since_compaction(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for line in self.lines():
            if "compacted" in line:
                found.clear()
            found.append(line)
        return found

    def add(self, keys: list[str]) -> None:
        """Record the keys of notes that are about to be shown."""
        at = int(time.time())
        self.append([{"key": key, "at": at} for key in keys])

    def record_compaction(self) -> None:
        """Record that a compaction has removed the notes from the context."""
        self.append([{"compacted": int(time.time())}])

    def append(self, lines: list[dict[str, object]]) -> None:
        """Append objects to the session's file."""
        self._lines = None
        private_folder(self.folder)
        with open(self.path, "ab", opener=opener) as file:
            file.write("".join(quickjson.dumps(line) + "\n" for line in lines).encode())


def read(path: str) -> list[dict[str, object]]:
    """Return the objects of a file of shown notes in order; ``[]`` when there is no file."""
    try:
        rows = text_of(path).split("\n")
    except FileNotFoundError:
        return []
    found = []
    for row in rows:
        try:
            value = quickjson.loads(row)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def find_shown(event: hook.Event, paths: Paths) -> ShownNotes:
    """Return the notes that were given to the session of an event, or to the sub-agent in which it occurred."""
    agent = event.text("agent_id")
    return ShownNotes(paths.hints, f"{event.session_id}.{agent}" if agent else event.session_id)


def give(
    event: hook.Event, paths: Paths, shown: ShownNotes, notes: tuple[list[str], str], **more: str
) -> dict[str, object] | None:
    """Record notes, as their keys and their text, and return the hook's output; None when there is nothing to give.

    ``more`` is what the output says beside the notes. Of two installations only one answers.
    """
    keys, text = notes
    if not (keys or more) or hook.is_replaced(event):
        return None
    if keys:
        try:
            shown.add(keys)
        except OSError:
            pass  # better twice than not at all
        hook.log(paths, f"{event.name} {event.session} notes shown: {len(keys)}, characters: {len(text)}")
        more["additionalContext"] = text
    return {"hookSpecificOutput": {"hookEventName": event.name, **more}}


def no_notes(event: hook.Event, settings: Settings, paths: Paths, reason: Exception) -> None:
    """Log that there are no notes, and start the worker, which fills the index again."""
    from memoria.capture import detach  # noqa: PLC0415 (only while the index cannot be read)

    started = detach.start_worker(settings, paths, is_ending=True)
    hook.log(paths, f"{event.name} {event.session} no notes ({started}): {reason}")
