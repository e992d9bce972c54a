from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hooks import SESSION, Client, exchange
from memoria.base import project, state
from memoria.recall.shown_notes import ShownNotes
from places import ROOT


@pytest.fixture
def client(tmp_path: Path) -> Client:
    client = Client(tmp_path)
    state.open_state(client.paths)
    return client


def page(client: Client, name: str, text: str) -> None:
    Path(client.paths.page, f"{name}.md").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_a_session_starts_with_its_projects_page_byte_for_byte(client: Client, source: str) -> None:
    own = project.key_of_path(str(client.cwd))
    page(client, own, "Läuft ✓\n")
    page(client, "global", "elsewhere")
    said = [client.fire("SessionStart", source=source) for _ in range(2)]
    assert said[0] == said[1]
    output = json.loads(said[0])
    assert output == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "Läuft ✓\n"}}
    assert ShownNotes(client.paths.hints, SESSION).page() == "Läuft ✓\n", "so that no note repeats it"


def test_a_setting_of_a_wrong_type_is_told_at_the_start_until_it_is_corrected(client: Client) -> None:
    page(client, "global", "elsewhere")
    config = Path(client.env["XDG_CONFIG_HOME"], "memoria", "config.json")
    config.parent.mkdir(parents=True)
    config.write_text('{"compile_interval_min": "many", "unheard_of": 1}')
    for _ in range(2):
        message = json.loads(client.fire("SessionStart", source="startup"))["systemMessage"]
        assert "compile_interval_min must be a whole number, not 'many'" in message
        assert "memoria config" in message
    config.write_text('{"compile_interval_min": 90, "unheard_of": 1}')
    assert "systemMessage" not in client.fire("SessionStart", source="startup")
    config.write_text('{"hints": false}')
    message = json.loads(client.fire("SessionStart", source="startup"))["systemMessage"]
    assert "hints is no setting any more: say which notes you want with `notes`" in message


def test_who_has_nothing_to_recall_is_welcomed_once(client: Client) -> None:
    assert "nothing to recall yet" in json.loads(client.fire("SessionStart"))["systemMessage"]
    assert client.fire("SessionStart") == ""


def test_a_notice_is_said_once_and_beside_the_page(client: Client) -> None:
    page(client, "global", "elsewhere")
    Path(client.paths.notice).write_text("memoria: the model is not logged in.\n", encoding="utf-8")
    output = json.loads(client.fire("SessionStart", source="startup"))
    assert output["systemMessage"] == "memoria: the model is not logged in."
    assert "additionalContext" in output["hookSpecificOutput"]
    assert "systemMessage" not in json.loads(client.fire("SessionStart"))


def test_turns_of_a_session_that_never_ended_bring_up_a_worker(client: Client) -> None:
    client.write(exchange(1))
    client.fire("Stop")
    client.fire("SessionStart")
    assert "worker" not in client.log()  # the session itself goes on
    client.fire("SessionStart", session_id="another")
    assert "worker started" in client.log()


def test_a_session_that_starts_asks_other_machines_unless_they_were_asked_just_now(client: Client) -> None:
    client.env["MEMORIA_SYNC"] = "/nowhere/shared"
    started, now = [], time.time()
    for told in ("", f"{now}", f"{now - 700}", f"{now + 9_000}"):
        Path(client.paths.exchanged).write_text(told)
        client.fire("SessionStart")
        started.append("worker started" in client.log().splitlines()[-1])
    assert started == [True, False, True, True], "the last, after a clock was set back"


def test_hooks_that_are_installed_twice_inject_the_page_once_and_say_so_once(client: Client) -> None:
    page(client, "global", "the page")
    settings = Path(client.env["CLAUDE_CONFIG_DIR"], "settings.json")
    settings.parent.mkdir(parents=True)
    settings.write_text('{"enabledPlugins": {"memoria@memoria": true}}')
    plugin = {"CLAUDE_PLUGIN_ROOT": str(ROOT)}
    messages = []
    for source in ("startup", "compact"):
        said = []
        for more in ({}, plugin):
            client.env.update(more)
            said.append(client.fire("SessionStart", source=source))
            for name in more:
                del client.env[name]
        assert sum("the page" in output for output in said) == 1
        messages += [output for output in said if "installed twice" in output]
    assert "left to the plugin" in client.log()
    (told,) = messages
    assert "`memoria install` takes" in json.loads(told)["systemMessage"]
