"""Already saved: leave out facts that the assistant saved in the client's own memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from memoria.search import comparison
from memoria.statements.fact import Fact

COVERED: Final = 0.6  # share of a fact's words that one saved statement must hold

_STATEMENT = re.compile(r"(?<=[.!?])\s+|\n+|\\n")


def holds(texts: Iterable[str], fact: Fact) -> bool:
    """Return whether one saved statement says the same as the fact."""
    claims = [comparison.words(fact.content), comparison.words(fact.quote)]
    for text in texts:
        for statement in _STATEMENT.split(text):
            saved = comparison.words(statement)
            if any(claim.stems and comparison.covered(claim, saved) >= COVERED for claim in claims):
                return True
    return False


def sort(facts: Iterable[Fact], texts: list[str], concerns: Callable[[Fact], bool]) -> tuple[list[Fact], list[Fact]]:
    """Return the facts to store, and the facts that the assistant saved itself in one of ``texts``.

    A saved fact is stored nevertheless if it ``concerns`` a known one, so that that one is counted or ended.
    """
    found = list(facts)
    saved = [fact for fact in found if texts and holds(texts, fact)]
    return [fact for fact in found if fact not in saved or concerns(fact)], saved
