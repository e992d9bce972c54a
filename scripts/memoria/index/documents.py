"""Documents: the records of the search index, and how a home's Markdown becomes such records.

One article, one daily entry, one learned fact or one archived session is one document; its passages are sections,
bullets or turns. Markdown is read leniently, because a person may have edited it, and no content raises an exception.
This module knows the formats of ``knowledge/**.md`` and ``daily/*.md``, but neither the index nor the ranking.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from hashlib import blake2b
from pathlib import Path

from memoria.base import project
from memoria.base.pattern import Pattern
from memoria.base.project import NO_ALIASES
from memoria.daily.day_text import DayText
from memoria.ground import home_files, markdown
from memoria.ground.errors import ArchiveError
from memoria.index.ended import NOTHING, Ended, Past, drop_ended, mark_title
from memoria.search import cues, layout
from memoria.statements import lines
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.store import is_repeated
from memoria.transcripts.archive import Archive, Kept
from memoria.transcripts.turn import Turn

log = logging.getLogger(__name__)

Stamp = tuple[int, int]  # a file's time (ns) and size; while they are the same, the file counts as unchanged

TOPS = ("knowledge", "daily")  # folders of a home with Markdown
PASSAGE_CHARS = 1_200  # longer paragraphs are split, at line ends where possible

HISTORY = "history"  # the heading, in lower case, of what no longer holds of an article, which is not in the index
RELATED = "Related"  # the section of an article that links others

_LABEL = re.compile(r"^\*\*([^*\n]{1,60}):\*\*\s*")
_SOURCE = re.compile(r"\[\[(daily/\d{4}-\d\d-\d\d#\^[el]-[0-9a-z]+)\|[^\[\]\n]*\]\]")
_ID = Pattern(r"(?:^|\s)\^[a-z]-[0-9a-z]+\s*$")  # in an entry; "n ^2" is text there
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_IS_LINK = re.compile(r"^\s*[-*+] \[\[(?!daily/)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document that can be an answer by itself; ``own`` is True for the user's own words."""

    text: str
    label: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found.

    ``path`` is relative to the home with ``/`` (``knowledge/concepts/x.md``). ``kind`` is ``article``, ``entry``,
    ``fact``, ``turn`` (an archived session with its turns as passages). ``anchor`` is the block inside the
    path (``e-01k9x2``), empty for the whole file. ``also``: other projects in which it came up. ``date`` is
    ``YYYY-MM-DD`` or empty. ``importance`` is 0 to 1, and above for a correction made again. ``superseded_by`` is
    ``^`` and the anchor of the document to show instead. ``hidden``: which sentences of an archived session
    are left out (``hidden``).
    """

    path: str
    kind: str
    anchor: str = ""
    session: str = ""
    project: str = ""
    also: tuple[str, ...] = ()
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    date: str = ""
    importance: float = layout.USUAL
    superseded_by: str = ""
    hidden: str = ""

    @property
    def key(self) -> str:
        """What identifies the document in an index: the path, and the block inside it."""
        return f"{self.path}#^{self.anchor}" if self.anchor else self.path

    @property
    def digest(self) -> str:
        """A digest of all fields."""
        return blake2b(repr(self).encode(), digest_size=12).hexdigest()


def files(home: Path, tops: Collection[str] = TOPS, ended: Ended = NOTHING) -> Iterator[tuple[str, Stamp]]:
    """Yield each article and each day, with its file's time and size; they change with what ended of what it says."""
    for top in tops:
        for name, status in (home_files.days if top == "daily" else home_files.articles)(home / top):
            over = sum(int(fact.ended.timestamp()) for fact in ended.again(name) if fact.ended)
            yield f"{top}/{name}.md", (status.st_mtime_ns, status.st_size + over)


def parse(path: str, text: str, aliases: Mapping[str, str] = NO_ALIASES, ended: Ended = NOTHING) -> list[Document]:
    """Return the documents of one Markdown file of the home, depending on its path.

    ``aliases`` maps former project keys, which may stand in the text, to the present ones. ``ended`` tells what entries
    say that no longer holds.
    """
    if path.startswith("daily/"):
        return list(entries(path, text, aliases, ended))
    return [article(path, text, aliases)]


def article(path: str, text: str, aliases: Mapping[str, str] = NO_ALIASES) -> Document:
    """Return the article in a file of ``knowledge/``; broken frontmatter is read as text."""
    front, body = markdown.read_page(text)
    body = _SOURCE.sub(r"\1", body)  # whose statement a line shows decides where it is shown
    title = (
        front.text("title") or markdown.first_heading(body.split("\n")) or path.rpartition("/")[2].removesuffix(".md")
    )
    opening = layout.SUMMARY if front.text("summary_digest") and "#^l-" in body else ""
    told = [passage for passage in _sections(body, title, opening=opening) if passage.label.casefold() != HISTORY]
    return Document(
        path=path,
        kind="article",
        title=title,
        aliases=tuple(front.texts("aliases")),
        tags=tuple(front.texts("tags")),
        keywords=tuple(front.texts("keywords")),
        project=aliases.get(key := project.key_in(front.text("project")), key),
        passages=tuple(told),
        date=_day(front.text("updated") or front.text("created")),
    )


def entries(path: str, text: str, aliases: Mapping[str, str], ended: Ended) -> Iterator[Document]:
    """Yield the entries of a daily log, its other parts (also that before the first heading) and its facts.

    What an entry says that no longer holds is left out; a title that names it says until when it held.
    """
    day = Path(path).stem
    when = date.fromisoformat(day)
    day_text = DayText(text, aliases)
    facts = lines.read_facts(day_text, when)
    outdated = {fact.id: fact for fact in facts if fact.is_outdated or fact.history}
    for part in day_text.parts(when):
        passages = tuple(_sections(_remove_facts(part.text), "", _ID))
        session = part.entry.session if part.entry else ""
        if not part.heading and not part.entry:
            anchor, title = "", day
        elif part.anchor:
            anchor, title = part.anchor, part.title or day
        else:
            anchor, title = unmarked_anchor(part.raw), part.title
        owner = lines.owner(part, facts)
        project = "" if owner == GLOBAL else owner
        if part.entry:
            past = ended.entry_pasts(part.entry, outdated)
            title = mark_title(title, past, part.entry.learned)
            passages = tuple(_current(passages, past))
        if passages or (anchor and not part.is_learned):
            yield Document(path=path, kind="entry", anchor=anchor, session=session, project=project,
                           title=title, passages=passages, date=day)  # fmt: skip
    yield from _facts(path, day, facts)


def _current(passages: Iterable[Passage], past: Collection[Past]) -> Iterator[Passage]:
    """Yield passages without the sentences that say what no longer holds."""
    for passage in passages:
        if text := drop_ended(passage.text, past):
            yield replace(passage, text=text)


def unmarked_anchor(raw: str) -> str:
    """Return the anchor of a part without a block id: its digest, the same as long as the part is unchanged."""
    return f"x-{blake2b(raw.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def _remove_facts(text: str) -> str:
    """Return the text of a part without its learned facts, which are documents with projects of their own."""
    day = DayText(text)
    for line in reversed(list(day.facts())):
        day.remove(line)
    return day.text


def _facts(path: str, day: str, facts: Iterable[Fact]) -> Iterator[Document]:
    """Yield the learned facts of a day; a replaced one leads to its successor, one without a successor is left out."""
    for event in facts:
        if event.ended and not event.successor:
            continue
        asked = (Passage(phrase, layout.ASKED) for phrase in event.asked_as)
        yield Document(
            path=path,
            kind="fact",
            anchor=event.id,
            session=event.session,
            project="" if event.project == GLOBAL else event.project,
            also=event.also,
            tags=(event.kind, *event.tags),
            keywords=event.keywords,
            passages=(Passage(event.content, event.kind, own=event.origin == "user"), *asked),
            date=day,
            importance=event.importance + layout.AGAIN * is_repeated(event),
            superseded_by=f"^{event.successor}" if event.successor else "",
        )


def _sections(
    body: str, title: str, block_id: re.Pattern[str] = markdown.BLOCK_ID, *, opening: str = ""
) -> Iterator[Passage]:
    """Yield paragraphs and list items without block ids, each labelled with the heading or bold label above it.

    ``opening``: the label of what stands above them all.
    """
    label = opening
    paragraph: list[str] = []
    for row, in_code in markdown.head_rows(body.split("\n")):
        line = _LINK.sub(r"\1", block_id.sub("", row)).rstrip()
        (level, heading), bold = ((0, ""), None) if in_code else (markdown.heading(line), _LABEL.match(line))
        item = not in_code and line.lstrip().startswith(("- ", "* ", "+ "))
        if not line.strip() or level or bold or item:
            yield from cut("\n".join(paragraph), label)
            paragraph = []
        if level:
            label = opening if heading == title else heading
        elif bold:
            label, line = bold[1], line[bold.end() :]
        if line.strip() and not level and not (label == RELATED and _IS_LINK.match(row)):
            paragraph.append(line)
    yield from cut("\n".join(paragraph), label)


def cut(text: str, label: str, *, own: bool = False) -> Iterator[Passage]:
    """Yield the text in passages of at most PASSAGE_CHARS; nothing for a blank text."""
    start = 0
    while start < len(text):
        end = start + PASSAGE_CHARS
        if end < len(text):
            last = max(text.rfind("\n", start, end), text.rfind(" ", start, end))
            end = last if last > start else end
        passage = text[start:end].strip()
        if passage:
            yield Passage(passage, label, own)
        start = end


def _day(text: str) -> str:
    found = _DAY.search(text)
    return found[0] if found else ""


def hidden_sentences(turns: Sequence[Turn], past: Collection[Past]) -> str:
    """Return which sentences say what no longer holds, or what it was learned from: of each turn, by their numbers."""
    found = {}
    for number, turn in enumerate(turns) if past else ():
        told = enumerate(cues.sentences(turn.text))
        if gone := [place for place, sentence in told if any(each.is_spoken_in(sentence) for each in past)]:
            found[number] = gone
    return json.dumps(found) if found else ""


def passages(turns: Sequence[Turn], left_out: str = "") -> Iterator[Passage]:
    """Yield what was said, and what the tools were asked to do, without the sentences that are ``hidden``.

    The index holds the words of a conversation and leaves its texts in the archive. Both sides cut them in this way, so
    that the numbers of the passages agree.
    """
    gone = json.loads(left_out) if left_out else {}
    for number, turn in enumerate(turns):
        kept = _strip(turn, gone[str(number)]) if str(number) in gone else turn
        yield from cut(kept.text, kept.role, own=kept.role == "user")
        yield from cut("\n".join(kept.tools), layout.TOOLS)


def _strip(turn: Turn, gone: Collection[int]) -> Turn:
    told = [sentence for place, sentence in enumerate(cues.sentences(turn.text)) if place not in gone]
    return replace(turn, text="\n".join(told))


def reading(folder: Path) -> Callable[[str, str], Sequence[tuple[str, str, bool]]]:
    """Return a function that reads the passages of a conversation from the archive in a state ``folder``."""
    archive = Archive(folder, 0)

    def read(source: str, left_out: str) -> Sequence[tuple[str, str, bool]]:
        try:
            turns = archive.read(Kept(folder / source, "", "", (0, 0)))
        except ArchiveError as error:
            log.info("search: the text of %s cannot be shown: %s", source, error)
            return ()
        return [(each.text, each.label, each.own) for each in passages(turns, left_out)]

    return read
