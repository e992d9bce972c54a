"""Summary: whether an article's summary tells what its claims tell, and a summary by plain rule.

A summary must not tell what a superseded claim told. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoria.ground import markdown
from memoria.language import statements
from memoria.wiki import evidence
from memoria.wiki.article import Article

CHARS = 300  # of a summary that code writes
STALE = 0.6  # a sentence that holds this part of a superseded claim's words, and less of every current one's, is stale
NOTHING = "Nothing of this holds any longer; what did stands under History."

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def is_supported(summary: str, article: Article, cited: str) -> bool:
    """Return whether claims and the ``cited`` text contain the summary's precise parts, and whether it is current."""
    ground = "\n".join([*(claim.text for claim in article.claims), cited])
    return not evidence.unsupported(summary, ground) and is_current(summary, article)


def is_current(summary: str, article: Article) -> bool:
    """Return whether the summary tells nothing that only superseded claims of the article tell."""
    return not divided(summary, article)[1]


def divided(summary: str, article: Article) -> tuple[str, str]:
    """Return the sentences of the summary that are current, and those that only superseded claims tell."""
    current = [claim.text for claim in article.claims]
    past = [claim.text for claim in article.past]
    gone = set(evidence.unsupported("\n".join(past), "\n".join(current)))
    sides: tuple[list[str], list[str]] = ([], [])
    for sentence in _SENTENCE_END.split(summary):
        is_stale = bool(gone.intersection(evidence.precise(sentence))) or _is_stale(sentence, current, past)
        sides[is_stale].append(sentence)
    return " ".join(sides[0]), " ".join(sides[1])


def plain(article: Article) -> str:
    """Return a summary from the current claims: the newest of the first section."""
    claims = article.headed_claims
    if not claims:
        return NOTHING
    first = [claim for heading, claim in claims if heading == claims[0][0]]
    return markdown.cut(max(reversed(first), key=lambda claim: claim.day).text, CHARS)


def _is_stale(sentence: str, current: Sequence[str], past: Sequence[str]) -> bool:
    said = statements.words(sentence)
    old = max((statements.covered(statements.words(text), said) for text in past), default=0.0)
    new = max((statements.covered(statements.words(text), said) for text in current), default=0.0)
    return old >= STALE and old > new
