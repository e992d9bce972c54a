"""SQLite: how long memoria waits for a locked database, and opening one only to read it.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

# Who waits how long for another process's transaction. Most are over within milliseconds; the longest are an index
# that is built anew and a VACUUM, which take seconds.
WRITE_WAIT_S = 30.0  # worker and commands: nobody is kept waiting, and giving up would mean doing the work again
READ_WAIT_S = 1.0  # a hook: a session that starts without its notes is better than one that does not start
STEP_WAIT_S = 0.005  # inside an event loop, which stands still meanwhile: its caller gives way and asks again


def module() -> Any:
    """CPython's C module without the package around it, which imports ``datetime`` and ``collections`` (4 of 6 ms)."""
    try:
        import _sqlite3  # noqa: PLC0415 (a hook with nothing to search does not pay for it)
    except ImportError:  # pragma: no cover (PyPy and friends)
        import sqlite3  # noqa: PLC0415

        return sqlite3
    return _sqlite3


def read_only(path: str) -> sqlite3.Connection:
    """Open a database that must exist, without ever writing to it. Raises ``module().Error``."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection: sqlite3.Connection = module().connect(f"file:{quoted}?mode=ro", uri=True, timeout=READ_WAIT_S)
    return connection
