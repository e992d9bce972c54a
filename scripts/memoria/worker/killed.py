"""Killed: what a client that was killed over a prompt had in hand becomes a job: its transcript, or the prompt."""

from __future__ import annotations

import json
import os
from datetime import timedelta

from memoria.capture import open_sessions
from memoria.capture.spool import Spool
from memoria.ground import clock
from memoria.ground.files import sha256
from memoria.ground.home import Home
from memoria.transcripts.intake import KILLED, MAX_LINE, regular
from memoria.transcripts.turn_reader import Reader

APART = timedelta(seconds=10)  # the hook's time and the transcript's, at most


def take_up(home: Home, spool: Spool) -> None:
    """Spool the transcripts of clients that were killed in a turn, or the prompts that these do not hold."""
    for path in open_sessions.find_dead(home.paths):
        record = open_sessions.read_sent(path)
        if record:
            written = _is_written(record)
            size = os.stat(record["transcript"]).st_size if written else 0  # noqa: PTH116 (a str)
            line = b"" if written else json.dumps(_line(record)).encode() + b"\n"
            given = {name: record[name] for name in ("session", "transcript", "cwd", "time")}
            place = {"start": 0, "copied_from": size, "end": size}
            spool.add({"event": "Verify" if written else KILLED, **given, **place}, line)
        open_sessions.remove(path)


def _is_written(record: dict[str, str]) -> bool:
    """Return whether the transcript holds the prompt, by its id or by its words at that time."""
    asked = Reader().read([json.dumps(_line(record)).encode()])
    said, when = {turn.text for turn in asked}, clock.parse(record["time"])
    reader = Reader()
    try:
        with regular(record["transcript"]) as file:
            while line := file.readline(MAX_LINE):
                if record["id"] and record["id"].encode() in line:
                    return True
                for turn in reader.read([line]):
                    if turn.text in said and not (when and turn.time and turn.time < when - APART):
                        return True
    except OSError:  # it was never begun, or is gone
        return False
    return any(turn.text in said for turn in reader.settle())


def _line(record: dict[str, str]) -> dict[str, object]:
    """Return the line that the client would have written."""
    return {
        "type": "user",
        "uuid": "sent-" + (record["id"] or sha256(json.dumps(record, sort_keys=True))[:32]),
        "message": {"role": "user", "content": record["prompt"]},
        "timestamp": record["time"],
        "sessionId": record["session"],
        "cwd": record["cwd"],
    }
