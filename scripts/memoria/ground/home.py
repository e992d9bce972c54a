"""Home: the settings, paths and time zone that every command receives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memoria.base import invocation, state
from memoria.base.paths import Paths, holds_memory, other_memories
from memoria.base.settings import MEND_CONFIG, Settings
from memoria.ground import config_file, owner_only
from memoria.ground.clock import Zone
from memoria.ground.errors import FileBusyError, HomeRefusedError
from memoria.ground.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Home:
    """One user's memoria."""

    settings: Settings
    paths: Paths
    zone: Zone
    scratch: str = ""  # the state of one who only reads, where there is no memory yet

    @classmethod
    def open(cls, *, reads: bool = False) -> Home:
        """Return the home that is chosen; make its folders when they are missing, and record it when it is found.

        One who only ``reads`` makes no home: where there is none, the state is a scratch folder until ``leave``.
        Raises HomeRefusedError when the settings cannot be read, the state belongs to a newer memoria or the folder
        cannot be written.
        """
        settings = Settings.load()
        if settings.refusal:
            raise HomeRefusedError(settings.refusal, MEND_CONFIG)
        paths = Paths.of(settings)
        is_begun = Path(paths.version).exists() or holds_memory(paths.home)
        scratch = ""
        if reads and not is_begun:
            import tempfile  # noqa: PLC0415 (only where there is no memory yet)

            scratch = tempfile.mkdtemp(prefix="memoria-")
            paths = Paths(paths.home, scratch)
        try:
            state.open_state(paths)
        except state.StateError as error:
            raise HomeRefusedError(error.what, error.remedy) from error
        except OSError as error:
            raise HomeRefusedError(
                f"cannot use {paths.state} ({error.strerror or error})", "make it writable or set MEMORIA_STATE"
            ) from error
        if not scratch:
            owner_only.make_folders(paths, is_shared=settings.shared_home)
        if not reads and not settings.home:
            _record(paths)
        return cls(settings, paths, Zone(settings.tz), scratch)

    @property
    def is_begun(self) -> bool:
        """Return whether there is a home, and not only the scratch folder of one who reads."""
        return not self.scratch

    def leave(self) -> None:
        """Remove the scratch folder of one who only read."""
        if self.scratch:
            import shutil  # noqa: PLC0415 (as above)

            shutil.rmtree(self.scratch, ignore_errors=True)

    def second_memories(self) -> list[tuple[str, str]]:
        """Return what else holds memory besides this home, and what to do about each."""
        return [
            (f"{other} holds memory too, and nothing of it is read",
             f"use it instead with {invocation.shown(f'config set home {other}')}, or move it away")
            for other in other_memories(self.paths.home)
        ]  # fmt: skip


def _record(paths: Paths) -> None:
    """Write the home to config.json, for every later process; a file that cannot be written is left as it is."""
    with suppress(OSError, ValueError, FileBusyError):
        config_file.change(Exchange.of(paths), {"home": paths.home})
