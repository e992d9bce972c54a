"""Already saved: leave out facts that the assistant saved in the client's own memory, or that are stored already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from memoria.facts.fact import Ending, Fact
from memoria.language import statements

COVERED: Final = 0.6  # share of a fact's words that one saved statement must hold

_STATEMENT = re.compile(r"(?<=[.!?])\s+|\n+|\\n")


def holds(texts: Iterable[str], fact: Fact) -> bool:
    """Return whether one saved statement says the same as the fact."""
    claims = [statements.words(fact.content), statements.words(fact.quote)]
    for text in texts:
        for statement in _STATEMENT.split(text):
            saved = statements.words(statement)
            if any(claim.stems and statements.covered(claim, saved) >= COVERED for claim in claims):
                return True
    return False


def sort(
    facts: Iterable[Fact], texts: list[str], earlier: list[Fact], concerns: Callable[[Fact], bool]
) -> tuple[list[Fact], list[Fact]]:
    """Return the facts to store, and the facts that the assistant saved itself in one of ``texts``.

    A saved fact is stored nevertheless if it ``concerns`` a known one, so that that one is counted or ended. A fact
    learned ``earlier`` from the same words, by the patterns while no model answered, is left out.
    """
    facts = list(facts)
    unknown = [fact for fact in facts if not learned_before(fact, earlier)]
    saved = [fact for fact in facts if texts and holds(texts, fact)]
    return [fact for fact in unknown if fact not in saved or concerns(fact)], saved


def learned_before(fact: Fact, earlier: Iterable[Fact]) -> Fact | None:
    """Return the first of the ``earlier`` facts that was learned from the same words of a turn."""
    return next((known for known in earlier if _from_same_words(fact, known)), None)


def with_phrases(known: Fact, facts: Iterable[Fact]) -> Fact:
    """Return a fact that the patterns learned with the phrases of one that a model learned from the same words."""
    others = (
        fact.asked_as for fact in facts if fact.asked_as and (fact.id == known.id or _from_same_words(fact, known))
    )
    return known if known.asked_as else replace(known, asked_as=next(others, ()))


def endings(facts: Iterable[Fact], earlier: Iterable[Fact]) -> list[Ending]:
    """Return the ends of facts that a model named beside a fact learned ``earlier``, which itself is left out."""
    known_facts = list(earlier)
    pairs = [(fact, known) for fact in facts if fact.supersedes and (known := learned_before(fact, known_facts))]
    return [
        Ending(ident, fact.time, fact.origin, known.id)
        for fact, known in pairs
        for ident in fact.supersedes
        if ident.startswith("l-") and ident != known.id
    ]


def _from_same_words(one: Fact, other: Fact) -> bool:
    """Return whether two facts were learned from the same words of a turn."""
    quote, known = (" ".join(fact.quote.split()).casefold() for fact in (one, other))
    return bool(quote and known) and (quote in known or known in quote) and one.id != other.id
