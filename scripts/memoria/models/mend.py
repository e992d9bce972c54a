"""Mend: bring an answer into the asked form where it is certain what the model meant.

A string given for a list, an object that holds a text, a number written as a string, a slug in capitals: each has one
meaning. What has none costs the line or claim that it stands in, not the answer; ``Mended.lost`` says what and why.
Only when nothing is left of what an answer is for does ``mended`` raise MisfitError.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from memoria.models import implied, loose_json
from memoria.models.protocol import JsonObject
from memoria.models.spelling import NOTHING, TEXT_NAMES, by_name, plain, simplified

NAME_CHARS = 160  # maximum length of the items of a list of names or ids, which may come as one text with commas
PROSE_CHARS = 1_000  # maximum length from which on an item is prose, which may be divided

_BULLET = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_YES, _NO = ("true", "yes", "1", "y", "ja"), ("false", "no", "0", "n", "nein", "none", "null", "")
_SLUG_SIGNS = re.compile(r"[a-z0-9 _./'-]+")


class MisfitError(ValueError):
    """A value that cannot be brought into the asked form; the message names its place and the rule."""


class ExcessError(MisfitError):
    """A value beyond its limit, which would be lost as a whole."""


@dataclass(slots=True)
class Mended:
    """An answer in the asked form, and the lines that it cost."""

    data: JsonObject
    lost: list[str] = field(default_factory=list)


def mended(value: JsonObject, schema: JsonObject, task: str, material: Mapping[str, Any]) -> Mended:
    """Return the answer to a ``task`` about ``material`` in the form of the ``schema``."""
    fitter = _Fitter()
    data = fitter.object(implied.filled(by_name(value, schema), task, material), schema, "")
    return Mended(data, fitter.lost)


def main_list(schema: Mapping[str, Any]) -> str:
    """Return the name of the list that the answer is for: the only property that it must have; else ``""``."""
    required = schema.get("required", ())
    named = [name for name in required if schema["properties"].get(name, {}).get("type") == "array"]
    return named[0] if len(required) == 1 and named else ""


class _Fitter:
    """Brings values into the forms of their schemas and notes what was lost on the way."""

    def __init__(self) -> None:
        self.lost: list[str] = []

    def fit(self, value: Any, schema: Mapping[str, Any], place: str) -> Any:
        kind = schema.get("type")
        if kind is None:  # judged elsewhere, line by line
            return by_name(value, schema) if isinstance(value, dict) and "properties" in schema else value
        fitted: Callable[[Any, Mapping[str, Any], str], Any] = getattr(self, str(kind))
        return fitted(value, schema, place)

    def object(self, value: Any, schema: Mapping[str, Any], place: str) -> JsonObject:
        data: JsonObject = {}
        given = by_name(_as_object(value, schema, place), schema)
        for name, part in schema["properties"].items():
            where = f"{place}.{name}".lstrip(".")
            required = name in schema.get("required", ())
            if given.get(name) is None:
                if required:
                    raise MisfitError(f"{place or 'the answer'} lacks {name}")
                _put_default(data, name, part)
                continue
            try:
                data[name] = self.fit(given[name], part, where)
            except MisfitError as reason:
                if required or (not place and isinstance(reason, ExcessError)):
                    raise
                self.lost.append(str(reason))
                _put_default(data, name, part)
        return data

    def array(self, value: Any, schema: Mapping[str, Any], place: str) -> list[Any]:
        item = schema.get("items", {})
        data: list[Any] = []
        misfits: list[str] = []
        for number, part in enumerate(_as_list(value, item, place)):
            try:
                data.append(self.fit(part, item, f"{place}[{number}]"))
            except MisfitError as reason:
                misfits.append(str(reason))
        if misfits and not data:
            raise MisfitError(misfits[0])
        self.lost += misfits
        if len(data) > schema.get("maxItems", len(data)) and item.get("type") == "string":
            data = list(dict.fromkeys(data))  # some models go on repeating themselves
        if len(data) < schema.get("minItems", 0):
            raise MisfitError(f"{place} is empty")
        if len(data) > schema.get("maxItems", len(data)):
            raise ExcessError(f"{place} has more than {schema['maxItems']} items")
        return data

    def string(self, value: Any, schema: Mapping[str, Any], place: str) -> str:
        text = _as_text(value, place)
        if "enum" in schema:
            return _choice(text, schema["enum"], place)
        if "pattern" in schema and not re.search(schema["pattern"], text):
            text = _slug(text, schema["pattern"], place)
        if len(text) < schema.get("minLength", 0):
            raise MisfitError(f"{place} is empty")
        if len(text) > schema.get("maxLength", len(text)):
            raise ExcessError(f"{place} is longer than {schema['maxLength']} characters")
        return text

    def boolean(self, value: Any, schema: Mapping[str, Any], place: str) -> bool:  # noqa: ARG002 (one form for all)
        word = str(value).strip().casefold()
        if word not in (*_YES, *_NO):
            raise MisfitError(f"{place} must be of type boolean")
        return word in _YES

    def number(self, value: Any, schema: Mapping[str, Any], place: str) -> float:
        digits = re.findall(r"-?\d+(?:\.\d+)?", str(value))
        if isinstance(value, bool) or len(digits) != 1:
            raise MisfitError(f"{place} must be of type number")
        found = float(digits[0])
        return float(min(max(found, schema.get("minimum", found)), schema.get("maximum", found)))

    def integer(self, value: Any, schema: Mapping[str, Any], place: str) -> int:
        found = self.number(value, {}, place)
        if found != int(found) or found < schema.get("minimum", found):
            raise MisfitError(f"{place} must be of type integer")
        return int(found)


def _put_default(data: JsonObject, name: str, part: Mapping[str, Any]) -> None:
    if "default" in part:
        data[name] = copy.deepcopy(part["default"])


def _as_object(value: Any, schema: Mapping[str, Any], place: str) -> Mapping[Any, Any]:
    """Return an object for a list of one, for JSON in a string, and for a text that has one place to stand in."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(loose_json.LooseJsonError):
            value = loose_json.read(value, value.index("{"))[0]
    if isinstance(value, str | int) and not isinstance(value, bool):
        first = next(iter(schema.get("required", ())), "")
        value = {first: value} if first else value
    if not isinstance(value, Mapping):
        raise MisfitError(f"{place or 'the answer'} must be of type object")
    return value


def _as_list(value: Any, item: Mapping[str, Any], place: str) -> Iterator[Any]:
    """Yield the items of what was given for a list, without those that say that there are none."""
    if isinstance(value, str):
        yield from _lines(value, item)
    elif isinstance(value, Mapping):
        yield from _values(value, item)
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, list):
                yield from _as_list(part, item, place)
            elif isinstance(part, str) and PROSE_CHARS < item.get("maxLength", 0) < len(part):
                yield from _divided(part, item["maxLength"])
            elif part is not None and not _is_nothing(part):
                yield part
    elif isinstance(value, bool):
        raise MisfitError(f"{place} must be of type array")
    else:
        yield value


def _is_nothing(part: Any) -> bool:
    return isinstance(part, str) and NOTHING.fullmatch(part) is not None


def _lines(text: str, item: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a bulleted text without bullets; names and ids are divided at commas, a text is one item."""
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    if len(rows) > 1 and any(_BULLET.match(row) for row in rows):
        rows = [_BULLET.sub("", row, count=1) for row in rows]
    elif len(rows) == 1:
        rows = [_BULLET.sub("", rows[0], count=1)]
        if item.get("maxLength", PROSE_CHARS) <= NAME_CHARS or item.get("type") == "integer":
            rows = [part.strip() for part in re.split(r"[,;]", rows[0])]
    yield from (row for row in rows if not NOTHING.fullmatch(row))


def _values(value: Mapping[Any, Any], item: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the item that an object is, or the items that it holds by name or number."""
    properties = item.get("properties", {})
    if by_name(value, item).keys() & set(properties) or not value:
        yield value
        return
    first = next(iter(item.get("required", ())), "")
    for key, part in value.items():
        if isinstance(part, Mapping) and first in properties and not str(key).isdigit():
            yield {first: str(key), **part}
        elif properties or isinstance(part, Mapping | list) or str(key).isdigit() or plain(str(key)) in TEXT_NAMES:
            yield part
        else:
            yield f"{key}: {part}"


def _as_text(value: Any, place: str) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return " ".join(part.strip() for part in value)
    if isinstance(value, Mapping):
        return _text_of(value, place)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MisfitError(f"{place} must be of type string")
    return str(value)


def _text_of(value: Mapping[Any, Any], place: str) -> str:
    """Return the text that an object holds, with its other texts after it."""
    texts = {str(key): part.strip() for key, part in value.items() if isinstance(part, str) and part.strip()}
    if not texts:
        raise MisfitError(f"{place} must be of type string")
    main = next((name for name in TEXT_NAMES if name in texts), next(iter(texts)))
    return "; ".join([texts[main], *(f"{name}: {part}" for name, part in texts.items() if name != main)])


def _choice(text: str, choices: Iterable[str], place: str) -> str:
    wanted = plain(text).removesuffix("s")
    found = [choice for choice in choices if plain(choice).removesuffix("s") == wanted]
    if not found:
        raise MisfitError(f"{place} must be one of {choices}")
    return found[0]


def _slug(text: str, pattern: str, place: str) -> str:
    """Return a slug that needs only lower case and hyphens, or its link's brackets taken off."""
    plain_text = simplified(text.strip(" []`#").split("|")[0].removesuffix(".md"))
    parts = plain_text.removeprefix("knowledge/").split("/")
    slug = "/".join(re.sub(r"[ _.'-]+", "-", part).strip("-") for part in parts)
    if ".." in plain_text or not _SLUG_SIGNS.fullmatch(plain_text) or not re.search(pattern, slug):
        raise MisfitError(f"{place} does not look like {pattern}")
    return slug


def _divided(text: str, most: int) -> list[str]:
    """Return a text in parts of at most ``most`` characters, cut after sentences where it can be."""
    parts: list[str] = [""]
    for sentence in _SENTENCE_END.split(text):
        for piece in (sentence[start : start + most] for start in range(0, len(sentence), most)):
            if len(parts[-1]) + len(piece) >= most and parts[-1]:
                parts.append("")
            parts[-1] = f"{parts[-1]} {piece}".strip()
    return parts
