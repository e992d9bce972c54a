"""Templating: the templates of the pages, and the few functions that all of them can use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from memoria.ground.printable import counted
from memoria.reader import address
from memoria.reader.markdown import Html

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


class Templates:
    """The templates, compiled when they are first needed or all at once."""

    def __init__(self, words: Callable[[str], Html]) -> None:
        """``words`` turns the Markdown of a line into HTML without links."""
        self._environment = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(address=address, static=static, counted=counted)
        self._environment.filters.update(day=day, clock_time=clock_time, words=words)

    def warm(self) -> None:
        """Compile all templates, so that no page has to wait for it."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return a template with these values."""
        return self._environment.get_template(name).render(values)


@cache
def static(name: str) -> str:
    """Return the path of a static file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def day(value: date | str) -> str:
    """Return a day in words (21 November 2026); text that is no day is returned unchanged."""
    try:
        when = date.fromisoformat(value[:10]) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


def clock_time(value: datetime) -> str:
    """Return hours and minutes."""
    return f"{value:%H:%M}"
