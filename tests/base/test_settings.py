from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memoria.base.paths import Paths
from memoria.base.settings import FORMER, Settings, config_path
from places import ROOT


def load(tmp_path: Path, stored: object = None, **environ: str) -> Settings:
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), **environ}
    if stored is not None:
        path = Path(config_path(env))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stored if isinstance(stored, str) else json.dumps(stored), encoding="utf-8")
    return Settings.load(env)


def test_without_a_file_and_variables_every_default_stands(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.problems == ()
    for field in Settings.fields():
        assert getattr(settings, field.name) == field.default
        assert type(getattr(settings, field.name)) is type(field.default)


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path: Path) -> None:
    stored = {"compile_interval_min": 30, "model": "ollama"}
    settings = load(tmp_path, stored, MEMORIA_MODEL="offline")
    assert (settings.compile_interval_min, settings.model, settings.archive_mb) == (30, "offline", 200)


def test_a_former_setting_has_no_effect_and_is_named_with_what_to_do(tmp_path: Path) -> None:
    settings = load(tmp_path, {"hints": False, "page_chars": 12, "model": "offline"}, MEMORIA_RETRY_S="9")
    assert (settings.notes, settings.page_chars, settings.retry_s) == ("all", 9_500, (2.0, 4.0))
    assert (settings.problems, settings.model) == ((), "offline")
    named = {about.rpartition(": ")[2]: instead for about, instead in settings.gone}
    assert set(named) == {"hints", "page_chars", "MEMORIA_RETRY_S"}
    assert "`notes`" in named["hints"]


def test_a_constant_can_be_set_for_a_test_and_keeps_its_type(tmp_path: Path) -> None:
    settings = load(tmp_path, MEMORIA_LIMIT_RETRY_S="0,1", MEMORIA_LIMIT_PAGE_CHARS="12")
    assert (settings.retry_s, settings.page_chars) == ((0.0, 1.0), 12)
    assert settings.gone == ()


@pytest.mark.parametrize(("name", "raw"), [
    ("compile_interval_min", "soon"), ("compile_interval_min", "-1"), ("compile_interval_min", "2.5"),
    ("daily_budget_usd", "nan"), ("daily_budget_usd", "inf"), ("disabled", "perhaps"), ("notes", "some"),
    ("home", "notes"), ("state", "./state"),
])  # fmt: skip
def test_a_value_that_cannot_be_used_is_named_and_the_default_stands(tmp_path: Path, name: str, raw: str) -> None:
    variable = f"MEMORIA_{name.upper()}"
    settings = load(tmp_path, None, **{variable: raw})
    (problem,) = settings.problems
    assert all(word in problem for word in (variable, raw))
    assert getattr(settings, name) == vars(Settings)[name].default


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, 7, True])
def test_a_home_of_the_wrong_type_never_names_a_folder(tmp_path: Path, value: object) -> None:
    settings = load(tmp_path, {"home": value})
    assert settings.home == ""
    assert bool(settings.problems) == (value is not None)


@pytest.mark.parametrize("stored", ["{", "[]", "7", "\x00", "[" * 100_000])
def test_a_broken_file_is_named_and_never_raises(tmp_path: Path, stored: str) -> None:
    assert "config.json cannot be read (" in load(tmp_path, stored).refusal


def test_a_home_below_the_users_folder_means_the_same_place_everywhere(tmp_path: Path) -> None:
    settings = load(tmp_path, None, MEMORIA_HOME="~/notes")
    assert Paths.of(settings).home == str(Path("~/notes").expanduser())


def test_no_test_and_no_bench_sets_what_is_none_any_more() -> None:
    files = [path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    variables = {f"MEMORIA_{name.upper()}" for name in FORMER}
    words = {path.name: variables.intersection(re.findall(r"MEMORIA_\w+", path.read_text("utf-8"))) for path in files}
    assert {name: found for name, found in words.items() if found} == {}


@pytest.mark.parametrize("given", [7, [7], {"a": "b"}, True, [None]])
def test_a_list_of_words_takes_nothing_else(tmp_path: Path, given: object) -> None:
    settings = load(tmp_path, {"exclude": given})
    assert settings.exclude == ()
    assert [problem for problem in settings.problems if "exclude must be a list of strings, not" in problem]


@pytest.mark.parametrize(("stored", "is_refused"), [
    ({"exclude": 7}, True), ({"disabled": "perhaps"}, True), ({"home": 7}, True), ({"state": "relative"}, True),
    ({"tz": 7}, False), ({"exclude": None}, False),
])  # fmt: skip
def test_a_wrong_value_of_what_says_whether_and_where_to_keep_keeps_nothing(
    tmp_path: Path, stored: object, is_refused: bool
) -> None:
    assert bool(load(tmp_path, stored).refusal) == is_refused
