"""Address: where the reader shows a thing, and a long list as pages that can be turned by links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote, urlencode

Item = TypeVar("Item")
MAX_DIGITS = 7


def article(slug: str) -> str:
    """Return the path of an article's page."""
    return f"/article/{quote(slug)}"


def entry(ident: str, slug: str = "", claim: str = "") -> str:
    """Return the path of an entry's page; ``claim`` is the digest of the claim of an article that leads there."""
    return add_query(f"/entry/{quote(ident)}", of=slug, claim=claim)


def search(words: str, **filters: str) -> str:
    """Return the path of a search with these filters."""
    return add_query("/search", q=words, **filters)


def session(ident: str) -> str:
    """Return the path of a session's page."""
    return f"/session/{quote(ident, safe='')}"


def add_query(path: str, **query: object) -> str:
    """Return a path with the values of a query that are not empty."""
    given = {name: value for name, value in query.items() if value not in ("", 0, None)}
    return f"{path}?{urlencode(given)}" if given else path


def fact(ident: str) -> str:
    """Return the path of a fact's page."""
    return f"/fact/{quote(ident)}"


def day(value: str) -> str:
    """Return the path of a day's page."""
    return f"/day/{quote(value)}"


@dataclass(frozen=True, slots=True)
class Paged(Generic[Item]):
    """One page of a list: its ``items``, which of ``pages`` it is (from 1), and the links to its neighbours."""

    items: Sequence[Item]
    page: int
    pages: int
    total: int
    earlier: str
    later: str


def paginate(items: Sequence[Item], size: int, path: str, query: Mapping[str, str]) -> Paged[Item]:
    """Return the page that ``?page=`` of a query asks for; the links keep the rest of the query."""
    pages = max(1, -(-len(items) // size))
    page = min(max(1, number(query.get("page", ""))), pages)
    kept = {name: value for name, value in query.items() if name not in ("page", "said")}

    def link(to: int) -> str:
        return add_query(path, **kept, page=to) if 1 <= to <= pages else ""

    shown = items[(page - 1) * size : page * size]
    return Paged(shown, page, pages, len(items), link(page - 1), link(page + 1))


def number(text: str) -> int:
    """Return the number that a query holds, 0 when it holds none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0
