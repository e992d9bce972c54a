"""Memory server: speak HTTP with a server that has the interface of claude-memory-mcp.

Deleted rows come with ``deleted_at`` in a sync that has a ``since`` and not at all in one that has none; a listing has
no pages. Standard library only: one small JSON call at a time, a deadline around the whole of it, no redirects (the key
goes to the named host alone). Knows no statements.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from memoria.ground.errors import (
    ExpectedError,
    MemoryServerDeniedError,
    MemoryServerError,
    MemoryServerUnavailableError,
)
from memoria.ground.files import sha256

MAX_TAGS: Final = 500  # characters of ``tags`` and of ``expanded_keywords``
MAX_ANSWER_BYTES: Final = 256 << 20
TIMEOUT_SECONDS: Final = 5.0  # for a whole call
LISTING_SECONDS: Final = 60.0  # for a call that lists everything
_EVERYTHING: Final = "1970-01-01T00:00:00+00:00"  # a sync without a ``since`` brings no tombstones
_REFUSALS: Final = (400, 404, 409, 413, 422)  # statuses that say something about the operation
_NOT_NOW: Final = (408, 425, 429)


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
        names = ("category", "tags", "expanded_keywords", "created_at")
        category, tags, keywords, created = (str(given.get(name) or "") for name in names)
        return cls(int(given["id"]), str(given.get("content") or ""), category or "facts", tags, keywords,
                   float(given.get("importance") or 0), bool(given.get("is_sensitive")), created,
                   bool(given.get("deleted_at")))  # fmt: skip

    @property
    def mark(self) -> str:
        """A digest of all that it says."""
        told = [*self.changes().values(), self.sensitive]
        return sha256(json.dumps([round(each, 2) if isinstance(each, float) else each for each in told]))[:16]

    def changes(self) -> dict[str, Any]:
        """What ``PUT /api/memories/{id}`` takes (a memory's category cannot be changed)."""
        return {"content": self.content, "tags": self.tags[:MAX_TAGS], "expanded_keywords": self.keywords[:MAX_TAGS],
                "importance": self.importance}  # fmt: skip


class Server:
    """A memory server at ``url``.

    Every call raises MemoryServerUnavailableError (unreachable, overloaded, over ``timeout`` seconds, cut off, or
    something else answers in its place), MemoryServerDeniedError (401, 403) or MemoryServerError with the status that
    the operation got.
    """

    def __init__(self, url: str, key: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        """``timeout``: seconds for a whole call. ExpectedError when ``url`` is no http(s) address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ExpectedError(f"memory_api_url must be an http(s) address, not {url!r}.")
        self.secure = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port or (443 if self.secure else 80)
        self.prefix, self.key, self.timeout = parts.path.rstrip("/"), key, timeout
        self.address = f"{self.host}:{self.port}{self.prefix}"

    def user(self) -> str:
        """Return the user of the key, ``""`` when the server does not say."""
        return str(self._call("GET", "/api/auth-check").get("user_id") or "")

    def listing(self) -> list[Memory]:
        """Return every row, deletions included; of one that cannot be read nothing could be said by its absence."""
        given = self._call("GET", f"/api/memories/sync?since={quote(_EVERYTHING)}", None, LISTING_SECONDS)
        try:
            return [Memory.read(each) for each in given["memories"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise MemoryServerError(f"the memory server sent something that is no memory: {error!r}") from error

    def add(self, memory: Memory) -> int:
        """Store a memory; returns its number."""
        try:
            return int(self._call("POST", "/api/memories", memory.changes() | {"category": memory.category})["id"])
        except (KeyError, TypeError, ValueError) as error:
            said = "the memory server stored a memory and did not say its number"
            raise MemoryServerUnavailableError(said) from error

    def change(self, memory: Memory) -> None:
        """Change a memory; MemoryServerError with status 404 when it is gone."""
        self._call("PUT", f"/api/memories/{memory.id}", memory.changes())

    def delete(self, number: int) -> None:
        """Delete a memory; one that is gone already is no error."""
        try:
            self._call("DELETE", f"/api/memories/{number}")
        except MemoryServerError as error:
            if error.status != 404:
                raise

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None, limit: float = 0) -> dict[str, Any]:
        found: list[tuple[int, bytes] | Exception] = []

        def ask() -> None:
            try:
                found.append(self._ask(method, path, body, limit or self.timeout))
            except (OSError, http.client.HTTPException, ValueError) as error:
                found.append(error)

        asking = threading.Thread(target=ask, daemon=True)  # no limit of a socket holds for a whole call
        asking.start()
        asking.join(limit or self.timeout)
        answer = found[0] if found else TimeoutError("its answer took too long")
        if isinstance(answer, Exception):
            raise MemoryServerUnavailableError(f"the memory server at {self.host} cannot be reached: {answer}")
        status, payload = answer
        if 200 <= status < 300:
            return _object(payload)
        if status >= 500 or status in _NOT_NOW:
            raise MemoryServerUnavailableError(f"the memory server answered {status}", status)
        if not _is_own(payload):  # a proxy, a portal: it knows nothing of the key and of the operation
            said = f"{self.address} answered {status}, and not as a memory server does; check MEMORY_API_URL."
            raise MemoryServerUnavailableError(said, 502)
        if status in (401, 403):
            said = f"the memory server refuses the key ({status}); check MEMORY_API_KEY."
            raise MemoryServerDeniedError(said, status)
        said = f"the memory server answered {status}: {payload[:200].decode('utf-8', 'replace')}"
        raise (MemoryServerError if status in _REFUSALS else MemoryServerUnavailableError)(said, status)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, limit: float) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.host, self.port, timeout=limit)
        headers = {"Authorization": f"Bearer {self.key}", "Accept": "application/json"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, self.prefix + path, json.dumps(body) if body is not None else None, headers)
            with connection.getresponse() as response:
                payload = response.read(MAX_ANSWER_BYTES)
                if response.length or len(payload) == MAX_ANSWER_BYTES:
                    raise http.client.IncompleteRead(b"", response.length)
                return response.status, payload
        finally:
            connection.close()


def _is_own(payload: bytes) -> bool:
    """Return whether an error is worded as the server words its own: a JSON object with ``detail``."""
    try:
        return "detail" in _object(payload)
    except MemoryServerError:
        return False


def _object(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise MemoryServerUnavailableError("the memory server's answer is not whole JSON") from error
    if not isinstance(value, dict):
        raise MemoryServerError("the memory server's answer is no JSON object")
    return value
