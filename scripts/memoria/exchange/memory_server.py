"""Memory server: speak HTTP with a server that has the interface of claude-memory-mcp.

Bearer key; ``since`` and ``server_time`` are the server's own clock, never ours; deleted rows come with ``deleted_at``
in a sync that has a ``since`` and not at all in one that has none; a listing has no pages. Standard library only: one
small JSON call at a time, a deadline around the whole of it, no redirects (the key goes to the named host alone). Knows
no facts and no store.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, urlsplit

from memoria.ground import clock
from memoria.ground.errors import (
    ExpectedError,
    MemoryServerDeniedError,
    MemoryServerError,
    MemoryServerUnavailableError,
)

MAX_CONTENT: Final = 1_400  # characters; the server answers 422 above
MAX_TAGS: Final = 500  # characters of ``tags`` and of ``expanded_keywords``
MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024  # bytes of an answer
TIMEOUT_SECONDS: Final = 5.0  # for a whole call
LISTING_SECONDS: Final = 60.0  # for a call that lists everything
EVERYTHING: Final = "1970-01-01T00:00:00+00:00"  # the ``since`` that also brings every tombstone
_REFUSALS: Final = (400, 404, 409, 413, 422)  # statuses that say something about the operation
_BAD_GATEWAY: Final = 502
_UNKNOWN_ROUTE: Final = (404, 405, 501)  # statuses of a path or method that an older server does not have


@dataclass(frozen=True, slots=True)
class Memory:
    """A row as the server has it; ``tags`` and ``keywords`` are comma-separated, times ISO 8601 by its clock.

    ``owner``: the user it belongs to, ``""`` where the server does not say (a sync lists the caller's own rows only).
    """

    id: int
    content: str
    category: str = "facts"
    tags: str = ""
    keywords: str = ""
    importance: float = 0.5
    sensitive: bool = False
    created: str = ""
    deleted: bool = False
    updated: str = ""
    owner: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Memory:
        """Read one object of an answer. MemoryServerError when it is no row."""
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
                updated=str(given.get("updated_at") or ""),
                owner=str(given.get("shared_by") or given.get("owner") or ""),
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
    """A sync's answer: the rows and the server's clock.

    ``whole`` is false when some rows could not be read. ``asked``: when the question was sent, by this machine's clock,
    in seconds since the epoch.
    """

    memories: tuple[Memory, ...]
    server_time: str
    whole: bool = True
    asked: float = field(default_factory=lambda: clock.now().timestamp())

    def moment(self, epoch: float) -> datetime | None:
        """Return what the server's clock showed at a moment of this machine's clock, from how long ago it was."""
        told = clock.parse(self.server_time)
        return told - timedelta(seconds=self.asked - epoch) if told and epoch else None


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
        self.host, self.port = parts.hostname, parts.port
        self.prefix = parts.path.rstrip("/")
        self.key = key
        self.timeout = timeout

    @property
    def address(self) -> str:
        """The server's address without what says nothing about which server it is."""
        port = self.port or (443 if self.secure else 80)
        return f"{self.host}:{port}{self.prefix}"

    def user(self) -> str:
        """Return the user of the key, ``""`` when the server cannot say."""
        try:
            return str(self._call("GET", "/api/auth-check").get("user_id") or "")
        except MemoryServerError as error:
            if error.status not in _UNKNOWN_ROUTE:
                raise
            return ""

    def sync(self, since: str = "") -> Page:
        """Return what changed since a ``server_time``, deletions included; without it every row that is not deleted."""
        asked = (
            clock.now().timestamp()
        )  # not after the answer, or one that takes long would make every edit here look older
        path = "/api/memories/sync" + (f"?since={quote(since)}" if since else "")
        answer = self._call("GET", path, None, LISTING_SECONDS if since in ("", EVERYTHING) else 0)
        given = answer.get("memories")
        if not isinstance(given, list):
            raise MemoryServerError("the memory server's sync holds no list of memories")
        read = [memory for memory in map(_row, given) if memory]
        return Page(tuple(read), str(answer.get("server_time") or ""), len(read) == len(given), asked)

    def get(self, number: int) -> Memory | None:
        """Return one live row, None when there is none.

        A server that knows no such question answers 405: MemoryServerError with that status.
        """
        try:
            return Memory.read(self._call("GET", f"/api/memories/{number}"))
        except MemoryServerError as error:
            if error.status != 404:
                raise
            return None

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

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, timeout: float = 0
    ) -> dict[str, Any]:
        try:
            status, payload = self._exchange(method, self.prefix + path, body, timeout or self.timeout)
        except (OSError, http.client.HTTPException) as error:
            raise MemoryServerUnavailableError(
                f"the memory server at {self.host} cannot be reached: {error}"
            ) from error
        if 200 <= status < 300:
            return _object(payload)
        if status >= 500 or status in (408, 425, 429):
            raise MemoryServerUnavailableError(f"the memory server answered {status}", status)
        if not _is_own(payload):  # a proxy, a portal: it knows nothing of the key and of the operation
            raise MemoryServerUnavailableError(
                f"{self.address} answered {status}, and not as a memory server does; check MEMORY_API_URL.",
                _BAD_GATEWAY,
            )
        if status in (401, 403):
            raise MemoryServerDeniedError(
                f"the memory server refuses the key ({status}); check MEMORY_API_KEY.", status
            )
        said = f"the memory server answered {status}: {payload[:200].decode('utf-8', 'replace')}"
        raise (MemoryServerError if status in _REFUSALS else MemoryServerUnavailableError)(said, status)

    def _exchange(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> tuple[int, bytes]:
        deadline = time.monotonic() + timeout
        connection = self._connection(deadline)
        watch = threading.Timer(deadline - time.monotonic(), _cut, [connection.sock])
        watch.daemon = True
        watch.start()
        try:
            data = json.dumps(body).encode() if body is not None else None
            headers = {"Authorization": f"Bearer {self.key}", "Accept": "application/json"}
            if data is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, _read(response, deadline)
        finally:
            watch.cancel()
            connection.close()

    def _connection(self, deadline: float) -> http.client.HTTPConnection:
        """Return an open connection; a host with several addresses gets one deadline for all of them."""
        port = self.port or (443 if self.secure else 80)
        sock = _dial(self.host, port, deadline)
        sock.settimeout(max(0.01, deadline - time.monotonic()))
        if not self.secure:
            connection = http.client.HTTPConnection(self.host, port)
            connection.sock = sock
            return connection
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(self.host, port, context=context)
        connection.sock = context.wrap_socket(sock, server_hostname=self.host)
        return connection


def _row(given: object) -> Memory | None:
    try:
        return Memory.read(given) if isinstance(given, dict) else None
    except MemoryServerError:
        return None


def _dial(host: str, port: int, deadline: float) -> socket.socket:
    failure: OSError = TimeoutError("it has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(max(0.01, deadline - time.monotonic()))
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


def _cut(sock: socket.socket) -> None:
    """End a call at its deadline, however slowly the other side goes on sending."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:  # it ended by itself
        return


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """Return the whole body; a body that ends early is an IncompleteRead."""
    chunks = []
    size = 0
    while chunk := response.read1(65_536):
        chunks.append(chunk)
        size += len(chunk)
        if time.monotonic() >= deadline:
            raise TimeoutError("its answer took too long")
        if size > MAX_ANSWER_BYTES:
            raise http.client.HTTPException("its answer is too large")
    if response.length:  # read1 reports a break in mid-body as an end
        raise http.client.IncompleteRead(b"".join(chunks), response.length)
    return b"".join(chunks)


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
