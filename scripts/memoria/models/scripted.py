"""Scripted: a model that gives prepared answers, for the demo and for tests.

It is named by the setting ``scripted:<path>``: the file holds ``{"flush": [item, ...], "compile": [item, ...]}`` and is
read on each call; the last item of a task repeats. ``<path>.calls`` gets one JSON line per call with the question; the
number of lines tells the next process which item is next.

An item is an answer's object; a string (a model's text, to be parsed); ``{"error": "unavailable" | "bad", "message":
str, "retry_now": bool}``; or ``{"wait_for": path, "answer": item}``, which blocks until that file exists. ``"$1"``
stands for the id of the prompt's first statement to place, ``"$the words"`` for that of the statement, line or open
item with these words. ``{"for": words, "answer": item}`` answers the prompt that holds these words, whatever its
number.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import BadAnswerError, ExpectedError, ModelUnavailableError
from memoria.models import answer
from memoria.models.protocol import Completion, JsonObject, Model, ModelError, Prompt, Usage

Item = JsonObject | str | ModelError


class ScriptedFile:
    """A model with prepared answers from a file that several processes share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls = path.with_name(path.name + ".calls")
        self.name = f"scripted:{path}"

    def complete(self, prompt: Prompt) -> Completion:
        """Return or raise the task's next item."""
        try:
            items = json.loads(self.path.read_text(encoding="utf-8"))[prompt.task]
        except (OSError, ValueError, KeyError) as error:
            raise ExpectedError(f"{self.path} contains no scripted answers for {prompt.task!r} ({error}).") from error
        count = self._book(prompt)
        fitting = (item for item in items if isinstance(item, dict) and item.get("for", "\0") in prompt.text)
        item = next(fitting, items[min(count, len(items)) - 1])
        return play(item["answer"] if isinstance(item, dict) and "for" in item else item, prompt, self.name)

    def _book(self, prompt: Prompt) -> int:
        """Record the call; return the number of calls of its task, including this one."""
        with self.calls.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"task": prompt.task, "text": prompt.text, "material": prompt.material}) + "\n")
        lines = self.calls.read_text(encoding="utf-8").splitlines()
        return sum(json.loads(line)["task"] == prompt.task for line in lines)


def make(argument: str, settings: Settings, paths: Paths) -> Model:  # noqa: ARG001 (every backend is made alike)
    """Return the model ``scripted:<path to a JSON file>``."""
    if not argument:
        raise ExpectedError("scripted needs the path of a JSON file with answers: scripted:<path>.")
    return ScriptedFile(Path(argument))


def play(item: Item, prompt: Prompt, name: str) -> Completion:
    """Return or raise what an item stands for, as the answer of the model ``name``."""
    usage = Usage(input_tokens=len(prompt.text) // 4, output_tokens=1)
    if isinstance(item, ModelError):
        raise item
    if not isinstance(item, str):
        if "error" in item:
            raise _error(item, usage)
        if "wait_for" in item:
            while not Path(item["wait_for"]).exists():
                time.sleep(0.02)
            return play(item["answer"], prompt, name)
    try:
        data = answer.read(item, prompt) if isinstance(item, str) else _fill(item, prompt)
    except BadAnswerError as error:
        error.usage = usage
        raise
    return Completion(data, name, usage)


def _fill(item: JsonObject, prompt: Prompt) -> JsonObject:
    """Return an answer, checked, with the ids that its marks stand for."""
    new = list(prompt.material.get("statements", ()))
    told = [*prompt.material.get("known", ()), *prompt.material.get("open_items", ()), *new]
    told += [line for article in prompt.material.get("articles", ()) for line in article["lines"]]
    known = {each.get("content") or each.get("text", ""): each["id"] for each in told}
    return answer.check(_fill_ids(item, [each["id"] for each in new], known), prompt.schema)


def _error(item: JsonObject, usage: Usage) -> ModelError:
    message = item.get("message", "a scripted failure")
    if item["error"] != "bad":
        return ModelUnavailableError(message, retry_now=item.get("retry_now", True))
    error = BadAnswerError(message)
    error.usage = usage
    return error


def _fill_ids(value: Any, ids: list[str], known: Mapping[str, str]) -> Any:
    """Return ``value`` with ``$1`` replaced by the first id, ``$2`` by the second; beyond the last, by the last.

    ``$the words`` of a known statement or open item are replaced by its id.
    """
    if isinstance(value, str) and value[:1] == "$":
        if value[1:].isdigit() and ids:
            return ids[min(int(value[1:]), len(ids)) - 1]
        return known.get(value[1:], value)
    if isinstance(value, list):
        return [_fill_ids(item, ids, known) for item in value]
    if isinstance(value, dict):
        return {key: _fill_ids(item, ids, known) for key, item in value.items()}
    return value
