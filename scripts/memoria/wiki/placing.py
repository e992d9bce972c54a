"""Placing: the articles as a compile's answer would leave them.

An answer names statements by their ids and says where each stands; code renders the lines. What an answer cannot name
it cannot change, and what it leaves out stands on the project's own page, under the section of its kind. A topic gets
an article of its own when two statements stand there; one alone stands on the project's page, under the topic's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from memoria.ground import markdown
from memoria.search.words import stems
from memoria.statements.claim_check import find_unheard
from memoria.statements.fact import Fact, make_plain
from memoria.statements.keeper import Keeper
from memoria.wiki import lines
from memoria.wiki.article import CONNECTIONS, HISTORY, Article, Claim, heading_of
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Owners, Wiki, find_slug, is_name, slugify, unquote
from memoria.wiki.settle import bring
from memoria.wiki.transaction import digest

JsonObject = dict[str, Any]

FOLDER: Final = "concepts"  # of new articles
ENOUGH: Final = 2  # statements with which a topic gets an article of its own
MAX_RELATED: Final = 30  # links under Related, so that a hub that many pages link to stays readable


@dataclass(slots=True)
class Placing:
    """Changes to the articles that one project sees, in memory.

    ``key``: the project, ``""`` for all projects. ``rows``: all articles. ``new``: the statements to place, by id;
    ``shown``: those of the articles that the model was shown, and where they stand.
    """

    wiki: Wiki
    keeper: Keeper
    owners: Owners
    rows: Mapping[str, Row]
    key: str
    new: Mapping[str, Fact]
    shown: Mapping[str, str] = field(default_factory=dict)
    articles: dict[str, Article] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    before: dict[str, bytes] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def take(self, answer: JsonObject) -> None:
        """Apply an answer; what it gets wrong is listed in ``refused`` and left out."""
        proposals = {slugify(_name(row["slug"])): row for row in answer["articles"]}
        wanted = self._wanted_places(answer["places"])
        counts = dict.fromkeys(proposals, 0)
        for name, _ in wanted.values():
            counts[slugify(_name(name))] = counts.get(slugify(_name(name)), 0) + 1
        for ident, (name, section) in wanted.items():
            self._place(ident, *self._target(name, section, proposals, counts))
        for ident in [ident for ident in self.new if ident not in wanted]:
            is_again = self.keeper.store.places_of(ident)  # placed again, it stays where it stands
            if not is_again and self._holds(ident):
                self._place(ident, self._own_page(), "")
        for row in answer["links"]:
            self._link(row)
        for row in answer["connections"]:
            self._connect(row)
        for name in proposals:
            self.open(find_slug(name, self.owners.visible_slugs(self.key)))
        told = self.keeper.store.told_ids() | wanted.keys()
        for slug in list(self.articles):
            article, proposed = self.articles[slug], proposals.get(slugify(_name(slug)), {})
            former = article.summary
            bring(article, self.keeper, (), told)
            self._name_article(article, proposed)
            self._summarise(article, proposed, former)

    def changes(self) -> dict[str, Article]:
        """Return the articles that differ from what they were."""
        return {slug: page for slug, page in self.articles.items() if Wiki.encode(page) != self.before.get(slug, b"")}

    # -- where a statement stands

    def _wanted_places(self, places: Sequence[JsonObject]) -> dict[str, tuple[str, str]]:
        """Return the article and section that an answer names for each statement, the first of each."""
        found: dict[str, tuple[str, str]] = {}
        stand = map(self.keeper.store.get, self.keeper.store.told_ids() & (self.new.keys() | self.shown.keys()))
        by_hand = {fact.id for fact in stand if fact and fact.origin == "user" and not fact.session}
        for row in places:
            ident = ident_of(row["id"])
            if ident not in self.new and ident not in self.shown:
                self.refused.append(f"{ident!r} was not shown")
            elif self._holds(ident) and ident not in by_hand:  # which stays there
                found.setdefault(ident, (row["article"], row["section"]))
        return found

    def _holds(self, ident: str) -> bool:
        fact = self.new.get(ident) or self.keeper.store.get(ident)
        return fact is not None and fact.ended is None

    def _target(
        self, name: str, section: str, proposals: Mapping[str, JsonObject], counts: Mapping[str, int]
    ) -> tuple[Article, str]:
        """Return the article that a name means, and the section there."""
        bare = slugify(_name(name))
        proposal = proposals.get(bare, {"slug": bare, "title": bare.replace("-", " ").capitalize(), "aliases": []})
        known = self._find_known(name, proposal)
        if known and (article := self.open(known)):
            return article, section
        title = unquote(str(proposal["title"] or bare.replace("-", " ").capitalize()))
        if not is_name(title):
            return self._own_page(), ""
        waiting = self._waiting_ids(title)
        if counts.get(bare, 0) + len(waiting) < ENOUGH:
            return self._own_page(), title
        article = self._create(bare, title)
        for ident in waiting:
            self._place(ident, article, "")
        return article, section

    def _waiting_ids(self, title: str) -> list[str]:
        """Return the other statements of a topic without an article, which stand on the project's page by its name."""
        page = self.open(self._own_slug())
        rows = page.lines() if page else ()
        return [
            row.id for part, _, row in rows if row.id not in self.new and part.is_headed(title) and self._holds(row.id)
        ]

    def _find_known(self, name: str, proposal: JsonObject) -> str:
        """Return the article that this project sees under a slug or name, ``""`` when there is none."""
        visible = self.owners.visible_slugs(self.key)
        told_apart = self.owners.free_slug(FOLDER, slugify(_name(name)), self.key)  # from another project's
        if slug := find_slug(name, visible) or (told_apart if told_apart in visible else ""):
            return slug
        return self._find_titled([proposal["title"], *proposal["aliases"]], visible)

    def _find_titled(self, names: Iterable[str], slugs: Iterable[str]) -> str:
        """Return the first of these articles that has one of the names as a title, ``""`` when none has."""
        wanted = set(filter(None, map(stems, names)))
        for slug in sorted(slugs):
            row = self.rows.get(slug)
            known = (row.title, *row.aliases) if row else (self.articles[slug].title,) if slug in self.articles else ()
            if wanted & set(map(stems, known)):
                return slug
        return ""

    def _own_page(self) -> Article:
        """Return the project's own page."""
        title = self._own_titles()[0]
        article = self.open(self._own_slug())
        return article or self._create(slugify(title), title)

    def _own_titles(self) -> list[str]:
        """Return what the project's own page may be called, its present title first."""
        names = [name.strip("- ") or "Notes" for name in self.owners.names(self.key)]
        return [name if is_name(name) else f"Project {name}" for name in names]

    def _own_slug(self) -> str:
        """Return the project's own page, whatever a person called its file, ``""`` when there is none yet."""
        titles, visible = self._own_titles(), self.owners.visible_slugs(self.key)
        named = (slug for title in titles if (slug := f"{FOLDER}/{slugify(title)}") in visible)
        own = (slug for slug in visible if self.owners.pages[slug] == self.key)
        return next(named, "") or self._find_titled(titles, own)

    def open(self, slug: str) -> Article | None:
        """Return an article as it is so far; None when it cannot be read, or does not exist."""
        if slug in self.articles:
            return self.articles[slug]
        try:
            if (data := self.wiki.read(slug)) is None:
                return None
            article = self.wiki.parse(slug, data)
        except ValueError:
            return None
        # The new text must be made from exactly the bytes whose digest is recorded here.
        self.read[f"{slug}.md"], self.before[slug], self.articles[slug] = digest(data), data, article
        return article

    def _create(self, name: str, title: str) -> Article:
        """Return a new article, or the one that the project has under this name already."""
        slug = self.owners.free_slug(FOLDER, name, self.key)
        if article := self.open(slug):
            return article
        taken = {name.casefold() for row in self.rows.values() for name in (row.title, *row.aliases)}
        title = self.owners.distinct_title(title, self.key, taken)
        unplaced = [fact for fact in self.new.values() if not self.keeper.store.places_of(fact.id)]
        day = min((self.keeper.zone.day(fact.time) for fact in unplaced), default=date.today())
        article = Article.new(slug, title, "", day)
        article.give_to(self.key)
        self.owners.pages[slug] = self.key
        self.articles[slug] = article
        self.created.append(slug)
        return article

    def _place(self, ident: str, article: Article, section: str) -> None:
        """Let a statement stand on an article; one that stands on another page of the project moves."""
        fact = self.new.get(ident) or self.keeper.get(ident)
        heading = heading_of(section) or lines.section_of(fact.kind)
        former = self.open(self.shown.get(ident) or next(iter(self.keeper.store.places_of(ident)), ""))
        if any(page and ident in page.unread_rows for page in (article, former)):
            return  # a person gave its line another form
        if article.shows(ident):
            here = next(line for line in article.lines() if line[2].id == ident and not line[0].is_headed(HISTORY))
            if section and not here[0].is_headed(heading):
                lines.place(article, heading, article.cut(*here[:2]), ident, self.keeper.store)
            return
        rows = self._cut(former, ident) if former else []
        rows = rows or [lines.claim_of(self._adopt(fact), self.keeper.store).render()]
        lines.place(article, heading, rows, ident, self.keeper.store)
        article.touch(self.keeper.zone.day(fact.time))

    def _cut(self, page: Article, ident: str) -> list[str]:
        """Remove a statement's line from the page that shows it, and return its rows; of its own line, none."""
        for section, number, claim in list(page.lines()):
            if claim.id == ident and not section.is_headed(HISTORY):
                rows = page.cut(section, number)
                return [] if claim.is_own else rows
        return []

    def _adopt(self, fact: Fact) -> Fact:
        """Return a statement whose line can link to it: one that stood on an article alone is written to its log."""
        if self.keeper.store.day(fact.id) is None:
            self.keeper.write(fact)
        return fact

    # -- what an answer says of articles

    def _name_article(self, article: Article, proposal: JsonObject) -> None:
        """Take further names for an article, and another title while it has the one that it was founded with."""
        known = {name.casefold() for row in self.rows.values() for name in (row.title, *row.aliases)}
        known.add(article.title.casefold())
        title = unquote(str(proposal.get("title", "")))
        if slugify(article.title) == article.name and title.casefold() not in known and is_name(title):
            article.rename(title)
        known.add(article.title.casefold())
        aliases = [markdown.line(alias) for alias in proposal.get("aliases", ())]
        article.front.add("aliases", [alias for alias in aliases if alias and alias.casefold() not in known])

    def _summarise(self, article: Article, proposal: JsonObject, former: str) -> None:
        """Write a summary that the page supports, but not the ``former`` one that an end removed; a person's stays."""
        proposed = markdown.line(proposal.get("summary", ""))
        if not article.wrote_summary:
            return
        is_over = proposed == former != article.summary
        if proposed and not is_over and lines.is_supported(proposed, article):
            article.summarise(proposed)
        elif (
            not article.summary
            or article.slug == self._own_slug()  # which lists its topics
            or not lines.is_supported(article.summary, article)
        ):
            article.summarise(lines.summary_of(article))
        if proposed and article.summary != proposed:
            self.refused.append(f"the summary of {article.slug} tells what the article does not")

    def _link(self, row: JsonObject) -> None:
        """Link two articles in both directions, with the reason; a page for all projects names none of one project."""
        one, other = (self._find_known(row[side], {"title": "", "aliases": []}) for side in ("from", "to"))
        page, target = self.open(one), self.open(other)
        if page is None or target is None or not make_plain(row["why"]):
            self.refused.append(f"no link between {row['from']!r} and {row['to']!r}")
            return
        for here, there in ((page, target), (target, page)):
            if here.degree < MAX_RELATED and self.owners.pages.get(there.slug, "") in ("", here.project):
                here.relate(there.slug, there.title, make_plain(row["why"]))

    def _connect(self, row: JsonObject) -> None:
        """Put a sentence about several statements on the page of the first; it says nothing that they do not name."""
        idents = list(dict.fromkeys(map(ident_of, row["ids"])))
        facts = [self.new.get(each) or (self.keeper.store.get(each) if each in self.shown else None) for each in idents]
        known = [fact for fact in facts if fact and fact.ended is None and self.keeper.store.day(fact.id)]
        text = make_plain(row["text"])
        ground = "\n".join(fact.content for fact in known)
        if len(known) < ENOUGH or not text or find_unheard(text, ground):
            self.refused.append(f"connects nothing that is known: {text!r}")
            return
        page = next((page for page in self.articles.values() if page.shows(known[0].id)), None)
        page = page or self.open(self.shown.get(known[0].id, ""))
        claim = Claim(markdown.line(text), tuple(lines.claim_of(fact, self.keeper.store).sources[0] for fact in known))
        if page and all(set(other.ids) != set(claim.ids) for other in page.claims):
            page.add(claim, CONNECTIONS)


def ident_of(text: str) -> str:
    """Return the id that a model wrote, perhaps as a link."""
    return text.strip(" ^[]()").rpartition("^")[2]


def _name(slug: str) -> str:
    return slug.strip().removesuffix(".md").rpartition("/")[2]
