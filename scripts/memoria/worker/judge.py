"""Judge: ask a model which facts a few exchanges contain. Every answer passes the same check; nothing is stored."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memoria.ground.clock import Zone
from memoria.models import tasks
from memoria.models.protocol import JsonObject, Model, Prompt
from memoria.statements import claim_check
from memoria.statements.claim_check import MAX_FACTS, Checked, Material
from memoria.statements.fact import Fact, Stamp

log = logging.getLogger(__name__)

MAX_SAID: Final = 20_000  # characters of one message; a longer one contains pasted text
MAX_ANSWER: Final = 2_000  # of the assistant's last words in an exchange, which say what came of it
MAX_WAY: Final = 3_000  # of the commands and the assistant's words before that, of which the last ones are kept
MAX_STEP: Final = 400  # of one of these


def judge(materials: Sequence[JsonObject], stamp: Stamp, model: Model, near: Sequence[JsonObject] = ()) -> Checked:
    """Return the facts that a model finds, after the check. Raise ModelError when it gives no answer.

    ``materials``: exchanges as returned by ``Unit.material``. ``near``: the known facts nearest to them, as returned by
    ``shown``.
    """
    answer = model.complete(_prompt(materials, stamp.project, near)).data
    return checked(answer, materials, stamp, near)


def checked(
    answer: JsonObject,
    materials: Sequence[JsonObject],
    stamp: Stamp,
    near: Sequence[JsonObject],
    *,
    told: str = "",
    most: int = MAX_FACTS,
) -> Checked:
    """Return the facts, and the ends of facts among ``near``, in a model's answer that these exchanges prove.

    ``told`` and ``most``: as of ``claim_check.check``.
    """
    shown = {str(fact["id"]): str(fact["content"]) for fact in near}
    ended = answer.get("ended", ())
    material = Material.of(materials)
    return claim_check.check(answer.get("statements"), material, stamp, shown=shown, ended=ended, told=told, most=most)


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
    material: JsonObject = {"known": list(near), "exchanges": list(materials)}
    brief = [{"steps": _brief(part, earlier)} for earlier, part in itertools.pairwise([{}, *materials])]
    return replace(tasks.learn(material, brief), project=project)


def _brief(material: JsonObject, earlier: JsonObject) -> list[tuple[str, str]]:
    """Return the steps of an exchange that facts are made of; ``earlier``: the material that stands before it.

    These are the user's words, the failures with their commands, the assistant's last words, and as much of what it
    said and ran before as fits. A long text loses its middle: a person comments before or after pasted text.
    """
    steps = tasks.steps_of(material)
    last = max((number for number, (label, _) in enumerate(steps) if label == "assistant"), default=0)
    room = MAX_WAY
    kept = []
    for number, (label, text) in reversed(list(enumerate(steps))):
        fails = [following for following, _ in steps[number + 1 : number + 2]] == ["error"]
        if label == "tool" and not fails and not text.startswith("Bash "):
            continue
        is_way = label in ("assistant", "tool") and number != last
        short = _ends(text, MAX_STEP if is_way else MAX_ANSWER if label == "assistant" else MAX_SAID)
        room -= len(short) * is_way
        if room >= 0 or not is_way or fails:
            kept.append((label, short))
    before = str(material.get("before", ""))
    is_above = str(earlier.get("assistant", "")).endswith(before)
    return ([] if is_above else [("before", before)]) + kept[::-1]


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half} characters left out) …\n{text[-half:]}"
