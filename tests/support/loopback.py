"""A web server of a test on 127.0.0.1, as a context manager: what the scripted services have in common."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


class Loopback:
    """Serves from ``with`` to its end on a free port. ``stopped`` is set at the end: a handler that hangs waits for it.

    What a handler raises is kept in ``raised`` instead of printed; broken connections are not.
    """

    def __init__(self, handler: type[Handler]) -> None:
        self.raised: list[BaseException | None] = []
        self.stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), handler)
        self._server.service = self

    @property
    def url(self) -> str:
        """Base address of the service."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    service: Loopback

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.service.raised.append(error)


class Handler(BaseHTTPRequestHandler):
    """Answers of a service; ``service`` is the Loopback that it belongs to."""

    server: _Server

    @property
    def service(self) -> Loopback:
        """The service whose request this is."""
        return self.server.service

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Say nothing: tests read what the service kept."""

    def body(self) -> bytes:
        """The request's body."""
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def json(self, code: int, value: object, headers: dict[str, str] | None = None) -> None:
        """Answer with ``value`` as JSON."""
        self.send(code, json.dumps(value).encode(), "application/json", headers)

    def send(self, code: int, payload: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        """Answer with these bytes of this content type."""
        self.send_response(code)
        for name, value in {"content-type": kind, "content-length": str(len(payload)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)
