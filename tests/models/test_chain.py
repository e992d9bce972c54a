"""The table of names, the chain, the scripted model and the reading of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.ground.errors import BadAnswerError, ModelError, ModelUnavailableError
from memoria.mcp.tools import TOOLS
from memoria.models import answer, protocol, tasks
from memoria.models.protocol import JsonObject
from scripted_model import Scripted

GOOD: JsonObject = {"worth_saving": True, "title": "Fix the race"}
PROMPT = tasks.flush({"project": "shop", "exchanges": [{"user": "hi", "assistant": "hello"}]})


def gone(retry_now: bool = True) -> ModelUnavailableError:
    return ModelUnavailableError("gone", retry_now=retry_now)


@pytest.mark.parametrize("name", ["gpt:4", "ollama", ","])
def test_an_unknown_name_is_refused_with_the_known_ones(paths: Paths, name: str) -> None:
    settings = Settings.load({"MEMORIA_MODEL": name})
    told = rf"('{name}'|names no model).*claude:haiku.*ollama:qwen.*offline"
    with pytest.raises(ModelUnavailableError, match=told) as caught:
        protocol.from_settings(settings, paths)
    assert not caught.value.retry_now


@pytest.mark.parametrize("error", [gone(), BadAnswerError("junk")])
def test_the_next_model_is_asked_when_one_fails_and_the_failure_is_told(error: ModelError) -> None:
    second = Scripted([GOOD], "second")
    completion = protocol.Chain([Scripted([error], "first"), second]).complete(PROMPT)
    assert ("junk" in second.prompts[0].text) == isinstance(error, BadAnswerError), "told what was wrong"
    assert completion.model == "second"
    assert [failure.model for failure in completion.failures] == ["first"]


@pytest.mark.parametrize(("errors", "expected", "retry_now"), [
    ([gone(retry_now=False), gone()], ModelUnavailableError, True),
    ([BadAnswerError("junk"), gone()], ModelUnavailableError, True),
    ([BadAnswerError("junk"), gone(retry_now=False)], BadAnswerError, None),
    ([gone(retry_now=False), gone(retry_now=False)], ModelUnavailableError, False),
])  # fmt: skip
def test_when_all_fail_the_most_hopeful_error_tells_all_reasons(
    errors: list[ModelError], expected: type[ModelError], retry_now: bool | None
) -> None:
    models = [Scripted([error], f"m{number}") for number, error in enumerate(errors)]
    with pytest.raises(expected) as caught:
        protocol.Chain(models).complete(PROMPT)
    assert getattr(caught.value, "retry_now", None) == retry_now
    assert str(caught.value).startswith("m0: ")
    assert "m1: " in str(caught.value)
    assert len(caught.value.failures) == 2


def test_a_scripted_file_goes_on_where_another_process_stopped_and_repeats_its_last(
    tmp_path: Path, paths: Paths
) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"flush": [{"error": "unavailable", "retry_now": False}, {"error": "bad"}, GOOD]}))
    settings = Settings.load({"MEMORIA_MODEL": f"scripted:{file}"})
    with pytest.raises(ModelUnavailableError) as caught:
        protocol.from_settings(settings, paths).complete(PROMPT)
    assert caught.value.retry_now is False
    with pytest.raises(BadAnswerError):
        protocol.from_settings(settings, paths).complete(PROMPT)
    for _ in range(2):
        assert protocol.from_settings(settings, paths).complete(PROMPT).data["title"] == "Fix the race"
    calls = [json.loads(line) for line in Path(f"{file}.calls").read_text().splitlines()]
    assert [call["task"] for call in calls] == ["flush"] * 4
    assert calls[0]["material"] == PROMPT.material


def test_a_scripted_answer_can_name_the_statements_it_is_asked_about(tmp_path: Path, paths: Paths) -> None:
    places = [{"id": name, "article": "a"} for name in ("$1", "$2", "$9", "$It works.")]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"compile": [{"places": places}]}))
    texts = {"l-e7": "It works.", "l-e8": "It is fast."}
    statements = [{"id": name, "kind": "", "day": "", "about": "", "text": text} for name, text in texts.items()]
    prompt = tasks.compile_({"statements": statements, "articles": [], "index": []})
    data = protocol.from_settings(Settings.load({"MEMORIA_MODEL": f"scripted:{file}"}), paths).complete(prompt).data
    assert [place["id"] for place in data["places"]] == ["l-e7", "l-e8", "l-e8", "l-e7"]


@pytest.mark.parametrize("text", [
    '{"worth_saving": true, "title": "Fix the race"}',
    'Here it is:\n```json\n{"worth_saving": true, "title": "Fix the race"}\n```\nAnything else?',
    'I thought of {} and {"a": 1} first. {"worth_saving": true, "title": "Fix the race"} {',
    '{"worth_saving": true, "title": "Fix\\u0000 \\u001b\\ud800the \\u202erace", "extra": 1, "action_items": null}',
    '\ufeff{"worth_saving": true, "title": "Fix\x07 the race"}',
])  # fmt: skip
def test_an_answer_is_found_cleaned_and_completed(text: str) -> None:
    data = answer.read(text, PROMPT)
    assert data["title"] == "Fix the race"
    assert data["action_items"] == []
    assert "extra" not in data


@pytest.mark.parametrize(("text", "reason"), [
    ("", "is empty"), ("   \n", "is empty"), ("I cannot help with that.", "no JSON object"),
    ("[1, 2]", "must be of type object"), ('{"worth_saving": tr', "no JSON object"), ("{}", "lacks worth_saving"),
    ("{" * 5_000, "no JSON object"), ('{"a":' * 3_000, "no JSON object"),
    ('{"worth_saving": "perhaps"}', "worth_saving must be of type boolean"),
    (json.dumps({"worth_saving": True, "context": "x" * 2_001}), "context is longer than 2000 characters"),
    (json.dumps({"worth_saving": True, "action_items": ["x"] * 41}), "action_items has more than 40 items"),
])  # fmt: skip
def test_a_bad_answer_is_refused_with_its_first_reason(text: str, reason: str) -> None:
    with pytest.raises(BadAnswerError, match=reason):
        answer.read(text, PROMPT)


ASKED = (tasks.FLUSH_SCHEMA, tasks.COMPILE_SCHEMA, tasks.QUERY_SCHEMA, tasks.WIDEN_SCHEMA, tasks.WEIGH_SCHEMA)
SCHEMAS = [*(tool.schema for tool in TOOLS), *ASKED]


def edges(part: JsonObject) -> list[Any]:
    """Values on both sides of each rule of a part of a schema."""
    texts = ["x" * (part.get(rule, 1) + more) for rule in ("minLength", "maxLength") for more in (-1, 0, 1)]
    numbers = [part.get(rule, 1) + more for rule in ("minimum", "maximum") for more in (-1, -0.5, 0, 0.5, 1)]
    found: list[Any] = [None, True, {}, [], *part.get("enum", ()), "^l-7f3a", " ", *texts, *numbers]
    if "items" in part:
        found += [[edge] for edge in edges(part["items"])]
        found += [[fit(part["items"])] * (part.get("maxItems", 1) + more) for more in (0, 1)]
    if "properties" in part:
        base = {name: fit(part["properties"][name]) for name in part["required"]}
        found += [base, base | {"other": 1}, *({**base, left: None} for left in base)]
        found += [{name: item for name, item in base.items() if name != left} for left in base]
        found += [base | {name: edge} for name, inner in part["properties"].items() for edge in edges(inner)]
    return found


def is_valid(part: JsonObject, value: Any) -> bool:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (a quarter of a second of each run without this test)

    return bool(Draft202012Validator(part).is_valid(value))


def fit(part: JsonObject) -> Any:
    return next(edge for edge in edges(part) if is_valid(part, edge))


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: "-".join(schema["properties"])[:40])
def test_our_check_refuses_what_the_standards_own_refuses(schema: JsonObject) -> None:
    for value in edges(schema):
        assert (list(answer.problems(schema, value)) == []) == is_valid(schema, value), value
