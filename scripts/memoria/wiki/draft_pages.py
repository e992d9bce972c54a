"""Draft pages: the pages of a draft, and which of them a topic gets.

A page is read once and changed in memory. A proposal means an existing page with a matching name, a new article when
there is enough to say, or a section of its project's page, where the claims of a topic wait until there is. A page that
is thin goes back there. Links between pages are made in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from memoria.ground.errors import DropRefusedError
from memoria.search.words import stems
from memoria.wiki import founding, names
from memoria.wiki.article import RELATED, Article, Claim, Section
from memoria.wiki.folder import FOLDERS, Wiki, find_slug, slugify
from memoria.wiki.founding import Founding
from memoria.wiki.transaction import digest

JsonObject = dict[str, Any]

MAX_RELATED = 30  # links under Related, so that a hub that many pages link to stays readable
MIN_RELATED = 2  # a concept links at least this many others when they exist
FEW = 3  # claims of one page that one compile may always outdate, whatever the share

_ANCHOR = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)


class DraftPages:
    """The pages of a wiki as one answer would leave them."""

    def __init__(
        self,
        wiki: Wiki,
        founding_: Founding,
        names_: Mapping[str, Sequence[str]],
        numbered: Mapping[int, tuple[str, Claim]],
        referring: Callable[[Article], list[str] | None],
    ) -> None:
        """Start with the pages of a wiki.

        ``names_`` maps every page's slug to its title and aliases. ``numbered`` holds the claims that the model was
        shown, by number, each with its page. ``referring`` returns the pages whose list of related pages links to an
        article, None when it is linked elsewhere too.
        """
        self.wiki = wiki
        self.founding = founding_
        self.owners = founding_.owners
        self.names = dict(names_)
        self.slugs = set(self.names)
        self.numbered = dict(numbered)
        self.referring = referring
        self.articles: dict[str, Article] = {}
        self.read: dict[str, str] = {}
        self.before: dict[str, Article] = {}
        self.created: list[str] = []
        self.folded: dict[str, str] = {}  # slugs of thin pages that were given up, and of the pages with their claims
        self.changed: set[str] = set()  # slugs of pages whose claims changed
        self.renewed: dict[str, int] = {}  # how many claims of a page were replaced by number
        self._by_name: dict[str, list[str]] = {}
        self._by_stems: dict[frozenset[str], list[str]] = {}
        for slug, known in self.names.items():
            self._enter_names(slug, known)

    def is_name(self, name: str) -> bool:
        """Return whether a page has this title or alias."""
        return name.casefold() in self._by_name

    def changes(self) -> dict[str, bytes]:
        """Return the new texts by path inside the wiki, without unchanged pages and those that were folded."""
        texts = {
            f"{slug}.md": Wiki.encode(article) for slug, article in self.articles.items() if slug not in self.folded
        }
        return {name: data for name, data in texts.items() if digest(data) != self.read.get(name, "")}

    def check(self, share: float) -> None:
        """Raise DropRefusedError when a page would lose more than ``share`` of its claims, or the target of a link."""
        for slug, old in self.before.items():
            new = self.articles[self.folded.get(slug, slug)]
            remaining = [claim for claim in old.claims if new.holds(claim.text)]
            lost = len(old.claims) - len(remaining) - self.renewed.get(slug, 0)
            if lost > FEW and lost > share * len(old.claims):
                raise DropRefusedError(slug, f"{lost} of its {len(old.claims)} claims would no longer be current")
            anchors = set(_ANCHOR.findall(old.render())) - set(_ANCHOR.findall(new.render()))
            if anchors:
                raise DropRefusedError(slug, f"the link target ^{min(anchors)} would be lost")

    def written(self) -> dict[str, list[str]]:
        """Return by slug the digests of the claims that are new on a page; a minus marks one that was reworded."""
        found = {}
        for slug in self.articles.keys() - self.folded.keys():
            article = self.articles[slug]
            old = {claim.digest for claim in self.before[slug].claims} if slug in self.before else set()
            new = {claim.digest for claim in article.claims}
            gone = old - new - {claim.digest for claim in article.past}
            if new - old or gone:
                found[slug] = [*sorted(new - old), *(f"-{each}" for each in sorted(gone))]
        return found

    def open(self, slug: str) -> Article | None:
        """Return a page as the draft has it so far; None when there is none or its frontmatter is broken."""
        if slug in self.articles:
            return self.articles[slug]
        try:
            data = self.wiki.read(slug)
            if data is None:
                return None
            article = self.wiki.parse(slug, data)
        except ValueError:
            return None
        # The new text must be made from exactly the bytes whose digest is recorded here.
        self.read[f"{slug}.md"] = digest(data)
        self.before[slug] = self.wiki.parse(slug, data)
        self.articles[slug] = article
        return article

    def choose(self, proposal: JsonObject, key: str, near: Sequence[str], all_: Sequence[JsonObject]) -> str:
        """Return the slug of the page that the proposal means: an existing one with a matching name, else a new one.

        Pages of other projects do not count.
        """
        title, visible = proposal["title"], self.owners.visible(key)
        named = (slug for slug in self._by_name.get(title.casefold(), ()) if slug in visible)
        known = find_slug(proposal["slug"], visible) or next(named, "") or find_slug(title, visible)
        former = self.owners.former_name(slugify(proposal["slug"].rsplit("/", 1)[-1]), key)
        known = known or (find_slug(former, visible) if former else "")
        known = known or self._alike([title, *proposal["aliases"]], near, key)
        if known:
            return known
        name = slugify(proposal["slug"].rsplit("/", 1)[-1])
        if not name or names.is_number(name):
            name = slugify(title) or "untitled"
        kind = proposal["kind"]
        if kind == "connection" and len(self._ends(proposal, all_)) < MIN_RELATED:
            kind = "concept"  # a page that connects fewer than two others is a concept
        return self.owners.free_slug(FOLDERS[kind], name, key)

    def _ends(self, proposal: JsonObject, all_: Sequence[JsonObject]) -> set[str]:
        coming = {other["slug"].rsplit("/", 1)[-1] for other in all_ if other is not proposal and other["claims"]}
        ends = (related["slug"] for related in proposal["related"])
        return {
            end.rsplit("/", 1)[-1] for end in ends if find_slug(end, self.slugs) or end.rsplit("/", 1)[-1] in coming
        }

    def _alike(self, titles: Sequence[str], near: Sequence[str], key: str) -> str:
        """Return the page with the same words in a name, ignoring order, endings and stop words; near ones first.

        ``titles`` are the proposal's title and then its aliases.
        """
        for number, title in enumerate(titles):
            found = self._by_stems.get(stems(title), ()) if stems(title) else ()
            seen = [slug for slug in found if self.owners.is_visible(slug, key)]
            close = [slug for slug in (*near, *self.created) if slug in seen]
            if close or (seen and number == 0):  # an alias is too weak a sign where nothing else is near
                return (close or seen)[0]
        return ""

    def is_topic(self, article: Article | None, proposal: JsonObject, key: str) -> bool:
        """Return whether a proposal is about something that has no page but perhaps waits on the project's."""
        own, parent = self.founding.title(key), self.founding.parent(key)
        if (article and article.slug != parent) or proposal["title"].casefold() == own.casefold():
            return False
        if article is None:
            return slugify(proposal["slug"].rsplit("/", 1)[-1]) != parent.rsplit("/", 1)[-1]
        names_ = (article.title.casefold(), article.name)
        return proposal["title"].casefold() not in names_ and proposal["slug"].rsplit("/", 1)[-1] != article.name

    def of_topic(self, slug: str, proposal: JsonObject, claims: Sequence[Claim], key: str) -> Article | None:
        """Return a new article for a topic of which there is enough to say, with the claims that waited; else None."""
        title = names.clean(proposal["title"])
        page, _, section = self._waiting_place(title, key)
        if names.fault(title) or not self.founding.has_enough([*founding.waiting(section), *claims]):
            return None
        return self._found(slug, {**proposal, "title": title}, page, section, claims, key)

    def parent(self, title: str, claims: Sequence[Claim], key: str) -> tuple[Article, str, str]:
        """Return the project's page, where a topic waits, its heading there, and what is wrong with the title."""
        title = names.clean(title)
        page, heading, section = self._waiting_place(title, key)
        page = page or self._create_parent(self.founding.parent(key), claims, key)
        fault = names.fault(title) if section is None and not heading else ""
        reason = f"“{title[:80]}” is {fault}, which nobody looks up; its claims went to {page.slug}" if fault else ""
        return page, heading, reason

    def _waiting_place(self, title: str, key: str) -> tuple[Article | None, str, Section | None]:
        """Return the project's page if there is one, the heading of a topic there, and its section if there is one."""
        parent, heading = self.founding.parent(key), self.founding.heading(title, key)
        page = self.open(parent) if parent in self.slugs else None
        return page, heading, founding.topic(page, heading) if page and heading else None

    def _found(
        self,
        slug: str,
        proposal: JsonObject,
        page: Article | None,
        section: Section | None,
        claims: Sequence[Claim],
        key: str,
    ) -> Article:
        """Create the article of a topic, with the claims that waited for it on the project's page."""
        waiting = founding.waiting(section)
        if page and slug == page.slug:  # a page that was folded is founded again
            gone = {proposal["title"].casefold(), slugify(proposal["title"]), proposal["slug"].rsplit("/", 1)[-1]}
            left = [alias for alias in page.aliases if alias.casefold() not in gone]
            page.front.set("aliases", left)
            for name in gone:
                self._by_name[name] = [other for other in self._by_name.get(name, ()) if other != page.slug]
            slug = self.owners.free_slug("concepts", slugify(proposal["title"]) or "untitled", key)
        article = self.create(slug, proposal, [*waiting, *claims], key)
        if page and waiting:
            moved = founding.move(waiting, page, article, section)
            for number, (shown_on, claim) in self.numbered.items():
                if shown_on == page.slug and claim in waiting:
                    self.numbered[number] = article.slug, claim
            self.renewed[page.slug] = self.renewed.get(page.slug, 0) + moved
            self.changed |= {page.slug, article.slug}
        return article

    def create(self, slug: str, proposal: JsonObject, claims: Sequence[Claim], key: str) -> Article:
        """Return a new page of a project, which begins on the day of its oldest claim."""
        day = min(date.fromisoformat(claim.day) for claim in claims)
        title = self.owners.distinct_title(proposal["title"], key, self._by_name)
        article = Article.new(slug, title, claims[0].text, day)
        article.give_to(key)
        self.articles[slug] = article
        self.slugs.add(slug)
        self.names[slug] = (title,)
        self._enter_names(slug, [title])
        self.owners.enter(slug, key)
        self.created.append(slug)
        return article

    def _create_parent(self, slug: str, claims: Sequence[Claim], key: str) -> Article:
        page = self.create(slug, {"title": self.founding.title(key)}, claims, key)
        page.summarise(founding.summary(page))
        return page

    def _enter_names(self, slug: str, names: Iterable[str]) -> None:
        for name in names:
            self._by_name.setdefault(name.casefold(), []).append(slug)
        for name in (*names, slug.rsplit("/", 1)[-1].replace("-", " ")):
            if key := stems(name):
                self._by_stems.setdefault(key, []).append(slug)

    def found_waiting(self) -> None:
        """Found an article for each topic of a project's page that claims of two entries wait for by now."""
        for slug in sorted(self.changed) if self.founding.thin else ():
            page, key = self.articles[slug], self.owners.pages.get(slug, "")
            if not key or slug != self.founding.parent(key):
                continue
            for section in [section for section in page.sections if not section.is_claims]:
                waiting = founding.waiting(section)
                sources = {source for claim in waiting for source in claim.sources}
                title = section.heading
                if len(sources) > 1 and not names.fault(title) and self._alike([title], [], key) == "":
                    name = self.owners.free_slug("concepts", slugify(title) or "untitled", key)
                    if name not in self.slugs:
                        self._found(name, {"title": title, "slug": name}, page, section, [], key)

    def fold_thin(self) -> None:
        """Fold thin pages that this draft changes into their projects' pages, with links and names."""
        for slug in sorted(self.before) if self.founding.thin else ():
            article, key = self.articles[slug], self.owners.pages.get(slug, "")
            is_changed = Wiki.encode(article) != Wiki.encode(self.before[slug])
            if not key or not is_changed or not self._is_foldable(article, key):
                continue
            linking = self.referring(article)
            if linking is None:
                continue
            parent = self.founding.parent(key)
            page = self.open(parent) if parent in self.slugs else self._create_parent(parent, article.claims, key)
            if page is None:
                continue
            founding.fold(article, page, self.founding.heading(article.title, key))
            self.folded[slug] = parent
            for other in {*linking, *self.articles} - self.folded.keys():
                if linked := self.open(other):
                    founding.redirect(linked, slug, page)
            self.slugs.discard(slug)
            self.changed.add(parent)

    def _is_foldable(self, article: Article, key: str) -> bool:
        old = self.before[article.slug]
        return (
            article.slug.startswith("concepts/")
            and article.slug != self.founding.parent(key)
            and self.founding.is_thin(article)
            and founding.is_untouched(old, self.founding.wrote)
        )

    # links

    def link(self, article: Article, slug: str, why: str = "") -> bool:
        """Link two pages in both directions; return False when the other page does not exist or is full.

        A page for all projects names no page of one project, and a project's page none of another project.
        """
        mine, theirs = self.owners.pages.get(article.slug, ""), self.owners.pages.get(slug, "")
        other = self.open(slug) if slug and theirs in ("", mine) else None
        if other is None or _related_count(article) >= MAX_RELATED:
            return False
        linked = article.relate(other.slug, other.title, why)
        if _related_count(other) < MAX_RELATED and mine == theirs:
            other.relate(article.slug, article.title)
        return linked

    def target(self, name: str, article: Article, taken: Sequence[tuple[Article, JsonObject]]) -> str:
        """Return the page that an answer names as related; a topic without an article is on its project's page."""
        key = self.owners.pages[article.slug]
        if slug := find_slug(name, self.owners.visible(key)):
            return slug
        bare = name.rsplit("/", 1)[-1]
        placed = [page for page, proposal in taken if proposal["slug"].rsplit("/", 1)[-1] == bare]
        mine = next((page.slug for page in placed if self.owners.pages[page.slug] == key), "")
        page = self.open(self.founding.parent(key)) if key and not mine else None
        return mine or (page.slug if page and founding.topic(page, bare.replace("-", " ")) else "")

    def link_enough(self, article: Article, candidates: Iterable[str]) -> None:
        """Link a page to candidates until it has enough links, first to those whose names occur in it."""
        said = stems("\n".join((article.title, article.summary, *(claim.text for claim in article.claims))))

        def named(slug: str) -> float:
            known = [stems(name) for name in self.names.get(slug, ()) if stems(name)]
            return max((len(words & said) / len(words) for words in known), default=0.0)

        for slug in sorted(dict.fromkeys(candidates), key=lambda slug: -named(slug)):
            if len({link.target for link in article.links if link.target in self.slugs}) >= MIN_RELATED:
                return
            self.link(article, slug)


def _related_count(article: Article) -> int:
    sections = (section for section in article.sections if section.named(RELATED))
    return sum(row.startswith("- [[") for section in sections for row in section.rows)
