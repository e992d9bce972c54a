"""User environment: the variables that the user has set, without those of the project that a session runs in.

The client hands the ``env`` block of a project's ``.claude/settings.json`` to every process that it starts. Such a
variable must not decide where another project's words go, which file runs, or where the memory lies. ``restore`` takes
them out of this process when a session started it. The sources and their limits: docs/decisions/0021-privacy.md.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os
import sys

from memoria.base import quickjson
from memoria.base.paths import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What the client puts into the environment of its children about its own session.
SESSION_VARIABLES = (
    "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR",
)  # fmt: skip
SESSION_MARKS = ("CLAUDECODE", "CLAUDE_PID", "CLAUDE_PROJECT_DIR")
SETTINGS_FILES = ("settings.json", "settings.local.json")
CLIENT = "MEMORIA_CLIENT"  # the program of the client whose hook started this process
DETACHED = "MEMORIA_DETACHED"  # marks what a hook or a worker started, in the background
MAX_SETTINGS_BYTES = 1 << 22  # of a settings file
MAX_ANCESTORS = 64


def restore(*, is_hook: bool = False) -> None:
    """Take out of this process's environment what a project's settings put there; call it before settings are read."""
    if not _is_session(os.environ):
        return
    try:
        folder = os.getcwd()
    except OSError:  # removed while the session went on
        folder = ""
    given = dict(os.environ)
    wanted = read_own(given, folder, os.getpid(), is_hook=is_hook)
    for name in given:
        if name not in wanted:
            del os.environ[name]
    for name, value in wanted.items():
        if given.get(name) != value:
            os.environ[name] = value


def read_own(environ: Mapping[str, str], folder: str, process: int, *, is_hook: bool = False) -> dict[str, str]:
    """Return the user's own variables among those of ``process``, which runs in ``folder``.

    Where the environment that the client was started with can be read, a hook gets that, the user's settings and what
    describes the session, because nobody else speaks to a hook. Elsewhere the variables that a project's settings
    name go, or get back the value that the user gave them.
    """
    if not _is_session(environ):
        return dict(environ)
    client = _client(environ, process)
    started = _started_with(client)
    if started is not None:
        started = read_own(started, started.get("PWD", ""), client)  # the client may have been started by a session
        user = user_settings(started)
        if is_hook and _parent(process) == client:
            session = {name: environ[name] for name in environ if _is_of_session(name)}
            return {**started, **user, **session}
        return _restore(environ, _variable_names(environ, folder, config_folder(started)), {**started, **user})
    owner = _owner(environ, folder)
    return _restore(environ, _variable_names(environ, folder, config_folder(owner)), user_settings(owner))


def config_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the client's user-level settings."""
    return environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME") or _home(), ".claude")


def user_file(environ: Mapping[str, str]) -> str:
    """Return the client's user-level settings file."""
    return os.path.join(config_folder(environ), SETTINGS_FILES[0])


def user_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the user-level settings, and of those that an administrator manages."""
    if sys.platform == "darwin":
        managed = "/Library/Application Support/ClaudeCode"
    else:
        managed = "C:\\Program Files\\ClaudeCode" if os.name == "nt" else "/etc/claude-code"
    return {**_env_of(user_file(environ))[0], **_env_of(os.path.join(managed, "managed-settings.json"))[0]}


def file_text(path: str) -> str:
    """Return the text of one of the client's settings files; raise OSError when it cannot be read."""
    with open(path, "rb", opener=regular) as file:
        return file.read(MAX_SETTINGS_BYTES).decode("utf-8", "replace")


def _is_session(environ: Mapping[str, str]) -> bool:
    return any(name in environ for name in SESSION_MARKS)


def _is_of_session(name: str) -> bool:
    return name in SESSION_VARIABLES or name.startswith("CLAUDE_PLUGIN_OPTION_")


def _restore(environ: Mapping[str, str], named: set[str], before: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` with the named variables as they were ``before``, or without them."""
    named = {name for name in named if not _is_of_session(name)}
    kept = {name: value for name, value in environ.items() if name not in named}
    kept.update({name: before[name] for name in named if name in before})
    if "PATH" in named:
        kept.setdefault("PATH", os.defpath)
    return kept


def _owner(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return ``environ`` without a home or configuration folder that a project's settings chose."""
    named = _variable_names(environ, folder, os.path.join(_home(), ".claude"))
    return {name: it for name, it in environ.items() if name not in named.intersection(("HOME", "CLAUDE_CONFIG_DIR"))}


def _variable_names(environ: Mapping[str, str], folder: str, user_folder: str) -> set[str]:
    """Return the names of all variables in the settings of the project and of the folders around it."""
    named: set[str] = set()
    user_folder = os.path.realpath(user_folder)
    for place in _places(environ.get("CLAUDE_PROJECT_DIR", ""), folder):
        if os.path.join(place, ".claude") == user_folder:
            continue
        for file in SETTINGS_FILES:
            values, text = _env_of(os.path.join(place, ".claude", file))
            named.update(values)
            named.update(name for name in environ if text and f'"{name}"' in text)
    return {name.upper() for name in named} if os.name == "nt" else named


def _places(*folders: str) -> Iterator[str]:
    """Yield the folders and all around them, each once."""
    seen = set()
    for folder in filter(None, folders):
        place = os.path.realpath(folder)
        while place not in seen:
            seen.add(place)
            yield place
            place = os.path.dirname(place)


def _env_of(path: str) -> tuple[dict[str, str], str]:
    """Return a settings file's ``env`` block; for a file that is not JSON, its text instead.

    The client may read what is not strictly JSON.
    """
    try:
        text = file_text(path)
    except OSError:
        return {}, ""
    try:
        stored = quickjson.loads(text)
    except ValueError:
        return {}, text
    block = stored.get("env") if isinstance(stored, dict) else None
    if not isinstance(block, dict):
        return {}, ""
    return {str(key): str(each).lower() if isinstance(each, bool) else str(each) for key, each in block.items()}, ""


def client_program() -> str:
    """Return the program of the client that started this process, ``""`` where the system does not tell."""
    client = _client(os.environ, os.getpid())
    try:
        return os.readlink(f"/proc/{client}/exe") if client else ""
    except OSError:
        return ""


def _client(environ: Mapping[str, str], process: int) -> int:
    """Return the client's process id, 0 when the variable does not name an ancestor of ``process``."""
    said = environ.get("CLAUDE_PID", "")
    client = int(said) if said.isdigit() and len(said) < 12 else 0
    for _ in range(MAX_ANCESTORS):
        process = _parent(process)
        if process == client or process <= 1:
            break
    return client if client > 1 and process == client else 0


def _parent(process: int) -> int:
    """Return the id of a process's parent, 0 where the system does not tell."""
    if process == os.getpid():
        return os.getppid()
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read(1024).rpartition(b") ")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _started_with(process: int) -> dict[str, str] | None:
    """Return the variables that a process was started with, None where the system does not tell."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            pairs = os.fsdecode(file.read()).split("\0")
    except OSError:
        return None
    return {name: value for name, _, value in [pair.partition("=") for pair in pairs] if name} or None


def _home() -> str:
    """Return the user's home folder by the system's own record, whatever HOME says."""
    try:
        import pwd  # noqa: PLC0415 (not on Windows)

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return os.path.expanduser("~")
