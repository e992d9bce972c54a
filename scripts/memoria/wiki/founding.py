"""Founding: which topics get an article of their own, and where the claims of the others wait.

A topic gets an article when there is something to say: claims from two entries, more than a few claims, or a word of
the user's. Until then its claims stand on the project's own page, under a heading that names the topic. A thin article
goes back there with its claims and names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date

from memoria.search.words import stems
from memoria.wiki import names
from memoria.wiki.article import HISTORY, KEY_POINTS, RELATED, Article, Claim, Section, heading_of, link_text
from memoria.wiki.folder import slugify
from memoria.wiki.owners import Owners
from memoria.wiki.user_words import UserWords

MAX_SUMMARY = 280  # characters of the summary of a project's page

_ANCHOR = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+[ \t]*$")
_LINK_ROW = re.compile(r"- \[\[[^\]]+\]\](?:: .*)?")

Wrote = Mapping[str, frozenset[str] | None]
"""By slug, the digests of all claims that compiles wrote on a page; None when not all of them recorded it."""


def is_untouched(article: Article, wrote: Wrote) -> bool:
    """Return whether everything on a page is as memoria wrote it, as far as is recorded."""
    known = wrote.get(article.slug)
    if known is not None and any(claim.digest not in known for claim in article.claims):
        return False
    if not article.wrote_summary and article.front.text("summary_digest"):
        return False
    titles = [row for row in article.lead if row.strip() and row.strip() != article.summary]
    if len(titles) > 1 or any(not row.startswith("# ") for row in titles):
        return False
    return all(_is_own(section) for section in article.sections)


def _is_own(section: Section) -> bool:
    rows = [row for row in section.rows if row.strip()]
    if section.named(RELATED):
        return all(_LINK_ROW.fullmatch(row) for row in rows)
    claims = [Claim.parse(row) for row in rows]
    return all(claim and claim.sources for claim in claims) and not any(map(_ANCHOR.search, rows))


class Founding:
    """The rule for one wiki."""

    def __init__(self, owners: Owners, users: UserWords, wrote: Wrote, thin: int) -> None:
        """``owners`` says whose its pages are, ``wrote`` what compiles wrote on them; ``thin`` is the setting."""
        self.owners = owners
        self.users = users
        self.wrote = wrote
        self.thin = thin

    def has_enough(self, claims: Collection[Claim]) -> bool:
        """Return whether these claims are enough for an article."""
        entries = {source for claim in claims for source in claim.sources}
        return len(claims) > self.thin or len(entries) > 1 or any(map(self.users.said, claims))

    def is_thin(self, article: Article) -> bool:
        """Return whether an article has little to say: a few claims from one entry, none of them the user's."""
        return bool(article.claims) and not article.past and not self.has_enough(article.claims)

    def title(self, key: str) -> str:
        """Return the title of a project's own page."""
        label = self.owners.label(key).strip("- ") or "notes"
        return label if names.fault(label) in ("", names.GENERIC) else f"Project {label}"

    def parent(self, key: str) -> str:
        """Return the slug of the page that a project's topics wait on, which need not exist yet."""
        name = slugify(self.title(key)) or "notes"
        visible = self.owners.visible(key)
        former = self.owners.former_name(name, key)  # from before another project had the same name
        known = next((slug for each in (name, former) if (slug := f"concepts/{each}") in visible), "")
        return known or self.owners.free_slug("concepts", name, key)

    def heading(self, title: str, key: str) -> str:
        """Return the heading of a topic on its project's page; ``""`` for a title that names nothing."""
        label = self.owners.label(key)
        plain = names.clean(title)
        if label and plain.casefold().startswith(label.casefold()) and plain[len(label) : len(label) + 1] in (":", " "):
            plain = plain[len(label) + 1 :].strip()
            plain = plain[:1].upper() + plain[1:]
        return "" if names.fault(names.clean(title)) not in ("", names.GENERIC) else heading_of(plain)


def topic(page: Article, heading: str) -> Section | None:
    """Return the section of a project's page that has this heading, in the same words."""
    wanted = stems(heading)
    reserved = (KEY_POINTS, RELATED, HISTORY)
    for section in page.sections:
        same = section.named(heading) or (wanted and stems(section.heading) == wanted)
        if same and not any(map(section.named, reserved)):
            return section
    return None


def summary(page: Article) -> str:
    """Return the summary of a project's page: which topics wait on it."""
    topics = [section.heading for section in page.sections if not section.is_claims and waiting(section)]
    if not topics and not page.claims:
        return f"{_closed(page)}."
    text = opening = _opening(page)
    for number, heading in enumerate(topics):
        longer = f"{text}{', ' if number else ': '}{heading}"
        if len(longer) > MAX_SUMMARY:
            return f"{text} and {len(topics) - number} more." if number else f"{opening}."
        text = longer
    return f"{text}."


def has_own_summary(page: Article) -> bool:
    """Return whether the summary of a project's page is the one that ``summary`` writes."""
    return page.wrote_summary and page.summary.startswith((_opening(page), _closed(page)))


def _opening(page: Article) -> str:
    return f"What is known of {page.title} beside what has an article of its own"


def _closed(page: Article) -> str:
    return f"All that is known of {page.title} has articles of its own"


def waiting(section: Section | None) -> list[Claim]:
    """Return the claims of a topic that can move; one with a block id stays, because links may lead to it."""
    found = []
    for number, claim in section.claims() if section else ():
        rows = section.rows[number : section.block(number)] if section else []
        if claim.sources and not any(map(_ANCHOR.search, rows)):
            found.append(claim)
    return found


def move(claims: Iterable[Claim], page: Article, article: Article, section: Section | None) -> int:
    """Move a topic's claims to its new article; the section keeps a line that leads there. Return how many moved."""
    moved = list(claims)
    if section is not None and moved:
        section.add(f"See [[{article.slug}|{link_text(article.title)}]].")
    for claim in moved:
        article.section(KEY_POINTS).add(*page.cut(claim))
        _cite(article, claim)
    return len(moved)


def fold(article: Article, page: Article, heading: str) -> None:
    """Move all claims of a thin article to a section of its project's page, with its names and links."""
    target = topic(page, heading) or page.section(heading or KEY_POINTS)
    said = article.summary
    if said and not article.wrote_summary and not any(claim.says(said) for claim in article.claims):
        target.add(said)  # of a version that did not record who wrote it
    for claim in article.claims:
        rows = article.cut(claim)
        if page.holds(claim.text):
            page.add_claim(claim, heading or KEY_POINTS)
        else:
            target.add(*rows)
        _cite(page, claim)
    others = [article.title, article.name, *article.aliases]
    page.extend("aliases", (name for name in others if name.casefold() != page.title.casefold()))
    for link in article.links:
        if link.target != page.slug and link.target.startswith(("concepts/", "connections/", "qa/")):
            page.relate(link.target, link.shown or link.target)


def redirect(article: Article, slug: str, page: Article) -> None:
    """Let an article's links under Related lead to ``page`` instead of a folded page; two to one page become one."""
    old = re.compile(rf"- \[\[{re.escape(slug)}(?:\|[^\]]*)?\]\]")
    for section in article.sections:
        if not section.named(RELATED):
            continue
        for number in reversed(range(len(section.rows))):
            if old.match(section.rows[number]):
                del section.rows[number]
                if article is not page and all(link.target != page.slug for link in article.links):
                    section.rows.insert(number, f"- [[{page.slug}|{link_text(page.title)}]]")


def _cite(page: Article, claim: Claim) -> None:
    page.extend("sources", (f"[[{source.split('#')[0]}]]" for source in claim.sources))
    page.touch(date.fromisoformat(claim.day))
