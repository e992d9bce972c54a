"""Home: the settings, paths and time zone that every command receives."""

from __future__ import annotations

from dataclasses import dataclass

from memoria.base import state
from memoria.base.paths import Paths
from memoria.base.settings import MEND_CONFIG, Settings
from memoria.ground import owner_only
from memoria.ground.clock import Zone
from memoria.ground.errors import HomeRefusedError


@dataclass(frozen=True, slots=True)
class Home:
    """One user's memoria."""

    settings: Settings
    paths: Paths
    zone: Zone

    @classmethod
    def open(cls) -> Home:
        """Return the home that the environment names; create its state folder when it is missing.

        Raises HomeRefusedError when the settings cannot be read, the state belongs to a newer memoria or the folder
        cannot be written.
        """
        settings = Settings.load()
        if settings.refusal:
            raise HomeRefusedError(settings.refusal, MEND_CONFIG)
        paths = Paths.of(settings)
        try:
            state.open_state(paths)
        except state.StateError as error:
            raise HomeRefusedError(error.what, error.remedy) from error
        except OSError as error:
            raise HomeRefusedError(
                f"cannot use {paths.state} ({error.strerror or error})", "make it writable or set MEMORIA_STATE"
            ) from error
        owner_only.make_folders(paths, is_shared=settings.shared_home)
        return cls(settings, paths, Zone(settings.tz))
