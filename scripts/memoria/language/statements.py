"""Likeness: whether two sentences say the same, the opposite, or something else, from their words alone.

Words are stemmed (English and German endings), words of no weight left out, and words under a negation or after a
contrast ("not", "instead of", "nicht", "statt") are signed: "tabs, not spaces" and "spaces, not tabs" share no word.
Knows nothing of facts; no model, no table of synonyms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SAME: Final = 0.6  # shared share of all signed words (Jaccard) from which two sentences are one fact
TOPIC: Final = 0.5  # the same without signs, from which two sentences speak about the same thing
REVISED: Final = 0.75  # the same without numbers, from which another number is a new value of the same thing
CONTAINED, MIN_CONTAINED = 0.9, 4  # or nearly all words of the shorter, when it has at least four

_WORD = re.compile(r"[^\W_]+(?:[._/-][^\W_]+)*")
_CLAUSE = re.compile(r"[;:!?]|,\s|\.\s|\s(?:because|since|so|but|as|weil|damit|sondern|aber|denn)\s")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATIONS = _set(
    "not never no don't dont doesn't cannot can't avoid without stop nicht nie niemals kein keine keinen keinem keiner "
    "ohne vermeide"
)
_CONTRASTS = _set("instead over than statt anstatt anstelle")
_TURNS = _set("but only rather sondern nur")  # end a negation within a clause
_PLACES = _set("in to on for from at with by im in auf fur bei mit von zu zum zur")  # so do these after what is negated
_LIGHT = _set(
    "a an the this that these those it its is are was were be been being am do does did done have has had will would "
    "can could should shall may might must of in on at to from for with by as and or if then so we you i he she they "
    "our your my their us me them there here when while all any some each every please always now just also very more "
    "use uses using used prefer prefers preferred want wants like likes user project codebase repo repository only "
    "because since into out up about which who what how than instead over rather "
    "der die das den dem des ein eine einen einem einer eines ist sind war waren sein wird werden wurde hat haben "
    "und oder aber wenn dann so wir du ich er sie es ihr uns mir mich dir im in am an auf aus bei mit nach von vor zu "
    "zum zur fur als auch noch nur immer bitte hier jetzt diesem dieser dieses diese projekt nutze nutzen verwende "
    "verwenden nehmen bevorzuge bevorzugt statt weil damit sonst man"
)
_ENDINGS = (
    "ization", "ations", "ation", "ments", "ment", "ness", "ings", "ing", "ungen", "ung", "edly", "ies", "ied", "ers",
    "ern", "ed", "er", "es", "en", "em", "ly", "e", "s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence as sets: its ``stems``, the stems under a negation or contrast (``against``), its ``numbers``."""

    stems: frozenset[str]
    against: frozenset[str]
    numbers: frozenset[str]

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
            (against if negated else stems).add(stem(part))
    return Words(frozenset(stems | against), frozenset(against - stems), frozenset(_NUMBER.findall(text)))


def _parts(clause: str) -> Iterator[tuple[str, bool]]:
    """The words of weight in a clause, and whether each stands under a negation or contrast."""
    negated = reached = False
    for word in re.findall(r"[^\s,()\"`]+", clause):
        bare = word.strip(".'*")
        if bare in _NEGATIONS or bare in _CONTRASTS:
            negated, reached = True, False
            continue
        if bare in _TURNS or (reached and bare in _PLACES):
            negated = False
        for part in _WORD.findall(bare):
            if part not in _LIGHT:
                reached = True
                yield part, negated


def stem(word: str) -> str:
    """The word without one common English or German ending; at least three letters stay."""
    if not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


def same(one: Words, other: Words) -> bool:
    """Whether both say the same: signed words alike and no number differs."""
    if one.numbers != other.numbers:
        return False
    return _jaccard(one.signed, other.signed) >= SAME or _contains(one, other)


def likeness(one: Words, other: Words) -> float:
    """0 to 1: the share of words in common, signs left aside."""
    return _jaccard(one.stems, other.stems)


def opposed(one: Words, other: Words) -> bool:
    """Whether both speak about the same thing, and one for what the other is against, or gives it another number."""
    if same(one, other):
        return False
    if one.numbers and other.numbers and one.numbers != other.numbers:
        return _jaccard(one.stems - one.numbers, other.stems - other.numbers) >= REVISED
    conflict = (one.against & (other.stems - other.against)) | (other.against & (one.stems - one.against))
    return bool(conflict) and (_jaccard(one.stems, other.stems) >= TOPIC or (one.stems - one.against == other.against))


def covered(claim: Words, text: Words) -> float:
    """The share of the claim's words that stand in a text, signs counted."""
    return len(claim.signed & text.signed) / len(claim.signed) if claim.signed else 0.0


def _contains(one: Words, other: Words) -> bool:
    smaller, larger = sorted((one.signed, other.signed), key=len)
    if len(smaller) < MIN_CONTAINED or one.against != other.against:
        return False
    return len(smaller & larger) / len(smaller) >= CONTAINED


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold().replace("\u2019", "'").replace("ß", "ss"))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))
