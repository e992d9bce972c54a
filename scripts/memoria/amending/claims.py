"""Claims: put a claim of an article right, retire it, or remove it, because the user says that it is wrong.

What the user says is an entry of today's daily log, which the claim or its end cites from then on;
so the next compile treats it as the user's word. Article, index page and log change in one transaction with the facts
that say the same, and ``memoria undo`` takes all of it back. Entries that say it still are shown as outdated.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memoria.base import failpoints
from memoria.base.project import name_of
from memoria.daily.daily_log import DailyLog, parsed
from memoria.daily.entry import PUT_RIGHT, Entry, Learned
from memoria.daily.entry_form import EVERYWHERE, fingerprint
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks, markdown
from memoria.ground.errors import ExpectedError
from memoria.ground.files import sha256
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages import housekeeping
from memoria.pages.refresh import renew
from memoria.statements import lines
from memoria.statements.fact import GLOBAL, MAX_CONTENT, Ending, Fact, Stamp, new_id, plain
from memoria.statements.keeper import Keeper
from memoria.statements.past import Past, current
from memoria.wiki import index_page, outdated, summary
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import ArticleCache, Row
from memoria.wiki.commit import commit
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import ChangedError, Transactions, digest

log = logging.getLogger(__name__)

TRIES = 3  # when a person saves a page meanwhile
IMPORTANCE = 0.9  # of a fact that the user took the trouble to put right
TITLE_CHARS = 80  # of a claim in the title of an entry

Apply = Callable[[Article, Claim], None]


@dataclass(frozen=True, slots=True)
class Word:
    """What the user says of a claim.

    ``label`` describes the step, ``apply`` changes the article, ``instead`` is what holds now, ``entry`` what the daily
    log gets, if anything, and ``fact`` the id of the fact in it. ``deleted``: the claim leaves no history.
    """

    label: str
    apply: Apply
    instead: str = ""
    entry: Entry | None = None
    fact: str = ""
    deleted: bool = False


def correct(home: Home, slug: str, ident: str, text: str) -> None:
    """Let a claim say ``text``; ``ident`` is the claim's digest. Raise ExpectedError when that is impossible."""
    said = plain(Redactor(home.settings.redact_extra).redact(text))
    if not said:
        raise ExpectedError("A claim needs words; to take it away, retire or remove it.")
    if len(said) > MAX_CONTENT:
        raise ExpectedError(
            f"A claim has one to three sentences and at most {MAX_CONTENT} characters, not {len(said)}."
        )
    article, old = _known(home, slug, ident)
    if old.text == markdown.line(said):
        raise ExpectedError("That is what the claim says already.")
    fact = _fact(article, said)
    entry = _entry(home, article, f"Put right: {article.title}", learned=(lines.learned(fact),))
    new = Claim(markdown.line(said), (entry.source,))

    def apply(page: Article, claim: Claim) -> None:
        if claim.says(new.text):
            page.reword(claim, Claim(new.text, (*new.sources, *claim.sources)))
            return
        heading = next(heading for heading, known in page.headed_claims if known == claim)
        page.add_claim(new, heading, claim)
        page.supersede(claim, entry.day.isoformat(), new)

    _write(home, slug, ident, Word(f"put right a claim of {article.title}", apply, said, entry, fact.id))


def retire(home: Home, slug: str, ident: str, why: str = "") -> None:
    """Move a claim that no longer holds to the history, with the user's reason."""
    reason = plain(Redactor(home.settings.redact_extra).redact(why))
    if len(reason) > MAX_CONTENT:
        raise ExpectedError(f"A reason has at most {MAX_CONTENT} characters; this one has {len(reason)} of them.")
    article, old = _known(home, slug, ident)
    told = f"No longer true: {markdown.cut(old.text, TITLE_CHARS)}"
    entry = _entry(home, article, told, context=f"“{old.text}” no longer holds. {reason}".strip())
    end = Claim(markdown.line(reason or "the user said that it no longer holds"), (entry.source,))

    def apply(page: Article, claim: Claim) -> None:
        page.supersede(claim, entry.day.isoformat(), end)

    _write(home, slug, ident, Word(f"retired a claim of {article.title}", apply, "", entry))


def remove(home: Home, slug: str, ident: str) -> None:
    """Remove a claim without a trace in the history; no compile of the same entries writes it again."""
    article, _ = _known(home, slug, ident)

    def apply(page: Article, claim: Claim) -> None:
        page.cut(claim)

    _write(home, slug, ident, Word(f"removed a claim of {article.title}", apply, deleted=True))


def _known(home: Home, slug: str, ident: str) -> tuple[Article, Claim]:
    """Return the article and its claim with this digest; raise ExpectedError when the page no longer has it."""
    article = _readable(Wiki.of(home.paths), slug)
    return article, _claim(article, ident)


def _readable(wiki: Wiki, slug: str) -> Article:
    try:
        article = wiki.get(slug)
    except ValueError as error:
        raise ExpectedError(f"The page cannot be read ({error}); repair its frontmatter first.") from error
    if article is None:
        raise ExpectedError("There is no such article any more.")
    return article


def _claim(article: Article, ident: str) -> Claim:
    claim = next((claim for claim in article.claims if claim.digest == ident), None)
    if claim is None:
        raise ExpectedError("The article no longer makes this claim; reload its page.")
    return claim


def _fact(article: Article, said: str) -> Fact:
    project, now = article.project or GLOBAL, clock.now()
    ident = new_id("correction", said, Stamp(project, "", now))
    return Fact("correction", said, IMPORTANCE, "user", project, now, ident, quote=said)


def _entry(home: Home, article: Article, title: str, *, context: str = "", learned: tuple[Learned, ...] = ()) -> Entry:
    now = clock.now()
    local = home.zone.local(now)
    key = article.project
    return Entry(
        id=sha256(f"{now.isoformat()} {article.slug} {title} {context}")[:10],
        day=home.zone.day(now),
        time=f"{local:%H:%M}",
        session="-",
        project=name_of(key) if key else "by hand",
        project_key=key or EVERYWHERE,
        title=title,
        context=context,
        learned=learned,
        model=PUT_RIGHT,
    )


def _write(home: Home, slug: str, ident: str, word: Word) -> None:
    """Write what the user says, first to the daily log; raise ExpectedError when it cannot be written now."""
    with locks.held(Path(home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        Transactions.of(home.paths).recover()
        if word.entry:
            DailyLog.of(home.paths).append(word.entry)
        failpoints.reached("correction.said")
        try:
            with Keeper.at(home) as keeper, Index(home.paths.index) as index:
                _commit(_Change(home, keeper, index, slug, ident, word))
        except BaseException:
            if word.entry:
                withdraw(home, {word.entry.id})
            raise
        _settle(home, word)
    with Keeper.at(home) as keeper:  # without the lock, so that the wiki's own pages are brought up to date too
        renew(home, keeper)


def withdraw(home: Home, idents: set[str]) -> None:
    """Take entries out of the daily logs and the ledger that hold the user's word against a claim."""
    daily = DailyLog.of(home.paths)
    for day in daily.days():
        if idents & {entry.id for entry in daily.entries(day)}:
            daily.rewrite(day, lambda text: _without(text, idents))
    with closing(Ledger.of(home.paths)) as ledger:
        ledger.forget_entries(idents)


def _without(text: str, idents: set[str]) -> str:
    day = parsed(text)
    day.withdraw(idents)
    return day.text


def _settle(home: Home, word: Word) -> None:
    """Record the entry as taken in, and end the facts."""
    with closing(Ledger.of(home.paths)) as ledger:
        DailyLog.of(home.paths).refresh(ledger)
        if word.entry:
            ledger.mark_compiled({word.entry.id: fingerprint(_as_written(home, word.entry))})
    with Keeper.at(home) as keeper:
        housekeeping.bring_in(keeper)


def _as_written(home: Home, entry: Entry) -> Entry:
    return next((each for each in DailyLog.of(home.paths).entries(entry.day) if each.id == entry.id), entry)


@dataclass(slots=True)
class _Change:
    """One change of a claim and everything that goes with it."""

    home: Home
    keeper: Keeper
    index: Index
    slug: str
    ident: str
    word: Word
    changed: dict[str, Article] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """Write it as one transaction; raise ChangedError when a person saved a page meanwhile."""
        self.changed, self.read = {}, {}
        wiki = Wiki.of(self.home.paths)
        sources.refresh(self.index, self.home.paths)
        rows = ArticleCache(wiki, self.index).rows()
        self.read[f"{self.slug}.md"] = digest(wiki.read(self.slug))
        article = _readable(wiki, self.slug)
        old, moment = _claim(article, self.ident), clock.now()
        facts = list(self._facts(old, article))
        self.word.apply(article, old)
        self.changed[self.slug] = article
        if self.word.entry:
            article.touch(self.word.entry.day)
            article.extend("sources", [f"[[{self.word.entry.source.split('#')[0]}]]"])
        past = self._past(old, article)
        self._take_out(wiki, old, past, [self._past_of(fact, past) for fact in facts])
        _summarise(article, past)
        for source in old.sources:
            self.keeper.store.take_back(f"{self.slug} {old.digest} {source}", Past(
                old.text, past.day, self.word.instead, past.projects, (source,)))  # fmt: skip
        local = self.home.zone.local(moment)
        entries = [_as_written(self.home, self.word.entry)] if self.word.entry else []
        block = index_page.corrected_block(local, entries, sorted(self.changed))
        commit(self.home.paths, rows, self.changed, self.read, block, self.word.label,
               [self._end(fact, moment) for fact in facts])  # fmt: skip

    def _past(self, old: Claim, article: Article) -> Past:
        day = self.home.zone.day(clock.now()).isoformat()
        projects = (article.project,) if article.project else ("", GLOBAL)
        return Past(old.text, day, self.word.instead, projects, old.sources, self.word.deleted)

    def _past_of(self, fact: Fact, past: Past) -> Past:
        return Past(fact.content, past.day, past.instead, fact.projects, self.keeper.sources(fact), past.deleted)

    def _facts(self, old: Claim, article: Article) -> Iterator[Fact]:
        """Yield the current facts that say what the claim says."""
        for fact in self.keeper.store.facts(project=article.project):
            if fact.id != self.word.fact and old.says(fact.content):
                yield fact

    def _end(self, fact: Fact, moment: datetime) -> dict[str, object]:
        ending = Ending(fact.id, max(moment, fact.last or fact.time), "user", self.word.fact, self.word.instead)
        return ending.to_dict() | {"content": fact.content, "why": self.word.label}

    def _take_out(self, wiki: Wiki, old: Claim, past: Past, of_facts: list[Past]) -> None:
        """Take the claim and the facts that end out of every page that tells them."""
        for slug, row in ArticleCache(wiki, self.index).rows().items():
            mine = [each for each in of_facts if _concerns(each, row)]
            if slug == self.slug:
                outdated.take_out(self.changed[slug], mine)
                continue
            is_here = _concerns(past, row)
            data = wiki.read(slug) if row.readable and (mine or is_here) else None
            article = wiki.parse(slug, data) if data is not None else None
            if article and (is_here and _end_all(article, old, past)) + outdated.take_out(article, mine):
                _summarise(article, past)
                self.changed[slug], self.read[f"{slug}.md"] = article, digest(data)


def _concerns(past: Past, row: Row) -> bool:
    return row.project in ("", *past.projects) or GLOBAL in past.projects


def _end_all(article: Article, old: Claim, past: Past) -> int:
    """End the claims of another page that say what a claim says; return how many there were."""
    same = [claim for claim in article.claims if claim.says(old.text)]
    for claim in same:
        if past.deleted:
            article.cut(claim)
        else:
            article.supersede(claim, past.day)
    return len(same)


def _commit(change: _Change) -> None:
    for _ in range(TRIES):
        try:
            change.write()
        except ChangedError as error:
            log.info("%s; looking again", error)
        else:
            return
    raise ExpectedError("The page keeps changing; try again when it is saved.")


def _summarise(article: Article, past: Past) -> None:
    """Take from the summary what no longer holds; the claims that hold replace an empty one."""
    kept = current(summary.divided(article.summary, article)[0], [(past, True)])
    if kept != article.summary:
        article.summarise(kept or summary.plain(article), is_own=article.wrote_summary or not kept)
