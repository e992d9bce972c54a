"""Prompt notes: the few notes that a prompt needs, given to the model as additional context.

Words do not tell which note a prompt needs (docs/decisions/0088-notes.md). Where a model can be asked, the hook answers
that it goes on in the background, and becomes the process that searches and asks the model while the client goes on;
what that prints, the client gives to the session with the result of the next tool use. A plain question is answered at
once, because Claude may answer it without a tool, and so is every prompt where no model can choose (``notes``).
"""

from __future__ import annotations

import os
import time

from memoria.base import exclude, quickjson
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import cursor, hook, open_sessions

TYPED = ("", "user", "sdk")  # sources of prompts that a person wrote; others are the client's, such as a wake-up
VERB = "weigh"
MODELS = ("claude", "ollama", "scripted")  # that can choose, by the first part of their names
PROMPT_CHARS = 4_000  # of a long prompt's ends: more than the model is told, so that a secret that is cut here is
# redacted or left out there
TIMEOUT_MS = 60_000  # that the client is told; the process itself gives up earlier
WORDS = 3  # a prompt with fewer content words ("yes, go on") asks nothing that can be looked up
LETTERS_OF_WORD = 3  # of a word that may be one of them
READ_CHARS = 1_000  # of the prompt's beginning and of its end
_AROUND = "\"'()[]{}<>*_`,.;:!?\u00bf\u00a1"


def user_prompt_submit(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the best notes as the prompt's additional context, or None when no note fits."""
    prompt = event.text("prompt")
    if exclude.reason(event.cwd, settings, paths):
        return None
    asks = is_asking(prompt) and event.text("source") in TYPED  # nobody is to be told what nobody asked
    _record(event, prompt if asks else "", paths)
    if settings.notes == "none" or not asks or not os.path.exists(paths.index):
        return None
    asked = search_text(prompt)
    if not has_words(asked):
        return None
    is_weighed = may_weigh(event, settings) and os.access(paths.state, os.W_OK)  # what a call costs is booked there
    if not is_weighed or only_asks(asked):
        from memoria.recall import notes  # noqa: PLC0415 (most prompts are handed over)

        answer = notes.answer(event, settings, paths, asked)
        if answer or not is_weighed:
            return answer
    return hand_over(event, settings, paths)


def _record(event: hook.Event, prompt: str, paths: Paths) -> None:
    """Record a prompt that a person typed, for the case that the client dies before a Stop hook can capture it."""
    if not event.session_id:
        return
    try:
        if prompt and not cursor.is_uncopied(paths.cursors, event.session):
            open_sessions.keep_sent(event, paths)
        open_sessions.OpenSessions(paths.where).record_prompt(event.session, prompt)
    except OSError as error:
        hook.log(paths, f"{event.name} {event.session} the prompt cannot be recorded: {error}")


def is_asking(prompt: str) -> bool:
    """Return whether a person wrote the prompt for the model: no slash command, ``!`` or ``#`` line, or client text."""
    first = prompt.split(None, 1)[:1]
    if not first or first[0][0] in "!#<":
        return False
    return first[0].rfind("/") != 0  # /compact, and not /etc/hosts


def has_words(asked: str) -> bool:
    """Return whether a prompt may have WORDS content words, going by their length; whoever searches counts them."""
    return not asked.isascii() or sum(len(word.strip(_AROUND)) >= LETTERS_OF_WORD for word in asked.split()) >= WORDS


def may_weigh(event: hook.Event, settings: Settings) -> bool:
    """Return whether a model can be asked while the client goes on, and a person may be there to see what comes.

    Another client than Claude Code might wait for a hook in the background. One that names no permission mode is too
    old to go on (before Claude Code 1.0.106; the mode is a little older).
    """
    if "permission_mode" not in event.fields:
        return False
    first = settings.model.partition(",")[0].partition(":")[0].strip()
    return settings.weigh_notes and first in MODELS and hook.is_attended()


def hand_over(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object]:
    """Return the answer that the hook goes on in the background, and let it do so.

    What else there is to do waits until the client has that answer, because the user waits for it.
    """
    from memoria.base import fence  # noqa: PLC0415 (most prompts are not handed over)

    told = {
        "session": event.session_id, "transcript": event.transcript, "cwd": event.cwd,
        "at": time.time(), "client": os.getppid(), "prompt": fence.ends(event.text("prompt"), PROMPT_CHARS),
        "recorded": open_sessions.OpenSessions(paths.where).latest_prompt(event.session),
    }  # fmt: skip
    event.after = lambda: _go_on(event, settings, paths, quickjson.dumps(told).encode())
    return {"async": True, "asyncTimeout": TIMEOUT_MS}


def _go_on(event: hook.Event, settings: Settings, paths: Paths, request: bytes) -> None:
    """Become the process that weighs, unless it cannot be; of two installations only one weighs."""
    from memoria.base import interpreter  # noqa: PLC0415 (most prompts have nothing to weigh)
    from memoria.base import paths as places  # noqa: PLC0415
    from memoria.capture import detach  # noqa: PLC0415

    python = interpreter.find(settings)
    if not python or hook.is_replaced(event):
        return
    hook.log(paths, f"{event.name} {event.session} goes on in the background")
    detach.go_on_as(places.own_command(python, VERB), paths, request)


def search_text(prompt: str) -> str:
    """Return what is searched of a prompt: its beginning and its end, between which pasted text lies."""
    return prompt[:READ_CHARS] + prompt[READ_CHARS:][-READ_CHARS:]


def only_asks(prompt: str) -> bool:
    """Return whether a prompt asks and orders nothing: each of its sentences ends in a question mark."""
    if prompt.isascii() and "?" not in prompt:
        return False
    from memoria.search.hit import is_question, sentences  # noqa: PLC0415 (most prompts order something)

    told = sentences(prompt)
    return bool(told) and all(map(is_question, told))
