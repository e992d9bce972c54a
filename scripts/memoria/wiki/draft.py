"""Draft: the articles as a compile's answer would leave them, checked claim by claim before anything is written.

A model's answer is a proposal. A claim is accepted only when its sources exist and each of them contains its precise
parts, and a page only when it has a claim. What the user said yields only to a newer word of the user. When claims of
an article change, its summary is written anew unless a person wrote it. A claim that a person removed from a page does
not come back from the same entries. Whatever is not accepted is listed in ``refused``. ``draft_pages`` knows which page
a topic gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from memoria.daily import open_items
from memoria.daily.entry import Entry
from memoria.ground import markdown
from memoria.search import comparison
from memoria.search.words import jaccard, words, words_and_numbers
from memoria.statements.fact import phrases
from memoria.wiki import evidence, founding, headings, summary
from memoria.wiki.article import SIMILAR, Article, Claim
from memoria.wiki.draft_pages import DraftPages
from memoria.wiki.folder import Wiki, find_slug, slugify
from memoria.wiki.founding import Founding
from memoria.wiki.owners import Owners
from memoria.wiki.user_words import UserWords

JsonObject = dict[str, Any]
Touched = Mapping[str, Mapping[str, frozenset[str] | None]]
"""Per entry, the slugs that compiles of it wrote, with the digests of the claims they wrote (None: not recorded)."""

LABEL_PLACE = 2  # a number among the first words of a sentence tells things apart ("worker 3"); it is not a value
CARRIED = 0.5  # a source goes when another one holds twice as much of the claim


class Draft:
    """Changes to a wiki in memory, made from one answer about some entries."""

    def __init__(  # noqa: PLR0913 (all but the first two may be left out)
        self,
        wiki: Wiki,
        entries: Sequence[Entry],
        *,
        names: Mapping[str, Sequence[str]] | None = None,
        entry_at: Callable[[str], Entry | None] = lambda _: None,
        touched: Touched | None = None,
        owners: Owners | None = None,
        edited: Touched | None = None,
        numbered: Mapping[int, tuple[str, Claim]] | None = None,
        wrote: founding.Wrote | None = None,
        thin: int = 0,
        referring: Callable[[Article], list[str] | None] = lambda _: None,
    ) -> None:
        """Start a draft from ``entries``.

        ``names`` maps every page's slug to its title and aliases. ``entry_at`` reads the entry behind a source.
        ``touched`` holds the entries that an earlier compile took in and that have not changed since, ``edited`` those
        that have. ``owners`` says to which project each page belongs, by default all pages to all projects.
        ``numbered`` holds the claims that the model was shown, by number, each with its page. ``wrote`` holds what
        compiles wrote on each page. ``thin`` is the setting: with 0 every topic gets an article. ``referring`` returns
        the pages whose list of related pages links to an article, None when it is linked elsewhere too.
        """
        self.entries = {entry.id: entry for entry in entries}
        self.entry_at = entry_at
        self.touched = touched or {}
        self.edited = edited or {}
        self.users = UserWords(self._entry)
        known = names if names is not None else dict.fromkeys(wiki.slugs(), ())
        rule = Founding(owners or Owners(dict.fromkeys(known, ""), {}), self.users, wrote or {}, thin)
        self.pages = DraftPages(wiki, rule, known, numbered or {}, referring)
        self.refused: list[str] = []
        self.accepted = self.failed = 0  # claims that passed the checks, and that did not
        self._summaries: dict[str, tuple[str, str]] = {}  # by slug: the proposed summary, and the text it may rest on

    @property
    def is_failed(self) -> bool:
        """Whether most of the answer's claims did not pass the checks."""
        return self.failed > self.accepted

    def take(self, answer: JsonObject, near: Sequence[str]) -> None:
        """Apply the answer; ``near`` lists slugs of existing pages about the same things, best first."""
        taken: list[tuple[Article, JsonObject]] = []
        for whole in answer["articles"]:
            for key, proposal in self._by_project(whole):
                article = self._article(proposal, key, near, answer["articles"])
                if article:
                    taken.append((article, proposal))
            self._take_numbers(whole)
        for article, proposal in taken:
            for related in proposal["related"]:
                self.pages.link(article, self.pages.target(related["slug"], article, taken), related.get("why", ""))
        for article, _ in taken:
            self.pages.link_enough(article, [*(other.slug for other, _ in taken), *near])
        self._retire_edited()
        self.pages.found_waiting()
        self.pages.fold_thin()
        for slug in sorted(self.pages.changed - self.pages.folded.keys()):
            self._settle(self.pages.articles[slug])

    def _refuse(self, reason: str, *, is_fault: bool = False) -> None:
        """Record a refusal on one line, because it quotes the model and is printed among memoria's own lines."""
        self.refused.append(" ".join(reason.split()))
        self.failed += is_fault

    def _entry(self, source: str) -> Entry | None:
        return self.entries.get(source.rsplit("^e-", 1)[-1]) or self.entry_at(source)

    # one page

    def _by_project(self, proposal: JsonObject) -> Iterator[tuple[str, JsonObject]]:
        """Yield the proposal once for each project whose entries its claims cite, with that project's claims."""
        ids = [self._ids(row) for row in proposal["claims"]]
        keys = list(dict.fromkeys(self.entries[name].project_key for names in ids for name in names))
        if not keys:
            known = self.pages.owners.pages.get(find_slug(proposal["slug"], self.pages.slugs), "")
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
        slug = self.pages.choose(proposal, key, near, all_)
        rows = [(claim, row) for row in proposal["claims"] if (claim := self._checked(row, proposal["title"], slug))]
        article = self.pages.open(slug) if slug in self.pages.slugs else None
        if article is None and slug in self.pages.slugs:  # it exists but cannot be read: a person must repair it first
            self._refuse(f"{slug}: its frontmatter is broken; repair it, then compile again")
            return None
        waits = False
        if rows and self.pages.is_topic(article, proposal, key):
            article, proposal, rows = self._topic(slug, proposal, rows, key)
            waits = article.slug == self.pages.founding.parent(key)
            slug = article.slug
        if not waits:  # what the answer says of the project's page itself stays
            self._summaries[slug] = proposal["summary"], "\n".join(self._grounds(proposal))
        if not rows and (article is None or not proposal["related"]):
            if not proposal["claims"] and article is None:
                self._refuse(f"{proposal['title']}: no claim with a source; not written")
            return None
        if article is None:
            article = self.pages.create(slug, proposal, [claim for claim, _ in rows], key)
        self._add(article, rows, proposal, [other for other in near if self.pages.owners.is_visible(other, key)])
        return article

    def _topic(
        self, slug: str, proposal: JsonObject, rows: list[tuple[Claim, JsonObject]], key: str
    ) -> tuple[Article, JsonObject, list[tuple[Claim, JsonObject]]]:
        """Return the page for a topic: an article of its own when there is enough to say, else the project's page."""
        claims = [claim for claim, _ in rows]
        if article := self.pages.of_topic(slug, proposal, claims, key):
            return article, proposal, rows
        page, heading, reason = self.pages.parent(proposal["title"], claims, key)
        if reason:
            self._refuse(reason)
        rows = [(claim, {**row, "section": heading or row.get("section", "")}) for claim, row in rows
                if not self._was_removed(page.slug, claim, self._ids(row))]  # fmt: skip
        return page, {**proposal, "aliases": [], "tags": [], "asked_as": [], "summary": ""}, rows

    def _grounds(self, proposal: JsonObject) -> Iterator[str]:
        """Yield the texts of the entries that a proposal cites."""
        rows = [*proposal["claims"], *proposal.get("retire", ())]
        for name in dict.fromkeys(name for row in rows for name in self._ids(row)):
            yield _text(self.entries[name])

    def _add(
        self, article: Article, rows: Sequence[tuple[Claim, JsonObject]], proposal: JsonObject, near: Sequence[str]
    ) -> None:
        written = [claim for claim, row in rows if self._place(article, claim, row, near)]
        article.extend("tags", (slugify(tag) for tag in proposal["tags"]))
        aliases = (markdown.line(alias) for alias in proposal["aliases"])
        article.extend("aliases", (alias for alias in aliases if not self.pages.is_name(alias)))
        article.extend("sources", (f"[[{source.split('#')[0]}]]" for claim in written for source in claim.sources))
        if written:
            article.ask_as(phrases(proposal.get("asked_as")))
        for claim in written:
            article.touch(date.fromisoformat(claim.day))

    def _settle(self, article: Article) -> None:
        """Bring a page whose claims changed into today's form, with a summary of what holds now."""
        headings.divide(article, self._entry)
        article.shorten_sources()
        proposed, ground = self._summaries.get(article.slug, ("", ""))
        if not article.wrote_summary:
            self._prune_summary(article)
        elif founding.has_own_summary(article) and not proposed:
            article.summarise(founding.summary(article))
        elif proposed and summary.is_supported(proposed, article, f"{ground}\n{article.summary}", self._news(article)):
            article.summarise(proposed)
        elif not article.summary or not summary.is_current(article.summary, article):
            article.summarise(summary.plain(article))

    def _news(self, article: Article) -> str:
        """Return the text of the batch's entries that current claims of an article cite and superseded ones do not."""
        past = {source for claim in article.past for source in claim.sources}
        cited = {source for claim in article.claims for source in claim.sources} - past
        return "\n".join(_text(entry) for entry in self.entries.values() if entry.source in cited)

    @staticmethod
    def _prune_summary(article: Article) -> None:
        """Move what no longer holds from a summary that a person may have written to the history."""
        current, stale = summary.divided(article.summary, article)
        if not stale:
            return
        if current:
            article.summarise(current, is_own=False)
        else:
            article.summarise(summary.plain(article))
        if not any(claim.says(stale) for claim in article.past):
            article.add_past(Claim(stale, ()), article.updated)

    # one claim

    def _place(self, article: Article, claim: Claim, row: JsonObject, near: Sequence[str]) -> bool:
        """Add a claim, either as current or directly to the history; return False when nothing changes."""
        claim = Claim(markdown.line(claim.text), claim.sources)
        outdated = [(home, old) for home, old in self._replaced(article, claim, row, near) if not old.says(claim.text)]
        for home, old in outdated:
            order = self._order(old, claim)
            if order == "refused":
                self._refuse(f"{article.title}: the user said “{old.text[:120]}”; “{claim.text[:120]}” "
                                    "is not a newer word of the user")  # fmt: skip
                return False
            if order == "older":
                if not article.holds(claim.text):
                    home.add_past(claim, old.day)
                return True
        if not outdated and (_is_outdated(claim, article) or self._ended_while_waiting(claim, article)):
            return False
        if len(outdated) == 1 and outdated[0][0] is article and row.get("replaces") and _rewords(claim, outdated[0][1]):
            self._reword(article, outdated[0][1], claim)
            return True
        return self._put(article, claim, row, outdated)

    def _ended_while_waiting(self, claim: Claim, article: Article) -> bool:
        """Return whether a claim is in the history of the page that its topic waited on; move it to the article's."""
        key = self.pages.owners.pages.get(article.slug, "")
        page = self.pages.open(self.pages.founding.parent(key)) if key else None
        if page is None or page is article or not _is_outdated(claim, page):
            return False
        article.take_past(page, claim)
        self.pages.changed.add(article.slug)
        return True

    def _put(self, article: Article, claim: Claim, row: JsonObject, outdated: Sequence[tuple[Article, Claim]]) -> bool:
        """Add a claim in the place of those that it outdates."""
        old = next((old for home, old in outdated if home is article), None)
        added = article.add_claim(claim, headings.of(claim, row, article, old, self._entry), old)
        if not added and not (outdated and article.holds(claim.text)):
            return False
        self.pages.changed.add(article.slug)
        for number, (home, each) in enumerate(outdated):
            home.supersede(each, claim.day)
            self.pages.changed.add(home.slug)
            self.pages.renewed[home.slug] = self.pages.renewed.get(home.slug, 0) + (
                bool(row.get("replaces")) and not number
            )
        return True

    def _reword(self, article: Article, old: Claim, claim: Claim) -> None:
        """Let a claim say the same in other words, with those of its earlier sources that carry them."""
        carrying = []
        for source in old.sources:
            entry = self._entry(source)
            if source not in claim.sources and entry and not evidence.unsupported(claim.text, _text(entry)):
                carrying.append(source)
        article.reword(old, Claim(claim.text, (*carrying, *claim.sources)))
        self.pages.changed.add(article.slug)
        self.pages.renewed[article.slug] = self.pages.renewed.get(article.slug, 0) + 1

    def _order(self, old: Claim, claim: Claim) -> str:
        """Return whether a claim is ``newer`` than the one it would replace, ``older``, or ``refused``.

        What the user said yields only to a newer word of the user; a word of the user ends what others said.
        """
        theirs, mine = self.users.said(old), self.users.said(claim, instead_of=old.text)
        if theirs and not mine:
            return "refused"
        if mine and not theirs:
            return "newer"
        first, second = theirs or self.users.moment(old), mine or self.users.moment(claim)
        return "older" if second.is_before(first) else "newer"

    def _replaced(
        self, article: Article, claim: Claim, row: JsonObject, near: Sequence[str]
    ) -> list[tuple[Article, Claim]]:
        """Return the claims that this one outdates, each with its page.

        They are those that it names by number, else one that it quotes, else one with another number.
        """
        key = self.entries[claim.sources[0].rsplit("^e-", 1)[-1]].project_key
        named = [found for number in row.get("replaces", ()) if (found := self._numbered(number, key))]
        if named:
            return named
        quoted = row.get("supersedes", "")
        here = _best(quoted, article.claims) or _other_value(claim, article.claims)
        if here or not quoted:
            return [(article, here)] if here else []
        for slug in near:
            other = self.pages.open(slug) if slug != article.slug else None
            there = _best(quoted, other.claims, 0.8) if other else None
            if other and there:
                return [(other, there)]
        return []

    def _numbered(self, number: int, key: str) -> tuple[Article, Claim] | None:
        """Return the claim that was shown by this number, None when it no longer stands or is another project's."""
        slug, shown = self.pages.numbered.get(number, ("", None))
        article = self.pages.open(slug) if shown and self.pages.owners.is_visible(slug, key) else None
        claims = article.claims if article else []
        claim = next((claim for claim in claims if shown and claim.text == shown.text), None)
        return (article, claim) if article and claim else None

    def _take_numbers(self, proposal: JsonObject) -> None:
        """Retire and move the claims that a proposal names by number."""
        for row in proposal.get("retire", ()):
            self._retire(row)
        keys = {entry.project_key for entry in self.entries.values()}
        for row in proposal.get("move", ()):
            found = next((found for key in sorted(keys) if (found := self._numbered(row["claim"], key))), None)
            heading = headings.named(row["section"], found[0]) if found else ""
            if found and heading and found[0].move(found[1], heading):
                self.pages.changed.add(found[0].slug)

    def _retire(self, row: JsonObject) -> None:
        """Move a claim that no longer holds to the history with the reason, if the cited entries give it."""
        ids = self._ids(row)
        found = self._numbered(row["claim"], self.entries[ids[0]].project_key) if ids else None
        reason = f"“{row['why'][:120]}”"
        if not ids:
            self._refuse(f"claim {row['claim']} stays: no known source for {reason}", is_fault=True)
            return
        if found is None:
            return  # replaced by the same answer, or changed by a person meanwhile
        article, old = found
        carrying = [name for name in ids if not evidence.unsupported(row["why"], _text(self.entries[name]))]
        if not carrying or not words(row["why"]):
            self._refuse(f"{article.title}: the sources do not hold {reason}", is_fault=True)
            return
        why = Claim(markdown.line(row["why"]), tuple(self.entries[name].source for name in carrying))
        theirs, mine = self.users.said(old), self.users.ended(old, why.text, why.sources)
        if theirs and (mine is None or mine.is_before(theirs)):
            self._refuse(f"{article.title}: the user said “{old.text[:120]}”; nothing newer of the user ends it")
            return
        if not theirs and self.users.moment(why).is_before(self.users.moment(old)):
            return
        self.accepted += 1
        article.supersede(old, why.day, why)
        article.touch(date.fromisoformat(why.day))
        self.pages.changed.add(article.slug)

    def _ids(self, row: JsonObject) -> list[str]:
        names = [source.rsplit("^e-", 1)[-1].strip(" []").removeprefix("e-") for source in row["sources"]]
        return list(dict.fromkeys(name for name in names if name in self.entries))

    def _checked(self, row: JsonObject, title: str, slug: str) -> Claim | None:
        ids = self._ids(row)
        quotation = f"“{row['text'][:120]}”"
        if not ids:
            self._refuse(f"{title}: no known source for {quotation}", is_fault=True)
            return None
        if not words(row["text"]):
            self._refuse(f"{title}: a claim has no words", is_fault=True)
            return None
        if any(open_items.is_same(row["text"], item) for name in ids for item in self.entries[name].action_items):
            self._refuse(f"{title}: {quotation} is an open item, which articles do not hold")
            return None
        carrying = self._carrying(row["text"], ids)
        if not carrying:
            lacks = (evidence.unsupported(row["text"], _text(self.entries[name])) for name in ids)
            missing = min(lacks, key=len)
            self._refuse(f"{title}: {', '.join(missing[:5])} not in the source of {quotation}", is_fault=True)
            return None
        claim = Claim(row["text"], tuple(self.entries[source].source for source in carrying))
        if self._was_removed(slug, claim, carrying):
            self._refuse(f"{title}: the page was written from these entries before and no longer has {quotation}")
            return None
        self.accepted += 1
        return claim

    def _carrying(self, text: str, ids: Sequence[str]) -> list[str]:
        """Return those of the entries that support a text, each by itself."""
        carrying = [name for name in ids if not evidence.unsupported(text, _text(self.entries[name]))]
        if len(carrying) < 2:
            return carrying
        said = comparison.words(text)
        shares = {name: comparison.covered(said, comparison.words(_text(self.entries[name]))) for name in carrying}
        return [name for name in carrying if shares[name] >= CARRIED * max(shares.values())]

    def _was_removed(self, slug: str, claim: Claim, ids: Sequence[str]) -> bool:
        """Return whether a person removed the claim, as far as is known, from a page that these entries were put on."""
        if not all(slug in self.touched.get(name, ()) for name in ids):
            return self._was_corrected(slug, claim, ids)
        article = self.pages.open(slug)
        claim = Claim(markdown.line(claim.text), claim.sources)
        if article is not None and article.holds(claim.text):
            return False
        recorded = [self.touched[name][slug] for name in ids]
        wrote = frozenset[str]().union(*(digests for digests in recorded if digests is not None))
        if article is None or None in recorded:
            return True
        gone = wrote - {known.digest for known in (*article.claims, *article.past)}
        own = [known for known in article.claims if set(known.sources) & set(claim.sources)]
        reworded = [known for known in own if known.digest not in wrote]
        return claim.digest in gone or len(gone) > len(reworded)

    def _was_corrected(self, slug: str, claim: Claim, ids: Sequence[str]) -> bool:
        """Return whether a compile of these entries wrote the claim, in the same words, and a person took it away."""
        wrote, article = self.pages.founding.wrote.get(slug), self.pages.open(slug)
        if not wrote or article is None or not all(name in self.edited or name in self.touched for name in ids):
            return False
        left = {known.digest for known in (*article.claims, *article.past)}
        return Claim(markdown.line(claim.text), claim.sources).digest in wrote - left

    def _retire_edited(self) -> None:
        """Drop edited entries from claims whose precise parts they no longer contain; claims without others end.

        A claim that a person worded stays.
        """
        for slug in sorted({slug for slugs in self.edited.values() for slug in slugs} & self.pages.slugs):
            article, wrote = self.pages.open(slug), self.pages.founding.wrote.get(slug)
            for claim in [*article.claims] if article else []:
                if wrote is not None and claim.digest not in wrote:
                    continue
                known = [self.entries.get(source.rsplit("^e-", 1)[-1]) for source in claim.sources]
                cited = [entry for entry in known if entry and entry.id in self.edited]
                lost = [entry for entry in cited if evidence.unsupported(claim.text, _text(entry))]
                if not article or not lost:
                    continue
                if len(lost) < len(claim.sources):
                    article.drop_sources(claim, [entry.source for entry in lost])
                else:
                    article.supersede(claim, max(entry.day for entry in lost).isoformat())
                self.pages.changed.add(slug)


def _text(entry: Entry) -> str:
    """Return what an entry says, without its marker, whose keys and ids are no evidence."""
    lists = (entry.key_exchanges, entry.decisions, entry.lessons, entry.action_items)
    learned = [event.text for event in entry.learned]
    parts = [entry.day.isoformat(), entry.project, entry.title, entry.context, *(row for rows in lists for row in rows)]
    return "\n".join([*parts, *learned])


def _best(text: str, claims: list[Claim], least: float = SIMILAR) -> Claim | None:
    """Return the claim that ``text`` quotes in the same words or nearly so."""
    quoted = set(words(text))
    scored = [(jaccard(quoted, set(words(claim.text))), claim) for claim in claims]
    score, claim = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return claim if score >= least else None


def _other_value(claim: Claim, claims: list[Claim]) -> Claim | None:
    """Return the claim from other entries that has the same words, at least four, and one different value."""
    new = words_and_numbers(claim.text)
    for other in claims:
        old = words_and_numbers(other.text)
        if len(new) != len(old) or len(new) < 5 or set(claim.sources) & set(other.sources):
            continue
        differing = [place for place, (one, two) in enumerate(zip(new, old, strict=True)) if one != two]
        if len(differing) == 1 and differing[0] > LABEL_PLACE and _are_numbers(new[differing[0]], old[differing[0]]):
            return other
    return None


def _are_numbers(*tokens: str) -> bool:
    return all(token[0].isdigit() for token in tokens)


def _is_outdated(claim: Claim, article: Article) -> bool:
    """Return whether a claim only says again what the page's history says, from entries that are no newer."""
    if article.holds(claim.text):
        return False
    return any(_says_again(claim, past) and set(claim.sources) <= set(past.sources) for past in article.past)


def _says_again(claim: Claim, past: Claim) -> bool:
    """Return whether a claim says what another says, in other words but with the same values."""
    new, old = comparison.words(claim.text), comparison.words(past.text)
    if new.numbers != old.numbers or len(new.stems - old.stems) == len(old.stems - new.stems) == 1:
        return False
    return jaccard(set(words(claim.text)), set(words(past.text))) >= SIMILAR


def _rewords(claim: Claim, old: Claim) -> bool:
    """Return whether a claim says what another says in more or fewer words."""
    new, was = comparison.words(claim.text), comparison.words(old.text)
    return new.numbers == was.numbers and (new.signed <= was.signed or was.signed <= new.signed)
