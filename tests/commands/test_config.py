"""A person reads and changes settings by name; a wrong value is refused before it is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memoria import cli
from memoria.base.settings import Settings, config_path


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("MEMORIA_", "MEMORY_API_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MEMORIA_HOME", str(tmp_path / "home"))
    return Path(config_path(os.environ))


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    assert cli.main(["config", "--json", "list", *words]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


def test_each_setting_is_listed_with_the_source_of_its_value(
    surroundings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["config", "set", "archive_mb", "4000"]) == 0
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    capsys.readouterr()
    listed = rows(capsys)
    assert set(listed) == {field.name for field in Settings.fields()}
    assert (listed["archive_mb"]["value"], listed["archive_mb"]["origin"]) == (4000, str(surroundings))
    assert (listed["model"]["value"], listed["model"]["origin"]) == ("offline", "MEMORIA_MODEL")
    assert listed["tz"]["origin"] == "default"
    assert cli.main(["config"]) == 0
    out = capsys.readouterr().out
    assert f"4000  ({surroundings})" in out
    assert cli.main(["config", "list", "--explain"]) == 0
    assert "Megabytes of redacted, compressed turns" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "words", "stored"), [
    ("model", ["ollama:qwen2.5:3b"], "ollama:qwen2.5:3b"),
    ("day_notice", ["off"], False),
    ("daily_budget_usd", ["0.5"], 0.5),
    ("exclude", ["~/jobs/secret", "**/clients/**"], ["~/jobs/secret", "**/clients/**"]),
    ("exclude", ["a,b"], ["a", "b"]),
    ("exclude", ['["~/jobs/a, b", "c"]'], ["~/jobs/a, b", "c"]),
    ("exclude", ["[a-c]*"], ["[a-c]*"]),
    ("redact_extra", [r"ACME-\d{3,5}"], [r"ACME-\d{3,5}"]),
    ("redact_extra", ["[A-Z]{2,3}-9", "b,c"], ["[A-Z]{2,3}-9", "b,c"]),
    ("redact_extra", [r'["a{1,2}", "b\\d"]'], ["a{1,2}", r"b\d"]),
    ("MEMORIA_COMPILE_INTERVAL_MIN", ["90"], 90),
    ("archive-mb", ["800"], 800),
    ("projects", ['{"shop": {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}}}'],
     {"shop": {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}}}),
])  # fmt: skip
def test_a_value_is_written_as_its_type(surroundings: Path, name: str, words: list[str], stored: object) -> None:
    surroundings.parent.mkdir(parents=True)
    surroundings.write_text('{"tz": "Europe/Vienna", "of another version": 1}')
    assert cli.main(["config", "set", name, *words]) == 0
    kept = json.loads(surroundings.read_text(encoding="utf-8"))
    assert (kept.pop("tz"), kept.pop("of another version")) == ("Europe/Vienna", 1)
    assert list(kept.values()) == [stored]
    assert surroundings.stat().st_mode & 0o777 == 0o600
    assert surroundings.read_text().startswith('{\n  "tz": '), "people read and edit it"
    assert not Settings.load().problems or Settings.load().problems[0].count("of another version")


@pytest.mark.parametrize(("words", "told"), [
    (["archive_mb", "many"], "a whole number"), (["exclude", "[1]"], "a list of strings"),
    (["hints", "false"], "hints is no setting any more: say which notes you want with `notes`"),
    (["hints", "true"], "config unset hints"),
    (["notes", "many"], "all or prompt or none"), (["day_notice", "perhaps"], "true or false"),
    (["home", "relative/folder"], "absolute path"), (["model", "claude:haiku", "offline"], "one value"),
    (["modle", "offline"], "did you mean model"), (["model", "gpt4"], "possible are claude:haiku"),
    (["model", "claude:haiku,gpt4"], "model names 'gpt4'"),
    (["ollama_url", "localhost:11434"], "must begin with http:// or https://"),
    (["memory_api_url", "memory.example"], "must begin with http:// or https://"),
    (["redis_url", "http://redis.example"], "must begin with redis://"),
    (["python", "/nowhere/python3"], "no program '/nowhere/python3'"),
    (["tz", "Nowhere/Vienna"], "no time zone 'Nowhere/Vienna'"), (["projects", "{"], "must be an object"),
    (["projects", '{"a": {"env": 1}}'], "an object"),
    (["redact_extra", "("], "'(' is not a regular expression"),
    (["redact_extra", "a*"], "'a*' matches the empty text"),
])  # fmt: skip
def test_a_wrong_name_or_value_is_refused_with_what_is_right(
    surroundings: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert cli.main(["config", "set", *words]) == 1
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not surroundings.exists()


def test_a_value_can_be_read_and_taken_back(surroundings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["config", "set", "archive_mb", "7"])
    capsys.readouterr()
    assert cli.main(["config", "get", "archive_mb"]) == 0
    assert capsys.readouterr().out == "7\n"
    assert cli.main(["config", "unset", "archive_mb"]) == 0
    assert "default: 200" in capsys.readouterr().out
    surroundings.write_text('{"hints": false}')
    assert cli.main(["config", "unset", "hints"]) == 0
    assert json.loads(surroundings.read_text()) == {}


def test_keys_and_passwords_are_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (
        ("memory_api_key", "k-secret"),
        ("redis_url", "redis://me:s-secret@127.0.0.1/0"),
        ("projects", '{"shop": {"env": {"ANTHROPIC_API_KEY": "p-secret"}}}'),
    ):
        assert cli.main(["config", "set", name, value]) == 0
    assert cli.main(["config", "list", "--json"]) == 0
    assert cli.main(["config"]) == 0
    printed = capsys.readouterr()
    assert "-secret" not in printed.out + printed.err
    assert "ANTHROPIC_API_KEY" in printed.out
    assert cli.main(["config", "get", "memory_api_key"]) == 0
    assert capsys.readouterr().out == "k-secret\n"


def test_a_broken_file_is_named_and_left(surroundings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    surroundings.parent.mkdir(parents=True)
    surroundings.write_text("{broken")
    assert cli.main(["config", "set", "day_notice", "false"]) == 1
    assert str(surroundings) in capsys.readouterr().err
    assert surroundings.read_text() == "{broken"


def test_a_wrong_value_that_lets_nothing_be_kept_can_be_set_right(
    surroundings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surroundings.parent.mkdir(parents=True, exist_ok=True)
    surroundings.write_text('{"exclude": 7}')
    assert cli.main(["status"]) == 1
    assert "exclude must be a list of strings" in capsys.readouterr().err
    assert cli.main(["config", "set", "exclude", "~/jobs"]) == 0
    assert cli.main(["status"]) == 0
