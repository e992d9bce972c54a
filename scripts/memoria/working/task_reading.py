"""Task reading: what a transcript says about the current task, without asking a model.

``observe`` reduces transcript lines to a small state: the goal and the last request in the user's words, the last state
of the to-do list or tasks, files touched, the last command that failed, and a question that waits for an answer.
``where_you_were`` shows that state, together with the agent's own notes, to a session that has lost its context. Both
are pure functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memoria.base.fence import fenced, neutral
from memoria.capture import cursor, transcript
from memoria.capture.open_sessions import HEAD, LABEL
from memoria.ground.redact import redact
from memoria.transcripts.client_files import objects
from memoria.transcripts.turn_reader import Reader
from memoria.working.memory import Note, TaskState, WorkingMemory
from memoria.working.store import Store

Json = dict[str, Any]

READ = "read"  # key of the position up to which the transcript was read, stored together with the observed state

MAX_CHARS = 2_000  # of the whole block
_GOAL, _SAID, _ITEM, _QUESTION = 600, 300, 200, 300  # maximum characters of each
_FILES, _TASKS, _WAITING = 20, 60, 40  # maximum number of each
_WEAK_WORDS = 4  # a request of fewer words ("go on", "yes, do that") does not replace the goal
_EDITS = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_EXIT = re.compile(r"(?:Error:\s*)?Exit code:? (\d+)\s*")
_REFUSED = re.compile(r"The user doesn't want to|\[Request interrupted")  # a refusal by the user is not a failure
_DONE = ("completed", "cancelled", "deleted")


def observe(lines: Iterable[bytes], before: Mapping[str, Any] | None = None) -> Json:
    """Return the state after these lines, given the state before them ({} or None at a session's start).

    The state can be stored as JSON. Keys: ``goal``, ``said`` (the last request if it is not the goal), ``tasks`` (each
    with ``id``, ``text``, ``status``), ``files`` (the last touched last), ``failure`` (``command``, ``status``,
    ``text``), ``question``, ``cwd``, and, for the next call, ``waiting`` and ``uses`` (tool uses without a result yet,
    and the names of their tools). All texts in it are redacted.
    """
    whole = list(lines)
    state: Json = {"tasks": [], "files": [], "waiting": {}, **(before or {})}
    state = {**state, "tasks": list(state["tasks"]), "files": list(state["files"]), "waiting": dict(state["waiting"])}
    for line in whole:
        for value in objects(line):
            if value.get("isSidechain") is not True and isinstance(value.get("message"), dict):
                _observe_line(state, value)
    reader = Reader(describing=False, uses=state.pop("uses", None))
    turns = list(reader.read(whole))
    for turn in (*turns, *reader.pending):
        if turn.role == "user":  # a queued command such as /compact is a note
            _observe_request(state, turn.text)
    state["uses"] = dict(list(reader.open_uses.items())[-_WAITING:])
    return {key: value for key, value in state.items() if value or key in ("tasks", "files", "waiting")}


def _observe_request(state: Json, text: str) -> None:
    """Set the goal to the user's request, or only ``said`` when the request is too short to be a goal."""
    plain = text.strip()
    if not plain or plain.startswith("/"):
        return
    if len(plain.split()) >= _WEAK_WORDS or not state.get("goal"):
        state["goal"] = _kept(plain, _GOAL)
        state["said"] = ""
    else:
        state["said"] = _kept(plain, _SAID)


def _observe_line(state: Json, value: Json) -> None:
    if isinstance(value.get("cwd"), str):
        state["cwd"] = value["cwd"]
    content = value["message"].get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    for block in blocks:
        if block.get("type") == "tool_use":
            _use(state, block)
        elif block.get("type") == "tool_result":
            _result(state, block, value.get("toolUseResult"))
    if value.get("type") == "assistant":
        _ask(state, " ".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"))
    elif value.get("type") == "user" and not any(block.get("type") == "tool_result" for block in blocks):
        state["question"] = ""  # the user has replied


def _use(state: Json, block: Json) -> None:
    given = block.get("input")
    name, ident = str(block.get("name", "")), str(block.get("id", ""))
    if not isinstance(given, dict):
        return
    if name in _EDITS:
        _touch(state, str(given.get("file_path") or given.get("notebook_path") or ""))
    elif name == "TodoWrite":
        todos = given.get("todos")
        items = [todo for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []
        state["tasks"] = [
            _task(str(number), todo.get("content"), todo.get("status")) for number, todo in enumerate(items)
        ]
        del state["tasks"][_TASKS:]
    elif name == "TaskUpdate":
        _update_task(state, given)
    elif name == "TaskCreate":
        _wait(state, ident, {"task": _kept(str(given.get("subject", "")), _ITEM)})
    elif name == "AskUserQuestion":
        questions = given.get("questions")
        asked = (
            [str(each.get("question", "")) for each in questions if isinstance(each, dict)]
            if isinstance(questions, list)
            else []
        )
        _wait(state, ident, {"question": _kept(" / ".join(asked), _QUESTION)})
    elif "command" in given:
        _wait(state, ident, {"command": _kept(str(given["command"]), _ITEM)})


def _wait(state: Json, ident: str, what: Json) -> None:
    state["waiting"][ident] = what
    while len(state["waiting"]) > _WAITING:
        del state["waiting"][next(iter(state["waiting"]))]


def _result(state: Json, block: Json, details: object) -> None:
    """Apply a tool's result: the id of a created task, or a command's success or failure."""
    use = state["waiting"].pop(str(block.get("tool_use_id", "")), None)
    if use is None:
        return
    if "task" in use:
        made = details.get("task") if isinstance(details, dict) else None
        ident = str(made.get("id", "")) if isinstance(made, dict) else ""
        known = [task for task in state["tasks"] if task["id"] != ident]
        state["tasks"] = [*known, _task(ident, use["task"], "pending")][-_TASKS:]
    elif "command" in use:
        output = _text(block.get("content"))
        if block.get("is_error") is True and not _REFUSED.search(output):
            code = _EXIT.match(output)
            status = int(code[1]) if code else None
            state["failure"] = {"command": use["command"], "status": status}  # its output is anybody's text
        elif block.get("is_error") is not True and (state.get("failure") or {}).get("command") == use["command"]:
            state["failure"] = None  # the same command has succeeded since


def _update_task(state: Json, given: Json) -> None:
    for number, task in enumerate(state["tasks"]):
        if task["id"] == str(given.get("taskId", "")):
            text = given.get("subject") or task["text"]
            state["tasks"][number] = _task(task["id"], text, given.get("status") or task["status"])


def _ask(state: Json, text: str) -> None:
    """Set the open question when the assistant's text ends in one, else clear it."""
    end = text.strip().rsplit("\n", 1)[-1].strip()
    if end:
        state["question"] = _kept(end, _QUESTION) if end.endswith("?") else ""


def _touch(state: Json, path: str) -> None:
    if not path:
        return
    cwd = str(state.get("cwd", ""))
    inside = cwd and path.startswith(cwd.rstrip(os.sep) + os.sep)
    shown = _kept(path[len(cwd.rstrip(os.sep)) + 1 :] if inside else path, _ITEM)
    state["files"] = [*(known for known in state["files"] if known != shown), shown][-_FILES:]


def _task(ident: str, text: object, status: object) -> Json:
    return {"id": ident, "text": _kept(str(text or ""), _ITEM), "status": str(status or "pending")[:20]}


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _kept(text: str, most: int) -> str:
    """Return the start of ``text``, redacted, in at most ``most`` characters."""
    short = redact(text[: 4 * most]).strip()
    return short if len(short) <= most else short[: most - 1] + "…"


def where_you_were(
    observed: Mapping[str, Any],
    task: TaskState | None = None,
    notes: Sequence[Note] = (),
    limit: int = MAX_CHARS,
) -> str:
    """Return the block for a session that has lost its context, fenced as data; ``""`` when there is nothing to show.

    It has at most ``limit`` characters. The most important parts come first and are the last to be left out: goal,
    task, open tasks, last failure, question, files, notes.
    """
    parts = [part for part in _parts(observed, task, notes) if part]
    if not parts:
        return ""
    room = limit - len(fenced(LABEL, ""))
    kept, left = [HEAD], room - len(HEAD)
    for part in parts:
        cut = _fitted(part, left - 1)
        if cut:
            kept.append(cut)
            left -= len(cut) + 1
    return fenced(LABEL, "\n".join(kept)) if len(kept) > 1 and left >= 0 else ""


def _parts(observed: Mapping[str, Any], task: TaskState | None, notes: Sequence[Note]) -> list[str]:
    """Return each part as lines, neutralised already so that fencing does not lengthen them."""
    failure = observed.get("failure") or {}
    status = "" if failure.get("status") is None else f" (exit {failure['status']})"
    failed = f"Last failure: {_line(failure['command'], 160)}{status}" if failure else ""
    return [
        _labelled("Goal", observed.get("goal"), 450),
        _labelled("The user's last message", observed.get("said"), 200),
        _task_line(task),
        _listed("Open tasks", [_open(each) for each in observed.get("tasks", ()) if each["status"] not in _DONE][:10]),
        failed,
        _labelled("Open question", observed.get("question"), 200),
        _labelled("Files touched", ", ".join(_line(path, 80) for path in reversed(observed.get("files", ()))), 400),
        _listed("Last notes", [_line(note.content, 160) for note in notes[-5:]]),
    ]


def _task_line(task: TaskState | None) -> str:
    if task is None:
        return ""
    step = f", now: {_line(task.step, 120)}" if task.step else ""
    return f"Task: {_line(task.description, 250)} [{task.status}, {task.percent:g} %{step}]"


def _open(task: Mapping[str, Any]) -> str:
    return f"[{_line(task['status'], 20)}] {_line(task['text'], 120)}"


def _labelled(label: str, text: object, most: int) -> str:
    return f"{label}: {_line(str(text), most)}" if text else ""


def _listed(label: str, items: Sequence[str]) -> str:
    return "\n".join([f"{label}:", *(f"- {item}" for item in items)]) if items else ""


def _line(text: str, most: int) -> str:
    flat = " ".join(neutral(text).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _fitted(part: str, room: int) -> str:
    """Return the part's first lines that fit; truncate a single line if at least 60 characters fit."""
    if len(part) <= room:
        return part
    rows = part.split("\n")
    if len(rows) == 1:
        return part[: room - 1] + "…" if room >= 60 else ""
    while len(rows) > 1 and len("\n".join(rows)) > room:
        rows.pop()
    return "\n".join(rows) if len(rows) > 1 else ""


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
