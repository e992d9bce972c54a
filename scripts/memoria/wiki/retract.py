"""Retract: remove from an article what rests on forgotten entries or contains a forgotten text.

A claim is removed when every entry it cites is forgotten; otherwise only the forgotten sources are. If claims were
removed, the first remaining claim becomes the summary and the reasons under Related are deleted, because they were
written from the same entries. Nothing but the article is changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from memoria.language.folding import holds
from memoria.wiki.article import HISTORY, KEY_POINTS, RELATED, Article, Claim, Section

_DAY = re.compile(r"\[\[(daily/\d{4}-\d{2}-\d{2})")


def retract(article: Article, sources: Collection[str], needle: str = "") -> int:
    """Remove what rests only on ``sources`` (``daily/D#^e-…``), and lines with ``needle``; return how many went."""
    dropped = 0
    for section in article.sections:
        if section.heading in (KEY_POINTS, HISTORY):
            dropped += _without_sources(section, sources)
    if dropped:
        _plain_related(article)
        _summarise(article)
    if needle:
        dropped += _without_text(article, needle)
    if dropped:
        _drop_days(article)
    return dropped


def unlink(article: Article, slug: str) -> bool:
    """Remove the links to a deleted page, and rows that begin with one; return whether there were any."""
    pattern = re.compile(rf"\[\[{re.escape(slug)}(?:#[^\]|]*)?(?:\|([^\]]*))?\]\]")
    before = article.render()
    for rows in (article.lead, *(section.rows for section in article.sections)):
        rows[:] = [pattern.sub("(forgotten)", row) for row in rows if not (row[:2] == "- " and pattern.match(row[2:]))]
    return article.render() != before


def _without_sources(section: Section, sources: Collection[str]) -> int:
    remaining: list[str] = []
    for row in section.rows:
        claim = Claim.parse(row)
        cited = set(claim.sources) & set(sources) if claim else set()
        if claim and cited and cited == set(claim.sources):
            continue
        for source in cited:
            row = re.sub(rf"\s*\[\[{re.escape(source)}(?:\|[^\]]*)?\]\]", "", row)  # noqa: PLW2901 (the row, less a link)
        remaining.append(row)
    dropped = len(section.rows) - len(remaining)
    section.rows[:] = remaining
    return dropped


def _without_text(article: Article, needle: str) -> int:
    dropped = 0
    for rows in (article.lead, *(section.rows for section in article.sections)):
        remaining = [row for row in rows if not holds(row, needle)]
        dropped += len(rows) - len(remaining)
        rows[:] = remaining
    for key in ("aliases", "tags", "sources"):
        names = article.front.texts(key)
        remaining = [name for name in names if not holds(name, needle)]
        if remaining != names:
            article.front.set(key, remaining)
            dropped += 1
    if dropped and not article.summary:
        _summarise(article)
    return dropped


def _plain_related(article: Article) -> None:
    for section in article.sections:
        if section.heading == RELATED:
            section.rows = [re.sub(r"^(- \[\[[^\]]*\]\]):.*$", r"\1", row) for row in section.rows]


def _summarise(article: Article) -> None:
    claims = article.claims
    head = [row for row in article.lead if row.startswith("# ")]
    rest = "\n".join(row for row in article.lead if not row.startswith("# ")).strip("\n").split("\n\n", 1)
    own = rest[1].split("\n") if len(rest) > 1 else []
    article.lead[:] = ["", *head, "", *([claims[0].text, ""] if claims else []), *own]


def _drop_days(article: Article) -> None:
    cited = {match for section in article.sections for row in section.rows for match in _DAY.findall(row)}
    days = article.front.texts("sources")
    remaining = [day for day in days if not (found := _DAY.match(day)) or found[1] in cited]
    if remaining != days:
        article.front.set("sources", remaining)
