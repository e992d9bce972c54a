"""Wrong: what a person can do about a claim that is wrong, where it came from, and the way back."""

from __future__ import annotations

from pathlib import Path

from memoria.amending import corrections
from memoria.amending.undo import undo
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.reader import address
from memoria.reader.pages import article
from memoria.reader.site import Asked, Done, Site, View, not_found
from memoria.statements.fact import MAX_STORED
from memoria.wiki.article import Claim
from memoria.wiki.transaction import Transactions


def show(site: Site, asked: Asked) -> View:
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
        page = article.read(site, slug)
    except ValueError:
        return None
    return next((claim for claim in page.claims if claim.digest == digest and claim.ids), None) if page else None
