"""Fence: wrap text for a model so that it reads as data and not as an instruction.

Text from transcripts, pages and notes is put between two tags. Their name holds a mark that the text does not contain,
so that the text cannot close its fence. Tags that only the client or a fence writes, and pictures that a reader would
fetch from another machine, are escaped; invisible characters are removed; long lines are broken.
"""

from __future__ import annotations

from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_CHARS = 4_000  # longer lines are broken; no person writes lines of this length, and nothing is lost

# Characters that can hide text from a person: control and format characters, and those that Unicode lists as
# Default_Ignorable_Code_Point (DerivedCoreProperties.txt), except the joiners below.
_UNSEEN = (
    (0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F),  # control characters except newlines and tabs
    (0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F),  # zero-width, direction
    (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB),
    (0xD800, 0xDFFF),  # lone halves of surrogate pairs, which no file can hold
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags and the further variation selectors
)  # fmt: skip
_JOINERS = frozenset("\u200c\u200d")  # used in Persian, Indic scripts and emoji
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))  # used in emoji and mathematical signs
_KEYCAPS = frozenset("0123456789#*")
_FORGED = (
    "system-reminder", "system", "user-prompt-submit-hook", "function_calls", "function_results", "antml", "invoke",
    "command-name", "command-message", "command-args", "local-command", "bash-input", "bash-stdout", "bash-stderr",
    "task-notification", "teammate-message", "persisted-output", "tool_use_error", "new-diagnostics",
    "ide_opened_file", "ide_selection", "ide_diagnostics", "memoria", "where-you-were",
)  # fmt: skip
_OPENING = "<\uff1c\ufe64"  # with its full-width and small forms
_FETCHED = ("img", "image", "iframe", "video", "audio")
_REACH = 1_000  # characters of a tag that are examined


class _Visible(dict):  # type: ignore[type-arg]
    """A table for ``str.translate`` that fills itself with the characters it meets."""

    def __missing__(self, code: int) -> int | None:
        kept = None if any(first <= code <= last for first, last in _UNSEEN) else code
        self[code] = kept
        return kept


_visible = _Visible()


def strip_invisible(text: str) -> str:
    """Return ``text`` without control and invisible characters; newlines, tabs and meaningful joiners stay."""
    if text.isascii():
        return text if text.isprintable() else text.translate(_visible)
    seen = text.translate(_visible)
    return seen if _JOINERS.isdisjoint(seen) and _SELECTORS.isdisjoint(seen) else _drop_joiners(seen)


def _drop_joiners(text: str) -> str:
    """Return ``text`` without joiners and selectors that have no effect: sequences of them can encode hidden text."""
    kept: list[str] = []
    before = ""
    for character in text:
        if character in _SELECTORS:
            sensible = before in _KEYCAPS if before.isascii() else before not in _JOINERS | _SELECTORS
        else:
            sensible = character not in _JOINERS or not (before.isascii() or before in _JOINERS)
        if sensible:
            kept.append(character)
            before = character
    return "".join(kept)


def defuse(text: str) -> str:
    """Return the visible text with tags that imitate the client's, and pictures from other machines, escaped."""
    return _break_pictures(_break_tags(strip_invisible(text), _FORGED))


def _break_tags(text: str, names: tuple[str, ...]) -> str:
    for sign in _OPENING:
        first, *parts = text.split(sign)
        text = first + "".join(("&lt;" if part and _is_forged(part, names) else sign) + part for part in parts)
    return text


def _is_forged(after: str, names: tuple[str, ...]) -> bool:
    """Return whether the text after a ``<`` opens or closes a tag of these names, or one that fetches a resource."""
    start = after.lstrip().removeprefix("/").lstrip()
    name = start[:40].lower()
    if any(name.startswith(known) and not _is_in_word(name[len(known) :]) for known in names):
        return True
    return any(
        name.startswith(known) and not _is_in_word(name[len(known) :]) and "//" in start[:_REACH] for known in _FETCHED
    )


def _is_in_word(rest: str) -> bool:
    return rest[:1].isalnum() or rest[:1] == "_"


def _break_pictures(text: str) -> str:
    """Escape ``![x](//far)``, also as a reference: the text is shown and no reader fetches it."""
    if "![" not in text:
        return text
    first, *parts = text.split("![")
    known = _definitions(text)
    return first + "".join(("!\\[" if _leads_out(part, known) else "![") + part for part in parts)


def _definitions(text: str) -> set[str]:
    """Return the names of link definitions (``[name]: address``)."""
    return {part[-_REACH:].rpartition("[")[2].strip().lower() for part in text.split("]:")[:-1]}


def _leads_out(part: str, defined: set[str]) -> bool:
    """Return whether the text after a ``![`` is a picture with an address on another machine."""
    for rest in part.split("](")[1:]:
        address = rest.partition(")")[0]
        if any(sign in address for sign in (":", "//", "\\", "&")):
            return True
    return bool(defined) and ("][" in part or part.partition("]")[0].strip().lower() in defined)


def wrap(text: str) -> str:
    """Return ``text`` with lines of more than ``LINE_CHARS`` characters broken, at a blank where there is one."""
    if len(text) <= LINE_CHARS:
        return text
    return "\n".join([piece for row in text.split("\n") for piece in (list(pieces(row, LINE_CHARS)) or [""])])


def ends(text: str, most: int) -> str:
    """Return a text; of more than ``most`` characters its beginning and its end."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} […] {text[-half:]}"


def pieces(text: str, width: int) -> Iterator[str]:
    """Yield the text in pieces of at most ``width``, cut after a line or a word where one ends in the second half."""
    at = 0
    while at < len(text):
        half, end = at + width // 2, at + width
        if end < len(text):
            end = max(text.rfind("\n", half, end), text.rfind(" ", half, end)) + 1 or end
        yield text[at:end]
        at = end


def fence(label: str, text: str) -> str:
    """Return ``text`` between ``<label-mark>`` tags that it cannot close; the same text gives the same bytes."""
    inner = wrap(_break_tags(defuse(text), (label,)))
    number = crc32(inner.encode("utf-8", "replace"))
    while (mark := f"{number & 0xFFFFFF:06x}") in inner:  # counting up ends, whatever the text holds
        number += 1
    return f"<{label}-{mark}>\n{inner}\n</{label}-{mark}>"
