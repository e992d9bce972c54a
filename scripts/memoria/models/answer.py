"""Answer: find the JSON object in what a model wrote, and validate it against a schema.

Bare, fenced and chatty JSON is accepted. Properties that the schema does not name are dropped, and defaults are filled
in. Anything else that does not fit is refused with its reason, which the next attempt is told: a call costs a tenth of
a cent, and what was meant cannot be guessed.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memoria.base import fence
from memoria.ground import printable
from memoria.ground.errors import BadAnswerError
from memoria.models.protocol import JsonObject, Prompt

if TYPE_CHECKING:
    from jsonschema import ValidationError

_OPENING = re.compile(r"[\[{]")
MOST_FALSE = 1_000  # brackets that open nothing: an error of the decoder takes longer the further in it is


def read(text: str, prompt: Prompt) -> JsonObject:
    """Return the answer to a prompt in a model's text, checked; raise BadAnswerError with the first reason."""
    if not text.strip():
        raise BadAnswerError("The model's answer is empty.")
    values = sorted(_values(text), key=lambda value: _fit(value, prompt.schema))
    if not values:
        raise BadAnswerError(
            f"The model's answer contains no JSON object that is whole; it begins {text.strip()[:60]!r}."
        )
    return check(_as_object(values[-1], prompt.schema), prompt.schema)


def check(value: object, schema: JsonObject) -> JsonObject:
    """Return ``value`` without control characters and with the schema's defaults; raise BadAnswerError on a misfit."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (120 ms, only when a model has answered)

    data = _completed(_cleaned(value), schema)
    errors = sorted(Draft202012Validator(schema).iter_errors(data), key=lambda error: list(map(str, error.path)))
    if errors:
        raise BadAnswerError(f"The model's answer does not fit: {printable.sentence(_reason(errors[0]))}")
    assert isinstance(data, dict)  # noqa: S101 (every schema here describes an object; for mypy)
    return data


def _values(text: str) -> Iterator[Any]:
    """Yield the outermost objects and lists of a text that are JSON."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    end = false = 0
    while false < MOST_FALSE and (start := _OPENING.search(text, end)):
        try:
            value, end = decoder.raw_decode(text, start.start())
        except ValueError:
            end = start.end()
            false += 1
        except RecursionError:  # no answer is nested so deeply, nor is what follows
            return
        else:
            yield value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _fit(value: Any, schema: JsonObject) -> tuple[int, int]:
    """Return how many of the schema's names a value has, and its length, which decides between equals."""
    named = _as_object(value, schema)
    known = sum(name in schema["properties"] for name in named) if isinstance(named, dict) else 0
    return known, len(str(value))


def _as_object(value: Any, schema: JsonObject) -> Any:
    """Return a value as the object that is asked for: a bare list is the one list that the schema requires."""
    required = schema.get("required", ())
    is_list = len(required) == 1 and schema["properties"][required[0]].get("type") == "array"
    return {required[0]: value} if isinstance(value, list) and is_list else value


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
