"""Tool notes: what was said about the file, command or symbol that a tool is about to touch.

Looked up when the client is about to edit a file or to run a command, because a rule helps at the decision that it
concerns. Most tool uses touch nothing that any rule names: one prepared file tells, and nothing else is read for them.

Compares names and not words: a note is about ``prices.py`` when it says ``prices.py``, a folder that holds it, or its
extension. Knows the tools' inputs; does not know the index (``naming_notes`` does).
"""

from __future__ import annotations

import os

from memoria.base.paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memoria.base.paths import Paths
    from memoria.base.settings import Settings
    from memoria.capture import hook

AGENT_TOOLS = ("Agent", "Task")
KIND = 1  # by something that others share: its folder, its extension, its program
NAME = 2  # by its file name
EXACT = 3  # by its path, its program with the subcommand, or as a symbol
LEVELS = {  # how exactly a note must name what is touched, the kinds of facts and sections that matter most first
    "correction": KIND,
    "preference": KIND,
    "decision": NAME,
    "workaround": NAME,
    "Conventions": EXACT,
    "Decisions": EXACT,
    "Gotchas": EXACT,
    "fact": EXACT,
}

MAX_SYMBOLS = 24
MIN_SYMBOL_CHARS = 6
MAX_COMMANDS = 6
MAX_FILES = 24  # of a command; each is compared with every word of what may mention it
MAX_EDITS = 24  # of one file
READ_CHARS = 4_000  # of each text of an edit and of a command
_COMMON_FILES = frozenset((  # their names stand in many folders, so that a path is needed
    "__init__.py", "__main__.py", "conftest.py", "main.py", "app.py", "utils.py", "setup.py", "index.js", "index.ts",
    "index.tsx", "index.html", "main.js", "main.ts", "main.go", "mod.rs", "lib.rs", "main.rs", "readme.md",
))  # fmt: skip
_RUNNERS = (  # what only starts the program that follows
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("pnpm", "exec"), ("npx",), ("sudo",),
    ("time",), ("env",), ("nice",), ("python", "-m"), ("python3", "-m"),
)  # fmt: skip
_READERS = frozenset((  # programs that change nothing, so that nothing is decided
    "awk", "cat", "cd", "diff", "du", "echo", "env", "export", "file", "find", "grep", "head", "jq", "ls", "less",
    "printf", "ps", "pwd", "rg", "sleep", "sort", "stat", "tail", "test", "tree", "true", "uniq", "wc", "which",
))  # fmt: skip
_READING_GIT = frozenset(("blame", "branch", "diff", "log", "ls-files", "rev-parse", "show", "status"))
_OPENING = "\"'`([{<*"
_CLOSING = "\"'`)]}>*,;:!?."


def pre_tool_use(event: hook.Event, settings: Settings, paths: Paths) -> dict[str, object] | None:
    """Return the notes that name what an edit or a command touches, or None; record the task of a sub-agent."""
    tool, given = event.text("tool_name"), event.fields.get("tool_input")
    if not isinstance(given, dict):
        return None
    if tool in AGENT_TOOLS:
        from memoria.recall import subagent_page  # noqa: PLC0415 (most tool uses start no sub-agent)

        subagent_page.record(event, given, settings, paths)
        return None
    if not settings.tool_notes or not os.path.exists(paths.index):
        return None
    touched = of_tool(tool, given, event.cwd)
    if not touched.may_be_named(_names(paths.named)):
        return None
    from memoria.recall import naming_notes  # noqa: PLC0415 (most tool uses touch nothing that a rule names)

    return naming_notes.answer(event, settings, paths, touched)


def _names(path: str) -> str:
    """Return the names in all rules, ``""`` while they are not known."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Touched:
    """What a tool use touches: absolute paths as their parts, commands as their words, and symbols."""

    __slots__ = ("commands", "files", "symbols")

    def __init__(self) -> None:
        self.files: list[list[str]] = []
        self.commands: list[list[str]] = []
        self.symbols: list[str] = []

    def terms(self) -> list[str]:
        """Return the index terms of which a text that mentions any of it holds at least one."""
        from memoria.search import tokens  # noqa: PLC0415 (as above)

        names = [name for parts in self.files for name in (*parts[-4:], parts[-1].rpartition(".")[2])]
        names += [command[0] for command in self.commands] + self.symbols
        return list(dict.fromkeys(term for name in names for term in tokens.of(name)[-1:]))

    def may_be_named(self, names: str) -> bool:
        """Return whether texts of which ``names`` holds the names (``names_in``; ``""``: not known) may mention it."""
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

    def rank(self, label: str, text: str) -> tuple[int, ...]:
        """Return the place of a statement that names any of it, best first; empty when not exactly enough."""
        level = self.mentioned(text) if label in LEVELS else 0
        return (list(LEVELS).index(label), -level) if level and level >= LEVELS[label] else ()

    def mentioned(self, text: str) -> int:
        """Return how exactly the text mentions any of it: KIND, NAME, EXACT, or 0 when it does not."""
        chunks = [_Chunk(word) for word in text.split()]
        found = [_file_level(chunk.text, parts) for parts in self.files for chunk in chunks]
        found += [_spaced_level(text, parts) for parts in self.files if " " in parts[-1]]
        found += [_command_level(chunks, place, words) for words in self.commands for place in range(len(chunks))]
        symbols = set(self.symbols)
        found += [EXACT for chunk in chunks if symbols and _last_name(chunk.text) in symbols]
        return max(found, default=0)


def names_in(texts: Iterable[str]) -> str:
    """Return the names by which texts may mention something, in lower case, each on a line of its own."""
    found = {name.casefold() for text in texts for word in text.split() for name in _names_of(_Chunk(word).text)}
    return "\n".join(["", *sorted(found - {""}), ""])


def _names_of(chunk: str) -> Iterator[str]:
    yield chunk
    yield _last_name(chunk)
    named = [part for part in chunk.split("/") if part not in ("", ".", "..")] if "/" in chunk else []
    if named:
        yield named[-1] + "/"
        yield named[-1]
    if "*" in chunk:
        yield "*"


class _Chunk:
    """A word of a text without the punctuation around it; ``is_last`` when punctuation follows it."""

    __slots__ = ("is_last", "text")

    def __init__(self, word: str) -> None:
        self.text = word.lstrip(_OPENING).rstrip(_CLOSING)
        self.is_last = word[-1] in _CLOSING
        if self.text.endswith(("'s", "\u2019s")):
            self.text = self.text[:-2]
        if self.text.startswith("./"):
            self.text = self.text[2:]
        head, _, tail = self.text.partition(":")
        if "/" not in tail and "." in head:  # prices.py:12, test_prices.py::test_cents
            self.text = head


def of_tool(tool: str, given: Mapping[str, object], cwd: str) -> Touched:
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
        touched.symbols = _symbols(list(_edited(given)))
    return touched


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value[:READ_CHARS] if isinstance(value, str) else ""


def _edited(given: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts of an edit before and after it; a whole file says nothing about what is being decided."""
    edits = given.get("edits")
    for edit in (given, *(edits[:MAX_EDITS] if isinstance(edits, list) else ())):
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
    whole = os.path.normpath(os.path.join(cwd, expanded(path)))
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
        words = _without_runners(whole)
        if not words or not (words[0][:1].isalnum() or "/" in words[0]):
            continue
        program = words[0].rpartition("/")[2]
        is_reading = program in _READERS or (program == "git" and words[1:2] and words[1] in _READING_GIT)
        if program and not (is_reading and not _writes(words)) and [program, *words[1:]] not in found:
            found.append([program, *words[1:]])
    return found[:MAX_COMMANDS]


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


def _without_runners(words: list[str]) -> list[str]:
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


def _file_level(chunk: str, parts: list[str]) -> int:
    """Return how exactly a word of a text names the file with these parts of a path."""
    base = parts[-1] if parts else ""
    stem, dot, extension = base.rpartition(".")
    if "/" not in chunk:
        if stem and dot and chunk[:1] == "." and chunk[1:] == extension:
            return KIND
        if not dot:  # deploy, LICENSE: a word as well, unless it is written as the file is
            return NAME if base[:1].isupper() and base[1:].islower() and chunk in (base, base + "s") else 0
        return NAME if chunk.casefold() == base.casefold() not in _COMMON_FILES else 0
    named = [part for part in chunk.split("/") if part not in ("", ".", "..")]
    if "*" in chunk:
        from memoria.base import exclude  # noqa: PLC0415 (few rules have one)

        return KIND if exclude.path_fits(parts, ["**", *named]) else 0
    if not named:
        return 0
    if chunk.endswith("/"):
        length = len(named)
        return KIND if any(parts[at : at + length] == named for at in range(len(parts) - length)) else 0
    return EXACT if len(named) > 1 and parts[-len(named) :] == named else 0


def _spaced_level(text: str, parts: list[str]) -> int:
    """Return how exactly a text names a file whose name holds spaces, which is no word of it."""
    said = text.casefold()
    if "/".join(parts[-2:]).casefold() in said:
        return EXACT
    return NAME if parts[-1].casefold() in said else 0


def _command_level(chunks: list[_Chunk], place: int, words: list[str]) -> int:
    """Return how exactly the text at this place names a command: by its program alone, or with a subcommand.

    Another subcommand (``git push`` for ``git commit``) is another command.
    """
    if chunks[place].text != words[0]:
        return 0
    from memoria.search.words import FUNCTION_WORDS  # noqa: PLC0415 (most tool uses are named by no rule)

    following = chunks[place + 1 : place + 3] if not chunks[place].is_last else []
    if following and following[0].is_last:
        following = following[:1]
    if not following or following[0].text.lower() in FUNCTION_WORDS:
        return KIND
    if following[0].text not in words[1:]:
        return 0
    if len(following) > 1 and following[1].text.startswith("-") and following[1].text not in words:
        return 0
    return EXACT


def _last_name(chunk: str) -> str:
    """Return ``parse`` for ``prices.parse()``."""
    return chunk.partition("(")[0].replace("::", ".").rpartition(".")[2]
