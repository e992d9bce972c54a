"""Patience: decide whether entries wait for others, because a compile sends its instructions for one as for several.

An entry does not wait when the wiki is small, when a person or a newer fact has changed what it says, or when it speaks
of what a claim speaks of: then the claim may no longer hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from memoria.compiling.compiler import Compile
from memoria.compiling.request import NEAR_ARTICLES
from memoria.daily import gate
from memoria.daily.entry import OWN_WORDS, Entry
from memoria.ground import clock
from memoria.language import statements
from memoria.language.pattern import Pattern
from memoria.language.similarity import coverage

ENOUGH: Final = 5  # entries for a compile
LONGEST: Final = timedelta(days=1)  # since the last compile
# The words of a claim that a statement about the same thing holds. Of 33 statements in tests/stories that end another,
# 32 hold as many of its words; the other one names the same test.
MIN_SHARE: Final = 0.3
MIN_WORDS: Final = 2
_NAME = Pattern(r"\w[._/]\w|[a-z]\d|\d[a-z]")  # a word like this names one thing


def can_wait(compile_: Compile, entries: Sequence[Entry]) -> bool:
    """Return whether these entries can wait for others before they are compiled."""
    ledger = compile_.ledger
    if len(entries) >= ENOUGH or ledger.get(gate.FAILED) or not entries:
        return False
    if gate.changed(ledger, [entry.booked for entry in entries]):
        return False
    known = ledger.get(gate.PUT_OFF) or ()
    fresh = [entry for entry in entries if entry.id not in known]
    last, now = clock.parse(ledger.get(gate.COMPILED)), clock.now()
    is_first = ledger.compiled() < gate.FIRST_ENTRIES
    is_time = is_first or last is None or last > now or now - last >= LONGEST
    if is_time and any(entry.model != OWN_WORDS for entry in entries):
        return False
    return not any(_concerns_wiki(compile_, entry) for entry in fresh)


def _concerns_wiki(compile_: Compile, entry: Entry) -> bool:
    """Return whether an entry may be about what a claim says."""
    rows = compile_.article_cache.rows()
    near = [slug for slug in compile_.requests.near([entry], rows) if rows[slug].readable][:NEAR_ARTICLES]
    claims = [claim.text for slug in near if (article := compile_.wiki.get(slug)) for _, claim in article.headed_claims]
    return is_about(_statements(entry), claims)


def _statements(entry: Entry) -> list[str]:
    facts = [fact.text for fact in entry.learned]
    return [entry.context, *entry.key_exchanges, *entry.decisions, *entry.lessons, *facts]


def is_about(said: Iterable[str], claims: Iterable[str]) -> bool:
    """Return whether one of these statements may be about the same thing as one of the claims."""
    rows = [statements.words(text).stems for text in said]
    return any(_is_near(statements.words(claim).stems, row) for claim in claims for row in rows)


def _is_near(claim: frozenset[str], row: frozenset[str]) -> bool:
    shared = claim & row
    return any(map(_NAME.search, shared)) or (len(shared) >= MIN_WORDS and coverage(claim, row) >= MIN_SHARE)
