"""Application: from records to the daily logs, through the logs' own rewriting, under their lock.

An id is written only where its file still holds what was last seen there: a person who saves in this moment is not
overwritten, and their words become a record with the next scan. What was written is read back and noted as shown. A
kill between the two is no harm, because the scan knows the text again.

Where two machines changed one thing at once, what can be added up is added up, and both wordings stand otherwise, the
second as a statement or entry of its own that names its machine. Every machine comes to the same records by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from memoria.base.project import name_of
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry_form import SESSION, tombstone
from memoria.exchange.article_form import ARTICLE, PLACE, PROSE, UNNAMED, prose_part
from memoria.exchange.articles import ArticleApplication
from memoria.exchange.day_form import END, ENTRY, ITEM, STATEMENT, Day, day_of, fact_of
from memoria.exchange.records import FORGET, GONE, Record, Records, Shown, beside, digest_in, digest_of
from memoria.ground.clock import Zone
from memoria.ground.errors import FileBusyError
from memoria.ground.files import sha256
from memoria.statements import lines
from memoria.statements.fact import GLOBAL, MAX_HISTORY, ORIGINS, Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.article import HISTORY

Wording = tuple[str, str, str]
"""An id, the text that it has, and the words by which an old copy is recognised."""


@dataclass(slots=True)
class Application:
    """One bringing up to date of the daily logs.

    ``hides`` says whether a project is not exchanged. ``articles``: None while a compile is at work. ``forgotten``: the
    ids that stand here and were forgotten elsewhere, which the caller forgets. ``before``: what was seen of ids that
    move from one file to another.
    """

    records: Records
    keeper: Keeper
    hides: Callable[[str], bool] = lambda _: False
    articles: ArticleApplication | None = None
    forgotten: list[str] = field(default_factory=list)
    before: dict[str, Shown] = field(default_factory=dict)

    @property
    def daily(self) -> DailyLog:
        """The daily logs."""
        return self.keeper.lines.daily

    @property
    def zone(self) -> Zone:
        """The user's zone."""
        return self.keeper.zone

    def run(self) -> None:
        """Write what is due; what cannot be written now stays due."""
        with self.records.transaction():
            for ident in self.records.due():
                settle(self.records, ident)
        plan: dict[str, list[str]] = {}
        settled: list[str] = []
        due = list(dict.fromkeys(ident.partition("#")[0] for ident in self.records.due()))
        for whole in [whole for whole in due if "/" not in whole]:
            files = self._files(whole)
            settled += [] if files else [whole]
            if len(files) > 1:
                self.before |= {part: shown for part in (whole, *self.records.parts(whole))
                                if (shown := self.records.shown(part))}  # fmt: skip
            for file in files:
                plan.setdefault(file, []).append(whole)
        for file, idents in sorted(plan.items()):
            settled += self._write(file, idents)
        if self.articles:
            self.keeper.refresh()  # new statements, which the articles link
            settled += self.articles.run([whole for whole in due if "/" in whole])
        with self.records.transaction():
            done = set(settled)
            self.records.settle(ident for ident in self.records.due() if ident.partition("#")[0] in done)

    def _files(self, whole: str) -> list[str]:
        """Return the files that an id stands in or belongs to; none when there is nothing to do for it."""
        shown = self.records.shown(whole)
        stands = [shown.file] if shown and shown.digest != GONE and shown.file.startswith("daily/") else []
        gone = self.records.gone(whole)
        if gone:
            if stands:
                self.forgotten.append(whole)
            day = (gone.text or "").partition("\n")[0]
            return [f"daily/{day}"] if day and not stands else []
        live = self.records.live(whole)
        kinds = {record.kind for record in live}
        if not kinds <= {ENTRY, STATEMENT} or self.hides(live[0].project if live else ""):
            return []
        try:
            return list(dict.fromkeys([*self._belongs(live[0]), *stands])) if live else stands
        except ValueError:  # of a newer version, or no work of memoria's
            return []

    def _belongs(self, record: Record) -> list[str]:
        if record.text is None:
            return []
        day = day_of(record.text)[0] if record.kind == ENTRY else fact_of(record.id, record.text, None)[1]
        return [f"daily/{day}"]

    def _write(self, file: str, idents: Sequence[str]) -> list[str]:
        """Write these ids into a day's file, or out of it; return those that stand there now as in the records."""
        day = date.fromisoformat(file.removeprefix("daily/"))
        done: list[str] = []

        def changed(text: str) -> str:
            rows = Day(text)
            held = {piece.id: piece.full for piece in rows.pieces(day) if piece.kind != FORGET}
            parts: dict[str, list[str]] = {whole: [whole, *self.records.parts(whole)] for whole in idents}
            for ident in held:
                if ident not in parts.get(ident.partition("#")[0], [ident]):
                    parts[ident.partition("#")[0]].append(ident)
            done[:] = [whole for whole, its in parts.items() if all(self._is_as_seen(part, file, held) for part in its)]
            writing = _Writing(self.records, rows, file, self.zone)
            wrong = [whole for whole in done if not all(writing.stands(part, held) for part in parts[whole])]
            writing.write(wrong, held)
            return rows.text

        try:
            self.daily.rewrite(day, changed)
        except (FileBusyError, OSError):
            return []
        self._note(file, day, done)
        return done

    def _is_as_seen(self, ident: str, file: str, held: Mapping[str, str]) -> bool:
        """Return whether a file holds of an id what was last seen in it, or what it is to hold."""
        shown = self.before.get(ident) or self.records.shown(ident)
        seen = shown.digest if shown and shown.file == file else GONE
        return held.get(ident, GONE) in (seen, *(record.full for record in self.records.live(ident)))

    def _note(self, file: str, day: date, done: Iterable[str]) -> None:
        """Note what the file holds now, for the next scan, and tell the keeper of statements."""
        wanted, stamp = set(done), self.daily.stamp(day)
        rows = Day(self.daily.text(day))
        held = {piece.id: piece.full for piece in rows.pieces(day) if piece.kind != FORGET}
        with self.records.transaction():
            seen = self.records.shown_in(file)
            for ident in {ident for ident in (*seen, *held) if ident.partition("#")[0] in wanted}:
                if ident in held:
                    self.records.show(ident, file, held[ident], self.records.dots(ident))
                elif self.records.is_gone(ident.partition("#")[0]):
                    self.records.unshow(ident)
                else:
                    self.records.show(ident, file, GONE, self.records.dots(ident))
            now = {ident: shown.digest for ident, shown in self.records.shown_in(file).items() if shown.digest != GONE}
            if now == held:
                self.records.read(file, stamp)
        self._tell(rows, day, [ident for ident in wanted if ident.startswith("l-")])

    def _tell(self, rows: Day, day: date, idents: Iterable[str]) -> None:
        """Tell the keeper of statements that it knew; it reads new ones from the log by itself."""
        store, gone = self.keeper.store, self.keeper.store.gone()
        known = [ident for ident in idents if ident in gone or store.get(ident)]
        facts = {fact.id: fact for fact in lines.of_day(rows, day)} if known else {}
        for ident in known:
            if ident in facts or store.day(ident) == day:
                self.keeper.take_over(ident, facts.get(ident), day)


@dataclass(slots=True)
class _Writing:
    """Writes ids into the rows of one day."""

    records: Records
    rows: Day
    file: str
    zone: Zone

    def stands(self, ident: str, held: Mapping[str, str]) -> bool:
        """Return whether the rows hold of an id what they are to hold."""
        live = next(iter(self.records.live(ident)), None)
        return live is not None and held.get(ident, GONE) == live.full

    def write(self, idents: Iterable[str], held: Mapping[str, str]) -> None:
        """Write what lives here, entries with all that stands in them first; take out what does not."""
        statements: dict[str, list[Fact]] = {}
        entries: dict[str, str] = {}
        for ident in idents:
            live = next(iter(self.records.live(ident)), None)
            if ident.startswith("l-"):
                self._sort(ident, live, statements)
            elif live and live.kind == ENTRY and live.text:
                entries[ident] = live.text
            elif gone := self.records.gone(ident):
                self._bury(ident, (gone.text or "").partition("\n")[2])
            else:
                self.rows.drop_entry(ident.removeprefix("e-"))
        for ident, text in entries.items():
            is_new, stands = held.get(ident) != digest_of(text), ident in held
            self._entry(ident, text, statements, is_new=is_new, stands=stands)
        for entry, facts in statements.items():
            for fact in facts:
                time, where = f"{self.zone.local(fact.time):%H:%M}", "everywhere" if fact.project == GLOBAL else ""
                self.rows.put_statement(lines.learned(fact), entry, time, where or name_of(fact.project))

    def _sort(self, ident: str, live: Record | None, statements: dict[str, list[Fact]]) -> None:
        """Sort a statement of this day by its entry; take out one that is of another day, or of none."""
        found = fact_of(ident, live.text, self._part(f"{ident}#{END}")) if live and live.text else None
        if found and f"daily/{found[1]}" == self.file:
            statements.setdefault(found[2], []).append(found[0])
        elif line := self.rows.line_of(ident):
            self.rows.remove(line)

    def _entry(self, ident: str, text: str, statements: dict[str, list[Fact]], *, is_new: bool, stands: bool) -> None:
        name, items = ident.removeprefix("e-"), self._items(ident)
        if is_new:
            own = [lines.learned(fact) for fact in statements.pop(name, ())]
            self.rows.put_entry(name, day_of(text)[1], own, items, stands=stands)
        for item, state in () if is_new else items.items():
            self.rows.set_item(name, item, state)

    def _part(self, ident: str) -> str | None:
        live = self.records.live(ident)
        return live[0].text if live else None

    def _items(self, entry: str) -> dict[str, str]:
        """Return the boxes of an entry that were closed, or opened again, on any machine."""
        return {ident.partition("#")[2]: self._part(ident) or "" for ident in self.records.parts(entry)}

    def _bury(self, ident: str, turns: str) -> None:
        name = ident.removeprefix("e-") if ident.startswith("e-") else "-"
        line = tombstone(name, turns.split("."))
        if line not in self.rows.rows and (name == "-" or name not in self.rows.ids()):
            self.rows.append(line)


# -- two machines changed one thing


def settle(records: Records, ident: str) -> None:
    """Where several records of one id live, write those of what stands instead, the same on every machine."""
    known = records.known(ident)
    live = sorted(records.live(ident), key=lambda record: (record.machine != "", record.dot))  # merged ones first
    if len(known) < 2 or live[0].text is None or live[0].kind not in _MERGED:
        return
    try:
        wordings = _MERGED[live[0].kind](live, known)
    except (ValueError, KeyError, TypeError):  # of a newer version
        return
    seed = " ".join(record.dot for record in known)
    for record in known:
        _end_former(records, record, seed)
    double = beside(ident, digest_of(wordings[0][2]))
    if any(record.text for record in records.live(double)):  # which another merge let stand beside
        records.put(double, live[0].kind, None, records.dots(double), dot=sha256(f"- {double} {seed}")[:16])
        records.be_due([double])
    if len(wordings) == 1 and wordings[0][1] == live[0].text:
        return  # what stands beside it is old
    main = sha256(f"{ident} {seed}")[:16]
    for name, text, words in wordings:
        for part in records.parts(ident) if name != ident and live[0].kind == ENTRY else ():
            item = records.live(part)[0]  # a box that was closed is closed in both wordings
            records.put(f"{name}#{part.partition('#')[2]}", item.kind, item.text, (), dot=sha256(f"{part} {seed}")[:16])
        dot = main if name == ident else _apart(name, main)
        records.put(name, live[0].kind, text, records.dots(ident) if name == ident else (),
                    dot=dot, project=live[0].project, words=words)  # fmt: skip
    records.be_due(name for name, _, _ in wordings)  # no file holds them yet


def _end_former(records: Records, record: Record, seed: str) -> None:
    """Let a wording go that stands beside another although its machine has changed or deleted it meanwhile.

    Not where the record replaces the very merge that let it stand there: then its machine changed the other one.
    """
    for dot in record.over if record.machine else ():
        name = beside(record.id, digest_in(dot))
        known_apart = {_apart(name, each[:16]) for each in record.over}
        former = [known for known in records.known(name) if known.text is not None
                  and known.digest == digest_in(dot) and known.dot[:16] not in known_apart]  # fmt: skip
        if former:
            over = [each for known in former for each in (known.dot, *known.over)]
            records.put(name, record.kind, None, over, dot=sha256(f"- {name} {seed}")[:16])
            records.be_due([name])


def _apart(name: str, main: str) -> str:
    """Return the dot of a wording that a merge, whose own dot is ``main``, lets stand beside the first."""
    return sha256(f"{name} {main}")[:16]


def _entries(live: Sequence[Record], _: object) -> list[Wording]:
    first, *others = live
    wordings = [(first.id, str(first.text), str(first.text))]
    for other in others:
        day, bare = day_of(str(other.text))
        name = beside(other.id, other.digest)
        rows = bare.split("\n")
        rows[0] += f" ({other.machine})" if SESSION.fullmatch(rows[0]) and other.machine else ""
        rows[-1] = rows[-1].replace(f"entry={first.id.removeprefix('e-')} ", f"{name.replace('e-', 'entry=')} ", 1)
        wordings.append((name, "\n".join([str(day), *rows]), str(other.text)))
    return wordings


def _statements(live: Sequence[Record], known: Sequence[Record]) -> list[Wording]:
    """Return one statement with what was counted of it anywhere, and each other wording as one of its own."""
    told = [(record, json.loads(str(record.text))) for record in live]
    reworded = [pair for pair in told if "worded" in pair[1]]  # what never was is what the others were made of
    (_, first), *others = reworded or told
    whole = _summed(first, [json.loads(record.text) for record in known if record.text])
    former = {line[11:]: line for _, one in told for line in one.get("history", ())}
    former |= {other["content"]: f"{other.get('worded', other['time'])[:10]} {other['content']}" for _, other in others}
    former.pop(first["content"], None)
    whole |= {"history": sorted(former.values())[-MAX_HISTORY:]} if others else {}
    wordings = [(live[0].id, _json(whole), str(first["content"]))]
    for record, other in others:
        told_by = f"{record.id} {record.machine}".strip()
        wordings.append((beside(record.id, record.digest), _json(other | {"beside": told_by}), str(other["content"])))
    return wordings


def _articles(live: Sequence[Record], _: object) -> list[Wording]:
    """Return one description of an article with the names of all."""
    told = [json.loads(str(record.text)) for record in live]
    names = {key: list(dict.fromkeys(name for one in told for name in one.get(key, ()))) for key in ("aliases", "tags")}
    whole = told[0] | {key: value for key, value in names.items() if value}
    words = {name: value for name, value in whole.items() if name != "summary"}
    return [(live[0].id, _json(whole), _json(words))]


def _places(live: Sequence[Record], _: object) -> list[Wording]:
    """Return one place with what a person nested below it on any machine."""
    rows = sorted((str(record.text).split("\n") for record in live), key=lambda rows: rows[0] == HISTORY)
    nested = list(dict.fromkeys(row for each in rows for row in each[2:]))
    text = "\n".join([*rows[0][:2], *nested])
    return [(live[0].id, text, text)]


def _prose(live: Sequence[Record], _: object) -> list[Wording]:
    """Return each wording of a person's prose, the others under a heading that names their machine."""
    first, *others = live
    wordings = [(first.id, str(first.text), str(first.text))]
    for other in others:
        raw, _, rest = str(other.text).partition("\n")
        heading = f"{raw or f'## {UNNAMED}'} ({other.machine or 'another machine'})"
        text = f"{heading}\n{rest}"
        wordings.append((f"{other.whole}#{prose_part(heading.lstrip('# '))}", text, text))
    return wordings


def _summed(first: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a statement with what each machine counted of it, in every project where one of them found it."""
    places = list(dict.fromkeys(place for one in all_ for place in (one.get("project", ""), *one.get("also", ()))))
    whole = dict(first)
    for name, of in (("seen", max), ("last", max), ("importance", max)):
        found = [one[name] for one in all_ if name in one]
        whole |= {name: of(found)} if found else {}
    whole["project"], also = (GLOBAL, []) if GLOBAL in places else (first.get("project", ""), places)
    whole["also"] = [place for place in also if place not in ("", whole["project"])]
    whole["origin"] = min((one.get("origin", "assistant") for one in all_), key=ORIGINS.index)
    return {name: value for name, value in whole.items() if value}


def _first_end(live: Sequence[Record], _: object) -> list[Wording]:
    text = min(str(record.text) for record in live)
    return [(live[0].id, text, text)]


def _closed(live: Sequence[Record], _: object) -> list[Wording]:
    text = max(str(record.text) for record in live)
    return [(live[0].id, text, text)]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


_MERGED: Final[Mapping[str, Callable[[Sequence[Record], Sequence[Record]], list[Wording]]]] = {
    ENTRY: _entries, STATEMENT: _statements, END: _first_end, ITEM: _closed,
    ARTICLE: _articles, PLACE: _places, PROSE: _prose,
}  # fmt: skip
