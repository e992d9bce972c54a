"""Observed: how far the observer has read a session, in the session's working memory."""

from __future__ import annotations

from memoria.capture import cursor, transcript
from memoria.working.memory import WorkingMemory
from memoria.working.store import Store

READ = "read"  # key of the position up to which the transcript was read, stored together with the observed state


async def pass_over(session: str, cursors: str, store: Store) -> None:
    """Let the next look at a session, whose name is a safe one, begin after what its transcript says now."""
    memory = await WorkingMemory.for_session(session, store=store)
    place = cursor.latest(cursors, session)
    try:
        piece = transcript.read_after(place.transcript, 0, b"") if place else None
    except OSError:
        piece = None
    if place and piece and not (await memory.get_observed()).get(READ):
        read = {"transcript": place.transcript, "end": piece.end, "mark": piece.mark.hex()}
        await memory.set_observed({READ: read})
