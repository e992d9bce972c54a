"""Why: trace a claim back to the words it came from.

A claim leads to its entries, and an entry to its turns, as the transcript has them (with their lines) or, when that is
gone, as the archive does. The command only reads.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoria.capture import spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import printable
from memoria.ground.errors import ArchiveError, ExpectedError
from memoria.ground.home import Home
from memoria.language.similarity import coverage
from memoria.language.words import words
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Reader, Turn
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki
from memoria.wiki.links import LinkTargets

MAX_CLAIMS = 5  # claims that a text may refer to
SHOWN_CHARS = 300  # of a turn shown to a person


@dataclass(frozen=True, slots=True)
class Origin:
    """A turn and its location: ``transcript`` and ``line`` while the client keeps it, ``archived``, or neither."""

    key: str
    turn: Turn | None
    transcript: str = ""
    line: int = 0
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """An entry that a claim cites (None when it is in no daily log) and its turns."""

    source: str
    entry: Entry | None
    origins: tuple[Origin, ...]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("claim", nargs="+", help="an article (slug, title or alias), or words of a claim")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the origins of claims; raise ExpectedError when no article or claim matches."""
    asked = " ".join(args.claim)
    articles = list(Wiki.of(home.paths).articles())
    found = _meant(asked, articles, LinkTargets.of(Path(home.paths.home), articles))
    if not found:
        raise ExpectedError(f"No article and no claim matches {asked!r}; `memoria search` may find something.")
    tracer = _Tracer(home)
    traced = [(article, claim, [tracer.trace(source) for source in claim.sources]) for article, claim in found]
    if args.json:
        records = [_facts(article, claim, traces) for article, claim, traces in traced]
        print(json.dumps({"asked": asked, "claims": records}, ensure_ascii=False, indent=2))
    else:
        print("\n".join(row for parts in traced for row in _lines(home, *parts)))
    return 0


def _meant(asked: str, articles: Sequence[Article], targets: LinkTargets) -> list[tuple[Article, Claim]]:
    """Return all claims of the named article, else the claims that share most words with ``asked``, best first."""
    slug = targets.page(asked.removeprefix("[[").removesuffix("]]")).removeprefix("knowledge/")
    named = [article for article in articles if article.slug == slug]
    if named:
        return [(article, claim) for article in named for claim in article.claims]
    wanted = set(words(asked))
    scored = [
        (coverage(wanted, set(words(claim.text))), article, claim) for article in articles for claim in article.claims
    ]
    best = sorted((row for row in scored if row[0] >= 0.5), key=lambda row: -row[0])
    return [(article, claim) for share, article, claim in best[:MAX_CLAIMS] if share >= best[0][0] * 0.8]


class _Tracer:
    """Looks up entries and turns, reading each transcript once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        daily = DailyLog.of(home.paths)
        self.entries = {entry.source: entry for day in daily.days() for entry in daily.entries(day)}
        self.archive = Archive.of(home.paths, home.settings.archive_mb)
        self._transcripts: dict[str, tuple[str, dict[str, tuple[int, Turn]]]] = {}

    def trace(self, source: str) -> Trace:
        entry = self.entries.get(source)
        if entry is None:
            return Trace(source, None, ())
        path, current = self._transcript(entry.session)
        archived = {turn.key: turn for turn in self._archived(entry.id)}
        origins = []
        for key in entry.turns:
            line, turn = current.get(key, (0, None))
            origins.append(Origin(key, turn or archived.get(key), path if line else "", line, key in archived))
        return Trace(source, entry, tuple(origins))

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
        """Return the transcript that the session's cursor names, or ``""`` when it does not exist."""
        try:
            stored = json.loads(Path(self.home.paths.cursors, spool.safe_name(session)).read_text("utf-8"))
            path = str(stored["transcript"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        return path if Path(path).is_file() else ""


def _turns(path: str) -> Iterator[tuple[str, tuple[int, Turn]]]:
    reader = Reader(keep_sidechains=True)
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                for turn in reader.read([line]):
                    yield turn.key, (number, turn)
    except OSError:
        return


# -- printing


def _facts(article: Article, claim: Claim, traces: Sequence[Trace]) -> dict[str, Any]:
    return {
        "article": article.slug,
        "claim": claim.text,
        "sources": [
            {
                "source": trace.source,
                "entry": trace.entry.id if trace.entry else None,
                "title": trace.entry.title if trace.entry else None,
                "session": trace.entry.session if trace.entry else None,
                "turns": [_turn_facts(origin) for origin in trace.origins],
            }
            for trace in traces
        ],
    }


def _turn_facts(origin: Origin) -> dict[str, Any]:
    turn = origin.turn
    return {
        "key": origin.key,
        "role": turn.role if turn else None,
        "time": turn.time.isoformat() if turn and turn.time else None,
        "text": turn.text if turn else None,
        "tools": list(turn.tools) if turn else [],
        "transcript": origin.transcript or None,
        "line": origin.line or None,
        "archived": origin.archived,
    }


def _lines(home: Home, article: Article, claim: Claim, traces: Sequence[Trace]) -> Iterator[str]:
    yield f"{printable.line(claim.text)}\n  in [[{article.slug}]]"
    if not traces:
        yield "  cites no source: a person wrote it, or its source was forgotten"
    for trace in traces:
        if trace.entry is None:
            yield f"  from [[{trace.source}]], which is not in the daily logs"
            continue
        entry = trace.entry
        yield f"  from [[{trace.source}]] · {entry.time} · {entry.project} · {printable.line(entry.title)}"
        for origin in trace.origins:
            yield from _origin(home, origin)
        if any(origin.archived for origin in trace.origins):
            yield f"    the whole conversation: memoria show e-{entry.id}"
    yield ""


def _origin(home: Home, origin: Origin) -> Iterator[str]:
    turn = origin.turn
    if turn is None:
        yield f"    turn {origin.key}: no longer in the transcript or in the archive"
        return
    place = f"{origin.transcript}:{origin.line}" if origin.line else "archive (the transcript is gone)"
    when = f"{home.zone.local(turn.time):%Y-%m-%d %H:%M} · " if turn.time else ""
    text = printable.line(turn.text or "; ".join(turn.tools))
    yield f"    {when}{turn.role} · {place}"
    yield f"      {text[:SHOWN_CHARS]}{'…' if len(text) > SHOWN_CHARS else ''}"
