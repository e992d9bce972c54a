"""What leaves the machine: one request for each call, to where the user chose, and nothing else.

Also holds the section of that name in docs/privacy.md, sentence by sentence.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from installed import fingerprint
from logging_proxy import LoggingProxy
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.models import tasks
from memoria.models.claude import MAX_OUTPUT_TOKENS
from memoria.models.metered import Metered
from messages_api import MessagesApi, Reply
from person import Person, answer, booked, of_memoria
from places import ROOT, TESTS
from real_client import DUMMY_KEY, users_env

PROMPT = tasks.flush({"project": "shop", "exchanges": [{"user": "Fix the race.", "assistant": "Fixed."}]})


@pytest.fixture
def proxy() -> Iterator[LoggingProxy]:
    with LoggingProxy() as proxy:
        yield proxy


@pytest.fixture
def person(tmp_path: Path, proxy: LoggingProxy) -> Iterator[Person]:
    with MessagesApi(answer) as api, MessagesApi(answer) as evil:
        yield Person(tmp_path, api, evil, proxy.url)


def become(monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)


def files(folder: Path) -> set[str]:
    """Without what the client was still writing when it ended, which it writes beside the file and renames."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".tmp." not in path.name)
    return {str(path.relative_to(folder)) for path in found}


@pytest.mark.slow
def test_a_call_is_one_request_and_the_client_opens_no_other_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: LoggingProxy
) -> None:
    said = Reply(json.dumps({"worth_saving": False}), input_tokens=1_234, output_tokens=56)
    with MessagesApi(lambda _: said) as api:
        talkative = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_LOGS_EXPORTER": "otlp",
                     "OTEL_EXPORTER_OTLP_ENDPOINT": api.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}  # fmt: skip
        env = users_env(tmp_path / "user", api.url, proxy.url, MEMORIA_HOME=str(tmp_path / "m"), **talkative)
        become(monkeypatch, env)
        home = Home.open()
        ledger = Ledger(home.paths)
        Metered.of(home, ledger).complete(PROMPT)
        first = files(tmp_path / "user")
        Metered.of(home, ledger).complete(PROMPT)
        calls = booked(ledger)
        ledger.close()
    assert [request.path.split("?")[0] for request in api.requests] == ["/v1/messages"] * 2
    assert proxy.connections == []
    assert [(call.input_tokens, call.output_tokens) for call in calls] == [(1_234, 56)] * 2
    assert files(tmp_path / "user") == first
    assert not [name for name in first if "telemetry" in name or "projects" in name]
    for request in api.messages:
        assert request.body["max_tokens"] == MAX_OUTPUT_TOKENS["flush"]
        assert "thinking" not in request.body


@pytest.mark.slow
def test_a_projects_settings_change_nothing(person: Person, proxy: LoggingProxy) -> None:
    foreign = person.foreign()
    person.settings(person.work, **foreign)
    before = fingerprint(person.work)
    person.session()
    person.wait()
    assert person.titles() == ["Fix the race"]
    assert {request.headers["x-api-key"] for request in of_memoria(person.api)} == {DUMMY_KEY}
    assert of_memoria(person.evil) == []
    assert len(of_memoria(person.api)) == len(person.calls())
    assert not person.mark.exists()
    assert fingerprint(person.work) == before


@pytest.mark.slow
def test_a_key_and_an_endpoint_of_the_user_level_settings_work(person: Person) -> None:
    own = {name: person.env.pop(name) for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "MEMORIA_HOME")}
    person.settings(person.home, **own)
    person.settings(person.work, ANTHROPIC_BASE_URL=person.evil.url, MEMORIA_HOME=str(person.work / "home"))
    person.session()
    person.wait()
    assert {request.headers["x-api-key"] for request in of_memoria(person.api)} == {DUMMY_KEY}
    assert of_memoria(person.evil) == []


@pytest.mark.slow
def test_an_endpoint_for_one_project_is_written_into_config_and_holds_for_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = json.dumps({"worth_saving": False})
    with ExitStack() as stack:
        usual, other = (stack.enter_context(MessagesApi(lambda _: said)) for _ in range(2))
        become(monkeypatch, users_env(tmp_path / "user", usual.url, MEMORIA_HOME=str(tmp_path / "m")))
        config = tmp_path / "user" / ".config" / "memoria" / "config.json"
        config.parent.mkdir(parents=True)
        config.write_text(json.dumps({"projects": {"shop": {"env": {"ANTHROPIC_BASE_URL": other.url}}}}))
        home = Home.open()
        assert home.settings.problems == ()
        ledger = Ledger(home.paths)
        model = Metered.of(home, ledger)
        model.complete(PROMPT, "shop-aaaaaa")
        assert (len(other.messages), len(usual.messages)) == (1, 0)
        for project in ("shop-two-aaaaaa", "harbour-bbbbbb", ""):
            model.complete(PROMPT, project)
        ledger.close()
    assert (len(other.messages), len(usual.messages)) == (1, 3)


@pytest.mark.slow
def test_without_a_claude_model_no_request_is_made(person: Person, proxy: LoggingProxy) -> None:
    person.env["MEMORIA_MODEL"] = "offline"
    person.session()
    person.wait()
    assert of_memoria(person.api) == []
    assert proxy.connections == []


# How each sentence of the section begins -> the tests that hold it.
HELD = {
    "Only the model calls that you chose": """
        test_leaves.py::test_a_call_is_one_request_and_the_client_opens_no_other_connection
        worker/test_flush.py::test_no_secret_is_sent_to_a_model""",
    "A call of a Claude model is one request":
        "test_leaves.py::test_a_call_is_one_request_and_the_client_opens_no_other_connection",
    "The tokens that":
        "test_leaves.py::test_a_call_is_one_request_and_the_client_opens_no_other_connection",
    "With `model` set":
        "test_leaves.py::test_without_a_claude_model_no_request_is_made",
    "If you set a memory server": """exchange/test_sync.py::test_facts_travel_from_one_machine_to_the_other
        exchange/test_server_trust.py::test_a_row_of_another_program_keeps_text_keywords_and_tags_whatever_happens""",
    "If you set a Redis server":
        "working/test_working_redis.py::test_one_hash_a_scope_and_nothing_is_searched_for",
    "The packages":
        "capture/test_build.py::test_it_is_built_from_the_lock_with_hashes_and_a_second_run_does_nothing",
    "Endpoint, key, proxy": """test_leaves.py::test_a_projects_settings_change_nothing
        test_leaves.py::test_a_key_and_an_endpoint_of_the_user_level_settings_work""",
    "If a project needs another endpoint": """
        test_leaves.py::test_an_endpoint_for_one_project_is_written_into_config_and_holds_for_it_alone
        wiki/test_projects_apart.py::test_two_projects_share_neither_a_call_nor_an_article_and_names_tell_them_apart""",
    "An article that its entries":
        "wiki/test_projects_apart.py::test_two_projects_share_neither_a_call_nor_an_article_and_names_tell_them_apart",
    "Nothing that memoria starts": """test_leaves.py::test_a_projects_settings_change_nothing
        commands/test_ingest.py::test_no_file_of_the_folder_one_stands_in_is_run
        capture/test_build.py::test_neither_the_project_nor_its_variables_reach_the_build""",
    "Hooks and worker write": "test_leaves.py::test_a_projects_settings_change_nothing",
    "Other users of the machine": "ground/test_home.py::test_what_memoria_writes_is_readable_by_its_owner_only",
    "With `shared_home` set":
        "ground/test_home.py::test_a_shared_home_follows_the_umask_and_the_worker_leaves_it_alone",
    "On Windows the folders": "",  # said of the system; no test runs there
}  # fmt: skip


def sentences() -> list[str]:
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").split("## What leaves the machine\n")[1]
    return [part for part in re.split(r"(?<=\.)\s+(?=[A-Z])", " ".join(text.split())) if part]


def test_every_sentence_of_the_readme_is_held_by_a_test() -> None:
    said = sentences()
    assert len(said) == len(HELD)
    for sentence, (opening, tests) in zip(said, HELD.items(), strict=True):
        assert sentence.startswith(opening)
        for test in tests.split():
            file, _, name = test.partition("::")
            assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), test
