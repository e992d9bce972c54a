"""A loopback server that speaks the call of ollama's API that memoria uses."""

from __future__ import annotations

import json
from collections.abc import Callable

from loopback import Handler, Json, Loopback


class OllamaApi(Loopback):
    """``answer`` maps a chat request to the reply's content, a whole reply, an HTTP status, or None to hang."""

    def __init__(self, answer: Callable[[Json], str | Json | int | None]) -> None:
        super().__init__(_Handler)
        self.answer = answer
        self.requests: list[Json] = []


class _Handler(Handler):
    service: OllamaApi

    def do_POST(self) -> None:
        body = json.loads(self.body())
        self.service.requests.append(body)
        said = self.service.answer(body)
        if said is None:
            self.service.stopped.wait()
        elif isinstance(said, int):
            self.json(said, {"error": "scripted failure"})
        elif isinstance(said, dict):
            self.json(200, said)
        else:
            message = {"role": "assistant", "content": said}
            counts = {"prompt_eval_count": 100, "eval_count": 20}
            self.json(200, {"model": body["model"], "message": message, "done": True, "done_reason": "stop", **counts})
