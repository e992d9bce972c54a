"""Report: what the asked sessions come to together, with intervals, as text and as JSON."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoria.base.project import Known
from memoria.evaluating import harm, tool_events
from memoria.evaluating.answers import KINDS
from memoria.evaluating.asking import USED, VERDICTS, Asked, Met, Note
from memoria.ground.clock import Zone
from memoria.ground.printable import counted
from memoria.ground.projects import labels
from memoria.search import prose

SAMPLES = 1_000  # of the bootstrap
TAIL = 0.025  # on each side of a 95 % interval
WEEKS, PROJECTS = 12, 10  # rows of the tables for a person; JSON has all
PLACES = ("notes", "page", "either", "known")

_EVENTS = {
    tool_events.BEFORE: "edits and commands", tool_events.FAILURE: "failed commands",
    tool_events.SUBAGENT: "sub-agents",
}  # fmt: skip

_LEGEND = """what the words mean
  stood            named by what the session was given, before the prompts or the session named it
  notes            as words alone choose them; in a session the model does (weigh_notes), and this asks none
  anywhere         named in an earlier session of the project that the memory had by then
  used             the answer took up a name or two rare words of the note; noise: nothing; unclear: one word
  used by chance   the same notes beside the answer to another prompt: what "used" would be worth if they were of no use
  corrections      of how you want things done, as far as plain patterns find them; again: said before or learned
  superseded       had ceased to hold; ended here: the session itself ended it; contradictory: to another row shown
  look-alike       of another project, or of a file of the same name in another folder"""

JsonRow = Mapping[str, Any]
Part = Callable[[Asked], tuple[float, float]]  # what one session adds to a share: numerator and denominator


@dataclass(frozen=True, slots=True)
class Share:
    """A share of a number of cases, with the 95 % interval over sessions that were drawn again."""

    part: float
    whole: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share, 0 when there is no case."""
        return self.part / self.whole if self.whole else 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the share for JSON."""
        return {
            "part": self.part, "whole": self.whole, "share": round(self.value, 4),
            "low": round(self.low, 4), "high": round(self.high, 4),
        }  # fmt: skip

    def __str__(self) -> str:
        """Return ``12.5 % of 96 (8.1 to 17.0 %)``."""
        if not self.whole:
            return "-"
        return f"{100 * self.value:.1f} % of {self.whole:,.0f} ({100 * self.low:.1f} to {100 * self.high:.1f} %)"


class Sample:
    """Sessions, drawn again ``SAMPLES`` times with a seed; whole sessions, because the prompts of one are alike."""

    def __init__(self, asked: Sequence[Asked], seed: int) -> None:
        """Draw as many sessions as there are, each time anew."""
        chance = random.Random(seed)  # noqa: S311 (a sample, no secret)
        places = range(len(asked))
        self.asked = asked
        self.draws = [chance.choices(places, k=len(places)) for _ in range(SAMPLES if asked else 0)]

    def share(self, part: Part) -> Share:
        """Return the share over all sessions, with its interval."""
        parts, wholes = zip(*map(part, self.asked), strict=True) if self.asked else ((), ())
        if not sum(wholes):
            return Share(0, 0, 0, 0)
        sums = ((sum(map(parts.__getitem__, draw)), sum(map(wholes.__getitem__, draw))) for draw in self.draws)
        values = sorted(each / whole for each, whole in sums if whole)
        cut = int(len(values) * TAIL)
        low, high = values[cut], values[-cut - 1]
        unseen = 1 - TAIL ** (1 / sum(whole > 0 for whole in wholes))  # drawing again knows only what was seen
        if not sum(parts):
            high = unseen
        elif sum(parts) == sum(wholes):
            low = 1 - unseen
        return Share(sum(parts), sum(wholes), low, high)


def noted(each: Asked) -> tuple[float, float]:
    """Count the prompts with notes."""
    return each.with_notes, each.prompts


def stood(place: str, kind: str = "") -> Part:
    """Count the items of an answer that stood in a place."""

    def part(each: Asked) -> tuple[float, float]:
        kinds = (kind,) if kind else KINDS
        return sum(each.items[one, place] for one in kinds), sum(each.items[one, "all"] for one in kinds)

    return part


def judged(verdict: str, kind: str = "", event: str = "") -> Part:
    """Count the notes with a verdict, beside prompts or at the tool events of a name."""

    def part(each: Asked) -> tuple[float, float]:
        notes = [note for note in _notes(each, event) if kind in ("", note.kind)]
        return sum(note.verdict == verdict for note in notes), len(notes)

    return part


def by_chance(event: str = "") -> Part:
    """Count the notes that would count as used beside another prompt's answer."""

    def part(each: Asked) -> tuple[float, float]:
        held = [note for note in _notes(each, event) if note.by_chance]
        return sum(note.by_chance == USED for note in held), len(held)

    return part


def _notes(each: Asked, event: str) -> Sequence[Note]:
    return each.met.get(event, Met()).notes if event else each.notes


def noted_at(event: str) -> Part:
    """Count the tool events of a name that were given notes."""

    def part(each: Asked) -> tuple[float, float]:
        found = each.met.get(event, Met())
        return found.with_notes, found.events

    return part


def corrected(outcome: str) -> Part:
    """Count the corrections that were made again, or again though they were shown."""
    return lambda each: (each.corrections[outcome], each.corrections["again" if outcome == "shown" else "made"])


def harmed(kind: str) -> Part:
    """Count the rows and notes of a kind of harm."""
    return lambda each: (each.harm[kind], each.rows)


class Report:
    """The figures of one run."""

    def __init__(self, asked: Sequence[Asked], seed: int, zone: Zone) -> None:
        self.asked = asked
        self.seed = seed
        self.zone = zone
        self.share = Sample(asked, seed).share

    def figures(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "sessions": len(self.asked),
            "prompts": sum(each.prompts for each in self.asked),
            "seed": self.seed,
            "answer": {
                place: {kind or "all": self.share(stood(place, kind)).as_dict() for kind in ("", *KINDS)}
                for place in PLACES
            },
            "prompts_with_notes": self.share(noted).as_dict(),
            "notes": {verdict: self.share(judged(verdict)).as_dict() for verdict in VERDICTS}
            | {"used_by_chance": self.share(by_chance()).as_dict()},
            "characters": self._characters(),
            "tool_events": {name: self._event(name) for name in tool_events.NAMES},
            "corrections": {
                "made": sum(each.corrections["made"] for each in self.asked),
                "made_again": self.share(corrected("again")).as_dict(),
                "made_again_though_shown": self.share(corrected("shown")).as_dict(),
                "repeated": self._repeated(),
            },
            "harm": {kind: self.share(harmed(kind)).as_dict() for kind in harm.KINDS},
            "by_week": self._grouped(self._week),
            "by_project": self._grouped(lambda each: each.project),
            "by_kind": self._by_kind(),
        }

    def _characters(self) -> dict[str, float]:
        prompts, noted_ = sum(each.prompts for each in self.asked), sum(each.with_notes for each in self.asked)
        chars = sum(each.note_chars for each in self.asked)
        pages = sum(each.page_chars for each in self.asked)
        return {
            "a_prompt": round(chars / max(1, prompts), 1),
            "a_prompt_with_notes": round(chars / max(1, noted_), 1),
            "a_page": round(pages / max(1, len(self.asked)), 1),
        }

    def _event(self, name: str) -> dict[str, Any]:
        found = [each.met[name] for each in self.asked if name in each.met]
        with_notes = sum(met.with_notes for met in found)
        return {
            "events": sum(met.events for met in found),
            "with_notes": self.share(noted_at(name)).as_dict(),
            "notes": {verdict: self.share(judged(verdict, event=name)).as_dict() for verdict in VERDICTS}
            | {"used_by_chance": self.share(by_chance(name)).as_dict()},
            "characters": round(sum(met.chars for met in found) / max(1, with_notes), 1),
        }

    def _repeated(self) -> list[dict[str, Any]]:
        return [
            {"day": self.zone.day(each.began).isoformat(), "session": each.session, "text": text, "shown": is_shown}
            for each in self.asked
            for text, is_shown in each.repeated
        ]

    def _week(self, each: Asked) -> str:
        year, week, _ = self.zone.day(each.began).isocalendar()
        return f"{year}-W{week:02}"

    def _grouped(self, label: Callable[[Asked], str]) -> dict[str, dict[str, Any]]:
        groups: dict[str, list[Asked]] = {}
        for each in self.asked:
            groups.setdefault(label(each), []).append(each)
        return {name: Report(groups[name], self.seed, self.zone).row() for name in sorted(groups)}

    def row(self) -> dict[str, Any]:
        """Return the main figures of a group."""
        parts = {
            "with_notes": noted, "stood": stood("either"), "used": judged(USED), "noise": judged("noise"),
            "made_again": corrected("again"),
        }  # fmt: skip
        shares = {name: self.share(part).as_dict() for name, part in parts.items()}
        prompts = sum(each.prompts for each in self.asked)
        return {"sessions": len(self.asked), "prompts": prompts, **shares, "characters": self._characters()}

    def _by_kind(self) -> dict[str, dict[str, Any]]:
        kinds = Counter(note.kind for each in self.asked for note in each.notes)
        return {
            kind: {verdict: self.share(judged(verdict, kind)).as_dict() for verdict in VERDICTS}
            for kind in sorted(kinds)
        }

    # -- text

    def text(self) -> str:
        """Return the report for a person."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        found = self.figures()
        projects = {each.project for each in self.asked}
        yield (
            f"asked        {counted(found['sessions'], 'session')} of {counted(len(projects), 'project')}, "
            f"{counted(found['prompts'], 'prompt')} (95 % intervals over sessions, seed {self.seed})"
        )
        yield "of what the sessions then touched, ran and named, there stood"
        for place, said in (("notes", "in the notes"), ("page", "on the page"), ("either", "in either"),
                            ("known", "anywhere in the memory")):  # fmt: skip
            yield f"  {said:<24} {self.share(stood(place))}"
        for kind in KINDS:
            yield f"  {kind + 's, in either':<24} {self.share(stood('either', kind))}"
        yield f"notes        beside {self.share(noted)} prompts"
        for verdict in VERDICTS:
            yield f"  {verdict:<24} {self.share(judged(verdict))}"
        yield f"  {'used by chance':<24} {self.share(by_chance())}"
        cost = found["characters"]
        yield (
            f"cost         {cost['a_prompt']:,.0f} characters a prompt, {cost['a_prompt_with_notes']:,.0f} where there "
            f"are notes, {cost['a_page']:,.0f} a page"
        )
        yield from self._events()
        yield f"corrections  {found['corrections']['made']:,} made"
        yield f"  {'made again':<24} {self.share(corrected('again'))}"
        yield f"  {'... though shown':<24} {self.share(corrected('shown'))}"
        for each in found["corrections"]["repeated"]:
            yield f"    {each['day']} {prose.shorten(each['text'], 160)}{' (was shown)' if each['shown'] else ''}"
        yield "harm, of all rows and notes that were shown"
        yield from (f"  {kind:<24} {self.share(harmed(kind))}" for kind in harm.KINDS)
        yield from self._table("week", list(found["by_week"].items())[-WEEKS:], len(found["by_week"]) - WEEKS)
        yield from self._table("project", _largest(found["by_project"], PROJECTS), len(found["by_project"]) - PROJECTS)
        yield from self._kinds(found["by_kind"])
        yield _LEGEND

    def _events(self) -> Iterator[str]:
        yield "tool events  with notes; of these notes used, unclear, noise, used by chance"
        for name, said in _EVENTS.items():
            outcomes = [self.share(judged(verdict, event=name)) for verdict in VERDICTS]
            shares = ", ".join(map(_percent_of, (*outcomes, self.share(by_chance(name)))))
            yield f"  {said:<24} {self.share(noted_at(name))}" + (f": {shares}" if outcomes[0].whole else "")

    def _table(self, label: str, rows: Iterable[tuple[str, JsonRow]], left_out: int) -> Iterator[str]:
        yield f"{'by ' + label:<24} sessions prompts  with notes  stood  used  noise  corrected again"
        for name, row in rows:
            cells = [_percent(row[name_]) for name_ in ("with_notes", "stood", "used", "noise", "made_again")]
            yield (
                f"  {name[:22]:<22} {row['sessions']:8,} {row['prompts']:7,} {cells[0]:>11} {cells[1]:>6} {cells[2]:>5}"
                f" {cells[3]:>6} {cells[4]:>16}"
            )
        if left_out > 0:
            yield f"  and {counted(left_out, label)} more: --json"

    def _kinds(self, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
        if rows:
            yield f"{'by kind of note':<24}    notes   used  unclear  noise"
        for name, row in rows.items():
            used, unclear, noise = (_percent(row[verdict]) for verdict in VERDICTS)
            yield f"  {name:<22} {row[USED]['whole']:8,} {used:>6} {unclear:>8} {noise:>6}"


def _largest(rows: Mapping[str, JsonRow], most: int) -> list[tuple[str, JsonRow]]:
    """Return the rows of the projects that asked most, each with what to call the project, in their order."""
    names = labels(rows, Known({}, {}))
    chosen = sorted(rows, key=lambda key: -rows[key]["prompts"])[:most]
    return [(names[key], rows[key]) for key in rows if key in chosen]


def _percent_of(share: Share) -> str:
    return _percent(share.as_dict())


def _percent(found: Mapping[str, float]) -> str:
    return f"{100 * found['share']:.0f} %" if found["whole"] else "-"
