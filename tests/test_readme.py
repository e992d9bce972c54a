"""The documents are true: the settings and the commands."""

from __future__ import annotations

from memoria.base.settings import Settings
from memoria.cli import VERBS
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
