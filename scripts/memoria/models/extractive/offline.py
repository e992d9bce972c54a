"""Offline: answer without a model, from the prompt's material; deterministic, without network or cost.

It answers only when the setting ``model`` names it (as in the demo): a transient fault must be retried, not hidden by a
poorer note.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.facts import local_judge, retractions
from memoria.ground.errors import BadAnswerError
from memoria.models import answer
from memoria.models.extractive import cluster, pairs, passages, summarize
from memoria.models.protocol import Completion, JsonObject, Model, Prompt, Usage


def _note(material: JsonObject) -> JsonObject:
    return {**summarize.note(material), "ended": _ended(material)}


def _learned(material: JsonObject) -> JsonObject:
    return {"statements": local_judge.claims(material["exchanges"]), "ended": _ended(material)}


def _ended(material: JsonObject) -> list[JsonObject]:
    return retractions.ended(material["exchanges"], material.get("known", ()))


TASKS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "flush": _note,
    "compile": cluster.articles,
    "learn": _learned,
    "query": passages.reply,
    "consolidate": pairs.verdicts,
}


class Offline:
    """The backend without a model."""

    name = "offline"

    def complete(self, prompt: Prompt) -> Completion:
        """Answer the tasks it knows; raise BadAnswerError for the others, which need a language model."""
        if prompt.task not in TASKS:
            raise BadAnswerError(
                f"offline cannot answer {prompt.task!r}; that takes a language model.", model=self.name
            )
        started = time.monotonic()
        data = answer.check(TASKS[prompt.task](prompt.material), prompt.schema)
        return Completion(data, self.name, Usage(seconds=time.monotonic() - started))


def make(argument: str, settings: Settings, paths: Paths) -> Model:  # noqa: ARG001 (every backend is made alike)
    """Return the model ``offline``, which has no variants and no settings."""
    return Offline()
