"""Protocol: what memoria has to know of a coding agent to read its sessions.

One module of this package knows one agent's files; ``table`` lists them. All agents' lines are translated into the
form of Claude Code's lines, so that turns, tool lines and exclusions are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memoria.transcripts.client_files import Found, Head

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode


class Client(Protocol):
    """One coding agent. ``name`` is the word for ``--agent`` and in entries, ``title`` the name for people."""

    name: str
    title: str
    has_byte_ranges: bool  # whether a session is one file to which lines are only appended

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

    def lines(self, path: Path) -> Iterator[bytes]:
        """Yield the session's lines as a job in the spool holds them; OSError when it cannot be read."""
        ...

    def decoder(self) -> Decode:
        """Return a new decoder, which reads the lines of one session in their order."""
        ...

    def kept_days(self, environ: Mapping[str, str]) -> float:
        """Return for how many days after its last line the agent keeps a session."""
        ...
