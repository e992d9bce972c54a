"""Pattern: a regular expression that is compiled on first use.

A module with many patterns stays cheap to import, and a hook that uses none of them does not load ``re``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator


class Pattern:
    """The part of ``re.Pattern`` that the modules need; flags are written inline (``(?i)``)."""

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            import re  # noqa: PLC0415 (slow to import, and only needed for a search)

            self._compiled = re.compile(self.source)
        return self._compiled

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return the first match anywhere in ``text`` from ``start`` on."""
        return self.compiled.search(text, start)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the beginning of ``text``."""
        return self.compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of the whole ``text``."""
        return self.compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield every match, in order."""
        return self.compiled.finditer(text)

    def findall(self, text: str) -> list[str]:
        """Return the text of every match, or of its group."""
        return self.compiled.findall(text)

    def split(self, text: str) -> list[str]:
        """Return the text between the matches."""
        return self.compiled.split(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return ``text`` with every match replaced."""
        return self.compiled.sub(replacement, text)
