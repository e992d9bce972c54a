"""Application: from records to the files of a home.

An id is written only where its file still holds what was last seen there: a person who saves in this moment is not
overwritten, and their words become a record with the next scan. Before it is written it is noted what is new in a file,
and then what is shown there. A kill in between is no harm, because the scan knows the text again.
"""

from __future__ import annotations

from collections.abc import Sequence

from memoria.exchange.record import FORGET, GONE
from memoria.exchange.records import Records
from memoria.exchange.sources import Source, folder_of
from memoria.ground.errors import FileBusyError, SavedMeanwhileError


def apply(records: Records, sources: Sequence[Source]) -> None:
    """Write what is due into the files that can be written now; what cannot be written now stays due."""
    with records.transaction():
        records.spread()
    due = dict.fromkeys(ident.partition("#")[0] for ident in records.due())
    left = {whole for whole in due if folder_of(whole) not in {source.folder for source in sources}}
    for source in sources:
        plan: dict[tuple[bool, str], list[str]] = {}
        for whole in due:
            files = source.files(whole) if folder_of(whole) == source.folder else ()
            for number, file in enumerate(files, 1):
                plan.setdefault((number == len(files), file), []).append(whole)
        for (_, file), idents in sorted(plan.items()):
            left |= set(idents) - _written(records, source, file, idents) | source.waiting
    with records.transaction():
        records.settle(ident for ident in records.due() if ident.partition("#")[0] not in left)


def _written(records: Records, source: Source, file: str, idents: Sequence[str]) -> set[str]:
    """Write these ids into a file, or out of it; return those that stand there now as in the records."""
    done: set[str] = set()
    text: str | None = None

    def changed(before: str | None) -> str | None:
        nonlocal done, text
        held = _held(records, source, file, before)
        parts = {whole: {whole, *records.parts(whole)} for whole in idents}
        for ident in held:
            parts.get(ident.partition("#")[0], set()).add(ident)
        wanted = {part: records.wanted(part) for whole in idents for part in sorted(parts[whole])}
        taken = {part.partition("#")[0] for part, digest in wanted.items()
                 if held.get(part, GONE) not in (records.seen(part, file), digest)}  # fmt: skip
        done = set(idents) - taken
        wrong = [part for part, digest in wanted.items() if part.partition("#")[0] in done
                 and (held.get(part, GONE) != digest or records.gone(part))]  # fmt: skip
        with records.transaction():
            text = source.written(file, before, wrong) if wrong or before else before
            for part in set(wrong) - held.keys():  # who edits what a kill leaves here replaces it
                shown = records.shown(part)
                if shown is None or shown.digest == GONE:
                    records.show(part, file, GONE, records.dots(part))
        return text

    try:
        source.rewrite(file, changed)
        held = _held(records, source, file, text)
    except (FileBusyError, SavedMeanwhileError, OSError, ValueError):
        return set()
    stamp = source.mark(file, text)
    with records.transaction():
        records.note(file, stamp, done, held)
        source.tell(file, text, stamp, done)
    return done


def _held(records: Records, source: Source, file: str, text: str | None) -> dict[str, str]:
    pieces = source.pieces(file, text) if text is not None else ()
    return {piece.id: records.held(piece) for piece in pieces if piece.kind != FORGET}
