"""Asking: ask a replayed memory with a session's own prompts, and judge what it shows by what the session came to.

The rules, which the report repeats:

* An item of an answer counts when neither the prompts so far nor an earlier answer of the session named it. It *stood
  in* the notes or the page when these were given with or before the prompt that it answers.
* A word or an identifier of a note is *taken up* when the answer holds it, the prompt does not, and at most a tenth of
  the other answers do. A note was *used* when the answer takes up an identifier or two words of it, and *noise* when
  it takes up nothing. The others are unclear.
* What the hooks would have given before an edit or a command, after a command that failed, and to a sub-agent, is
  judged by the same rule: by what the session said and did after the turn of the event, and not before, until the
  next prompt. These notes are counted by event, apart from those beside prompts.
* A correction was *made again* when an earlier session or a fact known by then says the same. A preference that was
  known then counts as a correction too, because it had to be said again.
* The same notes are also held against the answer to another prompt: what is used there is used by chance.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from memoria.evaluating import answers, tool_events
from memoria.evaluating.answers import Item, Rule
from memoria.evaluating.harm import Harm, said_in
from memoria.evaluating.history import Session, answers_of, prompt_of
from memoria.evaluating.replay import Replay
from memoria.search import comparison, identifiers, tokens
from memoria.search.comparison import Words
from memoria.transcripts.turn import Turn

USED, UNCLEAR, NOISE = "used", "unclear", "noise"
VERDICTS = (USED, UNCLEAR, NOISE)
PAGE = "page"  # the kind of a row of the session's page that a sub-agent is given
COMMON = 0.1  # share of the other answers from which on a word says nothing
MIN_USED = 2  # words that an answer takes up of a note that it used
FEW_ANSWERS = 10  # of a project, with which words are too few to be common
MAX_PROMPTS = 20  # of a session; a long one would outweigh the others
MAX_EVENTS = 200  # tool events of a session
REMEMBERED = 200  # answers that notes are held against for chance
_NOTE = re.compile(r"- \[(?P<kind>\w+)(?P<about>[^\]]*)\] (?P<text>.*) \((?P<key>[^()]*)\)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered to a prompt, and its words."""

    text: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Answer:
        """Return the answer with this text."""
        return cls(text, frozenset(tokens.of(text)))


@dataclass(frozen=True, slots=True)
class Note:
    """A note that was shown: its kind, its verdict, and the verdict that it has beside another prompt's answer."""

    kind: str
    verdict: str
    by_chance: str
    chars: int


@dataclass(slots=True)
class Met:
    """What was given at the tool events of one name."""

    events: int = 0
    with_notes: int = 0
    chars: int = 0
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """What came of asking one session.

    ``items`` counts by kind and place: ``all``, ``notes``, ``page``, ``either``, and ``known`` for what the memory held
    at all. ``corrections`` counts those ``made``, made ``again``, and again though they were ``shown``; ``repeated``
    holds the words of those made again, with whether they were shown.
    """

    session: str
    project: str
    began: datetime
    prompts: int = 0
    with_notes: int = 0
    note_chars: int = 0
    page_chars: int = 0
    notes: list[Note] = field(default_factory=list)
    items: Counter[tuple[str, str]] = field(default_factory=Counter)
    corrections: Counter[str] = field(default_factory=Counter)
    repeated: list[tuple[str, bool]] = field(default_factory=list)
    harm: Counter[str] = field(default_factory=Counter)
    rows: int = 0  # of the page, and notes
    met: dict[str, Met] = field(default_factory=dict)  # by the name of the tool event


class Asking:
    """Asks session after session; remembers what the memory held and what was corrected before."""

    def __init__(self, replay: Replay, seed: int) -> None:
        self.replay = replay
        self.chance = random.Random(seed)  # noqa: S311 (a sample, no secret)
        self.held: dict[str, set[Item]] = {}  # by project, what the entries that the memory knows came to
        self.corrected: dict[str, list[Words]] = {}  # by project, the rules of the sessions asked so far
        self.answers: dict[str, list[Answer]] = {}  # by project

    def ask(self, session: Session) -> Asked:
        """Return what is shown; the memory moves forward to the session's beginning first."""
        fresh = self.replay.move(session.began, session.project)
        self._hold(fresh)
        page = self.replay.page(session.ident, session.cwd)
        harm = Harm(self.replay.facts, session)
        found = _One(self, session, page, harm).run()
        self._remember(session)
        return found

    def _hold(self, entries: Iterable[str]) -> None:
        for ident in entries:
            turns = self.replay.turns(ident)
            if turns:
                held = self.held.setdefault(self.replay.projects[ident], set())
                held.update(answers.of(turns))

    def _remember(self, session: Session) -> None:
        corrected = self.corrected.setdefault(session.project, [])
        corrected += [comparison.words(rule.text) for each in session.exchanges for rule in answers.rules(each)]
        told = self.answers.setdefault(session.project, [])
        told += [Answer.of(answers.text_of(answers_of(each))) for each in session.exchanges[:MAX_PROMPTS]]
        del told[:-REMEMBERED]

    def background(self, session: Session) -> list[Answer]:
        """Return the answers of earlier sessions, of the same project where there are enough."""
        own = self.answers.get(session.project, [])
        return own if len(own) >= FEW_ANSWERS else [told for each in self.answers.values() for told in each]


class _One:
    """One session that is asked."""

    def __init__(self, asking: Asking, session: Session, page: str, harm: Harm) -> None:
        self.asking, self.session, self.page, self.harm, self.name = asking, session, page, harm, session.ident
        self.facts = asking.replay.corrections_known(session.project)

    def run(self) -> Asked:
        """Return what is shown."""
        session, replay = self.session, self.asking.replay
        asked = Asked(session.ident, session.project, session.began, page_chars=len(self.page))
        shown = ""
        before = ""  # what the session itself has said so far
        for exchange in session.exchanges[:MAX_PROMPTS]:
            prompt, turns = prompt_of(exchange), answers_of(exchange)
            notes = replay.notes(self.name, session.cwd, prompt)
            asked.prompts += 1
            asked.with_notes += bool(notes)
            asked.note_chars += len(notes)
            self._correct(asked, answers.rules(exchange), shown)
            shown += notes
            before += prompt
            answer = answers.text_of(turns)
            asked.notes += self._judged(notes, prompt, Answer.of(answer))
            self._count(asked, answers.of(turns), before, shown)
            shown += self._meet(asked, turns, before)
            before += answer
        told = [*rows_of(self.page), *rows_of(shown)]
        asked.rows = len(told)
        foreign = sum(replay.is_foreign(row, session.project) for row in rows_of(shown))
        asked.harm = self.harm.count(rows_of(self.page), rows_of(shown), foreign)
        return asked

    def _count(self, asked: Asked, items: Iterable[Item], before: str, shown: str) -> None:
        held = self.asking.held.get(self.session.project, set())
        for item in items:
            if answers.stands(item.name, before):
                continue
            in_notes, in_page = answers.stands(item.name, shown), answers.stands(item.name, self.page)
            places = {"notes": in_notes, "page": in_page, "either": in_notes or in_page}
            places["known"] = places["either"] or item in held
            asked.items[item.kind, "all"] += 1
            asked.items.update((item.kind, place) for place, is_there in places.items() if is_there)

    def _meet(self, asked: Asked, turns: Sequence[Turn], before: str) -> str:
        """Replay the tool events of an answer and return what was given at them."""
        given = ""
        done = sum(met.events for met in asked.met.values())
        for number, event in enumerate(islice(tool_events.of(turns), MAX_EVENTS - done), done):
            notes = self.asking.replay.tool_notes(self.name, self.session.cwd, event, number)
            met = asked.met.setdefault(event.name, Met())
            met.events += 1
            met.with_notes += bool(notes)
            met.chars += len(notes)
            if notes:
                known = f"{before}\n{answers.text_of(turns[: event.place + 1])}"
                met.notes += self._judged(notes, known, Answer.of(answers.text_of(turns[event.place + 1 :])))
                given += notes
        return given

    def _correct(self, asked: Asked, rules: Iterable[Rule], shown: str) -> None:
        for rule in rules:
            own = comparison.words(rule.text)
            is_again = any(comparison.same(own, known) for known in self._corrected())
            told = (*rows_of(self.page), *rows_of(shown)) if is_again else ()
            rows = [comparison.words(said_in(row)) for row in told]
            is_shown = any(comparison.same(own, row) or comparison.repeated_in(own, row, 0.8) for row in rows)
            asked.corrections.update({"made": rule.is_correction or is_again, "again": is_again, "shown": is_shown})
            if is_again:
                asked.repeated.append((rule.text, is_shown))

    def _corrected(self) -> Iterator[Words]:
        yield from (comparison.words(fact.content) for fact in self.facts)
        yield from self.asking.corrected.get(self.session.project, ())

    def _judged(self, notes: str, prompt: str, answer: Answer) -> Iterator[Note]:
        others = self.asking.background(self.session) if notes else []
        for row in rows_of(notes):
            match = _NOTE.fullmatch(row)
            kind, text = (match["kind"], match["text"]) if match else (PAGE, row.removeprefix("- "))
            other = self.asking.chance.choice(others) if others else None
            by_chance = judge(text, prompt, other, [each for each in others if each is not other]) if other else ""
            yield Note(kind, judge(text, prompt, answer, others), by_chance, len(row))


def judge(note: str, prompt: str, answer: Answer, others: Sequence[Answer]) -> str:
    """Return what an answer took up of a note, going by the answers to ``others``."""
    most = max(1, len(others) * COMMON)
    names = [name for name in names_in(note) if answers.stands(name, answer.text) and not answers.stands(name, prompt)]
    if any(sum(answers.stands(name, other.text) for other in others) <= most for name in names):
        return USED
    words = set(tokens.of(note)) & answer.words - set(tokens.of(prompt))
    taken = sum(sum(word in other.words for other in others) <= most for word in words)
    return USED if taken >= MIN_USED else UNCLEAR if taken else NOISE


def names_in(note: str) -> list[str]:
    """Return the identifiers and files that a note names."""
    files = [answers.file_name(name) for name in identifiers.in_prose(note) if identifiers.FILE.search(name)]
    return [*answers.names(note), *files]


def rows_of(text: str) -> list[str]:
    """Return the items of a page, or the notes."""
    return [row for row in text.splitlines() if row.startswith("- ")]
