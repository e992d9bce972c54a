"""System: whether this is Windows, as a value that tests can change, and the names that Windows keeps for itself."""

from __future__ import annotations

import os

WINDOWS = os.name == "nt"
DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10)))
)
FORBIDDEN = '<>:"/\\|?*'


def is_device(name: str) -> bool:
    """Return whether Windows takes a file of this name for a device, whatever its ending and its case."""
    return name.partition(".")[0].rstrip(" ").lower() in DEVICES


def plain_name(name: str) -> str:
    """Return ``name`` with an underscore for each character that no file on Windows may have in its name."""
    return "".join("_" if letter in FORBIDDEN or letter < " " else letter for letter in name)
