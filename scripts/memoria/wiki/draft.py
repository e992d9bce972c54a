"""Draft: the articles as a compile's answer would leave them, checked claim by claim before anything is written.

A model's answer is a proposal. A claim is accepted only when its sources exist and contain its precise parts, a link
only when its target exists, and a page only when it has a claim. Only a correction by the user can replace a
correction by the user. A claim that a person removed from a page does not come back from the same entries. Whatever is
not accepted is listed in ``refused``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from memoria.daily.entry import Entry
from memoria.ground import markdown
from memoria.ground.errors import DropRefusedError
from memoria.language import statements
from memoria.language.similarity import jaccard, overlap
from memoria.language.words import stems, words, words_and_numbers
from memoria.wiki import evidence
from memoria.wiki.article import FOLDERS, RELATED, SIMILAR, Article, Claim
from memoria.wiki.folder import Wiki, find_slug, slugify
from memoria.wiki.owners import Owners
from memoria.wiki.transaction import digest

JsonObject = dict[str, Any]
MAX_RELATED = 30  # links under Related, so that a hub that many pages link to stays readable
MIN_RELATED = 2  # a concept links at least this many others when they exist
MIN_SHARED = 0.5  # two sentences that share this part of the shorter one's words are about the same thing
FEW = 3  # claims of one page that one compile may always outdate, whatever the share

_ANCHOR = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)


class Draft:
    """Changes to a wiki in memory, made from one answer about some entries."""

    def __init__(
        self,
        wiki: Wiki,
        entries: Sequence[Entry],
        *,
        names: Mapping[str, Sequence[str]] | None = None,
        entry_at: Callable[[str], Entry | None] = lambda _: None,
        touched: Mapping[str, set[str]] | None = None,
        owners: Owners | None = None,
        edited: Mapping[str, set[str]] | None = None,
    ) -> None:
        """Start a draft from ``entries``.

        ``names`` maps every page's slug to its title and aliases. ``entry_at`` reads the entry behind a source.
        ``touched`` maps each entry that an earlier compile took in, and that has not changed since, to the slugs that
        the compile wrote; ``edited`` does so for entries that have changed since. ``owners`` says to which project each
        page belongs, by default all pages to all projects.
        """
        self.wiki = wiki
        self.entries = {entry.id: entry for entry in entries}
        self.names = dict(names if names is not None else dict.fromkeys(wiki.slugs(), ()))
        self.slugs = set(self.names)
        self.entry_at = entry_at
        self.touched = touched or {}
        self.owners = owners or Owners(dict.fromkeys(self.slugs, ""), {})
        self.edited = edited or {}
        self.articles: dict[str, Article] = {}
        self.read: dict[str, str] = {}
        self.before: dict[str, Article] = {}
        self.created: list[str] = []
        self.refused: list[str] = []
        self._by_name: dict[str, list[str]] = {}
        for slug, known in self.names.items():
            for name in known:
                self._by_name.setdefault(name.casefold(), []).append(slug)

    def take(self, answer: JsonObject, near: Sequence[str]) -> None:
        """Apply the answer; ``near`` lists slugs of existing pages about the same things, best first."""
        taken: list[tuple[Article, JsonObject]] = []
        for whole in answer["articles"]:
            for key, proposal in self._by_project(whole):
                article = self._article(proposal, key, near, answer["articles"])
                if article:
                    taken.append((article, proposal))
        for article, proposal in taken:
            visible = self.owners.visible(self.owners.pages[article.slug])
            for related in proposal["related"]:
                self._link(article, find_slug(related["slug"], visible), related.get("why", ""))
        for article, _ in taken:
            self._link_enough(article, [*(other.slug for other, _ in taken), *near])
        self._retire()

    def changes(self) -> dict[str, bytes]:
        """Return the new texts by path inside the wiki, without unchanged pages."""
        texts = {f"{slug}.md": Wiki.encode(article) for slug, article in self.articles.items()}
        return {name: data for name, data in texts.items() if digest(data) != self.read.get(name, "")}

    def check(self, share: float) -> None:
        """Raise DropRefusedError when a page would lose more than ``share`` of its claims, or the target of a link."""
        for slug, old in self.before.items():
            new = self.articles[slug]
            remaining = [claim for claim in old.claims if new.holds(claim.text)]
            lost = len(old.claims) - len(remaining)
            if lost > FEW and lost > share * len(old.claims):
                raise DropRefusedError(slug, f"{lost} of its {len(old.claims)} claims would no longer be current")
            anchors = set(_ANCHOR.findall(old.render())) - set(_ANCHOR.findall(new.render()))
            if anchors:
                raise DropRefusedError(slug, f"the link target ^{min(anchors)} would be lost")

    def _refuse(self, reason: str) -> None:
        """Record a refusal on one line, because it quotes the model and is printed among memoria's own lines."""
        self.refused.append(" ".join(reason.split()))

    # one page

    def _by_project(self, proposal: JsonObject) -> Iterator[tuple[str, JsonObject]]:
        """Yield the proposal once for each project whose entries its claims cite, with that project's claims."""
        ids = [self._ids(row) for row in proposal["claims"]]
        keys = list(dict.fromkeys(self.entries[name].project_key for names in ids for name in names))
        if not keys:
            known = self.owners.pages.get(find_slug(proposal["slug"], self.slugs), "")
            yield known or next((entry.project_key for entry in self.entries.values()), ""), proposal
        for number, key in enumerate(keys):
            own = [[name for name in names if self.entries[name].project_key == key] for names in ids]
            claims = [
                {**row, "sources": mine or row["sources"]}
                for row, names, mine in zip(proposal["claims"], ids, own, strict=True)
                if mine or (not names and not number)  # a claim without a known source is refused, once
            ]
            yield key, {**proposal, "claims": claims}

    def _article(
        self, proposal: JsonObject, key: str, near: Sequence[str], all_: Sequence[JsonObject]
    ) -> Article | None:
        slug = self._slug(proposal, key, near, all_)
        claims = [claim for row in proposal["claims"] if (claim := self._checked(row, proposal["title"], slug))]
        article = self._open(slug) if slug in self.slugs else None
        if article is None and slug in self.slugs:  # it exists but cannot be read: a person must repair it first
            self._refuse(f"{slug}: its frontmatter is broken; repair it, then compile again")
            return None
        if not claims and (article is None or not proposal["related"]):
            if not proposal["claims"]:
                self._refuse(f"{proposal['title']}: no claim with a source; not written")
            return None
        if article is None:
            day = min(date.fromisoformat(claim.day) for claim in claims)
            title = self.owners.distinct_title(proposal["title"], key, self._by_name)
            article = Article.new(slug, title, self._summary(proposal, claims, key), day)
            article.give_to(key)
            self.articles[slug] = article
            self._enter(slug, title, key)
            self.created.append(slug)
        self._add(article, claims, proposal, [other for other in near if self.owners.is_visible(other, key)])
        return article

    def _summary(self, proposal: JsonObject, claims: list[Claim], key: str) -> str:
        """Return the proposal's summary if some entry of the project has its precise parts, else the first claim."""
        every = "\n".join(_text(entry) for entry in self.entries.values() if entry.project_key == key)
        if proposal["summary"] and not evidence.unsupported(proposal["summary"], every):
            return str(proposal["summary"])
        return claims[0].text

    def _enter(self, slug: str, title: str, key: str) -> None:
        self.slugs.add(slug)
        self.names[slug] = (title,)
        self._by_name.setdefault(title.casefold(), []).append(slug)
        self.owners.enter(slug, key)

    def _slug(self, proposal: JsonObject, key: str, near: Sequence[str], all_: Sequence[JsonObject]) -> str:
        """Return the slug of the page that the proposal means: an existing one with a matching name, else a new one.

        Pages of other projects do not count.
        """
        title, visible = proposal["title"], self.owners.visible(key)
        named = (slug for slug in self._by_name.get(title.casefold(), ()) if slug in visible)
        known = find_slug(proposal["slug"], visible) or next(named, "") or find_slug(title, visible)
        former = self.owners.former_name(slugify(proposal["slug"].rsplit("/", 1)[-1]), key)
        known = known or (find_slug(former, visible) if former else "")
        known = known or self._alike([title, *proposal["aliases"]], [slug for slug in near if slug in visible], key)
        if known:
            return known
        name = slugify(proposal["slug"].rsplit("/", 1)[-1]) or slugify(title) or "untitled"
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
        """Return the near or new page whose title or alias has the same words, ignoring endings and stop words."""
        wanted = [found for found in map(stems, titles) if found]
        for slug in [*near, *(slug for slug in self.created if self.owners.is_visible(slug, key))]:
            for name in (*self.names.get(slug, ()), slug.rsplit("/", 1)[-1].replace("-", " ")):
                if stems(name) in wanted:
                    return slug
        return ""

    def _open(self, slug: str) -> Article | None:
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

    def _add(self, article: Article, claims: list[Claim], proposal: JsonObject, near: Sequence[str]) -> None:
        old = {row["text"]: row.get("supersedes", "") for row in proposal["claims"]}
        written = [claim for claim in claims if self._place(article, claim, old.get(claim.text, ""), near)]
        article.extend("tags", (slugify(tag) for tag in proposal["tags"]))
        aliases = (markdown.line(alias) for alias in proposal["aliases"])
        article.extend("aliases", (alias for alias in aliases if alias.casefold() not in self._by_name))
        article.extend("sources", (f"[[{source.split('#')[0]}]]" for claim in written for source in claim.sources))
        for claim in written:
            article.touch(date.fromisoformat(claim.day))

    # one claim

    def _place(self, article: Article, claim: Claim, supersedes: str, near: Sequence[str]) -> bool:
        """Add a claim, either as current or directly to the history; return False when nothing changes."""
        claim = Claim(markdown.line(claim.text), claim.sources)
        home, old = self._replaced(article, claim, supersedes, near)
        if old is None or old.same_as(claim.text):
            return article.add_claim(claim)
        if self._was_corrected(old) and not self._was_corrected(claim):
            self._refuse(f"{article.title}: the user corrected this to “{old.text[:120]}”; “{claim.text[:120]}” "
                                "is not from a correction")  # fmt: skip
            return False
        if claim.day < old.day:
            home.add_past(claim, old.day)
            return True
        if not article.add_claim(claim):
            return False
        home.supersede(old, claim.day)
        return True

    def _replaced(
        self, article: Article, claim: Claim, supersedes: str, near: Sequence[str]
    ) -> tuple[Article, Claim | None]:
        """Return the claim that this one outdates and its page: one that it quotes, or one with another number."""
        found = _best(supersedes, article.claims) or _other_value(claim, article.claims)
        if found or not supersedes:
            return article, found
        for slug in near:
            other = self._open(slug) if slug != article.slug else None
            found = _best(supersedes, other.claims, 0.8) if other else None
            if other and found:
                return other, found
        return article, None

    def _was_corrected(self, claim: Claim) -> bool:
        """Return whether an entry that the claim cites holds a correction by the user about the same thing."""
        for source in claim.sources:
            entry = self.entries.get(source.rsplit("^e-", 1)[-1]) or self.entry_at(source)
            events = entry.learned if entry else ()
            if any(event.kind == "correction" and _covers(event.text, claim.text) for event in events):
                return True
        return False

    def _ids(self, row: JsonObject) -> list[str]:
        names = [source.rsplit("^e-", 1)[-1].strip(" []").removeprefix("e-") for source in row["sources"]]
        return list(dict.fromkeys(name for name in names if name in self.entries))

    def _checked(self, row: JsonObject, title: str, slug: str) -> Claim | None:
        ids = self._ids(row)
        quotation = f"“{row['text'][:120]}”"
        if not ids:
            self._refuse(f"{title}: no known source for {quotation}")
            return None
        if not words(row["text"]):
            self._refuse(f"{title}: a claim has no words")
            return None
        missing = evidence.unsupported(row["text"], "\n".join(_text(self.entries[source]) for source in ids))
        if missing:
            self._refuse(f"{title}: {', '.join(missing[:5])} not in the source of {quotation}")
            return None
        claim = Claim(row["text"], tuple(self.entries[source].source for source in ids))
        if all(slug in self.touched.get(source, ()) for source in ids) and not self._is_on_page(slug, claim):
            self._refuse(f"{title}: the page was written from these entries before and no longer has {quotation}")
            return None
        return claim

    def _is_on_page(self, slug: str, claim: Claim) -> bool:
        article = self._open(slug)
        return article is not None and article.holds(markdown.line(claim.text))

    def _retire(self) -> None:
        """Move claims to the history that rest only on edited entries, which no longer contain their precise parts."""
        for slug in sorted(set().union(*self.edited.values()) & self.slugs):
            article = self._open(slug)
            for claim in [*article.claims] if article else []:
                known = [self.entries.get(source.rsplit("^e-", 1)[-1]) for source in claim.sources]
                cited = [entry for entry in known if entry and entry.id in self.edited]
                if not cited or len(cited) < len(claim.sources):
                    continue
                if article and evidence.unsupported(claim.text, "\n".join(map(_text, cited))):
                    article.supersede(claim, max(entry.day for entry in cited).isoformat())

    # links

    def _link(self, article: Article, slug: str, why: str = "") -> bool:
        """Link two pages in both directions; return False when the other page does not exist or is full.

        A page for all projects names no page of one project, and a project's page none of another project.
        """
        mine, theirs = self.owners.pages.get(article.slug, ""), self.owners.pages.get(slug, "")
        other = self._open(slug) if slug and theirs in ("", mine) else None
        if other is None or _related_count(article) >= MAX_RELATED:
            return False
        linked = article.relate(other.slug, other.title, why)
        if _related_count(other) < MAX_RELATED and mine == theirs:
            other.relate(article.slug, article.title)
        return linked

    def _link_enough(self, article: Article, candidates: Iterable[str]) -> None:
        for slug in candidates:
            if len({link.target for link in article.links if link.target in self.slugs}) >= MIN_RELATED:
                return
            self._link(article, slug)


def _text(entry: Entry) -> str:
    """Return what an entry says, without its marker, whose keys and ids are no evidence."""
    lists = (entry.key_exchanges, entry.decisions, entry.lessons, entry.action_items)
    learned = [event.text for event in entry.learned]
    parts = [entry.day.isoformat(), entry.project, entry.title, entry.context, *(row for rows in lists for row in rows)]
    return "\n".join([*parts, *learned])


def _related_count(article: Article) -> int:
    sections = (section for section in article.sections if section.named(RELATED))
    return sum(row.startswith("- [[") for section in sections for row in section.rows)


def _best(text: str, claims: list[Claim], least: float = SIMILAR) -> Claim | None:
    """Return the claim that ``text`` quotes in the same words or nearly so."""
    quoted = set(words(text))
    scored = [(jaccard(quoted, set(words(claim.text))), claim) for claim in claims]
    score, claim = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return claim if score >= least else None


def _other_value(claim: Claim, claims: list[Claim]) -> Claim | None:
    """Return the claim from other entries that has the same words, at least four, and one different number."""
    new = words_and_numbers(claim.text)
    for other in claims:
        old = words_and_numbers(other.text)
        if len(new) != len(old) or len(new) < 5 or set(claim.sources) & set(other.sources):
            continue
        differing = [(one, two) for one, two in zip(new, old, strict=True) if one != two]
        if len(differing) == 1 and all(token[0].isdigit() for token in differing[0]):
            return other
    return None


def _covers(event: str, claim: str) -> bool:
    """Return whether two sentences are about the same thing: they share half of the shorter one's content words."""
    return overlap(statements.words(event).stems, statements.words(claim).stems) >= MIN_SHARED
