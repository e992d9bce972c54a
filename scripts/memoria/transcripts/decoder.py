"""Decoder: a transcript line's JSON, building only what a turn can be made of (docs/decisions/0001-capture.md).

``kept`` walks a line once, with a decoder that checks all of it (``msgspec``); no byte test guesses what a line is.
What it cannot read goes to ``client_files.objects``. It takes 25 ms to import, which only a transcript that is read is
worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypedDict

import msgspec

from memoria.transcripts.client_files import Json, objects


class _Block(TypedDict, total=False):
    type: Any
    id: Any
    tool_use_id: Any
    text: Any
    title: Any
    name: Any
    input: Any
    content: msgspec.Raw  # a tool's output: most of it is never looked into
    is_error: Any


class _Message(TypedDict, total=False):
    id: Any
    model: Any
    content: list[_Block] | str | None


class _Attachment(TypedDict, total=False):
    type: Any
    prompt: Any
    commandMode: Any
    origin: Any
    promptSource: Any
    textNotTyped: Any
    isMeta: Any
    isCompactSummary: Any
    isVisibleInTranscriptOnly: Any


class _Line(TypedDict, total=False):
    type: Any
    uuid: Any
    timestamp: Any
    sessionId: Any
    cwd: Any
    gitBranch: Any
    message: _Message | str | None
    attachment: _Attachment | None
    operation: Any
    content: Any
    text: Any
    origin: Any
    promptSource: Any
    turnOrigin: Any
    textNotTyped: Any
    planContent: Any
    toolUseResult: msgspec.Raw  # a copy of the output with more to it, looked into only when a person may speak in it
    toolDenialKind: Any
    userFeedback: Any
    holdsPersonsWords: Any
    version: Any
    isSidechain: Any
    isMeta: Any
    isCompactSummary: Any
    isVisibleInTranscriptOnly: Any
    isApiErrorMessage: Any


_NAMELESS = ("queue-operation",)
_KINDS = ("assistant", "user", "attachment", "memoria-note", *_NAMELESS)
_LINE = msgspec.json.Decoder(_Line)
_ANY = msgspec.json.Decoder()

# What a failure holds that is not marked as one, and how a letter may be written as its number.
_STATUS, _NUMBERED = b"<exit_code>", b"\\u00"


def decode(lines: Iterable[bytes], unreadable: Callable[[], None] = lambda: None) -> Iterator[Json]:
    """Yield the objects on these lines that turns can be made of, with all that ``turn`` asks for.

    A tool's output may come undecoded: ``is_silent`` and ``output`` take it. ``unreadable`` is called for a whole line
    that holds something and from which no object can be read.
    """
    decode = _LINE.decode
    for line in lines:
        try:
            value = decode(line)
        except (ValueError, RecursionError):  # glued, torn, broken, or of another shape than the client writes today
            found = objects(line)
            if not found and line.endswith(b"\n") and line.strip(b" \t\r\n\0"):
                unreadable()
            yield from (whole for whole in found if whole.get("type") in _KINDS)
            continue
        kind = value.get("type")
        if kind in _KINDS:
            uuid = value.get("uuid")
            if (isinstance(uuid, str) and uuid) or kind in _NAMELESS:
                yield value  # type: ignore[misc]  # a dict with those keys
            else:  # what has no uuid is told apart by all it holds
                yield from objects(line)


def is_silent(block: object) -> bool:
    """Return whether a block is a tool's result that certainly holds no failure."""
    if not isinstance(block, dict) or block.get("type") != "tool_result" or block.get("is_error") is True:
        return False
    content = block.get("content")
    if not isinstance(content, msgspec.Raw):
        return False
    data = bytes(content)
    return data.startswith(b'"') and _STATUS not in data and _NUMBERED not in data


def may_name(holder: Json, key: str, name: str) -> bool:
    """Return whether the JSON under ``key`` may have a field ``name``, without building it."""
    content = holder.get(key)
    if isinstance(content, msgspec.Raw):
        return name.encode() in bytes(content)
    return isinstance(content, dict) and name in content


def output(holder: Json, key: str = "content") -> object:
    """Return what stands under ``key`` as JSON has it: a tool's output is text or a list of blocks."""
    content = holder.get(key)
    if not isinstance(content, msgspec.Raw):
        return content
    try:
        return _ANY.decode(content)
    except (ValueError, RecursionError):  # broken UTF-8
        return next(iter(objects(b'{"content":' + bytes(content) + b"}")), {}).get("content")
