"""Loose JSON: read what a model wrote for JSON where its meaning is certain.

Beside JSON it reads trailing and missing commas, comments, single and typographic quotes, names without quotes,
Python's literals, line breaks and unescaped quotes inside a text, and backslashes that escape nothing. A value that the
end of the text cuts off is never completed: it raises CutOffError.
"""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 60  # of nested values; more is no answer

_GAP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*)+", re.DOTALL)
_CLOSING = {'"': '"', "'": "'", "“": '”"', "„": '“”"', "”": '”"', "‘": "’'", "«": "»", "`": "`"}  # noqa: RUF001 (quotes)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_NAME = re.compile(r"[A-Za-z_$][\w$-]*")
_BARE = re.compile(r"[^\W\d][\w./-]*")
_NEXT_KEY = re.compile(r"[\"'“”„‘«`]|[A-Za-z_$][\w$-]*\s*:")  # noqa: RUF001
_NEXT_VALUE = re.compile(r"[\[{\]}\"'“”„‘«`\d-]|(?:true|false|null|True|False|None)\b|[A-Za-z_$][\w$-]*\s*:")  # noqa: RUF001
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/", "\n": ""}
_LITERALS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "undefined": None,
    "NaN": None, "Infinity": None,
}  # fmt: skip


class LooseJsonError(ValueError):
    """The text is no JSON, however loosely it is read."""


class CutOffError(LooseJsonError):
    """The text ends in the middle of a value."""


def read(text: str, start: int) -> tuple[Any, int]:
    """Return the object or list that begins at ``start``, and where it ends; raise LooseJsonError."""
    reader = _Reader(text, start)
    return reader.value(0), reader.at


class _Reader:
    """A position in a text."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise LooseJsonError("nested too deeply")
        sign = self._peek()
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        if sign in _CLOSING:
            return self._string()
        return self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while not self._ends("}"):
            key = self._string(is_key=True) if self._peek() in _CLOSING else self._match(_NAME)
            if self._peek() != ":":
                raise LooseJsonError("a name without a value")
            self.at += 1
            found[key] = self.value(depth + 1)
        return found

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while not self._ends("]"):
            found.append(self.value(depth + 1))
        return found

    def _ends(self, sign: str) -> bool:
        """Pass over commas; return whether the closing ``sign`` follows, which is passed over as well."""
        while self._peek() == ",":
            self.at += 1
        if self._peek() != sign:
            return False
        self.at += 1
        return True

    def _peek(self) -> str:
        """Return the next character that is neither space nor comment; raise CutOffError at the end."""
        gap = _GAP.match(self.text, self.at)
        if gap:
            self.at = gap.end()
        if self.at >= len(self.text):
            raise CutOffError("the text ends in the middle")
        return self.text[self.at]

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise LooseJsonError(f"unexpected {self.text[self.at]!r}")
        self.at = match.end()
        if self.at == len(self.text):
            raise CutOffError("the text ends in the middle")
        return match[0]

    def _word(self) -> Any:
        """Return a number, a literal or a single word without quotes."""
        if _NUMBER.match(self.text, self.at):
            number = self._match(_NUMBER)
            try:
                return int(number) if number.lstrip("+-").isdigit() else float(number)
            except ValueError as error:  # Python reads no whole number of more than 4,300 digits
                raise LooseJsonError("a number that is too long") from error
        word = self._match(_BARE)
        if self._peek() not in ",}]":
            raise LooseJsonError("several words without quotes")
        return _LITERALS.get(word, word)

    def _string(self, *, is_key: bool = False) -> str:
        mark = self.text[self.at]
        if self.text.startswith('"""', self.at):
            return self._triple()
        closing = _CLOSING[mark]
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "\\":
                parts.append(self._escape())
                continue
            if sign in closing and self._is_end(is_key):
                self.at += 1
                return _whole("".join(parts))
            parts.append(sign)
            self.at += 1
        raise CutOffError("a text without its end")

    def _triple(self) -> str:
        end = self.text.find('"""', self.at + 3)
        if end < 0:
            raise CutOffError("a text without its end")
        found = self.text[self.at + 3 : end]
        self.at = end + 3
        return found

    def _is_end(self, is_key: bool) -> bool:
        """Return whether the quote at this position ends its text, judging by what follows it."""
        gap = _GAP.match(self.text, self.at + 1)
        after = gap.end() if gap else self.at + 1
        following = self.text[after : after + 1]
        if is_key:
            return following in ("", ":")
        if following in ("", "}", "]"):
            return True
        if following == ",":
            rest = _GAP.match(self.text, after + 1)
            return _NEXT_VALUE.match(self.text, rest.end() if rest else after + 1) is not None
        # a comma is missing: the next item stands on a line of its own
        return gap is not None and "\n" in gap[0] and (following in "{[" or bool(_NEXT_KEY.match(self.text, after)))

    def _escape(self) -> str:
        """Return the character that a backslash writes, or both characters when it escapes nothing."""
        sign = self.text[self.at + 1 : self.at + 2]
        code = self.text[self.at + 2 : self.at + 6]
        if sign == "u" and len(code) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in code):
            self.at += 6
            return chr(int(code, 16))
        self.at += 2
        return _ESCAPES.get(sign, "\\" + sign)


def _whole(text: str) -> str:
    """Return ``text`` with the two halves of each surrogate pair joined."""
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
