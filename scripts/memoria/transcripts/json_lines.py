"""Transcript lines: all JSON objects on a line, whatever stands around them.

Survives what real files hold: glued objects, half-written lines, broken UTF-8, NULs, deep nesting. Knows the envelope;
does not know what a turn is.
"""

from __future__ import annotations

import json
import re
from typing import Any

Json = dict[str, Any]

_DECODER = json.JSONDecoder(strict=False)
_START = re.compile(r'\{\s*"(?:parentUuid|type|uuid|sessionId)"\s*:')
_RECOVERIES = 16  # starts tried after a broken beginning; keeps a hostile line linear


def objects(line: bytes) -> list[Json]:
    """Every JSON object on the line, whole and in order; what cannot be read is passed over."""
    text = line.decode("utf-8", "replace")
    found: list[Json] = []
    at, tries = 0, 0
    while at < len(text) and tries < _RECOVERIES:
        while at < len(text) and text[at] in " \t\r\n\0\ufeff":
            at += 1
        if at >= len(text):
            break
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = _next_start(text, at + 1)
            tries += 1
            continue
        if isinstance(value, dict) and (not tries or _is_envelope(value)):
            found.append(value)
    return found


def _next_start(text: str, at: int) -> int:
    found = _START.search(text, at)
    return found.start() if found else len(text)


def _is_envelope(value: Json) -> bool:
    """After a broken start an inner object must not pass for a line: only real lines carry their session."""
    return "type" in value and "sessionId" in value
