"""Layout: what the side that writes the index and the side that reads it agree on."""

from __future__ import annotations

from memoria.search import tokens

VERSION = 14  # of the tables and of how files become documents and terms; an index of another version is rebuilt
SHIFT = 12  # a passage's row is (document << SHIFT) + its ordinal; ordinals 0 and 1 are the title and the names
KINDS = ("article", "entry", "fact", "turn", "memory")
HISTORY = "history"  # what no longer holds: found only by those who ask for it
USUAL = 0.5  # importance of a document of which nobody said how much it matters
NOTED = 0.45  # that of turns whose conversation a model has noted, since what matters of them stands in the note
PREPARED = "prepared"  # in ``facts`` while what rules name is written as the index says it
TOOLS = "tools"  # the label of a turn's tool lines, which are no statements
PACKED = "turn"  # the kind of which texts and positions are compressed: most of an index, and read by no hook
ASKED = "?"  # the label of a phrase by which a document is asked for, which is found but not shown; no word


def is_current(path: str) -> bool:
    """Return whether the file of an index is of this version, going by its header; an empty or missing one is.

    The version is the four bytes at 60 (https://www.sqlite.org/fileformat.html, "user version").
    """
    try:
        with open(path, "rb") as file:
            header = file.read(64)
    except OSError:
        return True
    return not header or int.from_bytes(header[60:], "big") == VERSION


def scope_terms(project: str, kind: str) -> tuple[str, str]:
    """Return the terms of the index's ``scope`` column, by which a match is limited to a project and a kind."""
    return f"p{tokens.code(project):08x}", "k" + kind


def entry_ids(text: str) -> set[str]:
    """Return the block ids (``e-01k9x2``) of the entries that a text cites."""
    found = set()
    for part in text.split("#^e-")[1:]:
        length = next((place for place, letter in enumerate(part) if not letter.isalnum()), len(part))
        found.add("e-" + part[:length])
    return found
