"""Queued prompts: what the user typed while Claude was working.

The client logs a queue: ``enqueue`` with the text, closed by exactly one of ``remove`` (handed to the model in the
middle of its turn), ``dequeue`` (becomes the next prompt) or ``popAll`` (the user took it back). A prompt usually
appears again on a line of its own; of those typed in older clients 57 % never do, and the ``enqueue`` is the only
record. Here is kept which ones are still open. Knows the queue's rules; does not know turns or lines.

A prompt is *lost* for certain, and given out, once it was handed over and a later answer began without a line of its
own: the client writes a handed-over prompt before the answer to it. Clients were seen to enqueue and dequeue one text
again and again: what left the queue or was given out, and comes again, is the same prompt.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

_MAX_ENTRIES = 1_000  # entries remembered; machine notices may stay open for a whole session
_MAX_GIVEN = 100  # prompts remembered that were given out


@dataclass(slots=True)
class Queued:
    """One enqueued text. ``left``: when it left the queue, '' while it waits; ``said``: seen on a line of its own."""

    text: str
    session: str
    time: str
    cwd: str = ""
    branch: str = ""
    said: bool = False
    left: str = ""


def _normal(text: str) -> str:
    """The text as two copies of one prompt agree: blanks at a line's ends and runs of them do not count."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


@dataclass(slots=True)
class Queue:
    """The client's prompt queue as its log tells it.

    ``unnamed`` counts closings that do not say whose they are. ``given``: what was given out, so that it is not twice.
    """

    entries: list[Queued] = field(default_factory=list)
    unnamed: int = 0
    closed: str = ""  # when the last unnamed closing happened
    given: list[str] = field(default_factory=list)

    def dump(self) -> dict[str, Any]:
        """The state as JSON values; ``Queue.load`` brings it back."""
        entries = [asdict(entry) for entry in self.entries]
        return {"entries": entries, "unnamed": self.unnamed, "closed": self.closed, "given": self.given}

    @classmethod
    def load(cls, state: dict[str, Any]) -> Queue:
        """The queue as ``dump`` saw it; TypeError or KeyError when the state is not one of ours."""
        entries = [Queued(**entry) for entry in state["entries"]]
        return cls(entries, int(state["unnamed"]), str(state["closed"]), list(map(str, state.get("given", ()))))

    @property
    def open(self) -> list[Queued]:
        """Prompts that so far exist nowhere else."""
        return [entry for entry in self.entries if not entry.said]

    def enqueue(self, entry: Queued) -> list[Queued]:
        """Add an entry; returns prompts pushed out because the queue's memory is bounded."""
        again = _normal(entry.text)
        self.entries = [old for old in self.entries if old.said or not old.left or _normal(old.text) != again]
        self.entries.append(replace(entry, said=entry.said or again in self.given))
        surplus, self.entries = self.entries[:-_MAX_ENTRIES], self.entries[-_MAX_ENTRIES:]
        return self._give([old for old in surplus if not old.said])

    def close(self, text: str, time: str) -> None:
        """A ``remove`` or ``dequeue``: the named entry left, or one that the log does not name (text '')."""
        waiting = [entry for entry in self.entries if not entry.left]
        if text:
            named = [entry for entry in waiting if _normal(entry.text) == _normal(text)]
        else:
            named = [entry for entry in waiting if entry.said and entry.text]
        if named:
            named[0].left = time
        elif waiting:
            self.unnamed, self.closed = self.unnamed + 1, time
        self._forget()

    def take_back(self, text: str) -> None:
        """A ``popAll``: the user has the text in the input line again; without a text, all that still waits."""
        waiting = [entry for entry in self.entries if not entry.left]
        if not text:
            taken = waiting[self.unnamed :]
        else:
            whole = _normal(text)
            taken = [entry for entry in waiting if _normal(entry.text) == whole][:1]
            taken = taken or [entry for entry in waiting if entry.text and _normal(entry.text) in whole]
        for entry in taken:
            entry.said, entry.left = True, "taken back"
        self._forget()

    def seen(self, text: str) -> None:
        """A user line or queued command said this; several prompts may have been joined in it."""
        unsaid, whole = self.open, _normal(text)
        match = [entry for entry in unsaid if _normal(entry.text) == whole][:1]
        if not match and unsaid:
            lines = f"\n{whole}\n"
            match = [entry for entry in unsaid if entry.text and f"\n{_normal(entry.text)}\n" in lines]
        for entry in match:
            entry.said = True
            if not entry.left and self.unnamed:
                entry.left, self.unnamed = "seen", self.unnamed - 1
        self._forget()

    def certain(self, time: str) -> list[Queued]:
        """An answer was written at ``time``: prompts that had left before it are lost; they are given out, once."""
        lost = [entry for entry in self.entries if entry.left and not entry.said and entry.left < time]
        for entry in lost:
            entry.said = True
        if lost:
            self._forget()
        return self._give(lost)

    def settle(self) -> list[Queued]:
        """The session is over: everything that exists nowhere else is given out and the queue is empty."""
        lost = self.open
        self.entries, self.unnamed = [], 0
        return self._give(lost)

    def _give(self, lost: list[Queued]) -> list[Queued]:
        self.given = [*self.given, *(_normal(entry.text) for entry in lost)][-_MAX_GIVEN:]
        return lost

    def _forget(self) -> None:
        """Drop what is done with; once as many closings came as entries wait, every entry has left."""
        waiting = [entry for entry in self.entries if not entry.left]
        if self.unnamed >= len(waiting):
            for entry in waiting:
                entry.left = self.closed
            self.unnamed = 0
        self.entries = [entry for entry in self.entries if not (entry.said and entry.left)]
