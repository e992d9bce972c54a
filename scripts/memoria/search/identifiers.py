"""Identifiers: find the names of code in a text (paths, files, options, ``snake_case``, ``CamelCase``)."""

from __future__ import annotations

from memoria.base.pattern import Pattern

_SUFFIXES = "py|ts|tsx|js|jsx|go|rs|rb|java|c|h|cpp|md|json|toml|ya?ml|sql|sh|lock|html|css|txt|log|cfg|ini"  # of files
_MARKED = r"`[^`\n]{2,80}`"  # marked as code by the writer
_NAMES = (
    r"(?<![\w/@-])(?!//)(?:"
    r"(?:~|\.{1,2})?/[\w/.-]{0,300}\w|(?<!\.)@?(?:[\w.-]+/){2,}[\w.-]*\w|@[\w.-]+/[\w.-]*\w"  # paths, but not "and/or"
    r"|(?<!\.)[\w-]+(?:/[\w-]+)*/[\w-]*\.\w+"  # paths of two parts, with a suffix
    rf"|[\w-]{{1,80}}\.(?:{_SUFFIXES})\b"  # files
    r"|--[a-z][\w-]*"  # options
    r"|[A-Za-z]\w*_\w+"  # snake_case, CONSTANTS
    r"|[a-z][a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, CamelCase
    r"|[A-Z]{2,}[a-z]{2,}\w*"  # SQLite
    r")"
)
NAME = Pattern(_NAMES)
_IN_PROSE = Pattern(f"{_MARKED}|{_NAMES}")


def find(text: str) -> list[str]:
    """Return the names that a reader might search for, and the text marked as code; in order, each once."""
    found: dict[str, None] = {}
    for match in _IN_PROSE.finditer(text):
        name = match.group().strip("`").strip()
        if len(name) > 2 and any(character.isalpha() for character in name):
            found[name] = None
    return list(found)
