"""Answers: what a person or a sub-agent said through a tool's result, told from the tool's own output.

A tool's output may hold any text, also the client's own sentences. A result is a person's answer only when the client
says so in fields that no tool can write: the name of the tool that the result's id belongs to, the shape of the line's
``toolUseResult`` (a tool of an MCP server gets a string or a list there, never an object), ``toolDenialKind``. What
each client version writes is in docs/client-survey.md. Knows results and tool names; does not know prompts or turns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memoria.transcripts.turn import PLANS

APPROVED = "(the user approved the plan)"
APPROVED_EDITED = "(the user approved the plan after editing it)"
REJECTED = "(the user rejected this tool use)"
STOPPED = "(the user interrupted this tool use)"
CLARIFY = "(the user wants to clarify these questions)"
UNANSWERED = "(the user did not answer in time; selected so far)"

ASKING = ("AskUserQuestion", *PLANS)
AGENTS = ("Agent", "Task")
REPORTED = "(a sub-agent reported"  # how a report begins

# Tools whose errors begin with the client's own words, so that a refusal can be told by its text. Clients before
# toolDenialKind need it; never for a tool of an MCP server or an agent, whose errors begin with any text.
_TRUSTED = (
    *ASKING,
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
)
_REFUSED = "The user doesn't want to proceed with this tool use."
_SAID = re.compile(
    r"(?:To tell you how to proceed, the user said|The user provided the following reason)[^:\n]{0,80}:\s*"
)
_CLARIFIES = "The user wants to clarify these questions"
_QUESTIONS = re.compile(r"Questions asked:\s*")
_AFTER = re.compile(r"\n(?:Note: The user's next message may contain|<system-reminder>).*", re.DOTALL)

_ANSWERED = re.compile(
    r"\s*(?:User has answered your questions|Your questions have been answered|User answered your questions"
    r"|The user answered|The user responded)\s*:\s*"
)
_GO_ON = re.compile(r"(?:You can now continue with |Read the answers carefully\b).*", re.DOTALL)
_APPROVES = re.compile(r"\s*User has approved (?:your plan|exiting plan mode|the plan)")
_EDITED = re.compile(r"## Approved Plan \(edited by (?:the )?user\):?\s*")
_NOTES_ONLY = "(notes only)"
_OF_THE_CLIENT = ("agentId: ", "Async agent launched")  # blocks beside or instead of a sub-agent's report


@dataclass(frozen=True, slots=True)
class Use:
    """A tool use whose result may be somebody's words.

    ``about``: the plan that was put before the user, or the description of a sub-agent's task.
    """

    name: str
    about: str = ""

    @classmethod
    def of(cls, block: Mapping[str, Any]) -> Use:
        """Return what a ``tool_use`` block asks for."""
        name, given = str(block.get("name", "")), block.get("input")
        about = given.get("description" if name in AGENTS else "plan") if isinstance(given, Mapping) else None
        return cls(name, about if isinstance(about, str) else "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said through a result: ``words`` of their own, a ``mark`` for what they did without words."""

    words: str = ""
    mark: str = ""


def answer(line: Mapping[str, Any], text: str, result: object, use: Use | None, *, failed: bool) -> Answer | None:
    """Return what the user said through one tool result; None when it is the tool's own output.

    ``line``: the transcript line, ``text``: the result's text, ``result``: the line's decoded ``toolUseResult``,
    ``use``: the tool use it belongs to, None when that stands in no line read so far.
    """
    kind = line.get("toolDenialKind")
    if kind:
        return _denial(line, kind, text) if failed else None
    if failed:
        return _refusal(text) if _is_refusal(text, use, line.get("version")) else None
    given: Mapping[str, Any] = result if isinstance(result, Mapping) else {}
    if use.name == "AskUserQuestion" if use else _is_asked(given):
        return _answers(given, text)
    if use.name in PLANS if use else _is_plan(given):
        return _approval(given, text, use.about if use else "")
    return None


def report(content: object, result: object, use: Use | None) -> str:
    """Return what a sub-agent reported when it ended; ``""`` for the result of another tool or of one that began only.

    ``content``: the result's blocks, ``result``: the line's decoded ``toolUseResult``.
    """
    given: Mapping[str, Any] = result if isinstance(result, Mapping) else {}
    is_like = isinstance(given.get("content"), list) and isinstance(given.get("totalToolUseCount"), int)
    if use.name not in AGENTS if use else not is_like:
        return ""
    if given.get("status", "completed") != "completed":
        return ""
    blocks = given.get("content", content)
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)] if isinstance(blocks, list) else []
    words = [text.strip() for text in texts if isinstance(text, str) and not text.startswith(_OF_THE_CLIENT)]
    told = "\n".join(filter(None, words))
    return f"{REPORTED}{': ' + use.about if use and use.about else ''})\n{told}" if told else ""


def _is_asked(given: Mapping[str, Any]) -> bool:
    return isinstance(given.get("questions"), list) and isinstance(given.get("answers"), Mapping)


def _is_plan(given: Mapping[str, Any]) -> bool:
    return isinstance(given.get("plan"), str) and isinstance(given.get("isAgent"), bool)


def _answers(given: Mapping[str, Any], text: str) -> Answer | None:
    """Return the answers as ``"question"="answer"``, with notes; from the text where an old client wrote no fields."""
    if not _is_asked(given):
        begins = _ANSWERED.match(text)
        return Answer(_GO_ON.sub("", text[begins.end() :]).rstrip(". \n")) if begins else None
    answers, notes = given["answers"], given.get("annotations")
    notes = notes if isinstance(notes, Mapping) else {}
    parts = [
        _answer(question, answers.get(question), notes.get(question))
        for question in _order(given["questions"], {*answers, *notes})
    ]
    response = given.get("response")
    words = ", ".join(part for part in parts if part)
    if isinstance(response, str) and response.strip():
        words = f"{words}\n{response.strip()}".strip()
    if "afkTimeoutMs" in given:  # the dialog resolved itself
        return Answer(mark=f"{UNANSWERED} {words}".rstrip())
    return Answer(words) if words else None


def _order(asked: list[Any], answered: set[str]) -> list[str]:
    """Return the answered questions in the order they were asked; the keys of an object have none."""
    texts = [str(question.get("question")) for question in asked if isinstance(question, Mapping)]
    known = [text for text in dict.fromkeys(texts) if text in answered]
    return known + sorted(answered.difference(known))


def _answer(question: object, answered: object, annotation: object) -> str:
    """Return one question's answer, ``""`` when the person gave none."""
    note = annotation.get("notes") if isinstance(annotation, Mapping) else None
    chosen = ", ".join(map(str, answered)) if isinstance(answered, list) else answered
    own = chosen if isinstance(chosen, str) and chosen != _NOTES_ONLY else ""
    said = f'"{own}"' if own else ""
    if isinstance(note, str) and note.strip():
        said = f"{said} notes: {note.strip()}".strip()
    return f'"{question}"={said}' if said else ""


def _approval(given: Mapping[str, Any], text: str, before: str) -> Answer | None:
    plan = given.get("plan")
    edited = given.get("planWasEdited") is True
    if not _is_plan(given):  # an old client
        if not _APPROVES.match(text):
            return None
        mark = _EDITED.search(text)
        edited, plan = mark is not None, text[mark.end() :] if mark else ""
    if not edited or not isinstance(plan, str):
        return Answer(mark=APPROVED)
    kept = set(map(str.strip, before.splitlines()))
    own = [line for line in plan.strip().splitlines() if line.strip() not in kept]
    if before and own:  # the lines that the person wrote; the rest is the assistant's
        return Answer("\n".join(own), APPROVED_EDITED)
    return Answer(mark=f"{APPROVED_EDITED}\n{plan.strip()}")


def _denial(line: Mapping[str, Any], kind: object, text: str) -> Answer | None:
    """Return what the user said or did about a use that did not run, by the client's own fields."""
    words = line.get("userFeedback")
    if kind == "user-rejected":
        if isinstance(words, str) and words.strip():
            return _clarification(words.strip())
        return _refusal(text)
    if line.get("holdsPersonsWords") is True:  # refused in another program's dialog, with these words
        return _refusal(text) if text.lstrip().startswith(_REFUSED) else Answer(text.strip())
    return Answer(mark=STOPPED) if kind in ("cancelled", "interrupted") else None


def _is_refusal(text: str, use: Use | None, version: object) -> bool:
    if use is None or not text.lstrip().startswith(_REFUSED):
        return False
    # Bash of a 1.x client passes on what the command wrote; from 2.0 on "Exit code" stands before it.
    return use.name in _TRUSTED or (use.name == "Bash" and isinstance(version, str) and not version.startswith("1."))


def _refusal(text: str) -> Answer:
    said = _SAID.search(text) if text.lstrip().startswith(_REFUSED) else None
    words = _AFTER.sub("", text[said.end() :]).strip() if said else ""
    return _clarification(words) if words else Answer(mark=REJECTED)


def _clarification(words: str) -> Answer:
    """Return the words of a refusal; of "chat about this" only what the person had answered so far."""
    if not words.startswith(_CLARIFIES):
        return Answer(words)
    asked = _QUESTIONS.search(words)
    told: list[str] = []
    question = ""
    for line in words[asked.end() :].splitlines() if asked else []:
        if line.startswith('- "'):
            question = line.strip()
        elif line.strip().startswith(("Answer:", "User notes:")):
            told += [question, line.strip()]
    return Answer("\n".join((CLARIFY, *dict.fromkeys(told)))) if told else Answer(mark=CLARIFY)
