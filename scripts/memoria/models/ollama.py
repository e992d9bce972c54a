"""Ollama: a local model over HTTP (https://github.com/ollama/ollama/blob/main/docs/api.md), without cost or an SDK.

``/api/chat`` answers under a grammar derived from the schema.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import BadAnswerError, ModelError, ModelUnavailableError
from memoria.models import answer
from memoria.models.protocol import SYSTEM, Completion, JsonObject, Model, Prompt, Usage

CHARS_PER_TOKEN = 3  # code and non-English text take more tokens than prose; a large window is better than a cut text
ANSWER_TOKENS = 4_096
CONTEXT_STEP = 2_048  # ollama reloads a model whenever the window changes, so use few sizes
MAX_CONTEXT = 131_072
_LIMITS = frozenset({"maxLength", "minLength", "maxItems", "minItems", "pattern", "default", "minimum", "maximum"})


class Ollama:
    """A model of an ollama server."""

    def __init__(self, model: str, *, url: str, timeout_s: float) -> None:
        """``timeout_s`` is the deadline of a whole call, including loading."""
        self.model = model
        self.url = url.rstrip("/")
        self.timeout_s = timeout_s
        self.name = f"ollama:{model}"

    def complete(self, prompt: Prompt) -> Completion:
        """Ask once."""
        reply = JsonObject()
        try:
            reply = self._request(self._body(prompt))
            return Completion(self._read(reply, prompt), self.name, _usage(reply))
        except ModelError as error:
            error.usage = _usage(reply)
            raise

    def _read(self, reply: JsonObject, prompt: Prompt) -> JsonObject:
        if reply.get("done_reason") == "length":
            raise BadAnswerError(f"{self.name}'s answer exceeded the maximum length.")
        message = reply.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        return answer.read(content if isinstance(content, str) else "", prompt)

    def _body(self, prompt: Prompt) -> JsonObject:
        return {
            "model": self.model,
            "stream": False,
            "format": grammar(prompt.schema),
            "options": {"temperature": 0, "num_ctx": window(prompt.text)},
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt.text}],
        }

    def _request(self, body: JsonObject) -> JsonObject:
        """Make one HTTP exchange; raise ModelUnavailableError however it fails."""
        header, data = {"Content-Type": "application/json"}, json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/chat", data, header)  # noqa: S310 (the user's own URL)
        try:
            raw = _read(request, self.timeout_s)
            reply: Any = json.loads(raw)
        except urllib.error.HTTPError as error:
            error.close()  # the error is an open response as well
            raise self._refusal(error.code) from error
        except (OSError, ValueError) as error:
            raise self._connection_error(error) from error
        if not isinstance(reply, dict):
            raise ModelUnavailableError(f"{self.url} is not an ollama server.", retry_now=False)
        return reply

    def _refusal(self, status: int) -> ModelUnavailableError:
        if status == 404:
            remedy = f"ollama has no model {self.model!r}: run `ollama pull {self.model}`."
            return ModelUnavailableError(remedy, retry_now=False)
        return ModelUnavailableError(f"ollama answered HTTP {status}.", retry_now=status >= 500)  # else the job waits

    def _connection_error(self, error: Exception) -> ModelUnavailableError:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return ModelUnavailableError(f"{self.name} gave no answer within {self.timeout_s:g} s.")
        if isinstance(reason, ConnectionRefusedError):
            return ModelUnavailableError(f"nothing listens at {self.url}: start it: `ollama serve`.", retry_now=False)
        return ModelUnavailableError(f"ollama at {self.url} cannot be used ({reason}).")


def make(argument: str, settings: Settings, paths: Paths) -> Model:  # noqa: ARG001 (every backend is made alike)
    """Return the model ``ollama:<model>``."""
    return Ollama(argument, url=settings.ollama_url, timeout_s=settings.model_timeout_s)


def grammar(schema: Any) -> Any:
    """Return the schema without lengths (they make grammars explode), all fields required (small models skip)."""
    if not isinstance(schema, dict):
        return schema
    filtered = {key: part for key, part in schema.items() if key not in _LIMITS}
    if "properties" not in filtered:
        return {key: grammar(part) for key, part in filtered.items()}
    properties = {name: grammar(part) for name, part in filtered["properties"].items()}
    return {**filtered, "properties": properties, "required": list(properties)}


def window(text: str) -> int:
    """Return the context size for ``text`` and an answer; ollama's default size truncates the text silently."""
    tokens = len(text.encode()) // CHARS_PER_TOKEN + ANSWER_TOKENS
    return min(-(-tokens // CONTEXT_STEP) * CONTEXT_STEP, MAX_CONTEXT)


def _usage(reply: JsonObject) -> Usage:
    read, written = (reply.get(name) for name in ("prompt_eval_count", "eval_count"))
    return Usage(read, written) if isinstance(read, int) and isinstance(written, int) else Usage()


def _read(request: urllib.request.Request, timeout_s: float) -> bytes:
    """Return the body; raise TimeoutError when it is not complete in time (a socket's timeout applies to each read)."""
    deadline = time.monotonic() + timeout_s
    pieces = []
    with urllib.request.urlopen(request, timeout=max(0.01, timeout_s)) as response:  # noqa: S310 (the user's own URL)
        while piece := response.read1(65_536):
            pieces.append(piece)
            if time.monotonic() > deadline:
                raise TimeoutError
    return b"".join(pieces)
