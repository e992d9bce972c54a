"""Summary: the paragraph below an article's title, which tells nothing that the article does not.

A model's summary is taken only when every number and name in it stands on the page. When a line of the page ends, a
current one stands in the summary's place until the next compile writes another. All functions are pure but ``renew``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from memoria.ground import markdown
from memoria.search import comparison
from memoria.search.words import stems
from memoria.statements.claim_check import unheard
from memoria.wiki.article import BEHAVIOUR, CONNECTIONS, CONVENTIONS, DECISIONS, GOTCHAS, HOW_TO, KEY_POINTS, Article

KINDS: Final = (KEY_POINTS, BEHAVIOUR, CONVENTIONS, HOW_TO, DECISIONS, GOTCHAS, CONNECTIONS)  # sections of any page
CHARS: Final = 300  # of a summary that code writes
NOTHING: Final = "Nothing of this holds any longer."
STALE: Final = 0.6  # a sentence with this part of an ended statement's words, and less of every current one's, tells it

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def is_supported(text: str, article: Article) -> bool:
    """Return whether every number and name of a summary stands on the page, in lines that hold."""
    return not unheard(text, "\n".join([article.title, *article.aliases, *(claim.text for claim in article.claims)]))


def renew(article: Article, ended: Collection[str]) -> None:
    """Take from a person's summary the sentences that tell what ``ended``; memoria's own is replaced as a whole.

    Whether it told any of them no comparison of words can say: "every 5 s" stands in what ended and in the reason of
    what holds instead.
    """
    if article.wrote_summary:
        article.summarise(plain(article))
        return
    parts = _SENTENCE_END.split(article.summary)
    kept = [part for part in parts if not _is_stale(part, article, ended)]
    if len(kept) < len(parts):
        article.summarise(" ".join(kept) or plain(article), is_own=not kept)


def is_stale(article: Article) -> bool:
    """Return whether a sentence of the summary tells what stands in the page's history."""
    ended = [claim.text for claim in article.past]
    return any(_is_stale(part, article, ended) for part in _SENTENCE_END.split(article.summary))


def plain(article: Article) -> str:
    """Return a summary from the current lines: the newest of the first section that has one with the title."""
    claims = article.headed_claims
    if not claims:
        return NOTHING
    topics = list(dict.fromkeys(heading for heading, _ in claims if heading not in KINDS))
    if len(topics) > 1:  # a project's page, whose lines are about many things
        return markdown.cut(f"{', '.join(topics)}.", CHARS)
    title = stems(article.title)
    named = [(heading, claim) for heading, claim in claims if title and title <= stems(claim.text)] or claims
    first = [claim for heading, claim in named if heading == named[0][0]]
    return markdown.cut(max(reversed(first), key=lambda claim: claim.day).text, CHARS)


def _is_stale(sentence: str, article: Article, ended: Collection[str]) -> bool:
    """Return whether a sentence tells what ended: its words more than those of any current line, or its numbers."""
    said, now = comparison.words(sentence), [comparison.words(claim.text) for claim in article.claims]
    best = max((comparison.covered(each, said) for each in now), default=0.0)
    numbers = said.numbers - {number for each in now for number in each.numbers}
    for gone in map(comparison.words, ended):
        share = comparison.covered(gone, said)
        if share >= STALE and (share > best or numbers & gone.numbers):
            return True
    return False
