"""Ended: what entries say that no longer holds, so that no record of a day is shown as what holds.

Three things tell it: the facts of an entry that ended, claims of an article that stand under History and cite the
entry, and what a person deleted or corrected. All of it is read from files, so that the index can always be made again.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from memoria.daily.entry import Entry
from memoria.facts.fact import Fact
from memoria.facts.past import Past, current
from memoria.facts.store import Store
from memoria.ground.errors import MemoryStoreError
from memoria.language import statements

log = logging.getLogger(__name__)

T = TypeVar("T")

_UNTIL = re.compile(r"- Until (\d{4}-\d\d-\d\d): (.*)")
_SOURCE = re.compile(r"\s*(?:\[\[)?(daily/(\d{4}-\d\d-\d\d)#\^e-[0-9a-z]+)(?:\|[^\]]*\]\])?")


def _unknown(_: str) -> Fact | None:
    return None


@dataclass(frozen=True, slots=True)
class Ended:
    """What no longer holds of what entries say.

    ``past``: by entry (``daily/2026-11-18#^e-01k9x2``), what the wiki or a person says of it. ``fact`` returns the
    fact with an id, None for one that is unknown. ``stamps``: by day (``daily/2026-11-18``), a number that
    changes with what ``past`` holds of it.
    """

    past: Mapping[str, Sequence[Past]] = field(default_factory=dict)
    fact: Callable[[str], Fact | None] = _unknown
    stamps: Mapping[str, int] = field(default_factory=dict)

    def of_fact(self, fact: Fact) -> list[Past]:
        """Return the wordings of a fact that no longer hold, with what holds instead as far as it is known."""
        found = [Past(text, "", fact.content, quote=fact.quote) for text in fact.wordings]
        if fact.is_outdated:
            day = fact.ended.date().isoformat() if fact.ended else ""
            now = self.fact(fact.successor) if fact.successor else None
            found.append(Past(fact.content, day, now.content if now else "", quote=fact.quote))
        return found

    def of_entry(self, entry: Entry, facts: Mapping[str, Fact] | None = None) -> list[Past]:
        """Return what no longer holds of an entry; what a fact of the entry still says is left out.

        ``facts``: those of its day by id, as far as they or a wording of them no longer hold.
        """
        known: list[Past] = []
        for learned in entry.learned:
            fact = self.fact(learned.id) if facts is None else facts.get(learned.id)
            if fact:
                known += self.of_fact(fact)
            elif learned.ended and facts is None:
                known.append(Past(learned.text, ""))
        live = [statements.words(learned.text) for learned in entry.learned if not learned.ended]
        found = []
        for past in (*known, *self.past.get(entry.source, ())):
            said = statements.words(past.content)
            if not any(statements.same(said, each) and said.numbers == each.numbers for each in live):
                found.append(past)
        return found

    def current(self, entry: Entry) -> Entry:
        """Return an entry without the sentences that say what no longer holds; its title says until when it held."""
        past = [(each, True) for each in self.of_entry(entry)]
        if not past:
            return entry

        def rows(texts: Iterable[str]) -> tuple[str, ...]:
            return tuple(filter(None, (current(text, past) for text in texts)))

        return replace(
            entry,
            title=titled(entry.title, (each for each, _ in past)),
            context=current(entry.context, past),
            key_exchanges=rows(entry.key_exchanges),
            decisions=rows(entry.decisions),
            lessons=rows(entry.lessons),
        )


NOTHING = Ended()


def titled(title: str, past: Iterable[Past]) -> str:
    """Return a title; when it names what no longer holds, with the day on which that ended."""
    days = [each.day for each in past if each.is_named_in(title)]
    if not days:
        return title
    return f"{title} (until {max(days)})" if max(days) else f"{title} (no longer holds)"


def of(histories: Mapping[str, tuple[str, str]], facts: Path) -> Ended:
    """Return what the histories of articles and a person's corrections say of entries.

    ``histories``: by article, the rows under History, and the text of what holds now. ``facts``: the store's file.
    """
    found: defaultdict[str, list[Past]] = defaultdict(list)
    for former, present in histories.values():
        for day, said in _UNTIL.findall(former):
            past = Past(_SOURCE.sub("", said).strip(), day, present)
            for source, _ in _SOURCE.findall(said):
                found[source].append(past)
    for past in _stored(facts, lambda store: store.taken_back().values()):
        for source in past.sources:
            found[source].append(past)

    @cache
    def known() -> dict[str, Fact]:
        return {fact.id: fact for fact in _stored(facts, lambda store: store.facts(live=False))}

    return Ended(found, lambda ident: known().get(ident), _stamps(found))


def _stored(path: Path, read: Callable[[Store], Iterable[T]]) -> list[T]:
    """Return what ``read`` finds in the store; log a warning and return nothing when there is none or it fails."""
    if not path.exists():
        return []
    try:
        with Store(path) as store:
            return list(read(store))
    except (OSError, sqlite3.Error, MemoryStoreError) as error:
        log.warning("search: which facts no longer hold is not known, because %s", error)
        return []


def _stamps(past: Mapping[str, Sequence[Past]]) -> dict[str, int]:
    stamps: defaultdict[str, int] = defaultdict(int)
    for source in sorted(past):
        text = "\n".join([source, *(each.to_json() for each in past[source])])
        day = source.partition("#")[0]
        stamps[day] = crc32(text.encode("utf-8", "replace"), stamps[day])
    return dict(stamps)
