"""Static site: the reader's pages as files that link to each other, for a reader without a server.

The pages are found as a browser finds them, by their links, and written with relative ones. What needs a server is left
out: forms, scripts, the pages without ``exported``, and all parts of an address's query that are not in it. Secrets are
looked for once more in every text that a page shows.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.reader import address, templating
from memoria.reader.page_table import PAGES, Page
from memoria.reader.site import Site
from memoria.reader.view import Asked
from memoria.redaction.redact import Redactor

_LINK = re.compile(r'(<(?:a|link)\b[^>]*?\bhref=")(/[^"]*)(")')
_UNSAFE = re.compile(r"[^\w.@+-]+")
_CACHED = 50_000  # texts that were looked through for secrets


class StaticSite:
    """One home as a folder of pages."""

    def __init__(self, home: Home, folder: Path, *, has_excluded: bool = False) -> None:
        """``has_excluded``: whether excluded projects are written as well."""
        self.folder = folder
        self.redact = lru_cache(_CACHED)(Redactor(home.settings.redact_extra).redact)
        self.site = Site(home, self.redact, has_excluded=has_excluded, names_excluded=has_excluded)
        self.shared = {
            "navigation": [(page.path, page.name) for page in PAGES if page.name and page.exported is not None],
            "theme": "", "token": "", "said": "", "words": "", "is_static": True,
        }  # fmt: skip
        self._names: dict[str, str] = {}
        self._taken = {"index.html"}

    def write(self) -> int:
        """Write the first page, all articles and entries, and what they lead to; return how many pages there are.

        Raise ExpectedError when the folder is in use.
        """
        if self.folder.exists() and any(self.folder.iterdir()):
            raise ExpectedError(f"{self.folder} is not empty; name a folder that is, or a new one.")
        self.site.watch.hold()
        first = "/"
        self._names[first] = "index.html"
        catalog = self.site.catalog
        all_ = [*map(address.article, catalog.rows), *map(address.entry, catalog.entries)]
        waiting = deque(dict.fromkeys((first, *map(_target, all_))))
        seen = set(waiting)
        while waiting:
            for target in self._write_page(waiting.popleft()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        for path in templating.STATIC.iterdir():
            if path.suffix != ".js":
                self._put(f"static/{path.name}", path.read_bytes())
        return len(seen)

    def _write_page(self, target: str) -> Iterator[str]:
        """Write one page, and yield the pages that it links to."""
        name = self._name(target)
        up = "../" * name.count("/")
        found: list[str] = []

        def relative(match: re.Match[str]) -> str:
            path = html.unescape(match[2])
            if path.startswith("/static/"):
                return f"{match[1]}{up}{path[1:].partition('?')[0]}{match[3]}"
            other = _target(path)
            if not other:
                return re.sub(r'\shref="$', ' data-left-out="', match[1]) + match[3]
            found.append(other)
            anchor = urlsplit(path).fragment
            place = quote(f"{up}{self._name(other)}") + (f"#{anchor}" if anchor else "")
            return f"{match[1]}{html.escape(place)}{match[3]}"

        self._put(name, _LINK.sub(relative, self._page(target)).encode())
        yield from found

    def _page(self, target: str) -> str:
        parts = urlsplit(target)
        page, values = _route(parts.path)
        assert page is not None  # noqa: S101 (for the type checker: ``_target`` has returned it)
        view = page.show(self.site, Asked(values, dict(parse_qsl(parts.query))))
        shared = self.shared | {"title": view.title, "path": parts.path}
        return self.site.templates.render(view.template, shared | dict(view.values))

    def _name(self, target: str) -> str:
        """Return the file of a page; no two pages have the same."""
        if target not in self._names:
            parts = urlsplit(target)
            steps = [_UNSAFE.sub("-", step).strip(".") or "-" for step in unquote(parts.path).strip("/").split("/")]
            query = "".join(f"-{_UNSAFE.sub('-', value)}" for _, value in parse_qsl(parts.query))
            stem = "/".join(steps) + query
            number, name = 1, f"{stem}.html"
            while name.casefold() in self._taken:
                number += 1
                name = f"{stem}-{number}.html"
            self._taken.add(name.casefold())
            self._names[target] = name
        return self._names[target]

    def _put(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _target(path: str) -> str:
    """Return an address without its anchor and what needs a server, ``""`` when the whole page does."""
    parts = urlsplit(path)
    page, _ = _route(parts.path)
    if page is None or page.exported is None:
        return ""
    query = urlencode([(key, value) for key, value in parse_qsl(parts.query) if key in page.exported])
    return f"{parts.path}?{query}" if query else parts.path


def _route(path: str) -> tuple[Page | None, Mapping[str, Any]]:
    """Return the page of a path, None when there is none, and the named parts of the path."""
    for page in PAGES:
        if match := _pattern(page.path).fullmatch(unquote(path)):
            return page, match.groupdict()
    return None, {}


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a page's path; ``{name}`` stands for one step of it, ``{name:path}`` for any number."""
    return re.compile(re.sub(r"\{(\w+)(:path)?\}", lambda part: f"(?P<{part[1]}>{'.+' if part[2] else '[^/]+'})", path))
