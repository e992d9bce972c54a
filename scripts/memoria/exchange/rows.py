"""Rows: the statements of a home on a memory server, one row each, as one more carrier of the same records.

A row has the words of its statement as its content, and says in its tags which statement it is and which wordings it
has replaced (``was``, eight digits each, the present one first). So it is read as a record that replaces those of its
former wordings, and what nobody knew of when it was written stands beside it. Of each row it is known what both sides
last held: one that has not changed is not looked at, and a statement that has not changed is not sent.

A number is an address and proves nothing, because a server that was restored or replaced gives it to another row. A row
is ours when it names our statement and was created at the moment that we know; all are listed before one is written.
What another program wrote is read as a statement and never written. Absence is asked about; only a tombstone deletes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from memoria.exchange.forms import fact_of, texts_of
from memoria.exchange.memory_server import MAX_TAGS, Memory, Server
from memoria.exchange.record import END, GONE, STATEMENT, beside, digest_in, digest_of, packed
from memoria.exchange.records import Records
from memoria.ground import clock
from memoria.ground.errors import MemoryServerDeniedError, MemoryServerError, MemoryServerUnavailableError
from memoria.ground.files import sha256
from memoria.search.words import words as words_of
from memoria.statements.fact import GLOBAL, KINDS, MAX_HISTORY, Fact, Stamp, new_id, plain, words
from memoria.statements.keeper import Keeper

log = logging.getLogger(__name__)

SERVER: Final = "the memory server"  # as a person is told whence something came
MOST_S: Final = 120.0  # of sending, when nobody waits for it
MOST_FAILURES: Final = 3  # operations that the server could not do now, after which it is asked for no more
MOST_FORMER: Final = 12  # wordings that a row names
MAX_FREE_TAGS, MAX_KEYWORDS = 8, 20
_CATEGORIES: Final = {"preference": "preferences", "correction": "preferences", "decision": "decisions"}
_KINDS: Final = {"decisions": "decision"}  # of another program's; its preferences are no rules of the user's
_LISTS: Final = ("supersedes", "also")
_TOLD: Final = ("id", "kind", "origin", "project", "time", *_LISTS, "ended", "successor", "repetition", "seen", "last")
_MORE: Final = ("worded", "beside", "was", "resumed", "edited")  # told too, and not compared; the last by 0.2.0
_OWN: Final = ("day", "entry", "session", "quote", "asked_as", "history")  # what of a statement stays on its machine
_FORMER: Final = "0" * 16  # how the dot of a wording begins of which nothing but its digest is known


def to_memory(fact: Fact, number: int = 0, more: dict[str, str] | None = None) -> Memory:
    """Return a statement as a server keeps it; ``more`` is told in its tags besides."""
    told = {name: value for name, value in fact.to_dict().items() if name in _TOLD} | (more or {})
    pairs = [(name, part) for name, value in told.items() for part in (value if name in _LISTS else [value])]
    tags = ["memoria", *(f"{name}:{part}" for name, part in pairs if part), *fact.tags]
    category = _CATEGORIES.get(fact.kind, "facts")
    return Memory(number, fact.content, category, _fitting(tags), _fitting(fact.keywords), fact.importance)


@dataclass(frozen=True, slots=True)
class Told:
    """What a row tells: a statement, the id that memoria wrote into it, its former wordings, and ends taken back."""

    fact: Fact
    named: str
    was: frozenset[str]
    resumed: frozenset[str]


def to_told(memory: Memory) -> Told | None:
    """Return what a row tells, also when another program wrote it; None when it holds no words."""
    content = plain(memory.content)
    told, free = _particulars(memory.tags)
    named = str(told.get("id", ""))
    if not named:
        kind, moment = _KINDS.get(memory.category, "fact"), clock.parse(memory.created) or clock.now()
        ident = new_id(kind, content, Stamp(GLOBAL, f"server-{memory.id}", moment))
        told = {"kind": kind, "project": GLOBAL, "time": moment.isoformat(), "id": ident}
    try:
        fact = Fact.from_dict({**told, "content": content, "importance": memory.importance})
    except ValueError:
        return None
    fact = replace(fact, tags=words(free, MAX_FREE_TAGS), keywords=words(memory.keywords, MAX_KEYWORDS))
    was, resumed = (frozenset(str(told[name]).split(".") if name in told else ()) for name in ("was", "resumed"))
    return Told(fact, named, was, resumed) if fact.kind in KINDS else None


def _particulars(tags: str) -> tuple[dict[str, Any], str]:
    """Return the particulars among the tags, and the other tags."""
    parts = [part.strip() for part in tags.split(",") if part.strip()]
    told: dict[str, Any] = {}
    if "memoria" not in parts:
        return told, tags
    free = []
    for part in parts:
        name, _, value = part.partition(":")
        if name in _LISTS:
            told.setdefault(name, []).append(value)
        elif name in (*_TOLD, *_MORE) and value:
            told[name] = int(value) if name == "seen" and value.isdigit() else value
        elif part != "memoria":
            free.append(part)
    return told, ",".join(free)


def _fitting(parts: Iterable[str]) -> str:
    """Return as many whole parts as a server takes, the first first."""
    text = ""
    for part in parts:
        longer = f"{text},{part}" if text else part
        if len(longer) > MAX_TAGS:
            break
        text = longer
    return text


def digest(fact: Fact) -> str:
    """Return a short text that differs when what a server keeps of a statement differs, its id aside."""
    bare = replace(fact, id="l-00000000", content=plain(fact.content), tags=words(fact.tags, MAX_FREE_TAGS),
                   keywords=words(fact.keywords, MAX_KEYWORDS))  # fmt: skip
    return sha256(packed(to_memory(bare).changes()))[:16]


def said(content: str) -> str:
    """Return a short text that is the same for two contents of the same words."""
    return sha256(" ".join(words_of(content)))[:16]


def named_in(memory: Memory) -> str:
    """Return the id that memoria wrote into a row, ``""`` when another program wrote it."""
    return str(_particulars(memory.tags)[0].get("id", ""))


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a row: its server and user (``home``) and its ``number``.

    ``id``: its statement here; ``named``: the id that it names, none when another program wrote it; ``digest``: of what
    both sides last held, ``GONE`` once it was deleted; ``created``: by the server's clock; ``mark``: of all that it
    said when it was looked at or written; ``adopted``: the statement came from it; ``dots``: of its records.
    """

    home: str
    number: int
    id: str
    named: str
    digest: str
    created: str = ""
    mark: str = ""
    adopted: bool = False
    dots: str = ""

    def is_of(self, memory: Memory) -> bool:
        """Return whether this is the row, whatever it now says."""
        return named_in(memory) == self.named and (not self.created or self.created == memory.created)


@dataclass
class Rows:
    """One exchange with a memory server.

    ``hides`` says whether a project is not exchanged, ``clean`` returns a text without what is forgotten. ``came`` and
    ``sent`` count statements.
    """

    records: Records
    keeper: Keeper
    server: Server
    hides: Callable[[str], bool] = lambda _: False
    clean: Callable[[str], str] = str
    came: int = 0
    sent: int = 0
    failure: MemoryServerError | None = None
    home: str = ""
    _live: dict[int, Memory] = field(default_factory=dict)  # the rows that are there, by number

    def meet(self, *, full: bool = False) -> None:
        """Take in and send; what failed is in ``failure`` and kept, for who asks.

        ``full``: take all the time that it needs, and try again what was refused.
        """
        self.home = self.records.get("server", {}).get("home", "")  # what waits there is counted, should it be away
        if full:
            self.records.keep("refused", {})
        try:
            self.home = f"{self.server.address} {self.server.user()}"
            self._exchange(time.monotonic() + (float("inf") if full else MOST_S))
        except MemoryServerError as failure:
            self.failure = failure
        denied, waiting = isinstance(self.failure, MemoryServerDeniedError), len(self._unsent())
        told = {"home": self.home, "denied": denied, "problem": str(self.failure or ""), "waiting": waiting}
        self.records.keep("server", told)

    def _exchange(self, deadline: float) -> None:
        """List everything, take in what changed, and send."""
        listed = self.server.listing()
        self._live = {memory.id: memory for memory in listed if not memory.deleted}
        with self.records.transaction():
            for memory in sorted(listed, key=lambda memory: (memory.deleted, memory.id)):
                self._bury(memory) if memory.deleted else self._take(memory)
            self.records.spread()
        self._drop_missing({memory.id for memory in listed})
        self._send(deadline)

    # -- what is known

    def _rows(self, where: str, *values: object) -> list[Row]:
        query = f"SELECT * FROM rows WHERE {where} ORDER BY number"  # noqa: S608 (constant)
        return [Row(*each) for each in self.records.db.execute(query, values)]

    def _own(self, ident: str) -> list[Row]:
        """Return the live rows that memoria wrote for a statement, lowest number first; the first counts."""
        return self._rows("home = ? AND id = ? AND named <> '' AND digest <> ?", self.home, ident, GONE)

    def _keep(self, row: Row) -> None:
        self.records.db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(row))

    def _drop(self, row: Row) -> None:
        self.records.db.execute("DELETE FROM rows WHERE home = ? AND number = ?", (self.home, row.number))

    def _here(self, ident: str) -> Fact | None:
        live, end = self.records.standing(ident), self.records.standing(f"{ident}#{END}")
        if live is None or live.kind != STATEMENT or not live.text:
            return None
        try:
            return fact_of(ident, live.text, end.text if end else None)[0]
        except (ValueError, KeyError, TypeError):  # of a newer version
            return None

    @cached_property
    def _gone(self) -> set[str]:
        return self.keeper.store.gone()

    def _is_known(self, ident: str) -> bool:
        return bool(self.records.known(ident)) or self.records.is_gone(ident) or ident in self._gone

    @cached_property
    def _by_words(self) -> dict[str, list[Fact]]:
        found: dict[str, list[Fact]] = {}
        for ident in self.records.idents(STATEMENT):
            if fact := self._here(ident):
                found.setdefault(said(fact.content), []).append(fact)
        return found

    def _meant(self, told: Told) -> str:
        """Return the statement that a new row stands for: its own, or one here in the same words.

        A row of ours also has a kind and a project.
        """
        fact = told.fact
        same = [] if self._is_known(fact.id) else self._by_words.get(said(fact.content), [])
        pairs = (mine.id for mine in same if not told.named or (mine.project, mine.kind) == (fact.project, fact.kind))
        return next(pairs, fact.id)

    # -- taking in

    def _row_of(self, memory: Memory) -> Row | None:
        """Return what is known of this row; what was known of another one under its number is void."""
        for row in self._rows("home = ? AND number = ?", self.home, memory.id):
            if row.is_of(memory):
                return row
            log.warning("row %d of the memory server is another than before: it was restored or replaced", row.number)
            self._drop(row)
        return None

    def _take(self, memory: Memory) -> None:
        """Take in a row, unless it is as it was."""
        row = self._row_of(memory)
        told = None if row and row.mark == memory.mark and row.digest != GONE else to_told(memory)
        if told is None or self.hides(told.fact.project) or self.clean(told.fact.content) != told.fact.content:
            return
        ident = row.id if row else self._meant(told)
        mine = self._here(ident)
        now = digest(told.fact) if told.named else said(told.fact.content)
        held = digest(mine) if mine else GONE
        adopted = not told.named and (row.adopted if row else mine is None or ident == told.fact.id)
        is_news = row is None or row.digest != now
        if memory.sensitive:  # its words are hidden; a row of ours is there
            if not (mine and told.named):
                return
            now = held
        elif told.named:
            if is_news and now != held:
                if row and row.digest == held and not told.was:  # of 0.2.0, which knew what stands here
                    told = replace(told, was=frozenset([digest_of(mine.content if mine else None)]))
                self._merge(memory, told, ident, mine)
        elif row and mine and is_news:  # a statement that is nothing but another program's row follows it
            if not row.adopted or said(mine.content) != row.digest or self._own(ident):
                self._drop(row)
                self._take(memory)
                return
            self._merge(memory, replace(told, was=frozenset([digest_of(mine.content)])), ident, mine)
        elif row is None and mine is None and not self._is_known(ident):
            self._merge(memory, told, ident, None)
        self._keep(Row(self.home, memory.id, ident, told.named, now, memory.created, memory.mark, adopted))

    def _merge(self, memory: Memory, told: Told, ident: str, mine: Fact | None) -> None:
        """Write the record of what a row tells; it replaces those of its former wordings."""
        fact, raw, part = told.fact, digest_of(memory.content), f"{ident}#{END}"
        live, own = self.records.standing(ident), digest_of(mine.content) if mine else GONE
        first = fact.beside.partition(" ")[0]
        replaced = {raw, *told.was}
        if live is None and (ident in self._gone or self.records.is_former(first, raw)):  # it went here before
            self.records.put(ident, STATEMENT, None, self._over(ident, replaced))
            return
        if mine:
            if raw == own:
                fact = replace(fact, content=mine.content)  # as it is written here
            if said(mine.content) == said(fact.content):
                replaced.add(own)
            last = max((moment for moment in (mine.last, fact.last) if moment), default=None)
            fact = replace(fact, seen=max(mine.seen, fact.seen), last=last)
        replaced.discard(digest_of(fact.content))  # what was counted of the same words anywhere adds up
        stored = json.loads(live.text or "{}") if live else {}
        stored = {"day": str(self.keeper.zone.day(fact.time))} | {n: stored[n] for n in _OWN if n in stored}
        if mine and mine.content != fact.content and own in replaced:
            former = f"{clock.now():%Y-%m-%d} {mine.content}"
            stored["history"] = [*stored.get("history", ()), former][-MAX_HISTORY:]
        text, end = texts_of(stored | fact.to_dict())
        changed = self._put(ident, STATEMENT, text, self._over(ident, replaced), fact)
        ended = self.records.standing(part)
        if end and not self.records.is_former(part, digest_of(end)):
            changed |= self._put(part, END, end, (), fact)
        elif not end and ended and ended.digest in told.resumed:
            changed |= self._put(part, END, None, ended.dots, fact)
        self.came += changed

    def _put(self, ident: str, kind: str, text: str | None, over: Iterable[str], fact: Fact) -> bool:
        live = self.records.standing(ident)
        if live and live.text == text:
            return False
        self.records.put(ident, kind, text, over, project=fact.project, machine=SERVER)
        self.records.be_due([ident])
        return True

    def _over(self, ident: str, digests: Iterable[str]) -> set[str]:
        """Return the dots of the records of these wordings, with those that they replaced."""
        wanted = set(digests)
        replaced = [record for record in self.records.known(ident) if record.digest in wanted]
        return {dot for record in replaced for dot in record.dots} | {_FORMER + each for each in wanted}

    def _bury(self, memory: Memory) -> None:
        """Delete the statement of a deleted row, in the wordings that the row had, unless another row stands for it."""
        row, told = self._row_of(memory), to_told(memory)
        if told is None or (row and row.digest == GONE):
            return
        if row:
            self._keep(replace(row, digest=GONE))
        ident = row.id if row else told.named
        mine = self._here(ident)
        if mine is None or self._own(ident):
            return
        if told.named or (row and row.adopted and said(mine.content) == row.digest):
            digests = {digest_of(memory.content), digest_of(told.fact.content), *told.was}
            self._put(ident, STATEMENT, None, self._over(ident, digests), mine)

    def _drop_missing(self, there: set[int]) -> None:
        """Forget the rows that two listings lack.

        A deletion would have come as a tombstone: they were lost there, and are sent again.
        """
        rows = self._rows("home = ? AND digest <> ?", self.home, GONE)
        missing = [row for row in rows if row.number not in there]
        if missing and {row.number for row in missing} & {memory.id for memory in self.server.listing()}:
            log.warning("the memory server's listing is not whole: it lacks rows that are there")
            return
        for row in missing:
            self._drop(row)

    # -- sending

    def _unsent(self) -> dict[str, str]:
        """Return the statements that no row holds as they are, each with the dots of its records."""
        for first, second in list(self.records.pairs()):
            if first.kind == STATEMENT:
                self.records.part(second.id)  # a row has no dots, so that its words are known by its id
        dots: dict[str, str] = {}
        query = "SELECT id, dot FROM records WHERE kind IN (?, ?) ORDER BY dot"
        for part, dot in self.records.db.execute(query, (STATEMENT, END)):
            ident = part.partition("#")[0]
            dots[ident] = f"{dots.get(ident, '')} {dot}".strip()
        rows: dict[str, list[tuple[str, str]]] = {}
        query = "SELECT id, dots, named FROM rows WHERE home = ? AND digest <> ?"
        for ident, held, named in self.records.db.execute(query, (self.home, GONE)):
            rows.setdefault(ident, []).append((held, named))
            if ident not in dots and self.records.is_gone(ident):
                dots[ident] = GONE
        refused = {(ident, held) for ident, (held, _) in self.records.get("refused", {}).items()}
        found = {}
        for ident, now in dots.items():
            here = rows.get(ident, [])
            is_current = any(held == now for held, _ in here) and sum(bool(named) for _, named in here) < 2
            if not is_current and (ident, now) not in refused and (here or self._here(ident)):
                found[ident] = now
        return found

    def _send(self, deadline: float) -> None:
        """Send what no row holds. MemoryServerError when the server cannot or may not be used at all."""
        failures, refused = 0, self.records.get("refused", {})
        for ident, dots in self._unsent().items():
            if time.monotonic() > deadline:
                break
            try:
                self.sent += self._send_one(ident, dots)
                refused.pop(ident, None)
            except MemoryServerUnavailableError as error:
                failures += 1
                self.failure = error
                if not error.status or failures >= MOST_FAILURES:
                    raise
            except MemoryServerError as error:
                if isinstance(error, MemoryServerDeniedError) and (error.status != 403 or not self._own(ident)):
                    raise
                log.warning("the memory server refuses %s: %s", ident, error)
                refused[ident] = [dots, str(error)]
            self.records.keep("refused", refused)

    def _send_one(self, ident: str, dots: str) -> bool:
        """Write a statement into its row, or a new one; delete the rows of one that is gone, and all but the oldest."""
        fact, own = self._here(ident), self._own(ident)
        if fact and self.hides(fact.project):
            return False
        deleted = [self._write(row, replace(row, digest=GONE)) for row in (own[1:] if fact else own)]
        if fact is None:
            return any(deleted)
        if own:
            first, *_ = own
            row = replace(first, digest=digest(fact), dots=dots)
            if row.digest != first.digest:
                memory = to_memory(replace(fact, id=row.named), row.number, self._more(ident, fact))
                return self._write(first, replace(row, mark=memory.mark), memory)
            self._keep(row)
            return False
        where = "id = ? AND named = '' AND digest = ? AND (home = ? OR adopted)"
        foreign = self._rows(where, ident, said(fact.content), self.home)
        for row in foreign:  # another program keeps these very words, here or on another server, where they stay
            self._keep(replace(row, dots=dots))
        if foreign:
            return False
        memory = to_memory(fact, more=self._more(ident, fact))
        self._keep(Row(self.home, self.server.add(memory), ident, ident, digest(fact), "", memory.mark, dots=dots))
        return True

    def _write(self, row: Row, now: Row, memory: Memory | None = None) -> bool:
        """Change a row, or delete it, if it is there and ours."""
        listed = self._live.get(row.number)
        if listed is None or not row.is_of(listed):
            return False
        if memory:
            self.server.change(memory)
        else:
            self.server.delete(row.number)
        self._keep(now)
        return True

    def _more(self, ident: str, fact: Fact) -> dict[str, str]:
        """Return what a row tells besides: former wordings, the latest first, and ends that were taken back."""
        former = [digest_in(dot) for record in self.records.known(ident) for dot in record.over]
        was = [digest_of(fact.content), *[GONE] * (GONE in former), *map(digest_of, reversed(fact.wordings)), *former]
        end = self.records.standing(f"{ident}#{END}")
        resumed = {digest_in(dot) for dot in end.over} - {GONE} if end and end.text is None else ()
        told = {name: value for name, value in fact.to_dict().items() if name in _MORE}
        was = [each for each in dict.fromkeys(was) if not self.records.known(beside(ident, each))]  # those stand yet
        lists = {"was": was, "resumed": sorted(resumed)}
        return told | {name: ".".join(found[:MOST_FORMER]) for name, found in lists.items() if found}
