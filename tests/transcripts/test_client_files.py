"""Where the client's transcripts are, and whose each is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoria.ground.clock import Zone
from memoria.transcripts import client_files, clients, codex
from memoria.transcripts.turn_reader import Decode


@pytest.mark.parametrize(
    ("name", "session"), [("new.jsonl", "new"), ("agent-1.jsonl", "old"), ("subagents/agent-2.jsonl", "old")]
)
def test_a_session_is_called_as_its_file_whatever_its_first_line_names(tmp_path: Path, name: str, session: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    first = {"type": "user", "sessionId": "old", "cwd": "/x/shop", "entrypoint": "cli", "timestamp": "2026"}
    lines = [first, {"type": "user", "sessionId": "new"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert client_files.head(path) == client_files.Head(session, "/x/shop", "cli", "2026")
    listed = [len(client_files.transcripts(tmp_path, sides=sides)) for sides in (True, False)]
    assert listed == [1, session == "new"], "a sub-agent's only where they are asked for"


def test_rollouts_lie_in_two_folders_of_codex_or_where_a_person_says(tmp_path: Path) -> None:
    ids = [f"0198a4c2-7b1e-7a30-9c55-1f2e3d4c5b6{number}" for number in range(4)]
    for ident, place in zip(ids, ("sessions/2026", "archived_sessions", "sessions", "elsewhere"), strict=True):
        path = tmp_path / place / f"rollout-2026-08-20T10-00-00-{ident}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        meta = {"cwd": "/x/shop", "originator": "tui", "source": {"subagent": "x"} if place == "sessions" else "cli"}
        path.write_text(json.dumps({"type": "session_meta", "payload": meta}))
        (path.parent / "rollout.jsonl").touch()
    roots = ((tmp_path, False), (tmp_path, True), (tmp_path / "elsewhere", False), (path, False))
    listed = [
        {found.session for found in codex.transcripts(root, sides=sides) if found.agent == "codex"}
        for root, sides in roots
    ]
    assert listed == [{*ids[:2]}, {*ids[:3]}, {ids[3]}, {ids[3]}]
    assert codex.head(path) == client_files.Head(ids[3], "/x/shop", "tui")


def test_a_day_is_named_by_its_date_or_by_how_long_it_is_ago_in_the_users_zone() -> None:
    zone, now = Zone("Europe/Berlin"), datetime(2026, 11, 15, 23, 30, tzinfo=UTC)  # the 16th in Berlin
    begun = datetime(2026, 11, 1, 23, tzinfo=UTC).timestamp()
    assert [client_files.moment(text, zone, now) for text in ("14d", "2026-11-02")] == [begun, begun]
    for text in ("d", "14", "1xd", "soon"):
        with pytest.raises(ValueError, match="isoformat"):
            client_files.moment(text, zone, now)


def test_after_a_broken_start_nothing_counts_but_what_names_its_session() -> None:
    whole = {"type": "user", "sessionId": "s"}
    torn = b'{"type": "user", "message": [{"type": "user", "text": "a part"}, ' + json.dumps(whole).encode()
    assert client_files.objects(torn) == [whole]


@pytest.mark.parametrize("decode", [client_files.decode, clients.CODEX.decoder()])
def test_only_a_whole_line_that_holds_something_counts_as_unreadable(decode: Decode) -> None:
    whole = b'{"type": "user", "sessionId": "s"}'
    lines, counted = [whole, b'{"type": "user"', b"torn\n", whole + b"\n", b" \t\0\r\n", b"\n", b'{"type": 1}\n'], 0

    def count() -> None:
        nonlocal counted
        counted += 1

    assert list(decode(lines, count)) == ([json.loads(whole)] * 2 if decode is client_files.decode else [])
    assert counted == 1
