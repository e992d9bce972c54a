"""SQLite: read-only connections, and how long memoria waits for a locked database."""

from __future__ import annotations

import os
import sys

from memoria.base import paths as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

# How long to wait for another process's transaction. Most take milliseconds; the longest, a rebuild of the index and a
# VACUUM, take seconds.
WRITE_WAIT_S = 30.0  # worker and commands: nobody waits for them, and giving up would mean doing the work again
READ_WAIT_S = 1.0  # a hook: a session that starts without its notes is better than one that does not start
STEP_WAIT_S = 0.005  # inside an event loop, which this blocks: the caller yields and tries again


def module() -> Any:
    """Return CPython's C module: its Python wrapper imports ``datetime`` and ``collections``, which takes 4 of 6 ms."""
    found = sys.modules.get("_sqlite3")
    if found is not None:
        return found
    is_alone = "functools" not in sys.modules
    try:
        if is_alone:
            _stand_in_for_functools()
        import _sqlite3  # noqa: PLC0415 (a hook with nothing to search does not need it)
    except ImportError:  # pragma: no cover (PyPy and friends)
        sys.modules.pop("functools", None)
        import sqlite3  # noqa: PLC0415

        return sqlite3
    finally:
        if is_alone:
            sys.modules.pop("functools", None)  # whoever imports it later gets the real one
    return _sqlite3


def _stand_in_for_functools() -> None:
    """Offer the one function of ``functools`` that the C module looks up, since Python 3.10, when it is imported.

    It is ``lru_cache`` for the cache of statements. The whole package takes as long to import as SQLite itself.
    """
    from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]  # noqa: PLC0415 (as above)

    def lru_cache(size: int) -> Callable[[Callable[[str], object]], object]:
        return lambda function: _lru_cache_wrapper(function, size, False, tuple)

    stand_in: Any = type(sys)("functools")
    stand_in.lru_cache = lru_cache
    sys.modules["functools"] = stand_in


def read_only(path: str) -> sqlite3.Connection:
    """Open an existing database for reading only. Raises ``module().Error``."""
    if not os.path.isfile(path):  # a pipe would be waited for
        raise module().OperationalError("no such file")
    is_live = os.access(os.path.dirname(path), os.W_OK) or os.path.exists(path + "-wal")
    how = "mode=ro" if is_live else "immutable=1"  # on a read-only disk no reader can put SQLite's files beside it
    connection: sqlite3.Connection = module().connect(f"{uri(path)}?{how}", uri=True, timeout=READ_WAIT_S)
    return connection


def uri(path: str) -> str:
    """Return a path as SQLite reads it in a URI; on Windows a drive follows one slash, a server's name four."""
    if places.WINDOWS:
        path = path.replace("\\", "/")
        path = f"/{path}" if path[1:2] == ":" else f"//{path}" if path.startswith("//") else path
    return "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
