"""Why: trace a claim, an entry or a learned fact back to the words it came from.

From the claim to its entries, and to those of their turns that say the same; each turn as the transcript has it (with
its line) or, when the transcript no longer has it, as the archive kept it. Reads only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from memoria.base import invocation
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.index.highlight import highlighted, is_bold
from memoria.mcp.origin import Claimed, Origin, Trace, Tracer, said
from memoria.search import tokens
from memoria.transcripts.turn import Exchange


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("claim", nargs="+", help="an article (slug, title or alias), words of a claim, or the id "
                        "of an entry (e-…) or a fact (l-…)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the origins of claims; raise ExpectedError when no article or claim matches."""
    asked = " ".join(args.claim)
    tracer = Tracer(home)
    found = tracer.claimed(asked)
    if not found:
        raise ExpectedError(
            f"No article and no claim matches {asked!r}; {invocation.shown('search')} may find something."
        )
    redact = Redactor(home.settings.redact_extra).redact  # the transcript still has the secrets
    traced = [
        (claimed, [_redacted(tracer.trace(source, claimed.words), redact) for source in claimed.sources])
        for claimed in found
    ]
    if args.json:
        records = [_facts(claimed, traces) for claimed, traces in traced]
        print(json.dumps({"asked": asked, "claims": records}, ensure_ascii=False, indent=2))
    else:
        print("\n".join(row for claimed, traces in traced for row in _lines(home, claimed, traces)))
    return 0


def _redacted(trace: Trace, redact: Callable[[str], str]) -> Trace:
    """Return a trace with the turns that are shown without secrets."""
    shown = []
    for origin in trace.matching:
        turns = Exchange((origin.turn,)).cleaned(redact).turns if origin.turn else (None,)
        shown.append(replace(origin, turn=turns[0]))
    return replace(trace, matching=tuple(shown))


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
        if hidden := sum(bool(origin.withheld) for origin in trace.origins):
            yield f"    {printable.counted(hidden, 'turn')} of it: not shown (forgotten)"
        elif trace.origins and all(origin.turn is None for origin in trace.origins):
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
    yield f"      {highlighted(said(origin), wanted, bold=is_bold())}"
