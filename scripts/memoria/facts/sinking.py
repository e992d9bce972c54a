"""Sinking: lower the importance of what was learned from an order, once a later session does otherwise.

"Don't create a PR, just a commit" holds for a day, but a model or a pattern may take it for a rule. It is not ended,
because nobody took it back: it leaves the head of the session page, and is back when it is said again.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from memoria.facts.fact import Fact
from memoria.facts.keeper import Keeper
from memoria.facts.store import SUNK
from memoria.ground.errors import ExpectedError
from memoria.language import cues, statements

log = logging.getLogger(__name__)

_RULES: Final = ("correction", "preference", "decision")
_REVERSED: Final = 0.5  # share of what an order ruled out that a request must ask for


def sink(keeper: Keeper, project: str, session: str, prompts: Iterable[str]) -> list[Fact]:
    """Sink the facts that these prompts of a session do otherwise than; return them as they are now."""
    said = [statements.words(sentence) for prompt in prompts for sentence in cues.own_sentences(prompt)]
    sunk = []
    for fact in keeper.store.facts(project=project):
        if fact.session != session and contradicted(fact, said):
            lowered = replace(fact, importance=SUNK)
            try:
                keeper.write(lowered)
            except (ExpectedError, OSError, sqlite3.Error) as error:  # the next session that does otherwise sinks it
                log.warning("%s keeps its importance: %s", fact.id, error)
                continue
            sunk.append(lowered)
    if sunk:
        keeper.store.set_meta("unshown", "1")  # the worker prepares the pages anew
    return sunk


def contradicted(fact: Fact, said: Sequence[statements.Words]) -> bool:
    """Return whether a fact was learned from an order, said once, and something said asks for the opposite."""
    if fact.kind not in _RULES or fact.origin != "user" or fact.seen > 1 or fact.importance <= SUNK:
        return False
    order = statements.words(fact.content)
    if not fact.quote or not any(_reverses(order, request) for request in said):  # without a quote: a person's line
        return False
    return not any(map(cues.of, cues.sentences(fact.quote)))  # what is worded as a rule stays one


def _reverses(order: statements.Words, request: statements.Words) -> bool:
    wanted = request.stems - request.against
    ruled_out = order.against - wanted.intersection(order.stems - order.against)
    asked = len(ruled_out & wanted)
    return bool(asked and asked >= _REVERSED * len(ruled_out)) or statements.opposed(order, request)
