"""Prompt notes: the few notes that a prompt needs, given to the model as additional context.

Where a model can be asked, it chooses the notes while the client goes on (``weighed_notes``). A plain question is
answered at once, because Claude may answer it without a tool, and so is every prompt where no model can choose
(``certain_notes``).
"""

from __future__ import annotations

import os

from memoria.base import exclude, project
from memoria.base.paths import safe_name
from memoria.capture import cursor, hook, sent
from memoria.capture.open_sessions import OpenSessions
from memoria.recall import question, renewal, weighed_notes
from memoria.search import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings

TYPED = ("", "user", "sdk")  # sources of prompts that a person wrote; others are the client's, such as a wake-up


def user_prompt_submit(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the best notes as the prompt's additional context, or None when no note fits."""
    prompt = event.text("prompt")
    if exclude.reason(event.cwd, settings, paths):
        return None
    asks = is_asking(prompt) and event.text("source") in TYPED  # nobody is to be told what nobody asked
    _record(event, prompt if asks and settings.where_you_were else "", paths, is_asked=asks)
    if not settings.hints or not asks or not os.path.exists(paths.index):
        return None
    asked = question.typed(prompt)
    if not question.asks_for_something(asked):
        return None
    own = project.of(event.cwd, settings, paths).key
    is_weighed = weighed_notes.may_weigh(event, settings)
    if not is_weighed or question.only_asks(asked):
        from memoria.recall import certain_notes  # noqa: PLC0415 (most prompts are handed over)

        answer = certain_notes.answer(event, settings, paths, own, asked)
        if answer or not is_weighed:
            return answer
    if not layout.is_current(paths.index):
        renewal.no_notes(event, settings, paths, ValueError("the index is of another version"))
        return None
    return weighed_notes.handed_over(event, settings, paths, own, asked)


def _record(event: hook.Event, prompt: str, paths: Paths, *, is_asked: bool) -> None:
    """Record the prompt, for the case that the client dies before a Stop hook can capture it."""
    if not event.session:
        return
    try:
        if is_asked and not cursor.is_uncopied(paths.cursors, safe_name(event.session)):
            sent.keep(event, paths)
        OpenSessions(paths.where).prompted(safe_name(event.session), prompt)
    except OSError as error:
        hook.log(paths, f"{event.name} {event.session} the prompt cannot be recorded: {error}")


def is_asking(prompt: str) -> bool:
    """Return whether a person wrote the prompt for the model: no slash command, ``!`` or ``#`` line, or client text."""
    first = prompt.split(None, 1)[:1]
    if not first or first[0][0] in "!#<":
        return False
    return not (first[0].startswith("/") and "/" not in first[0][1:])
