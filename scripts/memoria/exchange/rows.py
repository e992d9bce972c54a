"""Rows: the statements of a home on a memory server, one row each, as one more carrier of the same records.

A row has the words of its statement as its content, and says in its tags which statement it is and which wordings it
has replaced (``was``, eight digits each, the present one first). So it is read as a record that replaces those of its
former wordings, and what nobody knew of when it was written stands beside it. Of each row it is known how it was listed
and what stood here when both said the same: neither a row nor a statement that has not changed is looked at.

What it proves, and what deletes: docs/decisions/0039-memory-server.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, NamedTuple

from memoria.exchange.forms import fact_of, texts_of
from memoria.exchange.memory_server import MAX_TAGS, Memory, Server
from memoria.exchange.record import END, GONE, STATEMENT, beside_id, digest_in, digest_of
from memoria.exchange.records import Records
from memoria.ground import clock
from memoria.ground.errors import MemoryServerError
from memoria.search.words import words as words_of
from memoria.statements.fact import GLOBAL, KINDS, Fact, Stamp, make_plain, new_id, words
from memoria.statements.keeper import Keeper

SERVER: Final = "the memory server"  # as a person is told whence something came
MOST_FAILURES: Final = 3  # operations one after the other that failed, after which no more is tried
MAX_FREE_TAGS, MAX_KEYWORDS, MOST_FORMER = 8, 20, 12  # of a row; the last: the wordings that it names
_CATEGORIES: Final = {"preference": "preferences", "correction": "preferences", "decision": "decisions"}
_KINDS: Final = {"decisions": "decision"}  # of another program's; its preferences are no rules of the user's
_LISTS: Final = ("supersedes", "also")
_TOLD: Final = ("id", "kind", "origin", "project", "time", *_LISTS, "ended", "successor", "repetition", "seen", "last",
                "worded", "beside", "was", "edited")  # fmt: skip  # the last by 0.2.0
_OWN: Final = ("day", "entry", "session", "quote", "asked_as", "history")  # what of a statement stays on its machine
_FORMER: Final = "0" * 16  # how the dot of a wording begins of which nothing but its digest is known
_REFUSALS: Final = (400, 404, 409, 413, 422)  # statuses that say something about one row


def to_memory(fact: Fact, number: int = 0, was: str = "") -> Memory:
    """Return a statement as a server keeps it; ``was``: the wordings that it replaces."""
    told = {name: value for name, value in (fact.to_dict() | {"was": was}).items() if name in _TOLD}
    pairs = [(name, part) for name, value in told.items() for part in (value if name in _LISTS else [value])]
    tags = ["memoria", *(f"{name}:{part}" for name, part in pairs if part), *fact.tags]
    category = _CATEGORIES.get(fact.kind, "facts")
    return Memory(number, fact.content, category, _fit(tags), _fit(fact.keywords), fact.importance)


def _fit(parts: Iterable[str]) -> str:
    """Return as many whole parts as a server takes, the first first."""
    texts = accumulate(parts, "{},{}".format)
    return max((text for text in texts if len(text) <= MAX_TAGS), key=len, default="")


class Told(NamedTuple):
    """What a row tells: a statement, the id that memoria wrote into it, and what it replaced."""

    fact: Fact
    named: str
    was: frozenset[str]

    def is_as(self, fact: Fact) -> bool:
        """Return whether a row tells what that of a statement would; another program's, whether the same words."""
        if not self.named:
            return words_of(self.fact.content) == words_of(fact.content)
        other = read_told(to_memory(replace(fact, worded=None, beside="")))
        return other is not None and other.fact == replace(self.fact, worded=None, beside="")


def read_told(memory: Memory) -> Told | None:
    """Return what a row tells, also when another program wrote it; None when it holds no words."""
    content = make_plain(memory.content)
    told, free = _particulars(memory.tags)
    named, was = str(told.get("id", "")), str(told.get("was", ""))
    if not named:
        kind, moment = _KINDS.get(memory.category, "fact"), clock.parse(memory.created) or clock.now()
        ident = new_id(kind, content, Stamp(GLOBAL, f"server-{memory.id}", moment))
        told = {"kind": kind, "project": GLOBAL, "time": moment.isoformat(), "id": ident}
    told |= {"tags": words(free, MAX_FREE_TAGS), "keywords": words(memory.keywords, MAX_KEYWORDS)}
    with suppress(ValueError):
        fact = Fact.from_dict({**told, "content": content, "importance": memory.importance})
        if fact.kind in KINDS:
            return Told(fact, named, frozenset(was.split(".") if was else ()))
    return None


def _particulars(tags: str) -> tuple[dict[str, Any], list[str]]:
    """Return the particulars among the tags, none in those of another program, and the other tags."""
    told: dict[str, Any] = {}
    free: list[str] = []
    parts = [part.strip() for part in tags.split(",") if part.strip()]
    for part in parts:
        name, _, value = part.partition(":")
        if "memoria" not in parts or name not in _TOLD or not value or (name == "id" and value[:2] != "l-"):
            free.append(part)
        elif name in _LISTS:
            told.setdefault(name, []).append(value)
        else:
            told[name] = int(value) if name == "seen" and value.isdecimal() else value
    return told, [part for part in free if part != "memoria"]


class Row(NamedTuple):
    """What is known of a row."""

    home: str  # its server and user
    number: int
    id: str  # of its statement here
    named: str  # the same in its own words, none when another program wrote it
    created: str = ""
    mark: str = ""  # of all that it said when it was looked at or written, ``GONE`` once it was deleted
    adopted: bool = False  # whether the statement came from it
    dots: str = ""  # of the statement's records when the row said the same

    def is_in(self, listed: Mapping[int, Memory]) -> bool:
        """Return whether the row is there, whatever it now says."""
        memory = listed.get(self.number)
        named = _particulars(memory.tags)[0].get("id", "") if memory else None
        return memory is not None and named == self.named and self.created in ("", memory.created)

    def has_had(self, fact: Fact) -> bool:
        """Return whether the statement had these words when the row said the same."""
        return digest_of(fact.content) in map(digest_in, self.dots.split())


@dataclass
class Rows:
    """One exchange with a memory server."""

    records: Records
    keeper: Keeper
    server: Server
    hides: Callable[[str], bool]  # whether a project is not exchanged
    clean: Callable[[str], str]  # returns a text without what is forgotten
    came: int = 0  # statements
    sent: int = 0
    failure: MemoryServerError | None = None
    home: str = ""
    _listed: dict[int, Memory] = field(default_factory=dict)  # the rows that are there, by number

    def meet(self) -> None:
        """Take in and send."""
        self.home = self.records.get("server", {}).get("home", "")  # what waits there is counted, should it be away
        try:
            self.home = f"{self.server.address} {self.server.user()}"
            self._take_all()
            self._send_all()
        except MemoryServerError as failure:
            self.failure = failure
        unsent, status = self._unsent_dots(), self.failure.status if self.failure else 0
        refused = {ident: reason for ident, reason in self.records.get("refused", {}).items() if ident in unsent}
        self.records.keep("refused", refused)
        told = {"home": self.home, "problem": str(self.failure or ""), "waiting": len(unsent) - len(refused)}
        self.records.keep("server", told | {"denied": status in (401, 403)})

    # -- what is known

    def _rows(self, where: str, *values: object) -> list[Row]:
        """Return the rows of a condition: those that memoria wrote first, lowest number first."""
        query = f"SELECT * FROM rows WHERE {where} ORDER BY named = '', number"  # noqa: S608 (constant)
        return [Row(*each) for each in self.records.db.execute(query, values)]

    def _own_rows(self, ident: str) -> list[Row]:
        return self._rows("home = ? AND id = ? AND named <> '' AND mark <> ?", self.home, ident, GONE)

    def _keep(self, row: Row) -> None:
        self.records.db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _stored_fact(self, ident: str) -> Fact | None:
        live, end = self.records.standing(ident), self.records.standing(f"{ident}#{END}")
        with suppress(ValueError, KeyError, TypeError):  # of a newer version
            if live and live.kind == STATEMENT and live.text:
                return fact_of(ident, live.text, end.text if end else None)[0]
        return None

    @cached_property
    def _gone_ids(self) -> set[str]:
        return self.keeper.store.deleted_ids().union(self.records.forgotten())

    @cached_property
    def _ids_by_words(self) -> dict[tuple[str, ...], str]:
        facts = filter(None, map(self._stored_fact, self.records.idents(STATEMENT)))
        return {tuple(words_of(fact.content)): fact.id for fact in facts}

    # -- taking in

    def _take_all(self) -> None:
        """List everything, and take in what changed; what is known of a row that is another now, or lost, is void."""
        self._listed = {memory.id: memory for memory in self.server.listing()}
        with self.records.transaction():
            void = [row[:2] for row in self._rows("home = ?", self.home) if not row.is_in(self._listed)]
            self.records.db.executemany("DELETE FROM rows WHERE home = ? AND number = ?", void)
            known = {row.number: row for row in self._rows("home = ?", self.home)}
            for memory in sorted(self._listed.values(), key=lambda memory: (memory.deleted, memory.id)):
                self._take(memory, known.get(memory.id))
            self.records.spread()

    def _take(self, memory: Memory, row: Row | None) -> None:
        """Take in a row, unless it is as it was known."""
        mark = GONE if memory.deleted else memory.mark
        told = None if row and row.mark == mark else read_told(memory)
        if told is None or self.hides(told.fact.project):
            return
        ident = row.id if row else told.named  # what another program says may stand here already
        ident = ident or self._ids_by_words.get(tuple(words_of(told.fact.content)), told.fact.id)
        mine, others = self._stored_fact(ident), [other for other in self._own_rows(ident) if other.number != memory.id]
        had = bool(row and mine and row.has_had(mine))
        leads = bool(told.named or (row and row.adopted and had and not others))  # else it only says the same
        if self.clean(told.fact.content) != told.fact.content or (memory.sensitive and not mine):  # hidden words
            if told.named in self._gone_ids and not mine:  # the row is there again, and is deleted
                self._put(ident, STATEMENT, None, self._former_dots(ident, told.was), told.fact)
                self._keep(Row(self.home, memory.id, ident, told.named, memory.created, mark))
            return
        if row and mine and not (leads or memory.deleted or memory.sensitive):
            self._take(memory, None)  # the statement was edited here
            return
        if memory.deleted:
            is_news = leads and mine is not None and not others
        elif mine:
            is_news = leads and not memory.sensitive and not told.is_as(mine)
        else:
            is_news = bool(told.named) or not (row or self.records.current(ident) or ident in self._gone_ids)
        if is_news:
            if mine and had and not told.was:  # a program that names no wordings knew this one
                told = told._replace(was=frozenset([digest_of(mine.content)]))
            self._merge(memory, told, ident, mine)
        adopted = row.adopted if row else not told.named and ident == told.fact.id
        self._keep(Row(self.home, memory.id, ident, told.named, memory.created, mark, adopted))

    def _merge(self, memory: Memory, told: Told, ident: str, mine: Fact | None) -> None:
        """Write the record of what a row tells; it replaces those of its former wordings."""
        fact, raw, part = told.fact, digest_of(memory.content), f"{ident}#{END}"
        live, own = self.records.standing(ident), digest_of(mine.content) if mine else GONE
        replaced, first = {raw, *told.was}, fact.beside.partition(" ")[0]
        went_before = live is None and (ident in self._gone_ids or self.records.is_former(first, raw))
        if memory.deleted or went_before:
            self._put(ident, STATEMENT, None, self._former_dots(ident, {*replaced, digest_of(fact.content)}), fact)
            return
        stored = json.loads(live.text or "{}") if live else {}
        stored = {"day": str(self.keeper.zone.day(fact.time))} | {n: stored[n] for n in _OWN if n in stored}
        if mine:
            content = mine.content if raw == own else fact.content  # the one is as it is written here
            last = max((moment for moment in (mine.last, fact.last) if moment), default=None)
            fact = replace(fact, content=content, seen=max(mine.seen, fact.seen), last=last)
            if mine.content != content and own in replaced:
                stored["history"] = mine.reword(content, f"{clock.now():%Y-%m-%d}").history
        replaced.discard(digest_of(fact.content))  # what was counted of the same words anywhere adds up
        text, end = texts_of(stored | fact.to_dict())
        changed = self._put(ident, STATEMENT, text, self._former_dots(ident, replaced), fact)
        ended = self.records.standing(part)
        if end and not self.records.is_former(part, digest_of(end)):
            changed |= self._put(part, END, end, (), fact)
        elif not end and ended and ended.digest in told.was:
            changed |= self._put(part, END, None, ended.dots, fact)
        self.came += changed

    def _put(self, ident: str, kind: str, text: str | None, over: Iterable[str], fact: Fact) -> bool:
        live = self.records.standing(ident)
        if live and live.text == text:
            return False
        self.records.put(ident, kind, text, over, project=fact.project, machine=SERVER)
        self.records.be_due([ident])
        return True

    def _former_dots(self, ident: str, digests: Iterable[str]) -> set[str]:
        """Return the dots of the records of these wordings, with those that they replaced."""
        wanted, known = set(digests), self.records.current(ident)
        replaced = {dot for record in known if record.digest in wanted for dot in record.dots}
        return replaced | {_FORMER + each for each in wanted}

    # -- sending

    def _unsent_dots(self) -> dict[str, str]:
        """Return the statements that no row holds as they are, each with the dots of its records; note the others."""
        for first, second in list(self.records.pairs()):
            if first.kind == STATEMENT:
                self.records.part(second.id)  # a row has no dots, so that its words are known by its id
        rows: dict[str, list[Row]] = {}
        for row in self._rows("mark <> ? AND (home = ? OR adopted)", GONE, self.home):
            rows.setdefault(row.id, []).append(row)
        dots = {ident: GONE for ident in self.records.forgotten() if ident in rows}
        query = "SELECT replace(id, '#end', ''), group_concat(dot, ' ') FROM records WHERE kind IN (?, ?) GROUP BY 1"
        dots |= dict(self.records.db.execute(query, (STATEMENT, END)))
        return {ident: now for ident, now in dots.items() if self._must_send(ident, now, rows.get(ident, []))}

    def _must_send(self, ident: str, now: str, rows: list[Row]) -> bool:
        own = [row for row in rows if row.named]
        telling = own[:1] or rows  # what another program says needs no row of ours
        if any(row.dots == now for row in telling):
            return len(own) > 1
        fact, live = self._stored_fact(ident), self.records.standing(ident)
        if fact is None:
            return bool(own) and not (live and live.text)  # else it is of a newer version
        for row in telling:
            if self._says(row, fact):
                self._keep(row._replace(dots=now))
                return len(own) > 1
        return not self.hides(fact.project)

    def _says(self, row: Row, fact: Fact) -> bool:
        """Return whether a row says what a statement says; of another server's, whether it did."""
        if row.home != self.home:
            return row.has_had(fact)
        memory = self._listed.get(row.number)
        told = read_told(memory) if memory else None
        return bool(memory and told and (memory.sensitive or told.is_as(fact)))

    def _send_all(self) -> None:
        """Send what no row holds, what was refused last, until the server cannot be used."""
        failures, refused = 0, self.records.get("refused", {})
        for ident, dots in sorted(self._unsent_dots().items(), key=lambda each: each[0] in refused):
            try:
                self._send(ident, dots)
                self.sent, failures = self.sent + 1, 0
            except MemoryServerError as error:
                failures += 1
                if error.status in _REFUSALS or (error.status == 403 and self._own_rows(ident)):
                    refused[ident] = str(error)
                    self.records.keep("refused", refused)
                elif error.status < 500:
                    raise
                else:  # the server's own trouble may be this row's
                    self.failure = error
                if failures == MOST_FAILURES:
                    return

    def _send(self, ident: str, dots: str) -> None:
        """Write a statement into its row, or a new one; delete the rows of one that is gone, and all but the oldest."""
        fact, own = self._stored_fact(ident), self._own_rows(ident)
        for row in own[1:] if fact else own:
            self.server.delete(row.number)
            self._keep(row._replace(mark=GONE))
        if fact is None or (own and own[0].dots == dots):
            return
        row = own[0] if own else Row(self.home, 0, ident, ident)
        memory = to_memory(fact, row.number, self._replaces(ident, fact))
        if own:
            self.server.change(memory)
        number = row.number or self.server.add(memory)
        self._keep(row._replace(number=number, mark=memory.mark, dots=dots))

    def _replaces(self, ident: str, fact: Fact) -> str:
        """Return what a row replaces: ends that were taken back, and wordings, the present one first."""
        former = [digest_in(dot) for record in self.records.current(ident) for dot in record.over]
        end = self.records.standing(f"{ident}#{END}")
        resumed = sorted({digest_in(dot) for dot in end.over} - {GONE}) if end and end.text is None else []
        was = [digest_of(fact.content), *[GONE] * (GONE in former), *resumed, *map(digest_of, reversed(fact.wordings))]
        stand = [each for each in dict.fromkeys([*was, *former]) if not self.records.current(beside_id(ident, each))]
        return ".".join(stand[:MOST_FORMER])
