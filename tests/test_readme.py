"""README is true: its settings, its commands, and what it shows of the demo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memoria.audit.receipt import CAPTURED
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.cli import VERBS
from memoria.daily.ledger import Ledger
from places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown(label: str) -> str:
    """The text of the code block that follows a ``<!-- demo: label -->`` mark."""
    match = re.search(rf"<!-- demo: {label} -->\n```markdown\n(.*?)\n```\n", README, re.DOTALL)
    assert match, f"README shows no {label}"
    return match[1]


def written(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_every_setting_has_its_row_with_default_and_sentence() -> None:
    for field in Settings.fields():
        default = f"`{written(field.default)}`" if written(field.default) else ""
        row = f"| `{field.name}` | `{field.variable}` | {default} | {field.sentence} |"
        assert row in README, f"README needs this row: {row}"
        assert README.count(f"| `{field.name}` |") == 1, f"README has {field.name} twice"


def test_every_command_has_its_row() -> None:
    for verb, line in VERBS.items():
        assert f"| `memoria {verb}` | {line} |" in README


def comparable(text: str) -> str:
    """What a reader's preview shows, without ids; ids and comments depend on where the home lies."""
    shown_rows = re.sub(r"^ *<!--.*-->\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\^l-\w+", "^l-", shown_rows)


def files_below(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.slow
def test_the_entry_and_the_article_shown_are_what_the_demo_makes(tmp_path: Path) -> None:
    """In a folder with spaces and non-ASCII letters, as a process of its own."""
    home = tmp_path / "my dëmo"
    before = files_below(tmp_path)
    run = subprocess.run(
        [sys.executable, "-m", "memoria", "demo", "--home", str(home)], capture_output=True, text=True, check=False,
        env={**os.environ, "MEMORY_API_URL": "http://127.0.0.1:9", "MEMORIA_HOME": str(tmp_path / "memoria")},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert {path for path in files_below(tmp_path) - before if not path.is_relative_to(home)} == set(), "no other home"
    assert not any(Path(Paths(str(home)).server_outbox).glob("*")), "nothing is on its way to a server"
    days = [comparable(path.read_text(encoding="utf-8")) for path in (home / "daily").glob("*.md")]
    assert any(comparable(shown("daily")) in day for day in days)
    articles = [path.read_text(encoding="utf-8").rstrip() for path in (home / "knowledge").rglob("*.md")]
    key = re.compile(r"(?<=tidemark-)[0-9a-f]{6}$", re.MULTILINE)  # the demo's project lies in a folder of its own
    assert key.sub("", shown("article")) in [key.sub("", article) for article in articles]
    assert str(home / "knowledge" / "index.md") in run.stdout
    with closing(Ledger.of(Paths(str(home)))) as ledger:
        fates = [fates for _, fates in ledger.checked().values()]
    assert sum(fate.get(CAPTURED, 0) for fate in fates) > len(fates) >= 3, "the reader's receipt counts its turns"
