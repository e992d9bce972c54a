"""``python -m memoria``."""

from memoria.cli import main

raise SystemExit(main())
