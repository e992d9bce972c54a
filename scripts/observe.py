"""``uv run python scripts/observe.py``: the same as ``memoria observe``."""

from memoria.cli import script

raise SystemExit(script("observe"))
