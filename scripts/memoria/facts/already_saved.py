"""Already saved: leave out facts that the assistant saved in the client's own memory, or that are stored already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from memoria.facts.fact import Fact
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


def without_saved(facts: Iterable[Fact], texts: list[str]) -> list[Fact]:
    """Return the facts that the assistant did not save itself."""
    return [fact for fact in facts if not holds(texts, fact)] if texts else list(facts)


def sort(
    facts: Iterable[Fact], texts: list[str], earlier: list[Fact], concerns: Callable[[Fact], bool]
) -> tuple[list[Fact], list[Fact]]:
    """Return the facts to store, and the facts that the assistant saved itself in one of ``texts``.

    A saved fact is stored nevertheless if it ``concerns`` a known one, so that that one is counted or ended. A fact
    learned ``earlier`` from the same words, by the patterns while no model answered, is left out.
    """
    facts = list(facts)
    unsaved = without_saved(facts, texts)
    wanted = [fact for fact in facts if fact in unsaved or concerns(fact)]
    news = [fact for fact in wanted if not learned_before(fact, earlier)]
    return news, [fact for fact in facts if fact not in unsaved]


def learned_before(fact: Fact, earlier: Iterable[Fact]) -> Fact | None:
    """Return the first of the ``earlier`` facts that was learned from the same words of a turn."""
    return next((known for known in earlier if _from_same_words(fact, known)), None)


def with_phrases(known: Fact, facts: Iterable[Fact]) -> Fact:
    """Return a fact that the patterns learned with the phrases of one that a model learned from the same words."""
    others = (
        fact.asked_as for fact in facts if fact.asked_as and (fact.id == known.id or _from_same_words(fact, known))
    )
    return known if known.asked_as else replace(known, asked_as=next(others, ()))


def without_repeats(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts without those that repeat an earlier one."""
    unlike: dict[Fact, statements.Words] = {}
    for fact in facts:
        words = statements.words(fact.content)
        if not any(statements.same(words, known) for known in unlike.values()):
            unlike[fact] = words
    return list(unlike)


def _from_same_words(one: Fact, other: Fact) -> bool:
    """Return whether two facts were learned from the same words of a turn."""
    quote, known = (" ".join(fact.quote.split()).casefold() for fact in (one, other))
    return bool(quote and known) and (quote in known or known in quote) and one.id != other.id
