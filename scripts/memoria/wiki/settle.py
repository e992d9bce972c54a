"""Settle: let articles show what their statements say, and statements what a person wrote in articles.

An end is an end everywhere: the line moves to the history with the day on which the statement ended and its successor,
which stands in its place from then on. No model is asked. What a person changed in an article goes to the daily log
first, as the user's word. Everything is one transaction, which ``memoria undo`` takes back together with the ends.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from memoria.base import project
from memoria.ground import clock, home_files, printable
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.index.index import Index
from memoria.search.words import words
from memoria.statements.fact import GLOBAL, MAX_STORED, Ending, Fact, Stamp, make_plain, new_id
from memoria.statements.keeper import Keeper
from memoria.statements.store import Place, Store, half_save
from memoria.wiki import index_page, lines
from memoria.wiki.article import HISTORY, Article, Claim, Section
from memoria.wiki.article_cache import ArticleCache
from memoria.wiki.folder import Wiki
from memoria.wiki.index_page import commit
from memoria.wiki.transaction import FOLLOWS, TRIES, ChangedError, End, Transactions, digest

log = logging.getLogger(__name__)

BOUND = 10_000  # changes of one article in one run
BROUGHT = "brought "  # begins the name of a step that follows from the statements alone
IMPORTANCE = 0.9  # of what a person took the trouble to write
REWORDED, REPLACED, GONE, NEW, RELINKED, BACK = "reworded", "replaced", "gone", "new", "relinked", "back"
REMOVED = "removed by hand from an article"  # why a statement ended that holds again once its line is back
MANY, SHARE = 20, 0.1  # more changed or missing lines at once, and this share of all, are no person's work


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a person: what it is, of which statement, and the words and heading that stand there now."""

    what: str
    slug: str
    id: str = ""
    text: str = ""
    heading: str = ""


@dataclass(slots=True)
class Settle:
    """One run over a home's articles; the caller holds the compile lock.

    ``ends`` and ``label``: of the step that ``memoria undo`` takes back.

    ``takes_all``: a person said that all changes in articles are theirs, however many there are. ``again``: a person
    asked for a compile, so that lines get the ids which the last undo took from them. ``held``: how many lines changed
    or are gone that no person can have done at once; their articles are left as they are.
    """

    home: Home
    keeper: Keeper
    index: Index
    takes_all: bool = False
    again: bool = False
    ends: list[End] = field(default_factory=list)
    label: str = ""
    held: int = 0
    _articles: dict[str, Article] = field(default_factory=dict)
    _read: dict[str, str] = field(default_factory=dict)
    _logged: dict[tuple[str, str], Fact] = field(default_factory=dict)  # by project, or its entry, and words

    def run(self) -> list[str]:
        """Bring articles and statements in step; return the slugs of the articles that were written."""
        transactions = Transactions(self.home.paths)
        transactions.recover()
        for _ in range(TRIES):
            try:
                slugs = self._settle({name.removesuffix(".md") for name in transactions.swapped_files()})
            except ChangedError as error:
                log.info("%s; looking again", error)
            else:
                transactions.forget(but_present=self.label == FOLLOWS)  # which a compile that is asked for does again
                return slugs
        return []

    def _settle(self, ours: Collection[str]) -> list[str]:
        """Do it once; ``ours``: articles that no person changed since they were read."""
        store, wiki = self.keeper.store, Wiki(self.home.paths)
        marks = {slug: f"{stamp[0]}-{stamp[1]}" for slug, stamp in wiki.files()}
        known = store.articles()
        changed = [slug for slug, mark in marks.items() if known.get(slug) != mark]
        self._articles, self._read = {}, {}
        for slug in {*changed, *store.out_of_step(), *(ours if self.again else ())} & marks.keys():
            self._open(wiki, slug)
        gone = known.keys() - marks.keys()
        read = {slug: store.places(slug) for slug in gone | (self._articles.keys() & known.keys())}
        moved = {ident: place for places in read.values() for ident, place in places.items()}
        found = [edit for slug in changed if slug in self._articles and slug not in ours
                 for edit in _edits(self._articles[slug], read.get(slug, moved), store)
                 if slug in known or edit.what == BACK or (edit.id in moved and edit.what != GONE)]  # fmt: skip
        found = self._drop_half_saved(found, known, marks)
        self.held = 0 if self.takes_all or is_a_person(found, store) else len(found)
        if self.held:
            for slug in {edit.slug for edit in found}:
                del self._articles[slug]
            found = []
        before = {slug: Wiki.encode(article) for slug, article in self._articles.items()}
        over = [(edit.slug, fact.content) for edit in found if (fact := store.get(edit.id))]
        over += [(slug, place.words) for slug in self._articles.keys() & read for place in read[slug].values()
                 if place.is_current and not (store.get(place.id) or self._articles[slug].shows(place.id))]  # fmt: skip
        ends = self._take(found)
        for slug in (self._articles.keys() & read).intersection(ours):  # an undo put them back
            _hold_again(self._articles[slug], read[slug].values(), store)
        for slug in gone:
            store.forget_article(slug)
        if self._articles.keys() - known.keys() or (self.again and ours):
            held = store.entries()  # of what ended, only the line that cites its entry shows it
            self._logged = {(f"e-{held.get(fact.id)}" if fact.ended else fact.project, lines.fold(fact.content)): fact
                            for fact in store.facts(live=False) if store.day(fact.id)}  # fmt: skip
        told = store.told_ids(self._articles) if self._articles else set()
        told |= {claim.id for article in self._articles.values() for claim in article.claims}
        for slug in sorted(self._articles):
            if slug not in known or (self.again and slug in ours):
                self._name(self._articles[slug])
            bring(self._articles[slug], self.keeper, [text for page, text in over if page == slug], told)
        written = {slug: page for slug, page in self._articles.items() if Wiki.encode(page) != before[slug]}
        if written or self.ends:
            label = self.label if self.ends or not found else ""
            self._commit(written, [*self.ends, *ends], label)
        for slug, article in self._articles.items():
            self._note(wiki, slug, article)
        return sorted(written)

    def _drop_half_saved(self, found: list[Edit], known: Mapping[str, str], marks: Mapping[str, str]) -> list[Edit]:
        """Return the edits without those of articles that seem half saved, which are left alone."""
        for slug in {edit.slug for edit in found if edit.what == GONE}:
            if seen := half_save(self._articles[slug].render(), known[slug], marks[slug]):
                self.keeper.store.mark_article(slug, seen)
                del self._articles[slug]
        return [edit for edit in found if edit.slug in self._articles]

    def _open(self, wiki: Wiki, slug: str) -> None:
        with suppress(ValueError):  # a person is changing its frontmatter; lint reports it
            if data := wiki.read(slug):  # an empty file is an accident
                self._articles[slug], self._read[f"{slug}.md"] = wiki.parse(slug, data), digest(data)

    def _commit(self, written: Mapping[str, Article], ends: list[End], label: str) -> None:
        rows = ArticleCache(Wiki(self.home.paths), self.index).rows()
        block = index_page.settled_block(self.home.zone.to_local(clock.now()), sorted(written))
        label = label or f"{BROUGHT}{printable.amount(len(written), 'article')} up to date"
        commit(self.home.paths, rows, written, self._read, block, label, ends)

    def _note(self, wiki: Wiki, slug: str, article: Article) -> None:
        """Record an article's lines, unless a person has saved it meanwhile."""
        stamp = wiki.stamp(slug)  # before the file is read, so that a save in between is seen the next time
        if stamp and wiki.read(slug) == Wiki.encode(article):
            self.keeper.store.read_article(slug, f"{stamp[0]}-{stamp[1]}", lines.places(article, self.keeper.store))

    # -- what a person wrote

    def _take(self, found: Collection[Edit]) -> list[End]:
        """Write a person's changes to the statements, and their ids to the lines; return the ends."""
        moved = self._moved_ids(found)
        ends: list[End] = []
        for edit in found:
            if edit.what == REWORDED:
                self.keeper.edit(edit.id, edit.text)
            elif edit.what == REPLACED:
                ends += self._replace(edit)
            elif edit.what == NEW:
                self._add(edit)
            elif edit.what == RELINKED:
                self._relink(edit, self.keeper.get(edit.id))
            elif edit.what == BACK:
                self._take_back(edit.id)
            elif edit.id not in moved and self.keeper.store.places_of(edit.id) == [edit.slug]:
                ends += self._end(edit)
        return ends

    def _moved_ids(self, found: Collection[Edit]) -> set[str]:
        """Return the ids of the lines that are gone from an article and stand on another one now, or in a note."""
        gone = {edit.id for edit in found if edit.what == GONE}
        moved = {ident for article in self._articles.values() for ident in gone if article.shows(ident)}
        folder = Path(self.home.paths.knowledge)
        for note in home_files.other_files(folder, is_daily=False) if gone - moved else ():
            with suppress(OSError):
                text = "" if note.original else home_files.text(folder / note.name, folder)
                moved |= {ident for ident in gone if f"#^{ident}" in text}
        return moved

    def _learn(self, text: str, kind: str, place: str, supersedes: tuple[str, ...] = ()) -> tuple[Fact, bool] | None:
        """Store what a person wrote; return the statement as it is known, and whether it is new.

        None when it may not be written down.
        """
        if Redactor(self.home.settings.redact_extra).redact(text) != text:
            return None
        content, now = make_plain(text), clock.now()
        ident = new_id(kind, content, Stamp(place, "", now))
        fact = Fact(kind, content, IMPORTANCE, "user", place, now, ident, quote=content, supersedes=supersedes)
        heading = project.name_of(place) if place != GLOBAL else ""
        kept = self.keeper.take([fact], heading)
        return next(((known, known in kept.added) for known in (*kept.added, *kept.repeated)), None)

    def _replace(self, edit: Edit) -> list[End]:
        """Let a person's words end what the line said; the line shows the new statement, the history the old one."""
        old = self._narrow(edit)
        if not (said := self._learn(edit.text, old.kind, old.project, (old.id,))):
            return []
        new, is_new = said
        article, day = self._articles[edit.slug], self.keeper.zone.day(clock.now())
        self._relink(edit, new)
        was = lines.claim_of(old, self.keeper.store)
        _add_past(article, was, day, lines.claim_of(new, self.keeper.store))
        born = {"born": new.id} if is_new else {}
        return [end | born for end in self._store_end(old.id, "changed by hand in an article")]

    def _add(self, edit: Edit) -> None:
        place = self._articles[edit.slug].project or GLOBAL
        if said := self._learn(edit.text, lines.kind_of(edit.heading), place):
            self._relink(edit, said[0])

    def _end(self, edit: Edit) -> list[End]:
        fact = self._narrow(edit)
        self.keeper.take([], endings=[Ending(fact.id, clock.now(), "user")])
        _add_past(self._articles[edit.slug], lines.claim_of(fact, self.keeper.store), self.keeper.zone.day(clock.now()))
        return self._store_end(fact.id, REMOVED)

    def _take_back(self, ident: str) -> None:
        """Let a statement hold again that ended because its line was removed, as ``undo`` does."""
        steps = Transactions(self.home.paths).steps()
        ends = (end for step in steps for end in step.facts if end["id"] == ident and end.get("why") == REMOVED)
        if end := next(ends, None):
            self.keeper.outbox.put(end | {"resumed": end["ended"]})
            self.keeper.drain()

    def _narrow(self, edit: Edit) -> Fact:
        """Return the statement of a line as the article's project has it, so that it ends there alone."""
        fact, place = self.keeper.get(edit.id), self._articles[edit.slug].project
        return self.keeper.narrow(fact, [place] if place else []) or fact

    def _store_end(self, ident: str, why: str) -> list[End]:
        """Return the end of a statement as it is stored, by which it can be taken back."""
        fact = self.keeper.get(ident)
        if fact.ended is None:
            return []
        end = Ending(fact.id, fact.ended, "user", fact.successor)
        return [end.to_dict() | {"content": fact.content, "why": why}]

    def _relink(self, edit: Edit, fact: Fact) -> None:
        """Let a line link the statement that it shows; its words stay as the person wrote them."""
        article, claim = self._articles[edit.slug], lines.claim_of(fact, self.keeper.store)
        for section, number, known in article.lines():
            if known.text == edit.text and known.id in ("", edit.id) and not section.is_headed(HISTORY):
                section.put(
                    number, Claim(known.text, claim.sources, claim.block or known.block * (not known.is_own)).render()
                )
                return

    # -- articles of earlier versions, and by hand

    def _name(self, article: Article) -> None:
        """Give the lines of an article that was never read the ids of statements.

        One that says what a known statement says becomes its line, in the words that it has; another is a statement
        that is written there. A page of 0.1.0, which names no project, is given to the one that its lines come from;
        one of several projects is for all, and each line belongs where it was said.
        """
        origins = _origins(article, self.keeper)
        found = {origins[source] for claim in article.claims for source in claim.sources if source in origins}
        if len(found) == 1:
            article.give_to(*found)
        store, undated = self.keeper.store, _undated_day(article, self.keeper)
        for section, number, claim in reversed(lines.unnamed_lines(article)):  # what wraps may become one row
            fact = lines.unlogged_fact(article, section, claim, undated, origins)
            held = (fact.project, GLOBAL)
            alike = (other for other in store.twins(fact) if other.project in held and store.day(other.id))
            places = (*held, *(source.partition("#^")[2] for source in claim.sources))
            logged = (self._logged.get((place, lines.fold(fact.content))) for place in places)
            twin = next(filter(None, logged), None) or next(alike, None)
            if twin and not article.shows(twin.id):
                section.put(number, replace(lines.claim_of(twin, store), text=claim.text).render())
            elif twin is None:
                section.put(number, Claim(claim.text, claim.sources, fact.id).render())
        adopt(article, self.keeper, origins)


# -- what a person changed in an article since it was last read


def _edits(article: Article, known: Mapping[str, Place], store: Store) -> Iterator[Edit]:
    """Yield what a person changed; ``known``: the lines that the article had when it was last read."""
    current = set(article.unread_rows)
    for section, _, claim in article.lines():
        if section.is_headed(HISTORY) or not claim.id:
            continue
        current.add(claim.id)
        fact, was = store.get(claim.id), known.get(claim.id)
        is_as_read = was and lines.is_same_text(claim.text, was.words) and (was.is_current or fact is None)
        if len(claim.text) > MAX_STORED or is_as_read:
            continue  # an article of an earlier version has words of its own
        if fact is None:  # deleted meanwhile: other words are another statement
            if was:
                yield Edit(NEW, article.slug, claim.id, claim.text, section.heading)
            continue
        if any(lines.is_same_text(claim.text, wording) for wording in (fact.content, *fact.wordings)):
            if fact.ended:
                yield Edit(BACK, article.slug, claim.id)
            continue  # a copy from before the statement was reworded
        if fact.ended and claim.drop_end() != claim:
            continue  # a row of the history whose heading is gone, which goes back there
        same = fact.ended is None and lines.is_rewording(claim.text, fact.content)
        yield Edit(REWORDED if same else REPLACED, article.slug, claim.id, claim.text, section.heading)
    live = {ident: fact for ident, place in known.items() if place.is_current and (fact := store.get(ident))}
    gone = {ident: fact for ident, fact in live.items() if ident not in current and fact.ended is None}
    for section, _, claim in lines.unnamed_lines(article):
        if claim.sources or len(claim.text) > MAX_STORED or not words(make_plain(claim.text)):
            continue
        own = next((ident for ident, fact in gone.items() if lines.is_same_text(claim.text, fact.content)), "")
        gone.pop(own, None)  # only its link is gone
        yield Edit(RELINKED if own else NEW, article.slug, own, claim.text, section.heading)
    yield from (Edit(GONE, article.slug, ident) for ident in gone)


def _hold_again(article: Article, known: Iterable[Place], store: Store) -> None:
    """Let an article that was put back as a person had left it show what holds again with it."""
    ended = (store.get(place.id) for place in known if not place.is_current)
    for fact in (fact for fact in ended if fact and fact.ended is None):
        row = lines.claim_of(fact, store)
        for section, number, claim in list(article.lines()):
            if claim.id == fact.id and not section.is_headed(HISTORY) and not lines.is_same_text(claim.text, row.text):
                section.put(number, replace(claim, text=row.text).render())
        if not article.shows(fact.id):
            lines.place(article, lines.section_of(fact.kind), [row.render()], fact.id, store)


def is_a_person(found: Iterable[Edit], store: Store) -> bool:
    """Return whether so many changes at once are a person's, and no formatter's, checkout's or half a save's."""
    count = sum(edit.what in (REWORDED, REPLACED, GONE) for edit in found)
    return count <= MANY or count <= SHARE * len(store.placed_ids())


# -- articles of earlier versions, and by hand


def adopt(article: Article, keeper: Keeper, origins: Mapping[str, str] | None = None) -> None:
    """Let the store know the statements that are written on an article alone; ``origins``: of the entries it cites."""
    own = [
        (section, claim) for section, _, claim in article.lines()
        if claim.is_own and not section.is_headed(HISTORY) and keeper.store.get(claim.id) is None
    ]  # fmt: skip
    if own:
        about = _undated_day(article, keeper), _origins(article, keeper) if origins is None else origins
        facts = (replace(lines.unlogged_fact(article, *each, *about), id=each[1].id) for each in own)
        keeper.store.put(article.slug, *facts)


def _origins(article: Article, keeper: Keeper) -> dict[str, str]:
    """Return the projects of the entries that an article cites, by their links, when it names no project itself."""
    cited = {source[6:16] for claim in article.claims for source in claim.sources if not article.project}
    days = map(date.fromisoformat, filter(clock.is_day, cited))
    entries = (entry for day in days for entry in keeper.lines.daily.entries(day))
    return {entry.source: entry.project_key for entry in entries}


def _undated_day(article: Article, keeper: Keeper) -> date:
    """Return the day of a line that cites none."""
    day = article.last_day or article.front.text("created")
    return date.fromisoformat(day) if clock.is_day(day) else keeper.zone.day(clock.now())


def _add_past(article: Article, claim: Claim, day: date, instead: Claim | None = None) -> None:
    """Let the history tell what held until a day, once: the row may have come from another machine."""
    past = Claim(f"Until {day}: {claim.text}", ()).digest
    if any(known.digest == past for section, _, known in article.lines() if section.is_headed(HISTORY)):
        return
    article.add(claim, HISTORY)
    section, number, _ = [line for line in article.lines() if line[0].is_headed(HISTORY)][-1]
    article.retire(section, number, day.isoformat(), instead)


# -- lines and statements


def bring(article: Article, keeper: Keeper, over: Iterable[str], told: Collection[str]) -> None:
    """Let every line of an article show what its statement says now.

    ``over``: what a person changed or took from it. ``told``: the ids of statements that stand on an article
    already, and take no other's place.
    """
    ended = list(over)
    article.forget_reasons(keeper.store.deleted_ids().__contains__)
    for _ in range(BOUND):
        if not any(_bring_line(article, keeper, line, ended, told) for line in list(article.lines())):
            break
    if ended or article.summary.startswith(lines.NOTHING):
        lines.renew_summary(article, ended)
    _renew_reasons(article, keeper)


def _bring_line(
    article: Article, keeper: Keeper, line: tuple[Section, int, Claim], ended: list[str], told: Collection[str]
) -> bool:
    """Bring one line in step; return whether it changed, because the rows of the others are others then."""
    section, _, claim = line
    store, is_past = keeper.store, section.is_headed(HISTORY)
    if claim.is_connection:
        return not is_past and _end_connection(article, keeper, line, ended)
    fact = store.get(claim.id) if claim.id else None
    if fact is None:
        return bool(claim.id) and _is_deleted(claim.id, keeper) and _cut(article, line, ended)
    if is_past:
        return _resume(article, keeper, line, fact) if fact.ended is None else _retell(article, keeper, line, fact)
    if fact.ended is not None:
        ended.append(claim.text)
        _retire(article, keeper, line, fact, told)
        return True
    return _reword(article, keeper, line, fact, ended)


def _is_deleted(ident: str, keeper: Keeper) -> bool:
    """Return whether a statement was deleted, and not lost with all of its daily log, which can be restored."""
    store = keeper.store
    return ident in store.deleted_ids() and not any(ident in idents for idents in store.lost_ids().values())


def _cut(article: Article, line: tuple[Section, int, Claim], ended: list[str]) -> bool:
    section, number, claim = line
    ended.append(claim.text)
    article.cut(section, number)
    return True


def _reword(article: Article, keeper: Keeper, line: tuple[Section, int, Claim], fact: Fact, ended: list[str]) -> bool:
    """Let a line show the words that its statement has now, and the log that it links; return whether it changed."""
    section, number, claim = line
    row = _row(article, claim, fact, keeper)
    if row == claim:
        return False
    section.put(number, row.render())
    if row.text != claim.text:
        ended.append(claim.text)
        is_former = any(lines.is_same_text(claim.text, words) for words in fact.wordings)  # else of another machine
        if is_former and not lines.is_rewording(row.text, claim.text):  # the user's, which count as the same statement
            day = keeper.zone.day(fact.worded_at)
            _add_past(article, Claim(claim.text, ()), day, row)
    return True


def _row(article: Article, claim: Claim, fact: Fact, keeper: Keeper) -> Claim:
    """Return the line of a fact as it should be: a person's words, links to entries and own block id stay."""
    wanted = lines.claim_of(fact, keeper.store)
    read = keeper.store.places(article.slug).get(fact.id)
    text = wanted.text if _is_stale(claim, fact, read) else claim.text
    entries = tuple(source for source in claim.sources if "#^e-" in source)
    return Claim(text, (*wanted.sources, *entries), wanted.block or claim.block * (not claim.is_own))


def _is_stale(claim: Claim, fact: Fact, read: Place | None) -> bool:
    """Return whether a line has an earlier wording of its statement; another one is a person's, not yet taken."""
    former = [*fact.wordings, *([read.words] if read and read.is_same else [])]
    is_former = any(lines.is_same_text(claim.text, wording) for wording in former)
    return is_former and not lines.is_same_text(claim.text, fact.content)


def _resume(article: Article, keeper: Keeper, line: tuple[Section, int, Claim], fact: Fact) -> bool:
    rows = article.resume(*line[:2])
    if not article.shows(fact.id):
        lines.place(article, lines.section_of(fact.kind), rows, fact.id, keeper.store)
    return True


def retell(article: Article, keeper: Keeper) -> None:
    """Let all rows of an article's history tell the ends that their statements have now."""
    lines_ = ((line, keeper.store.get(line[2].id)) for line in list(article.lines()) if line[0].is_headed(HISTORY))
    if any(fact and fact.ended and _retell(article, keeper, line, fact) for line, fact in lines_):
        retell(article, keeper)
    _renew_reasons(article, keeper)


def _retell(article: Article, keeper: Keeper, line: tuple[Section, int, Claim], fact: Fact) -> bool:
    """Let a row of the history tell the end that its statement has now, which another machine may have told."""
    section, number, _ = line
    instead, day = _find_successor(article, keeper, fact), keeper.zone.day(fact.ended or clock.now()).isoformat()
    until, known = article.read_end(section, number)
    claim = line[2].drop_end()
    is_former = _is_stale(claim, fact, keeper.store.places(article.slug).get(fact.id))
    if not until or (until == day and not is_former and known == set(instead.ids if instead else ())):
        return False
    row, *rest = article.resume(section, number)
    row = _row(article, claim, fact, keeper).render() if is_former else row
    article.add_past([row, *rest], day, instead)
    return True


def _renew_reasons(article: Article, keeper: Keeper) -> None:
    known = keeper.store.get
    article.renew_reasons(lambda ident: lines.claim_of(fact, keeper.store) if (fact := known(ident)) else None)


def _find_successor(article: Article, keeper: Keeper, fact: Fact) -> Claim | None:
    """Return the line of what holds instead of an ended statement, if it may stand here."""
    known = keeper.store.get(fact.successor) if fact.successor else None
    return lines.claim_of(known, keeper.store) if known and _belongs(article, known) else None


def _retire(
    article: Article, keeper: Keeper, line: tuple[Section, int, Claim], fact: Fact, told: Collection[str]
) -> None:
    """Move an ended statement to the history; its successor, if it may stand here, takes its place."""
    section, number, claim = line[0], line[1], line[2].drop_end()
    store, zone = keeper.store, keeper.zone
    now = store.current(fact)
    successor = lines.claim_of(now, store) if now else None
    is_placed = now is not None and (now.id in told or article.shows(now.id))
    if now and successor and _belongs(article, now) and not is_placed and not successor.is_own:
        row = section.rows[number]
        lines.place(article, section.heading, [successor.render()], now.id, store)
        number = section.rows.index(row)
    if fact.repetition:
        article.cut(section, number)
        return
    day = zone.day(fact.ended or clock.now())
    section.put(number, _row(article, claim, fact, keeper).render())
    article.retire(section, number, day.isoformat(), _find_successor(article, keeper, fact))
    article.touch(day)


def _belongs(article: Article, fact: Fact) -> bool:
    return not article.project or article.project in fact.projects or GLOBAL in fact.projects


def _end_connection(article: Article, keeper: Keeper, line: tuple[Section, int, Claim], ended: list[str]) -> bool:
    """Move a sentence about several statements to the history when one of them has ended."""
    section, number, claim = line
    known = [keeper.store.get(ident) for ident in claim.ids]
    over = [fact.ended for fact in known if fact and fact.ended]
    if not over and not any(_is_deleted(ident, keeper) for ident in claim.ids):
        return False
    ended.append(claim.text)
    article.retire(section, number, keeper.zone.day(max(over, default=clock.now())).isoformat())
    return True
