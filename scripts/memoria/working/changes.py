"""Changes: writes that depend on the stored value, as pure functions of the old value and a JSON argument.

Because a change is data, it can wait in a journal and be applied later to a store whose value has changed meanwhile. An
append never drops another process's entry, and a progress report never undoes a newer one. Changes are idempotent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memoria.working.store import Change


def apply(change: Change, old: str | None) -> str:
    """Return the new JSON text of a value, given the old one (None if there is none)."""
    value = None if old is None else json.loads(old)
    return json.dumps(CHANGES[change.name](value, change.argument))


def _append(value: Any, argument: dict[str, Any]) -> list[Any]:
    """Return the list with ``argument["entry"]`` inserted by its ``time``, cut to the latest ``cap`` entries."""
    entries: list[Any] = value if isinstance(value, list) else []
    entry = argument["entry"]
    if all(known["id"] != entry["id"] for known in entries):
        entries.append(entry)
        if len(entries) > 1 and entry["time"] < entries[-2]["time"]:  # a late entry from a journal
            entries.sort(key=lambda known: str(known["time"]))
    return entries[-int(argument["cap"]) :]


def _remove(value: Any, argument: dict[str, Any]) -> list[Any]:
    """Return the list without the entry that has ``argument["id"]``."""
    entries: list[Any] = value if isinstance(value, list) else []
    return [entry for entry in entries if entry["id"] != argument["id"]]


def _progress(value: Any, argument: dict[str, Any]) -> dict[str, Any]:
    """Return the state with the fields of ``argument["fields"]`` that were not set later than ``argument["at"]``.

    ``set_at`` records when each field was set, and ``seen`` the latest reports, so that none is applied twice.
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
