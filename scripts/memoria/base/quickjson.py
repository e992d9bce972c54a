"""JSON for the hook floor: CPython's own C scanner without the ``json`` package around it.

``import json`` costs as much as starting the interpreter (it pulls in ``re``); the scanner and the string encoder it
wraps are the C module ``_json``. Where that module is missing (another Python), the package is used instead.
Why and at what price: docs/decisions/0003-hook-floor.md.
"""

from __future__ import annotations


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner

    class _Context:
        strict = False  # a raw control character inside a string is accepted: the hook input must be read
        object_hook = None
        object_pairs_hook = None
        array_hook = None  # asked for from Python 3.15 on
        parse_float = float
        parse_int = int
        parse_constant = float
        memo: dict[str, str] = {}  # part of the scanner's protocol

    _scan = make_scanner(_Context())  # type: ignore[arg-type]
    _encode = make_encoder(None, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)
except (ImportError, AttributeError, TypeError):  # pragma: no cover (PyPy and friends, a scanner that asks for more)
    import json

    _encode = json.JSONEncoder(default=_refuse).iterencode  # type: ignore[assignment]
    _scan = json.JSONDecoder(strict=False).raw_decode  # type: ignore[assignment]

_WHITESPACE = " \t\n\r"


def loads(text: str) -> object:
    """Parse one JSON document; ValueError when it is not one (like ``json.loads``, with ``strict=False``).

    A lone surrogate, which no file and no database can hold, becomes a question mark.
    """
    text = text.strip(_WHITESPACE + "\ufeff")
    try:
        value, end = _scan(text, 0)
        if "\\ud" in text or "\\uD" in text:
            value = _check_storable(value)
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    except (StopIteration, SystemError):  # Python 3.10 and 3.11 have no error to raise until json.decoder is imported
        raise ValueError(_reason(text)) from None
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value


def _check_storable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_check_storable(item) for item in value]
    if isinstance(value, dict):
        return {_check_storable(name): _check_storable(item) for name, item in value.items()}
    return value


def _reason(text: str) -> str:
    """Return what the ``json`` package says is wrong with ``text``, which takes its import."""
    import json  # noqa: PLC0415 (slow, and needed for what is not JSON only)

    try:
        json.loads(text, strict=False)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "JSON nested too deep"
    return "not JSON"


def dumps(value: object) -> str:
    """Serialise dicts, lists, strings, numbers, booleans and None on one ASCII line; TypeError for anything else."""
    return "".join(_encode(value, 0))
