"""A name of a file below home or state is written in ``base/paths.py`` and nowhere else."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoria.base import paths as written
from memoria.base.paths import SPOOL_BOXES, Paths
from places import ROOT
from syntax import nodes

PACKAGE = ROOT / "scripts" / "memoria"
JOINS = {"Path", "join", "joinpath", "with_name", "glob", "rglob"}


def names() -> set[str]:
    """The last part of every path that ``Paths`` knows below home and state."""
    paths = Paths("/home-of-nobody")
    found = [path for path in vars(paths).values() if path not in (paths.home, paths.state)]
    found += [make(process) for make in (paths.starting, paths.spawns) for process in ("worker", "observer")]
    found += paths.outdated()
    return {os.path.basename(path) for path in found} | set(SPOOL_BOXES)  # noqa: PTH119 (they are texts)


def joined(nodes: Sequence[ast.AST]) -> Iterator[ast.Constant]:
    """The texts that a module makes part of a path."""
    for node in nodes:
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            is_text = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Constant)  # " ".join(...)
            parts = list(node.args) if name in JOINS and not is_text else []
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [node.right]
        yield from (part for part in parts if isinstance(part, ast.Constant))


def wrong(nodes: Sequence[ast.AST], known: set[str]) -> list[str]:
    """The names of ``Paths`` that a module spells out itself: any with a dot, and any other that it joins."""
    every = (str(node.value) for node in nodes if isinstance(node, ast.Constant))
    texts = {text for text in every if "." in text and not any(map(str.isspace, text))}  # a sentence may name a file
    texts |= {str(node.value) for node in joined(nodes)}
    return sorted(text for text in texts if known.intersection(text.split("/")))


def test_no_module_but_paths_joins_the_name_of_a_file_or_folder_of_home_or_state() -> None:
    known = names()
    found = {str(path.relative_to(PACKAGE)): wrong(nodes(path), known) for path in PACKAGE.rglob("*.py")}
    assert written.__file__ == str(PACKAGE / "base" / "paths.py")
    assert found.pop(os.path.join("base", "paths.py"))  # noqa: PTH118 (a key)
    gemini = os.path.join("transcripts", "clients", "gemini.py")  # noqa: PTH118 (as above)
    assert found.pop(gemini) == ["projects.json"]  # a file of Gemini CLI's own
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_name_that_is_spelled_out_is_found() -> None:
    def found(source: str) -> list[str]:
        return wrong(list(ast.walk(ast.parse(source))), names())

    assert found('locks.held(Path(home.paths.state, "compile.lock"))')
    assert found('folder = os.path.join(paths.state, "undo")')
    assert found('folder = Path(paths.state) / "hints"')
    assert found('for name in ("hook.log", "worker.out"): pass')
    assert not found('VERBS = {"undo": "bring the wiki back", "log": "say what was done"}')


def test_every_path_lies_where_home_and_state_say(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path / "home"), str(tmp_path / "state"))
    people_read = {paths.home, paths.daily, paths.knowledge}
    for path in vars(paths).values():
        assert path.startswith(paths.home if path in people_read else paths.state)
