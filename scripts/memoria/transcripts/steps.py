"""Steps: what happened in a stretch of a session, in order, as a model is told it.

A turn's tool lines say all that identifies their uses, for the archive and for what reads single turns. A model reads
a whole stretch at once, so what stands there already is left out: the project's folder before a path, an identifier of
an edit that a text or an earlier edit names, a file read again or edited later, a to-do list before the last one. Of a
long text that was not the assistant's last word, the middle is left out but for its identifiers. A failed use is
followed by its error. Knows turns; reads no transcript.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from memoria.search import identifiers
from memoria.transcripts import answers
from memoria.transcripts.tool_lines import EDITORS, is_memory
from memoria.transcripts.turn import Exchange, Turn

Step = tuple[str, str]  # what it is (``user``, ``assistant``, ``tool``, ``error`` or ``note``) and its text

MAX_SAID: Final = 700  # characters of a sub-agent's report, and of what the assistant said before its last words
MAX_TOOL: Final = 300  # characters of a command or of a sub-agent's order; longer ones carry a file or a script
_COMMIT: Final = re.compile(r"(?:.*(?:&&|;)\s*)?(?:git commit|gh pr)\b", re.DOTALL)  # its message says why
_CARRIERS: Final = ("Agent", "Bash", "SendMessage", "Task")
_WORD: Final = re.compile(r"[\w$@-]+(?:[./:]+[\w$@-]+)*")
_PART: Final = re.compile(r"[\w$@-]{3,}")


@dataclass(slots=True)
class _Use:
    """One tool use: its name, what it names first (a path), the rest of its line, and its errors."""

    name: str
    target: str
    rest: str = ""
    errors: list[str] = field(default_factory=list)

    @property
    def is_edit(self) -> bool:
        return self.name in EDITORS and not is_memory(self.target)

    def steps(self) -> list[Step]:
        if not self.name:
            return []
        line = f"{self.name} {self.target}".strip() + (f": {self.rest}" if self.rest else "")
        return [("tool", line), *(("error", text) for text in self.errors)]


def of(exchanges: Sequence[Exchange], folder: str = "") -> list[list[Step]]:
    """Return the steps of each exchange; paths below ``folder`` (default: the first that a turn names) are relative."""
    root = folder or next((turn.cwd for part in exchanges for turn in part.turns if turn.cwd), "")
    shorten = _shortener(root)
    told = [list(_items(part.turns, shorten)) for part in exchanges]
    items = [item for part in told for item in part]
    _leave_out(items)
    return [[step for item in part for step in ([item] if isinstance(item, tuple) else item.steps())] for part in told]


def _items(turns: Sequence[Turn], shorten: Callable[[str], str]) -> Iterator[_Use | Step]:
    """Yield texts and tool uses in order; an error that names its use goes to it."""
    uses: dict[str, _Use] = {}
    last = next((turn for turn in reversed(turns) if turn.role == "assistant" and turn.text), None)
    for turn in turns:
        if turn.role == "error":
            text = shorten(turn.text)
            use = uses.get(turn.uses[0]) if len(turn.uses) == 1 else None
            if use:
                use.errors.append(text)
            else:
                yield "error", text
            continue
        if turn.text:
            yield turn.role, _shorter(turn) if turn.role == "assistant" and turn is not last else turn.text
        for number, line in enumerate(turn.tools):
            use = _use(shorten(line))
            if number < len(turn.uses):
                uses[turn.uses[number]] = use
            yield use


def _shorter(turn: Turn) -> str:
    """Return what was said on the way, of a long text both ends and the identifiers between them; a plan is whole."""
    is_plan = any(line.startswith(answers.PLANS) for line in turn.tools)
    return turn.text if is_plan else _ends(turn.text, MAX_SAID)


def _ends(text: str, most: int) -> str:
    """Return both ends of a text longer than ``most`` characters, and the identifiers between them."""
    if len(text) <= most:
        return text
    half = most // 2
    names = " ".join(dict.fromkeys(identifiers.in_prose(text[half:-half])))
    space = "\n" if "\n" in text else " "
    between = f"… {names} …" if names else "…"
    short = f"{text[:half]}{space}{between}{space}{text[-half:]}"
    return short if len(short) < len(text) else text


def _use(line: str) -> _Use:
    name, _, rest = line.partition(" ")
    if name not in EDITORS:
        return _Use(name, _ends(rest, MAX_TOOL) if name in _CARRIERS and not _COMMIT.match(rest) else rest)
    target, _, names = rest.partition(": ")
    return _Use(name, target, names)


def _shortener(root: str) -> Callable[[str], str]:
    """Return what takes the project's folder from the paths of a line."""
    bare = root.rstrip("/\\")
    if not bare or bare.endswith(":"):  # the root of a disk
        return str
    begins = re.compile(rf"^Bash cd ['\"]?{re.escape(bare)}['\"]?\s*(?:&&|;)\s*")
    before = re.compile(rf"(?<![\w./\\-]){re.escape(bare)}[/\\]")

    def shorten(text: str) -> str:
        return before.sub("", begins.sub("Bash ", text)) if bare in text else text

    return shorten


def _leave_out(items: Sequence[_Use | Step]) -> None:
    """Take from the uses what the stretch tells elsewhere; a use that says nothing more loses its name."""
    uses = [item for item in items if isinstance(item, _Use)]
    known = _known_words(items)
    edited: set[str] = set()
    read = {use.target for use in uses if use.is_edit}
    last_list = next((use for use in reversed(uses) if use.name == "TodoWrite"), None)
    for use in uses:
        if use.is_edit:
            use.rest = " ".join(word for word in _words(use.rest) if _is_new(word, known))
            is_over = not use.rest and use.target in edited
            edited.add(use.target)
        elif use.name == "Read":
            is_over = use.target in read
            read.add(use.target)
        else:
            is_over = use.name == "TodoWrite" and use is not last_list
        if is_over and not use.errors:
            use.name = ""


def _known_words(items: Iterable[_Use | Step]) -> set[str]:
    """Return the words of everything but the lists of identifiers."""
    texts = [text for item in items for _, text in ([item] if isinstance(item, tuple) else _without_names(item))]
    words = {word for text in texts for word in _WORD.findall(text)}
    return words | {part for word in words for part in _PART.findall(word)}


def _without_names(use: _Use) -> list[Step]:
    return use.steps() if not use.is_edit else [("tool", use.target), *(("error", text) for text in use.errors)]


def _is_new(word: str, known: set[str]) -> bool:
    """Return whether an identifier is named for the first time, and remember it."""
    name = word.partition("(")[0].strip("./:@-,") or word
    if name in known:
        return False
    known.add(name)
    return True


def _words(names: str) -> Iterator[str]:
    """Yield the identifiers of an edit; one that is called has its arguments behind it, with spaces in them."""
    begin = depth = 0
    for at, letter in enumerate(names):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth = max(0, depth - 1)
        elif letter == " " and not depth:
            yield names[begin:at]
            begin = at + 1
    if names[begin:]:
        yield names[begin:]
