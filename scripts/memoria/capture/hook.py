"""Hook: read what the client says on stdin, run the event's handler, and never get in the way.

Whatever happens the exit status is 0, and nothing but the protocol's JSON goes to stdout; what went wrong goes to
``log/hook.log``. Of hooks that are installed twice, as a plugin and in the settings, those of the plugin answer. The
payload's form: Claude Code's hooks reference, and the recorded ones in tests/fixtures/payloads.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what ``signal`` is made of, without its ``enum``
import os
import time

from memoria.base import paths as places
from memoria.base import quickjson, user_environment
from memoria.base.paths import Paths, expand, safe_name
from memoria.base.settings import MEND_CONFIG, Settings, record_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Handler = Callable[["Event", Settings, Paths], "dict[str, object] | None"]

HANDLERS = {  # by the name that ``hooks/run`` is given; as text, so that a hook imports no other's
    "session-start": "recall.session_start.session_start",
    "user-prompt-submit": "recall.prompt_notes.user_prompt_submit",
    "pre-tool-use": "recall.tool_notes.pre_tool_use",
    "post-tool-use-failure": "recall.error_notes.post_tool_use_failure",
    "subagent-start": "recall.subagent_page.subagent_start",
    "stop": "capture.capture.capture",
    "pre-compact": "capture.capture.capture",
    "post-compact": "capture.capture.capture",
    "session-end": "capture.capture.capture",
    "codex": "recall.session_start.codex",
}
DOCTOR = "{} says what to do; what is said meanwhile is read from the transcripts then."
CLAUDE = "claude"
ENTRYPOINT = "CLAUDE_CODE_ENTRYPOINT"  # set by Claude Code itself: ``cli``, ``sdk-cli``


class Event:
    """One hook call: ``name`` (``Stop``, ...), ``session``, ``transcript`` (as told, or empty), ``cwd``, ``fields``.

    ``session_id`` is the client's name of the session, ``session`` the same as files are named after it. ``agent`` is
    the word for the coding agent that made the call. ``after``, if a handler sets it, is called when the handler's
    answer has been printed: the client goes on, and the hook does in the background.
    """

    __slots__ = ("after", "agent", "cwd", "fields", "name", "session", "session_id", "transcript")

    def __init__(self, fields: dict[str, object]) -> None:
        """Fields of a wrong type count as missing."""
        self.fields = fields
        self.agent = CLAUDE
        self.after: Callable[[], None] | None = None
        self.name = self.text("hook_event_name")
        self.session_id = self.text("session_id")
        self.session = safe_name(self.session_id)
        self.transcript = self.text("transcript_path")
        self.cwd = self.text("cwd")

    def text(self, name: str) -> str:
        """The field when it is a string, else ``""``."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


def run(name: str) -> None:
    """Run the handler of the hook ``name`` on the event on stdin, print what it returns, and exit with 0, always.

    Raises ImportError when the handler's module is gone: ``hooks/start.py`` says so.
    """
    module, _, function = HANDLERS[name].rpartition(".")
    handler: Handler = getattr(__import__("memoria." + module, fromlist=[function]), function)
    try:
        _answer(handler)
    finally:
        os._exit(0)  # skips the interpreter's tear-down; everything is written and synced


def _answer(handler: Handler) -> None:
    """Read the event, hand it to ``handler`` and print what it returns; report what goes wrong."""
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # Ctrl-C is meant for the client; what it said is kept
    user_environment.restore(is_hook=True)
    settings = Settings.load()
    paths, name = Paths.of(settings), ""
    if settings.disabled or os.environ.get("CLAUDE_INVOKED_BY"):  # or a model call of ours (or of another tool)
        if not os.path.isdir(paths.cursors):
            return
        handler = leave_alone
    try:
        with open(0, "rb", closefd=False) as stdin:
            event = Event(read_payload(stdin.read()))
        name = event.name
        refusal = "" if handler is leave_alone else settings.refusal
        if refusal or not paths.has_state():
            _open_state(paths, refusal)
        if not settings.home:
            record_home(paths.home)
        if handler is not leave_alone and os.path.exists(os.path.join(paths.cursors, event.session + ".off")):
            _speak_again(event, paths)
        output = handler(event, settings, paths)
        if output is not None:
            _stdout(quickjson.dumps(output).encode())
        if event.after:
            _stdout(b"\n")  # the client goes on when it has read a line
            event.after()
    except Exception as error:  # noqa: BLE001 (one of three: a hook must never fail)
        _report(error, name, paths)


def _report(error: Exception, name: str, paths: Paths) -> None:
    """Write ``error`` to the log; at a session's start also tell the user of what they can mend."""
    from memoria.base import invocation, state  # noqa: PLC0415 (only for a hook that cannot work)

    log(paths, f"ERROR {type(error).__name__}: {error}")
    if name == "SessionStart" and isinstance(error, (OSError, state.StateError)):
        remedy = DOCTOR.format(invocation.command("doctor"))
        told = f"memoria keeps nothing now: {str(error).rstrip(' .')}. {remedy}"
        _stdout(quickjson.dumps({"systemMessage": told}).encode())


def _open_state(paths: Paths, refusal: str) -> None:
    from memoria.base import state  # noqa: PLC0415 (once in a home's life, or when it cannot be used)

    if refusal:
        raise state.StateError(refusal, MEND_CONFIG)
    state.open_state(paths)


def leave_alone(event: Event, settings: Settings, paths: Paths) -> None:
    """What is said now is not to be remembered: write down how far the transcript is, for whoever reads it later."""
    del settings
    if event.session_id:
        from memoria.capture import cursor  # noqa: PLC0415 (only for who is switched off)

        cursor.pause(paths.cursors, event.session, _transcript(event), starts=event.name == "SessionStart")


def _speak_again(event: Event, paths: Paths) -> None:
    from memoria.capture import cursor  # noqa: PLC0415 (only for who was switched off)

    cursor.resume(paths.cursors, event.session, _transcript(event), starts=event.name == "SessionStart")


def _transcript(event: Event) -> str:
    return os.path.abspath(expand(event.transcript)) if event.transcript else ""


def is_attended() -> bool:
    """Return whether a person is at the client; a program that drives it (``claude -p``) ends with the answer."""
    is_driven = os.environ.get(ENTRYPOINT, "sdk").startswith("sdk")
    return not is_driven and os.environ.get("CLAUDE_CODE_SESSION_ATTENDED", "1") != "0"


def is_replaced(event: Event) -> bool:
    """Return whether the plugin, which the user has switched on, answers the event, and this is an older install."""
    if event.agent != CLAUDE or os.environ.get("CLAUDE_PLUGIN_ROOT"):  # the client sets it for a plugin's hooks
        return False
    try:
        text = user_environment.file_text(user_environment.user_file(os.environ))
        stored = quickjson.loads(text)
    except (OSError, ValueError):
        return False
    enabled = stored.get("enabledPlugins") if isinstance(stored, dict) else None
    return isinstance(enabled, dict) and any(on is True and name.startswith("memoria@") for name, on in enabled.items())


def read_payload(raw: bytes) -> dict[str, object]:
    """Return the hook's input; raise ValueError when it is no JSON object.

    Some clients on Windows do not escape the backslashes of their paths: where that breaks the JSON, single ones are
    read as themselves.
    """
    text = raw.decode("utf-8", "replace")
    try:
        payload = quickjson.loads(text)
    except ValueError:
        pieces = [piece.replace("\\", "\\\\").replace('\\\\"', '\\"') for piece in text.split("\\\\")]
        payload = quickjson.loads("\\\\".join(pieces))
    if not isinstance(payload, dict):
        raise ValueError("the hook's input is no JSON object")
    return payload


def log(paths: Paths, message: str) -> None:
    """One line in ``log/hook.log``; silently nothing when even that cannot be written."""
    text = "".join(filter(str.isprintable, " ".join(message[:2_000].split())))  # nothing that could hide or fill it
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n"
    try:
        with open(paths.hook_log, "ab", opener=places.opener) as file:
            file.write(line.encode("utf-8", "replace"))
    except OSError:
        pass


def _stdout(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]
