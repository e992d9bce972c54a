"""Article: one page of the wiki, each claim with its sources and a link to its statement, where it can be put right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memoria.amending.corrections import undo
from memoria.base import invocation
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.mcp.pages import Filter
from memoria.reader import address
from memoria.reader.markdown import Html
from memoria.reader.site import Asked, Done, Site, View, not_found
from memoria.wiki.article import HISTORY, RELATED, Article, Claim, Section
from memoria.wiki.folder import Wiki
from memoria.wiki.settle import BROUGHT
from memoria.wiki.transaction import Step, Transactions

MAX_BACKLINKS = 40


@dataclass(frozen=True, slots=True)
class Part:
    """A section as HTML; ``anchor`` is its id on the page."""

    heading: str
    anchor: str
    html: Html


def show(site: Site, asked: Asked) -> View:
    """Return an article's page."""
    slug, catalog = asked.path["slug"], site.catalog
    slug = slug if slug in catalog.rows else catalog.slug(slug)
    if not slug:
        return not_found("There is no such article. It may have been renamed or forgotten.")
    try:
        article = read(site, slug)
    except ValueError as error:
        return View("message.html", catalog.rows[slug].title, {"said": f"The page cannot be read: {error}"})
    if article is None:
        return not_found("There is no such article any more.")
    row = catalog.rows[slug]
    sections: dict[str, list[Part]] = {RELATED: [], HISTORY: [], "": []}
    for section in article.sections:
        name = next((name for name in (RELATED, HISTORY) if section.is_headed(name)), "")
        part = _part(site, slug, section, is_current=not name)
        sections[name] += [part] if part.html.strip() else []
    links = [catalog.rows[other] for other in catalog.backlinks.get(slug, ())]
    values = {
        "row": row,
        "label": catalog.label(row.project),
        "summary": site.markdown.line(article.summary),
        "lead": site.markdown.blocks(article.lead[article.summary_rows[1] :]),
        "parts": sections[""],
        "related": sections[RELATED],
        "history": sections[HISTORY],
        "past": len(article.history),
        "claims": len(article.claims),
        "backlinks": links[:MAX_BACKLINKS],
        "more": max(len(links) - MAX_BACKLINKS, 0),
        "step": _newest_step(site, slug),
    }
    return View("article.html", row.title, values)


def read(site: Site, slug: str) -> Article | None:
    """Return an article as it is on disk, without what is hidden; raise ValueError when it cannot be parsed."""
    article = Wiki(site.home.paths).get(slug)
    return Filter(site.home.paths, site.visible()).article(article) if article else None


def _newest_step(site: Site, slug: str) -> Step | None:
    """Return the newest step of the wiki if it changed this article and would not be done again at once."""
    newest = Transactions(site.home.paths).steps()[:1]
    lasting = (step for step in newest if step.facts or not step.label.startswith(BROUGHT))
    return next((step for step in lasting if any(row["path"] == f"{slug}.md" for row in step.files)), None)


def _part(site: Site, slug: str, section: Section, *, is_current: bool) -> Part:
    anchor = "".join(letter if letter.isalnum() else "-" for letter in section.heading.casefold())
    html = site.markdown.blocks(section.rows, slug, _current if is_current else _past_digest)
    return Part(section.heading, f"s-{anchor}", html)


def _current(row: str) -> tuple[str, str]:
    claim = Claim.parse(row)
    if claim is None or not (claim.sources or claim.is_own):
        return "", ""
    return claim.digest, address.fact(claim.id) if claim.id else ""


def _past_digest(row: str) -> tuple[str, str]:
    claim = Claim.parse(row)
    return (claim.drop_end().digest if claim and claim.sources else ""), ""


def take_back(site: Site, asked: Asked) -> Done:
    """Undo the newest step of the wiki, if it is the one that the form names; return to the article."""
    with locks.require(Path(site.home.paths.compile_lock), "A compile"):
        transactions = Transactions(site.home.paths)
        transactions.recover()
        newest = next(iter(transactions.steps()), None)
        if newest is None or newest.name != asked.form.get("step", ""):
            seen = invocation.command("undo --list")
            raise ExpectedError(f"The wiki has changed since; {seen} shows what can be taken back.")
        undo(site.home, 1)
    slug = asked.form.get("slug", "")
    return Done(address.article(slug) if slug in site.catalog.rows else "/", "Taken back.")
