"""Stories: what people say over several sessions, and what a memory must and must not say after each of them.

A story is a TOML file in ``tests/stories``; its README describes the fields. A *statement* is something that is said
once and may end later. Its ``marks`` are the words by which a line is recognised as telling it, in any wording.
"""

from __future__ import annotations

import json
import re
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from places import ROOT

FOLDER = ROOT / "tests" / "stories"
TURN = timedelta(minutes=4)
# A line that says of itself that what it tells has ended.
_PAST = re.compile(
    r"\buntil \d{4}-\d\d-\d\d|\bno longer\b|\bnot any ?more\b|\bsupersede|\bwithdr[ae]w|\bwithdrawn\b|\bended\b|"
    r"\breplaced\b|\boutdated\b|\bsince changed\b|\bformerly\b|\bretracted\b|~~",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """Something said in a story.

    ``text``: how a good model words it. ``quote``: the words in the conversation. ``kind``: of the learned fact, ``""``
    for what stands in the note alone, ``withdrawal`` for taking back without saying something new. ``ends``: names of
    the statements that no longer hold from then on. ``in_part``: statements of which only a part holds from then on,
    each with the wording that remains. ``page``: the slug of the article it belongs to.

    Statements with the same ``text`` were said in one sentence, and end one by one.
    """

    name: str
    text: str
    marks: tuple[str, ...]
    page: str
    quote: str = ""
    kind: str = "decision"
    origin: str = "user"
    section: str = "Behaviour"
    ends: tuple[str, ...] = ()
    in_part: dict[str, str] = field(default_factory=dict, hash=False)
    project: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """Something to do: ``said`` are the words that raise it, each worded as in ``texts`` (the last one repeats)."""

    name: str
    texts: tuple[str, ...]
    marks: tuple[str, ...]
    said: tuple[str, ...]
    done: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a person does by hand: replace ``find`` (a pattern) in a file, or run a command of ours.

    ``file``: ``daily`` (that of the session before) or the slug of an article. ``way``: ``wrap``, a formatter breaks
    the lines of the file instead; ``half``, the worker runs while only its first half is on disk. ``{name}`` in ``run``
    stands for the id of the fact that tells a statement.
    """

    file: str = ""
    find: str = ""
    put: str = ""
    way: str = ""
    run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """A start inside a session: the client compacts it or it is resumed, after this many exchanges."""

    after: int
    by: str
    current: tuple[str, ...]
    past: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """One session, or (without ``talk``) an hour in which a person edits.

    ``current``, ``past``: names of the statements that must and must not be told afterwards; ``open``: of items.
    ``prompt``: what the user asks at the start of the next session. ``starts``: what must and must not be told at the
    starts inside the session.
    """

    at: datetime
    project: str
    talk: tuple[tuple[str, str], ...]
    current: tuple[str, ...]
    title: str = ""
    past: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    prompt: str = ""
    hand: tuple[Edit, ...] = ()
    starts: tuple[Start, ...] = ()


@dataclass(frozen=True)
class Story:
    """A story; ``home`` is its first project."""

    name: str
    about: str
    language: str
    statements: dict[str, Statement]
    items: dict[str, Item]
    sessions: tuple[Session, ...]
    titles: dict[str, str] = field(default_factory=dict)

    @property
    def projects(self) -> list[str]:
        return list(dict.fromkeys(session.project for session in self.sessions))

    def told(self, line: str) -> list[Statement]:
        """Return the statements that a line tells as holding.

        A line that also tells what came later tells of the change; one that says that something ended does not tell it.
        """
        found = [each for each in self.statements.values() if is_marked(line, each.marks)]
        later = {old for each in found for old in self.ended_by(each)}
        found = [each for each in found if each.name not in later]
        return [each for each in found if each.kind == "withdrawal"] if _PAST.search(line) else found

    def ended_by(self, statement: Statement) -> set[str]:
        """Return the names of what a statement ended, directly or before."""
        found: set[str] = set()
        waiting = [statement]
        while waiting:
            for name in waiting.pop().ends:
                if name not in found:
                    found.add(name)
                    waiting.append(self.statements[name])
        same = {each.name for each in self.statements.values() if each.marks == statement.marks}
        return found - same

    def mentioned(self, line: str) -> list[Item]:
        return [item for item in self.items.values() if is_marked(line, item.marks)]


def is_marked(line: str, marks: Iterable[str]) -> bool:
    """Return whether all the words stand in a line, each as a word of its own."""
    return all(_pattern(mark).search(line) for mark in marks)


@cache
def _pattern(mark: str) -> re.Pattern[str]:
    before = r"(?<![\w.])" if mark[0].isascii() and mark[0].isalnum() else ""
    after = r"(?![\w]|\.\d)" if mark[-1].isascii() and mark[-1].isalnum() else ""
    return re.compile(before + re.escape(mark) + after, re.IGNORECASE)


def names(folder: str = "") -> list[str]:
    """Return the names of the stories; with ``unseen``, of those that memoria was not tuned to."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in (FOLDER / folder).glob("*.toml"))


def load(name: str) -> Story:
    """Read a story and check that its lists agree with its talk."""
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    project = data["project"]
    statements = {name: Statement(name, **_fields(given)) for name, given in data["says"].items()}
    items = {name: Item(name, **_fields(given)) for name, given in data.get("items", {}).items()}
    sessions = tuple(_session(given, project) for given in data["session"])
    story = Story(name, data["about"], data["language"], statements, items, sessions, data.get("titles", {}))
    _check(story)
    return story


def _session(given: dict[str, Any], project: str) -> Session:
    made = {
        "at": given["at"].replace(tzinfo=UTC),
        "talk": tuple(map(tuple, given.get("talk", ()))),
        "hand": tuple(Edit(**_fields(edit)) for edit in given.get("hand", ())),
        "starts": tuple(Start(**_fields(start)) for start in given.get("starts", ())),
    }
    return Session(**{"project": project, **_fields(given), **made})


def _fields(given: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def _check(story: Story) -> None:
    """Raise AssertionError where a story contradicts itself: its lists are written by hand."""
    said: list[str] = []
    raised: list[str] = []
    for number, session in enumerate(story.sessions, 1):
        place = f"{story.name}, session {number}"
        for start in session.starts:
            so_far = said + _said(story, session.talk[: start.after])
            _check_lists(story, so_far, start, f"{place}, after {start.after} exchanges")
        said += _said(story, session.talk)
        said += [name for name in session.current if story.statements[name].by_hand and name not in said]
        talk = _text(session.talk)
        raised += [item.name for item in story.items.values() if any(words in talk for words in item.said)]
        _check_lists(story, said, session, place)
        assert {*session.open} <= {*raised}, place
    for each in story.statements.values():
        assert each.by_hand or each.name in said, f"{story.name}: {each.name} is never said"
        assert is_marked(each.text, each.marks), f"{story.name}: {each.name} lacks a mark"
        for name, rest in each.in_part.items():
            assert is_marked(rest, story.statements[name].marks), f"{story.name}: what remains of {name} lacks a mark"
    for item in story.items.values():
        assert all(is_marked(text, item.marks) for text in item.texts), f"{story.name}: {item.name} lacks a mark"


def _text(talk: Iterable[tuple[str, str]]) -> str:
    return "\n".join(part for exchange in talk for part in exchange)


def _said(story: Story, talk: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of what is said in a talk, in the order in which it is said."""
    text = _text(talk)
    found = [each for each in story.statements.values() if each.quote and each.quote in text]
    return [each.name for each in sorted(found, key=lambda each: text.index(each.quote))]


def _check_lists(story: Story, said: list[str], at: Session | Start, place: str) -> None:
    """Raise AssertionError unless the lists name what was said, and the best wording of it tells just what holds."""
    current, past = {*at.current}, {*at.past}
    told = {name for name in said if story.statements[name].kind != "withdrawal"}
    assert told == current | past, f"{place}: {told ^ (current | past)}"
    assert not current & past, place
    worded = {name: story.statements[name].text for name in said}
    for name in said:
        worded |= story.statements[name].in_part
    same = {story.statements[name].marks for name in current}
    for name in current:
        tells = {each.name for each in story.told(worded[name]) if each.name in told}
        wrong = {other for other in tells & past if story.statements[other].marks not in same}
        assert name in tells, f"{place}: {worded[name]!r} does not tell {name}"
        assert not wrong, f"{place}: {worded[name]!r} tells {wrong}"


def lines(session: Session, ident: str, cwd: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the transcript lines of each exchange as the client writes them."""
    parent = None
    for number, (user, assistant) in enumerate(session.talk):
        written = []
        for role, text in (("user", user), ("assistant", assistant)):
            moment = session.at + number * TURN + (timedelta(seconds=40) if role == "assistant" else timedelta())
            key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{ident} {number} {role}"))
            content: Any = text if role == "user" else [{"type": "text", "text": text}]
            message: dict[str, Any] = {"role": role, "content": content}
            if role == "assistant":
                message |= {"id": f"msg_{number:04}{ident[:8]}", "type": "message", "model": "claude-opus-4-5"}
            value = {
                "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": str(cwd),
                "sessionId": ident, "version": "2.1.329", "gitBranch": "main", "type": role, "message": message,
                "uuid": key, "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }  # fmt: skip
            written.append(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
            parent = key
        yield written[0], written[1]
