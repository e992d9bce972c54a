"""Memory: ``WorkingMemory``, what an agent keeps during a session.

It implements values, task state, scratchpad and checkpoints on a store's records. It knows a store only through the
protocol, and neither transcripts nor models.

A memory belongs to a scope. An agent's scope contains its projects' scopes, and a project's its sessions'. A scope's
name consists of its kind and id only, so that two agents working on one project share the project's scope.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self, get_args
from urllib.parse import quote, unquote

from memoria.ground import clock
from memoria.ground.errors import WorkingMemoryError
from memoria.working.store import (
    CHECKPOINTS,
    SCRATCHPAD,
    TASK,
    Record,
    SqliteStore,
    StoreStats,
    append_change,
    is_internal,
    remove_change,
    report_change,
)  # fmt: skip

Kind = Literal["agent", "project", "session"]
MAX_ID = 256

Status = Literal["pending", "in_progress", "blocked", "completed", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = get_args(Status)

_META = "_meta"
_OBSERVED = "_observed"
_CHECKPOINT = "_checkpoint:"  # of one checkpoint's content; ``CHECKPOINTS`` is the list
_RESTORED = (TASK, SCRATCHPAD)  # the internal keys that a checkpoint includes


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope and the scope that contains it; ``name`` is safe as part of a key in any store."""

    kind: Kind
    id: str
    parent: Scope | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip() or len(self.id) > MAX_ID:
            raise WorkingMemoryError(f"the id of a {self.kind} scope must be text of 1 to {MAX_ID} characters")

    @property
    def name(self) -> str:
        """``<kind>:<id>``, with the id percent-encoded."""
        return f"{self.kind}:{quote(self.id, safe='', errors='surrogatepass')}"

    def walk_outwards(self) -> Iterator[Scope]:
        """Yield this scope, then the scope that contains it, and so on."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def session_scope(session_id: str, project_id: str | None = None, agent_instance_id: str | None = None) -> Scope:
    """Return a session's scope inside those of its project and its agent, if these are known."""
    outer = Scope("agent", agent_instance_id) if agent_instance_id else None
    if project_id:
        outer = Scope("project", project_id, outer)
    return Scope("session", session_id, outer)


def session_of(name: str) -> str | None:
    """Return the session id in a scope's name, or None for a scope of another kind."""
    kind, _, quoted = name.partition(":")
    return unquote(quoted, errors="surrogatepass") if kind == "session" else None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one scope. Characters are counted in the JSON text."""

    keys: int = 1_000
    key_chars: int = 256
    value_chars: int = 65_536
    scratchpad_entries: int = 100
    entry_chars: int = 4_096
    checkpoints: int = 20
    session_seconds: float = 30 * 86_400.0  # how long a session's record is kept after it was written


@dataclass(frozen=True, slots=True)
class TaskState:
    """The current task and its progress.

    Times are ISO 8601, UTC. Working memory sets them, and ``revision``, which each progress report raises.
    """

    description: str = ""
    status: Status = "in_progress"
    step: str = ""
    percent: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)
    started: str = ""
    updated: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """One scratchpad entry; ``time`` is ISO 8601, UTC."""

    time: str
    content: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint without its content; ``created`` is ISO 8601, UTC; ``keys`` is the number of keys it contains."""

    id: str
    description: str
    created: str
    keys: int


class WorkingMemory:
    """The memory of one scope. Open it with ``create`` or ``for_session``; close it or use it as a context manager."""

    def __init__(
        self, scope: Scope, store: SqliteStore, default_ttl_seconds: float | None = None, limits: Limits | None = None
    ) -> None:
        """Use ``create`` instead, which also registers the scope with the store."""
        self.scope = scope
        self.limits = limits or Limits()
        self.default_ttl_seconds = None if default_ttl_seconds is None else _check_ttl(default_ttl_seconds)
        self._store = store
        self._name = scope.name
        self._own = uuid.uuid4().hex[:8]  # among those that report the progress of one task
        self._life = self.limits.session_seconds if scope.kind == "session" else None  # of a record; None for ever

    @classmethod
    async def create(
        cls,
        scope: Scope,
        default_ttl_seconds: float | None = None,
        *,
        store: SqliteStore | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Open the memory of a scope, by default in the store that the settings name.

        ``default_ttl_seconds`` applies to keys that are set without a time to live of their own. None: they last as
        long as the session (``Limits.session_seconds``).
        """
        if store is None:
            from memoria.working.shared_store import open_store  # noqa: PLC0415 (reads settings: only where needed)

            store = open_store()
        memory = cls(scope, store, default_ttl_seconds, limits)
        await store.register(scope.name, memory._life)
        meta = json.dumps({"created": _timestamp(), "scope": scope.name})
        if await store.get(scope.name, _META) is None:
            await store.put(scope.name, _META, meta, memory._life)
        return memory

    @classmethod
    async def for_session(
        cls,
        session_id: str,
        project_id: str | None = None,
        agent_instance_id: str | None = None,
        *,
        default_ttl_seconds: float | None = None,
        store: SqliteStore | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Open a session's memory; with a project and an agent, lookups can include their memory."""
        scope = session_scope(session_id, project_id, agent_instance_id)
        return await cls.create(scope, default_ttl_seconds, store=store, limits=limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ── values ──

    async def set(self, key: str, value: Any, ttl_seconds: float | None = None) -> None:
        """Store a JSON value under a key; over the limit, the least recently used keys are evicted.

        ``ttl_seconds``: seconds to live; None for the default, ``math.inf`` for as long as the session.
        """
        self._check_key(key)
        ttl = self.default_ttl_seconds if ttl_seconds is None else _check_ttl(ttl_seconds)
        await self._store.put(self._name, key, self._encode(value), self._lifetime(ttl), limit=self.limits.keys)

    async def get(self, key: str, default: Any = None, *, outwards: bool = False) -> Any:
        """Return the value, or ``default`` if the key does not exist; a stored null is a value.

        ``outwards``: also look in the outer scopes.
        """
        record = await self._find(key, outwards=outwards)
        return default if record is None else json.loads(record.value)

    async def exists(self, key: str, *, outwards: bool = False) -> bool:
        """Return whether the key exists; a stored null is a value."""
        return await self._find(key, outwards=outwards) is not None

    async def get_ttl(self, key: str) -> float | None:
        """Return the seconds that the key has left; None when it never expires or does not exist."""
        record = await self._find(key, outwards=False)
        return record.left_s if record else None

    async def delete(self, key: str) -> bool:
        """Delete the key; return whether it existed."""
        self._check_key(key)
        return await self._store.delete(self._name, key)

    async def list_keys(self, pattern: str = "*") -> list[str]:
        """Return the keys that match a shell-style pattern (``*``, ``?``, ``[abc]``, ``[!abc]``), sorted.

        Matching is case-sensitive.
        """
        keys = await self._store.records(self._name)
        return [key for key in keys if fnmatch.fnmatchcase(key, pattern)]

    async def get_all(self) -> dict[str, Any]:
        """Return all keys and values."""
        records = await self._store.records(self._name)
        return {key: json.loads(record.value) for key, record in records.items()}

    async def clear(self) -> int:
        """Delete all keys and return how many there were; task state, scratchpad, checkpoints and metadata stay."""
        return await self._store.clear(self._name)

    # ── the task ──

    async def set_task_state(self, state: TaskState) -> TaskState:
        """Replace the task state and return what was stored; ``started`` defaults to now."""
        now = _timestamp()
        _check_status(state.status)
        stored = replace(state, percent=_clamp(state.percent), started=state.started or now, updated=now, revision=0)
        await self._put_internal(TASK, {**asdict(stored), "set_at": dict.fromkeys(_FIELDS, now)})
        return stored

    async def get_task_state(self) -> TaskState | None:
        """Return the task state; None when none was set."""
        return _task(await self._internal(TASK))

    async def update_task_progress(
        self,
        step: str | None = None,
        status: Status | None = None,
        percent: float | None = None,
        details: dict[str, Any] | None = None,
    ) -> TaskState:
        """Report progress: change the fields that are given and no others, even if other processes report meanwhile.

        ``percent`` is clamped to 0..100. If there is no task state, one without a description is created.
        """
        given: dict[str, Any] = {"step": step, "status": status, "percent": percent, "details": details}
        changed = {name: value for name, value in given.items() if value is not None}
        if status is not None:
            _check_status(status)
        if percent is not None:
            changed["percent"] = _clamp(percent)
        self._encode(changed)
        change = report_change(self._own, _timestamp(), changed)
        text = await self._store.change(self._name, TASK, change, ttl=self._life)
        return _task(json.loads(text)) or TaskState()

    # ── the scratchpad ──

    async def append_scratchpad(self, content: str) -> None:
        """Add an entry; over the limit, the oldest entries are dropped."""
        if not isinstance(content, str) or not content.strip():
            raise WorkingMemoryError("a scratchpad entry must be text that is not empty")
        if len(content) > self.limits.entry_chars:
            raise WorkingMemoryError(
                f"a scratchpad entry may have at most {self.limits.entry_chars} characters, not {len(content)}; "
                "shorten it"
            )
        entry = {"id": uuid.uuid4().hex, "time": _timestamp(), "content": content}
        change = append_change(entry, self.limits.scratchpad_entries)
        await self._store.change(self._name, SCRATCHPAD, change, ttl=self._life)

    async def get_scratchpad(self) -> list[str]:
        """Return the entries, oldest first."""
        return [note.content for note in await self.get_scratchpad_with_timestamps()]

    async def get_scratchpad_with_timestamps(self) -> list[Note]:
        """Return the entries with their times, oldest first."""
        entries = await self._internal(SCRATCHPAD) or []
        return [Note(entry["time"], entry["content"]) for entry in entries]

    async def clear_scratchpad(self) -> int:
        """Delete all entries and return how many there were."""
        count = len(await self._internal(SCRATCHPAD) or [])
        await self._store.delete(self._name, SCRATCHPAD)
        return count

    # ── checkpoints ──

    async def create_checkpoint(self, description: str = "") -> str:
        """Save the keys with the time they have left, the task state and the scratchpad; return the checkpoint's id.

        Over the limit, the oldest checkpoints are dropped.
        """
        checkpoint_id = str(uuid.uuid4())
        kept = await self._store.records(self._name)
        for key in _RESTORED:
            record = await self._store.get(self._name, key)
            if record is not None:
                kept[key] = record
        content = json.dumps({key: [record.value, record.left_s] for key, record in kept.items()})
        await self._store.put(self._name, _CHECKPOINT + checkpoint_id, content, self._life)
        entry: dict[str, Any] = {"id": checkpoint_id, "time": _timestamp(), "description": description[:500]}
        entry["keys"] = sum(not is_internal(key) for key in kept)
        before = await self._internal(CHECKPOINTS) or []
        change = append_change(entry, self.limits.checkpoints)
        after = json.loads(await self._store.change(self._name, CHECKPOINTS, change, ttl=self._life))
        for gone in {old["id"] for old in before} - {left["id"] for left in after}:
            await self._store.delete(self._name, _CHECKPOINT + gone)
        return checkpoint_id

    async def restore_checkpoint(self, checkpoint_id: str) -> None:
        """Restore keys, task state and scratchpad from a checkpoint; each key has the time left that it had then.

        Later changes are lost; checkpoints and metadata stay. Raise WorkingMemoryError when there is no such
        checkpoint.
        """
        content = await self._internal(_CHECKPOINT + checkpoint_id)
        if content is None:
            raise WorkingMemoryError(
                f"there is no checkpoint {checkpoint_id!r} here; list the checkpoints to see which there are"
            )
        await self._store.restore(self._name, content, _RESTORED)

    async def list_checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints, oldest first."""
        entries = await self._internal(CHECKPOINTS) or []
        return [Checkpoint(entry["id"], entry["description"], entry["time"], entry["keys"]) for entry in entries]

    async def delete_checkpoint(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint; return whether it existed."""
        await self._store.change(self._name, CHECKPOINTS, remove_change(checkpoint_id), ttl=self._life)
        return await self._store.delete(self._name, _CHECKPOINT + checkpoint_id)

    # ── what memoria itself has observed ──

    async def set_observed(self, observed: Mapping[str, Any]) -> None:
        """Store what the transcript says about this session (see ``observe``), separately from the agent's values."""
        await self._put_internal(_OBSERVED, dict(observed))

    async def get_observed(self) -> dict[str, Any]:
        """Return what ``set_observed`` stored, or an empty dict."""
        return await self._internal(_OBSERVED) or {}

    # ── the store ──

    async def get_stats(self) -> dict[str, Any]:
        """Return the scope, counts, and the store's condition (see ``StoreStats``)."""
        stats: StoreStats = await self._store.stats()
        shown: dict[str, Any] = {"scope": self._name, **asdict(stats)}
        if stats.healthy:
            shown["keys"] = len(await self._store.records(self._name))
            shown["total_keys"] = shown["keys"] + len(await self._store.records(self._name, internal=True))
            shown["has_task_state"] = await self._store.get(self._name, TASK) is not None
            shown["checkpoints"] = len(await self._internal(CHECKPOINTS) or [])
            shown["scratchpad_entries"] = len(await self._internal(SCRATCHPAD) or [])
            shown["created"] = (await self._internal(_META) or {}).get("created")
        return shown

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()

    # ── internals ──

    async def _find(self, key: str, *, outwards: bool) -> Record | None:
        self._check_key(key)
        for scope in self.scope.walk_outwards() if outwards else (self.scope,):
            record = await self._store.get(scope.name, key)
            if record is not None:
                return record
        return None

    async def _internal(self, key: str) -> Any:
        record = await self._store.get(self._name, key)
        return None if record is None else json.loads(record.value)

    async def _put_internal(self, key: str, value: Any) -> None:
        await self._store.put(self._name, key, self._encode(value), self._life)

    def _lifetime(self, ttl: float | None) -> float | None:
        """Return the shorter of a key's own time to live and its scope's, or None for no limit."""
        ends = [end for end in (ttl, self._life) if end is not None and end != math.inf]
        return min(ends) if ends else None

    def _check_key(self, key: str) -> None:
        if not isinstance(key, str) or not key:
            raise WorkingMemoryError("a key must be text that is not empty")
        if is_internal(key):
            raise WorkingMemoryError(
                f"the key {key!r} begins with '_', which is reserved for memoria; choose another first character"
            )
        if len(key) > self.limits.key_chars:
            raise WorkingMemoryError(f"a key may have at most {self.limits.key_chars} characters, not {len(key)}")
        if not key.isprintable():
            raise WorkingMemoryError(f"the key {key!r} contains control or invisible characters")

    def _encode(self, value: Any) -> str:
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise WorkingMemoryError(f"the value cannot be represented in JSON: {error}") from error
        if not _has_text_keys(value):
            raise WorkingMemoryError("a key of an object in the value is no text, which JSON does not allow")
        if len(text) > self.limits.value_chars and (length := len(_ESCAPE.sub("x", text))) > self.limits.value_chars:
            raise WorkingMemoryError(
                f"a value may have at most {self.limits.value_chars} characters as JSON, not {length}; shorten it"
            )
        return text


_ESCAPE = re.compile(r"\\(?:ud[89ab]..\\ud[c-f]..|u....|.)")  # of JSON, which stands for one character of the value
_FIELDS = ("description", "step", "status", "percent", "details")


def _timestamp() -> str:
    return clock.now().isoformat(timespec="microseconds")


def _check_ttl(seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise WorkingMemoryError(f"a time to live must be a number of seconds greater than 0, not {seconds!r}")
    return float(seconds)


def _check_status(status: str) -> None:
    if status not in STATUSES:
        raise WorkingMemoryError(f"a status must be one of {', '.join(STATUSES)}, not {status!r}")


def _clamp(percent: float) -> float:
    if isinstance(percent, bool) or not isinstance(percent, int | float) or math.isnan(percent):
        raise WorkingMemoryError(f"percent must be a number from 0 to 100, not {percent!r}")
    return min(100.0, max(0.0, float(percent)))


def _has_text_keys(value: Any) -> bool:
    """Return whether every key of every object in a JSON value is text; json would make it so without a word."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_text_keys(item) for key, item in value.items())
    return not isinstance(value, list | tuple) or all(map(_has_text_keys, value))


def _task(value: Any) -> TaskState | None:
    if not isinstance(value, dict):
        return None
    names = {each.name for each in fields(TaskState)}
    return TaskState(**{name: item for name, item in value.items() if name in names})
