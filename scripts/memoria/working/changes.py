"""Changes: writes that build on what stands there, as pure functions of the old value and a JSON argument.

Being data, a change can wait in a journal and be applied later to a store that has moved on: an append never drops
another's entry, a progress report never undoes a newer one. Applying a change twice is the same as once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from memoria.working.store import Change


def apply(change: Change, old: str | None) -> str:
    """The new JSON text of a value, given the old one (None: there is none)."""
    return apply_all([change], old)


def apply_all(changes: Sequence[Change], old: str | None) -> str:
    """Return the JSON text of a value after several changes; it is parsed once, however many there are."""
    value = None if old is None else json.loads(old)
    for change in changes:
        value = CHANGES[change.name](value, change.argument)
    return json.dumps(value)


def _append(value: Any, argument: dict[str, Any]) -> list[Any]:
    """Add ``argument["entry"]`` (with ``id`` and ``time``) in the order of time; the oldest over ``cap`` go."""
    entries: list[Any] = value if isinstance(value, list) else []
    entry = argument["entry"]
    if all(known["id"] != entry["id"] for known in entries):
        entries.append(entry)
        if len(entries) > 1 and entry["time"] < entries[-2]["time"]:  # late from a journal
            entries.sort(key=lambda known: str(known["time"]))
    return entries[-int(argument["cap"]) :]


def _remove(value: Any, argument: dict[str, Any]) -> list[Any]:
    """Drop the entry with ``argument["id"]``."""
    entries: list[Any] = value if isinstance(value, list) else []
    return [entry for entry in entries if entry["id"] != argument["id"]]


def _progress(value: Any, argument: dict[str, Any]) -> dict[str, Any]:
    """Set the fields of ``argument["fields"]`` that nobody has set later than ``argument["at"]``.

    ``set_at`` remembers when each field was set; ``seen`` the latest reports, so that none counts twice.
    """
    state: dict[str, Any] = value if isinstance(value, dict) else {"started": argument["at"]}
    seen: list[str] = state.get("seen", [])
    if argument["id"] in seen:
        return state
    set_at: dict[str, str] = state.get("set_at", {})
    base = str(state.get("started", ""))
    for name, new in argument["fields"].items():
        if argument["at"] >= set_at.get(name, base):
            state[name] = new
            set_at[name] = argument["at"]
    revision = int(state.get("revision", 0)) + 1
    updated = max(str(state.get("updated", "")), argument["at"])
    return {**state, "set_at": set_at, "updated": updated, "revision": revision, "seen": [*seen, argument["id"]][-16:]}


CHANGES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {"append": _append, "progress": _progress, "remove": _remove}
