"""Recall: what a new session starts with, read from a page that the worker prepared.

Never computes anything: the page is chosen by project, byte for byte the same while knowledge is the same, so that the
client's prompt cache holds. A session that lost its context is given a second prepared text: where it was.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

from memoria.base import exclude, project
from memoria.capture import detach, hook
from memoria.capture.open_sessions import OpenSessions
from memoria.capture.spool import Spool, safe_name
from memoria.recall import shown_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings

CANNOT_KEEP = (
    "memoria cannot write to {} ({}): nothing is kept until that is mended. What is said meanwhile is read from the "
    "transcripts then; `memoria doctor` says more."
)
WELCOME = (
    "memoria is installed and listening. It has nothing to recall yet: the first page appears after a session ends. "
    "Check at any time with `memoria status`."
)


def session_start(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """The prepared page as the session's additional context, and what the user must know as one message, once."""
    reason = exclude.reason(event.cwd, settings, paths)
    if reason:
        hook.log(paths, f"{event.name} {event.session} left alone: {reason}")
        return None
    refusal = Spool(paths.spool).refusal()
    if event.text("source") == "compact" and not refusal:
        shown_notes.ShownNotes(paths.hints, event.session).compacted()
    own = project.of(event.cwd, settings.split_worktrees).key
    block = _where(event, own, paths) if settings.where_you_were and event.session else ""
    page = _text(own, block, settings, paths)
    message = CANNOT_KEEP.format(paths.state, refusal) if refusal else _once(paths.notice)
    if not page and not message and not os.path.exists(paths.welcomed):
        os.close(os.open(paths.welcomed, os.O_WRONLY | os.O_CREAT, 0o600))
        message = WELCOME
    outcome = f"page of {len(page)} characters"
    if not refusal and any(job.session != safe_name(event.session) for job in Spool(paths.spool).jobs()):
        # A session that never ended (a killed terminal, a crash) left its turns waiting.
        outcome += ", " + detach.start_worker(settings, paths)
    hook.log(paths, f"{event.name} {event.session} {event.text('source')} {outcome}")
    output: dict[str, object] = {}
    if page:
        output["hookSpecificOutput"] = {"hookEventName": "SessionStart", "additionalContext": page}
    if message:
        output["systemMessage"] = message
    return output or None


def _where(event: hook.Event, own: str, paths: Paths) -> str:
    """Where the session, or the one it takes the place of, stood; and from now on it counts as open."""
    places, session = OpenSessions(paths.where), safe_name(event.session)
    client, source = os.environ.get("CLAUDE_PID", ""), event.text("source")
    if source in ("compact", "resume"):
        block = places.block(session)
    elif source == "clear":
        block = places.take_cleared(own, client, session)
    else:
        block = places.take_broken_off(own, session)
    try:
        places.begin(session, own, client)
    except OSError as error:  # what stands there can be told all the same
        hook.log(paths, f"{event.name} {event.session} cannot be noted as open: {error}")
    return block


def _text(own: str, block: str, settings: Settings, paths: Paths) -> str:
    """The page and the block within the limit for both: where they do not fit, the page that leaves room."""
    room = settings.page_chars
    if not block or len(block) > room:
        return _page(paths, own, room)
    for short in (False, True):
        page = _page(paths, own, room, short=short)
        if len(page) + 1 + len(block) <= room:
            return f"{page}\n{block}" if page else block
    return block


def _page(paths: Paths, own: str, room: int, *, short: bool = False) -> str:
    for name in (own, "global"):
        try:
            with open(paths.page_of(name, short=short), encoding="utf-8", errors="replace") as file:
                return file.read(room)
        except FileNotFoundError:
            continue
    return ""


def _once(path: str) -> str:
    """The text of a notice, taken away so that it is said once."""
    taken = f"{path}.{os.getpid()}"
    try:
        os.rename(path, taken)
        with open(taken, encoding="utf-8", errors="replace") as file:
            text = file.read(2000)
        os.unlink(taken)
    except OSError:
        return ""
    return text.strip()
