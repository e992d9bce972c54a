"""Transcript lines: from the client's bytes to JSON objects, reading as few of them as possible.

Two thirds of a transcript's bytes are tool output and progress. ``may_hold_words`` tells by byte tests, without
parsing, that a line holds none of the conversation; ``objects`` parses the rest and survives what real files hold:
glued objects, half-written lines, broken UTF-8, NULs, deep nesting. Knows the envelope; does not know what a turn is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

# The envelope as JSON.stringify writes it: flat values up to the line's own "type", or up to the first nested object.
_ENVELOPE = re.compile(
    rb'\s*\{(?:"(?!type")\w+":(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^",{}\[\]]*+),)*+'
    rb'"(?:type":"(?P<type>[^"\\]*)"|(?P<nested>message|attachment)":\{)'
)
_WITH_SESSION = frozenset((b"user", b"assistant", b"message", b"attachment", b"progress", b"system"))
_SESSION = b'"sessionId":'
_RESULT = re.compile(
    rb',"message":\{"role":"user","content":\[\{(?:"tool_use_id":"[^"\\]*",)?"type":"tool_result","content":"'
)
# How a message of a single result ends, seen from the envelope's next key.
_MESSAGE_END = b'}]},"'
# Results that carry the user's words, or a failure that is not marked as one.
_TELLING = (b"User has ", b"User answered", b"The user ", b"Your questions ", b"<status>", b"<retrieval_status>")

_DECODER = json.JSONDecoder(strict=False)
_START = re.compile(r'\{\s*"(?:parentUuid|type|uuid|sessionId)"\s*:')
_RECOVERIES = 16  # starts tried after a broken beginning; keeps a hostile line linear


def may_hold_words(line: bytes) -> bool:
    """Whether the line can hold conversation; False only when that is certain. Spaced-out JSON is always a maybe."""
    envelope = _ENVELOPE.match(line)
    if envelope is None:  # not as the client writes it today
        return True
    kind, end = envelope["type"] or envelope["nested"], envelope.end()
    if kind == b"user":
        maybe = not _is_plain_result(line, end)
    elif kind in (b"assistant", b"message"):
        maybe = not _is_thinking(line)
    elif kind == b"attachment":
        nested = line.startswith(b'"type":"', end)  # its own kind comes first
        maybe = line.startswith(b'"type":"queued_command"', end) if nested else b"queued_command" in line
    else:
        maybe = kind == b"queue-operation"
    return maybe or _is_glued(line, careful=kind not in _WITH_SESSION)


def _is_glued(line: bytes, *, careful: bool) -> bool:
    """Whether a second envelope stands on the line. Every line that holds words names its session, once.

    ``careful``: the first object may name none, so that the only session on the line could be the second's.
    """
    first = line.find(_SESSION)
    if first >= 0 and line.find(_SESSION, first + len(_SESSION)) >= 0:
        return True
    return careful and b'}{"' in line


def _is_thinking(line: bytes) -> bool:
    return b'"type":"thinking"' in line and b'"type":"text"' not in line and b'"type":"tool_use"' not in line


def _is_plain_result(line: bytes, start: int) -> bool:
    """One tool's result and nothing beside it, a string, not marked as failed, not known to carry the user's words.

    Quotes inside a JSON string are escaped, so a further ``"type":"`` in the message is another block's.
    """
    begin = _RESULT.match(line, start)
    if begin is None or line.startswith(_TELLING, begin.end()):
        return False
    end = line.find(_MESSAGE_END, begin.end() - 1)
    if end < 0 or line.find(b'"type":"', begin.end(), end) >= 0:
        return False
    return b'"is_error":true' not in line[max(begin.end() - 1, end - 200) : end]


def objects(line: bytes) -> Iterator[dict[str, Any]]:
    """Every JSON object on the line, in order; what cannot be read is passed over."""
    text = line.decode("utf-8", "replace")
    at, tries = 0, 0
    while at < len(text) and tries < _RECOVERIES:
        while at < len(text) and text[at] in " \t\r\n\0\ufeff":
            at += 1
        if at >= len(text):
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = _next_start(text, at + 1)
            tries += 1
            continue
        if isinstance(value, dict) and (not tries or _is_envelope(value)):
            yield value


def _next_start(text: str, at: int) -> int:
    found = _START.search(text, at)
    return found.start() if found else len(text)


def _is_envelope(value: dict[str, Any]) -> bool:
    """After a broken start an inner object must not pass for a line: only real lines carry their session."""
    return "type" in value and "sessionId" in value
