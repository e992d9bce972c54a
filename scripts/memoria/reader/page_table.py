"""Page table: every page and every action of the reader.

To add a page, write a module in ``pages`` with a function that returns a ``View``, a template, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memoria.reader.pages import (
    article,
    attention,
    entry,
    facts,
    graph,
    home,
    receipt,
    search,
    seen,
    sessions,
    timeline,
    wrong,
)
from memoria.reader.site import Site
from memoria.reader.view import Asked, Done, View


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its path with named parts (``{slug:path}``), its function, and its ``name`` in the navigation, if any."""

    path: str
    show: Callable[[Site, Asked], View]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What a form does: its path and its function. The token of the form is checked before."""

    path: str
    act: Callable[[Site, Asked], Done]


PAGES = (
    Page("/", home.show, "Home"),
    Page("/search", search.show, "Search"),
    Page("/article/{slug:path}", article.show),
    Page("/entry/{ident}", entry.show),
    Page("/source/{ident}", entry.source),
    Page("/timeline", timeline.show, "Timeline"),
    Page("/day/{day}", timeline.show_day),
    Page("/as-of", timeline.as_of),
    Page("/graph", graph.show, "Graph"),
    Page("/facts", facts.show, "Facts"),
    Page("/fact/{ident}", facts.show_one),
    Page("/sessions", sessions.show, "Sessions"),
    Page("/session/{ident}", sessions.show_one),
    Page("/session/{ident}/seen", seen.show),
    Page("/receipt", receipt.show, "Receipt"),
    Page("/wrong/{slug:path}", wrong.show),
)
ACTIONS = (
    Action("/retry/flush", attention.retry_flush),
    Action("/retry/compile", attention.retry_compile),
    Action("/retry/waiting", attention.retry_waiting),
    Action("/retry/consolidate", attention.retry_consolidate),
    Action("/fact/{ident}/edit", facts.edit),
    Action("/fact/{ident}/promote", facts.promote),
    Action("/fact/{ident}/delete", facts.delete),
    Action("/receipt/compare", receipt.compare),
    Action("/wrong/correct", wrong.correct),
    Action("/wrong/retire", wrong.retire),
    Action("/wrong/remove", wrong.remove),
    Action("/undo", wrong.take_back),
)
