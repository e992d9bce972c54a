"""Where the client's transcripts are, and whose each is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoria.transcripts import client_files, clients
from memoria.transcripts.turn_reader import Decode


@pytest.mark.parametrize(
    ("name", "session"), [("new.jsonl", "new"), ("agent-1.jsonl", "old"), ("subagents/agent-2.jsonl", "old")]
)
def test_a_session_is_called_as_its_file_is_whatever_its_first_line_names(
    tmp_path: Path, name: str, session: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    lines = [{"type": "user", "sessionId": "old", "cwd": "/x/shop"}, {"type": "user", "sessionId": "new"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    head = client_files.head(path)
    assert (head.session, head.cwd) == (session, "/x/shop")
    listed = [len(client_files.transcripts(tmp_path, sides=sides)) for sides in (True, False)]
    assert listed == [1, session == "new"], "a sub-agent's only where they are asked for"


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
