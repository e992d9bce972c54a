"""Export: write the pages of the reader to a folder, for reading without memoria."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from memoria.ground import printable
from memoria.ground.home import Home
from memoria.reader.static_site import StaticSite


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--html", required=True, metavar="FOLDER", help="write the pages to this folder, new or empty")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Write the pages; return 0."""
    folder = Path(args.html).expanduser().absolute()
    count = StaticSite(home, folder).write()
    if args.json:
        print(json.dumps({"folder": str(folder), "pages": count}, indent=2))
    else:
        print(f"{printable.counted(count, 'page')} written to {folder}; begin with index.html.")
    return 0
