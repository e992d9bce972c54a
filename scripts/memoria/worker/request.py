"""Request: what a model is asked about a batch of entries: the entries, and the articles that it may change by them.

These are the few that the search index finds closest to the entries, so that the prompt does not grow with the wiki. A
claim is shown with a number, by which the answer names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memoria.base.visibility import Visibility
from memoria.daily.entry import Entry
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.models.protocol import JsonObject
from memoria.search import comparison
from memoria.search.words import coverage
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki
from memoria.wiki.owners import Owners

NEAR_ARTICLES = 8  # articles shown in full; with the rows below, the prompt does not grow with the wiki
NEAR_ROWS = 40  # further articles, shown by title and summary
SHOWN_CLAIMS = 40  # of one article, those nearest to the entries, so that a long page does not fill the prompt


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked about a batch: the material, the slugs of articles near it, and the numbered claims."""

    material: JsonObject
    near: list[str]
    numbered: dict[int, tuple[str, Claim]]
    project: str


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes requests from a home's wiki and search index."""

    home: Home
    wiki: Wiki
    index: Index

    def of(self, entries: Sequence[Entry], rows: Mapping[str, Row], owners: Owners) -> Request:
        """Return what a model is asked about these entries, and which claim it is shown by which number."""
        near = self.near(entries, rows)
        projects = {entry.project_key for entry in entries}
        numbered: dict[int, tuple[str, Claim]] = {}
        material = self._material(entries, near, rows, owners, numbered)
        return Request(material, near, numbered, projects.pop() if len(projects) == 1 else "")

    def near(self, entries: Sequence[Entry], names: Mapping[str, Row]) -> list[str]:
        """Return the slugs of the articles that the index finds closest to these entries, best first.

        For each entry these are articles of its own project and of all projects.
        """
        scores: dict[str, float] = {}
        for entry in entries:
            words = _said(entry)
            view = Visibility(self.home.settings, self.home.paths, entry.project_key, strictly=True)
            hits = self.index.search(words, limit=NEAR_ROWS, view=view, kinds=("article",))
            for hit in hits:
                slug = hit.path.removeprefix("knowledge/").removesuffix(".md")
                scores[slug] = scores.get(slug, 0.0) + hit.score
        ranked = sorted((slug for slug in scores if slug in names), key=lambda slug: (-scores[slug], slug))
        return ranked[: NEAR_ARTICLES + NEAR_ROWS]

    def _material(
        self,
        entries: Sequence[Entry],
        near: Sequence[str],
        names: Mapping[str, Row],
        owners: Owners,
        numbered: dict[int, tuple[str, Claim]],
    ) -> JsonObject:
        told = sources.ended(self.index, self.home.paths)
        readable = [slug for slug in near if names[slug].readable]
        full = [article for slug in readable[:NEAR_ARTICLES] if (article := self.wiki.get(slug))]
        said = comparison.words("\n".join(_said(entry) for entry in entries)).stems
        return {
            "today": max(entry.day for entry in entries).isoformat(),
            "entries": [_entry_material(told.current(entry), owners.label(entry.project_key)) for entry in entries],
            "articles": [
                {
                    "slug": article.name,
                    "kind": article.slug.split("/")[0].removesuffix("s"),
                    "title": article.title,
                    "project": _owner(owners, article.slug),
                    "aliases": article.aliases,
                    "tags": article.tags,
                    "summary": article.summary,
                    "claims": _numbered_claims(article, said, numbered),
                }
                for article in full
            ],
            "index": [
                {
                    "slug": slug.rsplit("/", 1)[-1],
                    "title": names[slug].title,
                    "project": _owner(owners, slug),
                    "summary": names[slug].summary,
                }
                for slug in readable[NEAR_ARTICLES:]
            ],
        }


def _owner(owners: Owners, slug: str) -> str:
    """Return what a page's project is called, ``""`` for all projects."""
    key = owners.pages.get(slug, "")
    return owners.label(key) if key else ""


def _said(entry: Entry) -> str:
    """Return the parts of an entry by which near articles and claims are found."""
    lists = (entry.key_exchanges, entry.decisions, entry.lessons, [fact.text for fact in entry.learned])
    return " ".join((entry.title, entry.context, *(row for rows in lists for row in rows)))


def _numbered_claims(
    article: Article, said: frozenset[str], numbered: dict[int, tuple[str, Claim]]
) -> list[JsonObject]:
    """Return an article's claims as a model is shown them, at most those nearest to what is ``said``; number them."""
    claims = article.headed_claims
    shares = [coverage(comparison.words(claim.text).stems, said) for _, claim in claims]
    ranked = sorted(range(len(claims)), key=lambda place: (-shares[place], -place))
    found = []
    for place in sorted(ranked[:SHOWN_CLAIMS]):
        heading, claim = claims[place]
        number = len(numbered) + 1
        numbered[number] = article.slug, claim
        found.append({"number": number, "day": claim.day, "section": heading, "text": claim.text,
                      "sources": list(claim.sources)})  # fmt: skip
    return found


def _entry_material(entry: Entry, project: str) -> JsonObject:
    return {
        "id": entry.id,
        "day": entry.day.isoformat(),
        "project": project,
        "title": entry.title,
        "context": entry.context,
        "key_exchanges": list(entry.key_exchanges),
        "decisions": list(entry.decisions),
        "lessons": list(entry.lessons),
        "learned": [{"kind": event.kind, "content": event.text} for event in entry.learned if not event.ended],
        "ended": [event.text for event in entry.learned if event.ended],
    }
