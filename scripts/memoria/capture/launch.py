"""Launch: run the command line or the MCP server in memoria's environment, also while that is being installed.

The client puts the plugin's ``bin/`` on the PATH of its shells, and any ``python3`` starts it. A command waits for the
environment and says so.

The client gives a server 30 seconds and remembers a failure for 15 minutes; a first build may take longer. So the
process becomes the server when the environment stands. Otherwise it starts the build and answers the client itself,
with one tool that says how things stand; when the build is done it starts the server behind it, repeats the client's
greeting to it, tells the client that there are new tools, and from then on only passes lines on.

Knows the frame of the protocol (JSON-RPC by lines) and its greeting; the tools are the server's.
"""

from __future__ import annotations

import os
import sys
import time

from memoria import __version__
from memoria.base import interpreter, invocation, quickjson, state, user_environment
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.settings import MEND_CONFIG, Settings
from memoria.capture import detach

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

POLL_S = 0.2
PATIENCE_S = 100.0  # of a command; less than the two minutes that the client gives one of its shell
WAITING = "memoria: installing its packages, once for this version; the command runs when that is done\n"
GOES_ON = "its packages are still being installed; try again in a minute"
RETRY_S = 30.0
NO_METHOD = -32601
BEING_SET_UP = (
    "memoria is being set up: its packages are installed in the background, which takes some seconds to a few minutes. "
    "Its tools appear here when that is done; go on without them until then."
)
CANNOT_SET_UP = "memoria cannot be set up: {}. It is tried again every minute; {} says more."
STATUS_TOOL = {
    "name": "status",
    "description": "Says how far the setting up of memoria is; its other tools appear when it is done.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


def run_command() -> None:
    """Run the command line with this process's arguments; exits with its status."""
    user_environment.restore()
    settings = Settings.load()
    try:
        python = interpreter.find(settings) or _built(settings)
        interpreter.become([*places.own_command(python, *sys.argv[1:])])
    except OSError as error:
        _refuse(f"{error.filename or 'its interpreter'} cannot be run ({error.strerror})")


def _built(settings: Settings) -> str:
    """Return the environment's interpreter as soon as it is built; exit when that fails or takes too long."""
    if settings.refusal:
        _refuse(f"{settings.refusal}: {MEND_CONFIG}")
    paths = Paths.of(settings)
    before = _failed_at()
    try:
        state.open_state(paths)
        word = detach.start_build(paths)
    except (OSError, state.StateError) as error:
        _refuse(str(error))
    if word != detach.BUILDING:
        _refuse(word)
    sys.stderr.write(WAITING)
    sys.stderr.flush()
    deadline = time.monotonic() + PATIENCE_S
    while not (python := interpreter.find(settings)):
        if _failed_at() != before:
            _refuse(f"its packages cannot be installed: {interpreter.failure()}")
        if time.monotonic() > deadline:
            _refuse(GOES_ON)
        time.sleep(POLL_S)
    return python


def _failed_at() -> float:
    """Return when a build last failed, 0 when none has."""
    try:
        return os.stat(interpreter.failure_file()).st_mtime
    except OSError:
        return 0.0


def _refuse(reason: str) -> None:
    sys.stderr.write(f"memoria: {reason.rstrip(' .')}.\n")
    sys.exit(1)


def serve_mcp() -> None:
    """Become the server, or stand in for it until it can start."""
    user_environment.restore()
    settings = Settings.load()
    python = interpreter.find(settings)
    trouble = f"{settings.refusal}: {MEND_CONFIG}" if settings.refusal else ""
    if python and not trouble:
        try:
            interpreter.become(places.own_command(python, "mcp"))
        except OSError as error:
            trouble = f"{python} cannot be run ({error.strerror})"
    import signal  # noqa: PLC0415 (slow; the server that could be started above sets its own)

    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # also where a shell has them ignored; the server ends with its stdin
        signal.signal(number, signal.SIG_DFL)
    StandIn(settings, trouble).serve()
    os._exit(0)  # whatever the other thread does


class StandIn:
    """Answers one client until the server can, then passes lines on. ``trouble``: why it will not start at all."""

    def __init__(self, settings: Settings, trouble: str = "") -> None:
        import threading  # noqa: PLC0415 (slow)

        self.settings = settings
        self.trouble = trouble
        self.greeting = b""
        self.server: subprocess.Popen[bytes] | None = None
        self.turn = threading.Lock()  # who answers the client, and one line at a time
        self.waiter = threading.Thread(target=self._wait_for_environment, daemon=True)

    def serve(self) -> None:
        """Answer until the client closes stdin."""
        if not self.trouble:
            self.waiter.start()
        for line in sys.stdin.buffer:
            with self.turn:
                if self.server is not None and self.server.stdin is not None:
                    self.server.stdin.write(line)
                    self.server.stdin.flush()
                else:
                    self._answer(line)
        if self.server is not None and self.server.stdin is not None:
            self.server.stdin.close()
            self.server.wait()

    def _answer(self, line: bytes) -> None:
        try:
            message = quickjson.loads(line.decode("utf-8", "replace"))
        except ValueError:
            return
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            return  # a notification, or nothing that could be answered
        method, params = message["method"], message.get("params")
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            self.greeting = line
            version = params.get("protocolVersion") if isinstance(params, dict) else None
            answer["result"] = {
                "protocolVersion": version if isinstance(version, str) else "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "memoria", "title": "memoria", "version": __version__},
                "instructions": self.status(),
            }
        elif method == "tools/list":
            answer["result"] = {"tools": [STATUS_TOOL]}
        elif method == "tools/call":
            answer["result"] = {"content": [{"type": "text", "text": self.status()}], "isError": False}
        elif method == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": NO_METHOD, "message": "not known while memoria is being set up"}
        _say(answer)

    def status(self) -> str:
        """Return how things stand, for the model and through it for the user."""
        trouble = self.trouble or interpreter.failure()
        return CANNOT_SET_UP.format(trouble, invocation.shown("doctor")) if trouble else BEING_SET_UP

    def _wait_for_environment(self) -> None:
        paths = Paths.of(self.settings)
        tried = 0.0
        while not interpreter.find(self.settings):
            if time.monotonic() - tried > RETRY_S or not tried:
                tried = time.monotonic()
                self._build(paths)
            time.sleep(POLL_S)
        self._hand_over(interpreter.find(self.settings))

    def _build(self, paths: Paths) -> None:
        try:
            state.open_state(paths)
            detach.start_build(paths)
        except (OSError, state.StateError) as error:
            self.trouble = str(error)

    def _hand_over(self, python: str) -> None:
        import subprocess  # noqa: PLC0415 (slow)

        interpreter.hold(python)
        with self.turn:
            try:
                server = subprocess.Popen(
                    places.own_command(python, "mcp"), env=interpreter.clean(os.environ), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )  # fmt: skip
                if self.greeting and not self._greet(server):
                    self.trouble = "the server ended at its start"
                    return
            except OSError as error:
                self.trouble = f"{python} cannot be run ({error.strerror})"
                return
            self.server = server
            if self.greeting:
                _say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        assert server.stdout is not None  # noqa: S101 (asked for above)
        for line in server.stdout:
            with self.turn:
                _write(line)
        os._exit(server.wait())

    def _greet(self, server: subprocess.Popen[bytes]) -> bool:
        """Repeat the client's greeting to the server; its answer is not passed on, the client has had one."""
        assert server.stdin is not None  # noqa: S101 (asked for above)
        assert server.stdout is not None  # noqa: S101
        server.stdin.write(self.greeting)
        server.stdin.flush()
        if not server.stdout.readline():
            return False
        server.stdin.write(quickjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode() + b"\n")
        server.stdin.flush()
        return True


def _say(message: dict[str, object]) -> None:
    _write(quickjson.dumps(message).encode() + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
