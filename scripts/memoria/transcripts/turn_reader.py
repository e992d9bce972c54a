"""Turn reader: the turns that a session's transcript lines hold.

Knows the transcript's schema; does not know files, jobs or models.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from memoria.ground import clock
from memoria.transcripts import answers, client_files, prompt
from memoria.transcripts.answers import Answer, Use
from memoria.transcripts.client_files import Json
from memoria.transcripts.prompt import Queue, Queued
from memoria.transcripts.turn import PLANS, Role, Turn, describe

# Lines as a client writes them -> lines in Claude Code's form; the second argument is called for each unreadable line.
Decode = Callable[[Iterable[bytes], Callable[[], None]], Iterator[Json]]

_NOTIFICATIONS = ("<task-notification>", "<agent-notification>", "<teammate-message ")
_ERROR_CHARS, _ERROR_HEAD, _ERROR_TAIL = 800, 6, 3
_EXIT = re.compile(r"(?:Error:\s*)?Exit code:? (\d+)\s*")
_STATUS = re.compile(r"<exit_code>\s*(-?[1-9]\d*)\s*</exit_code>")
_TASK = re.compile(r"Task #(\S+) created successfully: (.*)")
_TAGS = re.compile(r"<(status|exit_code|task_\w+)>[^<]*</\1>|</?(?:tool_use_error|error|stdout|stderr|output)>")


class Reader:
    """Reads one session's slices, in order, into turns; streams, and never raises on what a line holds.

    Prompts that were queued while Claude worked are held back while the transcript may still repeat them:
    ``pending_turns`` shows them, ``settle`` gives them out when the session is over. Another reader of the same lines
    gives them out under the same keys.
    """

    def __init__(
        self,
        *,
        with_sides: bool = False,
        uses: Mapping[str, str] | None = None,
        tasks: Mapping[str, str] | None = None,
        describing: bool = True,
        decode: Decode = client_files.decode,
    ) -> None:
        """``with_sides``: also give out sub-agents' lines. ``uses``: a former reader's ``open_uses``.

        ``tasks``: the subjects of the session's tasks, by their ids; ``self.tasks`` gains those that are created.
        ``describing``: whether ``tools`` says what each use was; without, it holds the names, and reading is faster.
        ``decode``: translates the lines of another agent, see ``transcripts.clients``.
        """
        self._decode = decode
        self._with_sides = with_sides
        self._describing = describing
        self._queue = Queue()
        self._uses = {ident: Use(name) for ident, name in (uses or {}).items()}
        self.tasks = dict(tasks or {})
        self._seen: set[str] = set()  # keys, to drop a line that it met before; the ledger does the same for good
        self.folder = ""  # of the last line that named one; a turn whose own line names none is said there
        self.unreadable = 0  # whole lines from which nothing could be read, since a caller set it back

    def read(self, lines: Iterable[bytes]) -> Iterator[Turn]:
        """Yield the turns of these lines, each key once."""
        for value in self._decode(lines, self._count_unreadable):
            if value.get("isSidechain") is not True or self._with_sides:
                self.folder = _string(value, "cwd") or self.folder
                turns = self._turns(value)
                if turns:
                    yield from self._read_fresh(turns)

    def _count_unreadable(self) -> None:
        self.unreadable += 1

    @property
    def pending_turns(self) -> tuple[Turn, ...]:
        """Queued prompts that so far stand nowhere else; they may still be repeated or taken back."""
        return tuple(map(_queued_turn, self._queue.open))

    @property
    def open_uses(self) -> dict[str, str]:
        """The names of the tools whose results have not been read yet, by the uses' ids, the newest last."""
        return {ident: use.name for ident, use in self._uses.items()}

    def settle(self) -> list[Turn]:
        """End the session: return the pending prompts."""
        return list(self._read_fresh(map(_queued_turn, self._queue.settle())))

    def _read_fresh(self, turns: Iterable[Turn]) -> Iterator[Turn]:
        for turn in turns:
            if turn.key not in self._seen:
                self._seen.add(turn.key)
                yield turn if turn.cwd else replace(turn, cwd=self.folder)

    def _turns(self, value: dict[str, Any]) -> list[Turn]:
        kind = value["type"]
        if kind == "memoria-note":  # capture's own line: the summary that PostCompact brought
            return [_turn(value, "note", _string(value, "text"))]
        if kind == "queue-operation":
            return [_queued_turn(entry) for entry in self._queue_operation(value)]
        if kind == "assistant":
            self._remember_uses(value)
            return _assistant(value, self._describing)
        if kind == "user":
            return self._user(value)
        turns = _queued_command(value)
        if _is_queued(value):
            self._queue.mark_seen(prompt.clean(prompt.plain_text(value["attachment"].get("prompt"))))
        return turns

    def _remember_uses(self, value: dict[str, Any]) -> None:
        """Keep what a result has to be held against: whether its use asked the user or sent a sub-agent."""
        for use in _uses(value):
            ident = use.get("id")
            if isinstance(ident, str):
                given = use.get("input")
                if use.get("name") == "TaskUpdate" and isinstance(given, dict):
                    self._name_task(given)
                self._uses[ident] = Use.of(use)

    def _name_task(self, given: dict[str, Any]) -> None:
        """Put a task's subject into an update that says only its number."""
        ident = str(given.get("taskId", ""))
        if given.get("subject"):
            self.tasks[ident] = str(given["subject"])
        elif ident in self.tasks:
            given["subject"] = self.tasks[ident]

    def _user(self, value: dict[str, Any]) -> list[Turn]:
        blocks = _content(value)
        rest = [block for block in blocks if not _is_result(block)]
        said = _Said()
        for block in filter(_is_result, blocks):
            self._result(value, block, said)
        if rest:
            _prompt(value, rest, said)
            if self._queue.entries:
                for text in prompt.queued_forms(rest):
                    self._queue.mark_seen(text)
        return said.turns(value)

    def _result(self, value: dict[str, Any], block: dict[str, Any], said: _Said) -> None:
        """Read one tool result: a person's answer, a sub-agent's report, a failure, or output that is not kept."""
        ident = block.get("tool_use_id")
        use = self._uses.pop(ident, None) if isinstance(ident, str) else None
        failed = block.get("is_error") is True
        content, result = block.get("content"), value.get("toolUseResult")
        text = prompt.plain_text(content)
        if use and use.name == "TaskCreate" and (task := _TASK.match(text)):
            self.tasks[task[1]] = prompt.clean(task[2]).strip()
        found = answers.answer(value, text, result, use, failed=failed)
        if found:
            said.answer(found)
        elif not failed and (report := answers.report(content, result, use)):
            said.reports.append(report)
        else:
            said.failure(_failure(block, text), _string(block, "tool_use_id"))

    def _queue_operation(self, value: dict[str, Any]) -> list[Queued]:
        operation, time = value.get("operation"), _string(value, "timestamp")
        content = value.get("content")
        text = prompt.clean(prompt.plain_text(content)).strip()
        if operation == "enqueue":
            words = "" if _is_notice(text) else prompt.clean(prompt.spoken_words(content)).strip()
            return self._queue.enqueue(Queued(words or text, _string(value, "sessionId"), time, not words, self.folder))
        if operation == "popAll":
            self._queue.take_back(text)
        return []


@dataclass(slots=True)
class _Said:
    """What one user line holds, by who said it."""

    words: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)  # the ids of the uses that the errors are of
    reports: list[str] = field(default_factory=list)

    def answer(self, found: Answer) -> None:
        self.words.append(found.words)
        self.marks.append(found.mark)

    def failure(self, text: str, ident: str) -> None:
        if text:
            self.errors.append(text)
            self.failed.append(ident)

    def turns(self, value: dict[str, Any]) -> list[Turn]:
        """Return the line's turns; the first has the line's own key."""
        parts: tuple[tuple[Role, list[str]], ...] = (
            ("user", self.words), ("note", self.marks), ("error", self.errors), ("assistant", self.reports),
        )  # fmt: skip
        texts = [(role, text) for role, said in parts if (text := "\n".join(dict.fromkeys(filter(None, said))))]
        turns = [_turn(value, role, text, part=role if number else "") for number, (role, text) in enumerate(texts)]
        return [replace(turn, uses=tuple(self.failed)) if turn.role == "error" else turn for turn in turns]


def _is_notice(text: str) -> bool:
    """Return whether a queued text is the JSON notice of a background task, not a prompt."""
    return text.startswith('{"task_id":')


def _queued_turn(entry: Queued) -> Turn:
    key = _digest("\n".join((entry.session, entry.time, entry.text)))
    text, is_mark = prompt.queued_words(entry.text)
    return Turn(key, "note" if is_mark else "user", text, time=clock.parse(entry.time), cwd=entry.cwd)


def _assistant(value: dict[str, Any], describing: bool) -> list[Turn]:
    message = value.get("message")
    if value.get("isApiErrorMessage") is True or (isinstance(message, dict) and message.get("model") == "<synthetic>"):
        return []  # the client's own words: an error of the service, "No response requested."
    uses = _uses(value)
    texts: list[Any] = [prompt.texts(block) for block in _content(value)]
    named = [(str(use.get("name", "tool")), use.get("input")) for use in uses]
    texts += [given.get("plan") for name, given in named if name in PLANS and isinstance(given, dict)]  # told whole
    text = "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())
    tools = tuple([prompt.clean(describe(name, given) if describing else name) for name, given in named])
    turn = _turn(value, "assistant", text, tools)
    return [replace(turn, uses=tuple(_string(use, "id") for use in uses))] if text or tools else []


def _prompt(value: dict[str, Any], content: Any, said: _Said) -> None:
    """Read what stands on a user line beside tool results."""
    text = prompt.plain_text(content)
    if plan := _string(value, "planContent"):  # the client's "Implement the following plan", not typed
        said.marks.append(answers.APPROVED)
        said.reports.append(plan)
        return
    who, verbatim = prompt.speaker(value), prompt.is_verbatim(value)
    is_report = not verbatim and who != "other" and text.lstrip().startswith(_NOTIFICATIONS)
    if who == "report" or is_report:
        said.reports.append(prompt.report(text))
    elif who == "person":
        blocks = content if isinstance(content, list) else [content]
        stops = [block for block in blocks if prompt.is_interruption(prompt.texts(block) or "")]
        rest = [block for block in blocks if block not in stops]
        said.words.append(prompt.spoken_words(rest, verbatim=verbatim))
        said.marks += ["" if verbatim else prompt.marks(rest), prompt.INTERRUPTED if stops else ""]
    elif who == "other" and (words := prompt.spoken_words(content)):
        said.marks.append(f"{prompt.PASSED_ON}\n{words}")


def _is_result(block: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _content(value: dict[str, Any]) -> list[Any]:
    """Return the blocks of a line's message; a text that is no list is one."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    return content if isinstance(content, list) else [content]


def _uses(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in _content(value) if isinstance(block, dict) and block.get("type") == "tool_use"]


def _is_queued(value: dict[str, Any]) -> bool:
    attachment = value.get("attachment")
    return isinstance(attachment, dict) and attachment.get("type") == "queued_command"


def _queued_command(value: dict[str, Any]) -> list[Turn]:
    """Return the turns of a prompt typed while Claude worked, which newer clients repeat once it was handed over."""
    if not _is_queued(value) or value.get("isMeta") is True:
        return []
    attachment, said = value["attachment"], _Said()
    if not _is_notice(prompt.plain_text(attachment.get("prompt"))):
        _prompt(attachment, attachment.get("prompt"), said)
    return said.turns(value)


def _failure(block: dict[str, Any], text: str) -> str:
    """Return the first and last lines of a failed tool's output after its exit status; '' when it did not fail."""
    status = _STATUS.search(text)
    if block.get("is_error") is not True and status is None:
        return ""
    text = _TAGS.sub("", text).strip()
    code = _EXIT.match(text)
    lines = [line.rstrip() for line in text[code.end() if code else 0 :].splitlines() if line.strip()]
    if len(lines) > _ERROR_HEAD + _ERROR_TAIL:
        lines = [*lines[:_ERROR_HEAD], "…", *lines[-_ERROR_TAIL:]]
    width = max(160, _ERROR_CHARS // max(1, len(lines)))
    short = "\n".join(line[:width] + "…" * (len(line) > width) for line in lines)
    number = code[1] if code else status[1] if status else ""
    return ": ".join(part for part in (f"exit {number}" if number else "", short) if part) or "failed without a word"


def _turn(value: dict[str, Any], role: Role, text: str, tools: tuple[str, ...] = (), *, part: str = "") -> Turn:
    return Turn(
        key=_key(value, part),
        role=role,
        text=prompt.clean(text).strip(),
        tools=tools,
        time=clock.parse(value.get("timestamp")),
        cwd=_string(value, "cwd"),
    )


def _key(value: dict[str, Any], part: str) -> str:
    """Return a turn's key; ``part`` distinguishes further turns of one line from its first."""
    if uuid := _string(value, "uuid"):
        return _digest(f"{uuid}#{part}" if part else uuid)
    body = json.dumps([value.get(name) for name in ("type", "timestamp", "message", "attachment")], sort_keys=True)
    return _digest(f"{body}#{part}")


def _digest(text: str) -> str:
    """Return ten characters of base32: 50 bits; two of 30,000 turns collide with a chance of one in two million."""
    digest = hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return base64.b32encode(digest)[:10].decode().lower()


def _string(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return prompt.clean(found) if isinstance(found, str) else ""
