"""Article: one page of the wiki, each claim with its sources, and what a person can do about one that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memoria.amending import corrections
from memoria.amending.undo import undo
from memoria.ground import locks
from memoria.ground.errors import ExpectedError, PageNotFoundError
from memoria.mcp.pages import Filter
from memoria.reader import address
from memoria.reader.markdown import Html
from memoria.reader.site import Asked, Done, Site, View, not_found
from memoria.statements.fact import MAX_STORED
from memoria.wiki.article import HISTORY, RELATED, Article, Claim, Section
from memoria.wiki.folder import Wiki
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
        name = next((name for name in (RELATED, HISTORY) if section.named(name)), "")
        sections[name].append(_part(site, slug, section, is_current=not name))
    links = [catalog.rows[other] for other in catalog.backlinks.get(slug, ())]
    values = {
        "row": row,
        "label": catalog.label(row.project),
        "summary": site.markdown.line(article.summary),
        "lead": _lead(site, article),
        "parts": [part for part in sections[""] if part.html.strip()],
        "related": sections[RELATED],
        "history": sections[HISTORY],
        "past": len(article.past),
        "claims": len(article.claims),
        "backlinks": links[:MAX_BACKLINKS],
        "more": max(len(links) - MAX_BACKLINKS, 0),
        "step": _newest_step(site, slug),
    }
    return View("article.html", row.title, values)


def read(site: Site, slug: str) -> Article | None:
    """Return an article as it is on disk, without what is hidden; raise ValueError when it cannot be parsed."""
    data = Wiki.of(site.home.paths).read(slug)
    if data is None:
        return None
    visible = site.visible()
    if not visible.hidden():
        return Wiki.parse(slug, data)
    try:
        return Article(
            slug, Filter(site.home.paths, visible).page(f"knowledge/{slug}.md", data.decode("utf-8", "replace"))
        )
    except PageNotFoundError:
        return None


def _newest_step(site: Site, slug: str) -> Step | None:
    """Return the newest step of the wiki if it changed this article, so that it can be taken back here."""
    step = next(iter(Transactions.of(site.home.paths).steps()), None)
    return step if step and any(row["path"] == f"{slug}.md" for row in step.files) else None


def _lead(site: Site, article: Article) -> Html:
    """Return what stands below title and summary, before the first section."""
    rows = [row for row in article.lead if not row.startswith("# ")]
    start = next((number for number, row in enumerate(rows) if row.strip()), len(rows))
    end = next((number for number in range(start, len(rows)) if not rows[number].strip()), len(rows))
    return site.markdown.blocks(rows[end:])


def _part(site: Site, slug: str, section: Section, *, is_current: bool) -> Part:
    anchor = "".join(letter if letter.isalnum() else "-" for letter in section.heading.casefold())
    digest = _digest if is_current else _past_digest
    html = site.markdown.blocks(section.rows, slug, digest, is_current=is_current)
    return Part(section.heading, f"s-{anchor}", html)


def _digest(row: str) -> str:
    claim = Claim.parse(row)
    return claim.digest if claim and (claim.sources or claim.is_own) else ""


def _past_digest(row: str) -> str:
    claim = Claim.parse(row)
    return claim.without_end().digest if claim and claim.sources else ""


def show_wrong(site: Site, asked: Asked) -> View:
    """Return the page of one claim with the three forms."""
    slug = asked.path["slug"]
    claim = _claim(site, slug, asked.query.get("claim", ""))
    if claim is None:
        return not_found("The article no longer makes this claim.")
    cited = [site.catalog.entries[name] for source in claim.sources
             if (name := site.catalog.entry_of(source.rpartition("#^")[2])) in site.catalog.entries]  # fmt: skip
    values = {
        "row": site.catalog.rows[slug],
        "claim": claim,
        "line": site.markdown.line(claim.text),
        "digest": claim.digest,
        "entries": cited,
        "most": MAX_STORED,
    }
    return View("wrong.html", f"Wrong? · {site.catalog.rows[slug].title}", values)


def correct(site: Site, asked: Asked) -> Done:
    """Let the claim say what the form says."""
    slug = _slug(site, asked)
    corrections.correct(site.home, slug, asked.form.get("claim", ""), asked.form.get("text", ""))
    return Done(address.article(slug), "Put right. It is your own word from now on; no compile changes it back.")


def retire(site: Site, asked: Asked) -> Done:
    """Move the claim to the history."""
    slug = _slug(site, asked)
    corrections.retire(site.home, slug, asked.form.get("claim", ""), asked.form.get("why", ""))
    return Done(address.article(slug), "Moved to the history of this article.")


def remove(site: Site, asked: Asked) -> Done:
    """Remove the claim."""
    slug = _slug(site, asked)
    corrections.remove(site.home, slug, asked.form.get("claim", ""))
    return Done(address.article(slug), "Forgotten here: the article no longer says it, not even in its history.")


def take_back(site: Site, asked: Asked) -> Done:
    """Undo the newest step of the wiki, if it is the one that the form names; return to the article."""
    with locks.held(Path(site.home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        transactions = Transactions.of(site.home.paths)
        transactions.recover()
        newest = next(iter(transactions.steps()), None)
        if newest is None or newest.name != asked.form.get("step", ""):
            raise ExpectedError("The wiki has changed since; `memoria undo --list` shows what can be taken back.")
        undo(site.home, 1)
    slug = asked.form.get("slug", "")
    return Done(address.article(slug) if slug in site.catalog.rows else "/", "Taken back.")


def _slug(site: Site, asked: Asked) -> str:
    """Return the article that a form is about; raise ExpectedError when there is none to be seen."""
    slug = asked.form.get("slug", "")
    if slug not in site.catalog.rows:
        raise ExpectedError("There is no such article any more.")
    return slug


def _claim(site: Site, slug: str, digest: str) -> Claim | None:
    if slug not in site.catalog.rows:
        return None
    try:
        page = read(site, slug)
    except ValueError:
        return None
    return next((claim for claim in page.claims if claim.digest == digest and claim.ids), None) if page else None
