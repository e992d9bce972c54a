"""Search: what the index finds for a session, and what a model answers from it, with links that code has checked."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base.fence import defuse
from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.ground import printable
from memoria.ground.errors import ExpectedError, ModelError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.mcp.answers import NOTES, TITLE_CHARS, fit, flatten, render_notes
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject
from memoria.search.hit import Hit
from memoria.statements.claim_check import find_unheard
from memoria.wiki.article_cache import LinkTargets
from memoria.wiki.folder import Wiki

if TYPE_CHECKING:
    from memoria.mcp.calls import Session
    from memoria.mcp.tools import Json

PASSAGES = 12  # documents shown to the model
PASSAGE_CHARS = 3_000  # of each document
_LINK = re.compile(r"[ \t]*(?<!\\)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")


def search(session: Session, given: Json) -> str:
    """Return search results as one fenced block."""
    hits, lacking = find(session.home, session.visible, given["query"], given.get("limit", 8), given.get("kinds", ()))
    if not hits:
        return lacking or "Nothing found. Try fewer or different words; names of files, functions and errors work well."
    text, _ = fit("memory", "\n\n".join(map(_describe, hits)))
    return f"{NOTES} {lacking}".rstrip() + f"\n{text}"


def find(home: Home, view: Visibility, query: str, limit: int = 8, kinds: Sequence[str] = ()) -> tuple[list[Hit], str]:
    """Return what the index finds of what may be shown, and a sentence when it lacks something."""
    try:
        with sources.open_searchable(home) as (index, lacking):
            return index.search(query, limit=limit, view=view, kinds=kinds), lacking
    except (sqlite3.Error, OSError) as error:
        raise ExpectedError(f"the search index cannot be used now ({error}); read pages by path instead") from error


def _describe(hit: Hit) -> str:
    """Return a result's heading line and its passages, indented so that none can be taken for another result."""
    path = f"{hit.path}#^{hit.anchor}" if hit.anchor else hit.path
    head = [flatten(part, TITLE_CHARS) for part in (path, hit.kind, hit.date or "undated", hit.title)]
    rows = [f"  {row}" for passage in hit.passages for row in passage.splitlines()]
    return defuse("\n".join([" · ".join(filter(None, head)), *rows]))


@dataclass(frozen=True, slots=True)
class Passage:
    """The text found in one document; ``ref`` is the target of a wikilink to it."""

    ref: str
    kind: str
    title: str
    date: str
    text: str

    @classmethod
    def of(cls, hit: Hit) -> Passage:
        """Return the passage of a search hit."""
        page = hit.path.removeprefix("knowledge/").removesuffix(".md")
        ref = f"{page}#^{hit.anchor}" if hit.anchor and not hit.anchor.startswith("x-") else page
        return cls(ref, hit.kind, hit.title, hit.date, "\n".join(hit.passages)[:PASSAGE_CHARS])


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked answer: ``dead`` are links that do not resolve, ``unsupported`` is what no passage says."""

    rows: tuple[str, ...]
    rests_on: tuple[str, ...]
    dead: tuple[str, ...]
    unsupported: tuple[str, ...]


def passages_for(home: Home, view: Visibility, question: str) -> tuple[list[Passage], str]:
    """Return the passages of articles, entries and facts that fit a question best, and what the index lacks."""
    hits, lacking = find(home, view, question, PASSAGES, ("article", "entry", "fact"))
    return [passage for passage in map(Passage.of, hits) if passage.text.strip()], lacking


def ask(home: Home, question: str, passages: Sequence[Passage], project: str = "") -> tuple[Answer | None, str]:
    """Return the model's checked answer, or None and the reason; ``project`` (by key) decides where it is asked."""
    material = {"question": question, "passages": [asdict(passage) for passage in passages]}
    try:
        with closing(Ledger(home.paths)) as ledger:
            model = Metered.of(home, ledger)
            if model.name == "offline":
                return None, "the setting `model` is offline"
            completion = model.complete(tasks.query(material), project)
    except ModelError as error:
        return None, str(error)
    targets = LinkTargets(Path(home.paths.home), Wiki(home.paths).articles())
    return check_links(question, completion.data, passages, targets), ""


def check_links(question: str, data: JsonObject, passages: Sequence[Passage], targets: LinkTargets) -> Answer:
    """Return a model's answer with every link and reference looked up; of a dead link only what it shows stays."""
    given = {passage.ref for passage in passages}
    alive: list[str] = []
    dead: list[str] = []

    def keep_known(match: re.Match[str]) -> str:
        anchor = (match[2] or "").strip()
        ref = match[1].strip() + anchor
        found = ref if ref in given else targets.reference(match[1], anchor)
        (alive if found else dead).append(found or ref)
        return _link_text(match) + (f" [[{found}]]" if found else "")

    for ref in data["rests_on"]:
        _LINK.sub(keep_known, f"[[{ref.strip().removeprefix('[[').removesuffix(']]')}]]")
    rows = [row.strip() for row in _LINK.sub(keep_known, data["text"]).splitlines()]
    ground = "\n".join([question, *(f"{passage.title}\n{passage.date}\n{passage.text}" for passage in passages)])
    return Answer(
        tuple(filter(None, rows)),
        tuple(dict.fromkeys(alive)),
        tuple(dict.fromkeys(dead)),
        tuple(find_unheard(_LINK.sub(_link_text, data["text"]), ground)),
    )


def _link_text(match: re.Match[str]) -> str:
    """Return what a link shows in place of its target."""
    return " " + match[3].strip() if match[3] else ""


def lines(answer: Answer | None, passages: Sequence[Passage], reason: str) -> Iterator[str]:
    """Yield the lines of an answer with its sources, or the passages when no model gave one; ``reason``: why not."""
    if not passages:
        yield "The wiki and the daily logs contain nothing about this."
        return
    if answer is None or not answer.rows:
        why = "The model found no answer in these passages:"
        yield from _passages(passages, why if answer else f"No model answered ({reason}). These passages were found:")
    else:
        yield from map(printable.line, answer.rows)
        titles = {passage.ref: passage.title for passage in passages}
        yield "\nBased on:" if answer.rests_on else "\nBased on nothing that could be found."
        for ref in answer.rests_on:
            yield f"- [[{ref}]]" + (f" {printable.line(titles[ref])}" if titles.get(ref) else "")
    if answer and answer.dead:
        yield f"\nNot printed as links, because they do not resolve: {printable.line(', '.join(answer.dead))}"
    if answer and answer.unsupported:
        yield f"\nIn the answer but not in the passages: {printable.line(', '.join(answer.unsupported))}"


def _passages(passages: Sequence[Passage], heading: str) -> Iterator[str]:
    yield heading
    for passage in passages:
        about = " · ".join(part for part in (passage.kind, passage.date, passage.title) if part)
        yield f"\n[[{passage.ref}]] {printable.line(about)}"
        yield from (f"  {printable.lines(row)}" for row in passage.text.splitlines())


def query(session: Session, given: Json) -> str:
    """Return what a model answers from the memory, or the passages it would read; the tool of this name."""
    home, asked = session.home, session.redactor.redact(given["question"])
    passages, lacking = passages_for(home, session.visible, asked)
    answer, reason = ask(home, asked, passages, session.project) if passages else (None, "")
    return render_notes("\n".join(filter(None, (*lines(answer, passages, reason), lacking))))
