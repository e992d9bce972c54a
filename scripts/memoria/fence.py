"""Fence: text from elsewhere, shown to a model as data that cannot close its own fence."""

from __future__ import annotations

import hashlib


def fenced(label: str, text: str) -> str:
    """``text`` between two marks that do not occur in it; the same text always gets the same marks."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    while mark in text:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:8]
    return f"<data {mark} {label}>\n{text}\n</data {mark}>"
