"""Documents: what can be found, as the search index takes it in, and how a home's markdown becomes such records.

One article, one daily entry, one learned fact, one archived session, one file of the client's memory is one document;
its passages are sections, bullets or turns. Reads markdown leniently (a person may have edited it) and never raises
over what it holds. Knows the formats of ``knowledge/**.md`` and ``daily/*.md``; knows neither the index nor the
ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import blake2b
from typing import Any

import yaml

from memoria.facts import lines
from memoria.facts.fact import GLOBAL
from memoria.ground import markdown

PASSAGE_CHARS = 1_200  # a longer paragraph is cut into several passages, at line ends where it has any

_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_SESSION = re.compile(r"^### ", re.MULTILINE)
_ENTRY_ID = re.compile(r"^\^(e-[\w-]+)\s*$", re.MULTILINE)
_MARKER = re.compile(r"<!-- memoria (.*?)-->", re.DOTALL)
_PAIR = re.compile(r"(\w+)=(\S+)")
_PARTICULARS = re.compile(r"^[ \t]+<!-- learned .*-->[ \t]*$", re.MULTILINE)
_BLOCK_ID = re.compile(r"\s*\^[el]-[\w-]+\s*$")
_LABEL = re.compile(r"^\*\*([^*\n]{1,60}):\*\*\s*")
_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that can answer on its own. ``own``: the user's words, as against anyone else's."""

    text: str
    label: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found.

    ``path`` is relative to the home with ``/`` (``knowledge/concepts/x.md``), that of a ``memory`` absolute; ``kind``
    is ``article``, ``entry``, ``fact``, ``turn`` (an archived session, its turns as passages) or ``memory``; ``anchor``
    is the block inside the path (``e-01k9x2``), empty for the whole file. ``date`` is ``YYYY-MM-DD`` or empty.
    ``importance`` is 0 to 1. ``superseded_by`` is the key, or ``^`` and the anchor, of the document to be shown in
    its stead.
    """

    path: str
    kind: str
    anchor: str = ""
    session: str = ""
    project: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    date: str = ""
    importance: float = 0.5
    superseded_by: str = ""

    @property
    def key(self) -> str:
        """What names the document in an index: path, and the block inside it."""
        return f"{self.path}#^{self.anchor}" if self.anchor else self.path

    @property
    def digest(self) -> str:
        """Changes when anything changes."""
        content = (self.kind, self.session, self.project, self.title, self.aliases, self.tags, self.keywords, self.date)
        passages = tuple((passage.text, passage.label, passage.own) for passage in self.passages)
        whole = repr((content, passages, self.importance, self.superseded_by))
        return blake2b(whole.encode("utf-8", "replace"), digest_size=12).hexdigest()


def of_file(path: str, text: str) -> list[Document]:
    """The documents of one markdown file of the home, by where it stands."""
    if path.startswith("daily/"):
        return list(entries(path, text))
    return [article(path, text)]


def article(path: str, text: str) -> Document:
    """The article in a file of ``knowledge/``; broken frontmatter is read as text."""
    meta, body = _frontmatter(text)
    heading = next((found[1] for line in body.splitlines() if (found := _HEADING.match(line))), "")
    title = str(meta.get("title") or heading or path.rsplit("/", 1)[-1].removesuffix(".md"))
    return Document(
        path=path,
        kind="article",
        title=title,
        aliases=_names(meta.get("aliases")),
        tags=_names(meta.get("tags")),
        keywords=_names(meta.get("keywords")),
        project=str(meta.get("project") or ""),
        passages=tuple(_sections(body, title)),
        date=_day(meta.get("updated") or meta.get("created")),
    )


def memory(path: str, text: str, project: str, day: str) -> Document:
    """A file of the client's own memory: its frontmatter names it, else its first heading, else the file."""
    meta, body = _frontmatter(text)
    heading = next((found[1] for line in body.splitlines() if (found := _HEADING.match(line))), "")
    title = str(meta.get("name") or heading or path.rsplit("/", 1)[-1].removesuffix(".md"))
    told = str(meta.get("description") or "")
    return Document(
        path=path,
        kind="memory",
        project=project,
        title=title,
        tags=_names(meta.get("type")),
        passages=(*cut(told, ""), *_sections(body, title)),
        date=day,
    )


def day_of(stamp_ns: int) -> str:
    """The day of a file's time, UTC; ``""`` of one that no calendar has (a file system may hold any number)."""
    try:
        return datetime.fromtimestamp(stamp_ns / 1e9, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def entries(path: str, text: str) -> Iterator[Document]:
    """The entries of a daily log and the learned facts in them; what stands before the first is one more."""
    day = _day(path)
    starts = [found.start() for found in _SESSION.finditer(text)]
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        block = text[start:end]
        if _SESSION.match(block):
            yield from _entry(path, day, block)
        elif passages := tuple(_sections(block, "")):
            yield Document(path=path, kind="entry", date=day, title=day, passages=passages)
    yield from _facts(path, day, text)


def _entry(path: str, day: str, block: str) -> Iterator[Document]:
    heading, _, body = block.partition("\n")
    parts = [part.strip() for part in heading.lstrip("# ").split(" · ")]
    found = _ENTRY_ID.search(body)
    marker = _MARKER.search(body)
    about = dict(_PAIR.findall(marker[1])) if marker else {}
    anchor = found[1] if found else ("e-" + about["entry"] if "entry" in about else "")
    session, project = about.get("session", ""), about.get("project", "") or (parts[1] if len(parts) > 1 else "")
    title = parts[2] if len(parts) > 2 else heading.lstrip("# ").strip()
    if not anchor:  # written by hand: named after its text, so that it stays the same document while it is unchanged
        anchor = "x-" + blake2b(block.encode("utf-8", "replace"), digest_size=6).hexdigest()
    common = {"path": path, "session": session, "project": project, "date": day}
    yield Document(kind="entry", anchor=anchor, title=title, passages=tuple(_sections(body, "")), **common)


def _facts(path: str, day: str, text: str) -> Iterator[Document]:
    """The learned facts of a daily log; a replaced one leads to its successor, one that only ended is left out."""
    try:
        when = date.fromisoformat(day)
    except ValueError:  # a file that only looks like a day's
        return
    for event in lines.parse(text, when):
        if event.ended and not event.successor:
            continue
        yield Document(
            path=path,
            kind="fact",
            anchor=event.id,
            session=event.session,
            project="" if event.project == GLOBAL else event.project,
            tags=(event.kind, *event.tags),
            keywords=event.keywords,
            passages=(Passage(event.content, event.kind, own=event.origin == "user"),),
            date=day,
            importance=event.importance,
            superseded_by=f"^{event.successor}" if event.successor else "",
        )


def _sections(body: str, title: str) -> Iterator[Passage]:
    """Paragraphs and list items, each labelled with the heading or bold label it stands under."""
    label = ""
    paragraph: list[str] = []
    for raw in _PARTICULARS.sub("", _MARKER.sub("", body)).splitlines():
        line = _LINK.sub(r"\1", _BLOCK_ID.sub("", raw)).rstrip()
        heading, bold = _HEADING.match(line), _LABEL.match(line)
        if not line.strip() or heading or bold or line.lstrip().startswith(("- ", "* ")):
            yield from cut("\n".join(paragraph), label)
            paragraph = []
        if heading:
            label = "" if heading[1] == title else heading[1]
        elif bold:
            label, line = bold[1], line[bold.end() :]
        if line.strip() and not heading:
            paragraph.append(line)
    yield from cut("\n".join(paragraph), label)


def cut(text: str, label: str, *, own: bool = False) -> Iterator[Passage]:
    """The text in passages of at most PASSAGE_CHARS; none of a blank one."""
    while text.strip():
        end = len(text)
        if end > PASSAGE_CHARS:
            end = max(text.rfind("\n", 0, PASSAGE_CHARS), text.rfind(" ", 0, PASSAGE_CHARS))
            end = end if end > 0 else PASSAGE_CHARS
        yield Passage(text[:end].strip(), label, own)
        text = text[end:]


def _frontmatter(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith("---\n"):
        return {}, text
    head, mark, body = text[4:].partition("\n---")
    if not mark:
        return {}, text
    try:
        meta = yaml.load(head, Loader=_LOADER)  # noqa: S506 (both are safe loaders)
    except markdown.YAML_ERRORS:
        return {}, text
    return (meta, body.partition("\n")[2]) if isinstance(meta, dict) else ({}, text)


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _day(value: object) -> str:
    found = _DAY.search(str(value or ""))
    return found[0] if found else ""
