"""Summary: whether an article's summary tells what its claims tell, and a summary by plain rule.

A summary must not tell what a superseded claim told. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoria.ground import markdown
from memoria.search import comparison
from memoria.search.words import stems
from memoria.wiki import evidence
from memoria.wiki.article import Article

CHARS = 300  # of a summary that code writes
STALE = 0.6  # a sentence that holds this part of a superseded claim's words, and less of every current one's, is stale
NOTHING = "Nothing of this holds any longer; what did stands under History."

_CHANGE = re.compile(
    r"(?i)→|->|\b(?:from|instead|rather|replac\w+|renam\w+|remov\w+|mov\w+|drop\w*|delet\w+|reject\w+|was|were|no|not"
    r"|never|former\w*|previous\w*|old|until|used to|gone|without)\b"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def is_supported(summary: str, article: Article, cited: str, news: str = "") -> bool:
    """Return whether claims and the ``cited`` text contain the summary's precise parts, and whether it is current.

    ``news``: the text of cited entries that are the source of no superseded claim.
    """
    ground = "\n".join([*(claim.text for claim in article.claims), cited])
    return not evidence.unsupported(summary, ground) and is_current(summary, article, news)


def is_current(summary: str, article: Article, news: str = "") -> bool:
    """Return whether the summary tells nothing that only superseded claims of the article tell."""
    return not divided(summary, article, news)[1]


def divided(summary: str, article: Article, news: str = "") -> tuple[str, str]:
    """Return the sentences of the summary that are current, and those that only superseded claims tell."""
    current = [claim.text for claim in article.claims]
    past = [claim.text for claim in article.past]
    gone = set(evidence.unsupported("\n".join(past), "\n".join(current)))
    gone = {part for part in gone if not _still_holds(part, news)} if news else gone
    sides: tuple[list[str], list[str]] = ([], [])
    for sentence in _SENTENCE_END.split(summary):
        is_stale = bool(gone.intersection(evidence.precise(sentence))) or _is_stale(sentence, current, past)
        sides[is_stale].append(sentence)
    return " ".join(sides[0]), " ".join(sides[1])


def plain(article: Article) -> str:
    """Return a summary from the current claims: the newest of the first section that has a claim with the title."""
    claims = article.headed_claims
    if not claims:
        return NOTHING
    title = stems(article.title)
    named = [(heading, claim) for heading, claim in claims if title and title <= stems(claim.text)] or claims
    first = [claim for heading, claim in named if heading == named[0][0]]
    return markdown.cut(max(reversed(first), key=lambda claim: claim.day).text, CHARS)


def _still_holds(part: str, news: str) -> bool:
    """Return whether a name is in a sentence of newer entries that tells of no change: the file of what changed."""
    if not any(sign in part for sign in "/._-") or any(sign.isdigit() for sign in part):
        return False
    sentences = (each for row in news.splitlines() for each in _SENTENCE_END.split(row) if not _CHANGE.search(each))
    return any(not evidence.unsupported(f"`{part}`", each) for each in sentences)


def _is_stale(sentence: str, current: Sequence[str], past: Sequence[str]) -> bool:
    said = comparison.words(sentence)
    new = max((comparison.covered(comparison.words(text), said) for text in current), default=0.0)
    shares = ((comparison.covered(comparison.words(text), said), text) for text in past)
    return any(old >= STALE and old > new and not _has_new_value(sentence, current, text) for old, text in shares)


def _has_new_value(sentence: str, current: Sequence[str], old: str) -> bool:
    """Return whether a sentence has precise parts of current claims in the place of those of a superseded one."""
    new = set(evidence.unsupported(sentence, old)) - set(evidence.unsupported(sentence, "\n".join(current)))
    return bool(new and evidence.unsupported(old, sentence))
