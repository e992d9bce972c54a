"""Hooks as processes: whatever they are told, they exit with 0 and print nothing but the protocol's JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks import DECLARED, Client, exchange
from memoria.base.paths import STATE_VERSION
from memoria.capture import hook
from places import PAYLOADS
from registered import CONTEXT_EVENTS

RECORDED = sorted(PAYLOADS.glob("*.json"))
JUNK = (
    b"", b" ", b"{", b"null", b"[]", b"7", b"\xff\xfe", b"[" * 200_000, b"{}", b'{"session_id": 7, "cwd": []}',
    b'{"session_id": "s", "transcript_path": "\\u0000", "hook_event_name": "Stop", "cwd": "\\u0000"}',
    b'{"session_id": "\\ud800", "transcript_path": "/\\ud800", "hook_event_name": "\\ud800", "cwd": "\\ud800"}',
    b'{"session_id": "../../x", "transcript_path": "/etc", "hook_event_name": "../../x", "cwd": "/"}',
    b'{"session_id": "s", "transcript_path": "/dev/zero", "hook_event_name": "SessionEnd", "cwd": "relative"}',
    b'{"a": "' + b"x" * 5_000_000 + b'"}',
)  # fmt: skip


@pytest.mark.parametrize("payload", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_payload_is_read(payload: Path, tmp_path: Path) -> None:
    client = Client(tmp_path)
    fields = json.loads(payload.read_text(encoding="utf-8"))
    event = fields["hook_event_name"]
    if event not in DECLARED:
        pytest.skip("no hook of ours listens to it")
    said = client.fire(event, payload.read_bytes())
    log = client.log() if Path(client.paths.hook_log).exists() else ""
    assert "ERROR" not in log
    assert fields["session_id"] in log or event in CONTEXT_EVENTS, "only a hook with nothing to say leaves no line"
    assert said == "" or event == "SessionStart"


@pytest.mark.slow
def test_junk_on_stdin_neither_fails_nor_prints(tmp_path: Path) -> None:
    client = Client(tmp_path)
    events = list(DECLARED)
    for number, raw in enumerate(JUNK):
        for event in ("SessionStart", events[number % len(events)]):
            said = client.fire(event, raw)
            assert said == "" or (event == "SessionStart" and set(json.loads(said)) <= {"systemMessage"})
    known = {"mémoria home", "my prôject", "my prôjects", "user", ".cache"}
    assert {path.name for path in tmp_path.iterdir()} <= known
    assert list(client.cwd.iterdir()) == []


NAMES = st.sampled_from(["session_id", "transcript_path", "cwd", "hook_event_name", "x"])
VALUES = st.recursive(
    st.text(max_size=9) | st.none() | st.integers(), lambda inner: st.dictionaries(NAMES, inner), max_leaves=8
)


@pytest.mark.slow
@given(st.binary(max_size=300) | VALUES.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_any_input_is_an_object_or_a_value_error(raw: bytes) -> None:
    try:
        payload = hook.read_payload(raw)
    except ValueError:
        return
    event = hook.Event(payload)
    assert all(isinstance(part, str) for part in (event.name, event.session, event.transcript, event.cwd))


@pytest.mark.parametrize(
    "path", [r"C:\temp\new\u1.jsonl", r"C:\Users\ada\x.jsonl", r"D:\a b\ü\r.jsonl", r"\\server\share\t.jsonl"]
)
def test_windows_paths_with_single_backslashes_are_repaired(path: str) -> None:
    raw = '{"session_id":"s","transcript_path":"%s","cwd":"C:\\temp","reason":"other"}' % path  # noqa: UP031 (braces)
    payload = hook.read_payload(raw.encode())
    assert payload["cwd"] == r"C:\temp"
    if not path.startswith("\\\\"):  # there a doubled backslash is a pair that is right already
        assert payload["transcript_path"] == path
    assert payload["reason"] == "other"


def test_what_is_escaped_rightly_stays_as_it_is() -> None:
    fields = {"transcript_path": "C:\\temp\\new.jsonl", "cwd": "/home/a\tb\n", "last_assistant_message": 'a\n"b"\\c'}
    assert hook.read_payload(json.dumps(fields).encode()) == fields


@pytest.mark.parametrize("variable", [{"CLAUDE_INVOKED_BY": "memoria"}, {"MEMORIA_DISABLED": "1"}])
def test_a_call_of_our_own_and_a_switched_off_memoria_touch_nothing(tmp_path: Path, variable: dict[str, str]) -> None:
    client = Client(tmp_path, **variable)
    client.write(exchange(1))
    for event in DECLARED:
        assert client.fire(event) == ""
    assert not Path(client.paths.home).exists()


def test_a_state_of_a_newer_memoria_is_left_alone(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.fire("SessionStart")
    Path(client.paths.version).write_text("99\n", encoding="utf-8")
    client.write(exchange(1))
    assert client.fire("SessionEnd") == ""
    assert client.jobs() == []
    assert "newer memoria" in client.log()
    said = json.loads(client.fire("SessionStart"))["systemMessage"]
    assert "update memoria" in said
    Path(client.paths.version).write_text(f"{STATE_VERSION}\n", encoding="utf-8")  # the newer memoria has come
    client.fire("SessionEnd")
    assert len(client.jobs()) == 1, "what was said meanwhile is read from the transcript"


def test_fields_of_a_wrong_type_count_as_missing() -> None:
    fields: dict[str, Any] = {"session_id": 7, "transcript_path": None, "cwd": ["a"], "hook_event_name": {"a": 1}}
    event = hook.Event(fields)
    assert (event.session_id, event.transcript, event.cwd, event.name) == ("", "", "", "")
