"""Task reading: what a transcript says about the current task, without asking a model.

``observe`` reduces the turns of transcript lines to a small state: the goal and the last request in the user's words,
the last state of the to-do list or tasks, files touched, the last command that failed, and a question that waits for an
answer. ``where_you_were`` shows that state, together with the agent's own notes, to a session that has lost its
context. Both are pure functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from memoria.base.fence import defuse, fence
from memoria.capture import cursor
from memoria.capture.open_sessions import HEAD, LABEL
from memoria.ground.redact import redact
from memoria.transcripts.answers import REPORTED
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader
from memoria.working.memory import Note, TaskState, WorkingMemory
from memoria.working.store import SqliteStore

Json = dict[str, Any]

READ = "read"  # key of the position up to which the transcript was read, stored together with the observed state

MAX_CHARS = 2_000  # of the whole block
OPEN_TASKS, LAST_NOTES = "Open tasks:", "Last notes:"
_GOAL, _SAID, _ITEM, _QUESTION = 600, 300, 200, 300  # maximum characters of each
_FILES, _TASKS, _WAITING = 20, 60, 40  # maximum number of each
_WEAK_WORDS = 4  # a request of fewer words ("go on", "yes, do that") does not replace the goal
_EDITS = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_TODO = re.compile(r"\[([\w?]+)\] (.*?)(?=; \[[\w?]+\] |$)")
_EXIT = re.compile(r"exit (\d+)")
_DONE = ("completed", "cancelled", "deleted")


def observe(lines: Iterable[bytes], before: Mapping[str, Any] | None = None) -> Json:
    """Return the state after these lines, given the state before them ({} or None at a session's start).

    The state can be stored as JSON. Keys: ``goal``, ``said`` (the last request if it is not the goal), ``tasks`` (each
    with ``text``, ``status``), ``files`` (the last touched last), ``failure`` (``command``, ``status``), ``question``,
    ``cwd``, and, for the next call, ``commands`` and ``uses`` (the commands and the names of the tools whose results
    have not been read) and ``subjects`` (of tasks, by their ids). All texts in it are redacted.
    """
    state: Json = {"tasks": [], "files": [], "commands": {}, **(before or {})}
    state = {**state, "tasks": list(state["tasks"]), "files": list(state["files"]), "commands": dict(state["commands"])}
    reader = Reader(uses=state.pop("uses", None), tasks=state.pop("subjects", None))
    for turn in (*reader.read(lines), *reader.pending_turns):  # a queued command such as /compact is a note
        _observe_turn(state, turn)
    state["uses"] = dict(list(reader.open_uses.items())[-_WAITING:])
    state["subjects"] = dict(list(reader.tasks.items())[-_TASKS:])
    return {key: value for key, value in state.items() if value or key in ("tasks", "files", "commands")}


def _observe_turn(state: Json, turn: Turn) -> None:
    state["cwd"] = turn.cwd or state.get("cwd", "")
    if turn.role in ("user", "note"):
        state["question"] = ""  # the user has replied
    if turn.role == "user":
        _observe_request(state, turn.text)
    elif turn.role == "assistant":
        for ident, line in zip_longest(turn.uses, turn.tools, fillvalue=""):
            _observe_use(state, ident, *line.partition(" ")[::2])
        _observe_answer(state, turn.text)
    elif turn.role == "error":
        for ident in turn.uses:
            if command := state["commands"].pop(ident, ""):
                code = _EXIT.match(turn.text)
                state["failure"] = {"command": command, "status": int(code[1]) if code else None}


def _observe_request(state: Json, text: str) -> None:
    """Set the goal to the user's request, or only ``said`` when the request is too short to be a goal."""
    plain = text.strip()
    if not plain or plain.startswith("/"):
        return
    if len(plain.split()) >= _WEAK_WORDS or not state.get("goal"):
        state["goal"] = _keep(plain, _GOAL)
        state["said"] = ""
    else:
        state["said"] = _keep(plain, _SAID)


def _observe_use(state: Json, ident: str, name: str, detail: str) -> None:
    """Apply the line of a tool use, as ``describe`` writes it."""
    if name in _EDITS:
        _touch(state, detail.partition(": ")[0])
    elif name == "TodoWrite":
        state["tasks"] = [_task(text, status) for status, text in _TODO.findall(detail)][:_TASKS]
    elif name == "TaskCreate":
        state["tasks"] = [*state["tasks"], _task(detail, "pending")][-_TASKS:]
    elif name == "TaskUpdate" and (match := _TODO.fullmatch(detail)):
        changed = _task(match[2], match[1])
        state["tasks"] = [changed if task["text"] == changed["text"] else task for task in state["tasks"]]
    elif name == "Bash":
        command = _keep(detail, _ITEM)
        if (state.get("failure") or {}).get("command") == command:
            state["failure"] = None  # until it fails again
        state["commands"] = dict([*state["commands"].items(), (ident, command)][-_WAITING:])


def _observe_answer(state: Json, text: str) -> None:
    """Set the open question when the assistant's text ends in one, else clear it; a sub-agent's report asks nobody."""
    end = text.strip().rpartition("\n")[2].strip()
    if end and not text.startswith(REPORTED):
        state["question"] = _keep(end, _QUESTION) if end.endswith("?") else ""


def _touch(state: Json, path: str) -> None:
    cwd = str(state.get("cwd", "")).rstrip(os.sep) + os.sep
    shown = _keep(path.removeprefix(cwd) if cwd != os.sep else path, _ITEM)
    if shown:
        state["files"] = [*(known for known in state["files"] if known != shown), shown][-_FILES:]


def _task(text: str, status: str) -> Json:
    return {"text": _keep(text, _ITEM), "status": status[:20]}


def _keep(text: str, most: int) -> str:
    """Return the start of ``text``, redacted, in at most ``most`` characters."""
    short = redact(text[: 4 * most]).strip()
    return short if len(short) <= most else short[: most - 1] + "…"


def where_you_were(observed: Mapping[str, Any], task: TaskState | None = None, notes: Sequence[Note] = ()) -> str:
    """Return the block for a session that has lost its context, fenced as data; ``""`` when there is nothing to show.

    It has at most ``MAX_CHARS`` characters. The most important comes first and is the last to be left out: goal, task,
    open tasks, last failure, question, files, notes.
    """
    left, kept = MAX_CHARS - len(fence(LABEL, HEAD)), [HEAD]
    for row in "\n".join(filter(None, _parts(observed, task, notes))).split("\n"):
        left -= len(row) + 1
        if not row or left < 0:
            break
        kept.append(row)
    if kept[-1] in (OPEN_TASKS, LAST_NOTES):  # without any
        kept.pop()
    return fence(LABEL, "\n".join(kept)) if len(kept) > 1 else ""


def _parts(observed: Mapping[str, Any], task: TaskState | None, notes: Sequence[Note]) -> list[str]:
    """Return each part as lines, neutralised already so that fencing does not lengthen them."""
    failure = observed.get("failure") or {}
    status = "" if failure.get("status") is None else f" (exit {failure['status']})"
    tasks = [each for each in observed.get("tasks", ()) if each["status"] not in _DONE]
    failed = f"Last failure: {_line(failure['command'], 160)}{status}" if failure else ""
    return [
        _label("Goal", observed.get("goal"), 450),
        _label("The user's last message", observed.get("said"), 200),
        _task_line(task),
        _list(OPEN_TASKS, [f"[{_line(each['status'], 20)}] {_line(each['text'], 120)}" for each in tasks[:10]]),
        failed,
        _label("Open question", observed.get("question"), 200),
        _label("Files touched", ", ".join(_line(path, 80) for path in reversed(observed.get("files", ()))), 400),
        _list(LAST_NOTES, [_line(note.content, 160) for note in notes[-5:]]),
    ]


def _task_line(task: TaskState | None) -> str:
    if task is None:
        return ""
    step = f", now: {_line(task.step, 120)}" if task.step else ""
    return f"Task: {_line(task.description, 250)} [{task.status}, {task.percent:g} %{step}]"


def _label(label: str, text: object, most: int) -> str:
    return f"{label}: {_line(str(text), most)}" if text else ""


def _list(label: str, items: Sequence[str]) -> str:
    return "\n".join([label, *(f"- {item}" for item in items)]) if items else ""


def _line(text: str, most: int) -> str:
    flat = " ".join(defuse(text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


async def pass_over(session: str, cursors: str, store: SqliteStore) -> None:
    """Let the next look at a session, whose name is a safe one, begin after what its transcript says now."""
    memory = await WorkingMemory.for_session(session, store=store)
    place = cursor.find_latest(cursors, session)
    try:
        piece = cursor.read_after(place.transcript, 0, b"") if place else None
    except OSError:
        piece = None
    if place and piece and not (await memory.get_observed()).get(READ):
        read = {"transcript": place.transcript, "end": piece.end, "mark": piece.mark.hex()}
        await memory.set_observed({READ: read})
