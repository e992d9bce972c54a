"""MCP server: ``memoria mcp``, the memory as tools for a model, over stdin and stdout."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.mcp.server import serve


def arguments(parser: argparse.ArgumentParser) -> None:
    """``memoria mcp [--session ID]``."""
    parser.add_argument("--session", default="", help="session whose working memory to serve (default: the client's)")


def command(args: argparse.Namespace, home: Home) -> int:
    """Serve until stdin ends."""
    if sys.stdin.isatty():
        raise ExpectedError("memoria mcp is started by an MCP client, not by hand; see docs/commands.md")
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has them ignored
        signal.signal(number, _end)
    serve(home, args.session)
    return 0


def _end(number: int, _: FrameType | None) -> NoReturn:
    """End at once: a thread that waits for stdin would keep the process, and every call's work is on disk already."""
    os._exit(128 + number)
