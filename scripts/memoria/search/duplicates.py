"""Duplicates: search results that say the same: a learned fact, the entry that holds it, an article's claim.

Two results are duplicates when their best passages are the same sentence, apart from punctuation and links: nearly the
same words in the same order, and the same numbers. The test is strict, so that it hides nothing new.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from memoria.search.hit import Hit

SAME = 0.7  # least Jaccard similarity of word pairs; "tabs, not spaces" and "spaces, not tabs" share no pair
PASSAGES = 3  # most passages of a result
KINDS = ("article", "entry", "fact")  # an archived turn is kept: it is their evidence
_AROUND = "`'\"()[]{}<>,.;:!?*_|\\"


def add(hits: list[Hit], hit: Hit) -> None:
    """Append a result to better ones, unless it duplicates one; drop passages that repeat another's best one."""
    others = [known for known in hits if known.kind != hit.kind and known.kind in KINDS and known.passages]
    if hit.kind in KINDS and hit.passages and others:
        said = sentence(hit.passages[0])
        if any(same(sentence(known.passages[0]), said) for known in others):
            return
        for known in others:
            hit.passages[1:] = _without(hit.passages[1:], sentence(known.passages[0]))
            known.passages[1:] = _without(known.passages[1:], said)
    hits.append(hit)


def fold(hits: list[Hit], hit: Hit, sessions: Collection[str]) -> bool:
    """Make one result of a result and a better one about the same session; return False when there is none.

    ``sessions`` are those in which its best passage was said: a claim of an article that rests on several is a result
    of its own. An entry stands for its session, with what else fits; a fact or a claim stands for the turns that it was
    made from.
    """
    if len(sessions) != 1:
        return False
    better = next((known for known in hits if known.session in sessions), None)
    if better is None:
        return False
    is_shown = hit.kind != better.kind and (hit.kind == "entry" or better.kind == "turn")
    shown, other = (hit, better) if is_shown else (better, hit)
    best = other.passages[:1] if other.kind != "turn" or (other is better and shown.kind == "entry") else []
    passages = _without(shown.passages, sentence(best[0])) if best else shown.passages
    shown.passages = ([*best, *passages] if other is better else [*passages, *best])[:PASSAGES]
    shown.score, shown.also = better.score, [*better.also, other.key]
    hits[hits.index(better)] = shown
    return True


def sentence(passage: str) -> list[str]:
    """Return the words of a passage's first line, without its bullet, its ``[kind]`` and its sources."""
    line = passage.strip().partition("\n")[0].removeprefix("- ") if passage else ""
    if line.startswith("[") and "] " in line:
        line = line.partition("] ")[2]
    words = (word.strip(_AROUND) for word in line.lower().split() if not word.startswith("daily/"))
    return [word for word in words if word]


def _without(passages: list[str], said: list[str]) -> list[str]:
    return [passage for passage in passages if not same(sentence(passage), said)]


def same(one: list[str], other: list[str]) -> bool:
    """Return whether two sentences, as lists of words, say the same.

    Each word that only one of them holds stands in a pair that only that one holds, and a pair has two words. Both have
    fewer pairs than words together, so that with more such words than ``differing`` the similarity is below ``SAME``.
    """
    if one == other:
        return bool(one)
    differing = 2 * (1 - SAME) * (len(one) + len(other))
    if len(set(one).symmetric_difference(other)) > differing:
        return False
    from memoria.search.words import bigrams, jaccard  # noqa: PLC0415 (a hook that compares none does not pay)

    return jaccard(bigrams(one), bigrams(other)) >= SAME and _numbers(one) == _numbers(other)


def _numbers(words: list[str]) -> list[str]:
    return [word for word in words if any(letter.isdigit() for letter in word)]
