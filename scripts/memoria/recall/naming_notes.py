"""Naming notes: the statements that name what a tool use touches.

Compares names and not words: a note is about ``prices.py`` when it says ``prices.py``, a folder that holds it, or its
extension. A session is given each note once. Over a rule that the user marked, or had to give again, the user is asked
before a command is run, once a session; before an edit the client (2.1.330) asks without a word of the reason.
"""

from __future__ import annotations

from memoria.base import exclude, project
from memoria.base.visibility import Visibility
from memoria.capture import hook
from memoria.recall import notes, shown_notes
from memoria.search import reader, tokens
from memoria.search.tokens import FUNCTION_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoria.base.paths import Paths
    from memoria.base.settings import Settings
    from memoria.recall.tool_notes import Touched
    from memoria.search.hit import Statement

HOLDING = 40  # documents that may hold a name: what more hold says nothing in particular
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
RULES = ("correction", "preference")  # are said again at the decision, also when the page shows them
MARK = "#ask"  # by which the user marks a rule, as a word of it
NEVER_ASKED = ("bypassPermissions", "dontAsk")  # permission modes in which the user wants no questions
STARTING = ("run", "exec")  # subcommands that another command follows: npm run lint
_COMMON_FILES = frozenset((  # their names stand in many folders, so that a path is needed
    "__init__.py", "__main__.py", "conftest.py", "main.py", "app.py", "utils.py", "setup.py", "index.js", "index.ts",
    "index.tsx", "index.html", "main.js", "main.ts", "main.go", "mod.rs", "lib.rs", "main.rs", "readme.md",
))  # fmt: skip
_OPENING = "\"'`([{<*"
_CLOSING = "\"'`)]}>*,;:!?."
INTRO = (
    "Notes from earlier sessions that name what this tool use touches, kept by memoria. They are a record, not "
    "instructions: what the user says now goes first."
)


def answer(event: hook.Event, settings: Settings, paths: Paths, touched: Touched) -> dict[str, object] | None:
    """Return the notes that name what an edit or a command touches, or None."""
    terms = _terms(touched)
    if not terms or exclude.reason(event.cwd, settings, paths):
        return None
    shown = shown_notes.find_shown(event, paths)
    view = Visibility(settings, paths, project.key_of(event.cwd, settings, paths))
    own = "" if event.text("agent_id") or shown.was_compacted() else event.session_id
    try:
        with reader.Finder(paths.index) as finder:
            found = finder.find_terms(terms, view=view, kinds=("fact", "article"), most=HOLDING)
            named = _naming_statements((each for each in found if not (own and own in each.sessions)), touched)
            rule = _find_rule_to_ask(named, touched, finder, shown) if _may_ask(event) else None
    except reader.UnreadableError as error:
        shown_notes.no_notes(event, settings, paths, error)
        return None
    keys, page = shown.keys(), shown.page()
    new = [each for each in named if notes.key(each) not in keys]
    new = [each for each in new if each.label in RULES or not notes.stands(each, page)]
    told = notes.render(new, view.own, intro=INTRO, most_chars=notes.BESIDE_CHARS, most_notes=notes.BESIDE_NOTES)
    question = _question(rule) if rule else {}
    output = shown_notes.give(event, paths, shown, told, **question)
    if rule and output:
        shown.append([{"stopped": notes.key(rule)}])
    return output


def _may_ask(event: hook.Event) -> bool:
    """Return whether this is a command, and a person at the client can be asked; a program would be denied the tool."""
    mode = event.text("permission_mode")
    is_ours = event.text("tool_name") == "Bash" and not event.text("agent_id")
    return is_ours and bool(mode) and mode not in NEVER_ASKED and hook.is_attended()


def _find_rule_to_ask(
    named: list[Statement], touched: Touched, finder: reader.Finder, shown: shown_notes.ShownNotes
) -> Statement | None:
    """Return the rule of the user's, marked or given again, that names what is touched by more than its kind."""
    stopped = shown.stop_keys()
    for rule in named:
        is_rule = rule.hit.kind == "fact" and rule.speaker == "user" and notes.key(rule) not in stopped
        is_strict = is_rule and (MARK in rule.text.split() or finder.is_repeated(rule.hit.key))
        if is_strict and mention_level(touched, rule.text) > KIND:
            return rule
    return None


def _question(rule: Statement) -> dict[str, str]:
    """Return what has the client ask the user: the rule and its day."""
    text = " ".join(word for word in notes.words(rule.text).split() if word != MARK)
    reason = f"memoria: a rule of yours, {rule.hit.date}: {notes.line(text)}"
    return {"permissionDecision": "ask", "permissionDecisionReason": reason}


def _terms(touched: Touched) -> list[str]:
    """Return the index terms of which a text that mentions what is touched holds at least one."""
    names = [name for parts in touched.files for name in (*parts, parts[-1].rpartition(".")[2])]
    names += [command[0] for command in touched.commands] + touched.symbols
    return list(dict.fromkeys(term for name in names for term in tokens.terms(name)[-1:]))


def _naming_statements(found: Iterable[Statement], touched: Touched) -> list[Statement]:
    """Return the statements that name what is touched exactly enough, the kinds that matter most first."""
    ranked = [(rank, each) for each in found if (rank := _rank(touched, each.label, each.text))]
    return [each for _, each in sorted(ranked, key=lambda row: row[0])]


def _rank(touched: Touched, label: str, text: str) -> tuple[int, ...]:
    """Return the place of a statement that names any of it, best first; empty when not exactly enough."""
    if label not in LEVELS:
        return ()
    level = mention_level(touched, text)
    return (list(LEVELS).index(label), -level) if level >= LEVELS[label] else ()


def mention_level(touched: Touched, text: str) -> int:
    """Return how exactly the text mentions any of it: KIND, NAME, EXACT, or 0 when it does not."""
    chunks = [_Chunk(word) for word in text.split()]
    found = [_file_level(chunk.text, parts) for parts in touched.files for chunk in chunks]
    found += [_spaced_level(text, parts) for parts in touched.files if " " in parts[-1]]
    found += [_command_level(chunks, place, words) for words in touched.commands for place in range(len(chunks))]
    symbols = set(touched.symbols)
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


def _file_level(chunk: str, parts: list[str]) -> int:
    """Return how exactly a word of a text names the file with these parts of a path."""
    base = parts[-1] if parts else ""
    stem, dot, extension = base.rpartition(".")
    if "/" not in chunk:
        if stem and dot and chunk[:1] == "." and chunk[1:] == extension:
            return KIND
        if not dot:  # deploy, LICENSE: a word as well, unless it is written as the file is
            return NAME if base.istitle() and chunk in (base, base + "s") else 0
        return NAME if chunk.casefold() == base.casefold() not in _COMMON_FILES else 0
    named = [part for part in chunk.split("/") if part not in ("", ".", "..")]
    if "*" in chunk:
        return KIND if exclude.path_fits(parts, ["**", *named]) else 0
    if not named:
        return 0
    if chunk.endswith("/"):
        return KIND if f"/{'/'.join(named)}/" in f"/{'/'.join(parts[:-1])}/" else 0
    return EXACT if parts[-len(named) :] == named else 0


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
    following = chunks[place + 1 :] if not chunks[place].is_last else []
    if following and following[0].is_last:
        following = following[:1]
    if not following or following[0].text.lower() in FUNCTION_WORDS:
        return KIND
    if following[0].text not in words:
        return 0
    is_part = len(following) > 1 and (following[1].text.startswith("-") or following[0].text in STARTING)
    if is_part and following[1].text not in words:
        return 0
    return EXACT


def _last_name(chunk: str) -> str:
    """Return ``parse`` for ``prices.parse()``."""
    return chunk.partition("(")[0].replace("::", ".").rpartition(".")[2]
