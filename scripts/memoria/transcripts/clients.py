"""Clients: the coding agents whose sessions memoria reads, and what it has to know of each.

All agents' lines are translated into the form of Claude Code's, so that turns, tool lines and exclusions are the same
for all of them. A session is one file to which lines are only appended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.transcripts import client_files, codex
from memoria.transcripts.client_files import Found, Head

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode


@dataclass(frozen=True, slots=True)
class Client:
    """One coding agent. ``name`` is the word for ``--agent`` and in entries, ``title`` the name for people.

    ``folder``: in which it keeps its sessions. ``transcripts``: those at or under a folder, with ``sides`` also those
    of sub-agents. ``head``: a session's id and working folder. ``decoder``: makes what reads the lines of one session
    in their order.
    """

    name: str
    title: str
    folder: Callable[[Mapping[str, str]], Path]
    transcripts: Callable[..., list[Found]]
    head: Callable[[Path], Head]
    decoder: Callable[[], Decode]


CLAUDE = Client(
    "claude", "Claude Code", client_files.folder, client_files.transcripts, client_files.head,
    lambda: client_files.decode,
)  # fmt: skip
CODEX = Client("codex", "Codex", codex.folder, codex.transcripts, codex.head, codex.Decoder)
CLIENTS: Mapping[str, Client] = {client.name: client for client in (CLAUDE, CODEX)}


def find(name: object) -> Client:
    """Return the agent of this name; a job of an older version names none, and is Claude Code's."""
    return CLIENTS.get(str(name), CLAUDE)


def speaker(agent: str) -> str:
    """Return the name that stands before the answers in a session of this agent, as an entry names the agent."""
    if agent in ("", CLAUDE.name):
        return "Claude"
    return CLIENTS[agent].title if agent in CLIENTS else agent


def client_of(found: Found) -> Client:
    """Return the agent whose session was found."""
    return CLIENTS[found.agent]


def owner(path: Path) -> Client:
    """Return the agent whose file or folder this is: by its place, else by its name, else Claude Code."""
    for client in CLIENTS.values():
        if path.absolute().is_relative_to(client.folder(os.environ).absolute()):
            return client
    return CODEX if path.name.startswith("rollout-") else CLAUDE


def sessions(agents: Sequence[str], *, sides: bool = False) -> list[Found]:
    """Return the sessions of these agents at their usual places, the one that changed longest ago first."""
    places = ((CLIENTS[name], CLIENTS[name].folder(os.environ)) for name in agents)
    return client_files.sort(item for client, root in places for item in client.transcripts(root, sides=sides))


def is_at_home(found: Found) -> bool:
    """Return whether the agent itself writes (and deletes) the file, which is no copy that lies elsewhere."""
    return found.path.absolute().is_relative_to(client_of(found).folder(os.environ).absolute())
