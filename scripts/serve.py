"""``uv run python scripts/serve.py``: the same as ``memoria mcp``."""

from memoria.cli import script

raise SystemExit(script("mcp"))
