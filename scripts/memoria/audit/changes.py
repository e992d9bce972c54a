"""Changes: which transcripts must be compared with what was captured, told by their names, times and sizes alone.

A worker asks at every start, and mostly none must. What a comparison takes (``receipt``) is slow to import.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from memoria.base.paths import safe_name
from memoria.capture import cursor
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground import home_files
from memoria.ground.home import Home
from memoria.transcripts import clients
from memoria.transcripts.client_files import Found

OPEN_S = 600.0  # a transcript that grew so recently belongs to a session that may still be going on
HOOKED = ("codex",)  # agents other than Claude Code whose hooks capture sessions
MISSING = "missing"  # what became of a turn that should have been captured and was not


@dataclass(slots=True)
class Changes:
    """What the ledger says of transcripts that were compared before; hold it no longer than one run."""

    home: Home
    ledger: Ledger
    spool: Spool
    now: float = field(default_factory=time.time)
    _checked: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look once at the ledger's memory."""
        self._checked = self.ledger.check_results()

    def is_any_due(self) -> bool:
        """Return whether any transcript must be compared, or may hold what was said with memoria switched off."""
        return bool(self.silences()) or any(map(self.is_due, self.transcripts()))

    def transcripts(self) -> list[Found]:
        """Return the transcripts that hooks capture, the one that changed longest ago first.

        Of another agent than Claude Code, only sessions of which a hook has captured something.
        """
        found = clients.sessions([clients.CLAUDE.name])
        others = clients.sessions(HOOKED, sides=True)
        return [*found, *(item for item in others if self._was_seen(item.session))]

    def silences(self) -> list[Path]:
        """Return the files that say when memoria was switched off in a session."""
        return list(Path(self.home.paths.cursors).glob(f"*{cursor.OFF}"))

    def is_due(self, found: Found) -> bool:
        """Return whether a transcript changed since it was compared, or was found to lack turns that nobody took up.

        One of a session that may still be going on is not, nor is one from before memoria was installed.
        """
        stamp, fates = self._checked.get(str(found.path), ("", {}))
        old = found.changed_s < self.install_time and not self._was_seen(found.session)
        news = stamp != found.stamp or MISSING in fates
        return news and not old and not self.is_open(found)

    def is_open(self, found: Found) -> bool:
        """Return whether the session may still be going on; a time in the future (clock set back) says nothing."""
        return 0 <= self.now - found.changed_s < OPEN_S and clients.is_at_home(found)

    @property
    def install_time(self) -> float:
        """When this home's state was made, in seconds since the epoch; 0 when that is unknown."""
        try:
            return float(home_files.text(self.home.paths.since))
        except (OSError, ValueError):
            return 0.0

    def _was_seen(self, session: str) -> bool:
        """Return whether a hook of the session ever spooled something."""
        return Path(self.home.paths.cursors, safe_name(session)).exists()
