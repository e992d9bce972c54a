r"""Lines: learned facts as they stand in daily logs, which are the truth.

A fact is a list item, its proof and its particulars::

    - [preference] Use pnpm instead of npm, because the lock file is pnpm's. ^l-7f3a91kc
      > no, we always use pnpm here
      <!-- learned {"importance": 0.8, "origin": "user", "project": "shop-1a2b3c", "time": "2026-11-21T09:30Z"} -->

It stands under a session entry's ``**Learned:**`` or, learned while the session went on and until its entry is written,
under ``### Learned (10:30) · shop``. Only the first line is needed: a person may write or change one by hand; what the
comment does not say is taken from the entry it stands in. Changing a fact is changing its lines, under the lock that
every writer of daily logs holds. Does not know how facts are found or judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from memoria.daily.daily_log import DailyLog
from memoria.facts.fact import KINDS, Fact
from memoria.ground import files, locks

_LINE = re.compile(r"^- \[(?P<kind>[a-z]+)\] (?P<content>.*?)[ \t]+\^(?P<id>l-[0-9a-z]+)[ \t]*$")
_QUOTE = re.compile(r"^[ \t]+> (?P<quote>.*)$")
_COMMENT = re.compile(r"^[ \t]+<!-- learned (?P<json>\{.*\}) -->[ \t]*$")
_ENTRY = re.compile(
    r"^<!-- memoria entry=\S+ session=(?P<session>\S+) turns=\S* project=(?P<project>\S+) model=\S+ -->$"
)
_HEADING = re.compile(r"^#{1,6} ")
_IN_LINE = ("kind", "content", "id", "quote")  # shown in the lines themselves, not repeated in the comment


def render(fact: Fact) -> str:
    """The fact's lines, ending in a newline; ``parse`` reads the very same fact back."""
    told = {name: value for name, value in fact.to_dict().items() if name not in _IN_LINE}
    rows = [f"- [{fact.kind}] {fact.content} ^{fact.id}"]
    if fact.quote:
        rows.append(f"  > {fact.quote}")
    rows.append(f"  <!-- learned {_comment_json(told)} -->")
    return "\n".join(rows) + "\n"


def _comment_json(told: Mapping[str, Any]) -> str:
    """JSON that cannot end the comment it stands in."""
    return (
        json.dumps(told, ensure_ascii=False).replace("--", "-\\u002d").replace(">", "\\u003e").replace("<", "\\u003c")
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A fact and where it stands: rows ``first`` to ``end`` (exclusive) of its file."""

    fact: Fact
    first: int
    end: int


def parse(text: str, day: date) -> list[Fact]:
    """The facts in a day's file, in order; one id counts once."""
    return [found.fact for found in find(text.split("\n"), day)]


def find(rows: list[str], day: date) -> list[Found]:
    """The facts and the rows they take up."""
    found: list[Found] = []
    seen: set[str] = set()
    for number, row in enumerate(rows):
        match = _LINE.match(row)
        if match and match["kind"] in KINDS and match["id"] not in seen:
            seen.add(match["id"])
            found.append(_read(match, rows, number, day))
    return found


def _read(match: re.Match[str], rows: list[str], number: int, day: date) -> Found:
    told: dict[str, Any] = {}
    end = number + 1
    while end < len(rows):
        quote, comment = _QUOTE.match(rows[end]), _COMMENT.match(rows[end])
        if not quote and not comment:
            break
        if quote:
            told["quote"] = _clean(quote["quote"])
        elif comment:
            told.update(_object(_clean(comment["json"])))
        end += 1
    noon = datetime.combine(day, time(12), UTC).isoformat()
    place = _place(rows, number) if "project" not in told else {}
    stored = {"time": noon, **place, **told, **{name: _clean(match[name]) for name in ("kind", "content", "id")}}
    try:
        return Found(Fact.from_dict(stored), number, end)
    except ValueError:  # a time that a person made unreadable
        return Found(Fact.from_dict({**stored, "time": noon}), number, end)


def _clean(text: str) -> str:
    """Without the stand-ins for bytes that are no UTF-8, which only a rewrite of the file needs."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
        # an escaped half of a surrogate pair is a text that no file and no database can hold
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _place(rows: list[str], number: int) -> dict[str, str]:
    """Session and project of the entry that a line stands in."""
    for row in rows[number + 1 :]:
        if match := _ENTRY.match(row):
            return match.groupdict()
        if _HEADING.match(row):
            break
    return {}


class Lines:
    """The learned lines of a folder of daily logs."""

    def __init__(self, daily: DailyLog) -> None:
        """``daily`` names files and lock."""
        self.daily = daily

    def read(self, day: date) -> list[Fact]:
        """The facts of a day; none when it has no file."""
        return parse(self._text(self.daily.path(day)), day)

    def loose(self, day: date) -> list[Fact]:
        """The facts of a day that stand in no entry: learned while their session went on."""
        rows = self._text(self.daily.path(day)).split("\n")
        return [found.fact for found in find(rows, day) if not _place(rows, found.first)]

    def mark(self, day: date) -> str:
        """A text that differs once the day's file was written; ``""`` when there is none."""
        try:
            status = self.daily.path(day).stat()
        except FileNotFoundError:
            return ""
        return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"

    def all(self) -> Iterator[tuple[date, list[Fact]]]:
        """Every day that has a file, oldest first, with its facts."""
        for day in self.daily.days():
            yield day, self.read(day)

    def add(self, fact: Fact, day: date, clock_time: str, project: str) -> bool:
        """Append a fact to a day; False when its id stands there already.

        ``clock_time`` (``HH:MM``) and ``project`` (its name) make the heading; facts of one heading share it.
        """

        def changed(rows: list[str]) -> list[str] | None:
            if any(found.fact.id == fact.id for found in find(rows, day)):
                return None
            return _appended(rows, fact, f"### Learned ({clock_time}) · {project}")

        return self._rewrite(day, changed)

    def change(self, fact: Fact, day: date) -> bool:
        """Write the fact over the lines that have its id; False when they are not in this day's file."""

        def changed(rows: list[str]) -> list[str] | None:
            for found in find(rows, day):
                if found.fact.id == fact.id:
                    return [*rows[: found.first], *render(fact).rstrip("\n").split("\n"), *rows[found.end :]]
            return None

        return self._rewrite(day, changed)

    def remove(self, ident: str, day: date) -> bool:
        """Take a fact's lines out, and a ``### Learned`` heading that is left with nothing; False when not there."""

        def changed(rows: list[str]) -> list[str] | None:
            for found in find(rows, day):
                if found.fact.id == ident:
                    return _without_empty_headings([*rows[: found.first], *rows[found.end :]])
            return None

        return self._rewrite(day, changed)

    def _rewrite(self, day: date, changed: Callable[[list[str]], list[str] | None]) -> bool:
        path = self.daily.path(day)
        with locks.waiting(self.daily.lock):
            while True:
                before = self.mark(day)
                text = self._text(path) or f"# Daily Log: {day.isoformat()}\n"
                rows = changed(text.split("\n"))
                if rows is None:
                    return False
                if self.mark(day) == before:  # a person saving at this very moment is not overwritten
                    files.replace(path, "\n".join(rows).encode("utf-8", "surrogateescape"))
                    return True

    def _text(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8", errors="surrogateescape")
        except FileNotFoundError:
            return ""


def without(text: str, idents: Container[str]) -> str:
    """A day's text without those of these facts that stand in no entry."""
    rows = text.split("\n")
    plain = [row.rstrip("\r") for row in rows]  # as a person's editor may have left them
    for found in reversed(find(plain, date.min)):
        if found.fact.id in idents and not _place(plain, found.first):
            del rows[found.first : found.end]
    return "\n".join(_without_empty_headings(rows)) if len(rows) < len(plain) else text


def _appended(rows: list[str], fact: Fact, heading: str) -> list[str]:
    while rows and not rows[-1].strip():
        rows = rows[:-1]
    last = next((row for row in reversed(rows) if _HEADING.match(row)), "")
    block = render(fact).split("\n")
    same_heading = last == heading and (_COMMENT.match(rows[-1]) or _LINE.match(rows[-1]))
    return [*rows, *block] if same_heading else [*rows, "", heading, "", *block]


def _without_empty_headings(rows: list[str]) -> list[str]:
    kept: list[str] = []
    for number, row in enumerate(rows):
        if row.startswith("### Learned ("):
            following = next((other for other in rows[number + 1 :] if other.strip()), "# ")
            if _HEADING.match(following):
                continue
        kept.append(row)
    return kept
