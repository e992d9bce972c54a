"""Question: what a person typed of a prompt, and whether it asks."""

from __future__ import annotations

from memoria.search import tokens
from memoria.search.function_words import QUESTION_PAIRS, QUESTION_WORDS
from memoria.search.statements import is_question, sentences

WORDS = 3  # a prompt with fewer content words ("yes, go on") asks nothing that can be looked up
READ_CHARS = 1_000  # of the prompt's beginning and of its end; pasted text lies in between
DOCUMENT_CHARS = 600  # a longer prompt with headings holds a document, such as a plan, from its first heading on
BEGINNING = 3  # words of a sentence, one of which asks: "in which month"
NEAREST = 2  # parts of a path that say which file is meant
COLUMNS = "    "  # between columns of a table that a program printed, and before code
LETTERS = 0.65  # least share of letters and blanks in a line of prose
_FENCES = ("```", "~~~")
_PASTED = (  # beginnings of lines that a program wrote
    "$ ", "> ", "\u276f", "+++", "---", "@@", "|", "at ", 'File "', "Traceback", "===", "\u2502", "\u251c", "\u2514",
    "\u256d", "\u2570", "\u23fa", "\u23bf", "\u25cf", "If you need specific details from before exiting plan mode",
)  # fmt: skip
_AROUND = "\"'()[]{}<>*_`,.;:!?\u00bf\u00a1"
_ROOTS = ("/", "~/", "./", "../", "@", "`/", "`~/", "'/", '"/', "(/")
_BULLETS = ("- ", "* ", "+ ")
_SHELL_MARKS = frozenset("%$#")


def asks_for_something(prompt: str) -> bool:
    """Return whether a prompt has enough words to be about something: "yes, go on" has not."""
    return len(tokens.of_query(prompt)) >= WORDS


def only_asks(prompt: str) -> bool:
    """Return whether a prompt asks and orders nothing: each of its sentences is a question."""
    told = sentences(prompt)
    return bool(told) and all(map(_asks, told))


def _asks(sentence: str) -> bool:
    """Return whether a sentence asks: by its mark, or by a word that it begins with."""
    if is_question(sentence):
        return True
    first = (word.strip(_AROUND).lower() for word in sentence.split()[:BEGINNING])
    return not QUESTION_WORDS.isdisjoint(first) or any(pair in sentence for pair in QUESTION_PAIRS)


def typed(prompt: str) -> str:
    """Return the ends of a prompt without code blocks, addresses, output of programs, and documents below a heading."""
    lines: list[str] = []
    fence = ""
    for line in prompt.splitlines():
        row = line.strip()
        mark = row[:3]
        if fence or mark in _FENCES:
            fence = "" if fence == mark else fence or mark
            continue
        if mark.startswith("#") and len(prompt) > DOCUMENT_CHARS and row.lstrip("#").startswith(" "):
            break
        if row and not _is_pasted(line[: 2 * READ_CHARS], row[: 2 * READ_CHARS]):
            lines.append(" ".join(_nearest(word) for word in line.split() if not _is_address(word)))
    text = "\n".join(lines)
    return text if len(text) <= 2 * READ_CHARS else f"{text[:READ_CHARS]}\n{text[-READ_CHARS:]}"


def _is_address(word: str) -> bool:
    """Return whether a word is an address, of a page or of a person."""
    before, _, after = word.strip(_AROUND).partition("@")
    is_persons = "." in after and after.rpartition(".")[2].isalpha()
    return "://" in word or (before != "" and (is_persons or (after != "" and word.startswith("<"))))


def _nearest(word: str) -> str:
    """Return a word, of a longer path only the last NEAREST parts; all files of a project share the others."""
    parts = word.rstrip("/").split("/")
    is_path = len(parts) > NEAREST and (word.startswith(_ROOTS) or len(parts) > NEAREST + 1 or "." in parts[-1])
    return "/".join(parts[-NEAREST:]) if is_path else word


def _is_pasted(line: str, row: str) -> bool:
    """Return whether a line looks like code or like what a program printed."""
    if row.startswith(_PASTED) or _is_shell_line(row):
        return True
    is_code = line.startswith((COLUMNS, "\t")) and not row.startswith(_BULLETS)
    if is_code or COLUMNS in row:
        return True
    letters = sum(character.isalpha() or character == " " for character in row)
    return letters < LETTERS * len(row)


def _is_shell_line(row: str) -> bool:
    """Return whether a line begins with a shell's prompt (``ana@host shop %``, ``[lint] $``)."""
    first, *rest = row.split(None, 4)[:4]
    return ("@" in first[1:] or first[0] == "[") and not _SHELL_MARKS.isdisjoint(rest)
