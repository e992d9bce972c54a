"""Statements: whether two sentences say the same, the opposite, or something else, from their words alone.

Words are stemmed (English and German endings), words of no weight left out, and words under a negation or after a
contrast ("not", "instead of", "nicht", "statt") are signed: "tabs, not spaces" and "spaces, not tabs" share no word.
Knows nothing of facts; no model, no table of synonyms.
"""

from __future__ import annotations

import unicodedata

from memoria.language.pattern import Pattern
from memoria.language.similarity import coverage, jaccard, overlap
from memoria.language.stemming import without_ending
from memoria.language.stop_words import LIGHT_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SAME = 0.6  # shared share of all signed words (Jaccard) from which two sentences are one fact
TOPIC = 0.5  # the same without signs, from which two sentences speak about the same thing
REVISED = 0.75  # the same without numbers, from which another number is a new value of the same thing
CONTAINED, MIN_CONTAINED = 0.9, 4  # or nearly all words of the shorter, when it has at least four

_WORD = Pattern(r"[^\W_]+(?:[._/-][^\W_]+)*")
_CLAUSE = Pattern(r"[;:!?]|,\s|\.\s|\s(?:because|since|so|but|as|weil|damit|sondern|aber|denn)\s")
_TOKEN = Pattern(r"[^\s,()\"`]+")
_NUMBER = Pattern(r"\d+(?:\.\d+)*")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATIONS = _set(
    "not never no don't dont doesn't cannot can't avoid without stop nicht nie niemals kein keine keinen keinem keiner "
    "ohne vermeide"
)
_CONTRASTS = _set("instead over than statt anstatt anstelle")
_TURNS = _set("but only rather sondern nur")  # end a negation within a clause
_PLACES = _set("in to on for from at with by im in auf fur bei mit von zu zum zur")  # so do these after what is negated


class Words:
    """A sentence as sets: its ``stems``, the stems under a negation or contrast (``against``), its ``numbers``."""

    __slots__ = ("against", "numbers", "stems")

    def __init__(self, stems: frozenset[str], against: frozenset[str], numbers: frozenset[str]) -> None:
        self.stems = stems
        self.against = against
        self.numbers = numbers

    @property
    def signed(self) -> frozenset[str]:
        """The stems with a minus before those that are spoken against."""
        return (self.stems - self.against) | {"-" + stem for stem in self.against}


def words(text: str) -> Words:
    """Take a sentence apart."""
    stems: set[str] = set()
    against: set[str] = set()
    for clause in _CLAUSE.split(_folded(text)):
        for part, negated in _parts(clause):
            (against if negated else stems).add(without_ending(part))
    return Words(frozenset(stems | against), frozenset(against - stems), frozenset(_NUMBER.findall(text)))


def _parts(clause: str) -> Iterator[tuple[str, bool]]:
    """The words of weight in a clause, and whether each stands under a negation or contrast."""
    negated = reached = False
    for word in _TOKEN.findall(clause):
        bare = word.strip(".'*")
        if bare in _NEGATIONS or bare in _CONTRASTS:
            negated, reached = True, False
            continue
        if bare in _TURNS or (reached and bare in _PLACES):
            negated = False
        for part in _WORD.findall(bare):
            if part not in LIGHT_WORDS:
                reached = True
                yield part, negated


def same(one: Words, other: Words) -> bool:
    """Whether both say the same: signed words alike and no number differs."""
    if one.numbers != other.numbers:
        return False
    return jaccard(one.signed, other.signed) >= SAME or _contains(one, other)


def likeness(one: Words, other: Words) -> float:
    """0 to 1: the share of words in common, signs left aside."""
    return jaccard(one.stems, other.stems)


def opposed(one: Words, other: Words) -> bool:
    """Whether both speak about the same thing, and one for what the other is against, or gives it another number."""
    if same(one, other):
        return False
    if one.numbers and other.numbers and one.numbers != other.numbers:
        return jaccard(one.stems - one.numbers, other.stems - other.numbers) >= REVISED
    conflict = (one.against & (other.stems - other.against)) | (other.against & (one.stems - one.against))
    return bool(conflict) and (jaccard(one.stems, other.stems) >= TOPIC or (one.stems - one.against == other.against))


def covered(claim: Words, text: Words) -> float:
    """The share of the claim's words that stand in a text, signs counted."""
    return coverage(claim.signed, text.signed)


def _contains(one: Words, other: Words) -> bool:
    if min(len(one.signed), len(other.signed)) < MIN_CONTAINED or one.against != other.against:
        return False
    return overlap(one.signed, other.signed) >= CONTAINED


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'").replace("ß", "ss"))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))
