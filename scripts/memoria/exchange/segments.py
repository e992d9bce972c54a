"""Segments: the files of an exchange. Each holds records, never changes, and tells whether it is whole.

A file's name is of no account: a sync program may have renamed a copy. What is not whole, or sealed with another key,
is left alone, because it may be on its way.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from memoria.exchange.keys import Key
from memoria.exchange.record import Record
from memoria.ground.files import sha256

_PLAIN, _SEALED = b"memoria records ", b"memoria sealed\n"
ENDING = ".records"


def sealed(lines: Iterable[str], key: Key | None) -> tuple[str, bytes]:
    """Return the name and the content of a segment with these records."""
    body = "".join(f"{line}\n" for line in sorted(lines)).encode("utf-8", "replace")
    data = _SEALED + key.seal(zlib.compress(body)) if key else _PLAIN + sha256(body)[:16].encode() + b"\n" + body
    return sha256(data)[:16] + ENDING, data


def opened(data: bytes, key: Key | None) -> list[Record] | None:
    """Return the records of a segment, None when it is not whole, or another key's, or open where a key is used."""
    if key:
        packed = key.open(data[len(_SEALED) :]) if data.startswith(_SEALED) else None
        if packed is None:
            return None
        body = zlib.decompress(packed)
    else:
        head, _, body = data.partition(b"\n")
        if head != _PLAIN + sha256(body)[:16].encode():
            return None
    try:
        return [Record.parse(line) for line in body.decode("utf-8").split("\n") if line]
    except ValueError:
        return None
