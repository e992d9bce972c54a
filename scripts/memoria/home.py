"""Home: the settings, the places and the time zone that one run works with, resolved once at the door."""

from __future__ import annotations

from dataclasses import dataclass

from memoria import clock
from memoria.paths import Paths
from memoria.settings import Settings


@dataclass(frozen=True, slots=True)
class Home:
    """What every command is handed."""

    settings: Settings
    paths: Paths
    zone: clock.Zone

    @classmethod
    def open(cls) -> Home:
        """The home that the environment names."""
        settings = Settings.load()
        return cls(settings, Paths.of(settings), clock.Zone(settings.tz))
