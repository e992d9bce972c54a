"""A memory server on loopback that behaves as claude-memory-mcp does, with faults to order.

As there: numbers from a sequence that a restore sets back, ``created_at`` and ``updated_at`` by the server's clock
(``skew``), importance as a 32-bit number, soft deletion, tombstones only in a sync with ``since``, no pages; 401
without a known key, 422, which quotes what was sent, above 1,400 characters of content or 500 of tags or keywords when
a row is stored (of content only when it is changed), 400 for a change of nothing, 403 for a row of another user, a
deletion repeated answers 200. One row cannot be asked for (405).

``faults``: what to do to the next requests: a status, ``"slow"``, ``"cut"`` (the work is done, the answer breaks off in
mid-body), ``"drip"`` (a byte now and then), ``"late"``, ``"junk"``, ``"proxy 302"`` (another answers in its place with
that status), or None for nothing. ``fault_for``: the same by method, by method and path, or with the path's query.
"""

from __future__ import annotations

import copy
import json
import struct
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Handler, Loopback

KEY = "key-for-tests"
OTHER_KEY = "key-of-another-user"
DELAYS: dict[int | str | None, float] = {"late": 1.5, "slow": 20}  # seconds
Answer = tuple[int, dict[str, Any]]


class MemoryServer(Loopback):
    def __init__(self) -> None:
        super().__init__(_Handler)
        self.memories: dict[int, dict[str, Any]] = {}
        self.sequence = 0
        self.faults: list[int | str | None] = []
        self.fault_for: dict[str, int | str] = {}
        self.requests: list[tuple[str, str]] = []
        self.key = KEY
        self.hidden: set[int] = set()  # rows that the next listing leaves out
        self.shared: set[int] = set()  # rows of other users that everyone may write
        self.skew = timedelta()
        self.last = datetime.min.replace(tzinfo=UTC)
        self.lock = threading.Lock()

    def now(self) -> str:
        """The database's clock; no two rows share a moment."""
        moment = datetime.now(UTC) + self.skew
        self.last = max(moment, self.last + timedelta(microseconds=1))
        return self.last.isoformat()

    def live(self) -> list[str]:
        return sorted(memory["content"] for memory in self.memories.values() if not memory["deleted_at"])

    def backup(self) -> tuple[dict[int, dict[str, Any]], int]:
        return copy.deepcopy(self.memories), self.sequence

    def restore(self, backup: tuple[dict[int, dict[str, Any]], int]) -> None:
        self.memories, self.sequence = copy.deepcopy(backup[0]), backup[1]

    def replace(self) -> None:
        """Another server answers at this address."""
        self.memories, self.sequence = {}, 0

    def written(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.requests if method != "GET"]

    def fault(self, method: str, path: str) -> int | str | None:
        for name in (f"{method} {path}", f"{method} {urlsplit(path).path}", method):
            if name in self.fault_for:
                return self.fault_for[name]
        return self.faults.pop(0) if self.faults else None

    def answer(self, user: str, method: str, path: str, body: dict[str, Any]) -> Answer:
        parts = urlsplit(path)
        if parts.path == "/api/auth-check":
            return 200, {"status": "ok", "user_id": user}
        if parts.path == "/api/memories/sync":
            return 200, self.sync(user, parse_qs(parts.query).get("since", [""])[0])
        if method == "POST" and parts.path == "/api/memories":
            return self.store(body, user)
        return self.one(user, method, int(parts.path.rsplit("/", 1)[1]), body)

    def sync(self, user: str, since: str) -> dict[str, Any]:
        after = datetime.fromisoformat(since) if since else None
        chosen = [
            {name: value for name, value in memory.items() if name != "user_id"}
            for number, memory in self.memories.items()
            if memory["user_id"] == user
            and number not in self.hidden
            and (datetime.fromisoformat(memory["updated_at"]) > after if after else not memory["deleted_at"])
        ]
        self.hidden = set()
        return {"memories": sorted(chosen, key=lambda memory: str(memory["updated_at"])), "server_time": self.now()}

    def store(self, body: dict[str, Any], user: str = "default") -> Answer:
        if len(body["content"]) > 1_400 or any(len(body.get(name, "")) > 500 for name in ("tags", "expanded_keywords")):
            return 422, {"detail": [{"msg": "content exceeds the bound", "input": body["content"]}]}
        self.sequence += 1
        moment = self.now()
        self.memories[self.sequence] = {
            "id": self.sequence, "user_id": user, "content": body["content"], "category": body.get("category", "facts"),
            "tags": body.get("tags", ""), "expanded_keywords": body.get("expanded_keywords", ""),
            "importance": _float32(body.get("importance", 0.5)), "is_sensitive": bool(body.get("force_sensitive")),
            "created_at": moment, "updated_at": moment, "deleted_at": None,
        }  # fmt: skip
        return 200, {"id": self.sequence, "category": body.get("category", "facts"), "importance": 0.5}

    def one(self, user: str, method: str, number: int, body: dict[str, Any]) -> Answer:
        memory = self.memories.get(number)
        if method == "GET":
            return 405, {"detail": "Method Not Allowed"}
        if memory is None or memory["deleted_at"]:
            gone = {"deleted": number, "preview": "[already deleted]"}
            return (200, gone) if method == "DELETE" else (404, {"detail": "Memory not found"})
        if memory["user_id"] != user and not (method == "PUT" and number in self.shared):
            return 403, {"detail": "Only the owner may do this"}
        if method == "DELETE":
            memory["deleted_at"] = memory["updated_at"] = self.now()
            return 200, {"deleted": number, "preview": memory["content"][:50]}
        return self.change(memory, body)

    def change(self, memory: dict[str, Any], body: dict[str, Any]) -> Answer:
        if len(body.get("content") or "") > 1_400:
            return 422, {"detail": [{"msg": "content exceeds the bound", "input": body["content"]}]}
        given = {name: value for name, value in body.items() if value is not None}
        if not given:
            return 400, {"detail": "No fields to update"}
        memory.update(given)
        memory["importance"] = _float32(memory["importance"])
        memory["updated_at"] = self.now()
        return 200, {"updated": memory["id"]}


def _status(fault: int | str | None) -> int:
    return int(str(fault).removeprefix("proxy ")) if str(fault).removeprefix("proxy ").isdigit() else 0


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


class _Handler(Handler):
    service: MemoryServer

    def serve(self) -> None:
        server, body = self.service, json.loads(self.body() or b"{}")
        with server.lock:
            server.requests.append((self.command, self.path))
            fault = server.fault(self.command, self.path)
            key = str(self.headers.get("Authorization")).removeprefix("Bearer ")
            user = {server.key: "default", OTHER_KEY: "other"}.get(key)
            if user is None:
                status, answer = 401, {"detail": "Invalid API key"}
            elif ordered := _status(fault):
                status, answer = ordered, {"detail": "fault"}
            else:
                status, answer = server.answer(user, self.command, self.path, body)
        if fault in DELAYS:
            server.stopped.wait(DELAYS[fault])
        payload = b"<html>" if str(fault).startswith(("junk", "proxy")) else json.dumps(answer).encode()
        if fault == "drip":
            self.drip(payload)
        elif fault == "cut":
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload[: len(payload) // 2])
        else:
            self.send(status, payload, "application/json")

    do_GET = do_POST = do_PUT = do_DELETE = serve

    def drip(self, payload: bytes) -> None:
        for byte in f"HTTP/1.0 200 OK\r\nContent-Length: {len(payload)}\r\n\r\n".encode() + payload:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if self.service.stopped.wait(0.05):
                return
