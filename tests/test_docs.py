"""The documents are true: every path, test selection and link they name, the settings and the commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bench import mutants
from memoria.base.settings import Settings
from memoria.cli import VERBS
from places import ROOT
from syntax import nodes

# what the repository tracks
FOLDERS = (".ci", "bench", ".claude", ".claude-plugin", "docs", "hooks", "plugin", "scripts", "tests")
ENDINGS = (".py", ".jsonl", ".txt", ".toml", ".lock", ".sh")  # a name with one of these is a file, wherever it lies
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / ".claude").glob("*.md"), *(ROOT / "docs").rglob("*.md")])
STATE = {  # files of the state folder, of other tools and of other repositories: not here, and rightly named
    "uv.lock", "worker.lock", "compile.lock", "daily.lock", "model.lock", "observer.lock", "indexer.lock",
    ".claude/memory",
}  # fmt: skip
LINK = re.compile(r"\[[^\]\n]*\]\((?!\w+:)([^)\s#]+)")
CODE = re.compile(r"```.*?```|`[^`\n]+`|^ {4}[^\n]+$", re.DOTALL | re.MULTILINE)
SELECTION = re.compile(r"(?P<files>(?:tests/[\w/.]+\.py )+)-k (?P<words>\"[^\"]+\"|\w+)")
DECISION = re.compile(r"\b\d{4}-[a-z-]+\.md\b")


@cache
def repository() -> frozenset[str]:
    """Every file and folder of the repository's own, as paths from its root."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    names = {path.relative_to(ROOT).as_posix() for path in [*files, *ROOT.glob("*")]}
    return frozenset(names | set(FOLDERS))


def named_paths(text: str) -> Iterator[str]:
    """Words in code spans and code blocks that name something in the repository."""
    for span in CODE.findall(text):
        for word in re.sub(r"https?://\S+", "", span).split():
            name = word.strip("`\"'(),;:")
            name = re.sub(r"^(?:<clone>|\$\{CLAUDE_PLUGIN_ROOT\})/", "", name)
            if name.split("/")[0] in FOLDERS or name.endswith(ENDINGS):
                yield name.rstrip("/").partition("::")[0]


def exists(name: str) -> bool:
    """Whether a path, or the end of one, is there; ``*`` and ``<placeholder>`` stand for any name."""
    if name in STATE or name in repository():
        return True
    wildcard = re.sub(r"<[^>]*>", "*", name)
    pattern = re.compile("(?:.+/)?" + re.escape(wildcard).replace(r"\*", "[^/]*"))
    return any(pattern.fullmatch(path) for path in repository())


def test_every_path_that_a_document_names_exists_and_every_relative_link_resolves() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert [name for name in named_paths(text) if not exists(name)] == [], page
        assert [link for link in LINK.findall(CODE.sub("", text)) if not (page.parent / link).exists()] == [], page


def test_every_selection_of_tests_that_a_document_names_selects_one() -> None:
    for selection in (found for page in PAGES for found in SELECTION.finditer(page.read_text("utf-8"))):
        tests = [name for file in selection["files"].split() for name in names_of_tests(ROOT / file)]
        for word in set(re.findall(r"\w+", selection["words"])) - {"and", "or", "not"}:
            assert any(word in name for name in tests), f"{selection[0]}: no test is named so"


@cache
def names_of_tests(path: Path) -> list[str]:
    functions = (node for node in nodes(path) if isinstance(node, ast.FunctionDef))
    return [node.name for node in functions if node.name.startswith("test_")]


def test_every_document_that_code_or_a_document_names_exists() -> None:
    sources = [*PAGES, ROOT / "pyproject.toml", *(ROOT / "scripts").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    missing = []
    for path in sources:
        text = path.read_text("utf-8")
        named = set(re.findall(r"(?<![\w./-])docs/[\w/-]+\.md\b", text))
        named |= {f"docs/decisions/{name}" for name in DECISION.findall(text) if not re.match(r"\d{4}-\d", name)}
        missing += [f"{path.relative_to(ROOT)} names {name}" for name in named if name not in repository()]
    assert missing == []


PLUGINS = [path for path in (ROOT / "plugin").rglob("*.md") if "mocks" not in path.parts]
PROSE = sorted({*PAGES, *PLUGINS, *(ROOT / "tests").glob("*/*.md")})
MAX_COLUMNS = 120  # as ruff holds it in code


def long_lines(text: str) -> list[int]:
    """Return the numbers of the lines that are too long, but for drawings, commands, examples and front matter."""
    found, ends = [], ""
    for number, line in enumerate(text.split("\n"), 1):
        if ends:
            ends = "" if line.strip() == ends else ends
        elif line.startswith("```") or (number == 1 and line == "---"):
            ends = line[:3]
        elif len(line) > MAX_COLUMNS and not line.startswith("    "):
            found.append(number)
    return found


def test_a_long_line_is_found_wherever_it_is_prose() -> None:
    long = "x" * (MAX_COLUMNS + 1)
    assert long_lines(f"---\n{long}\n---\n{long}\n```\n{long}\n```\n| {long} |\n    {long}\n") == [4, 8]


def test_no_line_of_prose_a_template_a_script_or_a_style_is_longer_than_a_line_of_code() -> None:
    assert [(page, found) for page in PROSE if (found := long_lines(page.read_text("utf-8")))] == []
    folder = ROOT / "scripts" / "memoria" / "reader"
    pages = [path for ending in ("html", "js", "css") for path in folder.rglob(f"*.{ending}")]
    lines = [(path.name, line) for path in pages for line in path.read_text("utf-8").split("\n")]
    assert len(lines) > 2000
    assert [(name, line) for name, line in lines if len(line) > MAX_COLUMNS] == []


def test_each_decision_has_a_number_of_its_own_which_its_heading_says() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [page.name[:4] for page in pages]
    assert sorted(set(numbers)) == numbers
    assert [page.read_text(encoding="utf-8").split(":")[0] for page in pages] == [f"# {number}" for number in numbers]


def test_every_mutant_of_the_bench_still_stands_once_in_its_module() -> None:
    assert len([mutant.place(ROOT / mutants.PACKAGE) for mutant in mutants.read(mutants.LIST.read_text("utf-8"))]) > 200


def test_every_setting_is_in_its_document_with_default_and_sentence() -> None:
    text = " ".join((ROOT / "docs" / "settings.md").read_text("utf-8").split())
    for field in Settings.fields():
        given = field.default
        written = ",".join(map(str, given)) if isinstance(given, tuple) else str(given)
        default = f"`{written.lower() if isinstance(given, bool) else written}`" if written else "empty"
        other = "" if field.variable == f"MEMORIA_{field.name.upper()}" else f" (`{field.variable}`)"
        row = f"- `{field.name}`{other}, {default}: {field.sentence}"
        assert text.count(f"{row} ") == 1, f"docs/settings.md needs once: {row}"


def test_the_readme_takes_a_minute_and_every_command_has_its_row() -> None:
    assert (ROOT / "README.md").stat().st_size <= 10_000
    commands = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert [verb for verb, line in VERBS.items() if f"| `memoria {verb}` | {line} |" not in commands] == []
