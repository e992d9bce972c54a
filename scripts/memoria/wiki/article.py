"""Article: one page of the wiki, read and written without losing a byte that a person put there.

A page is frontmatter, a title, a summary and sections. memoria writes sections of claims (one claim per line, each with
the entries it came from), ``Related`` and ``History``. Claims of a short page stand under ``Key Points``, those of a
longer one under headings such as ``Behaviour`` and ``Decisions``. Every other section, line and frontmatter key stays
as it is. This module does not know where claims come from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from memoria.base import project
from memoria.ground import markdown
from memoria.ground.files import sha256
from memoria.search import comparison
from memoria.search.words import jaccard, words
from memoria.wiki.repeated import repeats

SECTION = 2  # the level of a section's heading
KEY_POINTS, RELATED, HISTORY = "Key Points", "Related", "History"
BEHAVIOUR, CONVENTIONS, HOW_TO, DECISIONS, GOTCHAS = "Behaviour", "Conventions", "How to", "Decisions", "Gotchas"
_FIRST = (KEY_POINTS, BEHAVIOUR, CONVENTIONS, HOW_TO)  # then sections with headings of their own
_LAST = (DECISIONS, GOTCHAS, RELATED, HISTORY)

SIMILAR = 0.6  # two sentences that share at least this part of their words make the same statement
NEAR = 0.25  # a claim is put below the one that it shares most words with, if at least this part of them
HEADING_CHARS = 60
ASKED_AS, MAX_PHRASES = "asked_as", 12  # in the frontmatter: the phrases by which the page is asked for
SUMMARY_DIGEST = "summary_digest"  # in the frontmatter: the digest of the summary that memoria wrote

REASON = "- Why: "  # begins the indented line below a claim in the history that says why it was retired
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SOURCE = re.compile(r"(?<!\s)\s*\[\[(daily/\d{4}-\d{2}-\d{2}#\^e-[0-9a-z]{1,40})(?:\|[^\]]{0,400})?\]\]")
_BULLET = re.compile(r"[-*+] ")
_UNTIL = re.compile(r"Until (\d{4}-\d{2}-\d{2}): ")
_HEADING_MARKS = re.compile(r"^[\s#>*+-]+|[\s:#]+$")


@dataclass(frozen=True, slots=True)
class Claim:
    """One fact and the entries it came from, as link targets (``daily/2026-11-21#^e-01k9x2``)."""

    text: str
    sources: tuple[str, ...]

    @classmethod
    def parse(cls, row: str) -> Claim | None:
        """Return the claim on a bullet line, or None when the line is not a bullet."""
        if not _BULLET.match(row):
            return None
        text = _SOURCE.sub("", markdown.BLOCK_ID.sub("", row[2:]))
        return cls(text.strip(), tuple(match[1] for match in _SOURCE.finditer(row)))

    def render(self) -> str:
        """Return the claim as a bullet line."""
        return f"- {self.text}{cited(self.sources)}"

    def without_end(self) -> Claim:
        """Return a claim of the history without the day until which it held."""
        return Claim(_UNTIL.sub("", self.text, count=1), self.sources)

    def same_as(self, text: str) -> bool:
        """Return whether ``text`` consists of the same words as the claim."""
        return words(self.text) == words(text)

    def says(self, text: str) -> bool:
        """Return whether ``text`` says the same, also with its words in another order or number."""
        return self.same_as(text) or repeats(self.text, text)

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits for the claim's words."""
        return sha256(" ".join(words(self.text)))[:8]

    @property
    def day(self) -> str:
        """ISO day of the newest entry that the claim cites; ``""`` when it cites none."""
        return max((source.removeprefix("daily/")[:10] for source in self.sources), default="")


def cited(sources: Iterable[str], known: Iterable[str] = ()) -> str:
    """Return links to entries, each after a blank and shown by its day; several of one day show the day once.

    ``known`` are the sources that stand before them.
    """
    counts = Counter(_day(source) for source in known)
    links = []
    for source in sources:
        day = _day(source)
        counts[day] += 1
        shown = f"{int(day[8:])} {_MONTHS[int(day[5:7]) - 1]}" if counts[day] == 1 else str(counts[day])
        links.append(f" [[{source}|{shown}]]")
    return "".join(links)


def _day(source: str) -> str:
    return source.removeprefix("daily/")[:10]


def heading_of(text: str) -> str:
    """Return ``text`` as the heading of a section of claims, ``""`` for one that has another purpose."""
    plain = markdown.cut(markdown.line(_HEADING_MARKS.sub("", " ".join(text.split()))), HEADING_CHARS)
    reserved = (KEY_POINTS.casefold(), RELATED.casefold(), HISTORY.casefold())
    return "" if plain.casefold() in reserved or not words(plain) else plain


@dataclass(slots=True)
class Section:
    """A ``## heading`` and the lines below it, unchanged; ``raw`` is the heading's whole line."""

    heading: str
    raw: str
    rows: list[str] = field(default_factory=list)

    def add(self, *block: str) -> None:
        """Insert lines after the section's last non-blank line."""
        end = len(self.rows)
        while end and not self.rows[end - 1].strip():
            end -= 1
        if end == 0:
            self.rows.insert(0, "")  # a blank line below the heading
            end = 1
        self.rows[end:end] = block

    def place(self, claim: Claim, *block: str) -> None:
        """Insert a claim's lines below the claim that it shares most words with, or at the end."""
        stems = comparison.words(claim.text).stems
        scored = [(jaccard(stems, comparison.words(other.text).stems), number) for number, other in self.claims()]
        score, number = max(scored, default=(0.0, 0))
        if score < NEAR:
            self.add(*block)
        else:
            end = self.block(number)
            self.rows[end:end] = block

    def named(self, heading: str) -> bool:
        """Return whether the section has this heading, ignoring case."""
        return self.heading.casefold() == heading.casefold()

    @property
    def is_claims(self) -> bool:
        """Whether memoria gives sections this heading."""
        return any(map(self.named, (*_FIRST, *_LAST)))

    def claims(self) -> Iterator[tuple[int, Claim]]:
        """Yield the row number and the claim of each bullet line outside code."""
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            if not in_code and (claim := Claim.parse(row)):
                yield number, claim

    def block(self, number: int) -> int:
        """Return the row number after the list item that begins at ``number``, including its indented lines."""
        end = number + 1
        while end < len(self.rows) and self.rows[end][:1] in (" ", "\t") and self.rows[end].strip():
            end += 1
        return end


class Article:
    """A page; ``slug`` is its path inside the wiki without ``.md``, e.g. ``concepts/flush-race``."""

    def __init__(self, slug: str, text: str) -> None:
        """Parse ``text``; raise ValueError when the frontmatter is not valid YAML."""
        self.slug = slug
        self.mark = "\ufeff" if text.startswith("\ufeff") else ""  # some editors write a byte order mark
        text = text.removeprefix(self.mark)
        lines = text.count("\n")
        self.newline = "\r\n" if lines and text.count("\r\n") == lines else "\n"  # mixed ends stay as they are
        text = text.replace(self.newline, "\n")
        raw, body = markdown.split_frontmatter(text)
        self.front = markdown.Frontmatter(raw or "")
        self._head = text.removesuffix(body), self.front.raw
        self.lead: list[str] = []  # everything before the first section: title and summary
        self.sections: list[Section] = []
        for row, in_code in markdown.code_rows(body.split("\n")):
            level, heading = (0, "") if in_code else markdown.heading(row)
            if level == SECTION:
                self.sections.append(Section(heading, row))
            else:
                (self.sections[-1].rows if self.sections else self.lead).append(row)

    @classmethod
    def new(cls, slug: str, title: str, summary: str, day: date) -> Article:
        """Return a new page without claims."""
        article = cls(slug, f"\n# {markdown.line(title)}\n\n{markdown.line(summary)}\n")
        article.front.set("title", markdown.line(title))
        for key in ("aliases", "tags", "sources"):
            article.front.set(key, [])
        article.front.set("created", day.isoformat())
        article.front.set("updated", day.isoformat())
        article.front.set(SUMMARY_DIGEST, _digest(article.summary))
        return article

    def render(self) -> str:
        """Return the page's text; what was not changed is identical to what was read, byte for byte."""
        rows = list(self.lead)
        for section in self.sections:
            rows += [section.raw, *section.rows]
        head, raw = self._head
        if self.front.raw != raw:
            head = f"---\n{self.front.raw}\n---\n"
        text = head + "\n".join(rows)
        return self.mark + (text.replace("\n", self.newline) if self.newline != "\n" else text)

    @property
    def name(self) -> str:
        """The slug's last part."""
        return self.slug.rsplit("/", 1)[-1]

    @property
    def title(self) -> str:
        """The title: frontmatter, else the first heading, else the slug."""
        return self.front.text("title") or markdown.first_heading(self.lead) or self.name

    @property
    def aliases(self) -> list[str]:
        """Other names of the page."""
        return self.front.texts("aliases")

    @property
    def tags(self) -> list[str]:
        """The page's tags, without #."""
        return self.front.texts("tags")

    @property
    def project(self) -> str:
        """The key of the project that the page belongs to, as it was written; empty when it is for all projects."""
        return project.key_in(self.front.text("project"))

    def give_to(self, key: str) -> None:
        """Let the page belong to a project, with an empty key to none."""
        if key:
            self.front.set("project", f"{project.name_of(key)} · {key}")

    @property
    def updated(self) -> str:
        """ISO day of the newest entry in it."""
        return self.front.text("updated")

    @property
    def summary(self) -> str:
        """The first paragraph below the title, on one line."""
        paragraph: list[str] = []
        for row in self.lead:
            if row.startswith("# ") or (not row.strip() and not paragraph):
                continue
            if not row.strip():
                break
            paragraph.append(row.strip())
        return " ".join(paragraph)

    @property
    def wrote_summary(self) -> bool:
        """Whether the summary stands as memoria wrote it; True for a page without one."""
        return not self.summary or self.front.text(SUMMARY_DIGEST) == _digest(self.summary)

    def summarise(self, text: str, *, is_own: bool = True) -> None:
        """Replace the paragraph below the title; ``is_own`` is False when a person wrote it."""
        rows = self.lead
        start = next((n for n, row in enumerate(rows) if row.strip() and not row.startswith("# ")), len(rows))
        end = next((n for n in range(start, len(rows)) if not rows[n].strip()), len(rows))
        blank = [] if start and not rows[start - 1].strip() else [""]
        rows[start:end] = [*blank, markdown.line(text), *([""] if end == len(rows) else [])]
        if is_own:
            self.front.set(SUMMARY_DIGEST, _digest(self.summary))

    @property
    def claims(self) -> list[Claim]:
        """The current claims, in order: those with a source in any section, and all under Key Points."""
        return [claim for _, _, claim in self._claims()]

    @property
    def headed_claims(self) -> list[tuple[str, Claim]]:
        """The current claims, each with the heading it stands under."""
        return [(section.heading, claim) for section, _, claim in self._claims()]

    @property
    def past(self) -> list[Claim]:
        """The claims under History."""
        claims = [claim for section in self.sections if section.named(HISTORY) for _, claim in section.claims()]
        return [claim.without_end() for claim in claims]

    @property
    def links(self) -> list[markdown.Link]:
        """Every wikilink on the page."""
        rows = [*self.lead, *(row for section in self.sections for row in section.rows)]
        return markdown.links("\n".join(rows))

    def section(self, heading: str) -> Section:
        """Return the section with this heading; insert it in its place when it is missing (history last)."""
        for section in self.sections:
            if section.named(heading):
                return section
        later = self._later(heading)
        place = next((n for n, other in enumerate(self.sections) if later(other)), len(self.sections))
        section = Section(heading, f"## {heading}", [""])  # the blank line before the next heading, or the file's end
        before = self.sections[place - 1].rows if place else self.lead
        if place == len(self.sections):  # the page ended in one line end, and must do so again
            while before and not before[-1].strip():
                before.pop()
        if not before or before[-1].strip():
            before.append("")
        self.sections.insert(place, section)
        return section

    def _later(self, heading: str) -> Callable[[Section], bool]:
        """Return whether a section belongs below one with this heading."""
        known = [*_FIRST, *_LAST]
        after = known[known.index(heading) + 1 :] if heading in known else list(_LAST)

        def is_later(other: Section) -> bool:
            own = heading in _FIRST and not any(map(other.named, known))
            return any(map(other.named, after)) or (own and any(claim.sources for _, claim in other.claims()))

        return is_later

    def _claims(self) -> Iterator[tuple[Section, int, Claim]]:
        for section in self.sections:
            if section.named(RELATED) or section.named(HISTORY):
                continue
            for number, claim in section.claims():
                if claim.sources or section.named(KEY_POINTS):
                    yield section, number, claim

    def holds(self, text: str) -> bool:
        """Return whether a current claim says this."""
        return any(claim.says(text) for claim in self.claims)

    def add_claim(self, claim: Claim, heading: str = KEY_POINTS, instead_of: Claim | None = None) -> bool:
        """Add a claim, or only the new sources when the page has the claim already; return whether anything changed.

        It is put in the place of the claim ``instead_of``, if that has the same heading. Sources of a superseded claim
        are left out, so that they cannot bring it back.
        """
        superseded = {source for past in self.past if past.says(claim.text) for source in past.sources}
        sources = tuple(source for source in claim.sources if source not in superseded)
        if not sources:
            return False
        for section, number, known in self._claims():
            if known.says(claim.text):
                return _add_sources(section, number, [source for source in sources if source not in known.sources])
        row = Claim(claim.text, sources).render()
        for section, number, known in self._claims():
            if known == instead_of and section.named(heading):
                section.rows.insert(number, row)
                return True
        self.section(heading).place(claim, row)
        return True

    def cut(self, old: Claim) -> list[str]:
        """Remove a claim with its indented lines, and return them."""
        section, number, _ = next(found for found in self._claims() if found[2] == old)
        end = section.block(number)
        rows = section.rows[number:end]
        del section.rows[number:end]
        if section.raw.startswith("## ") and not any(row.strip() for row in section.rows):
            self.sections.remove(section)
        return rows

    def supersede(self, old: Claim, day: str, why: Claim | None = None) -> None:
        """Move a claim that no longer holds to the history, dated, with its indented lines and the reason if given."""
        first, *rest = self.cut(old)
        reason = [f"  {REASON}{why.render()[2:]}"] if why else []
        self.section(HISTORY).add(f"- Until {day}: {first[2:]}", *rest, *reason)

    def reword(self, old: Claim, claim: Claim) -> None:
        """Replace a claim's line by one that says the same in other words; its indented lines stay."""
        section, number, _ = next(found for found in self._claims() if found[2] == old)
        block = markdown.BLOCK_ID.search(section.rows[number].rstrip())
        section.rows[number] = claim.render() + (block[0] if block else "")

    def move(self, claim: Claim, heading: str) -> bool:
        """Move a claim with its indented lines to a section; return whether it stood elsewhere."""
        if any(section.named(heading) for section, _, known in self._claims() if known == claim):
            return False
        rows = self.cut(claim)
        self.section(heading).place(claim, *rows)
        return True

    def drop_sources(self, claim: Claim, sources: Collection[str]) -> None:
        """Remove sources from a claim's line."""
        section, number, _ = next(found for found in self._claims() if found[2] == claim)
        section.rows[number] = without_sources(section.rows[number], sources)

    def shorten_sources(self) -> None:
        """Show the sources of each claim by their days."""
        for section in self.sections:
            for number, claim in [*section.claims()]:
                row = section.rows[number]
                if any(f"[[{source}]]" in row for source in claim.sources):
                    links = cited(claim.sources)
                    for source, link in zip(claim.sources, links.split(" [[")[1:], strict=True):
                        row = row.replace(f"[[{source}]]", f"[[{link}")
                    section.rows[number] = row

    def add_past(self, claim: Claim, day: str) -> None:
        """Add a claim that was outdated before it was recorded directly under History."""
        if not any(past.says(claim.text) for past in self.past):
            self.section(HISTORY).add(f"- Until {day}: {claim.render()[2:]}")

    def drop_past(self, text: str) -> bool:
        """Remove the rows under History that say this; return whether there were any."""
        found = False
        for section in [section for section in self.sections if section.named(HISTORY)]:
            for number, past in reversed([*section.claims()]):
                if past.without_end().says(text):
                    del section.rows[number : section.block(number)]
                    found = True
            if not any(row.strip() for row in section.rows):
                self.sections.remove(section)
        return found

    def take_past(self, page: Article, claim: Claim) -> None:
        """Move the rows of another page's history that say a claim to this page's history."""
        for section in [section for section in page.sections if section.named(HISTORY)]:
            for number, past in reversed([*section.claims()]):
                if Claim(_UNTIL.sub("", past.text, count=1), ()).says(claim.text):
                    end = section.block(number)
                    self.section(HISTORY).add(*section.rows[number:end])
                    del section.rows[number:end]
            if not any(row.strip() for row in section.rows):
                page.sections.remove(section)

    def relate(self, slug: str, title: str, why: str = "") -> bool:
        """Link another page under Related unless the page links it already; return whether a link was added."""
        name = slug.rsplit("/", 1)[-1]
        if slug == self.slug or any(link.target.removesuffix(".md") in (slug, name) for link in self.links):
            return False
        reason = f": {markdown.line(why)}" if why else ""
        self.section(RELATED).add(f"- [[{slug}|{link_text(title)}]]{reason}")
        return True

    def extend(self, key: str, values: Iterable[str]) -> None:
        """Add values to a list in the frontmatter, each once."""
        self.front.add(key, list(values))

    def ask_as(self, phrases: Sequence[str]) -> None:
        """Put phrases by which the page is asked for before those it has; of too many, the oldest go."""
        known = self.front.texts(ASKED_AS)
        if any(phrase not in known for phrase in phrases):
            self.front.set(ASKED_AS, list(dict.fromkeys((*phrases, *known)))[:MAX_PHRASES])

    def touch(self, day: date) -> None:
        """Update the page's days for an entry of ``day``, which may be older than the page when history is ingested."""
        iso = day.isoformat()
        if iso > self.updated:
            self.front.set("updated", iso)
        if iso < self.front.text("created"):
            self.front.set("created", iso)


def _add_sources(section: Section, number: int, fresh: Collection[str]) -> bool:
    """Add sources to a claim's line; return whether there were any."""
    row = section.rows[number].rstrip()
    known = Claim.parse(row)
    block = markdown.BLOCK_ID.search(row)  # a block id must stay at the end of the line
    end = block.start() if block else len(row)
    section.rows[number] = row[:end] + cited(fresh, known.sources if known else ()) + row[end:]
    return bool(fresh)


def without_sources(row: str, sources: Collection[str]) -> str:
    """Return a line without its links to these entries."""
    for source in sources:
        row = re.sub(rf"\s*\[\[{re.escape(source)}(?:\|[^\]]*)?\]\]", "", row)
    return row


def _digest(summary: str) -> str:
    return sha256(summary)[:8]


def link_text(title: str) -> str:
    """Return a title without the characters that a wikilink cannot hold."""
    return re.sub(r"[\[\]|]", " ", title).strip()
