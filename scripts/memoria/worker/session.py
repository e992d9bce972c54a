"""Session: the session whose turns are judged and summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoria.base import project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground import clock
from memoria.statements.fact import Stamp
from memoria.transcripts import clients
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange


@dataclass(frozen=True, slots=True)
class Session:
    """A session's id, its project's key and name, its working folder, and its agent (empty for Claude Code)."""

    id: str
    project: str
    name: str
    cwd: str = ""
    agent: str = ""

    @classmethod
    def of(cls, intake: Intake, settings: Settings, paths: Paths) -> Session:
        """Return the session of these jobs."""
        owner = project.of(intake.cwd, settings, paths)
        agent = "" if intake.client is clients.CLAUDE else intake.client.name
        return cls(intake.session, owner.key, owner.name, intake.cwd, agent)

    def stamp(self, exchanges: Sequence[Exchange]) -> Stamp:
        """Return where and when these exchanges happened; the time is that of the last exchange."""
        moments = [exchange.time for exchange in exchanges if exchange.time]
        return Stamp(self.project, self.id, moments[-1] if moments else clock.now(), self.agent)
