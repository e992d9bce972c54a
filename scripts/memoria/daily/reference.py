"""Reference: the ids of entries and learned facts in every form in which memoria or a person writes them."""

from __future__ import annotations

import re
from typing import NamedTuple

ENTRY, FACT = "e", "l"
_REFERENCE = re.compile(
    r"(?:\[\[)?(?:(?:daily/)?\d{4}-\d{2}-\d{2}(?:\.md)?#)?#?\^?(?P<kind>[el])-(?P<id>[0-9a-z]+)(?:\|[^\]]*)?(?:\]\])?"
)


class Reference(NamedTuple):
    """An id without its letter, and that letter: ``ENTRY`` or ``FACT``."""

    kind: str
    id: str

    @property
    def anchor(self) -> str:
        """The block id in a daily log, e.g. ``e-01k9x2``."""
        return f"{self.kind}-{self.id}"


def parse(text: str) -> Reference | None:
    """Return what ``e-01k9x2``, ``^l-7f3a``, ``daily/2026-11-21#^e-01k9x2`` or a wikilink of it names, else None."""
    match = _REFERENCE.fullmatch(text.strip())
    return Reference(match["kind"], match["id"]) if match else None
