"""Claude Code: its transcripts are the form that all others are translated into; ``client_files`` knows the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.transcripts import client_files
from memoria.transcripts.client_files import Found, Head

if TYPE_CHECKING:
    from memoria.transcripts.turn_reader import Decode


class Claude:
    """Claude Code's transcripts."""

    name = "claude"
    title = "Claude Code"
    has_byte_ranges = True

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return ``<config>/projects``."""
        return client_files.folder(environ)

    def transcripts(self, root: Path, *, sides: bool = False) -> list[Found]:
        """Return the transcripts at or under ``root``."""
        return client_files.transcripts(root, sides=sides)

    def head(self, path: Path) -> Head:
        """Return what the first lines say."""
        return client_files.head(path)

    def lines(self, path: Path) -> Iterator[bytes]:
        """Yield the file's lines."""
        with client_files.opened(path) as file:
            yield from file

    def decoder(self) -> Decode:
        """Return the decoder of these lines, which needs no state."""
        from memoria.transcripts.decoder import kept  # noqa: PLC0415 (25 ms that only a transcript is worth)

        return kept

    def kept_days(self, environ: Mapping[str, str]) -> float:
        """Return the setting ``cleanupPeriodDays``."""
        return client_files.kept_days(environ)
