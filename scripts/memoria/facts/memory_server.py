"""Remote: speaking HTTP with a memory server that has the interface of claude-memory-mcp.

Endpoints, fields and limits as in ``api/app.py`` and ``api/models.py`` of ViktorBarzin/claude-memory-mcp: Bearer key;
``since`` and ``server_time`` are the server's own clock, never ours; deleted memories come with ``deleted_at`` in a
sync that has a ``since`` and not at all in one that has none. Standard library only: one small JSON call at a time, a
deadline around the whole of it, no redirects (the key goes to the named host alone). Knows no facts and no store.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
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

MAX_CONTENT: Final = 1_400  # characters; the server answers 422 above
MAX_TAGS: Final = 500  # characters of ``tags`` and of ``expanded_keywords``
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024  # bytes of an answer
_PASSING: Final = (408, 425, 429, 502, 503, 504)  # statuses that say nothing about the operation


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as the server has it; ``tags`` and ``keywords`` are comma-separated, times ISO 8601 by its clock."""

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
        """From one object of a sync or recall answer. MemoryServerError when it is none."""
        try:
            return cls(
                id=int(given["id"]),
                content=str(given.get("content") or ""),
                category=str(given.get("category") or "facts"),
                tags=str(given.get("tags") or ""),
                keywords=str(given.get("expanded_keywords") or ""),
                importance=float(given.get("importance", 0.5)),
                sensitive=bool(given.get("is_sensitive")),
                created=str(given.get("created_at") or ""),
                deleted=bool(given.get("deleted_at")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise MemoryServerError(f"the memory server sent something that is no memory: {error}") from error

    def body(self) -> dict[str, Any]:
        """What ``POST /api/memories`` takes."""
        return {**self.changes(), "category": self.category}

    def changes(self) -> dict[str, Any]:
        """What ``PUT /api/memories/{id}`` takes (a memory's category cannot be changed)."""
        return {
            "content": self.content,
            "tags": self.tags[:MAX_TAGS],
            "expanded_keywords": self.keywords[:MAX_TAGS],
            "importance": self.importance,
        }


@dataclass(frozen=True, slots=True)
class Page:
    """A sync's answer: the memories, and the server's clock when it was asked (the next ``since``)."""

    memories: tuple[Memory, ...]
    server_time: str


class Server:
    """A memory server at ``url``.

    Every call raises MemoryServerUnavailableError (unreachable, overloaded, over ``timeout`` seconds, cut off),
    MemoryServerDeniedError (401, 403) or MemoryServerError with the status that the operation got.
    """

    def __init__(self, url: str, key: str, *, timeout: float = 15.0) -> None:
        """``timeout``: seconds for a whole call. ExpectedError when ``url`` is no http(s) address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ExpectedError(f"memory_api_url must be an http(s) address, not {url!r}.")
        self.secure = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port
        self.prefix = parts.path.rstrip("/")
        self.key = key
        self.timeout = timeout

    def check(self) -> None:
        """Whether the key is good; raises when it is not."""
        self._call("GET", "/api/auth-check")

    def sync(self, since: str = "") -> Page:
        """What changed since a ``server_time``, deletions included; without it everything that is not deleted."""
        answer = self._call("GET", "/api/memories/sync" + (f"?since={quote(since)}" if since else ""))
        memories = answer.get("memories")
        if not isinstance(memories, list):
            raise MemoryServerError("the memory server's sync holds no list of memories")
        read = [Memory.read(given) for given in memories if isinstance(given, dict)]
        return Page(tuple(read), str(answer.get("server_time") or ""))

    def add(self, memory: Memory) -> int:
        """Store a memory; returns its number."""
        try:
            return int(self._call("POST", "/api/memories", memory.body())["id"])
        except (KeyError, TypeError, ValueError) as error:
            raise MemoryServerUnavailableError(
                "the memory server stored a memory and did not say its number"
            ) from error

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

    def recall(self, context: str, *, limit: int = 10) -> list[Memory]:
        """The memories that the server finds for some words, best first."""
        answer = self._call(
            "POST", "/api/memories/recall", {"context": context, "limit": limit, "sort_by": "relevance"}
        )
        return [Memory.read(given) for given in answer.get("memories") or [] if isinstance(given, dict)]

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            status, payload = self._exchange(method, self.prefix + path, body)
        except (OSError, http.client.HTTPException) as error:
            raise MemoryServerUnavailableError(
                f"the memory server at {self.host} cannot be reached: {error}"
            ) from error
        if status in (401, 403):
            raise MemoryServerDeniedError(
                f"the memory server refuses the key ({status}); check MEMORY_API_KEY.", status
            )
        if status in _PASSING:
            raise MemoryServerUnavailableError(f"the memory server answered {status}", status)
        if not 200 <= status < 300:
            raise MemoryServerError(
                f"the memory server answered {status}: {payload[:200].decode('utf-8', 'replace')}", status
            )
        return _object(payload)

    def _exchange(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, bytes]:
        deadline = time.monotonic() + self.timeout
        connection = self._connection()
        try:
            data = json.dumps(body).encode() if body is not None else None
            headers = {"Authorization": f"Bearer {self.key}", "Accept": "application/json"}
            if data is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, _read(connection, response, deadline)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self.secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=context)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)


def _read(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
    """The whole body before the deadline; a body that ends early is an IncompleteRead."""
    chunks = []
    size = 0
    while chunk := response.read1(65_536):
        chunks.append(chunk)
        size += len(chunk)
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout("its answer took too long")  # noqa: UP041 (the name says what it is)
        if size > MAX_ANSWER_BYTES:
            raise http.client.HTTPException("its answer is too large")
        if connection.sock is not None:
            connection.sock.settimeout(left)
    if response.length:  # read1 reports a break in mid-body as an end
        raise http.client.IncompleteRead(b"".join(chunks), response.length)
    return b"".join(chunks)


def _object(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise MemoryServerUnavailableError("the memory server's answer is not whole JSON") from error
    if not isinstance(value, dict):
        raise MemoryServerError("the memory server's answer is no JSON object")
    return value
