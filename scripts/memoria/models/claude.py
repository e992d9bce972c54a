"""Claude: the Claude models through the Agent SDK; the only module that imports the SDK.

The client runs without tools, settings, servers or a transcript, for one turn in an empty folder. The prompt is taken
literally, so that an ``@path`` or a ``/command`` inside a conversation stays text. tests/models/test_backends.py
measures this; the observations: docs/decisions/0004-answers.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from memoria.base import interpreter, user_environment
from memoria.base.paths import Paths
from memoria.base.settings import Settings, env_of
from memoria.ground import client_program
from memoria.ground.errors import BadAnswerError, ModelError, ModelUnavailableError
from memoria.models import answer
from memoria.models.protocol import SYSTEM, Completion, JsonObject, Model, Prompt, Usage

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

    from memoria.base.settings import Projects

# Above every good answer to a task, so that a model that repeats itself is stopped; the client's default is 128,000.
MAX_OUTPUT_TOKENS = {"flush": 8_000, "query": 4_000, "widen": 1_000, "weigh": 1_000}
MAX_OTHER_TOKENS = 32_000  # of the other tasks, whose answers are as long as what they are given (a compile's articles)
# One request for each call and nothing else. The first switch is the one that stops the second request, which carries
# the whole conversation for a session title, and the connections to the vendor; the others are the client's documented
# switches for the same things, in case a version gives the first a narrower meaning.
SWITCHES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_FEEDBACK_COMMAND": "1",
    "DISABLE_GROWTHBOOK": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_UPDATES": "1",
    "DO_NOT_TRACK": "1",
    "CLAUDE_CODE_DISABLE_THINKING": "1",  # thoughts are paid for, and the tasks do not need them
    "MAX_THINKING_TOKENS": "0",  # the same, to older clients
}
RETRIES = "1"  # the client's own retries; its default retries for minutes, and the worker retries too
SET_BY_SDK = "CLAUDE_CODE_ENTRYPOINT"
_NEEDS_A_PERSON = frozenset({401, 402, 403, 404})
_TOO_MANY = 429  # the client has asked again already, as often and as late as the service told it to
_REFUSES_THE_WORK = frozenset({400, 413, 422})
_LOGIN = "not logged in: run `claude` and `/login` once, or set ANTHROPIC_API_KEY"
TOOL_SERVERS = (
    "mcp", "mcp.types", "mcp.server", "mcp.shared", "mcp.shared.message", "mcp.shared.memory", "jsonschema",
)  # fmt: skip


class _StandIn(ModuleType):
    """A module that has a class by every name, beside its parts."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (_Anything,), {})


class _Anything:
    def __init_subclass__(cls, **_: object) -> None:
        """Take what a subclass says to the class for which this stands."""


def load_sdk() -> None:
    """Import the SDK without what serves a model with tools, which takes five sixths of the time.

    The environment of the plugin does not hold it at all (``.ci/lock``).
    """
    if not {"mcp", "claude_agent_sdk"}.isdisjoint(sys.modules):
        return
    stand_ins = {name: _StandIn(name) for name in TOOL_SERVERS if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        import claude_agent_sdk  # noqa: F401, PLC0415
    except (ImportError, AttributeError, TypeError):  # another version wants more of it, and is imported whole
        for name in [name for name in sys.modules if name.startswith("claude_agent_sdk")]:
            del sys.modules[name]
    finally:
        for name in stand_ins:
            del sys.modules[name]


@dataclass(slots=True)
class _Received:
    """What the client has returned so far."""

    texts: list[str] = field(default_factory=list)
    error: str = ""
    stop_reason: str = ""
    result: ResultMessage | None = None


class Claude:
    """One model of the Claude family, by alias (``haiku``) or full name; empty means the client's own choice."""

    def __init__(self, alias: str, *, cwd: Path, timeout_s: float, projects: Projects) -> None:
        """``cwd`` is an empty folder, created if missing; ``timeout_s`` is the deadline of a call.

        ``projects`` holds the variables that the user has set for single projects.
        """
        self.alias = alias
        self.projects = projects
        self.cwd = cwd
        self.timeout_s = timeout_s
        self.name = f"claude:{alias}" if alias else "claude"

    def complete(self, prompt: Prompt) -> Completion:
        """Ask once; the client's process has ended when this returns or raises."""
        received = _Received()
        try:
            return Completion(self._ask(prompt, received), self.name, _usage(received))
        except ModelError as error:
            error.usage = _usage(received)
            raise

    def _ask(self, prompt: Prompt, received: _Received) -> JsonObject:
        import anyio  # noqa: PLC0415 (paid with the SDK only when a model is called)

        load_sdk()
        from claude_agent_sdk import ClaudeSDKError, CLINotFoundError, ProcessError  # noqa: PLC0415

        self.cwd.mkdir(parents=True, exist_ok=True, mode=0o700)
        failed = ""
        try:
            anyio.run(self._listen, prompt, received)
        except TimeoutError:
            failed = f"gave no answer within {self.timeout_s:g} s"
        except CLINotFoundError:
            self._miss_client()
        except ProcessError as error:  # a received result says more than the exit status
            failed = "" if received.result else f"the client stopped with exit status {error.exit_code}"
        except ClaudeSDKError as error:
            failed = f"communication with the client failed ({type(error).__name__})"
        if failed:
            raise ModelUnavailableError(f"{self.name} {failed}.")
        return self._judge(prompt, received)

    async def _listen(self, prompt: Prompt, received: _Received) -> None:
        """Run the client to its end; raise TimeoutError at the deadline, after the SDK has closed or killed it.

        The scope must be anyio's: the SDK shields its cleanup (end of input, SIGTERM, SIGKILL) from anyio's
        cancellation only.
        """
        import anyio  # noqa: PLC0415
        from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, query  # noqa: PLC0415

        with anyio.fail_after(self.timeout_s):
            messages = query(prompt=prompt.text, options=self._options(prompt))
            try:
                async for message in messages:
                    if isinstance(message, AssistantMessage):
                        received.texts += [block.text for block in message.content if isinstance(block, TextBlock)]
                        received.error = message.error or received.error
                        received.stop_reason = message.stop_reason or received.stop_reason
                    elif isinstance(message, ResultMessage):
                        received.result = message
            finally:
                await messages.aclose()  # type: ignore[attr-defined]  # an async generator, declared as an iterator

    def _options(self, prompt: Prompt) -> ClaudeAgentOptions:
        from claude_agent_sdk import ClaudeAgentOptions  # noqa: PLC0415

        return ClaudeAgentOptions(
            cli_path=client_program.find() or self._miss_client(),
            model=self.alias,
            system_prompt=SYSTEM,
            tools=[],
            setting_sources=[],
            skills=[],
            strict_mcp_config=True,
            max_turns=1,
            verbatim_prompts=True,
            cwd=self.cwd,
            env=environment(os.environ, env_of(prompt.project, self.projects), prompt.task),
            extra_args={"no-session-persistence": None},
            stderr=lambda _: None,  # keep it out of the worker's log, because it may quote the conversation
        )

    def _judge(self, prompt: Prompt, received: _Received) -> JsonObject:
        """Return an answer, or raise the matching error."""
        result = received.result
        stop = received.stop_reason or (result.stop_reason if result else "")
        if stop == "refusal":
            raise BadAnswerError(f"{self.name} refused to answer.")
        if stop == "max_tokens" or received.error == "max_output_tokens":
            raise BadAnswerError(f"{self.name}'s answer exceeded the maximum length.")
        if result is None or result.is_error or received.error:
            self._explain(received)
        return answer.read(result.result or "".join(received.texts), prompt)

    def _explain(self, received: _Received) -> NoReturn:
        """Raise the error that a failed result stands for, by its error name and HTTP status, never by its text."""
        status = received.result.api_error_status if received.result else None
        if received.error == "authentication_failed" or status in (401, 403):
            raise ModelUnavailableError(f"{self.name}: {_LOGIN}.", retry_now=False)
        fault = (
            f"HTTP {status}"
            if status
            else received.error or (received.result.subtype if received.result else "no result")
        )
        if status in _REFUSES_THE_WORK and received.error != "billing_error":
            raise BadAnswerError(f"{self.name}: the service refused this request ({fault}).")
        at_once = status not in {*_NEEDS_A_PERSON, _TOO_MANY} and received.error not in ("billing_error", "rate_limit")
        raise ModelUnavailableError(f"{self.name}: the service gave no answer ({fault}).", retry_now=at_once)

    def _miss_client(self) -> NoReturn:
        reason = f"{client_program.MISSING}; {client_program.REMEDY}"
        raise ModelUnavailableError(f"{self.name}: {reason}.", retry_now=False)


def environment(environ: Mapping[str, str], chosen: Mapping[str, str], task: str = "") -> dict[str, str]:
    """Return the variables for the client, to be laid over ``environ``, which the SDK passes on whole.

    Everything that the client must not inherit is set to the empty string. The user-level settings are read here,
    because the client is told to read no settings; ``chosen`` is what the user has set for the call's project, and
    ``task`` decides how long the answer may be.
    """
    blank = {name: "" for name in environ if not interpreter.may_inherit(name) and name != SET_BY_SDK}
    return {
        **blank,
        **interpreter.reduce_environment(user_environment.user_settings(environ)),
        **chosen,
        **SWITCHES,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(MAX_OUTPUT_TOKENS.get(task, MAX_OTHER_TOKENS)),
        "CLAUDE_CODE_MAX_RETRIES": RETRIES,
        "CLAUDE_INVOKED_BY": "memoria",
    }


def make(argument: str, settings: Settings, paths: Paths) -> Model:
    """Return the model ``claude:<alias>``, which runs in ``claude/`` in the state folder."""
    return Claude(argument, cwd=Path(paths.client_cwd), timeout_s=settings.model_timeout_s, projects=settings.projects)


def _usage(received: _Received) -> Usage:
    """Return tokens (cache reads and writes count as input), and the client's own price."""
    if received.result is None:
        return Usage()
    counts: dict[str, Any] = received.result.usage or {}
    sent = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(
        input_tokens=sum(counts.get(name) or 0 for name in sent),
        output_tokens=counts.get("output_tokens") or 0,
        cost_usd=received.result.total_cost_usd or 0.0,
    )
