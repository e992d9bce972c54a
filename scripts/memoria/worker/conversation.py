"""Conversation: the end of what a session has said so far, as a model is told it, and whether it is urgent.

Cues tell what is urgent, without a model (``search.cues``); what is worth keeping is for the flush.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memoria.base import fence
from memoria.base.paths import safe_name
from memoria.capture import cursor
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.search import cues
from memoria.transcripts.intake import Intake, regular
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

TAIL_BYTES = 256 << 10  # of the transcript that are read
ANSWER_CHARS = 800  # of the answer that the next words may refer to
TURNS = 6  # that are told
TURN_CHARS = 400  # of one; of a longer one its beginning and its end
TOOLS = 6  # lines of a turn about tools, which name the files and commands
TOOL_CHARS = 100  # of one of them
SPEAKERS = {"user": "user", "assistant": "Claude"}


def recent_turns(home: Home, session: str, transcript: str, prompt: str) -> str:
    """Return the last TURNS turns of a session before ``prompt``, a line each; ``""`` when there are none to read.

    What was written in an excluded folder or while memoria was off, and what was forgotten, is left out. ``session`` is
    a safe name.
    """
    try:
        turns = _turns(home, session, transcript)
    except OSError:  # a session's first prompt comes before its transcript
        return ""
    if turns and turns[-1].role == "user" and turns[-1].text.strip() == prompt.strip():
        turns = turns[:-1]
    clean = Redactor(home.settings.redact_extra).redact  # before a cut, which may leave half of a secret
    return "\n".join(f"[{SPEAKERS[turn.role]}] {_tell(turn, clean)}" for turn in turns[-TURNS:])


def answer_before(home: Home, intake: Intake) -> str:
    """Return Claude's words that the first of these turns may be an answer to, ``""`` when there are none to read."""
    transcript = str(intake.headers[intake.jobs[0]].get("transcript", ""))
    try:
        turns = _turns(home, safe_name(intake.session), transcript, intake.jobs[0].start)
    except OSError:
        return ""
    return last_answer(turns, Redactor(home.settings.redact_extra).redact)


def last_answer(turns: Sequence[Turn], clean: Callable[[str], str]) -> str:
    """Return Claude's last words in turns, without what ``clean`` takes out of them."""
    said = (turn.text for turn in reversed(turns) if turn.role == "assistant" and turn.text)
    return fence.ends(" ".join(clean(next(said, "")).split()), ANSWER_CHARS)


def _turns(home: Home, session: str, transcript: str, end: int | None = None) -> list[Turn]:
    with regular(transcript) as file:
        size = file.seek(0, 2) if end is None else end
        start = max(0, size - TAIL_BYTES)
        file.seek(start)
        lines = file.read(size - start).splitlines(keepends=True)
    if start:  # within a line
        start += len(lines.pop(0))
    spoken = cursor.drop_quiet(lines, start, cursor.paused_spans(home.paths.cursors, session))
    screen = Screen(home)
    passing, _ = screen.filter(spoken)
    read = (turn for turn in Reader().read(passing) if not screen.reason(turn))
    return [turn for turn in read if turn.role in SPEAKERS and (turn.text.strip() or turn.tools)]


def _tell(turn: Turn, clean: Callable[[str], str]) -> str:
    said = fence.ends(" ".join(clean(turn.text).split()), TURN_CHARS)
    return " ".join([said, *(f"[{fence.ends(clean(line), TOOL_CHARS)}]" for line in turn.tools[-TOOLS:])]).strip()


def is_urgent(turns: Iterable[Turn]) -> bool:
    """Return whether words of the user in these turns hold a cue."""
    return any(turn.role == "user" and cues.find_stated(turn.text) for turn in turns)
