"""Duplicates: search results that say the same: a learned fact, the entry that holds it, an article's claim.

Two results are duplicates when their best passages are the same sentence, apart from punctuation and links: nearly the
same words in the same order, and the same numbers. The test is strict, so that it hides nothing new.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.search.hit import Hit

SAME = 0.7  # least Jaccard similarity of word pairs; "tabs, not spaces" and "spaces, not tabs" share no pair
KINDS = ("article", "entry", "fact")  # an archived turn is kept: it is their evidence
_AROUND = "`'\"()[]{}<>,.;:!?*_|\\"


def add(hits: list[Hit], hit: Hit) -> None:
    """Append a result to better ones, unless it duplicates one; drop passages that repeat another's best one.

    A fact replaces the entry that holds it, in the entry's place: the entry's best passage is that fact.
    """
    others = [known for known in hits if known.kind != hit.kind and known.kind in KINDS and known.passages]
    if hit.kind in KINDS and hit.passages and others:
        said = sentence(hit.passages[0])
        twin = next((known for known in others if _same(sentence(known.passages[0]), said)), None)
        if twin and (twin.kind, hit.kind) == ("entry", "fact"):
            hit.score, hit.fit = max(hit.score, twin.score), max(hit.fit, twin.fit)
            hits[hits.index(twin)] = hit
        if twin:
            return
        for known in others:
            hit.passages[1:] = _without(hit.passages[1:], sentence(known.passages[0]))
            known.passages[1:] = _without(known.passages[1:], said)
    hits.append(hit)


def sentence(passage: str) -> list[str]:
    """Return the words of a passage's first line, without its bullet, its ``[kind]`` and its sources."""
    line = passage.strip().partition("\n")[0].removeprefix("- ") if passage else ""
    if line.startswith("[") and "] " in line:
        line = line.partition("] ")[2]
    words = (word.strip(_AROUND) for word in line.lower().split() if not word.startswith("daily/"))
    return [word for word in words if word]


def _without(passages: list[str], said: list[str]) -> list[str]:
    return [passage for passage in passages if not _same(sentence(passage), said)]


def _same(one: list[str], other: list[str]) -> bool:
    if one == other:
        return bool(one)
    from memoria.language.similarity import bigrams, jaccard  # noqa: PLC0415 (a hook that compares none does not pay)

    return jaccard(bigrams(one), bigrams(other)) >= SAME and _numbers(one) == _numbers(other)


def _numbers(words: list[str]) -> list[str]:
    return [word for word in words if any(letter.isdigit() for letter in word)]
