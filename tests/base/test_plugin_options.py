"""The options that the client's dialog keeps for the plugin: what they set, and what wins over them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoria.base import paths
from memoria.base.settings import PLUGIN_OPTION, Settings, config_path
from places import ROOT

ID = "memoria@memoria"


def load(tmp_path: Path, options: object, config: object = None, **environ: str) -> Settings:
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), **environ}
    write(tmp_path, {"pluginConfigs": {ID: {"options": options}}})
    if config is not None:
        path = Path(config_path(env))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config))
    return Settings.load(env)


def write(tmp_path: Path, stored: object) -> Path:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(stored if isinstance(stored, str) else json.dumps(stored))
    return file


def test_every_option_of_the_manifest_is_a_setting_of_its_kind_that_the_client_s_values_set(tmp_path: Path) -> None:
    declared = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text("utf-8"))["userConfig"]
    given = {"home": "~/notes", "model": "offline", "daily_budget_usd": 2, "notes": "none",
             "exclude": '["~/a, b","c"]'}  # fmt: skip
    assert set(declared) == set(given)
    settings = load(tmp_path, given)
    assert settings.problems == ()
    assert {name: getattr(settings, name) for name in given} == {**given, "exclude": ("~/a, b", "c")}
    assert settings.origins == dict.fromkeys(given, PLUGIN_OPTION)
    kinds = {"directory": str, "string": str, "number": float, "boolean": bool}
    for name, option in declared.items():
        field = vars(Settings)[name]
        assert isinstance(field.default, tuple if option.get("multiple") else kinds[option["type"]])
        # The dialog stores every boolean when anything is saved: one without a default as false.
        assert option.get("default") == (field.default if option["type"] == "boolean" else None), name


def test_an_option_wins_over_the_file_and_the_environment_over_the_option(tmp_path: Path) -> None:
    settings = load(tmp_path, {"model": "ollama", "notes": "none"}, {"model": "claude:haiku", "tz": "Europe/Vienna"})
    assert (settings.model, settings.notes, settings.tz) == ("ollama", "none", "Europe/Vienna")
    settings = load(tmp_path, {"model": "ollama"}, {"model": "claude:haiku"}, MEMORIA_MODEL="offline")
    assert (settings.model, settings.origins["model"]) == ("offline", "MEMORIA_MODEL")


def test_neither_a_project_nor_another_plugin_sets_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "shop"
    (project / ".claude").mkdir(parents=True)
    evil = {"pluginConfigs": {ID: {"options": {"home": "/evil"}}}, "env": {"CLAUDE_PLUGIN_OPTION_HOME": "/evil"}}
    (project / ".claude" / "settings.json").write_text(json.dumps(evil))
    monkeypatch.chdir(project)
    write(tmp_path, {"pluginConfigs": {"other@memoria": {"options": {"home": "/other"}}}})
    env = {"HOME": str(tmp_path), "CLAUDE_PROJECT_DIR": str(project), "CLAUDE_PLUGIN_OPTION_HOME": "/evil"}
    assert Settings.load(env).home == ""


def test_while_the_clients_file_with_options_cannot_be_read_nothing_may_be_recorded(tmp_path: Path) -> None:
    file = write(tmp_path, '{"pluginConfigs": {"memoria@memoria": {"options": {"home": "~/notes"}}}, ')
    refusal = Settings.load({"HOME": str(tmp_path)}).refusal
    assert str(file) in refusal
    assert "cannot be read" in refusal
    write(tmp_path, '{"hooks": ')
    assert Settings.load({"HOME": str(tmp_path)}).refusal == "", "it holds no option of memoria"


@pytest.mark.parametrize(("root", "is_one"), [(ROOT, True), (ROOT / "plugin", True), (ROOT / "tests", False)])
def test_the_plugin_is_known_by_the_folder_that_the_client_names(
    monkeypatch: pytest.MonkeyPatch, root: Path, is_one: bool
) -> None:
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(root))
    assert paths.is_plugin() == is_one
