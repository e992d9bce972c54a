"""Open: show the memory in the browser, from a small server on this machine."""

from __future__ import annotations

import argparse
import contextlib

from memoria.ground.home import Home
from memoria.reader import server


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="listen on this port (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


def command(args: argparse.Namespace, home: Home) -> int:
    """Serve until Ctrl-C or an hour without a request; return 0."""
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        server.serve(home, port=args.port, has_browser=not args.no_browser)
    return 0
