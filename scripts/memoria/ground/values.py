"""Values: how much a piece of text looks like a secret, by its form alone.

Knows the statistics of characters, and what is written where a secret could stand: placeholders, references, paths,
code, words. Does not know the words around a value: ``named`` asks more of one the less they say.
"""

from __future__ import annotations

import re
from enum import IntEnum
from itertools import pairwise


class Looks(IntEnum):
    """What a value looks like, from what is no secret anywhere to what is nothing else."""

    NOTHING = 0  # too short, a placeholder, a reference, a path, an address, code
    NAME = 1  # an identifier, the name of a type, a host, a measure
    WORDS = 2  # letters or digits alone
    MADE = 3  # words with numbers or signs, as people make passwords
    CODE = 4  # letters and digits that are no words: hashes, ids, keys
    STRONG = 5  # with a sign inside, or as mixed as a random string


_PLACEHOLDER = re.compile(
    r"\[redacted:|[&*!][A-Za-z_-]+$|[$%#<{(]|\*{3}|\.{3}|…|x{4,}|y{4,}|0{6,}$|your|my[_-]|our[_-]|insert|replace"
    r"|change[_-]?(?:me|it|this)|example|dummy|fake|placeholder|redacted|todo|tbd|none$|null|nil$|true|false|undefined"
    r"|process\.env|os\.environ|import\.meta|env\.|secrets?\.|vars?\.|self\.|this\.|config\.|settings\.|props\.|req\."
    r"|str$|string|bytes$|int$|optional|any$|boolean|number|required|erforderlich|obligat|obbligat"
    r"|verplicht|missing|empty|invalid|unset|await$|new$|async$"
    r"|function|return|passw(?:or)?d[_-]?\d{0,4}$|--?[a-z]|[\^~>=v]{0,2}\d+(?:\.[\w*-]+)+$"
    r"|\d{4}-\d\d-\d\d|\d\d:\d\d",  # also an option, a version, a date, a time
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+(?<!\d)[!?]?$"  # a.b.c
)
_PATH = re.compile(r"(?:\.{0,2}/|~|[A-Za-z]:[\\/]|[a-z]+://)")
_TYPE = re.compile(
    r"(?:[A-Z][a-z]+)+(?:\d?(?:[A-Z][a-z]+)+)?(?:[\[<].*)?$|(?i:base|sha|argon)-?\d+"
    r"|[a-z]+(?:_[a-z]+)*(?:_[a-z]+\d{0,3}|_\d)$"
    r"|[A-Z][A-Z\d]*(?:_[A-Z][A-Z\d]*)+$|(?:\w+\.)?[A-Z]\w*(?:Key|Token|Type)$"
    r"|\d[\d.,]*[a-z]{1,4}$|(?i:1password)|[a-z_]+=(?:[a-z.]*|\d+)\]?$"  # a measure, an argument
    r"|[^\s@]+@[^\s@]+\.(?:[a-z]{2,}|\d+)$|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?$",  # an address, a host
    re.ASCII,
)
_SIGNS = re.compile(r"[!@#$%^&*+~?]")
_SIGN_INSIDE = re.compile(r"(?<=.)[!#$%^&*?](?=.)|[#$%^&*]$|^\d{2,}[A-Za-z]{4,}!$")  # not the end of a sentence
_GROUPS = re.compile(r"[a-z]{4}(?:-[a-z]{4}){3}$|(?=\S*\d)[A-Z\d]{4,6}(?:-[A-Z\d]{4,6}){3,7}$")  # to be typed by hand
# A version, an issue, a file, code: seldom in a password, often beside the word.
_OTHER = re.compile(r"\d\.\d|#\d+$|\.[a-z]{1,4}\d?$|[\[\]{}<>/\\|=+]", re.IGNORECASE)


def looks(value: str, *, quoted: bool = False) -> Looks:
    """Return what the value looks like; ``quoted`` ones are literals, in which brackets are no code."""
    if len(value) < 4 or is_placeholder(value) or _is_code(value, quoted=quoted):
        return Looks.NOTHING
    if _TYPE.match(value):
        return Looks.NAME
    if _GROUPS.match(value) or _is_random_letters(value):
        return Looks.STRONG
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if has_digit and has_letter:
        if is_slug(value):
            return Looks.WORDS if "/" in value else Looks.MADE
        is_mixed_up = len(value) >= 10 and is_mixed(re.sub("[_-]", "", value), 0.5)
        is_strong = len(value) >= 8 and not _OTHER.search(value) and (is_mixed_up or _SIGN_INSIDE.search(value))
        return Looks.STRONG if is_strong else Looks.CODE
    is_made = value.isdigit() and len(value) > 5
    is_made = is_made or (_SIGNS.search(value[:-1]) is not None and (has_digit or has_letter))
    return Looks.MADE if is_made else Looks.WORDS


def is_placeholder(value: str) -> bool:
    """Return whether the value stands for a secret: a variable, a mark, "changeme"."""
    return _PLACEHOLDER.match(value) is not None or value.endswith(("...", "…"))


def is_slug(value: str) -> bool:
    """Return whether the value consists of words and numbers, as in ``test-token-1``, and is not random."""
    parts = re.split(r"[-_.:/]", value)
    are_words = all(
        part.isalpha() or part.isdigit() or re.fullmatch(r"[A-Za-z]{3,}\d{1,4}|[A-Za-z]+\d{1,2}", part)
        for part in filter(None, parts)
    )
    return are_words and not is_mixed("".join(parts), 0.35)


def is_mixed(value: str, share: float = 0.3) -> bool:
    """Return whether characters change class (digit, lower, upper, other) as often as in a random string.

    ``share`` is the least share of such changes. It is 0.62 in a random string of letters and digits, and below 0.3 in
    words, camelCase and paths.
    """
    classes = [(each.isdigit(), each.islower(), each.isupper()) for each in value[:256]]
    changes = sum(1 for left, right in pairwise(classes) if left != right)
    return changes >= share * len(classes)


def is_name(value: str) -> bool:
    """Return whether a value of both cases holds words, as names in code do."""
    words = sum(map(len, re.findall("[a-z]{4,}", value)))
    return not value.islower() and words >= 0.4 * len(value)


def _is_code(value: str, *, quoted: bool) -> bool:
    """Return whether the value is an expression, a path or a reference instead of a literal."""
    if _REFERENCE.match(value) and not is_mixed(value):
        return True
    if _PATH.match(value) and not ((quoted and is_mixed(value)) or _is_base64(value)):
        return True
    marks = ("${", "{{", "%s", "{}") if quoted else ("(", "[", "]", "{", "|", "=>", "->")
    return any(mark in value for mark in marks)


def _is_random_letters(value: str) -> bool:
    """Return whether the value is random letters of both cases; names of words have few capitals, at word starts."""
    share = sum(map(str.isupper, value)) / len(value)
    return len(value) >= 10 and re.sub("[_-]", "", value).isalpha() and 0.3 <= share <= 0.7 and is_mixed(value, 0.4)


def _is_base64(value: str) -> bool:
    """Return whether a value that looks like a path is random base64 that happens to begin with a slash."""
    return len(value) >= 16 and value.count("/") <= 3 and "." not in value and is_mixed(value.replace("/", ""), 0.45)
