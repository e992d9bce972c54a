"""Answer: read what a model wrote, mend what is certain, and validate it against a schema.

Bare, fenced and chatty JSON is accepted, and JSON with the usual slips (``loose_json``). What the model certainly meant
is brought into the asked form; a line or claim that cannot be costs only itself (``mend``). Properties that the schema
does not name are dropped, and defaults are filled in. An answer that is cut off, or that holds nothing of what was
asked for, is bad.
"""

from __future__ import annotations

import copy
import json
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memoria.base import fence
from memoria.ground import printable
from memoria.ground.errors import BadAnswerError
from memoria.models import loose_json, mend
from memoria.models.protocol import JsonObject, Prompt
from memoria.models.spelling import known_names

if TYPE_CHECKING:
    from jsonschema import ValidationError

log = logging.getLogger(__name__)

MAX_LOOSE = 50  # places of an answer that are read loosely


def read(text: str, prompt: Prompt) -> JsonObject:
    """Return the answer to a prompt in a model's text, checked; raise BadAnswerError with the first reason."""
    return mended(_find_object(text, prompt.schema), prompt)


def mended(value: Any, prompt: Prompt) -> JsonObject:
    """Return a model's object in the form that the prompt asks for, checked; raise BadAnswerError on a misfit."""
    if not isinstance(value, dict):
        raise BadAnswerError("The model's answer does not fit: the answer must be of type object.")
    try:
        found = mend.mended(_cleaned(value), prompt.schema, prompt.task, prompt.material)
    except mend.MisfitError as error:
        raise BadAnswerError(f"The model's answer does not fit: {printable.sentence(error)}") from None
    for reason in found.lost:
        log.info("%s: left out of the model's answer: %s", prompt.task, reason)
    return check(found.data, prompt.schema)


def check(value: object, schema: JsonObject) -> JsonObject:
    """Return ``value`` without control characters and with the schema's defaults; raise BadAnswerError on a misfit."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (120 ms, only when a model has answered)

    data = _completed(_cleaned(value), schema)
    errors = sorted(Draft202012Validator(schema).iter_errors(data), key=lambda error: list(map(str, error.path)))
    if errors:
        raise BadAnswerError(f"The model's answer does not fit: {printable.sentence(_reason(errors[0]))}")
    assert isinstance(data, dict)  # noqa: S101 (every schema here describes an object; for mypy)
    return data


@dataclass(slots=True)
class _Found:
    """The objects and lists in a text, each with its length; ``is_cut_off`` when one has no end."""

    values: list[tuple[Any, int]] = field(default_factory=list)
    is_cut_off: bool = False


def _find_object(text: str, schema: JsonObject) -> JsonObject:
    """Return the object in the text that answers best: with the most names of the schema, and the longest of these."""
    if not text.strip():
        raise BadAnswerError("The model's answer is empty.")
    found = _values(_decoded(text))
    objects = [(value, length) for value, length in found.values if isinstance(value, dict)]
    inner = [(part, length) for value, length in objects for part in value.values() if isinstance(part, dict)]
    lists = [(value, length) for value, length in found.values if isinstance(value, list)]
    listed = [(part, length) for value, length in lists for part in value if isinstance(part, dict)]
    # ``inner``: the answer in an object of its own, {"note": {...}}; ``alone``: as the only item of a list
    alone = listed if len(listed) == 1 else []
    for candidates in (objects, inner, alone):
        ranked = [(known_names(value, schema), length, value) for value, length in candidates]
        best = max(ranked, key=lambda row: row[:2], default=(0, 0, None))
        if best[0]:
            return _joined(schema, [value for known, _, value in ranked if known]) or best[2] or {}
    if found.is_cut_off:
        raise BadAnswerError("The model's answer contains no JSON object that is whole; it was cut off.")
    if items := _as_list(found.values, schema):
        return items
    if objects:
        return max(objects, key=lambda pair: pair[1])[0]  # so that the reason names what it lacks
    raise BadAnswerError(f"The model's answer contains no JSON object; it begins {text.strip()[:60]!r}.")


def _joined(schema: JsonObject, answers: list[JsonObject]) -> JsonObject | None:
    """Return one answer of several that each hold a part of the list that is asked for."""
    name = mend.main_list(schema)
    lists = [answer.get(name) for answer in answers]
    if len(answers) < 2 or not all(isinstance(part, list) for part in lists):
        return None
    return {name: [item for part in lists if part for item in part]}


def _as_list(values: list[tuple[Any, int]], schema: JsonObject) -> JsonObject | None:
    """Return the answer that a bare list is, or items of it that stand alone."""
    name = mend.main_list(schema)
    if not name:
        return None
    lists = [(value, length) for value, length in values if isinstance(value, list)]
    if lists:
        return {name: max(lists, key=lambda pair: pair[1])[0]}
    item = schema["properties"][name].get("items", {})
    items = [value for value, _ in values if isinstance(value, dict) and known_names(value, item) >= 2]
    return {name: items} if items else None


def _decoded(text: str) -> str:
    """Return the text inside a JSON string, when the whole answer is one."""
    stripped = text.strip()
    if stripped[:1] == stripped[-1:] == '"':
        try:
            inner = json.loads(stripped, strict=False)
        except ValueError:
            return text
        return str(inner)
    return text


def _values(text: str) -> _Found:
    """Return the outermost objects and lists of a text, those that are no strict JSON read loosely."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    found = _Found()
    loose = end = 0
    opening = re.compile(r"[\[{]")
    while start := opening.search(text, end):
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            end = start.end()
            loose += 1
            if loose > MAX_LOOSE:
                continue
            try:
                value, end = loose_json.read(text, start.start())
            except loose_json.CutOffError:
                found.is_cut_off = found.is_cut_off or text[start.end() :].lstrip()[:1] in ('"', "{", "[", "'")
                continue
            except loose_json.LooseJsonError:
                continue
        found.values.append((value, end - start.start()))
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return fence.visible(value.replace("\r\n", "\n")).strip()
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _cleaned(item) for key, item in value.items()}
    return value


def _completed(value: Any, schema: JsonObject) -> Any:
    """Return ``value`` with defaults for what is missing or null, and without what the schema does not name."""
    if isinstance(value, list) and "items" in schema:
        return [_completed(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    data = {}
    for name, part in schema["properties"].items():
        if value.get(name) is not None:
            data[name] = _completed(value[name], part)
        elif "default" in part:
            data[name] = copy.deepcopy(part["default"])
    return data


def _reason(error: ValidationError) -> str:
    """Describe what is wrong, and where, without the offending value, which may be huge or hostile."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    rule = str(error.validator)
    limit: Any = error.validator_value
    if rule == "required":
        limit = ", ".join(name for name in limit if name not in error.instance)  # type: ignore[operator]
    return f"{place or 'the answer'} {_WORDS.get(rule, 'breaks the rule {rule}').format(limit=limit, rule=rule)}"


_WORDS = {
    "type": "must be of type {limit}",
    "enum": "must be one of {limit}",
    "required": "lacks {limit}",
    "maxLength": "is longer than {limit} characters",
    "minLength": "is empty",
    "maxItems": "has more than {limit} items",
    "minItems": "has fewer than {limit} items",
    "pattern": "does not look like {limit}",
    "minimum": "is below {limit}",
    "maximum": "is above {limit}",
}
