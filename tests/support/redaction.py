"""The labelled set of redaction: invented secrets and look-alikes, in the forms they take in conversations.

``redaction_set.jsonl`` holds one JSON object a line: ``label`` (``secret`` or ``plain``), ``kind``, ``text``; for a
secret also ``form`` and ``secret``, the pieces that stand where the text has ``@@``. A broken bar in a piece keeps
push scanners from taking an invented key for a real one; it is taken out here.

``redaction_second.txt`` to ``redaction_sixth.txt`` were each written before the tables of rules were looked at:
secrets, then look-alikes, one example a line, with ``\\n`` for a line break and ``\\\\n`` for the two characters. No
value stands there: ``«b62:36»`` is 36 letters and digits drawn at run time (``human`` and ``word``: a password as
people make them), and what stands between ``⟦`` and ``⟧`` is a piece that must not survive.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SET = Path(__file__).with_name("redaction_set.jsonl")
_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]")


_LOWER = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ALPHABETS = {
    "hex": _DIGITS + "abcdef",
    "HEX": _DIGITS + "ABCDEF",
    "num": _DIGITS,
    "low": _LOWER + _DIGITS,
    "UP": _LOWER.upper() + _DIGITS,
    "b32": _LOWER.upper() + "234567",
    "b62": _LOWER + _LOWER.upper() + _DIGITS,
    "url": _LOWER + _LOWER.upper() + _DIGITS + "-_",
    "b64": _LOWER + _LOWER.upper() + _DIGITS + "+/",
    "pw": _LOWER + _LOWER.upper() + _DIGITS + "!#%*?^",
}
_WORDS = [
    "correct", "harbor", "velvet", "otter", "spiral", "lantern",
    "maple", "quartz", "anchor", "pepper", "summit", "violin",
]  # fmt: skip
_DRAW = re.compile(r"«(\w+):(\d+)»")
_PIECE = re.compile(r"⟦(.*?)⟧", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """One text and the pieces of it that must not survive (none: the text must stay as it is)."""

    kind: str
    form: str
    text: str
    pieces: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a test is called by."""
        return f"{self.kind}-{self.form}" if self.pieces else f"{self.kind}-{self.text[:40]}"

    def survivors(self, redacted: str) -> list[str]:
        """The pieces of which eight characters in a row are still there (all of a shorter one)."""
        plain = _MARK.sub("\n", redacted)
        return [piece for piece in self.pieces if any(part in plain for part in _parts(piece))]


def _parts(piece: str) -> Iterator[str]:
    size = min(8, len(piece))
    return (piece[at : at + size] for at in range(len(piece) - size + 1))


def examples(label: str) -> list[Example]:
    """All examples with this label."""
    rows = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    return [_example(row) for row in rows if row["label"] == label]


def _example(row: dict[str, object]) -> Example:
    text = str(row["text"]).replace("¦", "")
    listed = row.get("secret", [])
    pieces = tuple(str(piece).replace("¦", "") for piece in listed) if isinstance(listed, list) else ()
    for piece in pieces:
        text = text.replace("@@", piece, 1)
    return Example(str(row["kind"]), str(row.get("form", "")), text, pieces)


def blind(name: str, label: str, seed: int = 7) -> list[Example]:
    """All examples of a set with this label (``secret`` or ``plain``), their values drawn with ``seed``."""
    text = Path(__file__).with_name(f"redaction_{name}.txt").read_text(encoding="utf-8")
    secrets, plain = text.split("== look-alikes\n")
    rows = (secrets if label == "secret" else plain).splitlines()
    return drawn([(row[:30], _unescaped(row)) for row in rows], seed, name)


def _unescaped(row: str) -> str:
    return "\\n".join(part.replace("\\n", "\n") for part in row.split("\\\\n"))


def drawn(rows: list[tuple[str, str]], seed: int, form: str) -> list[Example]:
    """Return the examples of a set in this notation: kinds and templates, whose values are drawn with ``seed``."""
    draw = random.Random(seed)
    return [_of_template(kind, text.replace("¦", ""), form, draw) for kind, text in rows]


def _of_template(kind: str, template: str, form: str, draw: random.Random) -> Example:
    text = _DRAW.sub(lambda found: _value(found[1], int(found[2]), draw), template)
    pieces = tuple(part for found in _PIECE.finditer(text) for part in _lines(found[1]))
    return Example(kind, form, _PIECE.sub(r"\1", text), pieces)


def _lines(piece: str) -> Iterator[str]:
    return (part for part in piece.replace("\\n", "\n").split("\n") if part)


def _value(shape: str, size: int, draw: random.Random) -> str:
    if shape == "words":
        return " ".join(draw.sample(_WORDS, size))
    if shape == "uuid":
        return "-".join(_value("hex", part, draw) for part in (8, 4, 4, 4, 12))
    if shape == "basic":
        return base64.b64encode(f"admin:{_value('pw', size, draw)}".encode()).decode()
    if shape in ("word", "human"):
        return _made_by_a_person(shape, draw)
    if shape == "pw2":
        return _value("pw", size, draw).replace("#", "-").replace("?", "+").replace("%", "~")
    # A password has a capital, a digit and no run of one kind: the first two are set, the rest is drawn.
    start = draw.choice(_LOWER.upper()) + draw.choice(_DIGITS) if shape == "pw" else ""
    return start + "".join(draw.choice(_ALPHABETS[shape]) for _ in range(size - len(start)))


def _made_by_a_person(shape: str, draw: random.Random) -> str:
    one, two, number = draw.choice(_WORDS), draw.choice(_WORDS), draw.randint(10, 2026)
    forms = [f"{one.title()}{draw.choice('!$#&%+=?*')}{number}", f"{one}-{two}-{number}", f"{one.title()}{number}!"]
    forms += [f"{number}{one.title()}{two.title()}!", _value("pw", 13, draw)]
    return f"{one}{number}" if shape == "word" else draw.choice(forms)
