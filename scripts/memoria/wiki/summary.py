"""Summary: the paragraph below an article's title, which tells nothing that the article does not.

A model's summary is taken only when every number and name in it stands on the page. One that tells what ended is
replaced by a statement that holds, until the next compile writes another. All functions are pure but ``renew``.
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
NOTHING: Final = "Nothing of this holds any longer; what did stands under History."
MOVED: Final = "What stood here has articles of its own."
STALE: Final = 0.6  # of the words of an ended statement: a sentence with fewer does not tell it

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def is_supported(text: str, article: Article) -> bool:
    """Return whether every number and name of a summary stands on the page, and nothing that ended."""
    ground = "\n".join([article.title, *article.aliases, *(claim.text for claim in article.claims)])
    past = [claim.text for claim in article.past]
    return not unheard(text, ground) and not any(_is_stale(part, article, past) for part in _SENTENCE_END.split(text))


def renew(article: Article, ended: Collection[str]) -> None:
    """Take from the summary what only ``ended`` statements told; of memoria's own, nothing is left then."""
    parts = _SENTENCE_END.split(article.summary)
    if article.wrote_summary:
        told = [comparison.words(part) for part in parts]
        over = [comparison.words(text) for text in ended]
        if not is_supported(article.summary, article) or any(
            comparison.covered(gone, said) >= STALE for gone in over for said in told
        ):
            article.summarise(plain(article))
        return
    kept = [part for part in parts if not _is_stale(part, article, ended)]
    if len(kept) < len(parts):
        article.summarise(" ".join(kept) or plain(article), is_own=not kept)


def plain(article: Article) -> str:
    """Return a summary from the current lines: the newest of the first section that has one with the title."""
    claims = article.headed_claims
    if not claims:
        return NOTHING if article.past else MOVED
    topics = list(dict.fromkeys(heading for heading, _ in claims if heading not in KINDS))
    if len(topics) > 1:  # a project's page, whose lines are about many things
        return markdown.cut(f"{', '.join(topics)}.", CHARS)
    title = stems(article.title)
    named = [(heading, claim) for heading, claim in claims if title and title <= stems(claim.text)] or claims
    first = [claim for heading, claim in named if heading == named[0][0]]
    return markdown.cut(max(reversed(first), key=lambda claim: claim.day).text, CHARS)


def _is_stale(sentence: str, article: Article, ended: Collection[str]) -> bool:
    """Return whether a sentence tells what ended: more words of it than of any current line, or its numbers."""
    said, now = comparison.words(sentence), [comparison.words(claim.text) for claim in article.claims]
    best = max((_told(each, said) for each in now), default=(0, 0.0))
    numbers = said.numbers - {number for each in now for number in each.numbers}
    for gone in map(comparison.words, ended):
        told = _told(gone, said)
        if told[1] >= STALE and (told > best or numbers & gone.numbers):
            return True
    return False


def _told(statement: comparison.Words, said: comparison.Words) -> tuple[int, float]:
    """Return how many of a statement's words a sentence holds, and the share of them."""
    return len(statement.signed & said.signed), comparison.covered(statement, said)
