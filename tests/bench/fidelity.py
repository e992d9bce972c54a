"""Fidelity by project: the share of a session's identifiers that the model is given, and the bytes that this costs.

    uv run python tests/bench/fidelity.py [FOLDER]

For each project (files are called NUMBER__OWNER__REPOSITORY__SESSION.jsonl): the share of the identifiers in Claude's
own compaction summaries, or in its longer recaps where there are none, that stands in what the model is given, beside
the ceiling (all text and every raw tool input); then bytes a session.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

SUPPORT = Path(__file__).parent.parent / "support"
sys.path[0] = str(SUPPORT)  # this file has the name of the module it uses

from fidelity import Shares, measure, recaps, summaries  # noqa: E402 (found through the line above)
from memoria.transcripts import steps  # noqa: E402
from memoria.transcripts.turn import exchanges  # noqa: E402
from memoria.transcripts.turn_reader import Reader  # noqa: E402
from places import SHARED  # noqa: E402


def project_of(path: Path) -> str:
    parts = path.stem.split("__")
    return "/".join(parts[1:3]) if len(parts) > 3 else path.parent.name


def size(paths: Iterable[Path]) -> tuple[int, int]:
    """Bytes that the model is given of these transcripts, and those of them in tool lines."""
    given = tools = 0
    for path in paths:
        reader = Reader()
        with path.open("rb") as file:
            parts = exchanges((*reader.read(file), *reader.settle()))
        for label, text in (step for part in steps.of(parts) for step in part):
            length = len(text.encode("utf-8", "replace"))
            given, tools = given + length, tools + length * (label == "tool")
    return given, tools


def row(name: str, paths: list[Path], shares: Shares, kind: str) -> str:
    given, tools = size(paths)
    found = f"{shares.given:.3f}  {shares.ceiling:.3f}" if shares.count else "  -      -  "
    count = len(paths)
    each = f"{given // count:>10,} {tools // count:>10,}"
    return f"{name[:34]:<36}{count:>4} {shares.count:>5} {kind:<10} {found} {each}"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "transcripts"
    projects: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        projects[project_of(path)].append(path)
    if not projects:
        sys.exit(f"{folder} holds no transcripts")
    print(f"{'project':<36}{'files':>4} {'refs':>5} {'':<10} given  ceiling  bytes/sess.  in tools")
    for name, paths in [*sorted(projects.items()), ("all", [path for each in projects.values() for path in each])]:
        for kind, references, least, turns in (("summaries", summaries, 5, 5), ("recaps", recaps, 8, 10)):
            shares = measure(paths, references, least, turns)
            if shares.count or kind == "recaps":
                print(row(name, paths, shares, kind))
                break


if __name__ == "__main__":
    main()
