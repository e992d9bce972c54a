"""Record: one line of JSON of what machines exchange.

It has an id, a kind, a text (none when it was deleted), a random *dot*, and the dots that it replaces with all that
those replaced. A dot ends in a digest of its text, so that a text which another has replaced is recognised wherever it
turns up again, such as in an old copy of a file. An id may have parts (``l-7f3a#end``), which live by themselves and
are forgotten together.

What can be added up of several records of one id is added up. Both wordings stand otherwise: the first under the id,
each other one beside it under an id of its own, which names its machine. Nothing is written for that, so that no two
merges can meet.

Records lie in *segments*, files that never change and tell whether they are whole. The name of one is of no account: a
sync program may have renamed a copy. What is not whole, or sealed with another key, stays: it may be on its way.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from memoria.daily.entry import FORGOTTEN, SESSION
from memoria.exchange.keys import Key
from memoria.ground.files import sha256
from memoria.statements.fact import GLOBAL, ORIGINS
from memoria.wiki.article import HISTORY

ENTRY, STATEMENT, END, ITEM = "entry", "statement", "end", "item"
ARTICLE, PLACE, PROSE = "article", "place", "prose"
FORGET: Final = "forget"
UNNAMED: Final = "Notes"  # the heading of a second wording of what a person wrote before the first section
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

    def with_line(self) -> Record:
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
    def root(self) -> str:
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
    def full_digest(self) -> str:
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


def beside_id(ident: str, digest: str) -> str:
    """Return the id under which words of this digest stand beside the first wording."""
    return ident[:2] + sha256(f"{ident} {digest}")[:8]


def prose_id(heading: str) -> str:
    """Return the part of the id of what a person wrote below a heading."""
    return f"p-{sha256(heading.casefold())[:8]}"


def nameless_id(ident: str) -> str:
    """Return the id under which an article is forgotten whose name is to be forgotten too."""
    return f"n-{sha256(ident)[:16]}"


def pack(value: Mapping[str, Any]) -> str:
    """Return values as a text that is the same for the same values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest_in(dot: str) -> str:
    """Return the digest that a dot ends in."""
    return dot[RANDOM:]


def clean_text(record: Record, clean: Callable[[str], str]) -> tuple[str, str]:
    """Return what ``clean`` leaves of a record's text, and before it the id under which that stands."""
    text = str(record.text)
    if record.kind == PROSE:
        head, _, rest = text.partition("\n")
        raw, tab, above = head.partition("\t")
        is_named = clean(raw) == raw  # else, as in the file, it has another heading now
        raw, part = (raw, record.id) if is_named else (f"## {FORGOTTEN}", f"{record.root}#{prose_id(FORGOTTEN)}")
        return part, f"{raw}{tab}{above if clean(above) == above else FORGOTTEN}\n{clean(rest)}"
    if record.kind == STATEMENT:
        with suppress(ValueError, KeyError, TypeError):  # it has no former wordings, or is of a newer version
            told = json.loads(text)
            former = [words for words in told.pop("history") if clean(words) == words]
            text = pack(told | ({"history": former} if former else {}))
    left = clean(text)
    if record.kind == PLACE and left.split("\n")[:2] != text.split("\n")[:2]:
        left = ""  # what is nested below a row says nothing without it
    return record.id, left


def seal(lines: Iterable[str], key: Key | None) -> tuple[str, bytes]:
    """Return the name and the content of a segment with these records."""
    body = "".join(f"{line}\n" for line in sorted(lines)).encode("utf-8", "replace")
    data = _SEALED + key.seal(zlib.compress(body)) if key else _PLAIN + sha256(body)[:16].encode() + b"\n" + body
    return sha256(data)[:16] + ENDING, data


def unseal(data: bytes, key: Key | None) -> list[Record]:
    """Return the records of a segment; none when it is not whole, or another key's, or open where a key is used."""
    head, _, body = data.partition(b"\n")
    if key:
        inside = key.open(data[len(_SEALED) :]) if data.startswith(_SEALED) else None
        body = zlib.decompress(inside) if inside else b""
    elif head != _PLAIN + sha256(body)[:16].encode():
        return []
    with suppress(ValueError):
        return [Record.parse(line) for line in body.decode("utf-8").split("\n") if line]
    return []


# -- what stands of an id of which several machines wrote records at once

Wording = tuple[Record, str, str | None]
"""The record that it comes from, its id, and its text."""


def live_records(known: Sequence[Record]) -> list[Record]:
    """Return those of an id's records whose texts stand, one for each text.

    A text that another of them has replaced before is an old copy, and a text stands above having been deleted. Of two
    with the same words the text decides and not the dot, which other machines may not know: rows of a server have none.
    """
    former = {record.dot: set(map(digest_in, record.over)) for record in known}
    left = [
        record for record in known
        if not any(record.digest in former[other.dot] and other.digest not in former[record.dot]
                   for other in known if other.digest != record.digest)
    ] or list(known)  # fmt: skip
    distinct = {record.digest: record for record in sorted(left, key=lambda record: str(record.text), reverse=True)}
    texts = [record for record in left if distinct[record.digest] is record and record.text is not None]
    return texts or left[:1]


def wordings(ident: str, known: Sequence[Record]) -> list[Record]:
    """Return what stands under an id, then what stands beside it; each replaces what was merged in it.

    Which is the first depends on words alone, also on those that it had before, so that an edit does not change it.
    """
    same: dict[str, set[str]] = {}  # by digest: the dots of all with these words, and of what they replaced
    for record in known:
        same.setdefault(record.digest, set()).update(record.dots)
    standing = live_records(known)
    said = {record.digest: set(map(digest_in, same[record.digest])) for record in standing}
    common = set.intersection(*said.values())
    standing.sort(key=lambda record: (min(said[record.digest] - common, default=""), record.digest))
    first, kind = standing[0], standing[0].kind
    told: Sequence[Wording] = [(first, ident, first.text)]
    if first.text is not None and kind in _MERGED:
        with suppress(ValueError, KeyError, TypeError):  # of a newer version
            told = _MERGED[kind](ident, standing, known)
    apart = {record.digest for record, *_ in told[1:]}
    whole = {dot for digest, dots in same.items() if digest not in apart for dot in dots}
    made = []
    for number, (record, name, text) in enumerate(told):
        dot = record.dot[:RANDOM] + wording(kind, text) if text != record.text else record.dot
        over = tuple(sorted((same[record.digest] if number else whole) - {dot}))
        made.append(Record(name, kind, dot, over, text, record.project, record.machine))
    return made


def _entries(ident: str, live: Sequence[Record], _: object) -> Sequence[Wording]:
    first, *others = live
    told = [(first, ident, str(first.text))]
    for other in others:
        head, _, bare = str(other.text).partition("\n")
        rows = bare.split("\n")
        name = beside_id(ident, other.digest)
        rows[0] += f" ({other.machine})" if SESSION.fullmatch(rows[0]) and other.machine else ""
        rows[-1] = rows[-1].replace(f"entry={ident.removeprefix('e-')} ", f"{name.replace('e-', 'entry=')} ")
        told.append((other, name, "\n".join([head, *rows])))
    return told


def _statements(ident: str, live: Sequence[Record], known: Sequence[Record]) -> Sequence[Wording]:
    """Return one statement with what was counted of it anywhere, and each other wording as one of its own."""
    told = [(record, json.loads(str(record.text))) for record in live]
    reworded = [pair for pair in told if "worded" in pair[1]]  # what never was is what the others were made of
    (main, first), *others = reworded or told
    whole = _sum_counts(first, [json.loads(record.text) for record in known if record.text])
    found = [(main, ident, pack(whole))]
    for record, other in others:
        text = pack(other | {"beside": f"{ident} {record.machine}".strip()})
        found.append((record, beside_id(ident, record.digest), text))
    return found


def _articles(ident: str, live: Sequence[Record], _: object) -> Sequence[Wording]:
    """Return one description of an article with the names of all, and its days; a person's summary is none of it."""
    told = [json.loads(str(record.text)) for record in live]
    whole = told[0] | {
        key: list(dict.fromkeys(name for one in told for name in one[key])) for key in ("aliases", "tags")
    }
    whole |= {"created": min(one["created"] for one in told), "updated": max(one["updated"] for one in told)}
    if any("summary" not in one for one in told):
        whole.pop("summary", None)
    return [(live[0], ident, pack(whole))]


def _places(ident: str, live: Sequence[Record], _: object) -> Sequence[Wording]:
    """Return one place with what a person nested below it on any machine."""
    rows = sorted((str(record.text).split("\n") for record in live), key=lambda rows: rows[0] == HISTORY)
    nested = list(dict.fromkeys(row for each in rows for row in each[2:]))
    text = "\n".join([*rows[0][:2], *nested])
    return [(live[0], ident, text)]


def _prose(ident: str, live: Sequence[Record], _: object) -> Sequence[Wording]:
    """Return each wording of a person's prose, the others under a heading that names their machine."""
    first, *others = live
    told = [(first, ident, str(first.text))]
    for other in others:
        head, _, rest = str(other.text).partition("\n")
        raw = head.partition("\t")[0]
        if raw and prose_id(raw.lstrip("# ")) != ident.partition("#")[2]:
            raise ValueError("another heading's")  # it would stand beside itself
        heading = f"{raw or f'## {UNNAMED}'} ({other.machine or 'another machine'})"
        rows = [heading if row == raw else row for row in rest.split("\n")]
        text = "\n".join([f"{heading}\t{raw.lstrip('# ')}", *rows])
        told.append((other, f"{other.root}#{prose_id(heading.lstrip('# '))}", text))
    return told


def _sum_counts(first: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a statement with what each machine counted of it, in every project where one of them found it."""
    places = list(dict.fromkeys(place for one in all_ for place in (one.get("project", ""), *one.get("also", ()))))
    whole = dict(first)
    for name in ("seen", "last", "importance"):
        whole |= {name: max(found)} if (found := [one[name] for one in all_ if name in one]) else {}
    whole["project"], also = (GLOBAL, []) if GLOBAL in places else (first.get("project", ""), places)
    whole["also"] = [place for place in also if place not in ("", whole["project"])]
    whole["origin"] = min((one.get("origin", "assistant") for one in all_), key=ORIGINS.index)
    return {name: value for name, value in whole.items() if value}


def _ends(ident: str, live: Sequence[Record], _: object) -> Sequence[Wording]:
    """Return the first end of a statement, or a box as closed as on any machine."""
    text = (max if live[0].kind == ITEM else min)(str(record.text) for record in live)
    return [(live[0], ident, text)]


_MERGED: Final[Mapping[str, Callable[[str, Sequence[Record], Sequence[Record]], Sequence[Wording]]]] = {
    ENTRY: _entries, STATEMENT: _statements, END: _ends, ITEM: _ends,
    ARTICLE: _articles, PLACE: _places, PROSE: _prose,
}  # fmt: skip
