"""Shell commands: what identifies the commands of a shell line, without their arguments."""

from __future__ import annotations

import os

from memoria.base.pattern import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTS = Pattern(r"&&|\|\||[;|\n]")
_WORD = Pattern(r"^[A-Za-z][\w.:/+-]*$")
_MIN_PROGRAM = 4  # characters of a program that is named alone


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEFORE = _set("sudo time env command exec nice")
_COMMON = _set(  # programs that every session runs
    "ls cd cat echo head tail grep rg find sed awk wc pwd mkdir rm rmdir cp mv touch which sleep true false test "
    "export source chmod sort uniq diff git printf tree set xargs kill ps curl tee less man python python3 node"
)
_RUNNERS = _set(  # programs whose next words say what is run
    "uv uvx npm npx pnpm yarn bun poetry bundle docker kubectl cargo go make mix gh just rake dotnet gradle mvn "
    "terraform helm composer php rails flutter dart deno pip pipx brew apt aws gcloud"
)
_BUILDS = _set(
    "test tests pytest unittest jest vitest mocha rspec phpunit tox nox nextest e2e check lint eslint ruff clippy "
    "mypy pyright tsc typecheck type-check build compile format fmt prettier"
)


def names(line: str) -> Iterator[str]:
    """Yield the name of each command: the program, and for those that run others the two words after it."""
    for part in _PARTS.split(line):
        words = part.split()
        while words and ("=" in words[0] or words[0] in _BEFORE):
            del words[0]
        if not words or not _WORD.search(words[0]):
            continue
        program = os.path.basename(words[0])
        if program in _RUNNERS:
            told = [word for word in words[1:] if _WORD.search(word)][:2]
            if told:
                yield " ".join([program, *told])
        elif program not in _COMMON and len(program) >= _MIN_PROGRAM:
            yield program


def is_build(name: str) -> bool:
    """Return whether a command, given by its name, builds or tests."""
    return any(part in _BUILDS for word in name.split() for part in (word, *word.split(":"), word.rpartition("/")[2]))
