"""Merge: what stands of an id of which several machines wrote records at once, the same on every machine.

What can be added up is added up. Both wordings stand otherwise: the first under the id, each other one beside it under
an id of its own, which names its machine. Nothing is written for that, so that no two merges can meet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from memoria.daily.entry import SESSION
from memoria.exchange.forms import UNNAMED, prose_part
from memoria.exchange.record import (
    ARTICLE,
    END,
    ENTRY,
    ITEM,
    PLACE,
    PROSE,
    RANDOM,
    STATEMENT,
    Record,
    beside,
    digest_in,
    packed,
    wording,
)  # fmt: skip
from memoria.statements.fact import GLOBAL, ORIGINS
from memoria.wiki.article import HISTORY

Wording = tuple[Record, str, str | None]
"""The record that it comes from, its id, and its text."""


def live(known: Sequence[Record]) -> list[Record]:
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
    standing = live(known)
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
        name = beside(ident, other.digest)
        rows[0] += f" ({other.machine})" if SESSION.fullmatch(rows[0]) and other.machine else ""
        rows[-1] = rows[-1].replace(f"entry={ident.removeprefix('e-')} ", f"{name.replace('e-', 'entry=')} ")
        told.append((other, name, "\n".join([head, *rows])))
    return told


def _statements(ident: str, live: Sequence[Record], known: Sequence[Record]) -> Sequence[Wording]:
    """Return one statement with what was counted of it anywhere, and each other wording as one of its own."""
    told = [(record, json.loads(str(record.text))) for record in live]
    reworded = [pair for pair in told if "worded" in pair[1]]  # what never was is what the others were made of
    (main, first), *others = reworded or told
    whole = _summed(first, [json.loads(record.text) for record in known if record.text])
    found = [(main, ident, packed(whole))]
    for record, other in others:
        text = packed(other | {"beside": f"{ident} {record.machine}".strip()})
        found.append((record, beside(ident, record.digest), text))
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
    return [(live[0], ident, packed(whole))]


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
        if raw and prose_part(raw.lstrip("# ")) != ident.partition("#")[2]:
            raise ValueError("another heading's")  # it would stand beside itself
        heading = f"{raw or f'## {UNNAMED}'} ({other.machine or 'another machine'})"
        text = f"{heading}\t{raw.lstrip('# ')}\n{rest}"
        told.append((other, f"{other.whole}#{prose_part(heading.lstrip('# '))}", text))
    return told


def _summed(first: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
