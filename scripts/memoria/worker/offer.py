"""Offer: the notes among which a model chooses those that a prompt needs.

The ordinary search offers, and no rule judges what it finds. Beside that stand the rules of work, which may share no
word with a prompt, and as many of the most important other statements as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memoria.base.visibility import Visibility
from memoria.ground.home import Home
from memoria.index import turns
from memoria.recall import certain_notes, note_rows
from memoria.recall.shown_notes import ShownNotes
from memoria.search import duplicates
from memoria.search.hit import Statement
from memoria.search.reader import Finder
from memoria.statements.store import Store

NOTES = 40  # that are offered
MAX_CHARS = 8_000  # of them all
FOUND = 32  # statements of the search
RECORDS = 6  # articles, entries and turns of the search, where no statement says it
MOST_RULES = 8
STATEMENTS = ("fact",)
OTHERS = ("article", "entry", "memory", "turn")
RULES = ("correction", "preference", "operational")  # kinds of statements that hold for work that shares no word


@dataclass(frozen=True, slots=True)
class Note:
    """A note to choose: ``key`` in the list of those that a session was shown, its ``document`` and its ``line``.

    ``digest`` is that of the document when the note was found.
    """

    key: str
    document: str
    digest: str
    line: str


def notes(home: Home, asked: str, own: str, session: str) -> list[Note]:
    """Return the notes to choose from for a prompt, the likeliest first; ``[]`` when nothing can come of it.

    That is so when the session has been shown all statements of its project, and no record holds most of what is
    asked. Raises UnreadableError and MemoryStoreError.
    """
    view = Visibility(home.settings, home.paths, own)
    shown = ShownNotes(home.paths.hints, session)
    known, page = shown.keys(), shown.page()
    spoken = "" if shown.was_compacted() else session  # until a compaction the context has what it said
    with Finder(home.paths.index, turns=turns.reading(Path(home.paths.state))) as finder:
        found, others = _found(finder, asked, view, spoken), _worthiest(finder, view, spoken)
        records = finder.notes(asked, limit=RECORDS, room=note_rows.NOTE_CHARS, view=view, kinds=OTHERS, session=spoken)
        is_new = _News(known, page, asked, _quotes(home, (*found, *others)))
        fresh = [note for note in (*found, *others) if is_new(note)]
        certain = certain_notes.certain(finder, asked, view, spoken)
        if not fresh and not any(map(is_new, certain)):
            return []
        told = [note for note in found if is_new(note)]
        told += [note for note in records if is_new(note) and not _is_said(note, told)]
        told += [note for note in others if is_new(note)]
        digests = finder.digests({note.hit.key for note in told})
    return list(_fitting(told, own, digests))


def _found(finder: Finder, asked: str, view: Visibility, session: str) -> list[Statement]:
    """Return the current statements that the ordinary search finds."""
    room = note_rows.NOTE_CHARS
    return finder.notes(asked, limit=FOUND, room=room, view=view, kinds=STATEMENTS, session=session)


def _worthiest(finder: Finder, view: Visibility, session: str) -> list[Statement]:
    """Return the most important rules of work, and then the most important statements of any kind."""
    rules = finder.worthiest(RULES, view=view, most=MOST_RULES)
    others = finder.worthiest(view=view, most=NOTES)
    return [note for note in (*rules, *others) if not session or session not in note.sessions]


class _News:
    """The test whether a note tells a session anything."""

    def __init__(self, known: set[str], page: str, asked: str, quotes: dict[str, str]) -> None:
        self._known = known
        self._page = page
        self._asked = asked
        self._said = certain_notes.plain(asked)
        self._quotes = quotes

    def __call__(self, note: Statement) -> bool:
        """Return whether neither the page shows it, nor a note, nor the prompt itself, from which it may stem."""
        if note_rows.key(note) in self._known or note_rows.stands(note, self._page):
            return False
        quote = self._quotes.get(note.hit.anchor, "")
        return not (quote and quote in self._said) and not certain_notes.is_echo(note, self._asked)


def _quotes(home: Home, statements: Iterable[Statement]) -> dict[str, str]:
    """Return the words that each statement was learned from, by its id."""
    if not Path(home.paths.facts).exists():
        return {}
    with Store.of(home.paths) as store:
        facts = (store.get(statement.hit.anchor) for statement in statements)
        return {fact.id: certain_notes.plain(fact.quote) for fact in facts if fact and fact.quote}


def _is_said(note: Statement, told: Iterable[Statement]) -> bool:
    """Return whether one of the notes says the same."""
    said = duplicates.sentence(note_rows.said(note.text))
    return any(duplicates.same(said, duplicates.sentence(note_rows.said(each.text))) for each in told)


def _fitting(told: Iterable[Statement], own: str, digests: dict[str, str]) -> Iterable[Note]:
    """Yield as many notes, each once, as there may be."""
    room, lines = MAX_CHARS, set[str]()
    for statement in told:
        line = note_rows.row(statement, own)
        if line and line not in lines and len(line) <= room and len(lines) < NOTES:
            room -= len(line) + 1
            lines.add(line)
            document = statement.hit.key
            yield Note(note_rows.key(statement), document, digests.get(document, ""), line)
