"""WorkingMemory: what an agent holds in mind during a session.

Says what a value, a task state, a scratchpad and a checkpoint are, in terms of a store's records. Knows no store but
through the protocol, no transcript and no model.
"""

from __future__ import annotations

import fnmatch
import json
import math
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self, get_args

from memoria.ground import clock
from memoria.ground.errors import BadKeyError, BadValueError, CheckpointNotFoundError
from memoria.working.scope import Scope, session_scope
from memoria.working.store import Change, Put, Record, Store, StoreStats, is_internal

Status = Literal["pending", "in_progress", "blocked", "completed", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = get_args(Status)

_TASK = "_task"
_SCRATCHPAD = "_scratchpad"
_META = "_meta"
_OBSERVED = "_observed"
_CHECKPOINTS = "_checkpoints"  # the list; the content of each lies under a key of its own
_CHECKPOINT = "_checkpoint:"
_RESTORED = (_TASK, _SCRATCHPAD)  # what a checkpoint holds beside the keys


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one scope may hold. Characters are those of the JSON text."""

    keys: int = 1_000
    key_chars: int = 256
    value_chars: int = 65_536
    scratchpad_entries: int = 100
    entry_chars: int = 4_096
    checkpoints: int = 20
    session_seconds: float = 30 * 86_400.0  # what a session wrote is forgotten after that long without a new write


@dataclass(frozen=True, slots=True)
class TaskState:
    """What is being done and how far it is.

    Times are ISO 8601, UTC, and set by working memory, as is ``revision``: how many times progress was reported.
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
    """A checkpoint without its content; ``created`` is ISO 8601, UTC, ``keys`` the number of keys it holds."""

    id: str
    description: str
    created: str
    keys: int


class WorkingMemory:
    """The memory of one scope. Make it with ``create`` or ``for_session``; close it, or use it as a context."""

    def __init__(
        self, scope: Scope, store: Store, default_ttl_seconds: float | None = None, limits: Limits | None = None
    ) -> None:
        """``create`` does the same and tells the store that the scope is in use."""
        self.scope = scope
        self.limits = limits or Limits()
        self.default_ttl_seconds = None if default_ttl_seconds is None else _checked_ttl(default_ttl_seconds)
        self._store = store
        self._name = scope.name

    @classmethod
    async def create(
        cls,
        scope: Scope,
        default_ttl_seconds: float | None = None,
        *,
        store: Store | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Open the memory of a scope; the store is the one that the settings name unless one is given.

        ``default_ttl_seconds`` holds for keys that are set without a time to live of their own; None: no end but the
        session's (``Limits.session_seconds``).
        """
        if store is None:
            from memoria.working.factory import open_store  # noqa: PLC0415 (reads settings: only where needed)

            store = open_store()
        memory = cls(scope, store, default_ttl_seconds, limits)
        await store.register(scope.name, memory._life(scope))
        meta = json.dumps({"created": _now(), "scope": scope.name})
        if await store.get(scope.name, _META) is None:
            await store.put(scope.name, _META, Put(meta, memory._life(scope)))
        return memory

    @classmethod
    async def for_session(
        cls,
        session_id: str,
        project_id: str | None = None,
        agent_instance_id: str | None = None,
        *,
        default_ttl_seconds: float | None = None,
        store: Store | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Open a session's memory; with project and agent, lookups can go outwards to theirs."""
        scope = session_scope(session_id, project_id, agent_instance_id)
        return await cls.create(scope, default_ttl_seconds, store=store, limits=limits)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ── values ──

    async def set(self, key: str, value: Any, ttl_seconds: float | None = None) -> None:
        """Store a JSON value under a key; over the limit the least recently used keys go.

        ``ttl_seconds``: seconds to live, None for the default, ``math.inf`` for no end of its own.
        """
        self._check_key(key)
        ttl = self.default_ttl_seconds if ttl_seconds is None else _checked_ttl(ttl_seconds)
        put = Put(self._encode(value), self._lifetime(ttl))
        await self._store.put(self._name, key, put, limit=self.limits.keys)

    async def get(self, key: str, default: Any = None, *, outwards: bool = False) -> Any:
        """The value, or ``default`` when there is none (a stored null is one). ``outwards``: also in outer scopes."""
        record = await self._find(key, outwards=outwards)
        return default if record is None else json.loads(record.value)

    async def exists(self, key: str, *, outwards: bool = False) -> bool:
        """Whether there is a value, be it null."""
        return await self._find(key, outwards=outwards) is not None

    async def get_ttl(self, key: str) -> float | None:
        """Seconds that the key has left; None when it has no end, or does not exist."""
        record = await self._find(key, outwards=False)
        return None if record is None else _left(record)

    async def delete(self, key: str) -> bool:
        """Whether there was a value; there is none afterwards."""
        self._check_key(key)
        return await self._store.delete(self._name, key)

    async def list_keys(self, pattern: str = "*") -> list[str]:
        """The keys that match a shell-style pattern (``*``, ``?``, ``[abc]``, ``[!abc]``), sorted; case counts."""
        keys = await self._store.records(self._name)
        return [key for key in keys if fnmatch.fnmatchcase(key, pattern)]

    async def get_all(self) -> dict[str, Any]:
        """All keys and values."""
        records = await self._store.records(self._name)
        return {key: json.loads(record.value) for key, record in records.items()}

    async def clear(self) -> int:
        """Delete all keys; task state, scratchpad, checkpoints and metadata stay. How many keys there were."""
        return await self._store.clear(self._name)

    # ── the task ──

    async def set_task_state(self, state: TaskState) -> TaskState:
        """Replace the task state; ``started`` is now unless given. Returns it as it stands."""
        now = _now()
        _check_status(state.status)
        kept = TaskState(
            description=state.description,
            status=state.status,
            step=state.step,
            percent=_clamped(state.percent),
            details=state.details,
            started=state.started or now,
            updated=now,
        )
        await self._put_internal(_TASK, {**asdict(kept), "set_at": dict.fromkeys(_PROGRESS, now)})
        return kept

    async def get_task_state(self) -> TaskState | None:
        """The task state; None when none was set."""
        return _task(await self._internal(_TASK))

    async def update_task_progress(
        self,
        step: str | None = None,
        status: Status | None = None,
        percent: float | None = None,
        details: dict[str, Any] | None = None,
    ) -> TaskState:
        """Report progress: what is given changes, the rest stays, whoever else reports meanwhile.

        Percent is clamped to 0..100. Without a task state one without a description begins.
        """
        given: dict[str, Any] = {"step": step, "status": status, "percent": percent, "details": details}
        changed = {name: value for name, value in given.items() if value is not None}
        if status is not None:
            _check_status(status)
        if percent is not None:
            changed["percent"] = _clamped(percent)
        change = Change("progress", {"id": uuid.uuid4().hex, "at": _now(), "fields": changed})
        self._encode(changed)
        text = await self._store.change(self._name, _TASK, change, ttl=self._life(self.scope))
        return _task(json.loads(text)) or TaskState()

    # ── the scratchpad ──

    async def append_scratchpad(self, content: str) -> None:
        """Add an entry; over the limit the oldest go."""
        if not isinstance(content, str) or not content.strip():
            raise BadValueError("a scratchpad entry is text and not empty")
        if len(content) > self.limits.entry_chars:
            raise BadValueError(
                f"a scratchpad entry has at most {self.limits.entry_chars} characters, not {len(content)}; shorten it"
            )
        entry = {"id": uuid.uuid4().hex, "time": _now(), "content": content}
        change = Change("append", {"entry": entry, "cap": self.limits.scratchpad_entries})
        await self._store.change(self._name, _SCRATCHPAD, change, ttl=self._life(self.scope))

    async def get_scratchpad(self) -> list[str]:
        """The entries, oldest first."""
        return [note.content for note in await self.get_scratchpad_with_timestamps()]

    async def get_scratchpad_with_timestamps(self) -> list[Note]:
        """The entries with their times, oldest first."""
        entries = await self._internal(_SCRATCHPAD) or []
        return [Note(entry["time"], entry["content"]) for entry in entries]

    async def clear_scratchpad(self) -> int:
        """Delete all entries; how many there were."""
        count = len(await self._internal(_SCRATCHPAD) or [])
        await self._store.delete(self._name, _SCRATCHPAD)
        return count

    # ── checkpoints ──

    async def create_checkpoint(self, description: str = "") -> str:
        """Keep keys (with the time they have left), task state and scratchpad as they are now; returns the id.

        Over the limit the oldest checkpoints go.
        """
        checkpoint_id = str(uuid.uuid4())
        kept = await self._store.records(self._name)
        for key in _RESTORED:
            record = await self._store.get(self._name, key)
            if record is not None:
                kept[key] = record
        life = self._life(self.scope)
        content = json.dumps({key: [record.value, _left(record)] for key, record in kept.items()})
        await self._store.put(self._name, _CHECKPOINT + checkpoint_id, Put(content, life))
        entry: dict[str, Any] = {"id": checkpoint_id, "time": _now(), "description": description[:500]}
        entry["keys"] = sum(not is_internal(key) for key in kept)
        before = await self._internal(_CHECKPOINTS) or []
        change = Change("append", {"entry": entry, "cap": self.limits.checkpoints})
        after = json.loads(await self._store.change(self._name, _CHECKPOINTS, change, ttl=life))
        for gone in {old["id"] for old in before} - {left["id"] for left in after}:
            await self._store.delete(self._name, _CHECKPOINT + gone)
        return checkpoint_id

    async def restore_checkpoint(self, checkpoint_id: str) -> None:
        """Put keys, task state and scratchpad back as they were then, with the time they had left then.

        What came after goes; checkpoints and metadata stay. ``CheckpointNotFoundError`` when there is none.
        """
        content = await self._internal(_CHECKPOINT + checkpoint_id)
        if content is None:
            raise CheckpointNotFoundError(checkpoint_id)
        puts = {key: Put(value, left) for key, (value, left) in content.items()}
        await self._store.restore(self._name, puts, _RESTORED)

    async def list_checkpoints(self) -> list[Checkpoint]:
        """The checkpoints, oldest first."""
        entries = await self._internal(_CHECKPOINTS) or []
        return [Checkpoint(entry["id"], entry["description"], entry["time"], entry["keys"]) for entry in entries]

    async def delete_checkpoint(self, checkpoint_id: str) -> bool:
        """Whether there was such a checkpoint; there is none afterwards."""
        change = Change("remove", {"id": checkpoint_id})
        await self._store.change(self._name, _CHECKPOINTS, change, ttl=self._life(self.scope))
        return await self._store.delete(self._name, _CHECKPOINT + checkpoint_id)

    # ── what memoria itself has seen ──

    async def set_observed(self, observed: Mapping[str, Any]) -> None:
        """Keep what the transcript says of this session (see ``observe``); apart from what the agent itself set."""
        await self._put_internal(_OBSERVED, dict(observed))

    async def get_observed(self) -> dict[str, Any]:
        """What ``set_observed`` kept; empty when nothing was."""
        return await self._internal(_OBSERVED) or {}

    # ── the store ──

    async def is_healthy(self) -> bool:
        """Whether reads and writes are served now, be it by the store that stands in."""
        return (await self._store.stats()).healthy

    async def get_stats(self) -> dict[str, Any]:
        """Scope, counts, and how the store is (see ``StoreStats``: ``degraded`` and ``reason`` when one stands in)."""
        stats: StoreStats = await self._store.stats()
        shown: dict[str, Any] = {"scope": self._name, **asdict(stats)}
        if stats.healthy:
            shown["keys"] = len(await self._store.records(self._name))
            shown["checkpoints"] = len(await self._internal(_CHECKPOINTS) or [])
            shown["scratchpad_entries"] = len(await self._internal(_SCRATCHPAD) or [])
            shown["created"] = (await self._internal(_META) or {}).get("created")
        return shown

    async def close(self) -> None:
        """Let go of the store."""
        await self._store.close()

    # ── within ──

    async def _find(self, key: str, *, outwards: bool) -> Record | None:
        self._check_key(key)
        for scope in self.scope.outwards() if outwards else (self.scope,):
            record = await self._store.get(scope.name, key)
            if record is not None:
                return record
        return None

    async def _internal(self, key: str) -> Any:
        record = await self._store.get(self._name, key)
        return None if record is None else json.loads(record.value)

    async def _put_internal(self, key: str, value: Any) -> None:
        await self._store.put(self._name, key, Put(self._encode(value), self._life(self.scope)))

    def _life(self, scope: Scope) -> float | None:
        """Seconds that what is written to a scope may stay: a session's end, a project's and an agent's do not."""
        return self.limits.session_seconds if scope.kind == "session" else None

    def _lifetime(self, ttl: float | None) -> float | None:
        """The shorter of a key's own time to live and its scope's."""
        ends = [end for end in (ttl, self._life(self.scope)) if end is not None and end != math.inf]
        return min(ends) if ends else None

    def _check_key(self, key: str) -> None:
        if not isinstance(key, str) or not key:
            raise BadKeyError("a key is text and not empty")
        if is_internal(key):
            raise BadKeyError(
                f"the key {key!r} begins with '_', which memoria keeps for itself; choose another first character"
            )
        if len(key) > self.limits.key_chars:
            raise BadKeyError(f"a key has at most {self.limits.key_chars} characters, this one {len(key)}")
        if not key.isprintable():
            raise BadKeyError(f"the key {key!r} holds control or invisible characters")

    def _encode(self, value: Any) -> str:
        _check_json(value, 0)
        text = json.dumps(value)
        if len(text) > self.limits.value_chars:
            raise BadValueError(
                f"a value has at most {self.limits.value_chars} characters as JSON, not {len(text)}; shorten it"
            )
        return text


_PROGRESS = ("step", "status", "percent", "details")


def _now() -> str:
    return clock.now().isoformat(timespec="microseconds")


def _left(record: Record) -> float | None:
    """Seconds until the record's end, at least a microsecond."""
    return None if record.expires is None else max(1e-6, record.expires - clock.now().timestamp())


def _checked_ttl(seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise BadValueError(f"a time to live is a number of seconds greater than 0, not {seconds!r}")
    return float(seconds)


def _check_status(status: str) -> None:
    if status not in STATUSES:
        raise BadValueError(f"a status is one of {', '.join(STATUSES)}, not {status!r}")


def _clamped(percent: float) -> float:
    if isinstance(percent, bool) or not isinstance(percent, int | float) or math.isnan(percent):
        raise BadValueError(f"percent is a number from 0 to 100, not {percent!r}")
    return min(100.0, max(0.0, float(percent)))


_PLAIN = frozenset((str, int, bool, type(None)))


def _check_json(value: Any, depth: int) -> None:
    """Refuse what JSON cannot hold or would hand back as something else (a tuple comes back as a list)."""
    if type(value) in _PLAIN:
        return
    if depth > 100:
        raise BadValueError("the value is nested more than 100 levels deep, or holds itself")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadValueError(f"{value} has no JSON form; store null or text instead")
        return
    if isinstance(value, list | tuple):
        for item in value:
            _check_json(item, depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise BadValueError(f"the key {key!r} of an object is {type(key).__name__}; JSON takes only text")
            _check_json(item, depth + 1)
    elif not isinstance(value, str | int):  # their subclasses pass
        raise BadValueError(f"{type(value).__name__} has no JSON form; store text, numbers, lists or objects")


def _task(value: Any) -> TaskState | None:
    if not isinstance(value, dict):
        return None
    names = {each.name for each in fields(TaskState)}
    return TaskState(**{name: item for name, item in value.items() if name in names})
