"""Open: show the memory in the browser, from a small server on this machine."""

from __future__ import annotations

import argparse
import contextlib
from contextlib import closing
from urllib.parse import urlencode

from memoria.daily.ledger import Ledger
from memoria.ground import projects
from memoria.ground.home import Home
from memoria.reader import server


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="listen on this port (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    parser.add_argument(
        "--project", nargs="?", const=".", default="", metavar="NAME",
        help="begin with this project (its name, key or folder; default: the folder you are in)",
    )  # fmt: skip


def command(args: argparse.Namespace, home: Home) -> int:
    """Serve until Ctrl-C or an hour without a request; return 0."""
    path = f"/?{urlencode({'project': _key(args.project, home)})}" if args.project else "/"
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        server.serve(home, port=args.port, path=path, has_browser=not args.no_browser)
    return 0


def _key(given: str, home: Home) -> str:
    with closing(Ledger(home.paths)) as ledger:
        known = {entry.project for entry in ledger.entries()}
    return projects.resolve_folder(given, known, home)
