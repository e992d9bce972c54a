"""Why: trace a claim, an entry or a learned fact back to the words it came from.

From the claim to its entries, and to those of their turns that say the same, as the archive keeps them. Reads only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from memoria.base import invocation
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index.highlight import highlighted, is_bold
from memoria.mcp.origin import Claimed, Origin, Trace, Tracer, lines
from memoria.search import tokens


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("claim", nargs="+", help="an article (slug, title or alias), words of a claim, or the id "
                        "of an entry (e-…) or a fact (l-…)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the origins of claims; raise ExpectedError when no article or claim matches."""
    asked = " ".join(args.claim)
    tracer = Tracer(home)
    traced = [
        (claimed, [tracer.trace(source, claimed.words) for source in claimed.sources])
        for claimed in tracer.claimed(asked)
    ]
    if not traced:
        raise ExpectedError(
            f"No article and no claim matches {asked!r}; {invocation.shown('search')} may find something."
        )
    if args.json:
        records = [_facts(claimed, traces) for claimed, traces in traced]
        print(json.dumps({"asked": asked, "claims": records}, ensure_ascii=False, indent=2))
        return 0
    bold = is_bold()
    for claimed, traces in traced:
        wanted = set(tokens.of_query(claimed.words))

        def quoted(text: str, wanted: set[str] = wanted) -> str:
            return highlighted(text, wanted, bold=bold)

        print("\n".join(lines(home, claimed, traces, printable.line, quoted)))
    return 0


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
    }
