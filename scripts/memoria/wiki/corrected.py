"""Corrected: statements of entries that a person put right in an article.

The entry that a claim cites still says what it said. When a person gives such a claim another value, the entry's
sentence no longer holds. Which claims memoria wrote is recorded in the wiki's log; the others are a person's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from memoria.daily.entry import Entry
from memoria.search import comparison, cues
from memoria.search.words import jaccard
from memoria.statements.past import Past
from memoria.wiki.article import Article, Claim
from memoria.wiki.founding import Wrote

REVISED, REPLACED = 0.75, 0.6  # least similarity of sentences in which a number, or one word, differs


def corrected(
    articles: Iterable[Article], wrote: Wrote, entry_at: Callable[[str], Entry | None], day: str
) -> dict[str, Past]:
    """Return what entries say that a person put right, each under a name of its own; ``day`` is today (ISO)."""
    found: dict[str, Past] = {}
    for article in articles:
        known = wrote.get(article.slug) or frozenset()
        if not known - {claim.digest for claim in (*article.claims, *article.past)}:
            continue
        for claim in article.claims:
            if claim.digest in known:
                continue
            for source in claim.sources:
                entry = entry_at(source)
                said = _replaced(claim, article, _sentences(entry)) if entry else ""
                if said:
                    name = f"{article.slug} {claim.digest} {source}"
                    found[name] = Past(said, day, claim.text, sources=(source,))
    return found


def restored(articles: Iterable[Article], records: Mapping[str, Past]) -> list[str]:
    """Return the names of the records whose statements their articles tell again."""
    pages = {article.slug: article for article in articles}
    return [
        name
        for name, past in records.items()
        if (page := pages.get(name.partition(" ")[0])) and any(claim.says(past.content) for claim in page.claims)
    ]


def _sentences(entry: Entry) -> Iterator[str]:
    for text in (
        entry.context,
        *entry.key_exchanges,
        *entry.decisions,
        *entry.lessons,
        *(line.text for line in entry.learned),
    ):
        yield from cues.sentences(text)


def _replaced(claim: Claim, article: Article, sentences: Iterable[str]) -> str:
    """Return the sentence that is most like the claim but for a value, ``""`` when there is none."""
    now = comparison.words(claim.text)
    best, found = 0.0, ""
    for sentence in sentences:
        said = comparison.words(sentence)
        likeness = jaccard(said.stems, now.stems)
        others = any(other is not claim and other.says(sentence) for other in article.claims)
        if likeness > best and not others and _has_another_value(said, now):
            best, found = likeness, sentence
    return found


def _has_another_value(old: comparison.Words, new: comparison.Words) -> bool:
    if comparison.differ_in_subject(old, new):
        return False
    if old.numbers != new.numbers:
        return jaccard(_without_numbers(old), _without_numbers(new)) >= REVISED
    one_each = len(old.stems - new.stems) == len(new.stems - old.stems) == 1
    return one_each and jaccard(old.stems, new.stems) >= REPLACED


def _without_numbers(words: comparison.Words) -> frozenset[str]:
    return frozenset(stem for stem in words.stems if not stem[0].isdigit())
