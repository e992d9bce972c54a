"""Tool notes: what was said about the file, command or symbol that a tool is about to touch.

Looked up when the client is about to edit a file or to run a command, because a rule helps at the decision that it
concerns. Most tool uses touch nothing that any rule names: one prepared file tells, and nothing else is read for them.
Knows the tools' inputs; which statement names what they touch, ``naming_notes`` finds out.
"""

from __future__ import annotations

import os

from memoria.base.paths import expand, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoria.base.paths import Paths
    from memoria.base.settings import Settings
    from memoria.capture import hook

MAX_SYMBOLS = 24
MIN_SYMBOL_CHARS = 6
MAX_FILES = 24  # of a command; each is compared with every word of what may mention it
READ_CHARS = 4_000  # of each text of an edit and of a command
_RUNNERS = (  # what only starts the program that follows
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("pnpm", "exec"), ("npx",), ("sudo",),
    ("time",), ("env",), ("nice",), ("python", "-m"), ("python3", "-m"),
)  # fmt: skip
_READERS = frozenset((  # programs that change nothing, so that nothing is decided
    "awk", "cat", "cd", "diff", "du", "echo", "env", "export", "file", "find", "grep", "head", "jq", "ls", "less",
    "printf", "ps", "pwd", "rg", "sleep", "sort", "stat", "tail", "test", "tree", "true", "uniq", "wc", "which",
))  # fmt: skip
_READING_GIT = frozenset(("blame", "branch", "diff", "log", "ls-files", "rev-parse", "show", "status"))


def pre_tool_use(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the notes that name what an edit or a command touches, or None."""
    tool, given = event.text("tool_name"), event.fields.get("tool_input")
    if not isinstance(given, dict):
        return None
    if settings.notes != "all" or not os.path.exists(paths.index):
        return None
    touched = find_touched(tool, given, event.cwd)
    if not touched.may_be_named(_names(paths.named)):
        return None
    from memoria.recall import naming_notes  # noqa: PLC0415 (most tool uses touch nothing that a rule names)

    return naming_notes.answer(event, settings, paths, touched)


def _names(path: str) -> str:
    """Return the names in all rules, ``""`` while they are not known."""
    try:
        return text_of(path)
    except OSError:
        return ""


class Touched:
    """What a tool use touches: absolute paths as their parts, commands as their words, and symbols."""

    __slots__ = ("commands", "files", "symbols")

    def __init__(self) -> None:
        self.files: list[list[str]] = []
        self.commands: list[list[str]] = []
        self.symbols: list[str] = []

    def may_be_named(self, names: str) -> bool:
        """Return whether texts may mention any of it; ``names`` has what they name (``""``: that is not known)."""
        return not names or any(f"\n{name.casefold()}\n" in names for name in self._names())

    def _names(self) -> Iterator[str]:
        for parts in self.files:
            base = parts[-1]
            yield from ("*", "." + base.rpartition(".")[2], base, base + "s")
            yield from (part + "/" for part in parts)
            yield from base.split()[:1] if " " in base else ()
        for words in self.commands:
            yield words[0]
        yield from self.symbols


def find_touched(tool: str, given: Mapping[str, object], cwd: str) -> Touched:
    """Return what a use of a tool touches; nothing for a tool that is neither an edit nor a command."""
    touched = Touched()
    if tool == "Bash":
        for words in _commands(_text(given, "command")):
            touched.commands.append(words)
            paths = list(filter(_is_path, (word.lstrip(">") for word in words)))
            room = MAX_FILES - len(touched.files)
            touched.files += [parts for word in paths[:room] for parts in [_parts(word, cwd)] if parts]
        return touched
    path = _text(given, "file_path") or _text(given, "notebook_path")
    if parts := _parts(path, cwd) if path else []:
        touched.files.append(parts)
        touched.symbols = _symbols(list(_edit_texts(given)))
    return touched


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value[:READ_CHARS] if isinstance(value, str) else ""


def _edit_texts(given: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts of an edit before and after it; a whole file says nothing about what is being decided."""
    edits = given.get("edits")
    for edit in (given, *(edits if isinstance(edits, list) else ())):
        if isinstance(edit, dict):
            yield _text(edit, "old_string")
            yield _text(edit, "new_string")


def _symbols(texts: Sequence[str]) -> list[str]:
    """Return the identifiers that cannot be words of prose: with an underscore or a capital inside."""
    found: dict[str, None] = {}
    for text in texts:
        words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()
        found.update((word, None) for word in words if len(word) >= MIN_SYMBOL_CHARS and _is_symbol(word))
    return list(found)[:MAX_SYMBOLS]


def _is_symbol(word: str) -> bool:
    if "_" in word.strip("_"):
        return True
    return any(left.islower() and right.isupper() for left, right in zip(word, word[1:]))


def _parts(path: str, cwd: str) -> list[str]:
    whole = os.path.normpath(os.path.join(cwd, expand(path)))
    return [part for part in whole.replace("\\", "/").split("/") if part]


def _is_path(word: str) -> bool:
    """Return whether a word of a command is a path: it holds a slash, or ends in an extension."""
    if word.startswith("-") or "://" in word or "=" in word:
        return False
    stem, _, extension = word.rpartition(".")
    return "/" in word.rstrip("/") or bool(stem and extension.isalnum() and not extension.isdecimal())


def _commands(text: str) -> list[list[str]]:
    """Return the commands of a shell line that may change something, each as its words without what starts it."""
    found = []
    for whole in _split(text.partition("<<")[0]):
        words = _strip_runners(whole)
        if not words or not (words[0][:1].isalnum() or "/" in words[0]):
            continue
        program = words[0].rpartition("/")[2]
        is_reading = program in _READERS or (program == "git" and words[1:2] and words[1] in _READING_GIT)
        if program and not (is_reading and not _writes(words)) and [program, *words[1:]] not in found:
            found.append([program, *words[1:]])
    return found


def _split(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a shell line; what is in quotes is part of a word."""
    words: list[str] = []
    word = quote = ""
    letters = iter(text + "\n")
    for read in letters:
        is_comment = read == "#" and not (quote or word)
        letter = next((later for later in letters if later == "\n"), "\n") if is_comment else read
        if letter == quote:
            quote = ""
        elif letter == "\\" and quote != "'":
            word += next(letters, "").strip("\n")
        elif quote or letter not in " \t\n&|;\"'" or (letter == "&" and word.endswith(">")):
            word += letter
        elif letter in "\"'":
            quote = letter
        else:
            words += [word] if word else []
            word = ""
            if letter not in " \t":
                yield words
                words = []
    yield [*words, word.rstrip("\n")] if word else words


def _writes(words: Sequence[str]) -> bool:
    """Return whether the output of a command goes to a file."""
    targets = [word.lstrip(">") or following for word, following in zip(words, [*words[1:], ""]) if word[:1] == ">"]
    return any(target and not target.startswith(("/dev/", "&")) for target in targets)


def _strip_runners(words: list[str]) -> list[str]:
    while words:
        runner = next((runner for runner in _RUNNERS if tuple(words[: len(runner)]) == runner), ())
        if "=" in words[0] and words[0].partition("=")[0].isidentifier():
            words = words[1:]
        elif runner and len(words) > len(runner):
            words = words[len(runner) :]
            while words and words[0].startswith("-"):
                words = words[1:]
        else:
            break
    return words
