"""Evidence: how many honest claims are refused and invented ones pass. ``uv run python -m bench.evidence [file]``

The claims and their entries are in evidence_set.txt, beside this file; evidence_set_heldout.txt holds a second set
that was not looked at while the rules were made, evidence_set_third.txt one of after that. Without a file, all are
counted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from memoria.wiki.evidence import unsupported

HERE = Path(__file__).parent
SETS = (HERE / "evidence_set.txt", HERE / "evidence_set_heldout.txt", HERE / "evidence_set_third.txt")


@dataclass
class Labelled:
    """An entry's text with honest and invented claims about it."""

    text: str = ""
    honest: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)


def load(path: Path) -> list[Labelled]:
    """Return the entries of a set."""
    found: list[Labelled] = []
    for row in path.read_text(encoding="utf-8").splitlines():
        sign, text = row[:2], row[2:]
        if sign == "= ":
            found.append(Labelled(text))
        elif sign == "+ ":
            found[-1].honest.append(text)
        elif sign == "- ":
            found[-1].invented.append(text)
        elif not row.startswith("#"):
            found[-1].text += "\n" + row
    return found


def faults(cases: list[Labelled]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Return the honest claims that are refused, with what is missing, and the invented ones that pass."""
    refused = [
        (claim, missing) for case in cases for claim in case.honest if (missing := unsupported(claim, case.text))
    ]
    passed = [claim for case in cases for claim in case.invented if not unsupported(claim, case.text)]
    return refused, passed


def main(names: list[str]) -> int:
    """Print the faults of each set; exit with 1 when a goal is missed."""
    missed = 0
    for path in [Path(name) for name in names] or SETS:
        cases = load(path)
        refused, passed = faults(cases)
        honest, invented = sum(len(case.honest) for case in cases), sum(len(case.invented) for case in cases)
        for claim, missing in refused:
            print(f"  honest, refused: {claim}  ({', '.join(missing)})")
        for claim in passed:
            print(f"  invented, passed: {claim}")
        share = len(refused) / honest
        counts = f"{len(refused)} of {honest} honest refused ({share:.1%}), {len(passed)} of {invented} invented passed"
        print(f"{path.name}: {counts}")
        missed += share > 0.02 or bool(passed)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
