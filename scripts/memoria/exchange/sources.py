"""Sources: the files whose content is exchanged, daily logs and articles: what is read in them, how they are written.

They are written through the logs' own rewriting and the swap of files, under their locks. The lines of an article are
noted as read, so that nobody takes them for a person's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date
from functools import cached_property

from memoria.base import failpoints
from memoria.daily.entry import tombstone
from memoria.exchange.forms import LEAD, Day, Page, entry_of, fact_of, new_page
from memoria.exchange.record import ARTICLE, END, ENTRY, GONE, PLACE, PROSE, STATEMENT, Piece, Record
from memoria.exchange.records import Records
from memoria.ground import markdown
from memoria.ground.swap import Swap
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.statements.lines import read_facts, to_learned
from memoria.statements.store import Place
from memoria.wiki import lines
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki
from memoria.wiki.settle import adopt, retell


class Days:
    """The daily logs. A whole one that is missing is held, while a person may delete an article.

    ``hides`` says whether a project is not exchanged. ``forgotten``: the ids that stand here and were forgotten
    elsewhere, which the caller forgets.
    """

    folder, may_vanish = "daily/", False

    def __init__(self, records: Records, keeper: Keeper, hides: Callable[[str], bool]) -> None:
        self.records, self.keeper, self.hides = records, keeper, hides
        self.daily, self.half_saved = keeper.lines.daily, keeper.store.half_saved_days()
        self.forgotten: list[str] = []
        self.waiting: set[str] = set()

    def stamps(self) -> dict[str, str]:
        """Return the files, each with a text that changes with it."""
        return {f"{self.folder}{name}": stamp for name, stamp in self.daily.stamps().items()}

    def mark(self, name: str, text: str | None) -> str:
        """Return the stamp of a file, ``""`` when it does not hold this text."""
        stamp = self.daily.stamp(self._day(name))
        return stamp if self.daily.text(self._day(name)) == text else ""

    def text(self, name: str) -> str:
        """Return a file's text; raise ValueError for one that a person is saving."""
        if name.removeprefix(self.folder) in self.half_saved:
            raise ValueError("it is half saved")
        return self.daily.text(self._day(name))

    def pieces(self, name: str, text: str) -> Iterator[Piece]:
        """Return what a text holds; raise ValueError for one that cannot be read now."""
        return Day(text).pieces(self._day(name))

    def _day(self, name: str) -> date:
        return date.fromisoformat(name.removeprefix(self.folder))

    # -- writing

    def files(self, whole: str) -> list[str]:
        """Return the files that an id stands in, then the one that it belongs to; none when nothing is to be done."""
        shown = self.records.view(whole)
        stands = [shown.file] if shown and shown.digest != GONE else []
        if gone := self.records.grave(whole):
            if stands:
                self.forgotten.append(whole)
            day = (gone.text or "").partition("\n")[0]
            return [f"{self.folder}{day}"] if day and not stands else []
        live = self.records.standing(whole)
        if live and (live.kind not in (ENTRY, STATEMENT) or self.hides(live.project)):
            return []
        if live is None or live.text is None:
            return stands
        try:
            belongs = entry_of(live.text)[0] if live.kind == ENTRY else fact_of(whole, live.text, None)[1]
        except ValueError:  # of a newer version, or no work of memoria's
            return []
        return [*(file for file in stands if file != f"{self.folder}{belongs}"), f"{self.folder}{belongs}"]

    def rewrite(self, name: str, change: Callable[[str | None], str | None]) -> None:
        """Let ``change`` make another text of a file; None is none. Raise an error when it cannot be written now."""
        self.daily.rewrite(self._day(name), lambda text: change(text) or "")

    def compose(self, name: str, text: str | None, wrong: Collection[str]) -> str | None:
        """Return the text with what is ``wrong`` in it as it is in the records: entries with all in them first."""
        rows = Day(text or "")
        statements: dict[str, list[Fact]] = {}
        entries: dict[str, str] = {}
        for ident in dict.fromkeys(part.partition("#")[0] for part in wrong):
            live = self.records.standing(ident)
            if ident.startswith("l-"):
                self._sort(rows, name, ident, live, statements)
            elif live and live.kind == ENTRY and live.text:
                entries[ident] = live.text
            elif gone := self.records.grave(ident):
                turns = (gone.text or "").partition("\n")[2].split(".")
                line = tombstone(ident.removeprefix("e-") if ident.startswith("e-") else "-", turns)
                if line not in rows.rows:
                    rows.append(line)
            else:
                rows.drop_entry(ident.removeprefix("e-"))
        for facts in statements.values():
            facts.sort(key=lambda fact: (fact.time, fact.id))
        for ident, bare in sorted(entries.items(), key=lambda entry: entry_of(entry[1])[1:3]):
            entry = ident.removeprefix("e-")
            if ident in wrong:
                rows.put_entry(entry, bare, [to_learned(fact) for fact in statements.pop(entry, ())])
                rows = Day(rows.text)  # where a box of several lines is one row
            for part in self.records.parts(ident):
                rows.set_item(entry, part.partition("#")[2], self._text(part) or "")
        for entry, facts in statements.items():
            rows.put_statements([(to_learned(fact), ") · ".join(self.keeper.heading(fact))) for fact in facts], entry)
        return rows.text

    def _sort(self, rows: Day, name: str, ident: str, live: Record | None, found: dict[str, list[Fact]]) -> None:
        """Sort a statement of this day by its entry; take out one that is of another day, or of none."""
        told = fact_of(ident, live.text, self._text(f"{ident}#{END}")) if live and live.text else None
        if told and told[1] == self._day(name):
            found.setdefault(told[2], []).append(told[0])
            return
        rows.drop({ident})
        if told is None:  # before it is written: it is not lost with the day
            self.keeper.store.drop({ident})

    def _text(self, ident: str) -> str | None:
        live = self.records.standing(ident)
        return live.text if live else None

    def tell(self, name: str, text: str | None, _: str, done: Iterable[str]) -> None:
        """Tell the keeper of statements that it knew; of new and removed ones it reads in the log by itself."""
        day, store = self._day(name), self.keeper.store
        gone = store.deleted_ids()
        known = {ident for ident in done if ident.startswith("l-") and (ident in gone or store.get(ident))}
        for fact in read_facts(Day(text or ""), day) if known else ():
            if fact.id in known:
                self.keeper.take_over(fact, day)


class Articles:
    """The articles. The caller holds the compile lock; before a look it lets ``wiki.settle`` take a person's words."""

    folder, may_vanish = "knowledge/", True
    kinds = (ARTICLE, PLACE, PROSE)

    def __init__(self, records: Records, keeper: Keeper, hides: Callable[[str], bool], wiki: Wiki, swap: Swap) -> None:
        self.records, self.keeper, self.hides, self.wiki, self.swap = records, keeper, hides, wiki, swap
        self.waiting: set[str] = set()  # articles whose statements have not all come
        self.page: Article | None = None  # that was rewritten last, with the lines of statements in it
        self.places: list[Place] = []

    def stamps(self) -> dict[str, str]:
        """Return the files, each with a text that changes with it."""
        return {f"{self.folder}{slug}": mark for slug, mark in self.settled_marks.items()}

    def mark(self, name: str, text: str | None) -> str:
        """Return the stamp of a file, ``""`` when it does not hold this text."""
        slug = name.removeprefix(self.folder)
        mark = self.wiki.stamp(slug)
        return f"{mark[0]}-{mark[1]}" if mark and text is not None and self.wiki.read(slug) == _encode(text) else ""

    def text(self, name: str) -> str:
        """Return a file's text; raise ValueError for one that holds what was not taken from a person yet."""
        slug = name.removeprefix(self.folder)
        text = (self.wiki.read(slug) or b"").decode("utf-8", "surrogateescape")
        if self.settled_marks.get(slug) != self.mark(name, text):
            raise ValueError("it is not settled")
        return text

    def pieces(self, name: str, text: str) -> Iterator[Piece]:
        """Return what a text holds; raise ValueError for one that cannot be read now."""
        return Page(name.removeprefix(self.folder), text).pieces()

    # -- writing

    @cached_property
    def settled_marks(self) -> dict[str, str]:
        """The articles as ``wiki.settle`` read them, each with a text that changes with its file."""
        return self.keeper.store.articles()

    def files(self, whole: str) -> list[str]:
        """Return the file of an article; none when nothing is to be done."""
        about = self.records.standing(whole)
        parts = (whole, *self.records.parts(whole))
        if all(map(self._is_strange, parts)) or (about and self.hides(about.project)):
            return []
        try:
            self.wiki.path(whole)
        except ValueError:  # no work of memoria's
            return []
        return [f"{self.folder}{whole}"]

    def _is_strange(self, part: str) -> bool:
        """Return whether this version knows nothing of the kind."""
        return any(record.kind not in self.kinds for record in self.records.current(part))

    def rewrite(self, name: str, change: Callable[[str | None], str | None]) -> None:
        """Let ``change`` make another text of a file; None is none. Raise an error when it cannot be written now."""
        slug = name.removeprefix(self.folder)
        path = self.wiki.path(slug)
        before = self.swap.read(path) if slug in self.settled_marks or path.exists() else None
        text = before.decode("utf-8", "surrogateescape") if before is not None else None
        if text is not None and self.settled_marks.get(slug) != self.mark(name, text):
            raise ValueError("a person has just saved it, or it is the article of a name with other capitals")
        text = change(text)
        after, store = _encode(text) if text is not None else None, self.keeper.store
        self.page = self.wiki.parse(slug, after) if after is not None else None
        self.places = lines.places(self.page, store) if self.page else []
        if after != before:
            if before is None:  # a person may change it right after a kill
                store.read_article(slug, "not yet", self.places)
            else:  # nobody is to take what it loses for a person's deletion
                left, mark = {place.id for place in self.places}, self.settled_marks[slug]
                store.read_article(slug, mark, [place for place in store.places(slug).values() if place.id in left])
            self.swap.replace(path, after, before)
            failpoints.reach("exchange.placed")

    def compose(self, name: str, text: str | None, wrong: Collection[str]) -> str | None:
        """Return the text with what is ``wrong`` in it as it is in the records; None for no article."""
        slug = name.removeprefix(self.folder)
        page, about = Page(slug, text) if text is not None else None, self.records.standing(slug)
        there = [section.heading for section in page.sections] if page else []
        if page is None and about and about.text and slug in wrong:
            page = new_page(slug, about.text)
        for part in sorted(wrong, key=self._order):
            if page is not None and not self._is_strange(part):
                self._change(page, part.partition("#")[2], self.records.standing(part))
        if page and there and (new := [each.heading for each in page.sections if each.heading not in there]):
            self._follow(page, new)
        is_deleted = any(record.text is None for record in self.records.current(slug)) or about is None
        if page is None:
            return None
        if is_deleted and slug not in self.waiting and not any(piece.kind in (PLACE, PROSE) for piece in page.pieces()):
            if about and about.text is not None:  # all that it told stands elsewhere now
                self.records.put(slug, ARTICLE, None, self.records.dots(slug))
            return None
        known, page.keys = self.records.wordings, self.keeper.lines.daily.aliases()
        page.forget_reasons(lambda it: bool(self.records.grave(it) or any(one.text is None for one in known(it)[:1])))
        retell(page, self.keeper)
        told = page.summary
        if page.wrote_summary and lines.has_stale_summary(page):  # one that another machine wrote before an end
            page.summarise(lines.summary_of(page))
        if about is None or about.text is None or page.summary != told:  # something was added to it here meanwhile
            anew = next(page.pieces())
            self.records.put(slug, ARTICLE, anew.text, self.records.dots(slug), project=anew.project)
        return page.render()

    def _order(self, ident: str) -> tuple[bool, bool, bool, str, str]:
        """Return where a piece comes: what a person wrote in place of a summary, the article, statements, prose."""
        part = ident.partition("#")[2]
        fact, live = self.keeper.store.get(part), self.records.standing(ident) if part.startswith("p-") else None
        heading = str(live.text) if live else ""  # a second wording's is after the first one's
        return part != LEAD, bool(part), part.startswith("p-"), fact.time.isoformat() if fact else heading, part

    def _change(self, page: Page, part: str, live: Record | None) -> None:
        """Write one piece into a page, or out of it."""
        text = live.text if live else None
        if not part and text:
            page.describe(json.loads(text))
        elif part.startswith("p-"):
            page.write_prose(part, text or "")
        elif text is None:
            page.displace(part)
        elif text.split("\n")[1]:
            page.place(part, text, None, self.keeper.store)
        elif fact := self.keeper.store.get(part):
            page.place(part, text, lines.claim_of(fact, self.keeper.store), self.keeper.store)
        elif self.records.current(part):
            self.waiting.add(page.slug)

    def _follow(self, page: Page, headings: list[str]) -> None:
        """Let what a person wrote below these sections, which have come just now, stand below them."""
        prose = {part: self.records.standing(part) for part in self.records.parts(page.slug) if "#p-" in part}
        heads = {part: str(live.text).partition("\n")[0].partition("\t") for part, live in prose.items() if live}
        for above in headings:  # which grows
            for part in [part for part, head in heads.items() if head[2] == above]:
                page.move(part.partition("#")[2], above)
                headings.append(markdown.heading(heads.pop(part)[0])[1])

    def tell(self, name: str, _: str | None, stamp: str, __: Iterable[str]) -> None:
        """Tell the keeper of statements what an article shows, which was rewritten just now."""
        slug, store = name.removeprefix(self.folder), self.keeper.store
        if self.page is None or not stamp:
            store.forget_article(slug)
            return
        adopt(self.page, self.keeper)
        store.read_article(slug, stamp, self.places)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


Source = Days | Articles


def folder_of(ident: str) -> str:
    """Return the folder of the files that an id stands in."""
    return Articles.folder if "/" in ident else Days.folder
