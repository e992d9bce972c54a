"""Paging: a long list as pages that can be turned by links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memoria.reader import address

Item = TypeVar("Item")
MAX_DIGITS = 7


@dataclass(frozen=True, slots=True)
class Paged(Generic[Item]):
    """One page of a list: its ``items``, which of ``pages`` it is (from 1), and the links to its neighbours."""

    items: Sequence[Item]
    page: int
    pages: int
    total: int
    earlier: str
    later: str


def paged(items: Sequence[Item], size: int, path: str, query: Mapping[str, str]) -> Paged[Item]:
    """Return the page that ``?page=`` of a query asks for; the links keep the rest of the query."""
    pages = max(1, -(-len(items) // size))
    page = min(max(1, number(query.get("page", ""))), pages)
    kept = {name: value for name, value in query.items() if name not in ("page", "said")}

    def link(to: int) -> str:
        return address.asked(path, **kept, page=to if to > 1 else 0) if 1 <= to <= pages else ""

    shown = items[(page - 1) * size : page * size]
    return Paged(shown, page, pages, len(items), link(page - 1), link(page + 1))


def number(text: str) -> int:
    """Return the number that a query holds, 0 when it holds none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0
