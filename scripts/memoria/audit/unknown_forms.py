"""Unknown forms: lines that may hold words of a person or of the assistant, and of which the reader made nothing.

A rule of its own, plain and independent of ``transcripts/turn``, so that what the reader is blind to is counted
nevertheless: the lines of a new client version are named on its first day. Knows the client's envelope and which lines
are certainly its own; does not know what a turn is made of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]

# Lines that the client writes for itself (1.0 to 2.1.330); they hold no words, or words that stand on another line.
_OWN = frozenset((
    "agent-name", "ai-title", "api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state",
    "custom-title", "file-history-delta", "file-history-snapshot", "frame-link", "last-prompt", "mode",
    "permission-mode", "pr-link", "progress", "queue-operation", "summary", "system", "tools-used", "memoria-note",
))  # fmt: skip
_SPEAKING = ("user", "assistant", "attachment")
_BLOCKS = frozenset((
    "document", "fallback", "image", "redacted_thinking", "server_tool_use", "text", "thinking", "tool_reference",
    "tool_result", "tool_use",
))  # fmt: skip
_FLAGS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain", "isApiErrorMessage")
_KINDS = (
    "auto-continuation", "channel", "coordinator", "human", "observer-activity", "peer", "plugin", "task-notification",
    "unclassified", "voice-call",
)  # fmt: skip
_SOURCES = ("queued", "sdk", "suggestion_accepted", "system", "typed")
_DENIALS = ("automode-blocked", "cancelled", "interrupted", "permission-rule", "user-rejected")
_CLIENTS = (
    "<", "[Request interrupted", "Caveat: The messages below", "This session is being continued",
    "Operation stopped by hook", "Full transcript available",
)  # fmt: skip
_ANSWERS = ("answers", "response", "userFeedback")
# The kinds of Codex's lines of which no turn need be made, as its source says (see transcripts/codex.py).
_CODEX_EVENTS = (
    "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted", "entered_review_mode",
    "error", "exec_command_end", "exited_review_mode", "image_generation_end", "item_completed", "mcp_tool_call_end",
    "patch_apply_end", "sub_agent_activity", "task_complete", "task_started", "thread_goal_updated",
    "thread_name_updated", "thread_rolled_back", "token_count", "turn_aborted", "turn_complete", "turn_started",
    "user_message", "web_search_end",
)  # fmt: skip
_CODEX_ITEMS = (
    "additional_tools", "agent_message", "compaction", "compaction_summary", "context_compaction",
    "custom_tool_call_output", "function_call_output", "ghost_snapshot", "image_generation_call", "message",
    "reasoning", "tool_search_call", "tool_search_output",
)  # fmt: skip
_CODEX_KINDS = frozenset((
    "", "compacted", "inter_agent_communication", "reasoning", "message", "function_call_output", "session_meta",
    "turn_context", *(f"event_msg/{name}" for name in _CODEX_EVENTS),
    *(f"response_item/{name}" for name in _CODEX_ITEMS),
))  # fmt: skip
_WORDS = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}")
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"]+)"')


class Form(NamedTuple):
    """Lines of one unknown form: how many, and the number of the first (from 1)."""

    lines: int
    first: int


@dataclass(slots=True)
class UnknownForms:
    """What was seen so far of one transcript; ``keeps_sidechains``: whether sub-agents' lines are to become turns."""

    keeps_sidechains: bool = False
    found: dict[str, Form] = field(default_factory=dict, init=False)
    _lines: int = field(default=0, init=False)
    _uuids: set[str] = field(default_factory=set, init=False)

    def see(self, raw: bytes, turns: int) -> None:
        """Look at the next line, of which the reader made so many turns."""
        self._lines += 1
        form = self._form(raw, turns)
        if form:
            known = self.found.get(form, Form(0, self._lines))
            self.found[form] = Form(known.lines + 1, known.first)

    def _form(self, raw: bytes, turns: int) -> str:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            self._uuids.update(
                match.decode("ascii", "replace") for match in _UUID.findall(raw)
            )  # glued lines hold some
            return "" if turns or not raw.strip(b"\0 \t\r\n") or not raw.endswith(b"\n") else "no JSON that can be read"
        if not isinstance(value, dict):
            return ""
        kind, uuid = str(value.get("type")), value.get("uuid")
        if kind not in _SPEAKING:
            return "" if kind in _OWN or not any(map(_WORDS.search, _strings(value))) else f"type {kind!r}"
        if isinstance(uuid, str):
            if uuid in self._uuids:  # a copy, which the reader passes over
                return ""
            self._uuids.add(uuid)
        return _unknown_field(value) or ("" if turns else self._silent(kind, value))

    def _silent(self, kind: str, value: Json) -> str:
        """The form of a line that may hold words though the reader made no turn of it."""
        flags = [flag for flag in _FLAGS if value.get(flag) is True]
        if flags and not (flags == ["isSidechain"] and self.keeps_sidechains):
            return ""
        if kind == "attachment":
            given = value.get("attachment")
            return _prompted(given) if isinstance(given, dict) else ""
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        blocks = content if isinstance(content, list) else [content]
        if isinstance(message, dict) and message.get("model") == "<synthetic>":
            return ""
        return next(filter(None, (_block(kind, block) for block in blocks)), "") or _answered(value)


@dataclass(slots=True)
class CodexForms(UnknownForms):
    """What was seen of a session of Codex: a line is known by the two fields that say its kind."""

    def _form(self, raw: bytes, turns: int) -> str:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return "" if turns or not raw.strip(b"\0 \t\r\n") or not raw.endswith(b"\n") else "no JSON that can be read"
        kind = "/".join(filter(None, (_at(value, fields) for fields in (("type",), ("payload", "type")))))
        if turns or kind in _CODEX_KINDS or not any(map(_WORDS.search, _strings(value))):
            return ""
        return f"type {kind!r}"


def of(agent: str, *, keeps_sidechains: bool = False) -> UnknownForms:
    """Return a new count for a session of this agent."""
    return CodexForms() if agent == "codex" else UnknownForms(keeps_sidechains)


def _at(value: Any, fields: tuple[str, ...]) -> str:
    """Return the text at the end of these keys, ``""`` when there is none."""
    for name in fields:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _unknown_field(value: Json) -> str:
    """A field that says who speaks, with a value that no client so far wrote."""
    source = value.get("attachment") if value.get("type") == "attachment" else value
    if not isinstance(source, dict):
        return ""
    origin = source.get("origin")
    named = (
        ("origin.kind", origin.get("kind") if isinstance(origin, dict) else None, _KINDS),
        ("promptSource", source.get("promptSource"), _SOURCES),
        ("toolDenialKind", source.get("toolDenialKind"), _DENIALS),
    )
    return next((f"{name} {given!r}" for name, given, known in named if given is not None and given not in known), "")


def _block(kind: str, block: Any) -> str:
    if isinstance(block, str):
        return f"{kind}: text" if _may_be_words(block) else ""
    if not isinstance(block, dict):
        return ""
    of = str(block.get("type"))
    if of not in _BLOCKS:
        return f"{kind}: block {of!r}" if any(map(_WORDS.search, _strings(block))) else ""
    text = block.get("text")
    return f"{kind}: text" if of == "text" and isinstance(text, str) and _may_be_words(text) else ""


def _may_be_words(text: str) -> bool:
    return bool(text.strip()) and not text.lstrip().startswith(_CLIENTS)


def _answered(value: Json) -> str:
    """A tool's result in which the client's own fields say that a person answered or a sub-agent reported."""
    copy = value.get("toolUseResult")
    given = copy if isinstance(copy, dict) else {}
    names = _ANSWERS if "questions" in given else ("content",) if "totalToolUseCount" in given else ()
    held = [name for name in names if isinstance(given.get(name), str | dict | list) and any(_strings(given[name]))]
    held += [name for name in ("userFeedback", "holdsPersonsWords") if value.get(name)]
    return f"user: {held[0]}" if held else ""


def _prompted(given: Json) -> str:
    """An attachment with a prompt that a person may have typed."""
    origin = given.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else "human"
    if given.get("isMeta") is True or kind != "human" or given.get("commandMode") in ("task-notification", "system"):
        return ""
    text = " ".join(_strings(given.get("prompt")))
    return f"attachment {given.get('type')!r}: prompt" if _may_be_words(text) and not text.startswith("{") else ""


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
