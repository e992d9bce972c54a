"""Where tests find things: the checkout, recorded files, and real transcripts for those who have some."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parents[1]
ROOT: Final = TESTS.parent
PAYLOADS: Final = TESTS / "fixtures" / "payloads"
TRANSCRIPTS: Final = TESTS / "fixtures" / "transcripts"
SHARED: Final = Path(os.environ.get("MEMORIA_SHARED") or ROOT.parent / "shared")  # real data; the project holds none
