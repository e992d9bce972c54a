"""Request: what a compile asks a model: the statements to place, the articles near them as lines, and further titles.

The articles are the few that the search index finds closest, so that the prompt does not grow with the wiki. Every line
comes with its id, by which the answer names it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from memoria.base.visibility import Visibility
from memoria.ground.home import Home
from memoria.index.index import Index
from memoria.models.protocol import JsonObject
from memoria.search import comparison
from memoria.search.layout import block_ids
from memoria.search.words import jaccard
from memoria.statements.fact import Fact
from memoria.statements.store import Store
from memoria.wiki.article import Article
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki

NEAR_ARTICLES: Final = 6  # articles shown with their lines; with the rows below, the prompt does not grow with the wiki
NEAR_ROWS: Final = 20  # further articles, shown by title and summary
SHOWN_LINES: Final = 30  # of these articles together: the lines nearest to any of the statements


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked about some statements: the material, and where each shown line stands, by its id."""

    material: JsonObject
    shown: dict[str, str]


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes requests from a home's wiki and search index."""

    home: Home
    wiki: Wiki
    index: Index
    store: Store

    def of(self, facts: Sequence[Fact], key: str, rows: Mapping[str, Row], titles: Mapping[str, str]) -> Request:
        """Return what a model is asked about statements of one project; ``titles``: of the entry that each is in."""
        view = Visibility(self.home.settings, self.home.paths, key)
        near = self.near(facts, view, rows)
        full = [article for slug in near[:NEAR_ARTICLES] if (article := self.wiki.get(slug))]
        hidden = self._hidden(full, view)
        lines = _nearest(full, facts, hidden)
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
                {"slug": slug.rsplit("/", 1)[-1], "title": rows[slug].title, "summary": rows[slug].summary}
                for slug in near[NEAR_ARTICLES:]
            ],
        }
        return Request(material, lines)

    def _hidden(self, articles: Iterable[Article], view: Visibility) -> set[str]:
        """Return the statements and entries that articles cite and that belong to other projects."""
        entries = {f"e-{ident}": (about.project,) for ident, about in self.index.entries().items()}
        cited = {ident for article in articles for ident in _cited(article)}
        projects = {ident: fact.projects for ident in cited if (fact := self.store.get(ident))}
        owners = {ident: projects.get(ident) or entries.get(ident, ("",)) for ident in cited}
        return {ident for ident, keys in owners.items() if not any(map(view.shows, keys))}

    def near(self, facts: Sequence[Fact], view: Visibility, rows: Mapping[str, Row]) -> list[str]:
        """Return the slugs of the project's articles, and of those for all, that are closest to these statements."""
        scores: dict[str, float] = {}
        for fact in facts:
            for hit in self.index.search(fact.content, limit=NEAR_ROWS, view=view, kinds=("article",)):
                slug = hit.path.removeprefix("knowledge/").removesuffix(".md")
                scores[slug] = scores.get(slug, 0.0) + hit.score
        known = (slug for slug in scores if slug in rows and rows[slug].readable and not slug.startswith("qa/"))
        return sorted(known, key=lambda slug: (-scores[slug], slug))[: NEAR_ARTICLES + NEAR_ROWS]


def _nearest(articles: Sequence[Article], facts: Sequence[Fact], hidden: Set[str]) -> dict[str, str]:
    """Return the lines of articles that are nearest to any of these statements: their ids, and where they stand.

    Those of ``hidden`` statements are not among them.
    """
    said = [comparison.words(fact.content).stems for fact in facts]
    nearness = {
        (claim.id, article.slug): max(jaccard(comparison.words(claim.text).stems, each) for each in said)
        for article in articles
        for claim in article.claims
        if claim.id and claim.id not in hidden
    }
    return dict(heapq.nlargest(SHOWN_LINES, nearness, key=nearness.__getitem__))


def _cited(article: Article) -> set[str]:
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
        "summary": "" if _cited(article) & hidden else article.summary,
        "lines": [
            {"id": claim.id, "day": claim.day, "section": heading, "text": claim.text}
            for heading, claim in article.headed_claims
            if lines.get(claim.id) == article.slug
        ],
    }
