"""Clients: the coding agents whose sessions memoria reads, and what it has to know of each.

All agents' lines are translated into the form of Claude Code's, so that turns, tool lines and exclusions are the same
for all of them. A session is one file to which lines are only appended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head
from memoria.transcripts.codex import Codex

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode


class Client(Protocol):
    """One coding agent. ``name`` is the word for ``--agent`` and in entries, ``title`` the name for people."""

    name: str
    title: str

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return the folder in which the agent keeps its sessions."""
        ...

    def transcripts(self, root: Path, *, sides: bool = False) -> list[Found]:
        """Return the sessions at or under ``root``, the one that changed longest ago first.

        ``sides``: also those of sub-agents. What cannot be listed is passed over.
        """
        ...

    def head(self, path: Path) -> Head:
        """Return the session's id and working folder; OSError when it cannot be read."""
        ...

    def decoder(self) -> Decode:
        """Return a new decoder, which reads the lines of one session in their order."""
        ...

    def kept_days(self, environ: Mapping[str, str]) -> float:
        """Return for how many days after its last line the agent keeps a session."""
        ...


class Claude:
    """Claude Code's transcripts."""

    name = "claude"
    title = "Claude Code"

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return ``<config>/projects``."""
        return client_files.folder(environ)

    def transcripts(self, root: Path, *, sides: bool = False) -> list[Found]:
        """Return the transcripts at or under ``root``."""
        return client_files.transcripts(root, sides=sides)

    def head(self, path: Path) -> Head:
        """Return what the first lines say."""
        return client_files.head(path)

    def decoder(self) -> Decode:
        """Return the decoder of these lines, which needs no state."""
        return client_files.decode

    def kept_days(self, environ: Mapping[str, str]) -> float:
        """Return the setting ``cleanupPeriodDays``."""
        return client_files.kept_days(environ)


CLAUDE: Client = Claude()
CLIENTS: Mapping[str, Client] = {client.name: client for client in (CLAUDE, Codex())}


def by_name(name: object) -> Client:
    """Return the agent of this name; a job of an older version names none, and is Claude Code's."""
    return CLIENTS.get(str(name), CLAUDE)


def speaker(agent: str) -> str:
    """Return the name that stands before the answers in a session of this agent, as an entry names the agent."""
    if agent in ("", CLAUDE.name):
        return "Claude"
    return CLIENTS[agent].title if agent in CLIENTS else agent


def of(found: Found) -> Client:
    """Return the agent whose session was found."""
    return CLIENTS[found.agent]


def owner(path: Path) -> Client:
    """Return the agent whose file or folder this is: by its place, else by its name, else Claude Code."""
    for client in CLIENTS.values():
        if path.absolute().is_relative_to(client.folder(os.environ).absolute()):
            return client
    return CLIENTS["codex"] if path.name.startswith("rollout-") else CLAUDE


def sessions(agents: Sequence[str], *, sides: bool = False) -> list[Found]:
    """Return the sessions of these agents at their usual places, the one that changed longest ago first."""
    places = ((CLIENTS[name], CLIENTS[name].folder(os.environ)) for name in agents)
    return client_files.in_order(item for client, root in places for item in client.transcripts(root, sides=sides))


def is_at_home(found: Found) -> bool:
    """Return whether the agent itself writes (and deletes) the file, which is no copy that lies elsewhere."""
    return found.path.absolute().is_relative_to(of(found).folder(os.environ).absolute())
