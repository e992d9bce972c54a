"""Session start: give a new session the page that the worker prepared for its project.

Only reads prepared files. While the knowledge stays the same, so does every byte of the page, which keeps the client's
prompt cache valid. A session that lost its context also gets a block that says where it was.
"""

from __future__ import annotations

import os
import sys
import time

from memoria.base import exclude, project
from memoria.base.paths import ROOT, WRITING, Paths, opener, private_folder, text_of
from memoria.base.settings import Settings
from memoria.capture import hook
from memoria.capture.open_sessions import OpenSessions
from memoria.capture.spool import Spool
from memoria.recall.shown_notes import ShownNotes

CANNOT_KEEP = (
    "memoria cannot write to {} ({}), so it records nothing until this is fixed. It will then read what it missed from "
    "the transcripts. Run {} for details."
)
DOUBLED = (
    "memoria is installed twice; the hooks in the settings, of {}, leave it to the plugin. Keep one: {} takes them "
    "out, `claude plugin uninstall memoria` removes the plugin."
)
WELCOME = (
    "memoria is installed and running. It has nothing to recall yet of this project: the first page appears after "
    "a session ends. Run {} at any time to check."
)
GONE = "Your memory at {} is gone (moved, or its disk is not mounted). A new one begins there; {} says what to do."
WRONG_SETTING = "memoria: {}. The default is used until it is corrected; {} lists the settings."
FORMER_SETTING = "memoria: {} is no setting any more: {}. {} says more."
REFUSED = " must be "  # in what ``Settings.problems`` says of a value; a name that is none does no harm

OFTEN_S = 600  # an exchange with other machines that is younger is not repeated at a session's start


def session_start(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the prepared page as the session's additional context, and a message to the user if there is one."""
    reason = exclude.reason(event.cwd, settings, paths)
    if reason:
        hook.log(paths, f"{event.name} {event.session} left alone: {reason}")
        return None
    spool, source = Spool(paths.spool), event.text("source")
    refusal = spool.refusal()
    shown = ShownNotes(paths.hints, event.session_id)
    if source == "compact" and not refusal:
        shown.record_compaction()
    own = project.key_of(event.cwd, settings, paths)
    link_interpreter()
    if not refusal and hook.is_replaced(event):
        hook.log(paths, f"{event.name} {event.session} left to the plugin")
        return _tell_doubled(paths)
    is_told = event.agent == hook.CLAUDE  # others do not say when a session has ended
    block = _position_block(event, own, paths) if is_told and event.session_id else ""
    page = context(own, block, settings, paths)
    if page and event.session_id and not refusal:
        shown.append([{"page": page}])  # so that no note repeats it
    message = _complete("doctor", CANNOT_KEEP, paths.state, refusal) if refusal else _take(paths.notice)
    if not message and source == "startup":
        message = _wrong_setting(settings)
    if not message and source in ("startup", "clear"):
        message = take_day(paths.days, time.time()) if settings.day_notice else ""
    if not page and not message and not os.path.exists(paths.welcomed):
        os.close(opener(paths.welcomed))
        is_gone = os.path.exists(paths.gone)
        message = _complete("doctor", GONE, paths.home) if is_gone else _complete("status", WELCOME)
    outcome = f"page of {len(page)} characters"
    waits = not refusal and any(job.session != event.session for job in spool.jobs())
    if waits or (settings.sync and not refusal and is_apart(paths)):
        # Turns of a session that never ended (a killed terminal, a crash) are still waiting, or other machines do.
        from memoria.capture import detach  # noqa: PLC0415 (needed when turns wait, which is rare)

        outcome += ", " + detach.start_worker(settings, paths, is_ending=True)
    hook.log(paths, f"{event.name} {event.session} {source} {outcome}")
    output: dict[str, object] = {}
    if page:
        output["hookSpecificOutput"] = {"hookEventName": "SessionStart", "additionalContext": page}
    if message:
        output["systemMessage"] = message
    return output or None


def codex(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the page for a session of Codex that starts; of any other event spool what its rollout has gained."""
    event.agent = "codex"
    if event.name == "SessionStart":
        return session_start(event, settings, paths)
    from memoria.capture.capture import capture  # noqa: PLC0415 (another event)

    capture(event, settings, paths)
    return None


def is_apart(paths: Paths) -> bool:
    """Return whether the last exchange with other machines is some time ago, by a clock that may have been set."""
    try:
        return abs(time.time() - float(text_of(paths.exchanged))) >= OFTEN_S
    except (OSError, ValueError):
        return True


def _tell_doubled(paths: Paths) -> dict[str, object] | None:
    """Return a message that the hooks run twice, the first time that it is noticed."""
    try:
        os.close(opener(paths.doubled, WRITING | os.O_EXCL))
    except OSError:
        return None
    return {"systemMessage": _complete("install", DOUBLED, ROOT)}


def _complete(verb: str, message: str, *words: str) -> str:
    """Return a message with its words, the last of which is a command that works where the user stands."""
    from memoria.base import invocation  # noqa: PLC0415 (most sessions start without a message)

    return message.format(*words, invocation.command(verb))


def _wrong_setting(settings: Settings) -> str:
    """Return the first setting that cannot be read, or is none any more, and is not in force, until it is corrected."""
    wrong = [problem for problem in settings.problems if REFUSED in problem]
    if wrong:
        return _complete("config", WRONG_SETTING, wrong[0])
    return _complete("doctor", FORMER_SETTING, *settings.gone[0]) if settings.gone else ""


def take_day(folder: str, now: float) -> str:
    """Return the line about the latest past day, once, and remove those of all past days; ``pages.notices``."""
    try:
        due = sorted(int(name) for name in os.listdir(folder) if name.isdecimal() and int(name) <= now)
    except OSError:
        return ""
    line = ""
    for end in due:
        line = _take(os.path.join(folder, str(end))) or line
    return line


def _position_block(event: hook.Event, own: str, paths: Paths) -> str:
    """Return where the session, or the one that it continues, stood; and record it as open."""
    sessions, session = OpenSessions(paths.where), event.session
    client, source = os.environ.get("CLAUDE_PID", ""), event.text("source")
    if source in ("compact", "resume"):
        block = sessions.block(session)
    elif source == "clear":
        block = sessions.take_cleared(own, client, session)
    else:
        block = sessions.take_interrupted(own, session)
    try:
        sessions.begin(session, own, client)
    except OSError as error:  # the block can be shown all the same
        hook.log(paths, f"{event.name} {event.session} cannot be recorded as open: {error}")
    return block


def context(own: str, block: str, settings: Settings, paths: Paths) -> str:
    """Return the page and the block within the limit for both, with the short page if the long one does not fit."""
    if not block:
        return _page(paths, own)
    for short in (False, True):
        page = _page(paths, own, short=short)
        if len(page) + 1 + len(block) <= settings.page_chars:
            return f"{page}\n{block}" if page else block
    return block


def _page(paths: Paths, own: str, *, short: bool = False) -> str:
    for name in (own, "global"):
        try:
            return text_of(paths.page_of(name, short=short))
        except FileNotFoundError:
            continue
    return ""


def _take(path: str) -> str:
    """Return the text of a file and remove it, so that it is shown once: of two sessions that start at once, by one."""
    taken = f"{path}.{os.getpid()}"
    try:
        os.rename(path, taken)
        text = text_of(taken)
        os.unlink(taken)
    except OSError:
        return ""
    return text.strip()


def link_interpreter() -> None:
    """Have ``~/.cache/memoria/python3`` lead to this interpreter, for ``hooks/run``: ``python3`` may be a slow shim.

    Where the link cannot be made, hooks find ``python3`` as before.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", ""), ".cache")
    link = os.path.join(cache, "memoria", "python3")
    if sys.executable == link or not os.path.isabs(cache):
        return
    beside = f"{link}.{os.getpid()}"
    try:
        if os.path.exists(link) and os.path.samefile(link, sys.executable):
            return
        private_folder(os.path.dirname(link))
        os.symlink(os.path.realpath(sys.executable), beside)
        os.replace(beside, link)
    except OSError:
        pass
