"""Statements: compare two sentences by their words, to tell whether they say the same.

Words are stemmed (English and German endings) and light words are dropped. Words under a negation or after a contrast
("not", "instead of", "nicht", "statt") get a sign, so that "tabs, not spaces" and "spaces, not tabs" share no word.
Uses neither a model nor synonyms, and knows nothing of facts.
"""

from __future__ import annotations

import unicodedata

from memoria.base.pattern import Pattern
from memoria.search.stemming import strip_ending
from memoria.search.tokens import ENGLISH, GERMAN, word_set
from memoria.search.words import coverage, jaccard, overlap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAME = 0.6  # least Jaccard similarity of the signed words of two sentences that say the same
CONTAINED, MIN_CONTAINED = 0.9, 4  # or this share of the shorter sentence's words, when it has at least four

_WORD = Pattern(r"[^\W_]+(?:[._/-][^\W_]+)*")
_CLAUSE = Pattern(r"[;:!?]|,\s|\.\s|\s(?:because|since|so|but|as|weil|damit|sondern|aber|denn)\s")
_TOKEN = Pattern(r"[^\s,()\"`]+")
_NUMBER = Pattern(r"\d+(?:\.\d+)*|(?<=[^\W\d_]{2}\s)[A-HJ-Z](?![\w'.])")  # "queue A" too; "I" is a pronoun


# These change what a rule says ("before the commit", "after the commit"), so a comparison of rules keeps them.
_RELATIONS = word_set(
    """above after again before below between both but cannot down during few further most no nor not off once other own
    same through too under until where whose why bis durch euch kann kein keine nicht ohne uber um unter vom warum
    wie wo"""
)
# These only show that something is a rule.
_RULE_WORDS = word_set(
    """always bevorzuge bevorzugt bitte codebase damit dann die diesem dieser dieses dir done every haben hat hier immer
    instead jetzt like likes man may might must nehmen nutze nutzen please prefer preferred prefers project
    projekt rather repo repository shall since sonst statt use used user uses using verwende verwenden want wants
    war waren werden wurde"""
)
# Left out when two rules or facts are compared.
LIGHT_WORDS = ((ENGLISH | GERMAN) - _RELATIONS) | _RULE_WORDS
_NEGATIONS = word_set(
    "not never no don't dont doesn't cannot can't avoid without stop nicht nie niemals kein keine keinen keinem keiner "
    "ohne vermeide"
)
_CONTRASTS = word_set("instead over than statt anstatt anstelle")
_TURNS = word_set("but only rather sondern nur")  # these end a negation within a clause
_PLACES = word_set(
    "in to on for from at with by im in auf fur bei mit von zu zum zur"
)  # and these, after the negated word


class Words:
    """A sentence as sets: its ``stems``, the stems under a negation or contrast (``against``), its ``numbers``.

    ``numbers`` holds the letters by which things are numbered, too. ``subject``: the first stem, which says what the
    sentence is about.
    """

    __slots__ = ("against", "numbers", "stems", "subject")

    def __init__(self, stems: frozenset[str], against: frozenset[str], numbers: frozenset[str], subject: str) -> None:
        self.stems = stems
        self.against = against
        self.numbers = numbers
        self.subject = subject

    @property
    def signed_stems(self) -> frozenset[str]:
        """The stems, with a minus before those in ``against``."""
        return (self.stems - self.against) | {"-" + stem for stem in self.against}


def words(text: str) -> Words:
    """Return the words of a sentence."""
    stems: set[str] = set()
    against: set[str] = set()
    subject = ""
    for clause in _CLAUSE.split(_fold(text)):
        for part, negated in _parts(clause):
            stem = strip_ending(part)
            subject = subject or stem
            (against if negated else stems).add(stem)
    numbers = frozenset(_NUMBER.findall(text))
    return Words(frozenset(stems | against), frozenset(against - stems), numbers, subject)


def _parts(clause: str) -> Iterator[tuple[str, bool]]:
    """Yield each word of a clause except light ones, and whether it stands under a negation or contrast."""
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


def is_same(one: Words, other: Words) -> bool:
    """Return whether both say the same: similar signed words and the same numbers.

    When a single word of one stands for a single word of the other, they say it of another thing or say another thing.
    """
    if one.numbers != other.numbers:
        return False
    if len(one.stems - other.stems) == len(other.stems - one.stems) == 1:
        return False
    return jaccard(one.signed_stems, other.signed_stems) >= SAME or _contains(one, other)


def distinct(texts: Sequence[str]) -> list[int]:
    """Return the places of the texts in their order, without those of texts that say the same as a later one."""
    kept: dict[int, Words] = {}
    for place in reversed(range(len(texts))):
        said = words(texts[place])
        if not any(is_same(said, known) for known in kept.values()):
            kept[place] = said
    return sorted(kept)


def similarity(one: Words, other: Words) -> float:
    """Return the share of words that both have, regardless of signs, 0 to 1."""
    return jaccard(one.stems, other.stems)


def repeats(claim: Words, text: Words, least: float) -> bool:
    """Return whether ``text`` says the claim beside other things: its subject, numbers and most of its words."""
    is_about = claim.subject in text.stems and claim.numbers <= text.numbers
    return is_about and claim_coverage(claim, text) >= least


def claim_coverage(claim: Words, text: Words) -> float:
    """Return the share of the claim's signed words that ``text`` holds, 0 to 1."""
    return coverage(claim.signed_stems, text.signed_stems)


def _contains(one: Words, other: Words) -> bool:
    if min(len(one.signed_stems), len(other.signed_stems)) < MIN_CONTAINED or one.against != other.against:
        return False
    return overlap(one.signed_stems, other.signed_stems) >= CONTAINED


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'").replace("ß", "ss"))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))
