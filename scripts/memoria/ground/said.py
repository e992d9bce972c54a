"""What was said in a text that memoria wrote, without the markup, names of fields and keys that it writes of its own.

A word to forget, like "session", a date or the name of a project, is looked for in this, because it stands in the
markers of everything. The forms are those of ``daily/entry.py``, ``wiki/article.py`` and ``statements/fact.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_MARKUP: Final = re.compile(
    r"^<!-- memoria .*|^### (?:Session|Learned) \(\d\d:\d\d\)(?: · [^·]{1,200}(?: · |$))?"
    r"|^\*\*(?:Context|Key Exchanges|Decisions Made|Lessons Learned|Action Items|Learned):\*\*"
    r"|(?<=^- )\[(?:correction|preference|decision|fact|debugging|workaround|operational)\] "
    r"|^- Until \d{4}-\d\d-\d\d: |^  - Since then: "
    r"|\[\[daily/[^\]\n]{0,400}\]\]|[ \t]\^[el]-[0-9a-z]{1,40}[ \t]{0,9}$"
)
_PARTICULARS: Final = re.compile(r"[ \t]+<!-- learned (\{.*\}) -->[ \t]*")
_FIELDS: Final = (  # of records and statements, whose values nobody said
    "id", "kind", "importance", "origin", "project", "also", "session", "time", "last", "seen", "ended", "successor",
    "supersedes", "repetition", "worded", "beside", "day", "entry", "created", "updated",
)  # fmt: skip


def words(text: str) -> str:
    """Return what a record of the exchange, or a log or article, says."""
    if text.startswith("{") and "\n" not in text:
        return _values(text)
    return "\n".join(map(row_words, text.split("\n")))


def row_words(row: str) -> str:
    """Return what a row of a log or article says."""
    found = _PARTICULARS.fullmatch(row.rstrip("\r\n"))
    return _values(found[1]) if found else _MARKUP.sub(" ", row)


def _values(text: str) -> str:
    try:
        return "\n".join(_strings(json.loads(text)))
    except (ValueError, RecursionError):
        return text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _strings(each) if name not in _FIELDS else ()
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
