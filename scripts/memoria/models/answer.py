"""Answer: find the JSON object in what a model wrote, and validate it against a schema.

Bare, fenced and chatty JSON is accepted. Properties that the schema does not name are dropped, and defaults are filled
in. Anything else that does not fit is refused with its reason, which the next attempt is told: a call costs a tenth of
a cent, and what was meant cannot be guessed.
"""

from __future__ import annotations

import copy
import json
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from memoria.base import fence
from memoria.ground import printable
from memoria.ground.errors import BadAnswerError
from memoria.models.protocol import JsonObject, Prompt

_OPENING = re.compile(r"[\[{]")
MOST_FALSE = 1_000  # brackets that open nothing: an error of the decoder takes longer the further in it is


def read(text: str, prompt: Prompt) -> JsonObject:
    """Return the answer to a prompt in a model's text, checked; raise BadAnswerError with the first reason."""
    if not text.strip():
        raise BadAnswerError("The model's answer is empty.")
    schema = prompt.schema
    values = sorted(_values(text), key=lambda value: _fit(value, schema))
    if not values:
        raise BadAnswerError(f"The model's answer holds no JSON object that is whole; it begins {text.strip()[:60]!r}.")
    return check(values[-1], schema)


def check(value: object, schema: JsonObject) -> JsonObject:
    """Return ``value`` without control characters and with the schema's defaults; raise BadAnswerError on a misfit."""
    data = _complete(_clean(value), schema)
    for place, problem in problems(schema, data):
        reason = printable.sentence(f"{place or 'the answer'} {problem}")
        raise BadAnswerError(f"The model's answer does not fit: {reason}")
    assert isinstance(data, dict)  # noqa: S101 (every schema here describes an object; for mypy)
    return data


def problems(schema: JsonObject, value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield where a value does not fit a schema, and how, without the value itself, which may be huge or hostile.

    It knows the words of JSON Schema that the answers of models and the arguments of tools use.
    """
    wanted = schema.get("type")
    if wanted and (not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")):
        yield place, f"must be of type {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield place, f"must be one of {', '.join(schema['enum'])}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield place, f"does not look like {schema['pattern']}"
    size = len(value) if isinstance(value, str | list | dict) else value
    for rule, exceeds, words in _LIMITS:
        if rule in schema and exceeds(size, schema[rule]):
            yield place, words.format(schema[rule])
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from problems(schema.get("items", {}), item, f"{place}[{number}]")
    if isinstance(value, dict) and "properties" in schema:
        yield from _problems_of_object(schema, value, place)


def _problems_of_object(schema: JsonObject, value: JsonObject, place: str) -> Iterator[tuple[str, str]]:
    for name in schema.get("required", ()):
        if name not in value:
            yield place, f"lacks {name}"
    for name, others in schema.get("dependentRequired", {}).items():
        for other in others:
            if name in value and other not in value:
                yield place, f"has {name} and lacks {other}"
    for name, item in value.items():
        if name in schema["properties"]:
            yield from problems(schema["properties"][name], item, f"{place}.{name}".lstrip("."))
        elif not schema.get("additionalProperties", True):
            yield place, f"has {name[:60]!r}, which is unknown; there are {', '.join(schema['properties'])}"


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip
_LIMITS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minLength", operator.lt, "is shorter than {} characters"),
    ("maxLength", operator.gt, "is longer than {} characters"),
    ("maxItems", operator.gt, "has more than {} items"),
    ("minProperties", operator.lt, "has fewer than {} fields"),
    ("minimum", operator.lt, "is below {}"),
    ("maximum", operator.gt, "is above {}"),
)


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
    return sum(name in value for name in schema["properties"]), len(str(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return fence.strip_invisible(value.replace("\r\n", "\n")).strip()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    return value


def _complete(value: Any, schema: JsonObject) -> Any:
    """Return ``value`` with defaults for what is missing or null, and without what the schema does not name."""
    if isinstance(value, list) and "items" in schema:
        return [_complete(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    data = {}
    for name, part in schema["properties"].items():
        if value.get(name) is not None:
            data[name] = _complete(value[name], part)
        elif "default" in part:
            data[name] = copy.deepcopy(part["default"])
    return data
