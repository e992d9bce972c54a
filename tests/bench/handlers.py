"""Is a hook faster as a call of a running MCP server (``mcp_tool``) than as a process of its own (``command``)?

    uv run python tests/bench/handlers.py [--prompts 40]

One session of the real client for each: without a hook, with our UserPromptSubmit hook, and with the same handler
behind a tool of an MCP server that has the modules loaded. The sessions are asked in turn, so that all meet the same
machine. Measured is the time from a prompt's way into the client to the request to the model. The server is the least
that speaks the protocol; one on the MCP SDK is slower. Then: what the client says of a tool whose server is missing,
is still starting, or ends during the call, and whether the prompt is answered all the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from bench.hooks import NOUNS
from client_session import Session
from memoria.base import project, state
from memoria.base.paths import Paths
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env

Json = dict[str, Any]
FACTS = 3_000
RULE = "Use tabs in Makefiles, never spaces; the linker cannot find libzebra without ldconfig."
PROMPT = "Tabs or spaces in Makefiles, and does the linker find libzebra without ldconfig? This is prompt {}."
INPUT = {name: f"${{{name}}}" for name in ("hook_event_name", "session_id", "transcript_path", "cwd", "prompt")}
SERVER = """
import os, sys, time
sys.path.insert(0, {scripts!r})
time.sleep({delay})
import json
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture.hook import Event
from memoria.recall.prompt_notes import user_prompt_submit
TOOL = {{"name": "notes", "description": "notes", "inputSchema": {{"type": "object", "additionalProperties": True}}}}
def result(method, params):
    if method == "initialize":
        about = {{"name": "warm", "version": "1"}}
        return {{"protocolVersion": params["protocolVersion"], "capabilities": {{"tools": {{}}}}, "serverInfo": about}}
    if method == "tools/list":
        return {{"tools": [TOOL]}}
    if method == "tools/call":
        if {dies}:
            os._exit(1)
        settings = Settings.load()
        said = user_prompt_submit(Event(params["arguments"]), settings, Paths.of(settings))
        return {{"content": [{{"type": "text", "text": json.dumps(said or {{}})}}]}}
    return {{}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {{"jsonrpc": "2.0", "id": asked["id"], "result": result(asked["method"], asked.get("params"))}}
        print(json.dumps(answer), flush=True)
"""


class World:
    """A user with a memory of some thousand facts, a project, and a scripted model that notes when it is asked."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.asked: dict[str, float] = {}  # by prompt, when the model was asked it
        self.told: dict[str, bool] = {}  # and whether with a note
        self.work = base / "project"
        self.work.mkdir()
        paths = Paths(str(base / "home"))
        state.open_state(paths)
        own = project.key_of_path(str(self.work))
        texts = [f"{NOUNS[n % 53]} {n} in part_{n % 61}: {NOUNS[n % 47]}." for n in range(FACTS)]
        with Index(paths.index) as index:
            index.add(
                Document("daily/2026-11-20.md", "fact", f"l-{number:08d}", "before", own,
                         passages=(Passage(text, "correction"),))
                for number, text in enumerate([*texts, RULE])
            )  # fmt: skip

    def answer(self, request: Json) -> str:
        """Answer everything alike; note the time of a prompt."""
        now, text = time.perf_counter(), json.dumps(request.get("messages", []), ensure_ascii=False)
        for prompt in [prompt for prompt in self.asked if prompt in text and not self.asked[prompt]]:
            self.asked[prompt] = now
            self.told[prompt] = RULE in text
        return "scripted answer"

    def session(self, api: MessagesApi, name: str, hook: Json | None, server: str = "") -> Session:
        """Return a session whose UserPromptSubmit hook is ``hook``, in a plugin with ``server`` if there is one."""
        root = self.base / name.replace(" ", "-")
        (root / ".claude-plugin").mkdir(parents=True)
        (root / "hooks").mkdir()
        about: Json = {"name": root.name, "version": "1.0.0", "description": "A hook.", "author": {"name": "tests"}}
        if server:
            (root / "server.py").write_text(server)
            about["mcpServers"] = {"warm": {"command": sys.executable, "args": ["-S", "-I", str(root / "server.py")]}}
        (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(about))
        hooks = {"UserPromptSubmit": [{"hooks": [hook]}]} if hook else {}
        (root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        env = clean_env(self.base / f"user of {name}", api.url, MEMORIA_HOME=str(self.base / "home"))
        return Session({**env, "MEMORIA_PYTHON": "/bin/true"}, self.work, "--plugin-dir", str(root))

    def time(self, session: Session, name: str, number: int) -> float:
        """Milliseconds from a prompt's way into the client to its request to the model."""
        prompt = PROMPT.format(f"{name} {number}")
        self.asked[prompt] = 0.0
        begin = time.perf_counter()
        session.ask(prompt)
        assert self.asked[prompt], f"the model was not asked {prompt!r}: {session.events[-5:]}"
        return 1000 * (self.asked[prompt] - begin)


def main() -> int:
    """Print the times, then what becomes of a prompt when the server cannot answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=40)
    count = parser.parse_args().prompts
    command = json.loads((ROOT / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    command["command"] = command["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT))
    with tempfile.TemporaryDirectory() as scratch:
        world = World(Path(scratch))
        with MessagesApi(world.answer) as api:
            _times(world, api, command, count)
            _failures(world, api)
    return 0


def _tool(name: str, server: str = "warm") -> Json:
    return {"type": "mcp_tool", "server": f"plugin:{name}:{server}", "tool": "notes", "input": INPUT, "timeout": 10}


def _server(delay: float = 0, *, dies: bool = False) -> str:
    return SERVER.format(scripts=str(ROOT / "scripts"), delay=delay, dies=dies)


def _times(world: World, api: MessagesApi, command: Json, count: int) -> None:
    with ExitStack() as stack:
        sessions = {
            "none": stack.enter_context(world.session(api, "none", None)),
            "command": stack.enter_context(world.session(api, "command", command)),
            "mcp_tool": stack.enter_context(world.session(api, "mcp-tool", _tool("mcp-tool"), _server())),
        }
        took: dict[str, list[float]] = {name: [] for name in sessions}
        for number in range(count + 1):
            for name, session in sessions.items():
                found = world.time(session, name, number)
                if number:  # the first prompt starts the session
                    took[name].append(found)
    notes = {name: sum(told for prompt, told in world.told.items() if f" {name} " in prompt) for name in sessions}
    bare = median(took["none"])
    for name, values in took.items():
        print(f"{name:10} p50 {median(values):6.1f} ms  p90 {quantiles(values, n=10)[-1]:6.1f} ms  "
              f"above none {median(values) - bare:6.1f} ms  prompts with the note {notes[name]}")  # fmt: skip
    ratio = (median(took["mcp_tool"]) - bare) / (median(took["command"]) - bare)
    print(f"mcp_tool / command, each above none: {ratio:.2f}")


def _failures(world: World, api: MessagesApi) -> None:
    cases: dict[str, tuple[Json | None, str]] = {
        "missing": (_tool("missing", "nobody"), ""),
        "no hook beside a starting server": (None, _server(delay=3)),
        "starting": (_tool("starting"), _server(delay=3)),
        "dying": (_tool("dying"), _server(dies=True)),
    }
    for name, (hook, server) in cases.items():
        with world.session(api, name, hook, server) as session:
            took = [world.time(session, name, number) for number in range(3)]
            told = [world.told[PROMPT.format(f"{name} {number}")] for number in range(3)]
            print(f"{name}: {', '.join(f'{value:.0f} ms' for value in took)}; with the note: {told}")
            print(f"  the client says: {sorted({f'{run.outcome}: {run.stderr}' for run in session.hooks})}")


if __name__ == "__main__":
    sys.exit(main())
