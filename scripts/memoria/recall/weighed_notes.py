"""Weighed notes: a prompt handed over to the process that lets a model choose its notes while the client goes on.

Words do not tell which note a prompt needs (docs/decisions/0088-notes.md). The hook therefore answers that it
goes on in the background, and becomes the process that searches and asks the model; what that prints, the client gives
to the session with the result of the next tool use. Nothing is written to disk meanwhile.
"""

from __future__ import annotations

import os
import time

from memoria.base import quickjson
from memoria.base.paths import safe_name
from memoria.capture import hook
from memoria.capture.open_sessions import OpenSessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings

VERB = "weigh"
CLIENT = "CLAUDE_CODE_ENTRYPOINT"  # set by Claude Code itself; another client might wait for a hook in the background
PROGRAM = "sdk"  # how its value begins where a program drives the client (``claude -p``), which ends with the answer
MODELS = ("claude", "ollama", "scripted")  # that can choose, by the first part of their names
PROMPT_ENDS = (2_600, 1_400)  # characters of a long prompt's beginning and end: more than the model is told, so that
# a secret that is cut here is redacted or left out there
TIMEOUT_MS = 60_000  # that the client is told; the process itself gives up earlier


def may_weigh(event: hook.Event, settings: Settings) -> bool:
    """Return whether a model can be asked while the client goes on, and a person may be there to see what comes.

    A client that names no permission mode is too old to go on (before Claude Code 1.0.106; the mode is a little older).
    """
    if "permission_mode" not in event.fields:
        return False
    first = settings.model.partition(",")[0].partition(":")[0].strip()
    client = os.environ.get(CLIENT, PROGRAM)
    return settings.weigh_notes and first in MODELS and not client.startswith(PROGRAM)


def handed_over(event: hook.Event, settings: Settings, paths: Paths, own: str, asked: str) -> dict[str, object]:
    """Return the answer that the hook goes on in the background, and let it do so.

    ``own`` is the project that asks, ``asked`` what the person typed of the prompt. What else there is to do waits
    until the client has that answer, because the user waits for it.
    """
    told = {
        "session": event.session, "transcript": event.transcript, "cwd": event.cwd, "project": own, "asked": asked,
        "at": time.time(), "client": os.getppid(), "prompt": _ends(event.text("prompt")),
        "recorded": OpenSessions(paths.where).latest_prompt(safe_name(event.session)),
    }  # fmt: skip
    event.after = lambda: _go_on(event, settings, paths, quickjson.dumps(told).encode())
    return {"async": True, "asyncTimeout": TIMEOUT_MS}


def _go_on(event: hook.Event, settings: Settings, paths: Paths, request: bytes) -> None:
    """Become the process that weighs, unless it cannot be; of two installations only one weighs."""
    from memoria.base import interpreter  # noqa: PLC0415 (most prompts have nothing to weigh)
    from memoria.base import paths as places  # noqa: PLC0415
    from memoria.capture import background, detach, once  # noqa: PLC0415

    python = interpreter.find(settings)
    if not (python and once.is_first(paths.where, safe_name(event.session), "prompt")):
        return
    if not detach.may_spawn(paths.spawns("weigher"), settings.spawns_per_min, time.time()):
        hook.log(paths, f"{event.name} {event.session} no notes: as many as spawns_per_min were weighed this minute")
        return
    hook.log(paths, f"{event.name} {event.session} goes on in the background")
    background.go_on_as(places.own_command(python, VERB), paths, request)


def _ends(prompt: str) -> str:
    first, last = PROMPT_ENDS
    return prompt if len(prompt) <= first + last else f"{prompt[:first]} […] {prompt[-last:]}"
