"""Catalog: the wiki's index page and its log, written by code.

``index.md`` is where a reader begins; ``log.md`` says what each compile took in, and is what a lost ledger is rebuilt
from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoria.article import Article
from memoria.daily import Entry

HEADINGS = {"concepts": "Concepts", "connections": "Connections", "qa": "Questions and answers"}
_ENTRY = re.compile(r"\[\[daily/\d{4}-\d{2}-\d{2}#\^e-([0-9a-z]+)")

INTRO = """# Knowledge

Start here. Each article below holds what was learned about one thing, every claim with a link to the conversation it
came from. memoria keeps this page; edit the articles as you like, your changes stay.
"""
LOG_INTRO = "# Log\n\nWhat each compile took in, newest last.\n"


@dataclass(frozen=True, slots=True)
class Row:
    """An article as the index shows it; ``updated`` is an ISO day."""

    slug: str
    title: str
    summary: str
    updated: str

    @classmethod
    def of(cls, article: Article) -> Row:
        """The row of an article."""
        return cls(article.slug, article.title, article.summary, article.updated)


def index(rows: Iterable[Row]) -> str:
    """The text of ``index.md``: grouped by kind, by title within."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.slug.split("/")[0], []).append(row)
    parts = [INTRO]
    for folder, heading in HEADINGS.items():
        group = sorted(groups.get(folder, []), key=lambda row: (row.title.casefold(), row.slug))
        if group:
            parts += [f"\n## {heading}\n\n", *(f"- [[{row.slug}|{row.title}]]: {row.summary}\n" for row in group)]
    return "".join(parts)


def log_block(when: datetime, entries: Sequence[Entry], created: Sequence[str], updated: Sequence[str]) -> str:
    """One compile's lines for ``log.md``; ``when`` in the user's zone."""
    rows = [f"\n## {when:%Y-%m-%d %H:%M} compile\n"]
    rows.append("- Took in: " + ", ".join(f"[[{entry.source}|{entry.title or entry.id}]]" for entry in entries))
    for label, slugs in (("Created", created), ("Updated", updated)):
        if slugs:
            rows.append(f"- {label}: " + ", ".join(f"[[{slug}]]" for slug in slugs))
    return "\n".join(rows) + "\n"


def filed_block(when: datetime, slug: str) -> str:
    """The lines for ``log.md`` of an answer that was filed; ``when`` in the user's zone."""
    return f"\n## {when:%Y-%m-%d %H:%M} query\n- Filed: [[{slug}]]\n"


def compiled_entries(log: str) -> set[str]:
    """The ids of the entries that a log says were taken in."""
    took = (row for row in log.splitlines() if row.startswith("- Took in: "))
    return {match[1] for row in took for match in _ENTRY.finditer(row)}
