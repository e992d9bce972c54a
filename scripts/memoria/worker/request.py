"""Request: what a compile asks a model: the statements to place, the articles near them as lines, and further titles.

The articles are the few that the search index finds closest, so that the prompt does not grow with the wiki. Every line
comes with its id, by which the answer names it.

Beside them a statement is asked about that has its place, with the older one nearest to it (``near_pairs``): what was
placed without a model, by an upgrade or on another machine was never shown beside anything.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Final

from memoria.base.visibility import Visibility
from memoria.ground.home import Home
from memoria.index.index import Index
from memoria.models.protocol import JsonObject
from memoria.search import comparison
from memoria.search.comparison import Words
from memoria.search.layout import block_ids
from memoria.search.words import jaccard
from memoria.statements.fact import Fact, said_at
from memoria.statements.store import Store
from memoria.wiki.article import Article
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki

NEAR_ARTICLES: Final = 6  # articles shown with their lines; with the rows below, the prompt does not grow with the wiki
NEAR_ROWS: Final = 20  # further articles, shown by title and summary
SHOWN_LINES: Final = 30  # of these articles together: the lines nearest to any of the statements
MAX_PAIRS: Final = 5  # of one call, so that the new statements stay its matter
NEAR: Final = 0.25  # least share of all their stems that two have in common
COMMON: Final = 60  # a stem in more statements than this leads to no pair; rarer ones do


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes requests from a home's wiki and search index."""

    home: Home
    wiki: Wiki
    index: Index
    store: Store

    def build(
        self,
        facts: Sequence[Fact],
        key: str,
        rows: Mapping[str, Row],
        titles: Mapping[str, str],
        beside: Mapping[str, str],
    ) -> tuple[JsonObject, dict[str, str]]:
        """Return what a model is asked about statements of one project, and where each shown line stands, by its id.

        ``titles``: of the entry that each is in; ``beside``: lines that are shown however near they are, and their
        articles, by the ids of their statements.
        """
        view = Visibility(self.home.settings, self.home.paths, key)
        near = self.find_near(facts, view, rows)
        slugs = dict.fromkeys([*near[:NEAR_ARTICLES], *beside.values()])
        full = [article for slug in slugs if (article := self.wiki.get(slug))]
        hidden = self._hidden_ids(full, view)
        lines = _find_nearest(full, facts, beside, hidden)
        material = {
            "statements": [
                {
                    "id": fact.id,
                    "kind": fact.kind,
                    "day": self.home.zone.day(fact.time).isoformat(),
                    "about": titles.get(fact.id, ""),
                    "text": fact.content,
                }
                for fact in facts
            ],
            "articles": [_article(article, lines, hidden) for article in full],
            "index": [
                {"slug": slug.rpartition("/")[2], "title": rows[slug].title, "summary": rows[slug].summary}
                for slug in near[NEAR_ARTICLES:]
                if slug not in slugs
            ],
        }
        return material, lines

    def _hidden_ids(self, articles: Iterable[Article], view: Visibility) -> set[str]:
        """Return the statements and entries that articles cite and that belong to other projects."""
        entries = {f"e-{ident}": (about.project,) for ident, about in self.index.entries().items()}
        cited = {ident for article in articles for ident in _cited_ids(article)}
        projects = {ident: fact.projects for ident in cited if (fact := self.store.get(ident))}
        owners = {ident: projects.get(ident) or entries.get(ident, ("",)) for ident in cited}
        return {ident for ident, keys in owners.items() if not any(map(view.shows, keys))}

    def find_near(self, facts: Sequence[Fact], view: Visibility, rows: Mapping[str, Row]) -> list[str]:
        """Return the slugs of the project's articles, and of those for all, that are closest to these statements."""
        scores: dict[str, float] = {}
        for fact in facts:
            for hit in self.index.search(fact.content, limit=NEAR_ROWS, view=view, kinds=("article",)):
                slug = hit.path.removeprefix("knowledge/").removesuffix(".md")
                scores[slug] = scores.get(slug, 0.0) + hit.score
        known = (slug for slug in scores if slug in rows and rows[slug].readable and not slug.startswith("qa/"))
        return sorted(known, key=lambda slug: (-scores[slug], slug))[: NEAR_ARTICLES + NEAR_ROWS]


def _find_nearest(
    articles: Sequence[Article], facts: Sequence[Fact], beside: Mapping[str, str], hidden: Set[str]
) -> dict[str, str]:
    """Return the lines of articles that are nearest to any of these statements: their ids, and where they stand.

    Those in ``beside`` are among them, those of ``hidden`` statements are not.
    """
    said = [comparison.words(fact.content).stems for fact in facts]
    nearness = {
        (claim.id, article.slug): max(jaccard(comparison.words(claim.text).stems, each) for each in said)
        for article in articles
        for claim in article.claims
        if claim.id and claim.id not in hidden
    }
    chosen = dict(heapq.nlargest(SHOWN_LINES, nearness, key=nearness.__getitem__))
    return chosen | dict(line for line in beside.items() if line in nearness)


def _cited_ids(article: Article) -> set[str]:
    """Return the statements and entries that an article's lines show, also in its history."""
    return {ident for _, _, claim in article.lines() for ident in (*claim.ids, *block_ids(claim.render()))}


def _article(article: Article, lines: Mapping[str, str], hidden: Set[str]) -> JsonObject:
    """Return an article as a model is shown it, with those of its lines that are among ``lines``.

    A summary may tell any line, so that it is left out where some are ``hidden``.
    """
    return {
        "slug": article.name,
        "title": article.title,
        "aliases": article.aliases,
        "summary": "" if _cited_ids(article) & hidden else article.summary,
        "lines": [
            {"id": claim.id, "day": claim.day, "section": heading, "text": claim.text}
            for heading, claim in article.headed_claims
            if lines.get(claim.id) == article.slug
        ],
    }


def near_pairs(facts: Iterable[Fact], known: Collection[str]) -> list[tuple[Fact, Fact]]:
    """Return the likeliest pairs among statements of one project, each with the newer one first.

    ``known``: ids of newer ones that are left out.
    """
    likely = heapq.nlargest(MAX_PAIRS, _pairs(facts, known), key=lambda pair: (pair[0], pair[1].id))
    return [(newer, older) for _, newer, older in likely]


def _pairs(facts: Iterable[Fact], known: Collection[str]) -> Iterator[tuple[float, Fact, Fact]]:
    """Yield each statement with the older one nearest to it, after how near they are."""
    holders: defaultdict[str, list[str]] = defaultdict(list)  # the older statements that hold a stem
    older: dict[str, tuple[Fact, Words]] = {}
    for fact in sorted(facts, key=lambda fact: (said_at(fact), fact.id)):
        words = comparison.words(fact.content)
        if fact.id not in known:
            rare = (holders[stem] for stem in words.stems if len(holders[stem]) <= COMMON)
            near = (older[ident] for ident in dict.fromkeys(chain.from_iterable(rare)))
            rates = ((jaccard(words.stems, others.stems), other) for other, others in near)
            own = fact.session, fact.time  # one answer of a model, which saw them together, makes no pair
            rated = [(rate, other) for rate, other in rates if rate >= NEAR and (other.session, other.time) != own]
            if rated:
                rate, other = max(rated, key=lambda pair: (pair[0], pair[1].id))
                yield rate, fact, other
        older[fact.id] = (fact, words)
        for stem in words.stems:
            holders[stem].append(fact.id)
