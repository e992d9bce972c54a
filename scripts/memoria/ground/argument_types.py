"""Argument types: what the command line takes besides text, with errors that say what was expected."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Return ``text`` as a whole number of at least 1; raise ArgumentTypeError otherwise."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
