"""Origin: trace a claim, an entry or a learned fact back to the words it came from.

From the claim to its entries, and to those of their turns that say the same, as the archive keeps them. Reads only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base import invocation
from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import ENTRY, Entry, Reference
from memoria.exchange.records import heard_on
from memoria.ground import clock
from memoria.ground.errors import ArchiveError, ExpectedError
from memoria.ground.home import Home
from memoria.ground.printable import amount
from memoria.mcp.answers import flatten, render_notes
from memoria.mcp.pages import Filter
from memoria.search import tokens
from memoria.search.words import coverage, words
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Screen, Tombstones
from memoria.transcripts.turn import Turn
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import LinkTargets
from memoria.wiki.folder import Wiki

if TYPE_CHECKING:
    from memoria.mcp.calls import Session
    from memoria.mcp.tools import Json

MAX_CLAIMS = 5  # claims that a text may refer to
MAX_TRACED = 12  # claims of one article that are traced in one answer of the tool
MAX_TURNS = 4  # of one source that are shown
TURN_CHARS = 1_200  # of a turn in an answer of the tool
UNKNOWN, ELSEWHERE = "no conversation of this machine is known", ": it was written by hand, or came from elsewhere"
NEAR_BEST = 0.6  # least share of the best turn's words that another turn must have


@dataclass(frozen=True, slots=True)
class Origin:
    """A turn of an entry; None when it is no longer kept, or nothing of it may be shown (``withheld`` says why)."""

    key: str
    turn: Turn | None
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """An entry that a claim cites, None when it is in no daily log; its turns, and those that say what it says."""

    source: str
    entry: Entry | None
    origins: tuple[Origin, ...]
    matching: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Claimed:
    """What is traced: a text, where it is (a page, an entry, a fact), and the sources that it names."""

    text: str
    place: str
    sources: tuple[str, ...]
    words: str  # what a turn must share to match


def _find_meant(asked: str, claims: Sequence[tuple[Article, Claim]]) -> list[tuple[Article, Claim]]:
    """Return the claims that share most words with ``asked``, best first."""
    wanted = set(words(asked))
    scored = [(coverage(wanted, set(words(claim.text))), article, claim) for article, claim in claims]
    best = sorted((row for row in scored if row[0] >= 0.5), key=lambda row: -row[0])
    return [(article, claim) for share, article, claim in best[:MAX_CLAIMS] if share >= best[0][0] * 0.8]


class Tracer:
    """Looks up entries and turns."""

    def __init__(self, home: Home, visible: Visibility) -> None:
        """``visible`` says what may be found. Of what was forgotten, and of turns of excluded folders, nothing is."""
        self.home = home
        self.visible = visible
        self.screen = Screen(home)
        self.daily = DailyLog(home.paths)
        self.archive = Archive.of(home.paths)

    def entry(self, source: str) -> Entry | None:
        """Return the entry that a source (``daily/2026-11-21#^e-01k9x2``) names, None when none is shown."""
        day, _, anchor = source.removeprefix("daily/").partition("#^")
        for entry in self.daily.entries(date.fromisoformat(day)) if clock.is_day(day) else ():
            if anchor in (f"e-{entry.id}", *(learned.id for learned in entry.learned)):
                return entry if self.visible.shows(entry.project_key) else None
        return None

    def find_claims(self, asked: str) -> list[Claimed]:
        """Return what is meant: the claims of an article, the claims most like these words, an entry or a fact by id.

        Raise ExpectedError when there is no entry or fact with this id.
        """
        named = Reference.of(asked)
        return self._find_named(named) if named else self._claims(asked)

    def trace(self, source: str, said: str) -> Trace:
        """Return the turns behind a source, and those of them that share words with ``said``."""
        entry = self.entry(source)
        if entry is None:
            return Trace(source, None, (), ())
        kept = {turn.key: turn for turn in self._archived_turns(entry.id)}
        origins = []
        for key in entry.turns:
            turn = kept.get(key)
            withheld = self.screen.reason(turn) if turn else ""
            origins.append(Origin(key, None if withheld else turn, withheld))
        return Trace(source, entry, tuple(origins), _find_matching(origins, set(tokens.query_terms(said))))

    def _claims(self, asked: str) -> list[Claimed]:
        hidden = Filter(self.home.paths, self.visible)
        articles = [page for each in Wiki(self.home.paths).articles() if (page := hidden.article(each))]
        targets = LinkTargets(Path(self.home.paths.home), articles)
        slug = targets.page(asked.removeprefix("[[").removesuffix("]]")).removeprefix("knowledge/")
        named = [article for article in articles if article.slug == slug]
        claims = [(article, claim) for article in named or articles for claim in article.claims]
        meant = claims if named else _find_meant(asked, claims)
        found = [Claimed(claim.text, article.slug, claim.sources, claim.text) for article, claim in meant]
        return found or [Claimed(article.title, slug, (), article.title) for article in named]  # by hand

    def _find_named(self, named: Reference) -> list[Claimed]:
        """Return the entry or the fact with this id; raise ExpectedError when there is none."""
        if named.kind == ENTRY:
            entry = self.daily.entry(named.id)
            if entry is None or not self.visible.shows(entry.project_key):
                raise ExpectedError(f"there is no entry {named.anchor}.")
            said = " ".join((entry.title, entry.context, *entry.decisions, *entry.lessons))
            return [Claimed(entry.title, entry.source.split("#")[0], (entry.source,), said)]
        with Keeper.at(self.home) as keeper:
            fact = keeper.get(named.anchor)
            if not any(map(self.visible.shows, fact.projects)):
                raise ExpectedError(
                    f"there is no learned fact {fact.id!r}; {invocation.command('learned')} lists them."
                )
            day, sources = keeper.store.day(fact.id), sources_of(self.home, keeper, fact)
            place = f"daily/{day}#^{fact.id}" if day else next(iter(keeper.store.places_of(fact.id)), "")
        kept = tuple(filter(self.entry, sources))
        return [Claimed(fact.content, place, kept, fact.quote or fact.content)]

    def _archived_turns(self, entry_id: str) -> list[Turn]:
        try:
            return self.archive.turns(entry_id) or []
        except ArchiveError:
            return []


def _find_matching(origins: Sequence[Origin], wanted: set[str]) -> tuple[Origin, ...]:
    """Return the turns that share most words with what is traced, each after the prompt that it answers.

    When none shares a word, return the beginning of the conversation.
    """
    shares = [len(wanted.intersection(tokens.terms(origin.turn.words if origin.turn else ""))) for origin in origins]
    best = max(shares, default=0)
    if not best:
        return tuple(origins[:2])
    chosen: set[int] = set()
    for number in sorted(range(len(origins)), key=lambda number: (-shares[number], number)):
        if shares[number] < NEAR_BEST * best or len(chosen) >= MAX_TURNS:
            break
        prompts = (before for before in range(number, -1, -1) if (turn := origins[before].turn) and turn.role == "user")
        chosen |= {number, next(prompts, number)}
    return tuple(origins[number] for number in sorted(chosen))


def sources_of(home: Home, keeper: Keeper, fact: Fact) -> tuple[str, ...]:
    """Return the entries that a fact is in, or that the line of an earlier version cites which alone tells it."""
    pages = (Wiki(home.paths).get(slug) for slug in keeper.store.places_of(fact.id))
    cited = (source for page in pages if page for _, _, claim in page.lines() if claim.id == fact.id
             for source in claim.sources if "#^e-" in source)  # fmt: skip
    return keeper.sources(fact) or tuple(dict.fromkeys(cited))


def lines(
    home: Home, claimed: Claimed, traces: Sequence[Trace], clean: Callable[[str], str], quoted: Callable[[str], str]
) -> Iterator[str]:
    """Yield what a person or a model reads of a claim; ``clean`` makes one line of any text, ``quoted`` of a turn's."""
    yield f"{clean(claimed.text)}\n  in [[{claimed.place}]]"
    if not traces:
        is_quoted = claimed.words != claimed.text
        yield (f"  learned from: {clean(claimed.words)}" if is_quoted else f"  {UNKNOWN}{ELSEWHERE}")
    for trace in traces:
        if trace.entry is None:
            is_there = Path(home.paths.daily, f"{trace.source.removeprefix('daily/')[:10]}.md").exists()
            why = ELSEWHERE if is_there else f"; {invocation.command('verify')} says whether its day is gone"
            yield f"  from [[{trace.source}]], {UNKNOWN}{why}"
            continue
        when = ", ".join(filter(None, (trace.entry.time, trace.entry.agent)))
        yield f"  from [[{trace.source}]] · {when} · {trace.entry.project} · {clean(trace.entry.title)}"
        if hidden := sum(bool(origin.withheld) for origin in trace.origins):
            yield f"    {amount(hidden, 'turn')} of it: not shown"
        elif trace.origins and not any(origin.turn for origin in trace.origins):
            machine = heard_on(home.paths, trace.entry.id)
            where = f"heard on {machine}" if machine else "no longer kept"
            yield f"    {amount(len(trace.origins), 'turn')} of it: {where}"
        for origin in trace.matching:
            if origin.turn:
                when = f"{home.zone.to_local(origin.turn.time):%Y-%m-%d %H:%M} " if origin.turn.time else ""
                yield f"    {when}{origin.turn.role}: {quoted(origin.turn.words) or '(forgotten)'}"
        if len(trace.matching) < len(trace.origins):
            shown = f"{len(trace.matching)} of {amount(len(trace.origins), 'turn')}"
            yield f"    {shown}; all of it: {invocation.command(f'show e-{trace.entry.id}')}"
    yield ""


def why(session: Session, given: Json) -> str:
    """Return the entries and turns that a statement, an article, an entry or a fact rests on; the tool of this name.

    Nothing of projects that may not be shown, no secret, and no text that the user had forgotten.
    """
    try:
        clean = _cleaner(session)
        tracer = Tracer(session.home, session.visible)
        shown: list[str] = []
        for claimed in tracer.find_claims(given["statement"])[:MAX_TRACED]:
            traces = [tracer.trace(source, claimed.words) for source in claimed.sources]
            shown += lines(session.home, claimed, traces, clean, clean)
    except (sqlite3.Error, OSError) as error:
        raise ExpectedError(f"the memory cannot be read now ({error}); try again later") from error
    if not shown:
        raise ExpectedError("nothing in memory says this; search for it, and give an id or a title from its results")
    return render_notes("\n".join(shown).strip())


def _cleaner(session: Session) -> Callable[[str], str]:
    """Return what makes one line of stored text, without secrets and without what the user had forgotten."""
    redact, forgotten = session.redactor.redact, Tombstones(session.home.paths)

    def clean(text: str) -> str:
        redacted = redact(text)
        rest = forgotten.purge(redacted)
        is_part = rest == redacted and forgotten.holds(text)  # what was redacted is part of what was forgotten
        return "" if is_part else flatten(rest, TURN_CHARS)

    return clean
