"""A scripted Anthropic Messages API on loopback: the model behind the real client in tests.

The real ``claude`` program runs whole sessions against it; the test decides every answer and reads every request.
Knows the API's wire format (https://docs.claude.com/en/api/messages, streaming and not); knows nothing of memoria.

    with MessagesApi(lambda request: "hello") as api:
        run_claude(["-p", "hi"], clean_env(home, api.url), cwd)
    assert api.messages[0].text.endswith("hi")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from loopback import Handler, Json, Loopback


@dataclass(frozen=True)
class Status:
    """Answer with this HTTP status and an API error of this type."""

    code: int
    kind: str = "api_error"
    message: str = "scripted failure"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """An answer with everything said: content (text or blocks), why it stopped, what it used."""

    content: str | list[Json]
    stop_reason: str = ""
    input_tokens: int = 100
    output_tokens: int = 20


class Hang:
    """Never answer; the connection is closed when the server stops."""


Scripted = str | list[Json] | Reply | Status | Hang | Exception


@dataclass(frozen=True)
class Request:
    """One request as it arrived; ``size`` is the body's length in bytes, ``body`` is {} when it is no JSON."""

    method: str
    path: str
    size: int
    body: Json
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """The text of the last user message."""
        users = [message for message in self.body.get("messages", []) if message.get("role") == "user"]
        return _text_of(users[-1]["content"]) if users else ""

    @property
    def system(self) -> str:
        """The system prompt as text."""
        return _text_of(self.body.get("system", ""))

    @property
    def conversation(self) -> str:
        """The text of all messages and the system prompt."""
        return "\n".join([self.system, *(_text_of(message["content"]) for message in self.body.get("messages", []))])


def _text_of(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


class MessagesApi(Loopback):
    """The server as a context manager. ``answer`` maps a request's JSON to what is said; it runs on server threads.

    An Exception (returned or raised) drops the connection without a byte; raised ones are kept in ``raised``.
    ``requests`` holds everything that arrived, ``messages`` only the model calls.
    """

    def __init__(self, answer: Callable[[Json], Scripted]) -> None:
        super().__init__(_Handler)
        self.answer = answer
        self.requests: list[Request] = []

    @property
    def messages(self) -> list[Request]:
        """The model calls among the requests, in order of arrival."""
        return [request for request in self.requests if request.path.split("?")[0] == "/v1/messages"]


class _Handler(Handler):
    service: MessagesApi
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._record({}, 0)
        self.send(200, b"", "application/json")

    def do_GET(self) -> None:
        self._record({}, 0)
        self.json(200, {"data": [], "has_more": False})

    def do_POST(self) -> None:
        raw, body = self.body(), Json()
        with suppress(ValueError):
            body = json.loads(raw)
        self._record(body, len(raw))
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self.json(200, {"input_tokens": max(1, len(raw) // 4)})
        elif path == "/v1/messages":
            self._message(body)
        else:
            self.json(200, {})

    def _record(self, body: Json, size: int) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.service.requests.append(Request(self.command, self.path, size, body, headers))

    def _message(self, body: Json) -> None:
        said = self.service.answer(body)
        if isinstance(said, Hang):
            self.service.stopped.wait()
        if isinstance(said, Hang | Exception):
            self.close_connection = True
            return
        if isinstance(said, Status):
            error_body = {"type": "error", "error": {"type": said.kind, "message": said.message}}
            self.json(said.code, error_body, said.headers)
            return
        message = _message(said if isinstance(said, Reply) else Reply(said), str(body.get("model", "scripted")))
        if body.get("stream"):
            self.send(200, b"".join(map(_event, _stream(message))), "text/event-stream")
        else:
            self.json(200, message)


def _message(reply: Reply, model: str) -> Json:
    blocks = [{"type": "text", "text": reply.content}] if isinstance(reply.content, str) else reply.content
    calls_tool = any(block.get("type") == "tool_use" for block in blocks)
    return {
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": blocks,
        "stop_reason": reply.stop_reason or ("tool_use" if calls_tool else "end_turn"), "stop_sequence": None,
        "usage": {
            "input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }  # fmt: skip


def _stream(message: Json) -> Iterator[Json]:
    """The same message as the API's stream of events."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, delta = _pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _pieces(block: Json) -> tuple[Json, Json]:
    if block["type"] == "tool_use":
        arguments = json.dumps(block.get("input", {}))
        return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}


def _event(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
