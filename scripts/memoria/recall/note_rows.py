"""Note rows: statements of the index as the fenced lines that a model is given, and the keys that identify them."""

from __future__ import annotations

from memoria.base import fence
from memoria.base.project import name_beside
from memoria.base.visibility import EVERYWHERE
from memoria.search import layout, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoria.recall.shown_notes import ShownNotes
    from memoria.search.hit import Hit, Statement

NOTE_CHARS = 360  # of a note's text
TITLE_CHARS = 80


def key(statement: Statement) -> str:
    """Return what identifies a statement in the list of those that a session was shown."""
    if statement.hit.kind == "fact":
        return statement.hit.key
    return f"{statement.hit.key} {tokens.code(said(statement.text)):08x}"


def new(statements: Iterable[Statement], shown: ShownNotes) -> list[Statement]:
    """Return the statements that the session was not shown yet, neither as a note nor on its page."""
    keys, page = shown.keys(), shown.page()
    return [each for each in statements if key(each) not in keys and not stands(each, page)]


def rendered(
    chosen: list[Statement], own: str, *, intro: str, most_chars: int, most_notes: int
) -> tuple[list[str], str]:
    """Return the keys of as many whole notes as fit, and the text of at most ``most_chars`` that holds them."""
    lines = ((key(statement), row(statement, own)) for statement in chosen)
    return fitting(lines, intro=intro, most_chars=most_chars, most_notes=most_notes)


def fitting(lines: Iterable[tuple[str, str]], *, intro: str, most_chars: int, most_notes: int) -> tuple[list[str], str]:
    """Return the same of notes that are lines already, given with their keys."""
    room = most_chars - len(intro) - len(fence.fenced("memoria-notes", "")) - 2
    keys: list[str] = []
    rows: list[str] = []
    for name, shown in lines:
        if shown and shown not in rows and len(shown) + 1 <= room and len(keys) < most_notes:
            room -= len(shown) + 1
            rows.append(shown)
            keys.append(name)
    return keys, intro + "\n" + fence.fenced("memoria-notes", "\n".join(rows)) + "\n"


def row(statement: Statement, own: str, *, is_sourced: bool = True) -> str:
    """Return ``- [kind, day, who] title: text (source)``, escaped already so that fencing does not lengthen it.

    The title is left out where the text says it, the project where it is the session's own, and the source unless
    ``is_sourced``.
    """
    hit, text = statement.hit, said(statement.text)
    shown = line(text, NOTE_CHARS)
    if not shown:
        return ""
    where = "" if hit.project in (*EVERYWHERE, own) else name_beside(hit.project, own)
    who = {"user": "the user", "assistant": "Claude"}.get(statement.speaker, "")
    kind = (hit.kind == "fact" and statement.label) or hit.kind
    about = ", ".join(part for part in (kind, _day(hit), who, where) if part)
    is_said = set(tokens.of(hit.title)) <= set(tokens.of(text))
    title = "" if is_said else line(hit.title, TITLE_CHARS)
    source = f" ({line(hit.key, 200)})" if is_sourced else ""
    return f"- [{line(about, 120)}] {title + ': ' if title else ''}{shown}{source}"


def _day(hit: Hit) -> str:
    """Return the day on which a claim was last said as far as it cites its entries, else that of its document."""
    cited = hit.passages[0].rpartition("#^")[0].rpartition("daily/")[2] if hit.kind == "article" else ""
    return cited or hit.date


def said(text: str) -> str:
    """Return a statement without the marks of lists and quotes, ``[kind]`` and what it cites."""
    lines = []
    for line in text.split("\n"):
        row = line.strip()
        while row.startswith(("- ", "* ", "> ")):
            row = row[2:].lstrip()
        if row.startswith("[") and "] " in row[:20]:
            row = row.partition("] ")[2]
        lines.append(" ".join(word for word in row.split() if not layout.block_ids(word)))
    return " ".join(line for line in lines if line)


def stands(statement: Statement, page: str) -> bool:
    """Return whether a page that a session was given shows a statement."""
    return bool(page) and fence.neutral(" ".join(said(statement.text).split())) in page


def line(text: str, most: int) -> str:
    """Return at most ``most`` characters as one escaped line, cut between words where possible."""
    flat = " ".join(fence.visible(text[: 4 * most]).split())
    if len(flat) > most:
        flat = (flat[: flat.rfind(" ", most // 2, most)] if " " in flat[most // 2 : most] else flat[: most - 1]) + "…"
    return fence.neutral(flat)
