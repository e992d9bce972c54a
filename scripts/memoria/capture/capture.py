"""Capture: copy the new tail of the transcript into the spool, and start the worker when there is work.

Handles Stop, PreCompact, PostCompact and SessionEnd. Copies bytes, which the worker will interpret. Prints nothing.
"""

from __future__ import annotations

import os
import time

from memoria.base import exclude, quickjson
from memoria.base.paths import Paths, expand
from memoria.base.settings import Settings
from memoria.capture import cursor, detach, hook, open_sessions
from memoria.capture.spool import Job, Spool

NO_TRANSCRIPT = "a transcript that does not exist yet"
CLOSING = ("SessionEnd", "PreCompact")  # events after which the worker should not wait for more


def capture(event: hook.Event, settings: Settings, paths: Paths) -> None:
    """Spool what the transcript has gained since the last hook of this session."""
    if not event.session_id:
        hook.log(paths, f"{event.name or 'unknown event'} without a session id: nothing to capture")
        return
    name = event.session
    reason = exclude.reason(event.cwd, settings, paths)
    if reason and not cursor.find_latest(paths.cursors, name):
        hook.leave_alone(event, settings, paths)  # for good, also when the folder is excluded no more
        hook.log(paths, f"{event.name} {event.session} left alone: {reason}")
        return
    if reason:  # the session came from a folder that is not excluded, and what was said there may wait still
        cursor.set_uncopied(paths.cursors, name)
        event.cwd = ""
    spool = Spool(paths.spool)
    waiting = [job for job in spool.jobs() if job.session == name]
    is_note = event.name == "PostCompact"
    outcome = _spool_note(event, spool, paths) if is_note else _spool_tail(event, spool, settings, paths, waiting)
    if event.name in ("Stop", "SessionEnd") and NO_TRANSCRIPT not in outcome:
        open_sessions.drop_sent(event, paths)
    if event.agent == hook.CLAUDE:  # no other agent is told where a session was
        outcome += _mark(event, paths)  # before a process starts: each page that is changed after a fork is copied
    if _is_due(event.name, len(waiting) + 1, settings) and (waiting or outcome.startswith("spooled")):
        outcome += ", " + detach.start_worker(settings, paths, is_ending=True)
    if event.name in ("Stop", "PreCompact"):
        outcome += ", " + detach.start_observer(settings, paths)
    hook.log(paths, f"{event.name} {event.session} {outcome}")


def _mark(event: hook.Event, paths: Paths) -> str:
    """Record that the prompt was answered, the session has ended, or a checkpoint is needed; return what went wrong."""
    sessions, session = open_sessions.OpenSessions(paths.where), event.session
    if event.name == "SessionEnd" and event.text("reason") != "clear":  # after a clear, the same client continues
        sessions.end(session)
    try:
        if event.name == "Stop":
            sessions.record_answer(session)
        elif event.name == "PreCompact":
            sessions.ask_checkpoint(session)
    except OSError as error:
        return f" (not recorded where the session is: {error})"
    return ""


def _is_due(event: str, jobs: int, settings: Settings) -> bool:
    """Return whether to start a worker: always at an end or a compaction, at a Stop after many turns."""
    if event in CLOSING:
        return True
    # A job of a Stop holds at least two turns.
    return event == "Stop" and jobs * 2 >= settings.flush_turns_stop


def _spool_tail(event: hook.Event, spool: Spool, settings: Settings, paths: Paths, waiting: list[Job]) -> str:
    if not event.transcript:
        return "no transcript is named"
    name, path = event.session, os.path.abspath(expand(event.transcript))
    position = _find_furthest(cursor.read(paths.cursors, name, path), waiting, spool)
    off = cursor.paused_spans(paths.cursors, name)
    if off is not None and off.end_after(position.end) != position.end:  # skip what was written with memoria off
        position = cursor.Cursor(path, off.end_after(position.end), b"")
    start, trouble = position.end, ""
    try:
        piece = cursor.read_after(path, start, position.mark)
        is_off = piece is not None and off is not None and any(begin >= piece.start for begin, _ in off.spans)
        if piece is not None and (is_off or _is_uncopied(event, piece.data, settings, paths)):
            piece.copied_from, piece.data = piece.end, b""  # only the range: the worker skips what must not be stored
    except FileNotFoundError:
        was_prompted = open_sessions.OpenSessions(paths.where).was_prompted(name)
        if event.name == "SessionEnd" and not waiting and not was_prompted:
            return "was left without a prompt: nothing to keep"
        spool.add(_header(event, path, start, start, start), b"")
        return f"spooled {NO_TRANSCRIPT}"
    except (OSError, ValueError) as error:
        piece, trouble = None, f" ({error})"
    if piece is None or not _is_news(piece, event.name):
        # An end or a compaction is spooled even when nothing is new: it tells the worker not to wait for more.
        if event.name not in CLOSING or not waiting:
            return "nothing new" + trouble
        piece = cursor.Slice(start, start, start, b"", position.mark, False)
    header = _header(event, path, piece.start, piece.copied_from, piece.end)
    header["mark"] = piece.mark.hex()
    spool.add(header, piece.data)
    try:
        cursor.write(paths.cursors, name, cursor.Cursor(path, piece.end, piece.mark))
    except OSError as error:  # the job is safe, and the next hook reads the position from it
        trouble += f" (cursor: {error})"
    return f"spooled {piece.end - piece.start} bytes from {piece.start}{trouble}"


def _is_uncopied(event: hook.Event, data: bytes, settings: Settings, paths: Paths) -> bool:
    """Return whether the lines may not be copied; from the first one of an excluded folder on, none of the session."""
    if cursor.is_uncopied(paths.cursors, event.session):
        return True
    if any(exclude.reason(folder, settings, paths) for folder in cursor.folders(data) - {event.cwd}):
        cursor.set_uncopied(paths.cursors, event.session)
        return True
    return False


def _find_furthest(position: cursor.Cursor, waiting: list[Job], spool: Spool) -> cursor.Cursor:
    """Return the cursor, or the end of the last spooled job when a hook died before it moved the cursor.

    A job of another transcript, or from before a rewrite, is recognised by its mark.
    """
    last = max(waiting, key=lambda job: job.end, default=None)
    if last is None or last.end <= position.end:
        return position
    try:
        return cursor.Cursor(position.transcript, last.end, bytes.fromhex(str(spool.header(last)["mark"])))
    except (OSError, ValueError, KeyError):
        return position


def _is_news(piece: cursor.Slice, event: str) -> bool:
    """Return whether a slice holds lines, a range to read, or at a session's end a last line without a newline."""
    return bool(piece.data) or piece.copied_from > piece.start or (piece.open_tail and event == "SessionEnd")


def _spool_note(event: hook.Event, spool: Spool, paths: Paths) -> str:
    """Spool the client's own summary of a compaction as a note; return a text for the log."""
    summary = event.text("compact_summary")
    if not summary:
        return "no summary"
    if cursor.is_uncopied(paths.cursors, event.session):
        return "no summary, because it may repeat what must not be stored"
    # Hooks that are installed twice (as a plugin and in the settings) deliver it twice, but it is one note.
    import binascii  # noqa: PLC0415 (a shared object, and only after a compaction)

    uuid = f"note-{event.session_id}-{binascii.crc32(summary.encode('utf-8', 'replace')):08x}"
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = {"type": "memoria-note", "uuid": uuid, "text": summary, "timestamp": now, "sessionId": event.session_id}
    spool.add(_header(event, event.transcript, 0, 0, 0), quickjson.dumps(line).encode() + b"\n")
    return "spooled the client's summary"


def _header(event: hook.Event, path: str, start: int, copied_from: int, end: int) -> dict[str, object]:
    return {
        "event": event.name,
        "session": event.session_id,
        "transcript": os.path.abspath(path) if path else "",
        "start": start,
        "copied_from": copied_from,
        "end": end,
        "cwd": event.cwd,
        "agent": event.agent,
        "stop_hook_active": event.fields.get("stop_hook_active") is True,
    }
