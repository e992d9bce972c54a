"""Article: one page of the wiki, read and written without losing a byte that a person put there.

A page is frontmatter, a title, a summary and sections. memoria writes the sections ``Key Points`` (one claim a line,
each with the entries it came from), ``Related`` and ``History``; every other section, line and frontmatter key stays
as it is. Does not know where claims come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from memoria import markdown

KEY_POINTS, RELATED, HISTORY = "Key Points", "Related", "History"
FOLDERS = {"concept": "concepts", "connection": "connections", "qa": "qa"}

_SOURCE = re.compile(r"\s*\[\[(daily/\d{4}-\d{2}-\d{2}#\^e-[0-9a-z]+)(?:\|[^\]]*)?\]\]")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Claim:
    """One fact and the entries it came from, as link targets (``daily/2026-11-21#^e-01k9x2``)."""

    text: str
    sources: tuple[str, ...]

    @classmethod
    def parse(cls, row: str) -> Claim | None:
        """The claim on a bullet line, None when the line is none."""
        if not row.startswith("- "):
            return None
        return cls(_SOURCE.sub("", row[2:]).strip(), tuple(match[1] for match in _SOURCE.finditer(row)))

    def render(self) -> str:
        """The claim as a bullet line."""
        return " ".join([f"- {self.text}", *(f"[[{source}]]" for source in self.sources)])

    def same_as(self, text: str) -> bool:
        """Whether ``text`` says the same in the same words."""
        return words(self.text) == words(text)


def words(text: str) -> list[str]:
    """The words of a text, without case and punctuation, for comparing."""
    return [word.casefold() for word in _WORD.findall(text)]


@dataclass(slots=True)
class Section:
    """A ``## heading`` and the lines below it, as they stand."""

    heading: str
    rows: list[str] = field(default_factory=list)

    def add(self, row: str) -> None:
        """Put a line after the section's last text."""
        end = len(self.rows)
        while end and not self.rows[end - 1].strip():
            end -= 1
        if end == 0:
            self.rows.insert(0, "")  # a blank line below the heading
            end = 1
        self.rows.insert(end, row)


class Article:
    """A page; ``slug`` is its path inside the wiki without ``.md``, e.g. ``concepts/flush-race``."""

    def __init__(self, slug: str, text: str) -> None:
        """ValueError when the frontmatter is not valid YAML."""
        self.slug = slug
        raw, body = markdown.split_frontmatter(text)
        self.front = markdown.Frontmatter(raw)
        self.lead: list[str] = []  # everything before the first section: title and summary
        self.sections: list[Section] = []
        code = False
        for row in body.splitlines():
            code ^= row.lstrip().startswith("```")
            if row.startswith("## ") and not code:
                self.sections.append(Section(row[3:].strip()))
            else:
                (self.sections[-1].rows if self.sections else self.lead).append(row)

    @classmethod
    def new(cls, slug: str, title: str, summary: str, day: date) -> Article:
        """A fresh page without claims."""
        article = cls(slug, f"\n# {markdown.line(title)}\n\n{markdown.line(summary)}\n")
        article.front.set("title", markdown.line(title))
        for key in ("aliases", "tags", "sources"):
            article.front.set(key, [])
        article.front.set("created", day.isoformat())
        article.front.set("updated", day.isoformat())
        return article

    def render(self) -> str:
        """The page's text."""
        parts = []
        if self.front.raw:
            parts.append(f"---\n{self.front.raw}\n---")
        rows = list(self.lead)
        for section in self.sections:
            while rows and not rows[-1].strip():
                rows.pop()
            rows += ["", f"## {section.heading}", *section.rows]
        parts.append("\n".join(rows).rstrip("\n") + "\n")
        return "\n".join(parts)

    @property
    def name(self) -> str:
        """The slug's last part."""
        return self.slug.rsplit("/", 1)[-1]

    @property
    def title(self) -> str:
        """The title: frontmatter, else the first heading, else the slug."""
        heading = next((row[2:].strip() for row in self.lead if row.startswith("# ")), "")
        return self.front.text("title") or heading or self.name

    @property
    def aliases(self) -> list[str]:
        """Other names of the page."""
        return self.front.texts("aliases")

    @property
    def tags(self) -> list[str]:
        """The page's tags, without #."""
        return self.front.texts("tags")

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
    def claims(self) -> list[Claim]:
        """The current claims, in order."""
        return [claim for row in self._rows(KEY_POINTS) if (claim := Claim.parse(row))]

    @property
    def links(self) -> list[markdown.Link]:
        """Every wikilink on the page."""
        rows = [*self.lead, *(row for section in self.sections for row in section.rows)]
        return markdown.links("\n".join(rows))

    def section(self, heading: str) -> Section:
        """The section, made at its place when missing (key points first, history last)."""
        for section in self.sections:
            if section.heading.casefold() == heading.casefold():
                return section
        section = Section(heading)
        order = (KEY_POINTS, RELATED, HISTORY)
        later = [name.casefold() for name in order[order.index(heading) + 1 :]]
        place = next((n for n, other in enumerate(self.sections) if other.heading.casefold() in later), None)
        self.sections.insert(len(self.sections) if place is None else place, section)
        return section

    def _rows(self, heading: str) -> list[str]:
        return [
            row for section in self.sections if section.heading.casefold() == heading.casefold() for row in section.rows
        ]

    def say(self, claim: Claim) -> bool:
        """Add a claim; one that stands already only gains the new sources. Returns whether anything changed."""
        section = self.section(KEY_POINTS)
        for number, row in enumerate(section.rows):
            known = Claim.parse(row)
            if known and known.same_as(claim.text):
                fresh = [source for source in claim.sources if source not in known.sources]
                section.rows[number] = " ".join([row.rstrip(), *(f"[[{source}]]" for source in fresh)])
                return bool(fresh)
        section.add(claim.render())
        return True

    def supersede(self, old: Claim, day: date) -> None:
        """Move a claim that no longer holds to the history, dated."""
        section = self.section(KEY_POINTS)
        row = next(row for row in section.rows if Claim.parse(row) == old)
        section.rows.remove(row)
        self.section(HISTORY).add(f"- Until {day.isoformat()}: {row[2:]}")

    def relate(self, slug: str, title: str, why: str = "") -> bool:
        """Link another page under Related unless the page links it already; returns whether it was added."""
        if any(link.target == slug for link in self.links) or slug == self.slug:
            return False
        reason = f": {markdown.line(why)}" if why else ""
        self.section(RELATED).add(f"- [[{slug}|{_shown(title)}]]{reason}")
        return True

    def extend(self, key: str, values: Iterable[str]) -> None:
        """Add values to a list in the frontmatter, each once."""
        known = self.front.texts(key)
        fresh = [value for value in dict.fromkeys(values) if value and value not in known]
        if fresh:
            self.front.set(key, known + fresh)

    def touch(self, day: date) -> None:
        """An entry of this day went in."""
        if day.isoformat() > self.updated:
            self.front.set("updated", day.isoformat())


def _shown(title: str) -> str:
    return re.sub(r"[\[\]|]", " ", title).strip()
