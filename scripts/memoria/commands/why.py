"""Why: print the words that a claim, an entry or a learned fact came from, as ``mcp.origin`` traces them."""

from __future__ import annotations

import argparse
from functools import partial

from memoria.base import invocation
from memoria.base.visibility import Visibility
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index.highlight import highlight
from memoria.mcp.origin import Tracer, lines
from memoria.search import tokens


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("claim", nargs="+", help="an article (slug, title or alias), words of a claim, or the id "
                        "of an entry (e-…) or a fact (l-…)")  # fmt: skip


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the origins of claims; raise ExpectedError when no article or claim matches."""
    asked = " ".join(args.claim)
    tracer = Tracer(home, Visibility(home.settings, home.paths))
    traced = [
        (claimed, [tracer.trace(source, claimed.words) for source in claimed.sources])
        for claimed in tracer.find_claims(asked)
    ]
    if not traced:
        raise ExpectedError(
            f"No article or claim matches {asked!r}; {invocation.command('search')} may find something."
        )
    for claimed, traces in traced:
        quoted = partial(highlight, wanted=set(tokens.query_terms(claimed.words)))
        print("\n".join(lines(home, claimed, traces, printable.line, quoted)))
    return 0
