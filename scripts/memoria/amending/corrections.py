"""Corrections: a person's change of learned facts or of lines of articles, with everything that follows from it.

The daily log is changed first, then the store, then the articles and the prepared pages. A line is put right, retired
or removed: its statement is reworded, ended by the user's words, or deleted, every article that shows it follows in one
transaction, and ``memoria undo`` takes both back. If there is a memory server, the change is queued for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoria.base.project import name_of
from memoria.ground import clock, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages.refresh import consequences, renew
from memoria.statements.fact import GLOBAL, MAX_STORED, Ending, Fact, Stamp, new_id, plain
from memoria.statements.keeper import Keeper
from memoria.wiki import lines
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki
from memoria.wiki.settle import IMPORTANCE, Settle
from memoria.wiki.transaction import End

Change = Callable[[Keeper, Fact], list[End]]


@dataclass(frozen=True, slots=True)
class Corrected:
    """The changed facts; ``told`` says in words what it means for the articles, ``""`` when it means nothing."""

    facts: tuple[Fact, ...]
    told: str


def edit(home: Home, keeper: Keeper, ident: str, text: str) -> Corrected:
    """Change the wording of a fact; raise ExpectedError when there is no such fact, or the text does not fit."""
    words = Redactor(home.settings.redact_extra).redact(text)
    if len(words) > MAX_STORED:
        raise ExpectedError(f"A fact has one to three sentences and at most {MAX_STORED} characters, not {len(words)}.")
    changed = keeper.edit(ident, words)
    return _published(home, keeper, [changed])


def delete(home: Home, keeper: Keeper, idents: Sequence[str]) -> Corrected:
    """Delete facts; raise ExpectedError, and delete none, when one of them does not exist."""
    known = [keeper.known(ident) for ident in idents]
    gone = [keeper.delete(fact.id) for fact in dict.fromkeys(known)]
    return _published(home, keeper, gone)


def promote(home: Home, keeper: Keeper, idents: Sequence[str]) -> Corrected:
    """Make facts hold in every project; raise ExpectedError, and change none, when one of them does not exist."""
    known = [keeper.known(ident) for ident in idents]
    return _published(home, keeper, [keeper.promote(fact.id) for fact in dict.fromkeys(known)])


def _published(home: Home, keeper: Keeper, changed: Iterable[Fact]) -> Corrected:
    """Bring wiki and pages up to date after a change of facts."""
    facts = tuple(changed)
    slugs = renew(home, keeper, {place for fact in facts for place in fact.projects})
    return Corrected(facts, consequences(slugs))


def correct(home: Home, slug: str, ident: str, text: str) -> None:
    """Let a line say ``text``; ``ident`` is its digest. Raise ExpectedError when that is impossible."""
    said = _words(home, text)
    if not said:
        raise ExpectedError("A statement needs words; to take it away, retire or remove it.")

    def change(keeper: Keeper, fact: Fact) -> list[End]:
        if said == fact.content:
            raise ExpectedError("That is what it says already.")
        if not lines.is_rewording(said, fact.content):
            return _replace(keeper, fact, said)
        keeper.edit(fact.id, said)
        return []

    _write(home, slug, ident, "put right", change)


def retire(home: Home, slug: str, ident: str, why: str = "") -> None:
    """End the statement of a line; the reason that the user gives, if any, is the statement that holds instead."""
    reason = _words(home, why)

    def change(keeper: Keeper, fact: Fact) -> list[End]:
        if reason:
            return _replace(keeper, fact, reason)
        ending = Ending(fact.id, clock.now(), "user")
        keeper.take([], endings=[ending])
        return [ending.to_dict() | {"content": fact.content, "why": "the user said that it no longer holds"}]

    _write(home, slug, ident, "retired", change)


def remove(home: Home, slug: str, ident: str) -> None:
    """Delete the statement of a line, without a trace in the history."""

    def change(keeper: Keeper, fact: Fact) -> list[End]:
        keeper.delete(fact.id)
        end = {"id": fact.id, "ended": clock.now().isoformat(), "removed": fact.to_dict()}
        return [end | {"content": fact.content, "why": "removed"}]

    _write(home, slug, ident, "removed", change)


def _words(home: Home, text: str) -> str:
    said = plain(Redactor(home.settings.redact_extra).redact(text))
    if len(said) > MAX_STORED:
        raise ExpectedError(f"A statement has at most {MAX_STORED} characters, not {len(said)}.")
    return said


def _replace(keeper: Keeper, old: Fact, said: str) -> list[End]:
    now = clock.now()
    ident = new_id(old.kind, said, Stamp(old.project, "", now))
    new = Fact(old.kind, said, IMPORTANCE, "user", old.project, now, ident, quote=said, supersedes=(old.id,))
    kept = keeper.take([new], name_of(old.project) if old.project != GLOBAL else "")
    successor = next(iter((*kept.added, *kept.repeated)), new)
    born = {"born": successor.id} if kept.added else {}
    ended = keeper.store.get(old.id)
    moment = ended.ended if ended and ended.ended else now
    end = Ending(old.id, moment, "user", successor.id)
    return [end.to_dict() | born | {"content": old.content, "why": "the user said so"}]


def _write(home: Home, slug: str, ident: str, what: str, change: Change) -> None:
    """Change the statement of a line and every article that shows it; raise ExpectedError when that is impossible."""
    with locks.held(Path(home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        with Keeper.at(home) as keeper, Index(home.paths.index) as index:
            sources.refresh(index, home.paths)
            Settle(home, keeper, index).run()  # so that the line has its statement
            article = _readable(Wiki.of(home.paths), slug)
            named = next((claim.id for claim in article.claims if claim.digest == ident), "")
            fact = keeper.store.get(named) if named else None
            if fact is None:
                raise ExpectedError("The article no longer says this; reload its page.")
            ends = change(keeper, fact)
            Settle(home, keeper, index, ends=ends, label=f"{what} a statement of {article.title}").run()
    with Keeper.at(home) as keeper:  # without the lock, so that the wiki's own pages are brought up to date too
        renew(home, keeper)


def _readable(wiki: Wiki, slug: str) -> Article:
    try:
        article = wiki.get(slug)
    except ValueError as error:
        raise ExpectedError(f"The page cannot be read ({error}); repair its frontmatter first.") from error
    if article is None:
        raise ExpectedError("There is no such article any more.")
    return article
