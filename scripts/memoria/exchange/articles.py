"""Articles: the wiki as it is scanned, and as what other machines placed there is written into it.

The caller holds the compile lock, and has let ``wiki.settle`` take in what a person wrote: an article that it holds
back, because no person can have changed it so, is not scanned. A page is written by itself, where it is what was seen;
its lines are noted as read, so that nobody takes them for a person's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from memoria.base import failpoints
from memoria.exchange.forms import ARTICLE, PLACE, PROSE, Page, Piece, new_page
from memoria.exchange.record import GONE, Record
from memoria.exchange.records import Records
from memoria.ground.errors import SavedMeanwhileError
from memoria.ground.swap import Swap
from memoria.statements.keeper import Keeper
from memoria.wiki import lines
from memoria.wiki.folder import Wiki
from memoria.wiki.settle import adopt


class Articles:
    """The articles, as they are scanned."""

    folder, may_vanish = "knowledge/", True

    def __init__(self, wiki: Wiki, keeper: Keeper) -> None:
        self.wiki, self.settled = wiki, keeper.store.articles()

    def stamps(self) -> dict[str, str]:
        """Return the articles."""
        return {f"knowledge/{slug}": f"{mark[0]}-{mark[1]}" for slug, mark in self.wiki.files()}

    def text(self, name: str) -> str:
        """Return an article's text."""
        return (self.wiki.read(name.removeprefix("knowledge/")) or b"").decode("utf-8", "surrogateescape")

    def pieces(self, name: str, text: str) -> Iterator[Piece]:
        """Return what an article holds; raise ValueError for one that is held back, or cannot be read now."""
        slug = name.removeprefix("knowledge/")
        mark = self.wiki.stamp(slug)
        if mark is None or self.settled.get(slug) != f"{mark[0]}-{mark[1]}":
            raise ValueError("it is not settled")
        return Page(slug, text).pieces()


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
