"""Command parser: argparse with errors that say what was expected, or name what was probably meant.

Suggestions are made for choices and for options; exit statuses are argparse's.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)' \(choose from (?P<choices>.*)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the choice that a mistyped word is nearest to, ``""`` when none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 (only for a typing error)

    return next(iter(get_close_matches(word, list(choices), n=1, cutoff=0.5)), "")


def positive(text: str) -> int:
    """Return ``text`` as a whole number of at least 1; raise ArgumentTypeError otherwise."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


class CommandParser(argparse.ArgumentParser):
    """A parser that suggests the nearest choice or option; its subparsers do, too."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and the message, with what was probably meant."""
        found = CHOICE.search(message)
        if found:
            meant = nearest(found["given"], (choice.strip(" '\"") for choice in found["choices"].split(",")))
            message += f"; did you mean {meant}?" if meant else ""
        super().error(message)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit because of arguments that this verb does not take, with the option that each is nearest to."""
        options = set(OPTION.findall(self.format_help()))
        near = [nearest(word.partition("=")[0], options) for word in unknown if word.startswith("--")]
        meant = f"; did you mean {' '.join(filter(None, near))}?" if any(near) else ""
        super().error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
