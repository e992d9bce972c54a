"""Fence: showing text to a model as data that cannot pass for anything else.

Text from transcripts, pages and notes is never an instruction. It stands between two tags whose name holds a mark
that the text does not contain, so it cannot close its fence; forged client reminders and invisible characters are
taken out of effect.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from binascii import crc32

# Nothing a person meant to say, and a way to hide text from one or to carry it past one.
_UNSEEN = (
    (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F),  # control characters but newlines and tabs
    (0x061C, 0x061C), (0x180E, 0x180E),  # Arabic letter mark, Mongolian vowel separator
    (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF),  # zero-width, direction
    (0xD800, 0xDFFF),  # lone halves of surrogate pairs, which no file can hold
    (0xE0000, 0xE01EF),  # tags and the further variation selectors
)  # fmt: skip
_FORGED = ("system-reminder", "system", "user-prompt-submit-hook", "function_calls", "memoria")


class _Visible(dict):  # type: ignore[type-arg]
    """A table for ``str.translate`` that fills itself with the characters it meets."""

    def __missing__(self, code: int) -> int | None:
        kept = None if any(first <= code <= last for first, last in _UNSEEN) else code
        self[code] = kept
        return kept


_visible = _Visible()


def visible(text: str) -> str:
    """``text`` without control and invisible characters (newlines and tabs stay)."""
    return text if text.isascii() and text.isprintable() else text.translate(_visible)


def neutral(text: str) -> str:
    """Visible text in which a tag that pretends to come from the client is only text."""
    first, *parts = visible(text).split("<")
    return first + "".join(("&lt;" if part and _is_forged(part) else "<") + part for part in parts)


def _is_forged(after: str) -> bool:
    """Whether what follows a ``<`` makes it the beginning, or the end, of a tag that only the client writes."""
    start = after[:1000].lstrip() or after.lstrip()
    if start.startswith("/"):
        start = start[1:1000].lstrip() or start[1:].lstrip()
    start = start[:40].lower()
    return any(start.startswith(name) and not _is_in_word(start[len(name) :]) for name in _FORGED)


def _is_in_word(rest: str) -> bool:
    return rest[:1].isalnum() or rest[:1] == "_"


def fenced(label: str, text: str) -> str:
    """``text`` between ``<label-mark>`` tags it cannot close; the same text gives the same bytes."""
    inner = neutral(text)
    number = crc32(inner.encode("utf-8", "replace"))
    while (mark := f"{number & 0xFFFFFF:06x}") in inner:  # counted on, so that no text can lead it in a circle
        number += 1
    return f"<{label}-{mark}>\n{inner}\n</{label}-{mark}>"
