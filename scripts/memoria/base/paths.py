"""Paths: where everything lives, worked out once from the settings.

Knows names, not contents. All attributes are absolute paths as ``str`` (the hook floor has no pathlib).

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.settings import Settings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Paths:
    """The folders and files of one home and its state."""

    __slots__ = (
        "archive",
        "cursors",
        "daily",
        "hints",
        "home",
        "index",
        "knowledge",
        "ledger",
        "log",
        "observer_lock",
        "page",
        "since",
        "spool",
        "state",
        "version",
        "where",
        "worker_lock",
    )

    def __init__(self, home: str, state: str = "") -> None:
        """``state`` defaults to ``<home>/.memoria``."""
        join = os.path.join
        self.home = os.path.abspath(os.path.expanduser(home))
        self.state = os.path.abspath(os.path.expanduser(state)) if state else join(self.home, ".memoria")
        self.daily = join(self.home, "daily")
        self.knowledge = join(self.home, "knowledge")
        self.version = join(self.state, "version")
        self.since = join(self.state, "since")
        self.spool = join(self.state, "spool")
        self.cursors = join(self.state, "cursors")
        self.ledger = join(self.state, "ledger.db")
        self.index = join(self.state, "index.db")
        self.page = join(self.state, "page")
        self.hints = join(self.state, "hints")
        self.archive = join(self.state, "archive")
        self.where = join(self.state, "where")
        self.observer_lock = join(self.state, "observer.lock")
        self.worker_lock = join(self.state, "worker.lock")
        self.log = join(self.state, "log")

    @classmethod
    def of(cls, settings: Settings) -> Paths:
        """The paths that these settings name."""
        return cls(settings.home or default_home(), settings.state)


def is_checkout(root: str = ROOT) -> bool:
    """Whether memoria runs from a clone, as against a plugin's cache folder (replaced on update) or a wheel."""
    inside_client = os.sep + os.path.join("plugins", "cache") + os.sep in root
    return os.path.isfile(os.path.join(root, "pyproject.toml")) and not inside_client


def default_home() -> str:
    """The clone when there is one, else ``~/memoria``."""
    return ROOT if is_checkout() else os.path.join(os.path.expanduser("~"), "memoria")
