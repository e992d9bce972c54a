"""Retract: remove from an article what shows a forgotten statement, or contains a forgotten text.

A line goes with its statement, and a sentence about several with one of them. On pages of earlier versions a line is
removed when every entry it cites is forgotten; otherwise only the forgotten sources are. This holds in every
section. If claims were removed, the summary is written from those that remain and the reasons under Related are
deleted, because they were written from the same entries. Nothing but the article is changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from memoria.search.words import holds, stems
from memoria.wiki import lines
from memoria.wiki.article import ASKED_AS, RELATED, SINCE_ROWS, Article, Claim, Section, without_sources

_DAY = re.compile(r"\[\[(daily/\d{4}-\d{2}-\d{2})")


def retract(article: Article, sources: Collection[str], idents: Collection[str] = (), needle: str = "") -> int:
    """Remove what shows the statements ``idents``, what rests only on ``sources``, and lines with ``needle``.

    Return how many lines went. A source is an entry, as ``daily/D#^e-…``.
    """
    dropped = 0
    emptied = []
    for section in article.sections:
        count = _without_sources(section, sources, idents)
        dropped += count
        if count and not any(row.strip() for row in section.rows):
            emptied.append(section)
    _drop_topics(article, emptied)
    if dropped:
        _plain_related(article)
        article.summarise(lines.summary_of(article))
        _drop_empty(article)
    if needle:
        dropped += _without_text(article, needle)
    if dropped:
        _drop_days(article)
        if article.front.texts(ASKED_AS):  # no record says which phrase came from what
            article.front.set(ASKED_AS, [])
    return dropped


def unlink(article: Article, slug: str) -> bool:
    """Remove the links to a deleted page, and rows that begin with one; return whether there were any."""
    pattern = re.compile(rf"\[\[{re.escape(slug)}(?:#[^\]|]*)?(?:\|([^\]]*))?\]\]")
    before = article.render()
    see = f"See [[{slug}"
    topics = [section for section in article.sections if any(row.startswith(see) for row in section.rows)]
    for section in topics:
        section.rows[:] = [row for row in section.rows if not row.startswith(see)]
    _drop_topics(article, [section for section in topics if not any(row.strip() for row in section.rows)])
    for rows in (article.lead, *(section.rows for section in article.sections)):
        rows[:] = [pattern.sub("(forgotten)", row) for row in rows if not (row[:2] == "- " and pattern.match(row[2:]))]
    return article.render() != before


def _drop_topics(article: Article, emptied: Collection[Section]) -> None:
    """Remove sections of which nothing is left, and the aliases that have their names."""
    article.sections[:] = [section for section in article.sections if section not in emptied]
    topics = [stems(section.heading) for section in emptied if not section.is_claims]
    aliases = article.aliases
    left = [alias for alias in aliases if stems(alias.replace("-", " ")) not in topics]
    if left != aliases:
        article.front.set("aliases", left)


def _without_sources(section: Section, sources: Collection[str], idents: Collection[str]) -> int:
    remaining: list[str] = []
    dropped = 0
    is_gone = False  # the claim above a reason
    for row in section.rows:
        reason = row.startswith(SINCE_ROWS)
        claim = Claim.parse(row.lstrip() if reason else row)
        cited = set(claim.sources) & set(sources) if claim else set()
        rests_on_them = bool(claim and cited and cited == set(claim.sources))
        rests_on_them |= bool(claim and set(claim.ids) & set(idents))
        if claim and not reason:
            is_gone = rests_on_them
        if rests_on_them or (reason and is_gone):
            dropped += 1
        else:
            remaining.append(without_sources(row, cited))
    section.rows[:] = remaining
    return dropped


def _without_text(article: Article, needle: str) -> int:
    dropped = 0
    for rows in (article.lead, *(section.rows for section in article.sections)):
        remaining: list[str] = []
        is_gone = False  # the claim above a reason
        for row in rows:
            is_gone = holds(row, needle) or (is_gone and row.startswith(SINCE_ROWS))
            if not is_gone:
                remaining.append(row)
        dropped += len(rows) - len(remaining)
        rows[:] = remaining
    for key in ("aliases", "tags", "sources"):
        names = article.front.texts(key)
        remaining = [name for name in names if not holds(name, needle)]
        if remaining != names:
            article.front.set(key, remaining)
            dropped += 1
    if dropped and not article.summary:
        article.summarise(lines.summary_of(article))
    return dropped


def _plain_related(article: Article) -> None:
    for section in article.sections:
        if section.heading == RELATED:
            section.rows = [re.sub(r"^(- \[\[[^\]]*\]\]):.*$", r"\1", row) for row in section.rows]


def _drop_empty(article: Article) -> None:
    article.sections[:] = [
        part for part in article.sections if not part.is_claims or any(row.strip() for row in part.rows)
    ]


def _drop_days(article: Article) -> None:
    cited = {match for section in article.sections for row in section.rows for match in _DAY.findall(row)}
    days = article.front.texts("sources")
    remaining = [day for day in days if not (found := _DAY.match(day)) or found[1] in cited]
    if remaining != days:
        article.front.set("sources", remaining)
