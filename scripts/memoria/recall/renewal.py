"""Renewal: what a hook does when the search index cannot be read, such as after an upgrade."""

from __future__ import annotations

from memoria.capture import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings


def no_notes(event: hook.Event, settings: Settings, paths: Paths, reason: Exception) -> None:
    """Log that there are no notes, and start the worker, which fills the index again."""
    from memoria.capture import detach  # noqa: PLC0415 (only while the index cannot be read)

    started = detach.start_worker(settings, paths, is_ending=True)
    hook.log(paths, f"{event.name} {event.session} no notes ({started}): {reason}")
