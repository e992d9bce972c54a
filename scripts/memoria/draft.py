"""Draft: the articles as a compile's answer would leave them, checked claim by claim before anything is written.

What a model answers is a proposal. A claim is taken only with sources that exist and precise parts that those sources
hold; a link only to a page that exists; a page only with a claim. What is not taken is named in ``refused``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from memoria import evidence, markdown
from memoria.article import FOLDERS, RELATED, Article, Claim, words
from memoria.daily import Entry, render
from memoria.transaction import digest
from memoria.wiki import Wiki, find_slug, slugify

JsonObject = dict[str, Any]
MOST_RELATED = 30  # links under Related; a hub that everything points to stays readable
LEAST_RELATED = 2  # a concept links at least this many others when they exist


class Draft:
    """Changes to a wiki in memory, made from one answer about some entries."""

    def __init__(self, wiki: Wiki, entries: Sequence[Entry]) -> None:
        self.wiki = wiki
        self.entries = {entry.id: entry for entry in entries}
        self.slugs = set(wiki.slugs())
        self.articles: dict[str, Article] = {}
        self.read: dict[str, str] = {}
        self.created: list[str] = []
        self.refused: list[str] = []

    def take(self, answer: JsonObject, near: Sequence[str]) -> None:
        """Work the answer in. ``near``: slugs of existing pages about the same things, best first."""
        taken: list[tuple[Article, JsonObject]] = []
        for proposal in answer["articles"]:
            article = self._article(proposal)
            if article:
                taken.append((article, proposal))
        for article, proposal in taken:
            for related in proposal["related"]:
                self._link(article, find_slug(related["slug"], self.slugs), related.get("why", ""))
        for article, _ in taken:
            self._link_enough(article, [*(other.slug for other, _ in taken), *near])
        self._drop_loose_connections()

    def changes(self) -> dict[str, bytes]:
        """New texts by path inside the wiki; pages that are as they were are left out."""
        texts = {f"{slug}.md": _encode(article.render()) for slug, article in self.articles.items()}
        return {name: data for name, data in texts.items() if digest(data) != self.read.get(name, "")}

    # one page

    def _article(self, proposal: JsonObject) -> Article | None:
        claims = [claim for row in proposal["claims"] if (claim := self._checked(row, proposal["title"]))]
        slug = self._slug(proposal)
        article = self._open(slug) if slug in self.slugs else None
        if not claims and (article is None or not proposal["related"]):
            self.refused.append(f"{proposal['title']}: no claim with a source; not written")
            return None
        days = [self.entries[source].day for row in proposal["claims"] for source in self._ids(row)]
        if article is None:
            if slug in self.slugs:  # it is there and cannot be read: a person has to mend it first
                self.refused.append(f"{slug}: its frontmatter is broken; mend it, then compile again")
                return None
            article = Article.new(slug, proposal["title"], proposal["summary"] or claims[0].text, min(days))
            self.articles[slug] = article
            self.slugs.add(slug)
            self.created.append(slug)
        self._add(article, claims, proposal)
        for day in days:
            article.touch(day)
        return article

    def _slug(self, proposal: JsonObject) -> str:
        """The page the proposal means: an existing one by slug, title or alias, else a new slug nobody has."""
        known = find_slug(proposal["slug"], self.slugs) or find_slug(proposal["title"], self.slugs)
        if known:
            return known
        name = slugify(proposal["slug"].rsplit("/", 1)[-1]) or slugify(proposal["title"]) or "untitled"
        return f"{FOLDERS[proposal['kind']]}/{name}"

    def _open(self, slug: str) -> Article | None:
        if slug in self.articles:
            return self.articles[slug]
        try:
            article = self.wiki.get(slug)
        except ValueError:
            return None
        if article is None:
            return None
        # What is written back must have been made from exactly these bytes.
        self.read[f"{slug}.md"] = digest(self.wiki.path(slug).read_bytes())
        self.articles[slug] = article
        return article

    def _add(self, article: Article, claims: list[Claim], proposal: JsonObject) -> None:
        old = {row["text"]: row.get("supersedes", "") for row in proposal["claims"]}
        for claim in claims:
            replaced = _best(old.get(claim.text, ""), article.claims)
            if replaced and not replaced.same_as(claim.text):
                article.supersede(replaced, self._day(claim))
            article.say(Claim(markdown.line(claim.text), claim.sources))
        article.extend("tags", (slugify(tag) for tag in proposal["tags"]))
        names = {article.title.casefold(), *(self._titles())}
        aliases = map(markdown.line, proposal["aliases"])
        article.extend("aliases", (alias for alias in aliases if alias.casefold() not in names))
        article.extend("sources", (f"[[{source.split('#')[0]}]]" for claim in claims for source in claim.sources))

    def _titles(self) -> set[str]:
        return {article.title.casefold() for article in self.articles.values()}

    def _day(self, claim: Claim) -> date:
        return max(date.fromisoformat(source[len("daily/") : len("daily/") + 10]) for source in claim.sources)

    # one claim

    def _ids(self, row: JsonObject) -> list[str]:
        names = [source.rsplit("^e-", 1)[-1].strip(" []").removeprefix("e-") for source in row["sources"]]
        return list(dict.fromkeys(name for name in names if name in self.entries))

    def _checked(self, row: JsonObject, title: str) -> Claim | None:
        ids = self._ids(row)
        if not ids:
            self.refused.append(f"{title}: no known source for “{row['text'][:120]}”")
            return None
        cited = "\n".join(render(self.entries[source]) for source in ids)
        missing = evidence.unsupported(row["text"], cited)
        if missing:
            self.refused.append(f"{title}: {', '.join(missing[:5])} not in the source of “{row['text'][:120]}”")
            return None
        return Claim(row["text"], tuple(self.entries[source].source for source in ids))

    # links

    def _link(self, article: Article, slug: str, why: str = "") -> bool:
        """Link two pages both ways; False when there is no such page or the page is full."""
        other = self._open(slug) if slug else None
        if other is None or other is article or _related_count(article) >= MOST_RELATED:
            return False
        linked = article.relate(other.slug, other.title, why)
        if _related_count(other) < MOST_RELATED:
            other.relate(article.slug, article.title)
        return linked

    def _link_enough(self, article: Article, candidates: Iterable[str]) -> None:
        for slug in candidates:
            if len({link.target for link in article.links if link.target in self.slugs}) >= LEAST_RELATED:
                return
            self._link(article, slug)

    def _drop_loose_connections(self) -> None:
        """A new connection that connects nothing is no page."""
        for slug in list(self.created):
            article = self.articles[slug]
            others = {link.target for link in article.links if link.target in self.slugs and link.target != slug}
            if slug.startswith("connections/") and len(others) < LEAST_RELATED:
                for other in self.articles.values():
                    for section in other.sections:
                        section.rows = [row for row in section.rows if f"[[{slug}|" not in row]
                del self.articles[slug]
                self.slugs.discard(slug)
                self.created.remove(slug)
                self.refused.append(f"{article.title}: a connection of fewer than two pages; not written")


def _related_count(article: Article) -> int:
    return sum(
        row.startswith("- [[") for section in article.sections for row in section.rows if section.heading == RELATED
    )


def _best(text: str, claims: list[Claim]) -> Claim | None:
    """The claim that ``text`` quotes: the same words, or nearly all of them."""
    wanted = set(words(text))
    if not wanted:
        return None
    scored = [(len(wanted & set(words(claim.text))) / len(wanted | set(words(claim.text))), claim) for claim in claims]
    score, claim = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return claim if score >= 0.6 else None


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
