"""Offer: the notes among which a model chooses those that a prompt needs.

A project that has learned little offers every statement. Of a larger one the ordinary search offers the best for the
prompt and for the words that a model names for it, and no rule judges what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memoria.base.visibility import Visibility
from memoria.ground.home import Home
from memoria.recall import notes
from memoria.recall.shown_notes import ShownNotes
from memoria.search.hit import Statement
from memoria.search.reader import Finder

NOTES = 40  # that are offered
MAX_CHARS = 8_000  # of them all
STATEMENTS = 200  # of a project, at which it has more than a page and an offer hold
RECORD = "entry"  # no reason to ask by itself


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


class Offer:
    """What a session may be offered for a prompt. Each method raises UnreadableError when the index cannot be read."""

    def __init__(self, home: Home, asked: str, own: str, session: str) -> None:
        """``asked`` is what is searched of the prompt, ``own`` the project's key."""
        self._shown = shown = ShownNotes(home.paths.hints, session)
        self._home, self._asked, self._own = home, asked, own
        self._view = Visibility(home.settings, home.paths, own)
        self._spoken = "" if shown.was_compacted() else session  # until a compaction the context has what it said

    def holds_all(self) -> bool:
        """Return whether there is room for every statement that is new to the session."""
        with Finder(self._home.paths.index) as finder:
            statements = finder.worthiest(view=self._view, most=STATEMENTS)
            new = list(self._notes(finder, self._new(statements)))
        return len(statements) < STATEMENTS and len(new) == len(list(_fitting(new)))

    def notes(self, words: Sequence[str] = ()) -> list[Note]:
        """Return the notes to choose from, the likeliest first; ``[]`` when none would be a new statement.

        ``words``: those that a model has named, by which notes may be found beside the prompt.
        """
        query, room = " ".join((*words, self._asked)), notes.NOTE_CHARS
        with Finder(self._home.paths.index) as finder:
            found = finder.notes(query, limit=NOTES, room=room, view=self._view, kinds=notes.KINDS)
            rest = [] if words else finder.worthiest(view=self._view, most=NOTES)  # all, where there is room for all
            told = self._new([*found, *rest])
            if all(statement.hit.kind == RECORD for statement in told):
                return []
            return list(_fitting(self._notes(finder, told)))

    def _new(self, statements: Sequence[Statement]) -> list[Statement]:
        """Return those that neither page, note nor session has told, and that do not stem from the prompt itself."""
        new = notes.unsaid(notes.new(statements, self._shown), self._asked, self._home.paths)
        return [note for note in new if not (self._spoken and self._spoken in note.sessions)]

    def _notes(self, finder: Finder, statements: Sequence[Statement]) -> Iterator[Note]:
        """Yield statements as notes, each once."""
        digests = finder.digests({statement.hit.key for statement in statements})
        given: set[str] = set()
        for statement in statements:
            told, line = notes.row(statement, self._own, is_sourced=False), notes.row(statement, self._own)
            if told and told not in given:
                given.add(told)
                document = statement.hit.key
                yield Note(notes.key(statement), document, digests.get(document, ""), told, line)


def _fitting(notes: Iterable[Note]) -> Iterator[Note]:
    """Yield as many notes as there may be."""
    room, count = MAX_CHARS, 0
    for note in notes:
        if len(note.told) <= room and count < NOTES:
            room -= len(note.told) + 1
            count += 1
            yield note
