"""Past: a statement that no longer holds, with what is needed to find what was made of it elsewhere.

The prose of an entry and the turns behind it still say what they said. They are evidence below statements, and shown
without the sentences that say what ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from memoria.search import comparison, cues
from memoria.search.stemming import without_ending
from memoria.search.words import holds

CITED, UNCITED = 0.6, 0.8  # share of its words that a sentence of the same entries, or of others, must hold
TOLD = 0.5  # of the words that only the ended statement has, and not what holds instead
NAMED, MIN_NAMED = 0.5, 2  # share and number of the words of a title or a line of talk that must be its own
MIN_SPOKEN = 3  # a sentence of more words than this may be a part of the quote

_PARTS = re.compile(r"[._/-]")
_words = lru_cache(maxsize=4_000)(comparison.words)  # one text is compared with many


@dataclass(frozen=True, slots=True)
class Past:
    """A statement that no longer holds.

    ``day``: ISO day on which it ceased to hold. ``instead``: what holds now, empty when nothing replaced it.
    ``quote``: the words in the conversation that proved it.
    """

    content: str
    day: str
    instead: str = ""
    quote: str = ""

    def is_said_by(self, sentence: str, *, cited: bool) -> bool:
        """Return whether a sentence says this, and not what holds instead.

        ``cited``: whether the sentence rests on the entries that contain the fact.
        """
        own, words = _words(self.content), _words(sentence)
        if not comparison.same(own, words) and not comparison.repeated_in(own, words, CITED if cited else UNCITED):
            return False
        now = _words(self.instead)
        over, new = own.signed - now.signed, now.signed - own.signed
        return len(over & words.signed) >= TOLD * len(over) if over else not new & words.signed

    def is_named_in(self, text: str) -> bool:
        """Return whether a short text, such as a title, is about this and names what holds no longer.

        Half of its words are the statement's, and one is missing from what holds instead: where a number changed,
        a number.
        """
        own, now, said = map(_words, (self.content, self.instead, text))
        shared = {word: _parts(word) & own.stems for word in said.stems}
        known = [word for word in shared if shared[word]]
        if len(known) < max(MIN_NAMED, NAMED * len(shared)):
            return False
        numbers = own.numbers - now.numbers
        if numbers and (now.numbers or not now.stems):
            return bool(numbers & said.numbers)
        return any(shared[word] - now.stems for word in known)

    def is_spoken_in(self, sentence: str) -> bool:
        """Return whether a sentence of its conversation holds the words that prove it, or says or names it."""
        if holds(sentence, self.quote) or (len(sentence.split()) > MIN_SPOKEN and holds(self.quote, sentence)):
            return True
        return self.is_said_by(sentence, cited=True) or self.is_named_in(sentence)


def _parts(word: str) -> set[str]:
    """Return a stem and the stems of the words in a name such as ``carts.py``."""
    return {word, *map(without_ending, _PARTS.split(word))}


def current(text: str, past: Iterable[tuple[Past, bool]]) -> str:
    """Return a text without the sentences that say what no longer holds; each comes with ``cited``, as above."""
    pairs, told = list(past), cues.sentences(text)
    kept = [part for part in told if not any(each.is_said_by(part, cited=cited) for each, cited in pairs)]
    return text if kept == told else " ".join(kept)
