"""Record: one line of JSON of what machines exchange.

It has an id, a kind, a text (none when it was deleted), a random *dot*, and the dots that it replaces with all that
those replaced. A dot ends in a digest of its text, so that a text which another has replaced is recognised wherever it
turns up again, such as in an old copy of a file. An id may have parts (``l-7f3a#end``), which live by themselves and
are forgotten together.

Records lie in *segments*, files that never change and tell whether they are whole. The name of one is of no account: a
sync program may have renamed a copy. What is not whole, or sealed with another key, stays: it may be on its way.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from memoria.exchange.keys import Key
from memoria.ground.files import sha256

ENTRY, STATEMENT, END, ITEM = "entry", "statement", "end", "item"
ARTICLE, PLACE, PROSE = "article", "place", "prose"
FORGET: Final = "forget"
GONE: Final = "-"  # the digest of no text
ENDING: Final = ".records"  # of a segment's name
_PLAIN, _SEALED = b"memoria records ", b"memoria sealed\n"
RANDOM: Final = 16  # digits of a dot before the digest
_ESCAPE: Final = re.compile(r"\\(?=[^0-9A-Za-z\s])")
_FORM: Final = re.compile(r"(?m)^\s*[-*+]\s+|\s+|(?<!\w)[*_]+|[*_]+(?!\w)")
_KEYS: Final = {"id": "i", "kind": "k", "dot": "d", "over": "o", "text": "t", "project": "p", "machine": "m"}


@dataclass(frozen=True, slots=True)
class Record:
    """One record; ``line`` is its JSON as it came, which is how it is carried on."""

    id: str
    kind: str
    dot: str
    over: tuple[str, ...] = ()
    text: str | None = None
    project: str = ""
    machine: str = ""
    line: str = ""

    @classmethod
    @lru_cache(maxsize=4096)  # while a file is written, its few records are asked for some thirty times
    def parse(cls, line: str) -> Record:
        """Return the record of a line; raise ValueError when it is none."""
        found = json.loads(line)
        if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in "ikd"):
            raise ValueError("no record")
        over, text = found.get("o", ()), found.get("t")
        if not isinstance(over, list | tuple) or not (text is None or isinstance(text, str)):
            raise ValueError("no record")
        project, machine = (str(found.get(key, "")) for key in "pm")
        return cls(found["i"], found["k"], found["d"], tuple(map(str, over)), text, project, machine, line)

    def written(self) -> Record:
        """Return the record with its line."""
        pairs = ((key, getattr(self, name)) for name, key in _KEYS.items())
        line = json.dumps({key: value for key, value in pairs if value}, ensure_ascii=False, separators=(",", ":"))
        return Record(self.id, self.kind, self.dot, self.over, self.text, self.project, self.machine, line)

    @property
    def digest(self) -> str:
        """The digest of what its text says, by which an old copy is recognised."""
        return digest_in(self.dot)

    @property
    def dots(self) -> tuple[str, ...]:
        """Its dot with all that it replaces."""
        return (self.dot, *self.over)

    @property
    def whole(self) -> str:
        """The id without its part."""
        return self.id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Piece:
    """What a file holds of one id; ``follows``: where memoria moved it, which is as good as where its record says."""

    id: str
    kind: str
    text: str
    project: str = ""
    follows: bool = False

    @property
    def full(self) -> str:
        """The digest by which it is compared with a record."""
        return digest_of(self.text) if self.kind == STATEMENT else self.digest

    @property
    def digest(self) -> str:
        """The digest by which an old copy of it is recognised."""
        return wording(self.kind, self.text)


def digest_of(text: str | None) -> str:
    """Return the eight digits by which a text is compared; ``GONE`` for none.

    What a formatter changes does not count: white space, the signs of lists and emphasis, and escapes.
    """
    return GONE if text is None else sha256(_FORM.sub("", _ESCAPE.sub("", text)))[:8]


def wording(kind: str, text: str | None) -> str:
    """Return the digest that tells an old copy of a record's text from a new wording.

    It is that of the words of a statement, and of an entry or a section without its place.
    """
    if text and kind == STATEMENT:
        with suppress(ValueError, KeyError, TypeError):  # of a newer version
            return digest_of(str(json.loads(text)["content"]))
    if text and kind in (ENTRY, PROSE):
        head, _, bare = text.partition("\n")
        first = head[:10] if kind == ENTRY else head.partition("\t")[0]
        text = f"{first}\n{bare}"
    return digest_of(text)


def without_wordings(text: str, clean: Callable[[str], str]) -> str:
    """Return a statement's text without the former wordings that ``clean`` changes."""
    with suppress(ValueError, KeyError, TypeError):  # it has none, or is of a newer version
        stored = json.loads(text)
        left = [words for words in stored.pop("history") if clean(words) == words]
        return packed(stored | ({"history": left} if left else {}))
    return text


def beside(ident: str, digest: str) -> str:
    """Return the id under which words of this digest stand beside the first wording."""
    return ident[:2] + sha256(f"{ident} {digest}")[:8]


def nameless(ident: str) -> str:
    """Return the id under which an article is forgotten whose name is to be forgotten too."""
    return f"n-{sha256(ident)[:16]}"


def packed(value: Mapping[str, Any]) -> str:
    """Return values as a text that is the same for the same values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest_in(dot: str) -> str:
    """Return the digest that a dot ends in."""
    return dot[RANDOM:]


def sealed(lines: Iterable[str], key: Key | None) -> tuple[str, bytes]:
    """Return the name and the content of a segment with these records."""
    body = "".join(f"{line}\n" for line in sorted(lines)).encode("utf-8", "replace")
    data = _SEALED + key.seal(zlib.compress(body)) if key else _PLAIN + sha256(body)[:16].encode() + b"\n" + body
    return sha256(data)[:16] + ENDING, data


def opened(data: bytes, key: Key | None) -> list[Record]:
    """Return the records of a segment; none when it is not whole, or another key's, or open where a key is used."""
    head, _, body = data.partition(b"\n")
    if key:
        inside = key.open(data[len(_SEALED) :]) if data.startswith(_SEALED) else None
        body = zlib.decompress(inside) if inside else b""
    elif head != _PLAIN + sha256(body)[:16].encode():
        return []
    try:
        return [Record.parse(line) for line in body.decode("utf-8").split("\n") if line]
    except ValueError:
        return []
