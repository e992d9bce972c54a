"""Layout: what the side that writes the index and the side that reads it agree on."""

from __future__ import annotations

from memoria.base.paths import regular
from memoria.search import tokens

VERSION = 21  # of the tables and of how files become documents and terms; an index of another version is rebuilt
SHIFT = 12  # a passage's row is (document << SHIFT) + its ordinal
LAST = (1 << SHIFT) - 1  # the greatest ordinal
HEADS = 2  # ordinals 0 and 1 are the title, and the names with the day
KINDS = ("article", "entry", "fact", "turn")
NOTED = ("article", "entry", "fact")  # a turn holds for its moment: what the user said there may be reversed since
USUAL = 0.5  # importance of a document of which nobody said how much it matters
AGAIN = 1.0  # added to that of a correction that the user had to make again
PREPARED = "prepared"  # in ``facts`` while what rules name is written as the index says it
TOOLS = "tools"  # the label of a turn's tool lines, which are no statements
SUMMARY = "summary"  # the label of an article's summary, which says nothing that its statements do not say
NO_NOTES = (TOOLS, SUMMARY)
ASKED = "?"  # the label of a phrase by which a document is asked for, which is found but not shown; no word
MARKS = (("", 1), ("\u00b2", 2), ("\u2074", 4))  # a term that a passage holds twice, or four times and more, is marked
OWN_BIT = 0x8000  # set in a passage's length when it holds the user's own words
MAX_WORDS = OWN_BIT - 1  # of a passage
_SCOPE = "\u00a7"  # begins a term that says where a passage belongs; no word holds it
NOWHERE = _SCOPE + "nowhere"


def is_current(path: str) -> bool:
    """Return whether the file of an index is of this version, going by its header; an empty or missing one is.

    The version is the four bytes at 60 (https://www.sqlite.org/fileformat.html, "user version").
    """
    try:
        with open(path, "rb", opener=regular) as file:
            header = file.read(64)
    except OSError:
        return True
    return not header or header[60:] == VERSION.to_bytes(4, "big")


def term_mark(term: str, count: int) -> str:
    """Return a term as the index holds it for a passage that contains it so often."""
    return term + next(mark for mark, least in reversed(MARKS) if count >= least)


def kind_term(kind: str) -> str:
    """Return the term that all passages of a kind hold."""
    return _SCOPE + kind


def project_term(project: str) -> str:
    """Return the term that all passages of a project hold."""
    return f"{_SCOPE}{tokens.code(project):08x}"


def block_ids(text: str) -> set[str]:
    """Return the block ids of the statements (``l-7f3a91kd``) and entries (``e-01k9x2``) that a text cites."""
    found = set()
    for part in text.split("#^")[1:]:
        if part[:2] in ("l-", "e-"):
            length = next((place for place, letter in enumerate(part[2:], 2) if not letter.isalnum()), len(part))
            found.add(part[:length])
    return found
