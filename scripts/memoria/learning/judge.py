"""Judge: ask a model which facts a few exchanges contain.

The judges form a chain: the model that the settings name, then the models of ``learn_models``, then ``local_judge``.
Every answer passes the same check. This module stores nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memoria.base.fence import fenced
from memoria.daily.ledger import Ledger
from memoria.facts import fact as facts
from memoria.facts import local_judge
from memoria.facts.fact import Checked, Fact, Material, Stamp
from memoria.ground.clock import Zone
from memoria.ground.errors import ModelError
from memoria.ground.home import Home
from memoria.models import chain, tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject, Model, Prompt, Usage

log = logging.getLogger(__name__)

MAX_SAID: Final = 20_000  # characters of one message or tool line; a longer one contains pasted text
PROMPT: Final = tasks.PROMPTS / "learn.md"


@dataclass(frozen=True, slots=True)
class Judged:
    """What one call found, the model that answered, and its usage.

    ``failure``: the error because of which the patterns had to answer.
    """

    found: Checked
    model: str
    usage: Usage
    failure: ModelError | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the facts that passed the check."""
        return self.found.facts


def judges(home: Home, ledger: Ledger, first: Metered) -> list[Metered]:
    """Return the models to ask, in order: ``first``, then those of ``learn_models`` that its chain does not include.

    Nothing is added when the chain includes ``offline``, which always answers and whose user wants no model.
    """
    settings = home.settings
    known = {chain.backend(name) for name in settings.model.split(",")}
    more = [name for name in settings.learn_models if chain.backend(name) not in known]
    if "offline" in known:
        more = []
    return [first, *(Metered.around(chain.named([name], settings, home.paths), home, ledger) for name in more)]


def judge(
    materials: Sequence[JsonObject], stamp: Stamp, models: Sequence[Model], near: Sequence[JsonObject] = ()
) -> Judged:
    """Return the facts of the first model that answers, or those that the patterns find when no model answers.

    ``materials``: exchanges as returned by ``Unit.material``. ``near``: the known facts nearest to them, as returned by
    ``shown``. When no model answers, ``failure`` is the first model's error, because that is the model the user chose;
    it is None when ``models`` is empty.
    """
    failure: ModelError | None = None
    for model in models:
        try:
            completion = model.complete(_prompt(materials, stamp.project, near))
        except ModelError as error:
            log.info("learn: %s did not answer: %s", model.name, error)
            failure = failure or error
            continue
        return checked(completion.data, materials, stamp, near, completion.model, completion.usage)
    return Judged(local_judge.judge(materials, stamp, near), "patterns", Usage(), failure)


def checked(
    answer: JsonObject,
    materials: Sequence[JsonObject],
    stamp: Stamp,
    near: Sequence[JsonObject],
    model: str,
    usage: Usage | None = None,
) -> Judged:
    """Return the facts, and the ends of facts among ``near``, in a model's answer that these exchanges prove."""
    idents = [str(fact["id"]) for fact in near]
    found = facts.check(
        answer.get("learned"), Material.of(materials), stamp, shown=idents, ended=answer.get("ended", ())
    )
    return Judged(found, model, usage or Usage())


def shown(near: Sequence[Fact], zone: Zone) -> list[JsonObject]:
    """Return known facts as a model is shown them."""
    return [
        {
            "id": fact.id,
            "kind": fact.kind,
            "day": zone.day(fact.last or fact.time).isoformat(),
            "origin": fact.origin,
            "content": fact.content,
        }
        for fact in near
    ]


def _prompt(materials: Sequence[JsonObject], project: str, near: Sequence[JsonObject]) -> Prompt:
    material: JsonObject = {"facts": list(near), "exchanges": list(materials)}
    exchanges = "\n\n".join(json.dumps(_brief(part), ensure_ascii=False, indent=0) for part in materials)
    parts = [*tasks.known_facts(material), ("conversation", exchanges)]
    text = "\n\n".join([PROMPT.read_text(encoding="utf-8").strip(), *(fenced(*part) for part in parts)])
    return Prompt("learn", text, tasks.LEARN_SCHEMA, material, project)


def _brief(material: JsonObject) -> JsonObject:
    """Return the exchange with the middle of long texts left out: a person comments before or after pasted text."""
    return {
        name: _ends(said) if isinstance(said, str) else [_ends(line) for line in said]
        if isinstance(said, list) else said for name, said in material.items()
    }  # fmt: skip


def _ends(text: str) -> str:
    if len(text) <= MAX_SAID:
        return text
    half = MAX_SAID // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half} characters left out) …\n{text[-half:]}"
