"""``uv run python scripts/compile.py``: the same as ``memoria compile``."""

from memoria.cli import script

raise SystemExit(script("compile"))
