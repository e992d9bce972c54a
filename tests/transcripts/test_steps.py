"""Steps: what a model is told of a stretch, in order, and what is left out because it stands there already."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from memoria.transcripts import prompt
from memoria.transcripts.turn import MAX_SAID, Step, exchanges, steps
from memoria.transcripts.turn_reader import Reader

CWD = "/home/ana/loom"


def lines(*rows: dict[str, Any]) -> list[bytes]:
    common = {"cwd": CWD, "sessionId": "s", "timestamp": "2026-11-20T10:00:00Z"}
    return [json.dumps({**common, "uuid": f"u-{number}", **row}).encode() + b"\n" for number, row in enumerate(rows)]


def user(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def says(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


def uses(ident: str, name: str, **given: Any) -> dict[str, Any]:
    use = {"type": "tool_use", "id": ident, "name": name, "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [use]}}


def fails(ident: str, text: str) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": ident, "is_error": True, "content": text}
    return {"type": "user", "message": {"role": "user", "content": [result]}}


def told(*rows: dict[str, Any], folder: str = "") -> list[Step]:
    return [step for part in steps(exchanges(Reader().read(lines(*rows))), folder) for step in part]


def tools(found: Iterable[Step]) -> list[str]:
    return [text for label, text in found if label == "tool"]


def test_an_error_stands_beside_its_command_when_several_ran_at_once() -> None:
    found = told(
        user("Check both."), uses("a", "Bash", command="make lint"), uses("b", "Bash", command="make test"),
        fails("a", "Exit code 1\nline too long"),
    )  # fmt: skip
    assert found[1:] == [("tool", "Bash make lint"), ("error", "exit 1: line too long"), ("tool", "Bash make test")]


@pytest.mark.parametrize(("command", "shown"), [
    (f"cat {CWD}/src/a.c", "Bash cat src/a.c"), (f"cd {CWD} && make", "Bash make"),
    (f"cat '{CWD}/a' {CWD}/b", "Bash cat 'a' b"), (f"cat {CWD}-old/a.c", f"Bash cat {CWD}-old/a.c"),
    (f"cat /mnt{CWD}/a.c", f"Bash cat /mnt{CWD}/a.c"), ("cat /etc/hosts", "Bash cat /etc/hosts"),
])  # fmt: skip
def test_paths_in_the_project_are_relative_and_others_are_not(command: str, shown: str) -> None:
    assert tools(told(user("Look."), uses("a", "Bash", command=command))) == [shown]
    for root in ("/", "C:\\"):
        assert tools(told(uses("a", "Bash", command="cat /a C:\\b"), folder=root)) == ["Bash cat /a C:\\b"]


def test_only_the_last_list_of_things_to_do_is_told() -> None:
    def todo(ident: str, status: str) -> dict[str, Any]:
        return uses(ident, "TodoWrite", todos=[{"status": status, "content": "Measure the tension"}])

    found = tools(told(user("Go."), todo("a", "pending"), todo("b", "in_progress"), todo("c", "completed")))
    assert found == ["TodoWrite [completed] Measure the tension"]


def test_a_task_is_called_by_its_subject_and_not_by_its_number() -> None:
    made = json.loads(json.dumps(fails("a", "Task #3 created successfully: Measure\n")).replace("true", "false"))
    found = tools(told(
        uses("a", "TaskCreate", subject="Measure"), made, uses("b", "TaskUpdate", taskId="3", status="completed"),
        uses("c", "TaskUpdate", taskId="3", subject="Weigh"), uses("d", "TaskUpdate", taskId=3, status="pending"),
    ))  # fmt: skip
    assert [line[4:] for line in found] == [
        "Create Measure", "Update [completed] Measure", "Update Weigh", "Update [pending] Weigh",
    ]  # fmt: skip


def test_a_long_report_of_a_sub_agent_keeps_both_ends() -> None:
    middle = "It is quite long. " * 200 + "The value weft_max is wrong. " + "And so on it goes. " * 200
    result = f"<summary>look</summary>\n<result>Begins. {middle} Ends.</result>"
    report = f"<task-notification>\n<status>completed</status>\n{result}\n</task-notification>"
    found = told(user("Go."), says("I wait."), user(report), says("So it is."))
    ((_, text),) = [step for step in found if "Begins." in step[1]]
    assert text.endswith("Ends.")
    assert len(text) < MAX_SAID + 200
    told_whole = told(user(middle.strip()), says(middle.strip()), uses("a", "Bash", command="make"))
    assert {text for role, text in told_whole if role != "tool"} == {middle.strip()}, "the user's and the last"


def test_what_other_agents_report_is_told_without_the_clients_frame() -> None:
    notification = "<task-notification><summary>look</summary>\n<result>All is well.</result></task-notification>"
    assert prompt.report(notification) == "(a sub-agent reported: look)\nAll is well."
    said = (("ada", "It works."), ("system", "ada has left"), ("bo", '{"type": "idle"}'))
    messages = [f'<teammate-message teammate_id="{who}" summary="s">{text}</teammate-message>' for who, text in said]
    assert prompt.report("".join(messages)) == "(a sub-agent reported: ada: s)\nIt works."
