"""Evidence: whether the precise parts of a sentence occur in the text that it cites.

Code can check identifiers, numbers and quotes; the rest of a sentence is the model's wording. All functions are pure.
"""

from __future__ import annotations

import re

from memoria.language import identifiers

_QUOTE = re.compile(r"[\"“]([^\"“”]{4,})[\"”]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*")  # with or without a unit: 30, 30s, 8 %, 14:05
_VALUE = re.compile(
    r"(?<![\w/.-])(?:v\d+(?:\.\d+)*\b"  # a version
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b)"  # a commit
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORDS = dict(
    zip(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        map(str, range(13)),
        strict=True,
    )
)
_WORD = re.compile(r"\b(?:" + "|".join(_WORDS) + r")\b")


def precise(text: str) -> list[str]:
    """Return the identifiers, numbers and quotes of a text, each once, in order."""
    found = [*identifiers.MARKED.findall(text), *_QUOTE.findall(text)]
    rest = identifiers.MARKED.sub(" ", _QUOTE.sub(" ", text))
    found += identifiers.NAME.findall(rest)
    rest = identifiers.NAME.sub(" ", rest)
    for pattern in (_VALUE, _NUMBER):
        found += [match[0] for match in pattern.finditer(rest)]
        rest = pattern.sub(" ", rest)
    return list(dict.fromkeys(part.strip() for part in found if part.strip()))


def unsupported(claim: str, evidence: str) -> list[str]:
    """Return those identifiers, numbers and quotes of a claim that the evidence does not contain as whole words.

    The comparison ignores case, spaces and thousands separators, and reads small numbers that are written as words.
    """
    ground = _folded(evidence)
    ground += " " + " ".join(_WORDS[word] for word in _WORD.findall(ground))
    return [part for part in precise(claim) if not _occurs(_folded(part), ground)]


def _occurs(part: str, ground: str) -> bool:
    """Return whether ``part`` occurs in ``ground`` as more than a piece of a longer word or number."""
    before = r"(?<![\d.])" if part[:1].isdigit() else r"(?<!\w)" if part[:1].isalnum() else ""
    after = r"(?![\d]|[.,:]\d)" if part[-1:].isdigit() else r"(?!\w)" if part[-1:].isalnum() else ""
    if part[:1].isdigit():
        before = r"(?<![\w.])(?<!\d[,:])" if part.isdigit() else r"(?<!\w)"
    return re.search(before + re.escape(part) + after, ground) is not None


def _folded(text: str) -> str:
    plain = _THOUSANDS.sub("", text.casefold().replace("\\", "").replace("`", ""))
    return " ".join(plain.split())
