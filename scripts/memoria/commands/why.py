"""Why: trace a claim, an entry or a learned fact back to the words it came from.

From the claim to its entries, and to those of their turns that say the same; each turn as the transcript has it (with
its line) or, when the transcript no longer has it, as the archive kept it. Reads only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoria.audit.origins import Origin, Trace, Tracer, said_in
from memoria.base import invocation
from memoria.daily import reference
from memoria.facts.keeper import Keeper
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.indexing.highlight import highlighted, is_bold
from memoria.language.similarity import coverage
from memoria.language.words import words
from memoria.search import tokens
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki
from memoria.wiki.links import LinkTargets

MAX_CLAIMS = 5  # claims that a text may refer to


@dataclass(frozen=True, slots=True)
class Claimed:
    """What is traced: a text, where it is (a page, an entry, a fact), and the sources that it names."""

    text: str
    place: str
    sources: tuple[str, ...]
    words: str  # what a turn must share to match


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("claim", nargs="+", help="an article (slug, title or alias), words of a claim, or the id "
                        "of an entry (e-…) or a fact (l-…)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the origins of claims; raise ExpectedError when no article or claim matches."""
    asked = " ".join(args.claim)
    tracer = Tracer(home)
    named = reference.parse(asked)
    found = _named(named, home, tracer) if named else _claims(asked, home)
    if not found:
        raise ExpectedError(
            f"No article and no claim matches {asked!r}; {invocation.shown('search')} may find something."
        )
    traced = [(claimed, [tracer.trace(source, claimed.words) for source in claimed.sources]) for claimed in found]
    if args.json:
        records = [_facts(claimed, traces) for claimed, traces in traced]
        print(json.dumps({"asked": asked, "claims": records}, ensure_ascii=False, indent=2))
    else:
        print("\n".join(row for claimed, traces in traced for row in _lines(home, claimed, traces)))
    return 0


def _claims(asked: str, home: Home) -> list[Claimed]:
    articles = list(Wiki.of(home.paths).articles())
    meant = _meant(asked, articles, LinkTargets.of(Path(home.paths.home), articles))
    return [Claimed(claim.text, article.slug, claim.sources, claim.text) for article, claim in meant]


def _named(named: reference.Reference, home: Home, tracer: Tracer) -> list[Claimed]:
    """Return the entry or the fact with this id; raise ExpectedError when there is none."""
    if named.kind == reference.ENTRY:
        entry = tracer.entry_called(named.id)
        if entry is None:
            raise ExpectedError(f"there is no entry {named.anchor}.")
        said = " ".join((entry.title, entry.context, *entry.decisions, *entry.lessons))
        return [Claimed(entry.title, entry.source.split("#")[0], (entry.source,), said)]
    with Keeper.at(home) as keeper:
        fact = keeper.known(named.anchor)
        held = keeper.entry_of(fact)
        day = keeper.zone.day(fact.time).isoformat()
    said = fact.quote or fact.content
    return [Claimed(fact.content, f"daily/{day}#^{fact.id}", (held.source,) if held else (), said)]


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


# -- printing


def _facts(claimed: Claimed, traces: Sequence[Trace]) -> dict[str, Any]:
    return {
        "article": claimed.place,
        "claim": claimed.text,
        "sources": [
            {
                "source": trace.source,
                "entry": trace.entry.id if trace.entry else None,
                "title": trace.entry.title if trace.entry else None,
                "session": trace.entry.session if trace.entry else None,
                "turns_in_entry": len(trace.origins),
                "turns": [_turn_facts(origin) for origin in trace.matching],
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
        "transcript": (origin.transcript or None) if origin.line else None,
        "line": origin.line or None,
        "archived": origin.archived,
    }


def _lines(home: Home, claimed: Claimed, traces: Sequence[Trace]) -> Iterator[str]:
    yield f"{printable.line(claimed.text)}\n  in [[{claimed.place}]]"
    if not traces and claimed.place.startswith("daily/"):
        yield f"  in no entry yet; it was learned from: {printable.line(claimed.words)}"
    elif not traces:
        yield "  cites no source: a person wrote it, or its source was forgotten"
    wanted = set(tokens.of_query(claimed.words))
    for trace in traces:
        if trace.entry is None:
            yield f"  from [[{trace.source}]], which is not in the daily logs"
            continue
        entry = trace.entry
        yield f"  from [[{trace.source}]] · {entry.time} · {entry.project} · {printable.line(entry.title)}"
        if trace.origins and all(origin.turn is None for origin in trace.origins):
            yield f"    {printable.counted(len(trace.origins), 'turn')}: no longer in the transcript or in the archive"
        for origin in trace.matching:
            yield from _origin(home, origin, wanted)
        if any(origin.archived for origin in trace.origins):
            shown = f"{len(trace.matching)} of {printable.counted(len(trace.origins), 'turn')}"
            yield f"    {shown}; all of it: {invocation.called()} show e-{entry.id}"
    yield ""


def _origin(home: Home, origin: Origin, wanted: set[str]) -> Iterator[str]:
    turn = origin.turn
    if turn is None:
        return
    place = f"archive ({f'no longer in {origin.transcript}' if origin.transcript else 'the transcript is gone'})"
    if origin.line:
        place = f"{origin.transcript}:{origin.line}"
    when = f"{home.zone.local(turn.time):%Y-%m-%d %H:%M} · " if turn.time else ""
    yield f"    {when}{turn.role} · {place}"
    yield f"      {highlighted(said_in(origin), wanted, bold=is_bold())}"
