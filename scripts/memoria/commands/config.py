"""Config: list the settings and where each value comes from; set and unset them in config.json.

A value is checked before it is written, by the same rule that reads it. What may be a key or a password is not listed;
``get`` prints it.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memoria.base import invocation
from memoria.base.paths import Paths
from memoria.base.settings import CHANGE_OPTION, FORMER, MEND_CONFIG, PLUGIN_OPTION, Field, Settings
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import change_config
from memoria.ground.swap import Swap
from memoria.models import protocol

DEFAULT = "default"
HIDDEN = "(set, not shown)"
_KEYS = ("memory_api_key",)
_SCHEMES = {  # what the address of a server begins with
    "ollama_url": ("http://", "https://"),
    "memory_api_url": ("http://", "https://"),
    "redis_url": ("redis://", "rediss://", "unix://"),
}
_PASSWORD = re.compile(r"(?<=:)[^:@/]+(?=@)")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``memoria config [list|get|set|unset]``; list is default."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listed = actions.add_parser("list", help="every setting, its value and where that comes from (the default)")
    listed.add_argument("--explain", action="store_true", help="say what each setting is")
    listed.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    get = actions.add_parser("get", help="print the value of one setting")
    get.add_argument("name")
    put = actions.add_parser("set", help="set one setting in config.json")
    put.add_argument("name")
    put.add_argument("value", nargs="+", help="the value; several words make a list where the setting is one")
    unset = actions.add_parser("unset", help="take settings out of config.json, so that the default holds")
    unset.add_argument("name", nargs="+")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(action="list", explain=False)


def without_home(args: argparse.Namespace) -> int:
    """Run one action; no home is needed, so that a setting that hinders its opening can be corrected."""
    settings = Settings.load()
    is_wrong_value = any(problem.startswith(settings.refusal) for problem in settings.problems)  # can be set here
    if settings.refusal and not is_wrong_value:
        raise ExpectedError(f"{settings.refusal}: {MEND_CONFIG}")
    return {"list": _list, "get": _get, "set": _set, "unset": _remove}[args.action](args, settings)


def _list(args: argparse.Namespace, settings: Settings) -> int:
    rows = [_row(field, settings) for field in Settings.fields()]
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    for problem in settings.problems:
        print(f"memoria: {problem}", file=sys.stderr)
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        origin = "" if row["origin"] == DEFAULT else f"  ({row['origin']})"
        print(f"{row['name']:<{width}}  {_show(row['value'])}{origin}".rstrip())
        if args.explain:
            print(f"{'':<{width}}  {row['about']} [{row['variable']}]")
    return 0


def _row(field: Field, settings: Settings) -> dict[str, Any]:
    return {
        "name": field.name,
        "value": _drop_secrets(field, getattr(settings, field.name)),
        "default": field.default,
        "origin": settings.origins.get(field.name, DEFAULT),
        "variable": field.variable,
        "about": field.sentence,
    }


def _drop_secrets(field: Field, value: Any) -> Any:
    """Return a value without the secrets in it."""
    if field.name in _KEYS:
        return HIDDEN if value else value
    if field.name == "projects":
        return {name: {"env": dict.fromkeys(chosen.get("env", {}), HIDDEN)} for name, chosen in value.items()}
    return _PASSWORD.sub("...", value) if isinstance(value, str) else value


def _show(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _get(args: argparse.Namespace, settings: Settings) -> int:
    print(_show(getattr(settings, _field(args.name).name)))
    return 0


def _set(args: argparse.Namespace, settings: Settings) -> int:
    field = _field(args.name)
    value = _check(field, args.value)
    path = change_config(Swap(Paths.of(settings)), {field.name: value})
    print(f"{field.name} is {_show(_drop_secrets(field, value))} in {path}.")
    after = Settings.load()
    origin = after.origins.get(field.name, "")
    if origin == field.variable:
        print(f"The environment sets {origin}, which takes precedence: {_show(getattr(after, field.name))}.")
    elif origin == PLUGIN_OPTION:
        print(f"The plugin option takes precedence: {_show(getattr(after, field.name))}. {CHANGE_OPTION} changes it.")
    if field.name == "home" and value:
        with suppress(OSError):  # who begins a memory says so; a place that is gone later was moved
            Path(value, "daily").expanduser().mkdir(parents=True, exist_ok=True)
    if field.name in ("home", "state"):
        print("What is remembered stays where it is: close Claude Code, and move daily, knowledge and .memoria there.")
    return 0


def _check(field: Field, words: Sequence[str]) -> Any:
    """Return what was given on the command line as the file holds it."""
    is_list = isinstance(field.default, tuple)
    if len(words) > 1 and not is_list:
        raise ExpectedError(f"{field.name} takes one value, not {len(words)}; put quotes around it")
    try:
        value = field.parse(words[0] if len(words) == 1 and not _is_pattern(field, words[0]) else list(words))
    except ValueError as error:
        raise ExpectedError(f"{field.name} must be {error}, not {' '.join(words)!r}. {field.sentence}") from None
    if value and (problem := _problem(field, value)):
        raise ExpectedError(f"{printable.clause(problem)}. {field.sentence}")
    return list(value) if isinstance(value, tuple) else value


def _problem(field: Field, value: Any) -> str:
    """Return what is wrong with a value that has the right type; empty when nothing is."""
    if field.name == "python" and not shutil.which(Path(value).expanduser()):
        return f"there is no program {value!r}"
    if (schemes := _SCHEMES.get(field.name)) and not value.startswith(schemes):
        return f"{field.name} must begin with {' or '.join(schemes)}, not {value!r}"
    tried = Settings()
    setattr(tried, field.name, value)
    return next(iter(protocol.problems(tried)), "").replace("; ignored", "; nothing was changed")


def _is_pattern(field: Field, word: str) -> bool:
    """Return whether a word is one regular expression, whose commas divide nothing, and no JSON list of them."""
    return field.name == "redact_extra" and not word.lstrip().startswith('["')


def _remove(args: argparse.Namespace, settings: Settings) -> int:
    names = [name if name in FORMER else _field(name).name for name in args.name]
    path = change_config(Swap(Paths.of(settings)), dict.fromkeys(names))
    after = Settings.load()
    for name in names:
        if name in FORMER:
            print(f"{name} is no longer set in {path}.")
            continue
        origin = after.origins.get(name, DEFAULT)
        print(f"{name} is no longer set in {path}; {origin}: {_show(getattr(after, name)) or 'empty'}.")
    return 0


def _field(name: str) -> Field:
    """Return the setting of this name, also when it is written as its variable or with hyphens."""
    fields = {field.name: field for field in Settings.fields()}
    variables = {field.variable: field for field in fields.values()}
    found = fields.get(name.replace("-", "_").lower()) or variables.get(name)
    if found:
        return found
    if name in FORMER:
        out = invocation.command(f"config unset {name}")
        raise ExpectedError(f"{name} is no setting any more: {FORMER[name]}; {out} takes it out of config.json")
    near = difflib.get_close_matches(name, fields, n=3, cutoff=0.5)
    meant = f"; did you mean {' or '.join(near)}?" if near else f"; {invocation.command('config')} lists them"
    raise ExpectedError(f"there is no setting {name!r}{meant}")
