"""Answer: validate what a model wrote against a schema.

Bare, fenced and chatty JSON is accepted. Properties that the schema does not name are dropped, and defaults are filled
in. A value of the wrong type or beyond its limit makes the whole answer bad: nothing is cut or repaired silently.
"""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

from memoria.base import fence
from memoria.ground.errors import BadAnswerError
from memoria.models.protocol import JsonObject

if TYPE_CHECKING:
    from jsonschema import ValidationError


def read(text: str, schema: JsonObject) -> JsonObject:
    """Return the JSON object in a model's answer, checked; raise BadAnswerError with the first reason.

    If the only property that the schema's object requires is a list, the bare list is accepted too.
    """
    return check(_find_object(text, _only_list(schema)), schema)


def check(value: object, schema: JsonObject) -> JsonObject:
    """Return ``value`` without control characters and with the schema's defaults; raise BadAnswerError on a misfit."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (120 ms, only when a model has answered)

    data = _completed(_cleaned(value), schema)
    errors = sorted(Draft202012Validator(schema).iter_errors(data), key=lambda error: list(map(str, error.path)))
    if errors:
        raise BadAnswerError(f"The model's answer does not fit: {_reason(errors[0])}.")
    assert isinstance(data, dict)  # noqa: S101 (every schema here describes an object; for mypy)
    return data


def _only_list(schema: JsonObject) -> str:
    """Return the name of the list that is the schema's only required property; ``""`` when it requires others."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return next((name for name in required if len(required) == 1 and properties[name].get("type") == "array"), "")


def _find_object(text: str, only_list: str) -> JsonObject:
    """Return the longest JSON object in the text; a bare list becomes the object's ``only_list``."""
    if not text.strip():
        raise BadAnswerError("The model's answer is empty.")
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    best: JsonObject | None = None
    longest = end = 0
    opening = re.compile(r"[\[{]" if only_list else r"{")
    while start := opening.search(text, end):
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            end = start.end()
        else:
            if end - start.start() > longest:
                best, longest = {only_list: value} if isinstance(value, list) else value, end - start.start()
    if best is None:
        raise BadAnswerError(f"The model's answer contains no JSON object; it begins {text.strip()[:60]!r}.")
    return best


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
