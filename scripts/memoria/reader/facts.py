"""Facts: all learned facts that may be shown, also those that no longer hold."""

from __future__ import annotations

from dataclasses import dataclass

from memoria.reader.site import Site
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts by id, the latest first; ``replaced``: by id the facts that gave way to it."""

    known: dict[str, Fact]
    replaced: dict[str, tuple[Fact, ...]]


def all_of(site: Site) -> Facts:
    """Return the facts as they are now."""
    return site.cached("facts", lambda: _read(site))  # they stand in the daily logs, with which the catalog changes


def _read(site: Site) -> Facts:
    visible = site.visible()
    with Keeper.at(site.home) as keeper:
        facts = [fact for fact in keeper.store.facts(live=False) if any(map(visible.shows, fact.projects))]
    facts.sort(key=lambda fact: fact.last or fact.time, reverse=True)
    replaced: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.successor:
            replaced.setdefault(fact.successor, []).append(fact)
    return Facts({fact.id: fact for fact in facts}, {ident: tuple(olds) for ident, olds in replaced.items()})
