"""Conflicts: which known facts a new one contradicts, and which of them yield to it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from memoria.statements.fact import GLOBAL, Ending, Fact
from memoria.statements.store import Store

_OPINIONS: Final = ("correction", "preference", "decision", "fact", "operational")  # a later statement replaces these


def contradicted_by(store: Store, fact: Fact) -> list[Fact]:
    """Return the live facts that this one contradicts: those that it names, and those that say the opposite."""
    named = map(store.get, fact.supersedes)
    found = [old for old in named if old and old.ended is None and old.id != fact.id]
    if fact.origin != "user":  # whatever a model says; only what is certain to contradict is compared below
        found = [old for old in found if old.origin != "user"]
    if fact.kind in _OPINIONS:
        rivals = (old for old in store.rivals(fact) if old.kind in _OPINIONS)
        found += [old for old in rivals if "user" in (fact.origin, old.origin)]
    return list(dict.fromkeys(found))


def copies(store: Store, fact: Fact) -> list[Fact]:
    """Return the other live facts that say the same in one of its projects or in all, e.g. from another machine."""
    places = {*fact.projects, GLOBAL}
    return [other for other in store.twins(fact) if places.intersection(other.projects)]


def said(fact: Fact) -> datetime:
    """Return when a fact was last said."""
    return fact.last or fact.time


def yields(old: Fact, moment: datetime, origin: str) -> bool:
    """Return whether a fact yields to what was said at ``moment``: the user's latest word wins over everything."""
    if (origin == "user") != (old.origin == "user"):
        return origin == "user"
    return said(old) <= moment


def ending(loser: Fact, winner: Fact, *, repetition: bool = False) -> Ending | None:
    """Return the end of a fact because another holds, or says the same; None when it does not yield to that one."""
    moment = said(winner)
    if loser.id == winner.id or loser.ended or winner.ended or not yields(loser, moment, winner.origin):
        return None
    return Ending(loser.id, max(moment, said(loser)), winner.origin, winner.id, repetition=repetition)


def united(one: Fact, other: Fact) -> Ending | None:
    """Return the end of one of two facts that say the same: the older one's, if it yields to the other."""
    first, second = sorted((one, other), key=lambda fact: (said(fact), fact.id))
    return ending(first, second, repetition=True) or ending(second, first, repetition=True)


def is_elsewhere(old: Fact, fact: Fact) -> bool:
    """Return whether ``old`` belongs to another project, so that it only ceases to hold in the fact's own."""
    return GLOBAL not in (old.project, fact.project) and old.project not in fact.projects
