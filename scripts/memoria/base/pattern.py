"""Pattern: a regular expression that is compiled on first use; flags are written inline (``(?i)``).

A module with many patterns stays cheap to import, and a hook that uses none of them does not load ``re``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    def Pattern(source: str) -> re.Pattern[str]:  # noqa: N802 (a class where it runs)
        """Return the expression, compiled as soon as it is used."""

else:

    class Pattern:
        """Stands for what ``re.compile`` returns."""

        def __init__(self, source: str) -> None:
            self.source = source

        def __getattr__(self, name: str) -> object:
            """Return a method of the compiled expression, and keep it."""
            import re  # noqa: PLC0415 (slow to import, and only needed for a search)

            found = getattr(re.compile(self.source), name)
            setattr(self, name, found)
            return found
