"""``uv run python scripts/lint.py``: the same as ``memoria lint``."""

from memoria.cli import script

raise SystemExit(script("lint"))
