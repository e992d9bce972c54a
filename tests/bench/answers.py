"""Answers: what forty malformed answers of models cost. ``uv run python tests/bench/answers.py``

Each answer of tests/support/malformed_answers.py is given to the same code that takes in a real one, followed by a good
answer. The table says for each whether all that was good in it was taken in, and by how many calls.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "support"), str(Path(__file__).parents[2] / "scripts")]

from malformed_answers import FAULTS, Fault, holds  # noqa: E402
from memoria.daily.ledger import Ledger  # noqa: E402
from memoria.ground.errors import BadAnswerError  # noqa: E402
from memoria.models.metered import Metered  # noqa: E402
from memoria.models.scripted import Scripted  # noqa: E402


def main() -> int:
    """Print the table; exit with 1 when a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        rows = [(fault, *taken(fault, ledger, Path(folder) / "lock")) for fault in FAULTS]
        ledger.close()
    for fault, whole, calls in rows:
        print(f"{fault.task:8} {fault.name:40} {'taken in' if whole else 'LOST':9} {calls} call{'s' * (calls > 1)}")
    lost, again = sum(not whole for _, whole, _ in rows), sum(calls > 1 for *_, calls in rows)
    print(
        f"\n{len(rows)} faults: {again} cost a second call ({again / len(rows):.1%}, goal: at most 10 %), {lost} lost"
    )
    return int(lost > 0 or again > len(rows) / 10)


def taken(fault: Fault, ledger: Ledger, lock: Path) -> tuple[bool, int]:
    """Return whether everything good was taken in, and after how many calls."""
    scripted = Scripted([fault.wrote, json.dumps(fault.meant)])
    model = Metered(scripted, ledger, lock, (0.0,), sleep=lambda _: None)
    try:
        whole = holds(model.complete(fault.prompt).data, fault.meant)
    except BadAnswerError:
        whole = False
    return whole, len(scripted.prompts)


if __name__ == "__main__":
    raise SystemExit(main())
