"""Apply journalled writes to records in memory: what a store will hold once it has accepted them.

Follows the rules of ``SharedStore.replay``: a newer version wins, and a change applies to whatever value there is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from memoria.working import changes
from memoria.working.store import Change, Record, is_internal


def merged(records: Mapping[str, Record], operations: Iterable[Mapping[str, Any]]) -> dict[str, Record]:
    """Return the live records of one scope after ``operations``, oldest first, by key in order."""
    found = dict(records)
    for operation in operations:
        match operation["op"]:
            case "put":
                _put(found, operation["key"], operation["value"], operation["expires"], operation["version"])
            case "change":
                _change(found, operation)
            case "delete":
                _drop(found, [operation["key"]], operation["version"])
            case "clear":
                _drop(found, [key for key in found if not is_internal(key)], operation["version"])
            case "restore":
                replaced = [key for key in found if not is_internal(key) or key in operation["internal"]]
                _drop(found, replaced, operation["version"])
                for key, (value, expires) in operation["puts"].items():
                    _put(found, key, value, expires, operation["version"])
    now = time.time()
    return {key: found[key] for key in sorted(found) if _is_live(found[key], now)}


def _put(found: dict[str, Record], key: str, value: str, expires: float | None, version: int) -> None:
    if key not in found or found[key].version < version:
        found[key] = Record(value, version, expires)


def _change(found: dict[str, Record], operation: Mapping[str, Any]) -> None:
    key, old = operation["key"], found.get(operation["key"])
    value = changes.apply(Change(operation["change"], operation["argument"]), old.value if old else None)
    version = max(operation["version"], old.version + 1 if old else 0)
    found[key] = Record(value, version, operation["expires"])


def _drop(found: dict[str, Record], keys: Iterable[str], version: int) -> None:
    for key in keys:
        if key in found and found[key].version < version:
            del found[key]


def _is_live(record: Record, now: float) -> bool:
    return record.expires is None or record.expires > now
