"""Origin: trace a claim, an entry or a learned fact back to the words it came from.

From the claim to its entries, and to those of their turns that say the same; each turn as the transcript has it (with
its line) or, when the transcript no longer has it, as the archive kept it. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from memoria.base import invocation
from memoria.base.paths import safe_name
from memoria.capture import cursor, transcript
from memoria.daily import reference
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.errors import ArchiveError, ExpectedError
from memoria.ground.home import Home
from memoria.search import tokens
from memoria.search.words import coverage, words
from memoria.statements.keeper import Keeper
from memoria.transcripts import clients
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki
from memoria.wiki.links import LinkTargets

MAX_CLAIMS = 5  # claims that a text may refer to
MAX_TURNS = 4  # of one source that are shown
NEAR_BEST = 0.6  # least share of the best turn's words that another turn must have


@dataclass(frozen=True, slots=True)
class Origin:
    """A turn and where it is: ``transcript`` if the file exists, ``line`` if the turn is in it, ``archived``.

    ``withheld``: why nothing of it may be shown although it is there; ``turn`` is None then.
    """

    key: str
    turn: Turn | None
    transcript: str = ""
    line: int = 0
    archived: bool = False
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


def _meant(asked: str, claims: Sequence[tuple[Article, Claim]], targets: LinkTargets) -> list[tuple[Article, Claim]]:
    """Return all claims of the named article, else the claims that share most words with ``asked``, best first."""
    slug = targets.page(asked.removeprefix("[[").removesuffix("]]")).removeprefix("knowledge/")
    named = [(article, claim) for article, claim in claims if article.slug == slug]
    if named:
        return named
    wanted = set(words(asked))
    scored = [(coverage(wanted, set(words(claim.text))), article, claim) for article, claim in claims]
    best = sorted((row for row in scored if row[0] >= 0.5), key=lambda row: -row[0])
    return [(article, claim) for share, article, claim in best[:MAX_CLAIMS] if share >= best[0][0] * 0.8]


class Tracer:
    """Looks up entries and turns, reading each daily log and each transcript once."""

    def __init__(self, home: Home, shows: Callable[[str], bool] = lambda _: True, *, has_excluded: bool = True) -> None:
        """``shows`` says of a project's key whether what belongs to it may be found.

        ``has_excluded``: turns of excluded folders are shown. What was forgotten never is: transcripts still have it.
        """
        self.home = home
        self.shows = shows
        self.has_excluded = has_excluded
        self.screen = Screen.of(home)
        self.daily = DailyLog.of(home.paths)
        self._days: dict[date, dict[str, Entry]] = {}
        self.archive = Archive.of(home.paths, home.settings.archive_mb)
        self._transcripts: dict[str, tuple[str, dict[str, tuple[int, Turn]]]] = {}

    def entry(self, source: str) -> Entry | None:
        """Return the entry that a source (``daily/2026-11-21#^e-01k9x2``) names, None when none is shown."""
        held = self._held(source)
        return held if held and self.shows(held.project_key) else None

    def _held(self, source: str) -> Entry | None:
        day = source.removeprefix("daily/")[:10]
        return self._of_day(date.fromisoformat(day)).get(source) if clock.is_day(day) else None

    def _is_hidden(self, source: str) -> bool:
        held = self._held(source)
        return held is not None and not self.shows(held.project_key)

    def _of_day(self, day: date) -> dict[str, Entry]:
        if day not in self._days:
            self._days[day] = {
                f"daily/{day.isoformat()}#^{name}": entry
                for entry in self.daily.entries(day)
                for name in (f"e-{entry.id}", *(learned.id for learned in entry.learned))
            }
        return self._days[day]

    def _called(self, ident: str) -> Entry | None:
        """Return the entry with an id, None when none is shown; the latest days are read first."""
        for day in reversed(self.daily.days()):
            for entry in self._of_day(day).values():
                if entry.id == ident and self.shows(entry.project_key):
                    return entry
        return None

    def claimed(self, asked: str) -> list[Claimed]:
        """Return what is meant: the claims of an article, the claims most like these words, an entry or a fact by id.

        Raise ExpectedError when there is no entry or fact with this id.
        """
        named = reference.parse(asked)
        return self._named(named) if named else self._claims(asked)

    def trace(self, source: str, said: str) -> Trace:
        """Return the turns behind a source, and those of them that share words with ``said``."""
        entry = self.entry(source)
        if entry is None:
            return Trace(source, None, (), ())
        path, lines = self._transcript(entry.session)
        kept = {turn.key: turn for turn in self._archived(entry.id)}
        origins = []
        for key in entry.turns:
            line, turn = lines.get(key, (0, None))
            held, withheld = turn or kept.get(key), ""
            if held:
                held, withheld = self.screen.shown(held, has_excluded=self.has_excluded)
            origins.append(Origin(key, held, path, line, key in kept, withheld))
        return Trace(source, entry, tuple(origins), _matching(origins, set(tokens.of_query(said))))

    def _claims(self, asked: str) -> list[Claimed]:
        aliases = self.daily.aliases()
        articles = [
            article
            for article in Wiki.of(self.home.paths).articles()
            if self.shows(aliases.get(article.project, article.project))
        ]
        claims = [
            (article, claim)
            for article in articles
            for claim in article.claims
            if not any(map(self._is_hidden, claim.sources))
        ]
        meant = _meant(asked, claims, LinkTargets.of(Path(self.home.paths.home), articles))
        return [Claimed(claim.text, article.slug, claim.sources, claim.text) for article, claim in meant]

    def _named(self, named: reference.Reference) -> list[Claimed]:
        """Return the entry or the fact with this id; raise ExpectedError when there is none."""
        if named.kind == reference.ENTRY:
            entry = self._called(named.id)
            if entry is None:
                raise ExpectedError(f"there is no entry {named.anchor}.")
            said = " ".join((entry.title, entry.context, *entry.decisions, *entry.lessons))
            return [Claimed(entry.title, entry.source.split("#")[0], (entry.source,), said)]
        with Keeper.at(self.home) as keeper:
            fact = keeper.known(named.anchor)
            if not any(map(self.shows, fact.projects)):
                raise ExpectedError(
                    f"there is no learned fact {named.anchor!r}; {invocation.shown('learned')} lists them."
                )
            held = keeper.entry_of(fact)
            day = keeper.zone.day(fact.time).isoformat()
        said = fact.quote or fact.content
        return [
            Claimed(
                fact.content,
                f"daily/{day}#^{fact.id}",
                (held.source,) if held and not self._is_hidden(held.source) else (),
                said,
            )
        ]

    def _archived(self, entry_id: str) -> list[Turn]:
        try:
            return self.archive.turns(entry_id) or []
        except ArchiveError:
            return []

    def _transcript(self, session: str) -> tuple[str, dict[str, tuple[int, Turn]]]:
        """Return the session's transcript and, by key, the line and turn of what it still contains."""
        if session not in self._transcripts:
            path = self._path(session)
            self._transcripts[session] = path, dict(_turns(path)) if path else {}
        return self._transcripts[session]

    def _path(self, session: str) -> str:
        """Return the session's transcript as cursor, client or an import know it; ``""`` when it is gone."""
        known = cursor.latest(self.home.paths.cursors, safe_name(session))
        paths = [known.transcript] if known else []
        paths.append(transcript.locate("", session, ""))
        with closing(Ledger.of(self.home.paths)) as ledger:
            paths += [path for path in ledger.checked() if Path(path).stem.endswith(session)]
        return next((path for path in paths if path and Path(path).is_file()), "")


def _matching(origins: Sequence[Origin], wanted: set[str]) -> tuple[Origin, ...]:
    """Return the turns that share most words with what is traced, each after the prompt that it answers.

    When none shares a word, return the beginning of the conversation.
    """
    shares = [len(wanted.intersection(tokens.of(said(origin)))) for origin in origins]
    best = max(shares, default=0)
    if not best:
        return tuple(origins[:2])
    chosen: set[int] = set()
    for number in sorted(range(len(origins)), key=lambda number: (-shares[number], number)):
        if shares[number] < NEAR_BEST * best or len(chosen) >= MAX_TURNS:
            break
        prompts = (before for before in range(number, -1, -1) if _is_prompt(origins[before]))
        chosen |= {number, next(prompts, number)}
    return tuple(origins[number] for number in sorted(chosen))


def _is_prompt(origin: Origin) -> bool:
    return origin.turn is not None and origin.turn.role == "user"


def said(origin: Origin) -> str:
    """Return a turn's text and the lines of its tool calls."""
    return "\n".join((origin.turn.text, *origin.turn.tools)) if origin.turn else ""


def _turns(path: str) -> Iterator[tuple[str, tuple[int, Turn]]]:
    reader = Reader(keep_sidechains=True, decode=clients.owner(Path(path)).decoder())
    cwd = ""
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                for turn in reader.read([line]):
                    cwd = turn.cwd or cwd
                    yield turn.key, (number, turn if turn.cwd == cwd else replace(turn, cwd=cwd))
    except OSError:
        return
