"""Memory server: speak HTTP with a server that has the interface of claude-memory-mcp.

Deleted rows come with ``deleted_at`` in a sync that has a ``since`` and not at all in one that has none; a listing has
no pages. Standard library only: one small JSON call at a time, a deadline around the whole of it, no redirects (the key
goes to the named host alone). Knows no statements.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from memoria.ground.errors import ExpectedError, MemoryServerError
from memoria.ground.files import sha256

MAX_TAGS, MAX_ANSWER_BYTES = 500, 256 << 20  # characters of ``tags`` and of ``expanded_keywords``; of an answer
TIMEOUT_SECONDS, LISTING_S = 5.0, 60.0  # for a whole call, and for one that lists everything
_EVERYTHING: Final = "/api/memories/sync?since=1970-01-01T00:00:00%2B00:00"  # without a ``since``, no tombstones
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Memory:
    """A row as the server has it; ``tags`` and ``keywords`` are comma-separated, times ISO 8601 by its clock."""

    id: int
    content: str
    category: str = "facts"
    tags: str = ""
    keywords: str = ""
    importance: float = 0.5
    sensitive: bool = False
    created: str = ""
    deleted: bool = False

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Memory:
        """Read one object of an answer."""
        names = ("content", "category", "tags", "expanded_keywords", "created_at")
        content, category, tags, keywords, created = (str(given.get(name) or "") for name in names)
        return cls(int(given["id"]), content, category or "facts", tags, keywords, float(given.get("importance") or 0),
                   bool(given.get("is_sensitive")), created, bool(given.get("deleted_at")))  # fmt: skip

    @property
    def mark(self) -> str:
        """A digest of all that it says; its importance comes back from the server as a number of 32 bits."""
        told = [self.content, self.tags, self.keywords, round(self.importance, 2), self.sensitive]
        return sha256(json.dumps(told))[:16]

    def changes(self) -> dict[str, Any]:
        """What ``PUT /api/memories/{id}`` takes (a memory's category cannot be changed)."""
        told = {"content": self.content, "tags": self.tags, "expanded_keywords": self.keywords}
        return told | {"importance": self.importance}


class Server:
    """A memory server at ``url``.

    Every call raises MemoryServerError with a status: 0 without an answer, 502 when something else answered.
    """

    def __init__(self, url: str, key: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        """``timeout``: seconds for a whole call. ExpectedError when ``url`` is no http(s) address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ExpectedError(f"memory_api_url must be an http(s) address, not {url!r}.")
        self.kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.host, self.port = parts.hostname, parts.port or self.kind.default_port
        self.prefix, self.key, self.timeout = parts.path.rstrip("/"), key, timeout
        self.address = f"{self.host}:{self.port}{self.prefix}"

    def user(self) -> str:
        """Return the user of the key, ``""`` when the server does not say."""
        return str(self._call("GET", "/api/auth-check", lambda given: given.get("user_id") or ""))

    def listing(self) -> list[Memory]:
        """Return every row, deletions included; of one that cannot be read nothing could be said by its absence."""
        return self._call("GET", _EVERYTHING, lambda found: list(map(Memory.read, found["memories"])), limit=LISTING_S)

    def add(self, memory: Memory) -> int:
        """Store a memory; returns its number."""
        body = memory.changes() | {"category": memory.category}
        return self._call("POST", "/api/memories", lambda given: int(given["id"]), body)

    def change(self, memory: Memory) -> None:
        """Change a memory; MemoryServerError with status 404 when it is gone."""
        self._call("PUT", f"/api/memories/{memory.id}", dict, memory.changes())

    def delete(self, number: int) -> None:
        """Delete a memory; of one that is gone already the server says the same."""
        self._call("DELETE", f"/api/memories/{number}", dict)

    def _call(self, method: str, path: str, read: Callable[[dict[str, Any]], T],
                 body: Mapping[str, Any] | None = None, limit: float = 0) -> T:  # fmt: skip
        """Return what ``read`` makes of the answer, within ``limit`` seconds."""
        limit = limit or self.timeout
        answers: list[tuple[int, bytes]] = []
        asking = threading.Thread(target=lambda: answers.append(self._ask(method, path, body, limit)), daemon=True)
        asking.start()
        asking.join(limit)  # no limit of a socket holds for a whole call
        status, payload = answers[0] if answers else (0, b"its answer took too long")
        said = payload[:200].decode("utf-8", "replace")
        try:
            answer = json.loads(payload)
            if 200 <= status < 300:
                return read(answer)
            is_own = "detail" in answer
        except (AttributeError, KeyError, TypeError, ValueError):
            is_own = False
        if not status:
            said = f"the memory server at {self.host} cannot be reached: {said}"
        elif not is_own and status < 500:  # a proxy, a portal, half an answer: it says nothing of the operation
            said = f"{self.address} answered {status}, and not as a memory server does; check MEMORY_API_URL."
            status = 502
        elif status in (401, 403):
            said = f"the memory server refuses the key ({status}); check MEMORY_API_KEY."
        else:
            said = f"the memory server answered {status}: {said}"
        raise MemoryServerError(said, status)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, limit: float) -> tuple[int, bytes]:
        """Return the status and the body of an answer; status 0, and why, when none came."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            with closing(self.kind(self.host, self.port, timeout=limit)) as connection:
                connection.request(method, self.prefix + path, json.dumps(body) if body else None, headers)
                response = connection.getresponse()
                return response.status, response.read(MAX_ANSWER_BYTES)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 0, str(error).encode()
