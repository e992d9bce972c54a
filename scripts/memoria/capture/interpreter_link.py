"""Interpreter link: let the next hooks start the interpreter itself, and no version manager's shim.

``hooks/run`` starts ``~/.cache/memoria/python3`` where there is one. A shim costs .7 s instead of .02. A link whose
interpreter has gone is passed over there and renewed here.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os
import sys


def path() -> str:
    """Return the link's path, ``""`` without a home folder."""
    home = os.environ.get("HOME", "")
    cache = os.environ.get("XDG_CACHE_HOME") or (home and os.path.join(home, ".cache"))
    return os.path.join(cache, "memoria", "python3") if os.path.isabs(cache) else ""


def renew() -> None:
    """Have the link lead to this interpreter; where it cannot be made, hooks find ``python3`` as before."""
    link = path()
    if not link or sys.executable == link:
        return
    real = os.path.realpath(sys.executable)
    beside = f"{link}.{os.getpid()}"
    try:
        if os.path.lexists(link) and os.readlink(link) == real:
            return
        os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
        os.symlink(real, beside)
        os.replace(beside, link)
    except OSError:
        pass
