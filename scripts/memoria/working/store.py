"""Store: what a store of working memory holds, and the changes that build on a value.

A store holds records (JSON text, a version, an expiry time) under a scope's name and a key. Internal keys begin with
``_``; they are never listed with the others, never evicted, and kept by ``clear``. A change is a pure function of the
parsed value.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

INTERNAL = "_"  # first character of internal keys
TASK, SCRATCHPAD, CHECKPOINTS = "_task", "_scratchpad", "_checkpoints"
MERGED = (TASK, SCRATCHPAD, CHECKPOINTS)  # what two stores hold of them is merged; of other keys the newer value stays

Change = Callable[[Any], Any]  # from the parsed value (None: there is none) to the new one


@dataclass(frozen=True, slots=True)
class Record:
    """One stored value.

    ``value`` is JSON text. ``version`` grows with every write of the key and is at least the time of the write in
    microseconds since 1970, so that versions of different stores can be compared. ``expires`` is in seconds since
    1970, None for never.
    """

    value: str
    version: int
    expires: float | None = None

    @property
    def is_expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= time.time()

    @property
    def left(self) -> float | None:
        """The seconds until it expires, at least one microsecond; None for ever."""
        return None if self.expires is None else max(1e-6, self.expires - time.time())


@dataclass(frozen=True, slots=True)
class Put:
    """A value to write: JSON text and seconds to live (None: for ever)."""

    value: str
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class StoreStats:
    """A store's condition.

    ``healthy``: whether it answers; ``degraded``: whether a server that it is exchanged with cannot be used;
    ``reason``: why. ``where``: the server, or the file.
    """

    store: str
    healthy: bool
    degraded: bool = False
    reason: str = ""
    where: str = ""


def is_internal(key: str) -> bool:
    """Return whether the key is internal."""
    return key.startswith(INTERNAL)


def next_version(previous: int) -> int:
    """Return the version of a write now: the time in microseconds, but always more than ``previous``."""
    return max(previous + 1, time.time_ns() // 1000)


def deadline(ttl: float | None, now: float) -> float | None:
    """Return the expiry time of a value written at ``now`` with ``ttl`` seconds to live; None for ever."""
    return None if ttl is None else now + ttl


def applied(change: Change, old: str | None) -> str:
    """Return the JSON text of a value after a change, given the text before it (None: there is none)."""
    return json.dumps(change(None if old is None else json.loads(old)))


def appending(entry: dict[str, Any], cap: int) -> Change:
    """Return the change that adds an entry (with ``id`` and ``time``); the oldest over ``cap`` go."""
    return lambda value: _joined(value or [], [entry])[-cap:]


def removing(ident: str) -> Change:
    """Return the change that drops the entry with that id."""
    return lambda value: [entry for entry in value or [] if entry["id"] != ident]


def reporting(own: str, at: str, fields: Mapping[str, Any]) -> Change:
    """Return the change that sets the fields of a task that nobody has set later than ``at``.

    ``own`` is whose report it is: reports are counted by who made them, so that none counts twice.
    """

    def report(value: Any) -> Any:
        reports = _reports(value or {})
        when = {"set_at": dict.fromkeys(fields, at), "reports": {**reports, own: reports.get(own, 0) + 1}}
        return _joined_task(value, {"started": at, "updated": at, **when, **fields})

    return report


def merging(text: str) -> Change:
    """Return the change that adds what another store holds under the same key, one of ``MERGED``."""
    theirs = json.loads(text)
    if isinstance(theirs, dict):
        return lambda value: _joined_task(value, theirs)
    return lambda value: _joined(value or [], theirs)


def _joined(ours: list[Any], theirs: list[Any]) -> list[Any]:
    """Return the entries of both in the order of time, each once."""
    known = {entry["id"] for entry in ours}
    return sorted([*ours, *(entry for entry in theirs if entry["id"] not in known)], key=lambda entry: entry["time"])


def _joined_task(ours: dict[str, Any] | None, theirs: dict[str, Any]) -> dict[str, Any]:
    """Return a task with each field as it was set last, by ``set_at``; ``reports`` counts by who made them."""
    ours = ours or {"started": theirs["started"]}
    later = [name for name in theirs.get("set_at", {}) if _set_at(theirs, name) >= _set_at(ours, name)]
    old, new = _set_at(ours, "description"), _set_at(theirs, "description")
    replaced = new > old
    mine, more = ({} if replaced else _reports(ours)), ({} if "" < new < old else _reports(theirs))
    reports = {name: max(mine.get(name, 0), more.get(name, 0)) for name in mine | more}
    return {
        **ours,
        **{name: theirs[name] for name in later},
        "set_at": {**ours.get("set_at", {}), **{name: theirs["set_at"][name] for name in later}},
        "started": (theirs if replaced else ours)["started"],
        "updated": max(ours.get("updated", ""), theirs["updated"]),
        "reports": reports,
        "revision": sum(reports.values()),
    }


def _reports(task: Mapping[str, Any]) -> dict[str, int]:
    """Return how often each has reported progress; until 0.2 only the sum was kept."""
    reports: dict[str, int] = task.get("reports") or {"": task.get("revision", 0)}
    return reports


def _set_at(task: Mapping[str, Any], name: str) -> str:
    """Return when a field was set, ``""`` for never."""
    return str(task.get("set_at", {}).get(name, task.get("started", ""))) if name in task else ""
