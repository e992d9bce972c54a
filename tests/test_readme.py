"""The documents are true: the settings, the commands, and that the demo writes where it says."""

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

SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
MAX_BYTES = 10_000  # of the README, for a person who has one minute


def written(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_every_setting_is_in_its_document_with_default_and_sentence() -> None:
    text = " ".join(SETTINGS.split())
    for field in Settings.fields():
        default = f"`{written(field.default)}`" if written(field.default) else "empty"
        name = f"`{field.name}`" + (
            "" if field.variable == f"MEMORIA_{field.name.upper()}" else f" (`{field.variable}`)"
        )
        row = f"- {name}, {default}: {field.sentence}"
        assert text.count(f"{row} ") == 1, f"docs/settings.md needs once: {row}"


def test_the_readme_takes_a_minute() -> None:
    assert (ROOT / "README.md").stat().st_size <= MAX_BYTES


def test_every_command_has_its_row() -> None:
    for verb, line in VERBS.items():
        assert f"| `memoria {verb}` | {line} |" in COMMANDS


def files_below(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.slow
def test_the_demo_writes_an_entry_and_an_article_and_nothing_elsewhere(tmp_path: Path) -> None:
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
    assert any("### Session (" in path.read_text(encoding="utf-8") for path in (home / "daily").glob("*.md"))
    assert any(
        "[[daily/" in path.read_text(encoding="utf-8") for path in (home / "knowledge" / "concepts").glob("*.md")
    )
    assert str(home / "knowledge" / "index.md") in run.stdout
    _, page, note = re.split(r"is given:|this page:", run.stdout)
    assert "## What matters most" in page
    assert "Use uv in this project, never pip" in note
    with closing(Ledger.of(Paths(str(home)))) as ledger:
        fates = [fates for _, fates in ledger.checked().values()]
    assert sum(fate.get(CAPTURED, 0) for fate in fates) > len(fates) >= 3, "the reader's receipt counts its turns"
