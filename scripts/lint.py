"""``uv run python scripts/lint.py``: the same as ``memoria doctor --wiki``."""

from memoria.cli import script

raise SystemExit(script("lint"))
