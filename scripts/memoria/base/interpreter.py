"""Interpreter: which Python runs the worker and the MCP server, and with which environment variables.

This module decides for hooks, MCP server and doctor. It chooses the interpreter that the user has set, the clone's own
``.venv``, or the environment that memoria builds for itself (``capture.build``). The latter lies in the platform's
data folder, because people read and synchronise the home, and an update replaces the plugin's folder. Its name is
derived from ``requirements.lock``, so that an update creates a new one beside that of a running session.
"""

from __future__ import annotations

import os
import sys

from memoria.base import paths as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoria.base.settings import Settings

# Where packages come from (an index, a proxy, a certificate, a cache), which belongs to the machine.
PACKAGE_SOURCES = (
    "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_PROXY",
    "PIP_TRUSTED_HOST", "UV_CACHE_DIR", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_HTTP_TIMEOUT",
    "UV_INDEX", "UV_INDEX_URL", "UV_INSECURE_HOST", "UV_NATIVE_TLS", "UV_OFFLINE", "UV_PYTHON_DOWNLOADS",
    "UV_PYTHON_INSTALL_DIR", "UV_SYSTEM_CERTS",
)  # fmt: skip
# What the worker and the client of a model call may inherit: the machine, the login, and how to reach the model.
INHERITED = frozenset((
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR", "TMP", "TEMP",
    "LD_LIBRARY_PATH", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME",
    "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE",
    "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMPUTERNAME", "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "DBUS_SESSION_BUS_ADDRESS", "SECURITYSESSIONID",
    "__CF_USER_TEXT_ENCODING", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY",
    "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "CLAUDE_CONFIG_DIR", "CLAUDE_INVOKED_BY", "CLOUD_ML_REGION", "GCLOUD_PROJECT", *PACKAGE_SOURCES,
))  # fmt: skip
INHERITED_PREFIXES = (
    "LC_", "XDG_", "MEMORIA_", "MEMORY_API_", "ANTHROPIC_", "AWS_", "AZURE_", "CLAUDE_CODE_CLIENT_",
    "CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_USE_", "CLOUDSDK_", "GOOGLE_", "VERTEX_REGION_",
)  # fmt: skip

LOCK_FILE = "requirements.lock"
OWN_PREFIX = "venv-"  # of the folders of memoria's own environments, one for each set of versions
USED = "in-use"  # a file in such a folder, whose time is that of the latest start
# Variables by which the folder of a session could choose another environment, interpreter or package.
FOREIGN = ("CONDA_", "PIP_", "PYTHON", "UV_", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


def may_inherit(name: str) -> bool:
    """Return whether the worker and a model's client get this variable from the process that starts them."""
    if name.startswith("CLAUDE_CODE_SKIP_"):
        return name.endswith("_AUTH")  # a gateway that signs the requests to Bedrock or Vertex itself
    return name in INHERITED or name.startswith(INHERITED_PREFIXES)


def reduce_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``environ`` that ``may_inherit``."""
    return {name: value for name, value in environ.items() if may_inherit(name)}


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` without the variables by which a project chooses its own Python environment."""
    return {name: value for name, value in environ.items() if name in PACKAGE_SOURCES or not name.startswith(FOREIGN)}


def find(settings: Settings) -> str:
    """Return the interpreter that has memoria's packages, ``""`` when there is none yet."""
    if settings.python:
        return settings.python
    if places.is_wheel():
        return find_of_wheel(places.PACKAGE)
    own = _python_in(os.path.join(places.ROOT, ".venv")) if places.is_checkout() else ""
    return own or _python_in(environment())


def find_of_wheel(package: str) -> str:
    """Return the interpreter of the environment that a package is installed in, ``""`` when it has gone.

    A package outside of any virtual environment belongs to this process's interpreter: ``memoria install`` writes
    that one into the hooks then.
    """
    folder = package
    for _ in range(4):  # <environment>/lib/python3.x/site-packages/memoria, on Windows one less
        folder = os.path.dirname(folder)
        if os.path.isfile(os.path.join(folder, "pyvenv.cfg")):
            return _python_in(folder)
    return sys.executable


def _python_in(folder: str) -> str:
    """Return the path of a virtual environment's interpreter, ``""`` when there is none that can be run."""
    python = python_of(folder)
    return python if os.access(python, os.X_OK) else ""


def python_of(folder: str) -> str:
    """Return the path of a virtual environment's interpreter."""
    return os.path.join(folder, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def data_folder() -> str:
    """Return the platform's folder for files that memoria installs; it may be deleted and is then rebuilt."""
    home = os.path.expanduser("~")
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(base, "memoria")


def environment() -> str:
    """Return the folder of the environment for this version of memoria, whether it is built or not."""
    try:
        lock = places.data_of(os.path.join(places.ROOT, LOCK_FILE))
    except OSError:  # an installed wheel has its packages already
        lock = b""
    checksum = int.from_bytes(lock, "big") % (2**30 - 35)  # a prime; importing one that is made for it takes longer
    return os.path.join(data_folder(), f"{OWN_PREFIX}{checksum:08x}-{len(lock):x}")


def failure_file() -> str:
    """Return the file that says why the environment could not be built."""
    return environment() + ".failed"


def failure() -> tuple[str, float]:
    """Return why the environment could not be built, and when; ``""`` and 0 when no failure is recorded."""
    try:
        return places.text_of(failure_file()).strip(), os.path.getmtime(failure_file())
    except OSError:
        return "", 0.0


def build_lock() -> str:
    """Return the file whose lock is held while the environment is built."""
    return environment() + ".lock"


def mark_use(python: str) -> None:
    """Note that something starts in memoria's own environment; do nothing when ``python`` belongs to another one."""
    folder = os.path.dirname(os.path.dirname(python))
    if not folder.startswith(os.path.join(data_folder(), OWN_PREFIX)):
        return
    mark = os.path.join(folder, USED)
    try:
        os.close(places.opener(mark))
        os.utime(mark)
    except OSError:  # the environment only seems older than it is
        pass


def become(command: list[str]) -> None:
    """Replace this process by ``command``, which runs without the variables of a project; OSError when it cannot."""
    environment = clean(os.environ)
    if os.name != "nt":
        mark_use(command[0])
        os.execve(command[0], command, environment)  # noqa: S606 (no shell is the point)
    import subprocess  # noqa: PLC0415 (slow; on Windows exec starts a second process and ends this one)

    os._exit(subprocess.call(command, env=environment))


def lock(path: str) -> int:
    """Return a descriptor that holds the lock of ``path`` until it is closed, -1 when the lock is not available."""
    try:
        descriptor = places.opener(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        return -1
    try:
        if places.WINDOWS:
            import msvcrt  # noqa: PLC0415 (Windows only)

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl  # noqa: PLC0415 (not on Windows)

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def find_program(name: str) -> str:
    """Return the path of a program on PATH or where installers put it; ``""`` if not found.

    A client that was started from the desktop lacks the latter on its PATH.
    """
    own = [os.path.join(os.path.expanduser("~"), folder, "bin") for folder in (".local", ".cargo")]
    folders = [*own, "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"]
    return find_in([*os.environ.get("PATH", "").split(os.pathsep), *folders], name)


def find_in(folders: Sequence[str], name: str) -> str:
    """Return the path of a program in the first of these folders that holds it; ``""`` if not found."""
    for folder in folders:
        path = os.path.join(folder, name + ".exe" if os.name == "nt" else name)
        if folder and os.path.isabs(folder) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""
