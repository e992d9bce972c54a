"""``uv run python scripts/flush.py``: the same as ``memoria flush``."""

from memoria.cli import script

raise SystemExit(script("flush"))
