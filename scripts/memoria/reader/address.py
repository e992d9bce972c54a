"""Address: where the reader shows an article, an entry, a search and a wrong claim."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def article(slug: str) -> str:
    """Return the path of an article's page."""
    return f"/article/{quote(slug)}"


def entry(ident: str, slug: str = "", claim: str = "") -> str:
    """Return the path of an entry's page; ``claim`` is the digest of the claim of an article that leads there."""
    asked = f"?{urlencode({'of': slug, 'claim': claim})}" if claim else ""
    return f"/entry/{quote(ident)}{asked}"


def search(words: str, **filters: str) -> str:
    """Return the path of a search with these filters."""
    given = {name: value for name, value in filters.items() if value}
    return f"/search?{urlencode({'q': words, **given})}"


def session(ident: str) -> str:
    """Return the path of a session's page."""
    return f"/session/{quote(ident, safe='')}"


def asked(path: str, **query: object) -> str:
    """Return a path with the values of a query that are not empty."""
    given = {name: value for name, value in query.items() if value not in ("", 0, None)}
    return f"{path}?{urlencode(given)}" if given else path


def fact(ident: str) -> str:
    """Return the path of a fact's page."""
    return f"/fact/{quote(ident)}"


def day(value: str) -> str:
    """Return the path of a day's page."""
    return f"/day/{quote(value)}"


def wrong(slug: str, claim: str) -> str:
    """Return the path of the page on which a claim can be put right; ``claim`` is its digest."""
    return f"/wrong/{quote(slug)}?{urlencode({'claim': claim})}"
