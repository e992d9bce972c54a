"""Lint fixes: the changes of an article that can be made without guessing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from memoria.ground.markdown import Link
from memoria.wiki.article import RELATED, Article

Fix = Callable[[Article], None]


def unlink(link: Link, article: Article) -> None:
    """Delete list items under Related that consist of this link; elsewhere, replace the link by its text."""
    pattern = _pattern(link)
    for section in article.sections:
        if section.heading == RELATED:
            section.rows = [row for row in section.rows if not (row.startswith("- [[") and pattern.match(row[2:]))]
    for rows in _rows(article):
        rows[:] = [pattern.sub(lambda match: match[1] or link.target or link.anchor.lstrip("#^"), row) for row in rows]


def drop_source(link: Link, article: Article) -> None:
    """Remove a dead source from claims that have another; a claim's only source is left to a person."""
    source = link.target + link.anchor
    for section in article.sections:
        for number, claim in section.claims():
            if source in claim.sources and len(claim.sources) > 1:
                section.rows[number] = re.sub(r"\s*" + _pattern(link).pattern, "", section.rows[number])


def complete(key: str, article: Article) -> None:
    """Add a key that the frontmatter lacks: the title, or the first or last day among the sources."""
    days = sorted(source[len("daily/") :][:10] for claim in article.claims for source in claim.sources)
    if key == "title":
        article.front.set("title", article.title)
    elif days:
        article.front.set(key, days[0] if key == "created" else days[-1])


def relate(slug: str, title: str, article: Article) -> None:
    """Add another article under Related."""
    article.relate(slug, title)


def _rows(article: Article) -> Iterator[list[str]]:
    yield article.lead
    yield from (section.rows for section in article.sections)


def _pattern(link: Link) -> re.Pattern[str]:
    return re.compile(rf"(?<!\\)\[\[\s*{re.escape(link.target)}\s*{re.escape(link.anchor)}\s*(?:\|([^\[\]\n]*))?\]\]")
