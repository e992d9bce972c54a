"""Export: write the pages of the reader to a folder, or all data as one JSON object, which ``import`` reads."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from memoria.base.visibility import Visibility
from memoria.exporting.record import record
from memoria.ground import files, printable
from memoria.ground.home import Home
from memoria.reader.static_site import StaticSite


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--html", metavar="FOLDER", help="write the pages to this folder, new or empty")
    kinds.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="write all data to this file (default: to standard output)"
    )
    parser.add_argument(
        "--excluded",
        action="store_true",
        help="write the pages of excluded projects as well (--json always holds them)",
    )


def command(args: argparse.Namespace, home: Home) -> int:
    """Write the pages or the data; return 0."""
    if args.html:
        folder = Path(args.html).expanduser().absolute()
        count = StaticSite(home, folder, has_excluded=args.excluded).write()
        print(f"{printable.counted(count, 'page')} written to {folder}; begin with index.html.")
        hidden = len(Visibility(home.settings, home.paths).hidden())
        if hidden and not args.excluded:
            print(f"{printable.counted(hidden, 'excluded project')} left out; --excluded writes them as well.")
        return 0
    data = json.dumps(record(home), indent=1) + "\n"
    if args.json == "-":
        sys.stdout.write(data)
    else:
        path = Path(args.json).expanduser().absolute()
        files.replace(path, data, mode=0o600)
        print(f"All data written to {path}; it holds everything that the memory does.")
    return 0
