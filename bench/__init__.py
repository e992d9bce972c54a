"""What is measured, and what is tried too long for the suite: each module starts as ``uv run python -m bench.NAME``.

They share tests/support with the tests; tests/test_crash.py and others play short forms of what is here.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
