"""MCP server: ``memoria mcp``, the memory as tools for a model, over stdin and stdout."""

from __future__ import annotations

import argparse
import asyncio
import sys

from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.mcp.server import serve


def arguments(parser: argparse.ArgumentParser) -> None:
    """``memoria mcp [--session ID]``."""
    parser.add_argument("--session", default="", help="session whose working memory to serve (default: the client's)")


def command(args: argparse.Namespace, home: Home) -> int:
    """Serve until stdin ends."""
    if sys.stdin.isatty():
        raise ExpectedError("memoria mcp is started by an MCP client, not by hand; see README, MCP")
    asyncio.run(serve(home, args.session))
    return 0
