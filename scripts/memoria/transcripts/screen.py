"""Screen: which turns may not be kept, because of their own line's folder or because their text was forgotten.

A forgotten text is recognised without being stored. For each text a file holds its length and a digest, keyed with a
salt, which travels with it to the user's other machines and nowhere else. A text is recognised by the digests of all
its parts of such a length; a 12-bit digest of the first characters selects the parts that are worth a full one. Who can
read the file and guesses a text can confirm the guess, but cannot read the text (docs/decisions/0052-forgetting.md).
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memoria.base import exclude
from memoria.base.atomic import PRIVATE
from memoria.base.paths import Paths
from memoria.capture import cursor
from memoria.ground import files, home_files, markdown
from memoria.ground.home import Home
from memoria.ground.said import row_words, words
from memoria.search.words import fold
from memoria.transcripts.client_files import objects

if TYPE_CHECKING:
    from memoria.transcripts.turn import Turn

MIN_TEXT = 4  # characters; a shorter text would be found everywhere
_SALT_BYTES = 32


class Screen:
    """The excluded folders and forgotten texts of one home, as they were when it was made."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.tombstones = Tombstones(home.paths)
        self._reasons: dict[str, str] = {}

    def exclusion(self, cwd: str) -> str:
        """Return why nothing from this folder is kept, ``""`` when it is."""
        if cwd not in self._reasons:
            self._reasons[cwd] = exclude.reason(cwd, self.home.settings, self.home.paths)
        return self._reasons[cwd]

    def reason(self, turn: Turn) -> str:
        """Return why a turn is not kept, ``""`` when it is."""
        if reason := self.exclusion(turn.cwd):
            return reason
        return "forgotten" if self.tombstones.holds(turn.words) else ""

    def filter(self, lines: list[bytes], *, is_out: bool | None = None) -> tuple[list[bytes], bool]:
        """Return the lines of a transcript that may be kept, and whether the last one is of an excluded folder.

        A line that names no folder belongs to that of the line before, and where nothing is before, to the first that
        is named; ``is_out``: whether what is before is excluded.
        """
        if is_out or any(map(self.exclusion, cursor.folders(b"".join(lines)))):
            inside = []
            folders = (value.get("cwd") for value in chain.from_iterable(map(objects, lines)))
            first = next((each for each in folders if isinstance(each, str)), "")
            is_out = bool(self.exclusion(first)) if is_out is None else is_out
            for line in lines:
                for value in objects(line):
                    if isinstance(value.get("cwd"), str):
                        is_out = bool(self.exclusion(value["cwd"]))
                inside += [] if is_out else [line]
            lines = inside
        return [line for line in lines if not self.tombstones.line_holds(line)], bool(is_out)


class Tombstone(NamedTuple):
    """What is kept of a text: its length when folded, a digest of all of it and one of its first characters.

    ``salt``: of the digests, in hexadecimal digits.
    """

    length: int
    digest: str
    begin: int
    salt: str


class Tombstones:
    """The forgotten texts of one home."""

    def __init__(self, paths: Paths) -> None:
        """Read the file; raise OSError when it is damaged, because it must not be taken for an empty one."""
        self.path = path = Path(paths.forgotten)
        self.salt = ""
        self.stones: list[Tombstone] = []
        self._likely: dict[str, list[Tombstone]] = {}  # by the first characters that select them
        try:
            stored = json.loads(home_files.read(path))
            self.salt = bytes.fromhex(stored["salt"]).hex()
            self.stones = [stone_of({"salt": self.salt, **one}) for one in stored["texts"]]
        except FileNotFoundError:
            pass
        except (KeyError, TypeError, ValueError) as error:
            raise OSError(errno.EIO, f"damaged ({error}); move it away, forget the texts again", str(path)) from error

    def __bool__(self) -> bool:
        """Return whether any text was forgotten."""
        return bool(self.stones)

    def add(self, text: str) -> None:
        """Keep a tombstone for ``text``, synced to disk."""
        plain = fold(text)
        self.salt = self.salt or os.urandom(_SALT_BYTES).hex()
        if len(plain) >= MIN_TEXT:
            self.take(self._stone(plain))

    def take(self, stone: Tombstone) -> None:
        """Keep a tombstone, also one that another machine made, synced to disk."""
        self.salt = self.salt or stone.salt  # one salt for all machines, where they meet before they forget
        if stone not in self.stones:
            self.stones.append(stone)
            self._likely.clear()
            self._write()

    def holds(self, text: str) -> bool:
        """Return whether ``text`` contains a forgotten text."""
        return self.find(text) is not None

    def find(self, text: str) -> str | None:
        """Return the first forgotten text that ``text`` contains, folded; None when there is none."""
        if not self.stones:
            return None
        plain = fold(text)
        begins = [plain[place : place + MIN_TEXT] for place in range(len(plain))]
        wanted: dict[tuple[str, int], list[Tombstone]] = {}
        for stone in self.stones:
            wanted.setdefault((stone.salt, stone.begin), []).append(stone)
        salts = {stone.salt for stone in self.stones}
        for begin in set(begins) - self._likely.keys():
            self._likely[begin] = [stone for salt in salts for stone in wanted.get((salt, _code(begin, salt)), ())]
        for place, begin in enumerate(begins):
            for stone in self._likely[begin]:
                part = plain[place : place + stone.length]
                if _digest(part, stone.salt) == stone.digest:
                    return part
        return None

    def line_holds(self, line: bytes) -> bool:
        """Return whether a line of JSON has a forgotten text in a string; a line that is not JSON counts as text."""
        if not self.stones:
            return False
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return self.holds(line.decode("utf-8", "replace"))
        return any(self.holds(text) for text in _strings(value))

    def purge(self, text: str) -> str:
        """Return ``text`` without the lines and items that hold a forgotten text; nothing when only several do."""
        if not self.holds(words(text)):
            return text

        def holds(line: str) -> bool:
            return self.holds(row_words(line))

        parts = list(markdown.texts(text.splitlines(keepends=True)))
        rest = "".join("".join(markdown.drop_lines(rows, holds) if holds(" ".join(rows)) else rows) for rows in parts)
        return "" if self.holds(words(rest)) else rest

    def _stone(self, plain: str) -> Tombstone:
        return Tombstone(len(plain), _digest(plain, self.salt), _code(plain[:MIN_TEXT], self.salt), self.salt)

    def _write(self) -> None:
        stored = {"salt": self.salt, "texts": [stone._asdict() for stone in self.stones]}
        files.replace(self.path, json.dumps(stored), mode=PRIVATE)


def _digest(text: str, salt: str, size: int = 16) -> str:
    from hashlib import blake2b  # noqa: PLC0415 (loads OpenSSL, needed only when something was forgotten)

    return blake2b(text.encode("utf-8", "surrogatepass"), key=bytes.fromhex(salt), digest_size=size).hexdigest()


def _code(begin: str, salt: str) -> int:
    return int(_digest(begin, salt, 2), 16) & 0xFFF


def stone_of(stored: Any) -> Tombstone:
    """Return the tombstone in stored JSON; raise KeyError, TypeError or ValueError when it is none."""
    salt = bytes.fromhex(stored["salt"]).hex()
    return Tombstone(int(stored["length"]), str(stored["digest"]), int(stored["begin"]), salt)


def _strings(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value, keys included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += [*each.keys(), *each.values()]
