"""Query: answer a question from the wiki and the daily logs, with links that code has checked.

The search index finds articles, entries and facts, a model answers from them, and every link in the answer is looked
up. Links that do not resolve are printed as plain text and listed. Without a language model, the passages themselves
are the answer.
"""

from __future__ import annotations

import argparse
import sys

from memoria.base.visibility import Visibility
from memoria.ground.home import Home
from memoria.mcp.search import ask, lines, passages_for


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("question", nargs="+", help="what you want to know")


def command(args: argparse.Namespace, home: Home) -> int:
    """Answer and print."""
    question = " ".join(" ".join(args.question).split())
    passages, lacking = passages_for(home, Visibility(home.settings, home.paths), question)
    if lacking:
        print(f"memoria: {lacking}", file=sys.stderr)
    answer, reason = ask(home, question, passages) if passages else (None, "")
    print("\n".join(lines(answer, passages, reason)))
    return 0
