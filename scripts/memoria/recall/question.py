"""Question: what a prompt asks, taken apart into its topics, without what was only pasted into it."""

from __future__ import annotations

from memoria.language.function_words import QUESTION_PAIRS, QUESTION_WORDS
from memoria.language.stop_words import MINOR_CHARACTERS, MINOR_OF_LANGUAGES, MINOR_PAIRS, MINOR_WORDS
from memoria.search import tokens
from memoria.search.statements import CLOSING, ENDS, FULL_STOPS, is_question

WORDS = 3  # a prompt with fewer content words ("yes, go on") asks nothing that can be looked up
READ_CHARS = 1_000  # of the prompt's beginning and of its end; pasted text lies in between
MAX_WORDS = 32  # content words to search for, to bound the cost of a long prompt
PART_WORDS = 10  # content words in a part; a sentence with no more is one part
STEP_WORDS = 4  # a longer sentence is split into windows of twice as many words, moved by this step
DOCUMENT_CHARS = 600  # a longer prompt with headings holds a document, such as a plan, from its first heading on
SHORT_NUMBER = 2  # digits of a number that stands in so many texts that it says little
BEGINNING = 3  # words of a sentence, one of which asks: "in which month"
SPOKEN = 0.15  # least share of a prompt's words that are function words of the language it is written in
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


def parts_of(prompt: str) -> list[str]:
    """Return the sentences of a prompt, long ones as windows; ``[]`` when it has too few content words.

    Takes pieces from the beginning and the end in turn, up to MAX_WORDS, since the question stands in one of the two.
    """
    prompt = typed(prompt)
    whole = [prompt] if len(prompt) <= 2 * READ_CHARS else [prompt[:READ_CHARS], prompt[-READ_CHARS:]]
    pieces = [piece for text in whole for piece in _pieces(text)]
    if len(tokens.of_query(" ".join(pieces))) < WORDS:
        return []
    first: list[str] = []
    last: list[str] = []
    words: set[str] = set()
    while pieces:
        ahead = len(first) <= len(last)
        piece = pieces.pop(0 if ahead else -1)
        words.update(tokens.of_query(piece))
        if len(words) > MAX_WORDS and first:
            break
        (first if ahead else last).append(piece)
    return first + last[::-1]


def topics_of(parts: list[str]) -> list[str]:
    """Return the parts of a prompt that can be looked up each by itself; all as one when none can."""
    return [part for part in parts if len(tokens.of_query(part)) >= WORDS] or [" ".join(parts)]


def has_question(parts: list[str]) -> bool:
    """Return whether one of the sentences of a prompt asks: by its mark, or by a word that it begins with."""
    return any(map(_asks, parts))


def only_asks(parts: list[str]) -> bool:
    """Return whether a prompt asks and orders nothing: each of its sentences is a question."""
    return bool(parts) and all(map(_asks, parts))


def _asks(part: str) -> bool:
    if is_question(part):
        return True
    first = (word.strip(_AROUND).lower() for word in part.split()[:BEGINNING])
    return not QUESTION_WORDS.isdisjoint(first) or any(pair in part for pair in QUESTION_PAIRS)


def minor_terms(parts: list[str]) -> set[str]:
    """Return the terms that say little of what a prompt is about.

    Those are of words that stand in any order or any program's errors, particles, endings of files, and short numbers.
    """
    words = {word.strip(_AROUND) for part in parts for word in part.split()}
    said = [word.lower() for word in words]
    spoken = [held for held in MINOR_OF_LANGUAGES if sum(map(held.__contains__, said)) >= SPOKEN * len(said)]
    little = MINOR_WORDS.union(*spoken)
    minor = {term for word in words if word.lower() in little for term in tokens.of(word)}
    endings = {word.rpartition(".")[2].lower() for word in words if "." in word[1:-1]}
    terms = {term for word in words for term in tokens.of(word)}
    return minor | {term for term in terms if term in endings or _is_short_number(term) or _is_minor_pair(term)}


def _is_minor_pair(term: str) -> bool:
    """Return whether a term is a pair of Chinese or Japanese characters that names nothing."""
    if term.isascii() or len(term) != 2:
        return False
    has_hiragana = any("\u3041" <= character <= "\u309f" for character in term)  # a particle or an ending
    return has_hiragana or term in MINOR_PAIRS or not MINOR_CHARACTERS.isdisjoint(term)


def _is_short_number(term: str) -> bool:
    return term.isdecimal() and len(term) <= SHORT_NUMBER


def typed(prompt: str) -> str:
    """Return a prompt without code blocks, addresses, output of programs, and documents below a heading."""
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
    return "\n".join(lines)


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


def _pieces(text: str) -> list[str]:
    """Return the sentences or lines, joined until they hold WORDS content words, and windows of long ones."""
    found: list[str] = []
    held: list[str] = []
    places: list[int] = []  # position in ``held`` of the word of each term; an identifier gives several
    for sign in FULL_STOPS:
        text = text.replace(sign, sign + "\n")
    for line in text.splitlines():
        words = line.split()
        for number, word in enumerate(words, 1):
            places += [len(held)] * len(tokens.of(word))
            held.append(word)
            ends = number == len(words) or word.rstrip(CLOSING).endswith(ENDS)
            if ends and len(places) >= WORDS:
                found += _windows(held, places)
                held, places = [], []
    if places:
        found.append(" ".join(held))
    return found


def _windows(words: list[str], places: list[int]) -> list[str]:
    if len(places) <= PART_WORDS:
        return [" ".join(words)]
    starts = range(0, len(places) - STEP_WORDS, STEP_WORDS)
    spans = [places[start : start + 2 * STEP_WORDS] for start in starts]
    windows = [" ".join(words[span[0] : span[-1] + 1]) for span in spans]
    windows[-1] = " ".join(words[spans[-1][0] :])  # to the sentence's end, which may ask
    return list(dict.fromkeys(windows))
