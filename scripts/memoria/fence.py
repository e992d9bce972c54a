"""Fence: showing text to a model as data that cannot pass for anything else.

Text from transcripts, pages and notes is never an instruction. It stands between two tags whose name holds a mark
that the text does not contain, so it cannot close its fence; forged client reminders and invisible characters are
taken out of effect.
"""

from __future__ import annotations

import hashlib
import re

# Zero-width, bidirectional and tag characters: nothing a person meant to say, and a way to hide text from one.
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
# With the lone halves of surrogate pairs, which no file can hold.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_FORGED = re.compile(
    r"<(?=\s*/?\s*(?:system-reminder|system|user-prompt-submit-hook|function_calls|memoria)\b)", re.IGNORECASE
)


def visible(text: str) -> str:
    """``text`` without control and invisible characters (newlines and tabs stay)."""
    return _CONTROL.sub("", _INVISIBLE.sub("", text))


def neutral(text: str) -> str:
    """Visible text in which a tag that pretends to come from the client is only text."""
    return _FORGED.sub("&lt;", visible(text))


def fenced(label: str, text: str) -> str:
    """``text`` between ``<label-mark>`` tags it cannot close; the same text gives the same bytes."""
    inner = neutral(text)
    mark = hashlib.sha256(inner.encode()).hexdigest()[:6]
    while mark in inner:
        mark = hashlib.sha256((mark + inner).encode()).hexdigest()[:6]
    return f"<{label}-{mark}>\n{inner}\n</{label}-{mark}>"
