"""Codex's hooks: their input has the form of Claude Code's, and the spool holds the rollout's lines as they are."""

from __future__ import annotations

from memoria.capture import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths
    from memoria.base.settings import Settings


def codex(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the page for a session that starts; of any other event spool what the rollout has gained."""
    event.agent = "codex"
    if event.name == "SessionStart":
        from memoria.recall.session_start import session_start  # noqa: PLC0415 (each event needs one of the two)

        return session_start(event, settings, paths)
    from memoria.capture.capture import capture  # noqa: PLC0415 (as above)

    capture(event, settings, paths)
    return None
