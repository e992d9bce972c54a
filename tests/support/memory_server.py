"""A memory server on loopback that behaves as claude-memory-mcp is documented to, with faults to order.

Own clock (``skew``), numbers, soft deletion, 422 above 1,400 characters, 401 without the key. ``faults``: a list of
what to do to the next requests: a status, ``"slow"``, ``"cut"`` (the work is done, the answer breaks off in mid-body),
``"junk"``, or None for nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "key-for-tests"


class MemoryServer:
    def __init__(self) -> None:
        self.memories: dict[int, dict[str, Any]] = {}
        self.faults: list[int | str | None] = []
        self.fault_for: dict[str, int | str] = {}  # by method
        self.requests: list[tuple[str, str]] = []
        self.key = KEY
        self.skew = timedelta()
        self.ticks = 0
        self.lock = threading.Lock()
        self.url = ""
        self.hold = threading.Event()

    def now(self) -> str:
        self.ticks += 1
        return (datetime(2026, 11, 21, 9, 0, tzinfo=UTC) + self.skew + timedelta(milliseconds=self.ticks)).isoformat()

    def live(self) -> list[str]:
        return sorted(memory["content"] for memory in self.memories.values() if not memory["deleted_at"])

    def fault(self, method: str) -> int | str | None:
        if method in self.fault_for:
            return self.fault_for[method]
        return self.faults.pop(0) if self.faults else None

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(path)
        if parts.path == "/api/auth-check":
            return 200, {"status": "ok", "user_id": "default"}
        if parts.path == "/api/memories/sync":
            return 200, self.sync(parse_qs(parts.query).get("since", [""])[0])
        if method == "POST" and parts.path == "/api/memories/recall":
            words = set(str(body["context"]).lower().split())
            found = [m for m in self.memories.values() if words & set(m["content"].lower().split())]
            return 200, {"memories": [m for m in found if not m["deleted_at"]][: body["limit"]]}
        if method == "POST" and parts.path == "/api/memories":
            return self.store(body)
        return self.one(method, int(parts.path.rsplit("/", 1)[1]), body)

    def sync(self, since: str) -> dict[str, Any]:
        time = self.now()
        chosen = [
            memory
            for memory in self.memories.values()
            if (memory["updated_at"] > since if since else not memory["deleted_at"])
        ]
        return {"memories": sorted(chosen, key=lambda memory: str(memory["updated_at"])), "server_time": time}

    def store(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if len(body["content"]) > 1_400 or len(body.get("tags", "")) > 500:
            return 422, {"detail": "String should have at most 1400 characters"}
        number = len(self.memories) + 1
        self.memories[number] = {
            "id": number,
            "content": body["content"],
            "category": body.get("category", "facts"),
            "tags": body.get("tags", ""),
            "expanded_keywords": body.get("expanded_keywords", ""),
            "importance": body.get("importance", 0.5),
            "is_sensitive": False,
            "created_at": self.now(),
            "updated_at": self.now(),
            "deleted_at": None,
        }
        return 200, {"id": number, "category": body.get("category", "facts"), "importance": 0.5}

    def one(self, method: str, number: int, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        memory = self.memories.get(number)
        if memory is None or memory["deleted_at"]:
            return 404, {"detail": "Memory not found"}
        if method == "PUT" and len(body.get("content") or "") > 1_400:
            return 422, {"detail": "String should have at most 1400 characters"}
        memory["updated_at"] = self.now()
        if method == "PUT":
            memory.update({name: value for name, value in body.items() if value is not None})
            return 200, {"id": number}
        memory["deleted_at"] = self.now()
        return 200, {"deleted": number}


def _handler(server: MemoryServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def serve(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            with server.lock:
                server.requests.append((self.command, self.path))
                fault = server.fault(self.command)
                if self.headers.get("Authorization") != f"Bearer {server.key}":
                    status, answer = 401, {"detail": "Invalid API key"}
                elif isinstance(fault, int):
                    status, answer = fault, {"detail": "fault"}
                else:
                    status, answer = server.answer(self.command, self.path, body)
            if fault == "slow":
                server.hold.wait(20)
            self.reply(status, b"<html>" if fault == "junk" else json.dumps(answer).encode(), cut=fault == "cut")

        do_GET = do_POST = do_PUT = do_DELETE = serve

        def reply(self, status: int, payload: bytes, *, cut: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            with suppress(BrokenPipeError):  # a client that gave up waiting
                self.wfile.write(payload[: len(payload) // 2] if cut else payload)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's name)
            pass

    return Handler


@contextmanager
def running() -> Iterator[MemoryServer]:
    server = MemoryServer()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as web:
        web.daemon_threads = True
        server.url = f"http://127.0.0.1:{web.server_address[1]}"
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.hold.set()
            web.shutdown()
            thread.join()
