"""Home: the search box, what was learned today, the projects, and what needs a person."""

from __future__ import annotations

from memoria.reader.pages import attention
from memoria.reader.site import Site
from memoria.reader.view import Asked, View

MAX_PROJECTS = 12
MAX_LEARNED, MAX_ARTICLES = 8, 6


def show(site: Site, asked: Asked) -> View:
    """Return the first page, or that of one project (``?project=KEY``)."""
    catalog = site.catalog
    key = asked.query.get("project", "")
    projects = [shown for shown in catalog.projects if not key or shown.key == key]
    rows = [row for shown in projects for row in shown.articles[:MAX_ARTICLES]]
    rows.sort(key=lambda row: row.updated, reverse=True)
    facts = [learned for learned in catalog.facts if not key or key in learned.fact.projects]
    latest = max([facts[0].day if facts else "", rows[0].updated if rows else ""])
    values = {
        "today": site.today.isoformat(),
        "latest": latest,
        "learned": [learned for learned in facts if learned.day == latest][:MAX_LEARNED],
        "articles": [row for row in rows if row.updated == latest][:MAX_ARTICLES],
        "projects": projects if asked.query.get("all") else projects[:MAX_PROJECTS],
        "more": 0 if asked.query.get("all") else max(len(projects) - MAX_PROJECTS, 0),
        "chosen": catalog.label(key) if key else "",
        "project": key,
        "needs": attention.needs(site.home),
        "counts": {"articles": len(catalog.rows), "facts": catalog.fact_count, "entries": len(catalog.entries)},
        "label": catalog.label,
        "line": site.markdown.line,
    }
    return View("home.html", catalog.label(key) if key else "Home", values)
