"""Recall: what a new session starts with, read from a page that the worker prepared.

Never computes anything: the page is chosen by project, byte for byte the same while knowledge is the same, so that the
client's prompt cache holds.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

from memoria import detach, exclude, hook, project, shown
from memoria.spool import Spool, safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.paths import Paths
    from memoria.settings import Settings

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
    if event.text("source") == "compact":
        shown.Shown(paths.hints, event.session).compacted()
    page = _page(event.cwd, settings, paths)
    message = _once(os.path.join(paths.state, "notice"))
    if not page and not message and not os.path.exists(os.path.join(paths.state, "welcomed")):
        os.close(os.open(os.path.join(paths.state, "welcomed"), os.O_WRONLY | os.O_CREAT, 0o600))
        message = WELCOME
    outcome = f"page of {len(page)} characters"
    if any(job.session != safe_name(event.session) for job in Spool(paths.spool).jobs()):
        # A session that never ended (a killed terminal, a crash) left its turns waiting.
        outcome += ", " + detach.start_worker(settings, paths)
    hook.log(paths, f"{event.name} {event.session} {event.text('source')} {outcome}")
    output: dict[str, object] = {}
    if page:
        output["hookSpecificOutput"] = {"hookEventName": "SessionStart", "additionalContext": page}
    if message:
        output["systemMessage"] = message
    return output or None


def _page(cwd: str, settings: Settings, paths: Paths) -> str:
    own = project.of(cwd, settings.split_worktrees).key
    for name in (own, "global"):
        try:
            with open(os.path.join(paths.page, name + ".md"), encoding="utf-8", errors="replace") as file:
                return file.read(settings.page_chars)
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
