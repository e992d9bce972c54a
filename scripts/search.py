"""``uv run python scripts/search.py``: the same as ``memoria search``."""

from memoria.cli import script

raise SystemExit(script("search"))
