"""Backends: the search and the learned facts of one home, behind the protocols that the tools use.

Calls may wait for files and for other writers, so they run in a thread. A remembered fact is treated like every learned
fact: it is redacted, checked as a claim of the assistant (never of the user), and written to the daily log.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Any

from memoria.base import invocation
from memoria.base.project import Project
from memoria.base.visibility import Visibility
from memoria.ground import clock
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.index import sources
from memoria.index.index import Index
from memoria.mcp.answers import Found
from memoria.pages.refresh import consequences, renew
from memoria.statements.claim_check import Material, check
from memoria.statements.fact import Fact, Stamp
from memoria.statements.keeper import Keeper


class IndexSearch:
    """Searches the index after bringing it up to date, for what belongs to this project or to all."""

    def __init__(self, home: Home, project: Project) -> None:
        self.home = home
        self.project = project

    async def __call__(self, query: str, limit: int, kinds: Sequence[str]) -> list[Found]:
        """See ``tools.Search``."""
        return await asyncio.to_thread(self._found, query, limit, kinds)

    def _found(self, query: str, limit: int, kinds: Sequence[str]) -> list[Found]:
        try:
            with Index(self.home.paths.index) as index:
                sources.refresh(index, self.home.paths)
                view = Visibility(self.home.settings, self.home.paths, self.project.key)
                hits = index.search(query, limit=limit, view=view, kinds=kinds)
        except (sqlite3.Error, OSError) as error:
            raise ExpectedError(f"the search index cannot be used now ({error}); read pages by path instead") from error
        return [Found(_place(hit.path, hit.anchor), hit.kind, hit.title, hit.date, hit.passages) for hit in hits]


class SessionFacts:
    """Adds and removes learned facts of one home on behalf of one session."""

    def __init__(self, home: Home, project: Project, session: str) -> None:
        self.home = home
        self.project = project
        self.session = session

    async def remember(self, content: str, kind: str, importance: float, tags: Sequence[str]) -> str:
        """See ``tools.Facts``."""
        redact = Redactor(self.home.settings.redact_extra).redact
        return await asyncio.to_thread(self._remember, redact(content), kind, importance, [redact(tag) for tag in tags])

    async def forget(self, ident: str) -> str:
        """See ``tools.Facts``."""
        return await asyncio.to_thread(self._forget, ident)

    async def listed(self, kind: str, limit: int, *, everywhere: bool) -> list[dict[str, Any]]:
        """See ``tools.Facts``."""
        return await asyncio.to_thread(self._listed, kind, limit, everywhere)

    async def update(self, ident: str, content: str) -> str:
        """See ``tools.Facts``."""
        return await asyncio.to_thread(self._update, ident, Redactor(self.home.settings.redact_extra).redact(content))

    def _visible(self) -> Visibility:
        return Visibility(self.home.settings, self.home.paths, self.project.key)

    def _known(self, keeper: Keeper, ident: str) -> Fact:
        """Return the fact with this id; one of a project that may not be shown is unknown."""
        fact = keeper.known(ident)
        if not any(map(self._visible().shows, fact.projects)):
            raise ExpectedError(f"there is no learned fact {ident!r} in this project; the tool facts lists them")
        return fact

    def _listed(self, kind: str, limit: int, everywhere: bool) -> list[dict[str, Any]]:
        key = "" if everywhere and self.home.settings.share_projects else self.project.key
        try:
            with Keeper.at(self.home) as keeper:
                found = keeper.store.facts(live=True, project=key)
                visible = self._visible()
                found = [fact for fact in found if any(map(visible.shows, fact.projects))]
        except (sqlite3.Error, OSError) as error:
            raise ExpectedError(f"the learned facts cannot be read now ({error}); try again later") from error
        latest = sorted((fact for fact in found if kind in ("", fact.kind)), key=lambda fact: fact.last or fact.time)
        return [
            {"id": fact.id, "kind": fact.kind, "content": fact.content, "project": fact.project,
             "said_by": fact.origin, "day": (fact.last or fact.time).date().isoformat()}
            for fact in reversed(latest[-limit:])
        ]  # fmt: skip

    def _update(self, ident: str, content: str) -> str:
        try:
            with Keeper.at(self.home) as keeper:
                fact = self._known(keeper, ident)
                if fact.origin == "user":
                    raise ExpectedError(
                        f"{fact.id} is in the user's words; only {invocation.shown('learned edit')} changes it"
                    )
                keeper.edit(fact.id, content)
                told = self._renew(keeper, fact, keeper.sources(fact))
        except (sqlite3.Error, OSError) as error:
            raise ExpectedError(f"the learned facts cannot be written now ({error}); try again later") from error
        return f"{fact.id}: {fact.content[:200]}{told}"

    def _remember(self, content: str, kind: str, importance: float, tags: Sequence[str]) -> str:
        claim = {"kind": kind, "content": content, "importance": importance, "tags": list(tags)}
        claim |= {"origin": "assistant", "quote": content}
        stamp = Stamp(self.project.key, self.session, clock.now())
        checked = check([claim], Material("", assistant=content), stamp)
        if not checked.facts:
            raise ExpectedError(f"the fact was not stored: {'; '.join(checked.dropped)}")
        try:
            with Keeper.at(self.home) as keeper:
                kept = keeper.take(checked.facts, self.project.name)
                renew(self.home, keeper, [self.project.key])
        except (sqlite3.Error, OSError) as error:
            raise ExpectedError(f"the learned facts cannot be written now ({error}); try again later") from error
        if kept.repeated:
            return f"Known already as {kept.repeated[0].id}; its count was raised."
        return f"Remembered as {checked.facts[0].id}."

    def _forget(self, ident: str) -> str:
        try:
            with Keeper.at(self.home) as keeper:
                fact = self._known(keeper, ident)
                entries = keeper.sources(fact)
                fact = keeper.delete(fact.id)
                told = self._renew(keeper, fact, entries)
        except (sqlite3.Error, OSError) as error:
            raise ExpectedError(f"the learned facts cannot be written now ({error}); try again later") from error
        return f"{fact.id}: {fact.content[:200]}{told}"

    def _renew(self, keeper: Keeper, fact: Fact, entries: Sequence[str]) -> str:
        """Bring wiki and pages up to date after a change of a fact; return what it means for the articles."""
        told = consequences(self.home, entries, renew(self.home, keeper, fact.projects))
        return f"\n{told}" if told else ""


def _place(path: str, anchor: str) -> str:
    return f"{path}#^{anchor}" if anchor else path
