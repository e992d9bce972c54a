"""``uv run python scripts/query.py "question"``: the same as ``memoria query``."""

from memoria.cli import script

raise SystemExit(script("query"))
