"""Evidence: whether the precise parts of a sentence occur in the text that it cites.

Code can check identifiers, numbers and quotes; the rest of a sentence is the model's wording. A path may stand in two
parts, its folder and its file; a value beside its key; a number must count the same thing (``quantities``). All
functions are pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from memoria.search import comparison, identifiers
from memoria.wiki import quantities
from memoria.wiki.quantities import Evidence

BESIDE = 8  # words between the parts of a command or a dotted name, or between a key and its value

_QUOTE = re.compile(r"[\"“]([^\"“”]{4,})[\"”]")
_NUMBER = re.compile(
    rf"(?<![^\W{quantities.UNSPACED}])(?<!\.)\d+(?:[.,:]\d+)*"
)  # with or without a unit: 30, 30s, 8 %, 14:05
_VALUE = re.compile(
    r"(?<![\w/.-])(?:[vV]\d+(?:\.\w+)*\b"  # a version
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b)"  # a commit
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH}(?: (?P<year>\d{{4}}))?\b", re.IGNORECASE),
    re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}}))?", re.IGNORECASE),
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PIECES = re.compile(r"[^\s=:,;()\[\]{}\"'<>~^]+")
_TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})  # noqa: RUF001
_SIZE = re.compile(r"(\d+(?:[.,:]\d+)*)\s?(?:%|[a-z]{0,3})")  # of a key: 20, 2500k, 280px
_FILE = re.compile(r"(?P<folder>.*[^/])/(?P<file>[\w-]*\.?[\w.-]+)")


def precise(text: str) -> list[str]:
    """Return the identifiers, numbers and quotes of a text, each once, in order."""
    names, dates, numbers = _parts(text)
    return list(dict.fromkeys([*names, *(match[0].strip() for match in dates), *(match[0] for match in numbers)]))


def _at(stream: list[quantities.Token], starts: list[int], place: int) -> quantities.Token | None:
    """Return the token that the character at ``place`` belongs to."""
    number = bisect_right(starts, place) - 1
    return stream[number] if number >= 0 and place - starts[number] < len(stream[number].text) else None


def unsupported(claim: str, evidence: str) -> list[str]:
    """Return those identifiers, numbers and quotes of a claim that the evidence does not hold.

    The comparison ignores case, spaces and thousands separators, and reads small numbers that are written as words.
    """
    ground, known = _folded(evidence), Evidence(evidence)
    names, dates, numbers = _parts(claim)
    stream = quantities.tokens(claim)
    starts = [token.start for token in stream]
    missing = [name for name in names if not _is_held(name, ground, known)]
    missing += [match[0].strip() for match in dates if not _is_day(match, known)]
    missing += _other_letters(claim, evidence)
    for match in numbers:
        token = _at(stream, starts, match.start())
        if token is not None and token.kind == "date":
            missing += [token.text] * (token.text not in known.dates)
        elif token is None or not known.says(token, stream):
            missing.append(match[0])
    return list(dict.fromkeys(missing))


def _other_letters(claim: str, evidence: str) -> list[str]:
    """Return the capitals that say which thing is meant ("queue A") where the text tells of another one only."""
    known = comparison.lettered(evidence)
    named = [(known.get(word, letters), letters) for word, letters in comparison.lettered(claim).items()]
    return [
        letter
        for others, letters in named
        for letter in sorted(letters - others)
        if not re.search(rf"(?<!\w){letter}(?!\w)", evidence)
    ]


def _parts(text: str) -> tuple[list[str], list[re.Match[str]], list[re.Match[str]]]:
    """Return names and quotes, dates, and numbers; each match at its place in the text."""
    found: list[str] = []
    rest = text
    for pattern in (identifiers.MARKED, _QUOTE, identifiers.NAME, _VALUE):
        matches = list(pattern.finditer(rest))
        found += [match[match.lastindex or 0].strip() for match in matches]
        rest = _blanked(rest, matches)
    dates: list[re.Match[str]] = []
    for pattern in _DATES:
        matches = list(pattern.finditer(rest))
        dates += matches
        rest = _blanked(rest, matches)
    return [part for part in dict.fromkeys(found) if part], dates, list(_NUMBER.finditer(rest))


def _blanked(text: str, matches: Iterable[re.Match[str]]) -> str:
    for match in matches:
        text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    return text


def _is_day(match: re.Match[str], known: Evidence) -> bool:
    """Return whether a date stands in the text, in its own form or as ``2026-11-18``."""
    month, day = _MONTHS.index(match["month"][:3].lower()) + 1, int(match["day"])
    return any(date[5:] == f"{month:02}-{day:02}" and match["year"] in (None, date[:4]) for date in known.dates) or any(
        token.forms & {str(day)} and any(other.text[:3].lower() == match["month"][:3].lower() for other in known.tokens)
        for token in known.numbers
    )


def _is_held(part: str, ground: str, known: Evidence) -> bool:
    """Return whether a name or a quote stands in the text, whole or in parts that belong together."""
    plain = _folded(part).removesuffix("()").rstrip(".!?,;")
    if _occurs(plain, ground) or _is_inflected(plain, ground):
        return True
    if "…" in plain or "..." in plain:
        return all(_occurs(piece.strip(" ."), ground) for piece in re.split(r"…|\.\.\.", plain) if piece.strip(" ."))
    if _is_path_of(plain, ground):
        return True
    pieces = _PIECES.findall(plain)
    if len(pieces) == 2 and _occurs(pieces[0], ground):
        number = _SIZE.fullmatch(pieces[1])
        return _is_value_of(number[1], pieces[0], known) if number else _are_near(pieces, ground)
    if len(pieces) == 1 and "/" not in plain and not identifiers.FILE.match(plain):
        pieces = [piece for piece in plain.split(".") if piece]
    return len(pieces) > 1 and _follow(pieces, ground)


def _is_inflected(word: str, ground: str) -> bool:
    """Return whether a plain word stands there in the plural, or is the plural of one that does."""
    if len(word) < 4 or not word.isalpha():
        return False
    return _occurs(word + "s", ground) or (word.endswith("s") and _occurs(word[:-1], ground))


def _is_path_of(path: str, ground: str) -> bool:
    """Return whether a path's folder and its file both stand there, the file without another folder."""
    match = _FILE.fullmatch(path)
    if match is None or " " in path:
        return False
    folder, file = re.escape(match["folder"]), re.escape(match["file"])
    return bool(
        re.search(rf"(?<![\w/.-]){folder}(?![\w-])", ground) and re.search(rf"(?<![\w/.-]){file}(?!\w)", ground)
    )


def _is_value_of(value: str, key: str, known: Evidence) -> bool:
    """Return whether the number stands beside the key, or beside the last word of the key's name."""
    held = [token for token in known.numbers if token.forms & quantities.values(value)]
    words = quantities.tokens(key)
    return known.stand_by(held, words[-1:])


def _follow(pieces: list[str], ground: str) -> bool:
    """Return whether the pieces stand there one after the other, with a few words between them."""
    between = rf"(?:\W+\S+){{0,{BESIDE}}}?\W+"
    return re.search(between.join(_whole(piece) for piece in pieces), ground) is not None


def _are_near(pieces: list[str], ground: str) -> bool:
    """Return whether the two pieces stand there with a few words between them, in whatever order."""
    return _follow(pieces, ground) or _follow(pieces[::-1], ground)


def _occurs(part: str, ground: str) -> bool:
    """Return whether ``part`` occurs in ``ground`` as more than a piece of a longer word or number."""
    return bool(part) and re.search(_whole(part), ground) is not None


def _whole(part: str) -> str:
    before = r"(?<![\d.])" if part[:1].isdigit() else r"(?<!\w)" if part[:1].isalnum() else ""
    after = r"(?![\d]|[.,:]\d)" if part[-1:].isdigit() else r"(?!\w)" if part[-1:].isalnum() else ""
    if part[:1].isdigit():
        before = r"(?<![\w.])(?<!\d[,:])" if part.isdigit() else r"(?<!\w)"
    return before + re.escape(part) + after


def _folded(text: str) -> str:
    plain = _THOUSANDS.sub("", text.casefold().translate(_TYPOGRAPHY).replace("\\", "").replace("`", ""))
    return " ".join(plain.split())
