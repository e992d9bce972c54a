"""Words: split a text into words, compare what two texts share, and the lists of words that carry little meaning."""

from __future__ import annotations

from memoria.base.pattern import Pattern
from memoria.search.stemming import porter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set
    from typing import Any


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list separated by blanks or line breaks."""
    return frozenset(text.split())


# Closed-class words only (articles, pronouns, prepositions, auxiliaries, question words), in lower case and without
# accents; no content words.
ENGLISH = word_set(
    """a about above after again all also am an and any are aren as at be because been before being below between both
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most my myself no nor not now of off on once only or other our ours ourselves out over own
    re s same she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which while who
    whom whose why will with won would wouldn you your yours yourself yourselves"""
)
GERMAN = word_set(
    """aber als am an auch auf aus bei bis das dass dem den der dies diese durch ein eine einem einen einer eines er es
    euch fur hatte ich ihm ihn ihr im ist ja kann kein keine mein mich mir nach nicht noch nur oder ohne sein
    sich sie sind uber um und uns unter vom von vor warum was weil wenn wer wie wir wird wo zu zum zur"""
)  # without "mit", which is a licence
_ROMANCE = word_set(  # French, Spanish, Portuguese, Italian
    """au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui mais mes moi mon ne nos nous
    ou par pas pour qu que qui sa sans se ses sont sur ta te tes toi tu un une vos votre vous al como con cual
    cuando da del della di do dos e el ella en entre esta este esto foi gli ha hay il la las lo los mas mi muy na
    nao nei no non nos o para per pero por porque que quien se si sobre sono su sus te tiene um uma un una uno y
    ya yo"""
)
# Left out of the search index: any text can be searched for, so this holds nothing that could be a content word.
FUNCTION_WORDS = ENGLISH | GERMAN | _ROMANCE

_WORD = Pattern(r"\w+")
# Soft hyphen, zero-width characters, direction marks, word joiner, variation selectors, byte order mark.
_INVISIBLE = dict.fromkeys(
    (0xAD, 0x34F, 0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x2070),
     *range(0xFE00, 0xFE10), 0xFEFF)
)  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def stems(text: str) -> frozenset[str]:
    """Return the stems of the content words, by which the titles of one topic can be compared."""
    return frozenset(porter(word) for word in words(text) if word not in FUNCTION_WORDS)


def shorten(text: str, limit: int) -> str:
    """Return ``text``, cut at a word and given an ellipsis when it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip(" ,;:-(") + "…"


def folded(text: str) -> str:
    """Return one form of a text for all its spellings: what a person would call the same, a comparison finds.

    Letter case, white space of any kind (including the line separators of Unicode), composed and decomposed letters,
    and characters that are not shown make no difference.
    """
    if not text.isascii():
        import unicodedata  # noqa: PLC0415 (not for a hook)

        text = unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).casefold()
        text = unicodedata.normalize("NFKC", text)  # casefolding may decompose letters
    return " ".join(text.casefold().split())


def holds(text: str, needle: str) -> bool:
    """Return whether ``text`` contains ``needle`` when both are folded; an empty needle is contained in nothing."""
    plain = folded(needle)
    return bool(plain) and plain in folded(text)


def jaccard(one: Set[Any], other: Set[Any]) -> float:
    """Return the share of all members that both sets hold, 0 to 1; 0 when both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def overlap(one: Set[Any], other: Set[Any]) -> float:
    """Return the share of the smaller set's members that the larger one holds, 0 to 1; 0 when one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def coverage(claim: Set[Any], text: Set[Any]) -> float:
    """Return the share of ``claim`` that ``text`` holds, 0 to 1; 0 when ``claim`` is empty."""
    return len(claim & text) / len(claim) if claim else 0.0


def bigrams(words: list[str]) -> set[tuple[str, str]]:
    """Return each pair of neighbouring words."""
    return set(zip(words, words[1:]))
