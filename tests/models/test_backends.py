"""One suite for all model backends, and tests of what is particular to those that use a service.

``claude`` is the Agent SDK's own client against a scripted Messages API, ``ollama`` a loopback server.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loopback import Json
from memoria.base import user_environment
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground import client_program
from memoria.ground.errors import BadAnswerError, ModelError, ModelUnavailableError, Usage
from memoria.models import answer, protocol, tasks
from memoria.models.claude import TOOL_SERVERS, Claude, load_sdk
from memoria.models.ollama import Ollama, make, window
from memoria.models.protocol import JsonObject, Model, Prompt
from messages_api import Hang, MessagesApi, Reply, Status
from ollama_api import OllamaApi
from places import ROOT, TESTS
from real_client import bundled_claude, users_env
from scripted_model import Scripted

FLUSH = tasks.flush(
    {
        "project": "shop",
        "exchanges": [
            {
                "user": "Fix the race in flush.py. Always take the lock first.",
                "assistant": "The cause was a missing lock. Fixed it in `flush.py`.", "tools": ["Bash uv run pytest"],
                "errors": [], "notes": [],
            }
        ],
    }
)  # fmt: skip
STATEMENT = {"id": "l-01k9x2", "kind": "preference", "day": "2026-11-21", "about": "", "text": "Take the lock first."}
COMPILE = tasks.compile_({"statements": [STATEMENT], "articles": [], "index": []})
ANSWERS: dict[str, JsonObject] = {
    "flush": {"worth_saving": True, "title": "Fix the race in `flush.py`"},
    "compile": {"places": [{"id": "l-01k9x2", "article": "flush-race"}], "articles": [{"slug": "flush-race"}]},
}


@dataclass
class Backend:
    """How a test brings one backend to answer, to answer badly, and to be away."""

    saying: Callable[[str], Model]
    away: Callable[[], Model] | None


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def claude(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: ExitStack
) -> Callable[..., tuple[Claude, MessagesApi]]:
    """A claude whose API answers as told; the environment is a user's, and nothing else."""

    def make(said: Callable[[Json], Any], timeout_s: float = 60.0, **more: str) -> tuple[Claude, MessagesApi]:
        api = stack.enter_context(MessagesApi(said))
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in users_env(tmp_path / "user", api.url, **more).items():
            monkeypatch.setenv(name, value)
        return Claude("haiku", cwd=tmp_path / "state" / "claude", timeout_s=timeout_s, projects={}), api

    return make


def _ollama(stack: ExitStack, said: Any, timeout_s: float = 20.0) -> tuple[Model, OllamaApi]:
    api = stack.enter_context(OllamaApi(lambda _: said))
    settings = Settings.load({"MEMORIA_OLLAMA_URL": api.url, "MEMORIA_LIMIT_MODEL_TIMEOUT_S": str(timeout_s)})
    return make("qwen2.5:3b", settings, Paths("")), api


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow if name == "claude" else ()) for name in protocol.BACKENDS]
)
def backend(
    request: pytest.FixtureRequest, claude: Callable[..., tuple[Claude, MessagesApi]], stack: ExitStack, paths: Paths
) -> Backend:
    """Each backend of the table; a new one says here how it is brought to answer and to be away."""
    makers: dict[str, Backend] = {
        "claude": Backend(
            lambda said: claude(lambda _: said)[0], lambda: claude(lambda _: Status(529, "overloaded_error"))[0]
        ),
        "ollama": Backend(lambda said: _ollama(stack, said)[0], lambda: _ollama(stack, 503)[0]),
        "scripted": Backend(lambda said: Scripted([said]), lambda: Scripted([ModelUnavailableError("away")])),
        "offline": Backend(lambda _: protocol.from_settings(Settings.load({"MEMORIA_MODEL": "offline"}), paths), None),
    }
    return makers[request.param]


@pytest.mark.parametrize("prompt", [FLUSH, COMPILE], ids=["flush", "compile"])
def test_an_answer_fits_the_schema_and_is_booked(backend: Backend, prompt: Prompt) -> None:
    model = backend.saying("Gladly:\n```json\n" + json.dumps(ANSWERS[prompt.task]) + "\n```")
    completion = model.complete(prompt)
    assert answer.check(completion.data, prompt.schema) == completion.data
    assert completion.data.get("worth_saving") or "places" in completion.data
    assert completion.model == model.name
    if completion.model != "offline":
        assert completion.data.get("worth_saving") or completion.data["places"][0]["article"] == "flush-race"
        assert completion.usage.input_tokens > 0
        assert completion.usage.output_tokens > 0


@pytest.mark.parametrize("said", ["", "I cannot do that.", '{"worth_saving": "perhaps"}', '{"worth_saving": true, "ti'])
def test_a_bad_answer_raises_and_is_booked_all_the_same(backend: Backend, said: str) -> None:
    model = backend.saying(said)
    offline = model.name == "offline"
    with pytest.raises(BadAnswerError) as caught:
        model.complete(Prompt("contradictions", "", {}) if offline else FLUSH)
    assert offline or caught.value.usage.input_tokens > 0


def test_a_model_that_is_away_says_so(backend: Backend) -> None:
    if backend.away is None:
        return  # offline is always there
    with pytest.raises(ModelUnavailableError) as caught:
        backend.away().complete(FLUSH)
    assert caught.value.retry_now


# ---- claude


@pytest.mark.slow
@pytest.mark.parametrize(("stands_in", "left"), [(TOOL_SERVERS, "set()"), (("mcp",), "{'mcp'}")])
def test_the_sdk_is_loaded_without_what_serves_tools_unless_it_needs_more(
    stands_in: tuple[str, ...], left: str
) -> None:
    told = (
        f"import sys; from memoria.models import claude; claude.TOOL_SERVERS = {stands_in}; claude.load_sdk(); "
        "from claude_agent_sdk import query; print({'mcp'}.intersection(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == left


@pytest.mark.slow
def test_claude_answers_where_nothing_is_installed_but_what_the_lock_names(
    claude: Callable[..., tuple[Claude, MessagesApi]],
) -> None:
    model, _ = claude(lambda _: json.dumps(ANSWERS["flush"]))
    program = (TESTS / "fixtures" / "programs" / "only-locked.txt").read_text("utf-8")
    told = [sys.executable, "-c", program, str(ROOT / "requirements.lock"), str(model.cwd)]
    done = subprocess.run(told, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Fix the race in `flush.py`", done.stderr
    assert done.stderr.endswith("ModuleNotFoundError: mcp\n")


@pytest.mark.slow
def test_claude_gets_no_tool_and_nothing_of_the_users_settings(
    claude: Callable[..., tuple[Claude, MessagesApi]], tmp_path: Path
) -> None:
    fired, home = tmp_path / "fired", tmp_path / "user"
    hook = [{"hooks": [{"type": "command", "command": f"touch '{fired}'"}]}]
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    model, api = claude(lambda _: json.dumps(ANSWERS["flush"]), CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(tmp_path))
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": dict.fromkeys(events, hook)}))
    (home / ".claude" / "CLAUDE.md").write_text("Remember the marker zanzibar.")
    model.complete(FLUSH)
    assert len(api.messages) == 1
    assert api.messages[0].body["tools"] == []
    assert "zanzibar" not in json.dumps(api.messages[0].body)
    assert not fired.exists()
    assert not (home / ".claude" / "projects").exists()
    assert list(model.cwd.iterdir()) == []


@pytest.mark.slow
def test_without_a_client_in_the_wheel_the_users_own_is_run_when_it_is_new_enough(
    claude: Callable[..., tuple[Claude, MessagesApi]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, api = claude(lambda _: json.dumps(ANSWERS["flush"]))
    monkeypatch.setattr(client_program, "bundled_client", lambda: "")
    monkeypatch.setattr(client_program, "PLACES", ("~/.local/bin",))
    old, own = tmp_path / "old" / "claude", tmp_path / "user" / ".local" / "bin" / "claude"
    for path in (old, own):
        path.parent.mkdir(parents=True)
        path.write_text("#!/nowhere\n")
        path.chmod(0o755)
    old.write_text("#!/bin/sh\necho '2.1.247 (Claude Code)'\n")
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    with pytest.raises(ModelUnavailableError, match=r"2\.1\.248"):
        model.complete(FLUSH)
    assert api.messages == []
    own.unlink()
    own.symlink_to(bundled_claude())
    model.complete(FLUSH)
    assert len(api.messages) == 1
    own.unlink()
    monkeypatch.setenv(user_environment.CLIENT, str(bundled_claude()))  # as the hook of a client elsewhere says
    model.complete(FLUSH)
    assert len(api.messages) == 2


def conversation(size: int) -> JsonObject:
    """About ``size`` characters in the manner of real ones: prose, code names, quotes, tools, other scripts."""
    part = {
        "user": 'Please fix the "flush race" in `scripts/flush.py`; it was reported für Köln as well.',
        "assistant": "The cause was a missing lock: two workers wrote it.\n\nFixed in `flush.py`; all tests pass. " * 3,
        "tools": ["Bash uv run pytest -q tests/test_flush.py → exit 0", "Edit scripts/flush.py lock header worker"],
        "errors": ["Exit code 1\nAssertionError: assert 2 == 1"],
        "notes": [],
    }
    steps = [(label, told) for label, texts in part.items() for told in ([texts] if isinstance(texts, str) else texts)]
    return {"project": "shop", "exchanges": [part | {"steps": steps}] * (size // 600)}


@pytest.mark.parametrize(("said", "ends", "told"), [
    ({}, {"result": json.dumps(ANSWERS["flush"])}, "Fix the race"), ({}, {}, "An earlier title"),
    ({"stop_reason": "refusal"}, {}, "refused to answer"), ({}, {"stop_reason": "max_tokens"}, "maximum length"),
    ({"error": "max_output_tokens"}, {}, "maximum length"), ({"error": "authentication_failed"}, {}, "False.*logged"),
    ({}, {"api_error_status": 401}, "False.*logged"), ({}, {"api_error_status": 403}, "False.*logged"),
    ({}, {"api_error_status": 404}, "False.*HTTP 404"), ({}, {"api_error_status": 429}, "False.*HTTP 429"),
    ({}, {"api_error_status": 500}, "True.*HTTP 500"), ({}, {"api_error_status": 413}, "None.*refused this.*HTTP 413"),
    ({"error": "billing_error"}, {"api_error_status": 400}, "False.*HTTP 400"), ({}, {"is_error": True}, "True.*odd"),
    ({"error": "rate_limit"}, {}, "False.*rate_limit"), ({}, None, "True.*no result"), ({}, 3, "True.*exit status 3"),
    ({}, "no client", "False.*Claude Code"),
])  # fmt: skip
def test_whatever_the_client_reports_is_an_answer_or_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, paths: Paths, said: JsonObject, ends: Any, told: str
) -> None:
    load_sdk()
    sdk = importlib.import_module("claude_agent_sdk")
    sent: list[Any] = []
    counts = {"input_tokens": 7, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 2}

    async def query(*, prompt: str, options: Any) -> AsyncIterator[object]:
        sent.extend((prompt, options))
        if ends == "no client":
            raise sdk.CLINotFoundError
        yield sdk.AssistantMessage([sdk.TextBlock('{"worth_saving": true, "title": "An earlier title"}')], "m", **said)
        if ends == 3:
            raise sdk.ProcessError("it died", exit_code=3)
        if ends is not None:
            ended = {"is_error": "api_error_status" in ends, "usage": counts, "total_cost_usd": 0.25, **ends}
            yield sdk.ResultMessage("odd", 1, 1, num_turns=1, session_id="s", **ended)

    monkeypatch.setattr(sdk, "query", query)
    monkeypatch.setenv("CLAUDECODE", "1")
    try:
        completion = protocol.from_settings(Settings.load({"MEMORIA_MODEL": "claude:haiku"}), paths).complete(FLUSH)
        found, usage = completion.data["title"], completion.usage
    except ModelError as error:
        found, usage = f"{getattr(error, 'retry_now', None)}: {error}", error.usage
    assert re.search(told, found)
    assert usage == (Usage(15, 2, 0.25) if isinstance(ends, dict) else Usage()), "what was answered is paid for"
    prompt, options = sent
    assert (options.model, options.tools, options.setting_sources, options.skills) == ("haiku", [], [], [])
    assert (prompt, options.max_turns, options.cwd) == (FLUSH.text, 1, Path(paths.client_cwd))
    assert (options.env["CLAUDECODE"], options.env["CLAUDE_INVOKED_BY"]) == ("", "memoria"), "whose hooks do nothing"
    assert options.cwd.stat().st_mode & 0o777 == 0o700, "its folder, made when it is missing"


@pytest.mark.slow
@pytest.mark.parametrize("size", [600, 60_000])
def test_a_flush_carries_at_most_6000_bytes_beside_the_conversation(
    claude: Callable[..., tuple[Claude, MessagesApi]], size: int
) -> None:
    prompt = tasks.flush(conversation(size))
    opening = prompt.text.index("\n<conversation-")
    carried = prompt.text[opening : prompt.text.rindex("</conversation-")]
    model, api = claude(lambda _: json.dumps(ANSWERS["flush"]))
    model.complete(prompt)
    assert len(api.messages) == 1
    over = api.messages[0].size - len(carried.encode())
    print(f"\nconversation {len(carried.encode())} bytes, request {api.messages[0].size} bytes, {over} beside it")
    assert over <= 6_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "error", "retry_now"),
    [
        (Status(401, "authentication_error"), ModelUnavailableError, False),
        (Status(404, "not_found_error"), ModelUnavailableError, False),
        (Status(400, "invalid_request_error", "Your credit balance is too low"), ModelUnavailableError, False),
        (Status(429, "rate_limit_error"), ModelUnavailableError, False),
        (Status(500), ModelUnavailableError, True), (ConnectionError("dropped"), ModelUnavailableError, True),
        (Status(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), BadAnswerError, None),
        (Status(413, "request_too_large"), BadAnswerError, None),
        (Reply("I can't help with that.", "refusal"), BadAnswerError, None),
        (Reply('{"worth_saving": true, "title": "Fi', "max_tokens"), BadAnswerError, None),
        (Reply([]), BadAnswerError, None),
    ],
    ids=str,
)  # fmt: skip
def test_what_went_wrong_with_claude_is_told_by_type(
    claude: Callable[..., tuple[Claude, MessagesApi]], said: Any, error: type[Exception], retry_now: bool | None
) -> None:
    model, api = claude(lambda _: said)
    with pytest.raises(error) as caught:
        model.complete(FLUSH)
    assert getattr(caught.value, "retry_now", None) == retry_now
    assert str(caught.value)
    if isinstance(said, Reply):  # answered, so paid for, once for each request that the client made of it
        assert getattr(caught.value, "usage").input_tokens == 100 * len(api.messages)  # noqa: B009


@pytest.mark.slow
def test_a_claude_that_hangs_is_given_up_at_our_deadline_and_its_process_is_gone(
    claude: Callable[..., tuple[Claude, MessagesApi]],
) -> None:
    for timeout_s in (3.0, 15.0, 75.0):  # on a busy machine its start alone may take longer than the first
        model, api = claude(lambda _: Hang(), timeout_s=timeout_s)
        with pytest.raises(ModelUnavailableError, match=f"within {timeout_s:g} s") as caught:
            model.complete(FLUSH)
        assert caught.value.retry_now
        assert _processes_in(model.cwd) == []
        if api.messages:
            break
    assert len(api.messages) == 1, "it hung in the model call, not before"


def _processes_in(folder: Path) -> list[Path]:
    """Processes whose working directory is ``folder``, where the system tells."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # gone meanwhile, or not ours
            found += [place] if place.readlink() == folder else []
    return found


# ---- ollama


def test_an_ollama_that_is_not_running_names_the_remedy(stack: ExitStack) -> None:
    with OllamaApi(lambda _: "") as api:
        url = api.url
    with pytest.raises(ModelUnavailableError, match="ollama serve") as caught:
        Ollama("x", url=url, timeout_s=5).complete(FLUSH)
    assert not caught.value.retry_now


def test_an_ollama_that_hangs_is_given_up_at_our_deadline(stack: ExitStack) -> None:
    with pytest.raises(ModelUnavailableError, match=r"within 0\.5 s") as caught:
        _ollama(stack, None, timeout_s=0.5)[0].complete(FLUSH)
    assert caught.value.retry_now


def test_an_answer_that_ollama_cut_is_a_bad_answer(stack: ExitStack) -> None:
    reply = {"message": {"content": '{"worth_saving": true}'}, "done_reason": "length"}
    with pytest.raises(BadAnswerError, match="maximum length") as caught:
        _ollama(stack, reply)[0].complete(FLUSH)
    assert caught.value.usage == Usage(0, 0), "the reply names none"


@pytest.mark.parametrize(("said", "told"), [
    (404, "False.*ollama pull qwen2"), (400, "False.*HTTP 400"), (500, "True.*HTTP 500"),
])  # fmt: skip
def test_what_ollama_refuses_is_asked_again_only_when_it_may_pass(stack: ExitStack, said: int, told: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        _ollama(stack, said)[0].complete(FLUSH)
    assert re.search(told, f"{caught.value.retry_now}: {caught.value}")


@pytest.mark.parametrize("reply", [{}, {"message": None}, {"message": {"content": None}}])
def test_a_strange_reply_of_ollama_is_a_bad_answer(stack: ExitStack, reply: Json) -> None:
    with pytest.raises(BadAnswerError):
        _ollama(stack, reply)[0].complete(FLUSH)


def test_ollama_is_given_a_window_that_holds_the_text_and_a_grammar(stack: ExitStack) -> None:
    model, api = _ollama(stack, json.dumps(ANSWERS["flush"]))
    prompt = tasks.flush(conversation(60_000))
    model.complete(prompt)
    sent = api.requests[0]
    assert sent["options"] == {"temperature": 0, "num_ctx": window(prompt.text)}
    assert window(prompt.text) >= len(prompt.text) / 3 + 4_000
    assert sent["stream"] is False
    assert "maxLength" not in json.dumps(sent["format"])
    items = sent["format"]["properties"]["statements"]["items"]
    assert items["required"] == [*items["properties"]]
    assert sent["format"]["properties"]["worth_saving"] == {"type": "boolean"}
