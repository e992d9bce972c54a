"""View: what a page is asked for, and what it answers; neither knows HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: the named parts of its ``path``, its ``query``, and the fields of its ``form``."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """A template, what it shows, and the title of the page; a part of a page has no title."""

    template: str
    title: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Done:
    """An action that was carried out: where to go, and one sentence about what happened."""

    location: str
    said: str = ""


def missing(what: str) -> View:
    """Return the page that says that something is not there."""
    return View("message.html", "Not found", {"said": what}, 404)
