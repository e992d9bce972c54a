"""Ended: what entries say that no longer holds, so that no record of a day is shown as what holds.

The prose of an entry and the turns behind it still say what they said. They are evidence below statements, and shown
without the sentences that say what ended, which the facts of the entry tell.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, lru_cache
from pathlib import Path

from memoria.base import sqlite
from memoria.base.paths import Paths
from memoria.daily.entry import Entry, Learned
from memoria.ground.errors import MemoryStoreError
from memoria.search import comparison, cues
from memoria.search.stemming import strip_ending
from memoria.search.words import holds
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.store import Store

log = logging.getLogger(__name__)

CITED, UNCITED = 0.6, 0.8  # share of its words that a sentence of the same entries, or of others of its day, must hold
TOLD = 0.5  # of the words that only the ended statement has, and not what holds instead
NAMED, MIN_NAMED = 0.5, 2  # share and number of the words of a title or a line of talk that must be its own
MIN_SPOKEN = 3  # a sentence of more words than this may be a part of the quote

_PARTS = re.compile(r"[._/-]")
_words = lru_cache(maxsize=4_000)(comparison.words)  # one text is compared with many


@dataclass(frozen=True, slots=True)
class Past:
    """A statement that no longer holds.

    ``day``: ISO day on which it ceased to hold. ``instead``: what holds now, empty when nothing replaced it.
    ``quote``: the words in the conversation that proved it. ``cited``: whether what is looked at rests on the entries
    that contain the fact; elsewhere more of its words must stand, and nothing names it.
    """

    content: str
    day: str
    instead: str = ""
    quote: str = ""
    cited: bool = True
    least: float = CITED  # share of its words that a sentence must hold to say it

    def is_said_by(self, sentence: str) -> bool:
        """Return whether a sentence says this, and not what holds instead."""
        own, words = _words(self.content), _words(sentence)
        if not comparison.is_same(own, words) and not comparison.repeats(own, words, self.least):
            return False
        now = _words(self.instead)
        over, new = own.signed_stems - now.signed_stems, now.signed_stems - own.signed_stems
        return len(over & words.signed_stems) >= TOLD * len(over) if over else not new & words.signed_stems

    def is_named_in(self, text: str, *, is_over: bool = False) -> bool:
        """Return whether a short text, such as a title, is about this and names what holds no longer.

        Half of its words are the statement's, and one is missing from what holds instead: where a number changed,
        a number. ``is_over``: nothing that was learned there holds, so that the words may stand in what holds instead.
        """
        if not self.cited:
            return False
        own, now, said = map(_words, (self.content, self.instead, text))
        # a stem, and the stems of the words in a name such as ``carts.py``
        shared = {word: own.stems & {word, *map(strip_ending, _PARTS.split(word))} for word in said.stems}
        known = [word for word in shared if shared[word]]
        if len(known) < max(MIN_NAMED, NAMED * len(shared)):
            return False
        if is_over:
            return True
        numbers = own.numbers - now.numbers
        if numbers and (now.numbers or not now.stems):
            return bool(numbers & said.numbers)
        return any(shared[word] - now.stems for word in known)

    def is_spoken_in(self, sentence: str) -> bool:
        """Return whether a sentence of its conversation holds the words that prove it, or says or names it."""
        if holds(sentence, self.quote) or (len(sentence.split()) > MIN_SPOKEN and holds(self.quote, sentence)):
            return True
        return self.is_said_by(sentence) or self.is_named_in(sentence)


def drop_ended(text: str, past: Collection[Past]) -> str:
    """Return a text without the sentences that say what no longer holds."""
    told = cues.sentences(text)
    kept = [part for part in told if not any(each.is_said_by(part) for each in past)]
    return text if kept == told else " ".join(kept)


@dataclass(frozen=True, slots=True)
class Ended:
    """What no longer holds of what entries say.

    ``deleted`` returns what a person deleted of a session (by its id), ``fact`` the fact with an id, None for one that
    is unknown, ``again`` the ended facts that were said again, from when they were first said to the last time, on a
    day (ISO), and ``stands`` whether another fact says the same where a fact was said.
    """

    fact: Callable[[str], Fact | None] = lambda _: None
    deleted: Callable[[str], Sequence[Past]] = lambda _: ()
    again: Callable[[str], Sequence[Fact]] = lambda _: ()
    stands: Callable[[Fact], bool] = lambda _: False

    def beside(self, day: str, project: str, others: Iterable[Fact] = (), but: Collection[str] = ()) -> list[Past]:
        """Return what is over of what ``others`` say and was said again by a day in a project, ``but`` for these ids.

        An entry that says again what is known holds no reference to it: it is known by its words, by all of them on
        another day.
        """
        told = {fact.id: (fact, 1.0) for fact in self.again(day) if not self.stands(fact)}
        told |= {fact.id: (fact, UNCITED) for fact in others}
        here = (pair for ident, pair in told.items() if ident not in but)
        here = (pair for pair in here if GLOBAL in pair[0].projects or project in ("", *pair[0].projects))
        return [replace(each, cited=False, least=least) for fact, least in here for each in self.fact_pasts(fact)]

    def fact_pasts(self, fact: Fact) -> list[Past]:
        """Return the wordings of a fact that no longer hold, with what holds instead as far as it is known."""
        found = [Past(text, "", fact.content, quote=fact.quote) for text in fact.wordings]
        if fact.is_outdated:
            day = fact.ended.date().isoformat() if fact.ended else ""
            now = self.fact(fact.successor)
            found.append(Past(fact.content, day, now.content if now else "", quote=fact.quote))
        return found

    def entry_pasts(self, entry: Entry, facts: Mapping[str, Fact] | None = None) -> list[Past]:
        """Return what no longer holds of an entry; what a fact of the entry still says is left out.

        ``facts``: those of its day by id, as far as they or a wording of them no longer hold.
        """
        known: list[Past] = []
        for learned in entry.learned:
            fact = self.fact(learned.id) if facts is None else facts.get(learned.id)
            if fact:
                known += self.fact_pasts(fact)
            elif learned.ended:
                known.append(Past(learned.text, ""))
        others, own = (facts or {}).values(), {learned.id for learned in entry.learned}
        beside = self.beside(entry.day.isoformat(), entry.project_key, others, own)
        past = [*known, *self.deleted(entry.session), *beside]
        if not past:
            return []
        live = [comparison.words(learned.text) for learned in entry.learned if not learned.ended]
        found = []
        for each in past:
            said = comparison.words(each.content)
            if not any(comparison.is_same(said, other) for other in live):
                found.append(each)
        return found

    def drop_ended(self, entry: Entry) -> Entry:
        """Return an entry without the sentences that say what no longer holds; its title says until when it held."""
        past = self.entry_pasts(entry)
        if not past:
            return entry

        def rows(texts: Iterable[str]) -> tuple[str, ...]:
            return tuple(filter(None, (drop_ended(text, past) for text in texts)))

        return replace(
            entry,
            title=mark_title(entry.title, past, entry.learned),
            context=drop_ended(entry.context, past),
            key_exchanges=rows(entry.key_exchanges),
            decisions=rows(entry.decisions),
            lessons=rows(entry.lessons),
        )


NOTHING = Ended()


def mark_title(title: str, past: Iterable[Past], learned: Sequence[Learned] = ()) -> str:
    """Return a title; when it names what no longer holds, with the day on which that ended.

    ``learned``: the statements of the entry that it is the title of.
    """
    is_over = bool(learned) and all(each.ended for each in learned)
    days = [each.day for each in past if each.is_named_in(title, is_over=is_over)]
    if not days:
        return title
    return f"{title} (until {max(days)})" if max(days) else f"{title} (no longer holds)"


def read_ended(paths: Paths) -> Ended:
    """Return what no longer holds by the store of statements."""

    @cache
    def known_facts() -> dict[str, Fact]:
        return {fact.id: fact for fact in _read_store(paths, lambda store: store.facts(live=False))}

    @cache
    def deleted_pasts() -> dict[str, list[Past]]:
        found: defaultdict[str, list[Past]] = defaultdict(list)
        for fact in _read_store(paths, Store.deleted_facts):
            found[fact.session].append(Past(fact.content, "", quote=fact.quote))
        return found

    @cache
    def again() -> list[tuple[str, str, Fact]]:
        later = timedelta(days=1)  # it may be the next day already where the user is
        facts = _read_store(paths, Store.repeated_endings)
        return [(fact.time.date().isoformat(), ((fact.last or fact.time) + later).date().isoformat(), fact)
                for fact in facts]  # fmt: skip

    return Ended(
        lambda ident: known_facts().get(ident),
        lambda session: deleted_pasts().get(session, ()) if session else (),
        lambda day: [fact for first, last, fact in again() if first <= day <= last],
        cache(lambda fact: bool(_read_store(paths, lambda store: store.copies(fact)))),  # 16 ms among 5,000
    )


def _read_store(paths: Paths, read: Callable[[Store], list[Fact]]) -> list[Fact]:
    """Return facts of the store; log a warning and return nothing when there is no store or it fails."""
    if not Path(paths.facts).exists():
        return []
    try:
        with Store(paths) as store:
            return read(store)
    except (OSError, sqlite.module().Error, MemoryStoreError) as error:
        log.warning("search: which facts no longer hold is not known, because %s", error)
        return []
