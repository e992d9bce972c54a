"""Article form: what of an article is exchanged, and how it is written into another machine's wiki.

The places of statements are a set, a record each: which statement, under which heading, and what a person nested below
it. A line that is written on the article alone, a connection and a link to a related page travel as their rows; a
person's prose travels by the section. A row of the history travels as it is to where nothing is known of it, because
otherwise it follows from the end of its statement. A summary of memoria's goes along with a new page, and is never
compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

from memoria.exchange.day_form import Piece
from memoria.exchange.record import packed
from memoria.ground import clock, markdown
from memoria.ground.files import sha256
from memoria.wiki.article import HISTORY, RELATED, Article, Claim, Section

ARTICLE, PLACE, PROSE = "article", "place", "prose"
LEAD: Final = "p-"  # the part of what a person wrote before the first section
UNNAMED: Final = "Notes"  # the heading of a second wording of it


class Page(Article):
    """An article, as it is exchanged."""

    def pieces(self) -> Iterator[Piece]:
        """Yield what the page holds."""
        told: dict[str, Any] = {name: self.front.text(name) for name in ("project", "created")}
        told |= {name: self.front.texts(name) for name in ("aliases", "tags")}
        told = {name: value for name, value in told.items() if value} | {"title": self.title}
        words = packed(told)
        summary = {"summary": self.summary} if self.wrote_summary and self.summary else {}
        yield Piece(self.slug, ARTICLE, packed(told | summary), self.project, words)
        placed: set[str] = set()
        for section in sorted(self.sections, key=lambda section: section.named(HISTORY)):
            for _, part, text in self._rows(section):
                if part not in placed:
                    yield Piece(f"{self.slug}#{part}", PLACE, text, self.project, follows=section.named(HISTORY))
                placed.add(part)
        for part, rows in self._prose():
            if any(row.strip() for row in rows[1:]):
                yield Piece(f"{self.slug}#{part}", PROSE, "\n".join(rows), self.project)

    def _rows(self, section: Section) -> Iterator[tuple[int, str, str]]:
        """Yield each row that memoria writes in a section, with its part of the id and its text."""
        for number, claim in section.claims():
            part = _part(claim, section)
            if part:
                nested = Section(section.heading, section.raw, list(section.rows)).cut(number)[1:]
                is_shown = part == claim.id and not claim.is_own and not section.named(HISTORY)
                row = "" if is_shown else claim.render()
                yield number, part, "\n".join([section.heading, row, *nested])

    def _prose(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the parts of the page that a person wrote, each with the heading's row first."""
        yield LEAD, ["", *self._opening()[1]]
        for section in self.sections:
            ours = {row for number, _, _ in self._rows(section) for row in range(number, section.block(number))}
            rows = [row for number, row in enumerate(section.rows) if number not in ours]
            yield prose_part(section.heading), [section.raw, *_stripped(rows)]

    def _opening(self) -> tuple[list[str], list[str]]:
        """Return what stands before the first section: memoria's summary, and what a person wrote."""
        rows = _stripped([row for row in self.lead if not row.startswith("# ")])
        end = next((number for number, row in enumerate(rows) if not row.strip()), len(rows))
        own = end if self.wrote_summary else 0
        return rows[:own], _stripped(rows[own:])

    # -- writing

    def describe(self, told: Mapping[str, Any]) -> None:
        """Let the page have this title, and these names beside its own."""
        if told["title"] != self.title:
            old, title = f"# {self.title}", markdown.line(str(told["title"]))
            self.lead = [f"# {title}" if row.strip() == old else row for row in self.lead]
            self.front.set("title", title)
        for name in ("aliases", "tags"):
            self.extend(name, map(str, told.get(name, ())))

    def place(self, part: str, text: str, claim: Claim | None) -> None:
        """Write a row under its heading, in place of the one that stands elsewhere; in the history it stays."""
        heading, row, *nested = text.split("\n")
        if any(section.named(HISTORY) for section, number in self._found(part)):
            return
        self.displace(part)
        first = claim.render() if claim else row
        self.section(heading).add(first, *nested)

    def displace(self, part: str) -> None:
        """Remove a row, with what is nested in it."""
        for section, number in self._found(part):
            self.cut(section, number)

    def _found(self, part: str) -> list[tuple[Section, int]]:
        return [(section, number) for section in self.sections for number, own, _ in self._rows(section) if own == part]

    def write_prose(self, part: str, text: str) -> None:
        """Write a person's prose in place of what stands of it; without a text, remove it."""
        raw, *rows = text.split("\n")
        if part == LEAD:
            title, summary = [row for row in self.lead if row.startswith("# ")], self._opening()[0]
            self.lead = [row for part in (title, summary, rows) if part for row in ("", *part)] + [""]
            return
        section = next((each for each in self.sections if prose_part(each.heading) == part), None)
        if section is None and rows:
            section = self.section(markdown.heading(raw)[1])
            section.raw = raw
        if section is not None:
            kept = [row for number, _, _ in self._rows(section) for row in section.rows[number : section.block(number)]]
            section.rows = [*([""] if rows else []), *rows, *([""] if kept else []), *kept, ""]
            if not rows and not kept:
                self.sections.remove(section)


def new_page(slug: str, text: str) -> Page:
    """Return the page of an article's record, without lines; raise ValueError when it holds none."""
    told = json.loads(text)
    created = str(told.get("created", ""))
    day = date.fromisoformat(created) if clock.is_day(created) else clock.now().date()
    title, summary, key = (str(told.get(name, "")) for name in ("title", "summary", "project"))
    page = Page.new(slug, title, summary, day, key)
    page.describe(told)
    return page


def _part(claim: Claim, section: Section) -> str:
    """Return by which part of its id a row is known: a statement, those that it connects, a page, or its own words."""
    if section.named(RELATED):
        links = markdown.links(claim.render())
        return f"r-{links[0].target.removesuffix('.md')}" if links else ""
    if section.named(HISTORY) and not claim.ids and claim.text.startswith("Until "):
        return f"h-{claim.digest}"
    return f"c-{sha256(' '.join(sorted(claim.ids)))[:8]}" if claim.is_connection else claim.id


def prose_part(heading: str) -> str:
    """Return the part of the id of what a person wrote below a heading."""
    return f"p-{sha256(heading.casefold())[:8]}"


def _stripped(rows: list[str]) -> list[str]:
    """Return rows without blank ones at both ends."""
    while rows and not rows[0].strip():
        rows = rows[1:]
    while rows and not rows[-1].strip():
        rows = rows[:-1]
    return rows
