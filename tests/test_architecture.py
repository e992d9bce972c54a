"""The order of the folders, and what follows from it.

A new folder fails a test until its name is added to FOLDERS and to the table in ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from memoria.capture.hook import HANDLERS
from places import ROOT
from syntax import nodes, tree

PACKAGE = ROOT / "scripts" / "memoria"

# From the roof down: a folder imports only from folders below it. cli and __main__ stand above them all.
FOLDERS = (
    "commands",  # one module a verb, none knows another
    "reader",
    "mcp",
    "worker",
    "amending",
    "exchange",
    "pages",
    "wiki",
    "models",
    "working",
    "index",
    "statements",
    "audit",
    "daily",
    "transcripts",
    "recall",
    "capture",
    "search",
    "ground",
    "base",
)
ORDER = {name: place for place, name in enumerate(("doors", *FOLDERS))}
ALONE = {"commands"}  # folders whose modules do not know each other
HOOK_FLOOR = {"recall", "capture", "search", "base"}

# What costs the hook more than the interpreter itself (measured: docs/decisions/0003-hook-floor.md).
SLOW = {"asyncio", "collections", "contextlib", "dataclasses", "functools", "json", "logging", "pathlib", "re"}
SLOW |= {"subprocess", "typing"}
BROAD = {  # one broad except each
    "capture.hook": "run",
    "worker.worker": "the worker's job loop",
    "cli": "the door",
    "mcp.server": "a request, which the client waits for",
}
SHARED = {  # package -> the rooms that may know it, when more than one does
    "tqdm": {"worker.compiler", "commands.ingest"}  # progress that a person watches
}
FLOOR_PATTERN = re.compile(r"scripts/memoria/\{(.+)\}/\*\.py")
MAX_LENGTH, MEDIAN = 50, 10  # lines of a function without its docstring


@dataclass(frozen=True)
class Import:
    """One import of a room: ``target`` a room's or a foreign module's dotted name."""

    room: str
    target: str
    line: int
    ours: bool
    at_import: bool  # runs when the room is imported: not inside a function, not for type checkers only
    runs: bool  # not for type checkers only


@cache
def rooms() -> dict[str, Path]:
    """Room -> file, without the package's own front page."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_symlink():  # to hooks/
            continue
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def room_of(name: str) -> str:
    """The room that ``memoria.<name>`` comes from: the longest beginning that is one; "" is the front page."""
    while name and name not in rooms():
        name = name.rpartition(".")[0]
    return name


def imports(room: str, path: Path) -> Iterator[Import]:
    def visit(node: ast.AST, at_import: bool, runs: bool) -> Iterator[Import]:
        for target in _targets(node):
            head, _, rest = target.partition(".")
            ours = head == "memoria"
            name = room_of(rest) if ours else target
            if not ours or name:
                yield Import(room, name, getattr(node, "lineno", 0), ours, at_import and runs, runs)
        # what stands in a function, or where another import has failed, does not run with the room
        inside = at_import and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ExceptHandler)
        types_only = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) else []
        for child in _statements(node):
            yield from visit(child, inside, runs and child not in types_only)

    yield from visit(tree(path), True, True)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node can hold an import: statements and their parts, never an expression."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports hide which room is meant"
        return [f"{node.module}.{alias.name}" for alias in node.names] if node.module else []
    return []


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(item for room, path in rooms().items() for item in imports(room, path))


@cache
def hook_floor() -> tuple[str, ...]:
    """The modules of the hook floor's folders."""
    return tuple(sorted(room for room in rooms() if folder_of(room) in HOOK_FLOOR))


def reached_by_hooks() -> set[str]:
    """The rooms that hooks/ imports, and all that these import."""
    reached: set[str] = set()
    new = {"capture.hook", *(target.rpartition(".")[0] for target in HANDLERS.values())}
    while new:
        reached |= new
        new = {item.target for item in all_imports() if item.room in new and item.ours and item.runs} - reached
    return reached


def functions() -> Iterator[tuple[str, int]]:
    """Every function as ``room.name`` and its length in lines without its docstring."""
    for room, path in rooms().items():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = node.body[0] if ast.get_docstring(node) is not None else None
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if docstring is not None:
                    lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
                yield f"{room}.{node.name}", lines


def folder_of(room: str) -> str:
    head = room.partition(".")[0]
    return head if (PACKAGE / head).is_dir() else "doors"


def test_every_folder_has_its_place_and_says_what_it_is_for_in_a_sentence() -> None:
    there = {path.parent.name for path in PACKAGE.glob("*/*.py") if not path.is_symlink()}
    assert there == set(FOLDERS), "decide where a new folder stands and add it to FOLDERS"
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "cli"}
    for folder in FOLDERS:
        said = ast.get_docstring(tree(PACKAGE / folder / "__init__.py")) or ""
        first = said.partition("\n\n")[0]
        assert first.endswith("."), f"{folder}/__init__.py"
        assert ". " not in first, f"{folder}/__init__.py"


def test_the_architecture_page_lists_the_folders_in_their_order() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)/`( ★)? \| .+\. \|$", page, re.MULTILINE)
    assert tuple(name for name, _ in rows) == FOLDERS
    assert {name for name, star in rows if star} == HOOK_FLOOR


def test_each_folder_has_its_tests_in_a_folder_of_the_same_name() -> None:
    assert [name for name in FOLDERS if not any((ROOT / "tests" / name).glob("test_*.py"))] == []


def test_a_folder_imports_only_from_folders_below_it() -> None:
    wrong = []
    for item in all_imports():
        if item.ours and item.room != item.target:
            own, other = folder_of(item.room), folder_of(item.target)
            if ORDER[other] < ORDER[own] or (own == other and own in ALONE and item.target != own):
                wrong.append(f"{item.room}:{item.line} imports {item.target}")
    assert wrong == []


def test_the_linter_reads_the_hook_floor_as_python_3_9() -> None:
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]
    for patterns in (ruff["lint"]["per-file-ignores"], ruff["per-file-target-version"]):
        listed = [set(match[1].split(",")) for match in map(FLOOR_PATTERN.fullmatch, patterns) if match]
        assert listed == [HOOK_FLOOR]


def test_no_room_needs_itself_around_a_corner() -> None:
    needs: dict[str, set[str]] = {room: set() for room in rooms()}
    for item in all_imports():
        if item.ours and item.runs and item.target != item.room:
            needs[item.room].add(item.target)
    while free := [room for room, others in needs.items() if not others]:
        for room in free:
            del needs[room]
        for others in needs.values():
            others.difference_update(free)
    assert needs == {}, "these rooms import each other in a circle"


def test_each_foreign_package_is_known_to_one_room() -> None:
    """What is external passes one room, so that it can be replaced there."""
    known: dict[str, set[str]] = {}
    for item in all_imports():
        package = item.target.partition(".")[0]
        if not item.ours and package not in sys.stdlib_module_names:
            known.setdefault(package, set()).add(item.room)
    assert {package: names for package, names in known.items() if len(names) > 1} == SHARED
    assert known["claude_agent_sdk"] == {"models.claude"}


def test_the_hook_floor_imports_the_standard_library_and_itself_and_nothing_slow() -> None:
    for item in (item for item in all_imports() if item.room in hook_floor()):
        package, what = item.target.partition(".")[0], f"{item.room}:{item.line} imports {item.target}"
        if item.ours:
            assert item.target in hook_floor() or not item.runs, what
        else:
            assert package in sys.stdlib_module_names, what
            assert not (item.at_import and package in SLOW), f"{what} at import"


def test_a_bare_interpreter_loads_nothing_slow_with_the_rooms_of_the_hook_floor() -> None:
    """What the text does not show: modules that allowed modules bring along, with the first room that does."""
    program = (
        "import importlib, sys; known = set(sys.modules)\n"
        f"sys.path.insert(0, {str(ROOT / 'scripts')!r})\n"
        "for room in sys.argv[1:]:\n"
        "    importlib.import_module(f'memoria.{room}')\n"
        "    print(room, *set(sys.modules) - known)\n"
        "    known.update(sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-I", "-c", program, *hook_floor()], capture_output=True, text=True, check=True
    )
    brought = {room: set(names) for room, *names in map(str.split, run.stdout.splitlines())}
    assert set(brought) == set(hook_floor())
    assert {room: names & SLOW for room, names in brought.items() if names & SLOW} == {}
    loaded = set[str]().union(*brought.values())
    assert {f"memoria.{room}" for room in hook_floor()} <= loaded
    assert {name.partition(".")[0] for name in loaded} <= set(sys.stdlib_module_names) | {"memoria"}


@pytest.mark.slow
def test_the_hook_floor_runs_on_python_3_9() -> None:
    """By vermin, since no 3.9 is at hand; memoria/__init__.py and the hooks' own files are part of it."""
    files = [PACKAGE / "__init__.py", *(rooms()[room] for room in hook_floor()), *(ROOT / "hooks").glob("*.py")]
    told = subprocess.run(
        [
            sys.executable, "-c", "from vermin import main; main()", "--target=3.9-", "--violations", "--no-tips",
            *map(str, files),
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout


def test_what_hooks_reach_is_the_hook_floor() -> None:
    assert reached_by_hooks() - set(hook_floor()) == set(), "what a hook needs lies in a folder of the hook floor"


def test_what_catches_everything_is_one_of_four() -> None:
    found = [
        room
        for room, path in rooms().items()
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not isinstance(node.body[-1], ast.Raise)
    ]
    assert sorted(found) == sorted(set(found) & set(BROAD)), f"broad except is for {BROAD} only, once each"


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return not names.isdisjoint(("Exception", "BaseException"))


def test_the_hook_floor_opens_nothing_that_blocks_and_text_by_its_encoding() -> None:
    calls = [node for room in hook_floor() for node in nodes(rooms()[room]) if isinstance(node, ast.Call)]
    opened = [ast.unparse(node) for node in calls if isinstance(node.func, ast.Name) and node.func.id == "open"]
    for call in opened:
        assert "opener=" in call or call.startswith(("open(0, ", "open(f'/proc/")), "else a pipe blocks the client"
        assert "encoding=" in call or "b'" in call, call


def test_a_dataclass_has_slots_and_says_when_it_is_frozen() -> None:
    classes = [node for path in rooms().values() for node in nodes(path) if isinstance(node, ast.ClassDef)]
    marks = {mark for node in classes for mark in map(ast.unparse, node.decorator_list) if "dataclass(" in mark}
    assert marks == {"dataclass(slots=True)", "dataclass(frozen=True, slots=True)"}


def test_functions_are_short() -> None:
    lengths = dict(functions())
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LENGTH} == {}
    assert statistics.median(lengths.values()) < MEDIAN


def test_every_hook_of_the_plugin_has_its_file_and_the_other_way_round() -> None:
    declared = re.findall(r'"set ([a-z-]+) ', (ROOT / "hooks/hooks.json").read_text())
    files = sorted(path.stem for path in (ROOT / "hooks").glob("*.py") if path.stem != "start")
    assert sorted([*declared, "codex"]) == files == sorted(HANDLERS)
    assert {"capture.hook", *(target.rpartition(".")[0] for target in HANDLERS.values())} <= set(hook_floor())
