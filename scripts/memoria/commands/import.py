"""Import: add what ``memoria export --json`` wrote to this home. What is there is merged or left, never overwritten."""

from __future__ import annotations

import argparse
from pathlib import Path

from memoria.exporting.bring_in import bring_in, checked
from memoria.ground import printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", help="the file that `memoria export --json FILE` wrote")


def command(args: argparse.Namespace, home: Home) -> int:
    """Import the file; return 0."""
    try:
        data = Path(args.file).expanduser().read_bytes()
    except OSError as error:
        raise ExpectedError(f"{args.file} cannot be read ({error.strerror or error}).") from error
    brought = bring_in(home, checked(data))
    counted = printable.counted
    print(
        f"Imported: {counted(len(brought.days), 'day')}, {counted(len(brought.files), 'file')} of the wiki, "
        f"{counted(len(brought.archived), 'archived conversation')}."
    )
    if brought.forgotten:
        print(f"Left out, because it was forgotten here: {', '.join(map(printable.line, brought.forgotten))}.")
    return 0
