"""Answers: from what a model wrote to data that fits the schema, or BadAnswerError with the first reason.

Takes bare, fenced and chatty JSON. What the schema does not ask for is dropped, what it gives a default for may be
missing; a value of the wrong shape or over its limit makes the whole answer bad: nothing is cut or mended silently.
Knows no model and no task.
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
    """The one JSON object in a model's answer, checked; raises BadAnswerError.

    Where the object is to hold one list and nothing else, the bare list will do.
    """
    return check(_find_object(text, _only_list(schema)), schema)


def check(value: object, schema: JsonObject) -> JsonObject:
    """``value`` cleaned of control characters and completed with the schema's defaults, if it fits the schema."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (120 ms that only a model's answer is worth)

    data = _completed(_cleaned(value), schema)
    errors = sorted(Draft202012Validator(schema).iter_errors(data), key=lambda error: list(map(str, error.path)))
    if errors:
        raise BadAnswerError(f"The model's answer does not fit: {_reason(errors[0])}.")
    assert isinstance(data, dict)  # noqa: S101 (every schema here is an object's; tells mypy what the check has shown)
    return data


def _only_list(schema: JsonObject) -> str:
    """The name of the list that is all an object of this schema holds; "" when there is more to it."""
    properties = schema.get("properties", {})
    return next((name for name, part in properties.items() if len(properties) == 1 and part.get("type") == "array"), "")


def _find_object(text: str, only_list: str) -> JsonObject:
    """The longest JSON object that stands anywhere in the text; or list, as the object's ``only_list``."""
    if not text.strip():
        raise BadAnswerError("The model answered nothing.")
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
        raise BadAnswerError(f"The model's answer holds no JSON object; it begins {text.strip()[:60]!r}.")
    return best


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return fence.visible(value.replace("\r\n", "\n")).strip()
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _cleaned(item) for key, item in value.items()}
    return value


def _completed(value: Any, schema: JsonObject) -> Any:
    """Defaults for what is missing or null, nothing that the schema does not name."""
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
    """What is wrong where, in a few words and without the offending value (which may be huge or hostile)."""
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
