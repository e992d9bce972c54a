"""Evidence: whether what a sentence says precisely stands in the text it cites.

Identifiers, numbers and quotes can be checked by code; the rest of a sentence is the model's wording. Pure.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"`([^`]+)`")
_QUOTE = re.compile(r"[\"“]([^\"“”]{4,})[\"”]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*(?![\w])")
_NAME = re.compile(
    r"(?<![\w/.])(?:"
    r"(?:[\w.-]*/)+[\w.-]*\w"  # a path
    r"|\w+\.(?:py|js|ts|tsx|rs|go|md|json|toml|yaml|yml|sh|sql|css|html|txt|cfg|ini)\b"  # a file
    r"|[a-z]+\w*_\w+"  # snake_case
    r"|[a-z]+[a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, CamelCase
    r")"
)


def precise(text: str) -> list[str]:
    """The identifiers, numbers and quotes of a text, each once, in order."""
    found = [match[1] for pattern in (_CODE, _QUOTE) for match in pattern.finditer(text)]
    rest = _CODE.sub(" ", _QUOTE.sub(" ", text))
    for pattern in (_NAME, _NUMBER):
        found += [match[0] for match in pattern.finditer(rest)]
        rest = pattern.sub(" ", rest)
    return list(dict.fromkeys(part.strip() for part in found if part.strip()))


def unsupported(claim: str, evidence: str) -> list[str]:
    """What of a claim's identifiers, numbers and quotes the evidence does not hold (case and spaces do not count)."""
    ground = _folded(evidence)
    return [part for part in precise(claim) if _folded(part) not in ground]


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("\\", "").replace("`", "").split())
