"""How well memoria tells what holds on from orders of the moment, without a model.

``uv run python tests/bench/durable.py [--misses] [file ...]``. A file has one line of a prompt a row, with its language
and its label; ``durable_set.txt`` beside this file says how, and is taken when none is named. Odd rows are for
developing, even rows are held out: ``--misses`` prints what went wrong with the odd ones only.

A line counts as claimed when the patterns (the judge without a model) or the offline model's note learn anything from
it. Right are lines labelled ``rule`` or ``decision``; lines labelled ``fact`` are left out of the count.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoria.facts import local_judge
from memoria.models.extractive import summarize

SET: Final = Path(__file__).with_name("durable_set.txt")
DURABLE: Final = ("rule", "decision")
NEUTRAL: Final = "fact"
ANSWER: Final = "I looked at the code and changed the handler so that it closes the file."


@dataclass(frozen=True, slots=True)
class Line:
    """One labelled line of a prompt."""

    language: str
    label: str
    text: str

    @property
    def durable(self) -> bool:
        """Whether it holds in later sessions."""
        return self.label in DURABLE


@dataclass
class Score:
    """Counts over lines: durable ones, claimed ones, and those that are both."""

    wanted: int = 0
    claimed: int = 0
    right: int = 0

    @property
    def precision(self) -> float:
        """Share of the claimed lines that are durable."""
        return self.right / self.claimed if self.claimed else 1.0

    @property
    def recall(self) -> float:
        """Share of the durable lines that are claimed."""
        return self.right / self.wanted if self.wanted else 1.0


def read(path: Path) -> list[Line]:
    """Return the lines of a labelled file, without comments and facts."""
    rows = (row for row in path.read_text(encoding="utf-8").splitlines() if row and not row.startswith("#"))
    return [Line(*row.split(" | ", 2)) for row in rows]


def by_patterns(text: str) -> set[str]:
    """Return the kinds of facts that the judge without a model finds in what the user wrote."""
    return {claim["kind"] for claim in local_judge.claims([_exchange(text)]) if claim["origin"] == "user"}


def by_offline(text: str) -> set[str]:
    """Return the kinds of facts in the offline model's note on what the user wrote."""
    learned = summarize.note({"exchanges": [_exchange(text)]}).get("statements", [])
    return {claim["kind"] for claim in learned if claim["origin"] == "user"}


def by_both(text: str) -> set[str]:
    """Return the kinds of facts that either finds."""
    return by_patterns(text) | by_offline(text)


def _exchange(text: str) -> dict[str, Any]:
    return {"user": text, "assistant": ANSWER, "tools": [], "errors": [], "notes": []}


def measure(judge: Callable[[str], set[str]], lines: Iterable[Line], *, misses: bool = False) -> Score:
    """Return the score of one judge; ``misses``: print what went wrong."""
    score = Score()
    for line in lines:
        if line.label == NEUTRAL:
            continue
        kinds = judge(line.text)
        score.wanted += line.durable
        score.claimed += bool(kinds)
        score.right += bool(kinds) and line.durable
        if misses and bool(kinds) != line.durable:
            found = ", ".join(sorted(kinds)) or "missed"
            sys.stdout.write(f"    {line.language} [{line.label} | {found}] {line.text}\n")
    return score


JUDGES: Final[dict[str, Callable[[str], set[str]]]] = {
    "patterns": by_patterns,
    "offline": by_offline,
    "both": by_both,
}


def table(path: Path, *, misses: bool) -> None:
    """Print precision and recall by judge and half, and by language for both judges together."""
    lines = read(path)
    halves = {"dev": lines[::2], "held": lines[1::2], "all": lines}
    print(f"{path.name}: {len(lines)} lines, {sum(line.durable for line in lines)} of them durable")
    print("judge     part  durable  claimed  precision  recall")
    for name, judge in JUDGES.items():
        for half, part in halves.items():
            _row(name, half, measure(judge, part, misses=misses and (name, half) == ("both", "dev")))
    languages = sorted({line.language for line in lines})
    for language in languages if len(languages) > 1 else ():
        _row("both", language, measure(by_both, [line for line in lines if line.language == language]))


def _row(name: str, part: str, score: Score) -> None:
    print(
        f"{name:9} {part:4}  {score.wanted:7}  {score.claimed:7}  {score.precision:9.2f}  {score.recall:6.2f}"
        f"   ({score.right} right)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="also print what went wrong (odd rows only)")
    parser.add_argument("files", nargs="*", type=Path, default=[SET], help="labelled files")
    asked = parser.parse_args(arguments)
    for path in asked.files:
        table(path, misses=asked.misses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
