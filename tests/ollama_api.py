"""A loopback server that speaks the two calls of ollama's API that memoria uses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


class OllamaApi:
    """``answer`` maps a chat request to the reply's content, a whole reply, an HTTP status, or None to hang."""

    def __init__(self, answer: Callable[[Json], str | Json | int | None], installed: Sequence[str]) -> None:
        self.answer = answer
        self.installed = list(installed)
        self.requests: list[Json] = []
        self.stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.api = self

    @property
    def url(self) -> str:
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
    api: OllamaApi


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(200, {"models": [{"name": name} for name in self.server.api.installed]})

    def do_POST(self) -> None:
        api = self.server.api
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        api.requests.append(body)
        said = api.answer(body)
        if said is None:
            api.stopped.wait()
        elif isinstance(said, int):
            self._send(said, {"error": "scripted failure"})
        elif isinstance(said, dict):
            self._send(200, said)
        else:
            message = {"role": "assistant", "content": said}
            counts = {"prompt_eval_count": 100, "eval_count": 20}
            self._send(200, {"model": body["model"], "message": message, "done": True, "done_reason": "stop", **counts})

    def _send(self, code: int, value: Json) -> None:
        payload = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
