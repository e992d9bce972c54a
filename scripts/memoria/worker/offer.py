"""Offer: the notes among which a model chooses those that a prompt needs.

The ordinary search offers statements, and no rule judges what it finds. Beside them stand the rules of work, which may
share no word with a prompt, a few records, and as many of the most important other statements as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memoria.base.visibility import Visibility
from memoria.ground.home import Home
from memoria.recall import certain_notes, note_rows
from memoria.recall.shown_notes import ShownNotes
from memoria.search import duplicates
from memoria.search.hit import Statement
from memoria.search.reader import Finder

NOTES = 40  # that are offered
MAX_CHARS = 8_000  # of them all
FOUND = 32  # statements of the search
MOST_RULES = 4
RECORDS = 4  # of the search, where no statement says it
RECORD_KINDS = ("entry",)  # a turn holds for its moment: what the user said there may be reversed since
RULES = ("correction", "preference", "operational")  # kinds of statements that hold for work that shares no word


@dataclass(frozen=True, slots=True)
class Note:
    """A note to choose: ``key`` in the list of those that a session was shown, and its ``document``.

    ``told`` is what the model is told of it, ``line`` what the session is given. ``digest`` is that of the document
    when the note was found.
    """

    key: str
    document: str
    digest: str
    told: str
    line: str


def notes(home: Home, asked: str, own: str, session: str) -> list[Note]:
    """Return the notes to choose from for a prompt, the likeliest first; ``[]`` when none would be a new statement.

    Raises UnreadableError.
    """
    view = Visibility(home.settings, home.paths, own)
    shown = ShownNotes(home.paths.hints, session)
    spoken = "" if shown.was_compacted() else session  # until a compaction the context has what it said
    room = note_rows.NOTE_CHARS
    with Finder(home.paths.index) as finder:
        found = finder.notes(asked, limit=FOUND, room=room, view=view, kinds=("fact", "article"), session=spoken)
        found.sort(key=lambda note: note.hit.kind != "fact")
        records = finder.notes(asked, limit=RECORDS, room=room, view=view, kinds=RECORD_KINDS, session=spoken)
        rules = finder.worthiest(RULES, view=view, most=MOST_RULES)
        others = finder.worthiest(view=view, most=NOTES)
        stems = certain_notes.stemming_from(asked, (*found, *rules, *others), home.paths)
        is_new = _News(shown, asked, spoken, stems)
        told, rest = list(filter(is_new, (*found, *rules))), list(filter(is_new, others))
        if not told and not rest:
            return []
        told += [note for note in filter(is_new, records) if not _is_said(note, told)] + rest
        digests = finder.digests({note.hit.key for note in told})
    return list(_fitting(told, own, digests))


class _News:
    """The test whether a note tells a session anything."""

    def __init__(self, shown: ShownNotes, asked: str, spoken: str, stems: set[str]) -> None:
        self._known, self._page = shown.keys(), shown.page()
        self._asked, self._spoken, self._stems = asked, spoken, stems

    def __call__(self, note: Statement) -> bool:
        """Return whether neither page, note nor session has told it, nor the prompt itself, from which it may stem."""
        if note_rows.key(note) in self._known or note_rows.stands(note, self._page):
            return False
        if self._spoken and self._spoken in note.sessions:
            return False
        return note.hit.anchor not in self._stems and not certain_notes.is_echo(note, self._asked)


def _is_said(note: Statement, told: Iterable[Statement]) -> bool:
    """Return whether one of the notes says the same."""
    said = duplicates.sentence(note_rows.said(note.text))
    return any(duplicates.same(said, duplicates.sentence(note_rows.said(each.text))) for each in told)


def _fitting(statements: Iterable[Statement], own: str, digests: dict[str, str]) -> Iterator[Note]:
    """Yield as many notes, each once, as there may be."""
    room, given = MAX_CHARS, set[str]()
    for statement in statements:
        told, line = note_rows.row(statement, own, is_sourced=False), note_rows.row(statement, own)
        if told and told not in given and len(told) <= room and len(given) < NOTES:
            room -= len(told) + 1
            given.add(told)
            document = statement.hit.key
            yield Note(note_rows.key(statement), document, digests.get(document, ""), told, line)
