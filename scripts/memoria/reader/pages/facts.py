"""Facts: the table of all learned facts, and one fact with its history and what can be done with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memoria.amending import corrections
from memoria.base import invocation
from memoria.ground.errors import ExpectedError
from memoria.mcp.origin import sources_of
from memoria.reader import address
from memoria.reader.site import Asked, Done, Site, View, not_found
from memoria.statements.fact import GLOBAL, KINDS, MAX_STORED, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.store import repeat_mark

PAGE = 50  # facts on one page
STATES = {"": "that hold", "ended": "that no longer hold", "all": "all"}


def show(site: Site, asked: Asked) -> View:
    """Return the facts, filtered by ``q``, ``kind``, ``project`` and ``state``."""
    words, kind, key, state = (asked.query.get(name, "") for name in ("q", "kind", "project", "state"))
    facts = site.catalog.facts.values()
    wanted = words.casefold().split()
    found = [fact for fact in facts if _fits(fact, wanted, kind, key, state)]
    places = {place for fact in facts for place in fact.projects}
    values = {
        "shown": address.paginate(found, PAGE, "/facts", asked.query),
        "query": words,
        "kind": kind,
        "kinds": KINDS,
        "state": state,
        "states": STATES,
        "project": key,
        "projects": sorted((site.catalog.label(place), place) for place in places),
        "label": site.catalog.label,
        "day": lambda fact: site.home.zone.day(fact.last or fact.time),
        "corrected": repeat_mark,
    }
    return View("facts.html", "Facts", values)


def _fits(fact: Fact, wanted: list[str], kind: str, key: str, state: str) -> bool:
    if state != "all" and (fact.ended is not None) != (state == "ended"):
        return False
    if (kind and fact.kind != kind) or (key and key not in fact.projects):
        return False
    text = f"{fact.content} {' '.join(fact.tags)} {fact.id}".casefold() if wanted else ""
    return all(word in text for word in wanted)


def show_one(site: Site, asked: Asked) -> View:
    """Return a fact: what proves it, its earlier wordings, what it superseded, and the forms that change it."""
    known = site.catalog.facts
    fact = known.get(asked.path["ident"])
    if fact is None:
        return not_found("There is no such fact. It may have been deleted or forgotten.")
    with Keeper(site.home.paths, site.home.zone) as keeper:  # the catalog is up to date already
        sources = [source.rpartition("#^e-")[2] for source in sources_of(site.home, keeper, fact)]
    visible = site.visible()
    successor = known.get(fact.successor)
    values = {
        "fact": fact,
        "shown": _state(fact),
        "places": [site.catalog.label(key) for key in fact.projects if visible.shows(key)],
        "day": site.home.zone.day(fact.time),
        "last": site.home.zone.day(fact.last) if fact.last else None,
        "ended": site.home.zone.day(fact.ended) if fact.ended else None,
        "entries": [site.catalog.entries[ident] for ident in sources if ident in site.catalog.entries],
        "earlier": [(row[:10], row.partition(" ")[2]) for row in reversed(fact.history)],
        "replaced": [old for old in known.values() if old.successor == fact.id],
        "successor": successor,
        "corrected": repeat_mark(fact),
        "is_global": fact.project == GLOBAL,
        "most": MAX_STORED,
        "line": site.markdown.line,
    }
    return View("fact.html", fact.content[:60], values)


@contextmanager
def _open_as_shown(site: Site, asked: Asked) -> Iterator[tuple[Keeper, str]]:
    """Open the facts and yield the id of one; raise ExpectedError when the form's page showed it otherwise."""
    with Keeper.at(site.home) as keeper:
        fact = keeper.get(asked.path["ident"])
        if asked.form.get("shown", _state(fact)) != _state(fact):
            now = "It holds no longer" if fact.ended else "Now it reads"
            raise ExpectedError(f"It changed since you opened its page, so this was left. {now}: {fact.content}")
        yield keeper, fact.id


def _state(fact: Fact) -> str:
    return f"{fact.ended or ''} {fact.content}"


def edit(site: Site, asked: Asked) -> Done:
    """Change the wording of a fact."""
    with _open_as_shown(site, asked) as (keeper, ident):
        done = corrections.edit(site.home, keeper, ident, asked.form.get("text", ""))
    return Done(address.fact(ident), f"The fact was changed. {done.told}".strip())


def promote(site: Site, asked: Asked) -> Done:
    """Make a fact hold in every project."""
    with _open_as_shown(site, asked) as (keeper, ident):
        corrections.promote(site.home, keeper, [ident])
    return Done(address.fact(ident), "The fact holds in every project now.")


def retire(site: Site, asked: Asked) -> Done:
    """End a fact: it holds no longer."""
    with _open_as_shown(site, asked) as (_, ident):
        way = invocation.command("undo")
    corrections.retire(site.home, ident)
    return Done(address.fact(ident), f"It no longer holds. {way} takes that back where an article shows it.")


def delete(site: Site, asked: Asked) -> Done:
    """Delete a fact."""
    with _open_as_shown(site, asked) as (keeper, ident):
        done = corrections.delete(site.home, keeper, [ident])
    return Done("/facts", f"The fact was deleted. {done.told}".strip())
