"""Split: give each page without an owner to the project that its claims come from, and divide one of several projects.

Pages that memoria wrote before pages had owners may hold claims of several projects under one name. A page stays with
the project that most of its claims come from; the claims of each other project move to a page of its own, with the
lines below them. What a person wrote without a source stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from memoria.search.words import overlap, words
from memoria.wiki.article import KEY_POINTS, Article, Claim, Section, without_sources
from memoria.wiki.names import Owners


def owners_of(article: Article, projects: Mapping[str, str]) -> list[str]:
    """Return the projects that a page's claims come from, most claims first; ``projects`` maps sources to keys."""
    counts: Counter[str] = Counter()
    for claim in (*article.claims, *article.past):
        counts.update(set(_keys(claim, projects)))
    return [key for key, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def divided(article: Article, projects: Mapping[str, str], owners: Owners, titles: set[str]) -> list[Article]:
    """Give ``article`` to its first owner; return the new pages with the claims of the others.

    ``owners`` and ``titles`` (in lower case) learn of the new pages. A page whose claims cite no known entry stays as
    it is.
    """
    first, *others = owners_of(article, projects) or [""]
    if not first:
        return []
    pages = [_taken(article, key, projects, owners, titles) for key in others]
    article.give_to(first)
    owners.enter(article.slug, first)
    if others:
        _settle(article, [claim.text for page in pages for claim in page.claims])
    return pages


def _taken(article: Article, key: str, projects: Mapping[str, str], owners: Owners, titles: set[str]) -> Article:
    """Move the claims of the project ``key`` to a page of its own."""
    folder, name = article.slug.split("/", 1)
    slug = owners.free_slug(folder, name, key, is_new=True)
    title = owners.distinct_title(article.title, key, titles | {article.title.casefold()})
    days = [claim.day for claim in (*article.claims, *article.past) if key in _keys(claim, projects)]
    page = Article.new(slug, title, "", date.fromisoformat(min(days)))
    page.give_to(key)
    page.extend("tags", article.tags)
    for section in article.sections:
        _move(section, page, key, projects)
    claims = page.claims or page.past
    page.summarise(claims[-1].text)
    _cite(page)
    page.touch(date.fromisoformat(max(days)))
    owners.enter(slug, key)
    titles.add(title.casefold())
    return page


def _move(section: Section, page: Article, key: str, projects: Mapping[str, str]) -> None:
    """Move a section's claims of one project; one that other projects say too stays, without this one's sources."""
    heading = section.heading if section.is_claims else KEY_POINTS
    for number, claim in reversed(list(section.claims())):
        keys = _keys(claim, projects)
        if key not in keys:
            continue
        own = [source for source in claim.sources if projects.get(source) == key]
        end = section.block(number)
        first, *rest = section.rows[number:end]
        page.section(heading).rows[1:1] = [_citing(first, own), *(rest if len(keys) == 1 else ())]
        if len(keys) == 1:
            del section.rows[number:end]
        else:
            section.rows[number] = _citing(first, [source for source in claim.sources if source not in own])


def _citing(row: str, sources: Sequence[str]) -> str:
    """Return a claim's line with these sources only."""
    claim = Claim.parse(row)
    return without_sources(row, [source for source in claim.sources if source not in sources]) if claim else row


def _settle(article: Article, moved: Sequence[str]) -> None:
    """Let the page's sources be those of its own claims, and its summary none of another project's words."""
    _cite(article)
    left = article.claims or article.past
    if left and _nearest(article.summary, moved) > _nearest(article.summary, [claim.text for claim in left]):
        article.summarise(left[-1].text)


def _cite(article: Article) -> None:
    days = dict.fromkeys(source.split("#")[0] for claim in (*article.claims, *article.past) for source in claim.sources)
    article.front.set("sources", [f"[[{day}]]" for day in days])


def _nearest(text: str, others: Sequence[str]) -> float:
    said = frozenset(words(text))
    return max((overlap(said, frozenset(words(other))) for other in others), default=0.0)


def _keys(claim: Claim, projects: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(projects[source] for source in claim.sources if source in projects))
