"""Table: the coding agents whose sessions memoria reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head
from memoria.transcripts.clients.client import Client
from memoria.transcripts.clients.codex import Codex
from memoria.transcripts.clients.gemini import Gemini
from memoria.transcripts.clients.opencode import OpenCode

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode


class Claude(Client):
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
        from memoria.transcripts.decoder import decode  # noqa: PLC0415 (25 ms that only a transcript is worth)

        return decode

    def kept_days(self, environ: Mapping[str, str]) -> float:
        """Return the setting ``cleanupPeriodDays``."""
        return client_files.kept_days(environ)


CLIENTS: Mapping[str, Client] = {client.name: client for client in (Claude(), Codex(), Gemini(), OpenCode())}
CLAUDE = CLIENTS["claude"]


def by_name(name: object) -> Client:
    """Return the agent of this name; a job of an older version names none, and is Claude Code's."""
    return CLIENTS.get(str(name), CLAUDE)


def speaker(agent: str) -> str:
    """Return the name that stands before the answers in a session of this agent, as an entry names the agent."""
    return by_name(agent).title if agent not in ("", CLAUDE.name) else "Claude"


def of(found: Found) -> Client:
    """Return the agent whose session was found."""
    return CLIENTS[found.agent]


def owner(path: Path, environ: Mapping[str, str]) -> Client:
    """Return the agent whose file or folder this is: by its place, else by its name, else Claude Code."""
    absolute = path.absolute()
    for client in CLIENTS.values():
        if absolute.is_relative_to(client.folder(environ).absolute()):
            return client
    if path.name.startswith("rollout-"):
        return CLIENTS["codex"]
    if path.name.startswith("session-") and path.suffix in (".json", ".jsonl"):
        return CLIENTS["gemini"]
    return CLIENTS["opencode"] if path.suffix == ".db" or path.name.startswith("ses_") else CLAUDE


def sessions(agents: Sequence[str], environ: Mapping[str, str] | None = None, *, sides: bool = False) -> list[Found]:
    """Return the sessions of these agents at their usual places, the one that changed longest ago first."""
    places = os.environ if environ is None else environ
    found = [item for name in agents for item in CLIENTS[name].transcripts(CLIENTS[name].folder(places), sides=sides)]
    return sorted(found, key=lambda item: (item.changed_ns, item.path))


def is_at_home(found: Found, environ: Mapping[str, str] | None = None) -> bool:
    """Return whether the agent itself writes (and deletes) the file, which is no copy that lies elsewhere."""
    places = os.environ if environ is None else environ
    return found.path.absolute().is_relative_to(of(found).folder(places).absolute())
