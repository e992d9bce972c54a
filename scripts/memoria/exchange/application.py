"""Application: from records to the daily logs and articles, through the logs' own rewriting, under their lock.

An id is written only where its file still holds what was last seen there: a person who saves in this moment is not
overwritten, and their words become a record with the next scan. What was written is read back and noted as shown. A
kill between the two is no harm, because the scan knows the text again. The lines of an article are noted as read, so
that nobody takes them for a person's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from memoria.base import failpoints
from memoria.base.project import name_of
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import tombstone
from memoria.exchange.forms import (
    ARTICLE,
    END,
    ENTRY,
    PLACE,
    PROSE,
    STATEMENT,
    Day,
    Page,
    day_of,
    fact_of,
    new_page,
)
from memoria.exchange.record import FORGET, GONE, Record, digest_of
from memoria.exchange.records import Records
from memoria.ground.clock import Zone
from memoria.ground.errors import FileBusyError, SavedMeanwhileError
from memoria.ground.swap import Swap
from memoria.statements.fact import GLOBAL, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.lines import learned, of_day
from memoria.wiki import lines
from memoria.wiki.folder import Wiki
from memoria.wiki.settle import adopt


@dataclass(slots=True)
class Application:
    """One bringing up to date of the daily logs.

    ``hides`` says whether a project is not exchanged. ``articles``: None while a compile is at work. ``forgotten``: the
    ids that stand here and were forgotten elsewhere, which the caller forgets; until then they stay due.
    """

    records: Records
    keeper: Keeper
    hides: Callable[[str], bool] = lambda _: False
    articles: ArticleApplication | None = None
    forgotten: list[str] = field(default_factory=list)

    @property
    def daily(self) -> DailyLog:
        """The daily logs."""
        return self.keeper.lines.daily

    def run(self) -> None:
        """Write what is due; what cannot be written now stays due."""
        with self.records.transaction():
            self.records.spread()
        plan: dict[tuple[bool, str], list[str]] = {}
        due = list(dict.fromkeys(ident.partition("#")[0] for ident in self.records.due()))
        slugs = {whole for whole in due if "/" in whole}
        for whole in [whole for whole in due if whole not in slugs]:
            *others, last = self._files(whole) or [""]
            for file in others:
                plan.setdefault((False, file), []).append(whole)
            plan.setdefault((True, last), []).append(whole)
        left = slugs if self.articles is None else set()
        for (_, file), idents in sorted(plan.items()):
            left |= set(idents) - set(self._write(file, idents) if file else idents)
        if self.articles:
            self.keeper.refresh()  # new statements, which the articles link
            left |= slugs - set(self.articles.run(sorted(slugs)))
        left |= set(self.forgotten)
        with self.records.transaction():
            self.records.settle(ident for ident in self.records.due() if ident.partition("#")[0] not in left)

    def _files(self, whole: str) -> list[str]:
        """Return the files that an id stands in, then the one that it belongs to; none when nothing is to be done."""
        shown = self.records.shown(whole)
        stands = [shown.file] if shown and shown.digest != GONE and shown.file.startswith("daily/") else []
        gone = self.records.gone(whole)
        if gone:
            if stands:
                self.forgotten.append(whole)
            day = (gone.text or "").partition("\n")[0]
            return [f"daily/{day}"] if day and not stands else []
        live = self.records.standing(whole)
        if live and (live.kind not in (ENTRY, STATEMENT) or self.hides(live.project)):
            return []
        if live is None or live.text is None:
            return stands
        try:
            belongs = day_of(live.text)[0] if live.kind == ENTRY else fact_of(whole, live.text, None)[1]
        except ValueError:  # of a newer version, or no work of memoria's
            return []
        return [*(file for file in stands if file != f"daily/{belongs}"), f"daily/{belongs}"]

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
            boxes = {whole: _items(self.records, whole) for whole in idents if whole.startswith("e-")}
            done[:] = [whole for whole, its in parts.items()
                       if all(self.records.is_as_seen(part, file, held) for part in its)]  # fmt: skip
            wrong = [whole for whole in done
                     if any(held.get(part, GONE) != self.records.wanted(part) for part in parts[whole])
                     or any(box and f"{whole}#{name}" not in held for name, box in boxes.get(whole, {}).items())
                     ]  # fmt: skip
            _Writing(self.records, rows, file, self.keeper.zone).write(wrong, held)
            return rows.text

        try:
            self.daily.rewrite(day, changed)
        except (FileBusyError, OSError):
            return []
        self._note(file, day, done)
        return done

    def _note(self, file: str, day: date, done: Collection[str]) -> None:
        """Note what the file holds now, for the next scan, and tell the keeper of statements."""
        stamp, rows = self.daily.stamp(day), Day(self.daily.text(day))
        held = {piece.id: piece.full for piece in rows.pieces(day) if piece.kind != FORGET}
        with self.records.transaction():
            self.records.note(file, stamp, set(done), held)
        self._tell(rows, day, [ident for ident in done if ident.startswith("l-")])

    def _tell(self, rows: Day, day: date, idents: Iterable[str]) -> None:
        """Tell the keeper of statements that it knew; it reads new ones from the log by itself."""
        store, gone = self.keeper.store, self.keeper.store.gone()
        known = [ident for ident in idents if ident in gone or store.get(ident)]
        facts = {fact.id: fact for fact in of_day(rows, day)} if known else {}
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

    def write(self, idents: Iterable[str], held: Mapping[str, str]) -> None:
        """Write what lives here, entries with all that stands in them first; take out what does not."""
        statements: dict[str, list[Fact]] = {}
        entries: dict[str, str] = {}
        for ident in idents:
            live = self.records.standing(ident)
            if ident.startswith("l-"):
                self._sort(ident, live, statements)
            elif live and live.kind == ENTRY and live.text:
                entries[ident] = live.text
            elif gone := self.records.gone(ident):
                self._bury(ident, (gone.text or "").partition("\n")[2])
            else:
                self.rows.drop_entry(ident.removeprefix("e-"))
        for ident, text in entries.items():
            name = ident.removeprefix("e-")
            if held.get(ident) != digest_of(text):
                own = [learned(fact) for fact in statements.pop(name, ())]
                self.rows.put_entry(name, day_of(text)[1], own)
            for item, state in _items(self.records, ident).items():
                self.rows.set_item(name, item, state)
        for entry, facts in statements.items():
            placed = [
                (learned(fact), f"{self.zone.local(fact.time):%H:%M}",
                 "everywhere" if fact.project == GLOBAL else name_of(fact.project))
                for fact in facts
            ]  # fmt: skip
            self.rows.put_statements(placed, entry)

    def _sort(self, ident: str, live: Record | None, statements: dict[str, list[Fact]]) -> None:
        """Sort a statement of this day by its entry; take out one that is of another day, or of none."""
        found = fact_of(ident, live.text, self._part(f"{ident}#{END}")) if live and live.text else None
        if found and f"daily/{found[1]}" == self.file:
            statements.setdefault(found[2], []).append(found[0])
        elif line := self.rows.line_of(ident):
            self.rows.remove(line)

    def _part(self, ident: str) -> str | None:
        live = self.records.standing(ident)
        return live.text if live else None

    def _bury(self, ident: str, turns: str) -> None:
        name = ident.removeprefix("e-") if ident.startswith("e-") else "-"
        line = tombstone(name, turns.split("."))
        if line not in self.rows.rows and (name == "-" or name not in self.rows.ids()):
            self.rows.append(line)


def _items(records: Records, entry: str) -> dict[str, str]:
    """Return the boxes of an entry that were closed, or opened again, on any machine; in all its wordings."""
    parts = [part for each in (*records.firsts(entry), entry) for part in records.parts(each)]
    found = ((part.partition("#")[2], records.standing(part)) for part in parts)
    return {name: (record.text if record else None) or "" for name, record in found}


@dataclass(slots=True)
class ArticleApplication:
    """One bringing up to date of the articles; ``hides`` says whether a project is not exchanged."""

    records: Records
    keeper: Keeper
    wiki: Wiki
    exchange: Swap
    hides: Callable[[str], bool]
    slugs: set[str] = field(default_factory=set)

    def run(self, slugs: list[str]) -> list[str]:
        """Write what is due of these articles; return those of which nothing is due any more."""
        self.slugs = set(self.wiki.slugs()) if slugs else set()
        return [slug for slug in slugs if self._write(slug)]

    def _write(self, slug: str) -> bool:
        """Bring one article up to date; return False when a person is writing it, or something is still missing."""
        parts = [part for part in (slug, *self.records.parts(slug)) if not self._is_strange(part)]
        about = self.records.standing(slug)
        if not parts or (about and self.hides(about.project)):
            return True
        try:
            path = self.wiki.path(slug)
        except ValueError:  # no work of memoria's
            return True
        is_new = slug not in self.slugs and not self.records.shown(slug) and not path.exists()
        before = None if is_new else self.exchange.read(path)
        if before is not None and slug not in self.slugs:
            return False  # on a disk that does not tell capitals apart, the file is another article's
        try:
            page = Page(slug, before.decode("utf-8", "surrogateescape")) if before is not None else None
        except ValueError:  # a person is changing its frontmatter
            return False
        held = self._held(page)
        wanted = [part for part in parts if held.get(part, GONE) != self.records.wanted(part)]
        if not all(self.records.is_as_seen(part, f"knowledge/{slug}", held) for part in wanted):
            return False
        whole = True
        for part in sorted(wanted, key=self._order):
            live = self.records.standing(part)
            if page is None and part == slug and live and live.text:
                page = new_page(slug, live.text)
            elif page is not None:
                whole = self._change(page, part.partition("#")[2], live) and whole
        if before is None and page is not None and lines.has_stale_summary(page):  # it is never compared
            page.summarise(lines.summary_of(page))
        after = None if page is None or self._is_empty(page, about) else Wiki.encode(page)
        if page is not None and after is not None and (about is None or about.text is None):
            self._revive(page)
        return self._replace(slug, before, after) and whole

    def _order(self, ident: str) -> tuple[bool, bool, str, str]:
        """Return where a piece comes: the article itself, statements as they were said, a person's prose."""
        part = ident.partition("#")[2]
        fact = self.keeper.store.get(part)
        return bool(part), part.startswith("p-"), fact.time.isoformat() if fact else "", part

    def _revive(self, page: Page) -> None:
        """Write an article anew that was deleted elsewhere while something was added to it here."""
        about = next(iter(page.pieces()))
        self.records.put(about.id, ARTICLE, about.text, self.records.dots(about.id), words=about.words,
                         project=about.project)  # fmt: skip

    def _is_strange(self, part: str) -> bool:
        """Return whether this version knows nothing of the kind."""
        return any(record.kind not in (ARTICLE, PLACE, PROSE) for record in self.records.known(part))

    def _change(self, page: Page, part: str, live: Record | None) -> bool:
        """Write one piece into a page, or out of it; return False when its statement has not come yet."""
        text = live.text if live else None
        if not part:
            if text:
                page.describe(json.loads(text))
        elif part.startswith("p-"):
            page.write_prose(part, text or "")
        elif text is None:
            page.displace(part)
        elif text.split("\n")[1]:
            page.place(part, text, None)
        else:
            fact = self.keeper.store.get(part)
            if fact is None:
                return self.records.is_gone(part) or not self.records.known(part)
            page.place(part, text, lines.claim_of(fact, self.keeper.store))
            if day := self.keeper.store.day(part):
                page.touch(day)
        return True

    def _is_empty(self, page: Page, about: Record | None) -> bool:
        """Return whether an article was deleted, and nothing was added to it meanwhile."""
        is_deleted = about is None or about.text is None
        return is_deleted and not any(piece.kind in (PLACE, PROSE) for piece in page.pieces())

    def _replace(self, slug: str, before: bytes | None, after: bytes | None) -> bool:
        """Write an article, and note what it holds now."""
        page = Page(slug, after.decode("utf-8", "surrogateescape")) if after is not None else None
        if after != before:
            if before is not None:
                self._let_go(slug, page)
            try:
                self.exchange.replace(self.wiki.path(slug), after, before)
            except SavedMeanwhileError:
                return False
            failpoints.reached("exchange.placed")
        mark = self.wiki.stamp(slug)
        stamp = f"{mark[0]}-{mark[1]}" if mark and self.wiki.read(slug) == after else ""
        with self.records.transaction():
            self.records.note(f"knowledge/{slug}", stamp, {slug}, self._held(page))
            if page is None or not stamp:
                self.keeper.store.forget_article(slug)
                return True
            self.slugs.add(slug)
            adopt(page, self.keeper)
            self.keeper.store.read_article(slug, stamp, lines.places(page))
        return True

    def _let_go(self, slug: str, page: Page | None) -> None:
        """Let nobody take the lines that an article is about to lose for lines that a person deleted."""
        store = self.keeper.store
        if mark := store.article(slug):
            left = {place.id for place in lines.places(page)} if page else set()
            store.read_article(slug, mark, [place for place in store.places(slug).values() if place.id in left])

    def _held(self, page: Page | None) -> dict[str, str]:
        return {piece.id: self.records.held(piece) for piece in page.pieces()} if page else {}
