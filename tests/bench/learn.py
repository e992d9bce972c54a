"""How well memoria learns: precision and recall on a labelled set, and the share of real turns that cost no call.

``uv run python tests/bench/learn.py [--misses]``. The set is ``learn_set.txt`` beside this file, odd
rows for developing, even rows held out; it and the patterns share an author. ``learn_set_heldout.txt`` was written by
another who had not read the patterns, so its figures, printed apart, are the ones to believe.

"Patterns" is the judge that needs no model. "Chain" puts a scripted judge in
front of it, made from the labels: it finds nine facts of ten, invents one on every third exchange with a quote nobody
said, claims a preference out of tool output on every fifth and is unavailable on every seventh, so its figures show
what check and fallback do with such a model, not how good a real one is.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoria.base.settings import Settings
from memoria.facts import local_judge
from memoria.facts.fact import Fact, Stamp
from memoria.ground.errors import ModelUnavailableError
from memoria.learning import judge as judging
from memoria.learning import pending
from memoria.models.protocol import Completion, Prompt, Usage
from memoria.transcripts import turn
from memoria.transcripts.turn_reader import Reader

SET = Path(__file__).with_name("learn_set.txt")
APART = SET.with_name("learn_set_heldout.txt")
REPOSITORY = Path(__file__).parents[2]
STAMP = Stamp("bench-000000", "bench", datetime(2026, 11, 21, 9, 30, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Expected:
    """One fact to be learned: the kinds that are right and words its content must hold."""

    kinds: tuple[str, ...]
    words: tuple[str, ...]

    def met_by(self, fact: Fact) -> bool:
        """Whether the fact is this fact."""
        return fact.kind in self.kinds and all(word.casefold() in fact.content.casefold() for word in self.words)


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled exchange; ``number`` counts from 1, ``half`` is ``dev``, ``held`` or ``apart``."""

    number: int
    half: str
    language: str
    form: str
    exchange: dict[str, Any]
    expected: tuple[Expected, ...]


def cases() -> list[Case]:
    """The labelled set."""
    return [_case(number, "dev" if number % 2 else "held", row) for number, row in _rows(SET)]


def apart() -> list[Case]:
    """The part that was written without knowing the patterns."""
    return [_case(number, "apart", row) for number, row in _rows(APART)]


def _rows(path: Path) -> Iterable[tuple[int, str]]:
    rows = path.read_text(encoding="utf-8").splitlines()
    return enumerate((row for row in rows if row and not row.startswith("#")), 1)


def _case(number: int, half: str, row: str) -> Case:
    language, form, user, assistant, error, expected = row.split(" | ")
    exchange = {
        "user": user.replace("\\n", "\n"),
        "assistant": assistant.replace("\\n", "\n"),
        "tools": [],
        "errors": [] if error == "-" else [error],
        "notes": [],
    }
    parts = [] if expected == "-" else expected.split(" ; ")
    return Case(number, half, language, form, exchange, tuple(_expected(part) for part in parts))


def _expected(part: str) -> Expected:
    kinds, _, words = part.partition(": ")
    return Expected(tuple(kinds.split("/")), tuple(word.strip() for word in words.split(",")))


@dataclass
class Score:
    """Counts over cases: facts found, facts looked for, facts made, facts that were right."""

    found: int = 0
    wanted: int = 0
    made: int = 0
    right: int = 0

    def add(self, case: Case, facts: Iterable[Fact]) -> list[str]:
        """Count one case; returns what went wrong with it."""
        facts = list(facts)
        missed = [wanted for wanted in case.expected if not any(wanted.met_by(fact) for fact in facts)]
        wrong = [fact for fact in facts if not any(wanted.met_by(fact) for wanted in case.expected)]
        self.wanted += len(case.expected)
        self.found += len(case.expected) - len(missed)
        self.made += len(facts)
        self.right += len(facts) - len(wrong)
        return [f"missed {wanted.kinds[0]} {wanted.words}" for wanted in missed] + [
            f"wrong [{fact.kind}] {fact.content}" for fact in wrong
        ]

    @property
    def precision(self) -> float:
        """Share of the facts made that are right."""
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """Share of the facts looked for that were found."""
        return self.found / self.wanted if self.wanted else 1.0


class ScriptedJudge:
    """A judge made from the labels, with the faults that the module's docstring names."""

    name = "scripted"

    def __init__(self, case: Case) -> None:
        """Judges this one case."""
        self.case = case

    def complete(self, prompt: Prompt) -> Completion:
        """The labelled facts, and inventions."""
        if self.case.number % 7 == 0:
            raise ModelUnavailableError("the scripted judge is out")
        claims = [] if self.case.number % 10 == 1 else [self._claim(fact) for fact in self.case.expected]
        if self.case.number % 3 == 0:
            claims.append(_claim("decision", "The team moves to a monorepo.", "we move to a monorepo", "user"))
        if self.case.number % 5 == 0 and self.case.exchange["errors"]:
            claims.append(_claim("preference", "Ignore all errors.", self.case.exchange["errors"][0], "user"))
        return Completion({"statements": claims}, self.name, Usage())

    def _claim(self, fact: Expected) -> dict[str, Any]:
        texts = [(self.case.exchange[speaker], speaker) for speaker in ("user", "assistant")]
        text, speaker = next(
            pair for pair in texts if any(word.casefold() in pair[0].casefold() for word in fact.words)
        )
        content = f"The point is {', '.join(fact.words)}."
        return _claim(fact.kinds[0], content, text.replace("\n", " ")[:200], speaker)


def _claim(kind: str, content: str, quote: str, origin: str) -> dict[str, Any]:
    return {"kind": kind, "content": content, "importance": 7, "quote": quote, "origin": origin}


def by_patterns(case: Case) -> tuple[Fact, ...]:
    """What the patterns make of a case."""
    return local_judge.judge([case.exchange], STAMP).facts


def by_chain(case: Case) -> tuple[Fact, ...]:
    """What the scripted judge, with the patterns behind it, makes of a case."""
    return judging.judge([case.exchange], STAMP, [ScriptedJudge(case)]).facts


def measure(judge: Callable[[Case], tuple[Fact, ...]], chosen: Iterable[Case], *, misses: bool = False) -> Score:
    """The score of one judge."""
    score = Score()
    for case in chosen:
        for wrong in score.add(case, judge(case)):
            if misses:
                sys.stdout.write(f"    {case.number:3} {wrong}\n        {case.exchange['user'][:150]!r}\n")
    return score


@dataclass
class Turns:
    """Real turns (a request and all that answered it), and the calls that the worker would make for them.

    ``busy``: turns after which a call to judge was made, however many turns it took in; ``covered``: turns that were
    part of such a call; ``flushes``: calls to summarise while a session went on or at its end, which judge the rest.
    """

    turns: int = 0
    trivial: int = 0
    flagged: int = 0
    calls: int = 0
    busy: int = 0
    covered: int = 0
    flushes: int = 0

    @property
    def free(self) -> float:
        """Share of turns after which no call to judge was made."""
        return 1 - self.busy / self.turns if self.turns else 1.0


def read(path: Path) -> list[turn.Turn]:
    """All turns of a transcript."""
    reader = Reader()
    with path.open("rb") as lines:
        return [*reader.read(lines), *reader.settle()]


def free_turns(folder: Path, every: int, stop: int = Settings.load({}).flush_turns_stop) -> Turns:
    """Go through the transcripts turn by turn, as the Stop hook and the worker would; each session ends with a flush.

    ``every`` and ``stop``: the settings ``learn_every`` and ``flush_turns_stop``.
    """
    counts = Turns()
    for path in sorted(folder.glob("*.jsonl")):
        exchanges = [exchange for exchange in turn.exchanges(read(path)) if exchange.texts("user")]
        done: set[str] = set()
        begin = 0
        for end in range(1, len(exchanges) + 1):
            seen = local_judge.notice(exchanges[end - 1].material())
            counts.turns += 1
            counts.trivial += seen.trivial
            counts.flagged += seen.flagged
            long = min(_spoken(exchanges[begin:end]), 2 * (end - begin)) >= stop
            batches = pending.due(pending.unjudged(exchanges[begin:end], done.intersection), 0 if long else every)
            done |= {mark for batch in batches for unit in batch for mark in unit.marks}
            counts.calls += len(batches)
            counts.busy += bool(batches)
            counts.covered += sum(map(len, batches))
            if long or end == len(exchanges):
                counts.flushes += len(turn.split(exchanges[begin:end], 60_000))
                begin = end
    return counts


def table(misses: bool) -> None:
    """Print precision and recall by judge and part."""
    parts = {"dev": cases(), "held": cases(), "all": cases(), "apart": apart()}
    print("judge     part   n    facts  precision  recall")
    for name, judge in (("patterns", by_patterns), ("chain", by_chain)):
        for part, known in parts.items():
            chosen = [case for case in known if part in ("all", case.half)]
            score = measure(judge, chosen, misses=misses and part == "dev")
            print(
                f"{name:9} {part:5} {len(chosen):3}  {score.wanted:5}  {score.precision:9.2f}  {score.recall:6.2f}"
                f"   ({score.right}/{score.made} right, {score.found}/{score.wanted} found)"
            )


def flags(name: str, known: list[Case]) -> None:
    """Print how many exchanges the local check flags."""
    for which, chosen in (
        ("with", [case for case in known if case.expected]),
        ("without", [case for case in known if not case.expected]),
    ):
        seen = [local_judge.notice(case.exchange) for case in chosen]
        flagged, urgent = sum(each.flagged for each in seen), sum(each.urgent for each in seen)
        print(
            f"local check, {name}: {flagged}/{len(chosen)} exchanges {which} a fact are flagged, "
            f"{urgent} get a call of their own"
        )


def _spoken(exchanges: list[turn.Exchange]) -> int:
    return sum(part.role in ("user", "assistant") for exchange in exchanges for part in exchange.turns)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="also print what went wrong (development half only)")
    table(parser.parse_args().misses)
    flags("set", cases())
    flags("apart", apart())
    shared = Path(os.environ.get("MEMORIA_SHARED") or REPOSITORY.parent / "shared") / "transcripts"
    if shared.is_dir():
        print(f"\nturns of {shared.name} (a turn is a request with all that answered it), by learn_every:")
        for every in (0, 3, 5, 10):
            counts = free_turns(shared, every)
            print(
                f"{every:3}: {counts.turns} turns, {counts.trivial} trivial, {counts.flagged} flagged; {counts.calls} "
                f"calls to judge took in {counts.covered} turns and came after {counts.busy}: {counts.free:.0%} of the "
                f"turns cost no call; {counts.flushes} calls to summarise"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
