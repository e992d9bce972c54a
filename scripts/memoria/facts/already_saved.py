"""Already saved: facts that the assistant keeps in the client's own memory are not learned a second time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memoria.facts.fact import Fact
from memoria.language import statements

COVERED: Final = 0.6  # share of a fact's words that one saved statement must hold

_STATEMENT = re.compile(r"(?<=[.!?])\s+|\n+|\\n")


def holds(texts: Iterable[str], fact: Fact) -> bool:
    """Whether one saved statement says what the fact says."""
    claims = [statements.words(fact.content), statements.words(fact.quote)]
    for text in texts:
        for statement in _STATEMENT.split(text):
            told = statements.words(statement)
            if any(claim.stems and statements.covered(claim, told) >= COVERED for claim in claims):
                return True
    return False


def without_saved(facts: Iterable[Fact], texts: list[str]) -> list[Fact]:
    """The facts that the assistant did not save itself."""
    return [fact for fact in facts if not holds(texts, fact)] if texts else list(facts)
