"""Article: one page of the wiki, read and written without losing a byte that a person put there.

A page is frontmatter, a title, a summary and sections. memoria writes lines of statements, each with a link to where
the statement is written, and the sections ``Related`` and ``History``. Every other section, line and frontmatter key
stays as it is. This module does not know where statements come from, nor which of them hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Self

from memoria.base import project
from memoria.ground import markdown
from memoria.ground.files import sha256
from memoria.search.words import words

SECTION = 2  # the level of a section's heading
KEY_POINTS, RELATED, HISTORY = "Key Points", "Related", "History"
BEHAVIOUR, CONVENTIONS, HOW_TO, DECISIONS, GOTCHAS = "Behaviour", "Conventions", "How to", "Decisions", "Gotchas"
CONNECTIONS = "Connections"  # the section of sentences about several statements
_FIRST = (KEY_POINTS, BEHAVIOUR, CONVENTIONS, HOW_TO)  # then sections with headings of their own
_LAST = (DECISIONS, GOTCHAS, RELATED, HISTORY)

HEADING_CHARS = 60
ASKED_AS = "asked_as"  # in the frontmatter, of earlier versions: phrases by which the page is asked for
SUMMARY_DIGEST = "summary_digest"  # in the frontmatter: the digest of the summary that memoria wrote

_SINCE = "  - Since then: "  # begins the row below a claim of the history that says what holds instead
SINCE_ROWS = (_SINCE, "  - Why: ")  # the second as earlier versions wrote it
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SOURCE = re.compile(r"(?<!\s)\s*\[\[(daily/\d{4}-(?:0\d|1[0-2])-\d{2}#\^[el]-[0-9a-z]{1,40})(?:\|[^\]]{0,400})?\]\]")
_CITED = re.compile(r"\[\[daily/[^\[\]]*\]\]$")  # at the end of a line of memoria's
_LINK = re.compile(r"\s+[\[^]")  # in a row of its own, which a formatter made
_BULLET = re.compile(r"[-*+] ")
STATEMENT = re.compile(r"\^(l-[0-9a-z]{1,40})")
_UNTIL = re.compile(r"Until (\d{4}-\d{2}-\d{2}): ")
_HEADING_MARKS = re.compile(r"^[\s#>*+-]+|[\s:#]+$")


@dataclass(frozen=True, slots=True)
class Claim:
    """A line of a page: its text, the link targets it cites, and the block id at its end.

    A target is a statement (``daily/2026-11-21#^l-7f3a91kd``) or, on pages of earlier versions, an entry
    (``daily/2026-11-21#^e-01k9x2``). A line that cites two statements connects them. A statement that is written
    nowhere else has its id at the end of its line here.
    """

    text: str
    sources: tuple[str, ...]
    block: str = ""

    @classmethod
    def parse(cls, row: str) -> Claim | None:
        """Return the claim on a bullet line, or None when the line is not a bullet."""
        if not _BULLET.match(row):
            return None
        block = markdown.BLOCK_ID.search(row.rstrip())
        text = _SOURCE.sub("", markdown.BLOCK_ID.sub("", row[2:]))
        return cls(text.strip(), tuple(it[1] for it in _SOURCE.finditer(row)), block[0].strip(" ^") if block else "")

    def render(self) -> str:
        """Return the claim as a bullet line."""
        return f"- {self.text}{cite(self.sources)}{f' ^{self.block}' if self.block else ''}"

    @property
    def is_own(self) -> bool:
        """Whether the line is where the statement is written."""
        return self.block.startswith("l-")

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the statements that the line shows or connects."""
        named = [source.rpartition("#^")[2] for source in self.sources if "#^l-" in source]
        return tuple(dict.fromkeys([*([self.block] if self.is_own else []), *named]))

    @property
    def id(self) -> str:
        """The id of the statement that the line shows, ``""`` when it shows none or connects several."""
        ids = self.ids
        return ids[0] if ids and (len(ids) == 1 or self.is_own) else ""

    @property
    def is_connection(self) -> bool:
        """Whether the line is a sentence about several statements."""
        return len(self.ids) > 1 and not self.is_own

    def drop_end(self) -> Claim:
        """Return a claim of the history without the day until which it held."""
        return Claim(_UNTIL.sub("", self.text, count=1), self.sources, self.block)

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits for the claim's words."""
        return sha256(" ".join(words(self.text)))[:8]

    @property
    def day(self) -> str:
        """ISO day of the newest statement or entry that the claim cites; ``""`` when it cites none."""
        return max(map(_day, self.sources), default="")


def cite(sources: Iterable[str]) -> str:
    """Return links to entries, each after a blank and shown by its day; several of one day show the day once."""
    counts: Counter[str] = Counter()
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
    """A heading and the lines below it, unchanged; ``raw`` is what makes the heading, two lines if underlined."""

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

    def insert(self, number: int | None, block: Sequence[str]) -> None:
        """Insert lines before a row; without one, at the end."""
        if number is None:
            self.add(*block)
        else:
            self.rows[number:number] = block

    @property
    def row(self) -> str:
        """The heading as one line."""
        return f"## {self.heading}" if "\n" in self.raw else self.raw

    def is_headed(self, heading: str) -> bool:
        """Return whether the section has this heading, ignoring case."""
        return self.heading.casefold() == heading.casefold()

    @property
    def is_claims(self) -> bool:
        """Whether memoria gives sections this heading."""
        return any(map(self.is_headed, (*_FIRST, *_LAST)))

    def claims(self) -> Iterator[tuple[int, Claim]]:
        """Yield the row number and the claim of each bullet line outside code."""
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            if not in_code and _BULLET.match(row) and (claim := Claim.parse(" ".join(self._text_rows(number)))):
                yield number, claim

    def _text_rows(self, number: int) -> list[str]:
        """Return the rows of an item's or a paragraph's text, which a formatter may have wrapped."""
        rows = [self.rows[number].rstrip()]
        more = markdown.more_text(rows[0])
        for row in map(self.rows.__getitem__, range(number + 1, len(self.rows))):
            is_whole = _CITED.search(" ".join(rows[-2:])) or markdown.is_whole(rows[0], rows[-1])
            if not (more and more.match(row.rstrip())) or (is_whole and not _LINK.match(row)):
                break
            rows.append(row.rstrip().lstrip("> \t"))
        return rows

    def pieces(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each row of the section, the text of an item or a paragraph as one, and the rows that it stands in."""
        end = 0
        for number, (row, in_code) in enumerate(markdown.code_rows(self.rows)):
            if number >= end:
                texts = [row] if in_code else self._text_rows(number)
                end = number + len(texts)
                yield " ".join(texts), self.rows[number:end]

    def put(self, number: int, row: str) -> None:
        """Replace the text of the list item that begins at ``number``; what is nested in it stays.

        So do its bullet and line breaks when something is added at the end.
        """
        rows = self._text_rows(number)
        last, text = number + len(rows) - 1, " ".join(rows)[2:]
        if row[2:].startswith(text):
            self.rows[last] = self.rows[last].rstrip() + row[2 + len(text) :]
        else:
            self.rows[number : last + 1] = [row]

    def cut(self, number: int) -> list[str]:
        """Remove the list item that begins at ``number``, and return its rows, the text as one."""
        end, text = self.block(number), self._text_rows(number)
        rows = [" ".join(text), *_unwrap(self.rows[number + len(text) : end])]
        del self.rows[number:end]
        return rows

    def block(self, number: int) -> int:
        """Return the row number after the list item that begins at ``number``, including its indented lines."""
        end = number + len(self._text_rows(number))
        while end < len(self.rows) and self.rows[end][:1] in (" ", "\t") and self.rows[end].strip():
            end += 1
        return end


class Article:
    """A page; ``slug`` is its path inside the wiki without ``.md``, e.g. ``concepts/flush-race``.

    ``keys`` maps former project keys, which may stand in the text, to the present ones.
    """

    keys: Mapping[str, str] = project.NO_ALIASES

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
        for row, in_code in markdown.head_rows(body.split("\n")):
            level, heading = (0, "") if in_code else markdown.heading(row)
            if level == SECTION:
                self.sections.append(Section(heading, row))
            else:
                (self.sections[-1].rows if self.sections else self.lead).append(row)

    @classmethod
    def new(cls, slug: str, title: str, summary: str, day: date, key: str = "") -> Self:
        """Return a new page without claims; ``key``: its project."""
        title = markdown.line(title)
        article = cls(slug, f"\n# {title}\n\n{markdown.line(summary)}\n")
        days = {"created": day.isoformat(), "updated": day.isoformat()}
        article.front = markdown.Frontmatter.of(
            {"title": title, "aliases": [], "tags": [], **days,
             SUMMARY_DIGEST: _digest(article.summary), **({"project": key} if key else {})}
        )  # fmt: skip
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
        return self.slug.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The title: frontmatter, else the first heading, else the slug."""
        return self.front.text("title") or markdown.first_heading(self.lead) or self.name

    def rename(self, title: str) -> None:
        """Give the page another title; the former one stays as an alias."""
        former = self.title
        self.entitle(title)
        self.front.add("aliases", [former])

    def entitle(self, title: str) -> None:
        """Give the page a title in place of its own."""
        own, title = (1, self.title), markdown.line(title)
        self.lead = [f"# {title}" if markdown.heading(row) == own else row for row in self.lead]
        self.front.set("title", title)

    @property
    def aliases(self) -> list[str]:
        """Other names of the page."""
        return self.front.texts("aliases")

    @property
    def project(self) -> str:
        """The present key of the project that the page belongs to; empty when it is for all projects."""
        key = project.key_in(self.front.text("project"))
        return self.keys.get(key, key)

    def give_to(self, key: str) -> None:
        """Let the page belong to a project, with an empty key to none."""
        if key:
            self.front.set("project", f"{project.name_of(key)} · {key}")

    @property
    def last_day(self) -> str:
        """ISO day of the newest entry in it."""
        return self.front.text("updated")

    @property
    def summary(self) -> str:
        """The first paragraph below the title, on one line."""
        start, end = self.summary_rows
        return " ".join(row.strip() for row in self.lead[start:end])

    @property
    def summary_rows(self) -> tuple[int, int]:
        """Where the summary begins and ends in the lead."""
        rows = self.lead
        told = (n for n, row in enumerate(rows) if row.strip() and markdown.heading(row)[0] != 1 and row[:2] != "![")
        start = next(told, len(rows))
        return start, next((n for n in range(start, len(rows)) if not rows[n].strip()), len(rows))

    @property
    def wrote_summary(self) -> bool:
        """Whether the summary stands as memoria wrote it; True for a page without one."""
        return not self.summary or self.front.text(SUMMARY_DIGEST) == _digest(self.summary)

    def summarise(self, text: str, *, is_own: bool = True) -> None:
        """Replace the paragraph below the title; ``is_own`` is False when a person wrote it."""
        rows, (start, end) = self.lead, self.summary_rows
        blank = [] if start and not rows[start - 1].strip() else [""]
        rows[start:end] = [*blank, markdown.line(text), *([""] if end == len(rows) else [])]
        if is_own:
            self.front.set(SUMMARY_DIGEST, _digest(markdown.line(text)))

    @property
    def claims(self) -> list[Claim]:
        """The current lines of statements, in order: those that cite, have an id, or stand under Key Points."""
        return [claim for _, _, claim in self._claims()]

    @property
    def headed_claims(self) -> list[tuple[str, Claim]]:
        """The current claims, each with the heading it stands under."""
        return [(section.heading, claim) for section, _, claim in self._claims()]

    @property
    def history(self) -> list[Claim]:
        """The claims under History."""
        claims = [claim for section in self.sections if section.is_headed(HISTORY) for _, claim in section.claims()]
        return [claim.drop_end() for claim in claims]

    @property
    def links(self) -> list[markdown.Link]:
        """Every wikilink on the page."""
        rows = [*self.lead, *(row for section in self.sections for row in section.rows)]
        return markdown.links("\n".join(rows))

    @property
    def degree(self) -> int:
        """How many articles it names as related."""
        return sum(row.startswith("- [[") for part in self.sections if part.is_headed(RELATED) for row in part.rows)

    def section(self, heading: str) -> Section:
        """Return the section with this heading; insert it in its place when it is missing (history last)."""
        for section in self.sections:
            if section.is_headed(heading):
                return section
        place = next((n for n, other in enumerate(self.sections) if _is_later(other, heading)), len(self.sections))
        section = Section(heading, f"## {heading}")
        self.insert(section, place)
        return section

    def insert(self, section: Section, place: int) -> None:
        """Insert a section before the one at this place."""
        section.rows.append("")  # the blank line before the next heading, or the file's end
        before = self.sections[place - 1].rows if place else self.lead
        if place == len(self.sections):  # the page ended in one line end, and must do so again
            while before and not before[-1].strip():
                before.pop()
        if not before or before[-1].strip():
            before.append("")
        self.sections.insert(place, section)

    def _claims(self) -> Iterator[tuple[Section, int, Claim]]:
        for section in self.sections:
            if section.is_headed(RELATED) or section.is_headed(HISTORY):
                continue
            for number, claim in section.claims():
                if claim.sources or claim.is_own or section.is_headed(KEY_POINTS):
                    yield section, number, claim

    def lines(self) -> Iterator[tuple[Section, int, Claim]]:
        """Yield every line of a statement, also those under History, with its section and row."""
        for section in self.sections:
            if not section.is_headed(RELATED):
                yield from ((section, number, claim) for number, claim in section.claims())

    @property
    def unread_rows(self) -> dict[str, Claim]:
        """The rows, by id, in which a statement stands without a line of its own: a person gave it another form."""
        parts = [part for part in self.sections if not part.is_headed(HISTORY) and not part.is_headed(CONNECTIONS)]
        told = {claim.id for part in parts for _, claim in part.claims()}
        rows = (f"- {row.strip()}" for part in (Section("", "", self.lead), *parts) for row, _ in part.pieces())
        found = ((ident, Claim.parse(row)) for row in rows for ident in STATEMENT.findall(row) if ident not in told)
        return {ident: claim for ident, claim in found if claim}

    def shows(self, ident: str) -> bool:
        """Return whether current text shows this statement."""
        return any(claim.id == ident for claim in self.claims) or ident in self.unread_rows

    def add(self, claim: Claim, heading: str = KEY_POINTS) -> None:
        """Add a line at the end of a section."""
        self.section(heading).add(claim.render())

    def cut(self, section: Section, number: int) -> list[str]:
        """Remove a line with what is nested in it, and its section when nothing is left there; return the rows."""
        rows = section.cut(number)
        if not any(row.strip() for row in section.rows):
            self.sections.remove(section)
        return rows

    def retire(self, section: Section, number: int, day: str, instead: Claim | None = None) -> None:
        """Move a line to the history with the day until which it held, and the statement that holds instead."""
        self.add_past(self.cut(section, number), day, instead)

    def add_past(self, rows: Sequence[str], day: str, instead: Claim | None) -> None:
        """Add a line that was cut to the history."""
        nested = [row for row in rows[1:] if not (instead and row.startswith(SINCE_ROWS))]
        self.file([f"- Until {day}: {rows[0][2:]}", *nested, *([_render_since(instead)] if instead else [])])

    def file(self, block: Sequence[str]) -> None:
        """Write rows into the history: by days, and of one day by words, so that all machines do the same."""
        history = self.section(HISTORY)
        later = (number for number, claim in history.claims() if f"- {claim.text}" > block[0])
        history.insert(next(later, None), block)

    def read_end(self, section: Section, number: int) -> tuple[str, set[str]]:
        """Return until when a row of the history held, and which statements it names as what holds instead."""
        until = _UNTIL.match(section.rows[number][2:])
        below = _unwrap(section.rows[number + 1 : section.block(number)])
        return until[1] if until else "", set().union(*map(_reason_ids, below))

    def resume(self, section: Section, number: int) -> list[str]:
        """Remove a row of the history; return it, with what is nested in it, as a current line."""
        first, *rest = self.cut(section, number)
        return [f"- {_UNTIL.sub('', first[2:], count=1)}", *(row for row in rest if not row.startswith(SINCE_ROWS))]

    def forget_reasons(self, is_gone: Callable[[str], bool]) -> bool:
        """Remove what is gone from what the history says to hold instead, and its former wordings; return if any is."""
        changed = False
        for section in filter(lambda section: section.is_headed(HISTORY), self.sections):
            for number, claim in reversed(list(section.claims())):
                below = slice(number + 1, section.block(number))
                rows = _unwrap(section.rows[below])
                kept = [row for row in rows if not any(map(is_gone, _reason_ids(row)))]
                if len(kept) < len(rows):
                    changed = True
                    section.rows[below] = kept
                    if not claim.ids and not claim.sources:  # a former wording
                        section.cut(number)
        return changed

    def renew_reasons(self, line_of: Callable[[str], Claim | None]) -> None:
        """Let the history say what holds instead by the present lines of statements."""

        def renew(row: str) -> str:
            now = map(line_of, _reason_ids(row) if row.startswith(_SINCE) else ())
            return next((_render_since(claim) for claim in now if claim), row)

        for section in filter(lambda section: section.is_headed(HISTORY), self.sections):
            rows = list(map(renew, _unwrap(section.rows)))  # which may say the same now, in what were two wordings
            section.rows = [row for n, row in enumerate(rows) if not row.startswith(_SINCE) or row != rows[n - 1]]

    def relate(self, slug: str, title: str, why: str = "") -> bool:
        """Link another page under Related unless the page links it already; return whether a link was added."""
        name = slug.rpartition("/")[2]
        if slug == self.slug or any(link.target.removesuffix(".md") in (slug, name) for link in self.links):
            return False
        reason = f": {markdown.line(why)}" if why else ""
        self.section(RELATED).add(f"- [[{slug}|{link_text(title)}]]{reason}")
        return True

    def touch(self, day: date) -> None:
        """Update the page's days for an entry of ``day``, which may be older than the page when history is ingested."""
        iso = day.isoformat()
        if iso > self.last_day:
            self.front.set("updated", iso)
        if iso < self.front.text("created"):
            self.front.set("created", iso)


def _is_later(section: Section, heading: str) -> bool:
    """Return whether a section belongs below one with this heading."""
    known = [*_FIRST, *_LAST]
    after = known[known.index(heading) :] if heading in known else list(_LAST)
    own = heading in _FIRST and not any(map(section.is_headed, known))
    return any(map(section.is_headed, after)) or (own and any(claim.sources for _, claim in section.claims()))


def drop_sources(row: str, sources: Collection[str]) -> str:
    """Return a line without its links to these entries."""
    for source in sources:
        row = re.sub(rf"\s*\[\[{re.escape(source)}(?:\|[^\]]*)?\]\]", "", row)
    return row


def _render_since(claim: Claim) -> str:
    return f"{_SINCE}{replace(claim, block='').render()[2:]}"


def _unwrap(rows: list[str]) -> list[str]:
    """Return rows of the history with each as one that says what holds instead."""
    pieces = Section("", "", rows).pieces()
    return [row for text, own in pieces for row in ([text] if text.startswith(SINCE_ROWS) else own)]


def _reason_ids(row: str) -> set[str]:
    """Return the statement that a row below a claim of the history names as what holds instead."""
    claim = Claim.parse(row.strip()) if row.startswith(SINCE_ROWS) else None
    return set(claim.ids) if claim else set()


def _digest(summary: str) -> str:
    return sha256(summary)[:8]


def link_text(title: str) -> str:
    """Return a title without the characters that a wikilink cannot hold."""
    return re.sub(r"[\[\]|]", " ", title).strip()
