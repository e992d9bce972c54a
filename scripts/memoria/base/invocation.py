"""Invocation: how the command line is called where the reader of a message stands.

A message that names a command names one that works there: in a session with the plugin, in a clone, or in any shell
once memoria is installed as a tool. Every such text takes its command from ``command``.
"""

from __future__ import annotations

import os

from memoria.base import interpreter, user_environment
from memoria.base import paths as places

COMMAND = "memoria"
DISTRIBUTION = "claude-memoria"
INSTALL_TOOL = f"uv tool install --no-binary-package claude-agent-sdk {DISTRIBUTION}"  # without the SDK's own client
CACHE_MARK = "CACHEDIR.TAG"  # which package managers put into a cache, uv among them
UV_RUN = "UV_RUN_RECURSION_DEPTH"  # what `uv run` sets for what it starts; its PATH is not the reader's
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@~")


def command(arguments: str) -> str:
    """Return the command with these arguments as a message shows it, in backquotes."""
    return f"`{program()} {arguments}`"


def program() -> str:
    """Return the words that start memoria's command line here."""
    if UV_RUN in os.environ and places.is_checkout():
        return f"uv run {COMMAND}"
    if places.is_wheel() and is_cached():
        return f"uvx --from {DISTRIBUTION} {COMMAND}"
    if interpreter.find_in(os.environ.get("PATH", "").split(os.pathsep), COMMAND) or _is_read_in_a_session():
        return COMMAND
    return quote(_program())


def update() -> str:
    """Return how this memoria is brought up to date, as a message shows it."""
    if places.is_wheel():
        return f"`uv tool upgrade {DISTRIBUTION}`"
    return f"`git pull` in {places.ROOT}" if places.is_checkout() else "`claude plugin update memoria@memoria`"


def is_cached() -> bool:
    """Return whether this memoria lies in a package manager's cache, as ``uvx`` runs it.

    uv puts the mark into each environment that it makes, too, so that backups leave it out: that one says nothing.
    """
    folder = places.PACKAGE
    while (around := os.path.dirname(folder)) != folder:
        folder = around
        is_environment = os.path.isfile(os.path.join(folder, "pyvenv.cfg"))
        if os.path.isfile(os.path.join(folder, CACHE_MARK)) and not is_environment:
            return True
    return False


def _is_read_in_a_session() -> bool:
    """Return whether a session with the plugin reads this: the client has the plugin's bin/ on its shells' PATH."""
    if places.is_wheel() or (places.is_checkout() and not places.is_plugin()):
        return False
    return user_environment.DETACHED in os.environ or any(mark in os.environ for mark in user_environment.SESSION_MARKS)


def _program() -> str:
    """Return the path of the program that starts the command line."""
    if not places.is_wheel():
        return os.path.join(places.ROOT, "bin", COMMAND)
    name = COMMAND + ".exe" if os.name == "nt" else COMMAND
    return os.path.join(os.path.dirname(interpreter.find_of_wheel(places.PACKAGE)), name)


def quote(path: str) -> str:
    """Return a path as a shell takes it, with the home folder as ``~`` where that needs no quotes."""
    home = os.path.expanduser("~")
    short = "~" + path[len(home) :] if path.startswith(home + os.sep) else path
    return short if SAFE.issuperset(short) else f'"{path}"'
