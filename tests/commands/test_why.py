"""Why: from a claim to its words, in the transcript while it exists, then in the archive, else nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from home_of import DAY, article, entry, run
from memoria.capture import cursor
from memoria.commands import why
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Reader

CLAIM = "Hold `worker.lock` before reading the spool."


def line(uuid: str, role: str, text: str) -> dict[str, Any]:
    return {
        "type": role, "uuid": uuid, "sessionId": "s1", "timestamp": "2026-11-20T14:05:00Z", "cwd": "/p",
        "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
    }  # fmt: skip


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    lines = [
        {"type": "summary", "summary": "x"},
        line("11111111-aaaa-4aaa-8aaa-000000000001", "user", "Why do entries stand twice?"),
        line("11111111-aaaa-4aaa-8aaa-000000000002", "assistant", "The lock comes too late. \x1b[31m"),
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


@pytest.fixture
def home(transcript: Path) -> Home:
    home = Home.open()
    turns = list(Reader().read(transcript.read_bytes().splitlines()))
    assert len(turns) == 2
    made = entry(home, "01aa", "Flush race")
    log = Path(home.paths.daily, f"{DAY}.md")
    log.write_text(log.read_text().replace("turns=k01aa", "turns=" + ".".join(turn.key for turn in turns)))
    Archive.of(home.paths, 1).keep(made.id, DAY, turns)
    cursor.write(home.paths.cursors, "s1", cursor.Cursor(str(transcript), 1, b""))
    article(home, "concepts/worker-lock", "Worker lock", (CLAIM, "01aa"), ("By hand.", ""))
    return home


def test_a_claim_leads_to_the_line_of_the_transcript(
    home: Home, transcript: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(why, home, "worker.lock", "before", "the", "spool") == 0
    shown = capsys.readouterr().out
    assert CLAIM in shown
    assert f"[[daily/{DAY}#^e-01aa]] · 14:05 · shop · Flush race" in shown
    assert f"user · {transcript}:2\n      Why do entries stand twice?" in shown
    assert f"assistant · {transcript}:3" in shown
    assert "\x1b" not in shown


def test_an_article_leads_to_all_its_claims_and_one_without_a_source_says_so(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(why, home, "Worker lock") == 0
    shown = capsys.readouterr().out
    assert CLAIM in shown
    assert "By hand.\n  in [[concepts/worker-lock]]\n  cites no source" in shown


def test_when_the_transcript_is_gone_the_archive_answers(
    home: Home, transcript: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transcript.unlink()
    run(why, home, "concepts/worker-lock", "--json")
    (claim, _) = json.loads(capsys.readouterr().out)["claims"]
    (source,) = claim["sources"]
    assert next(turn["text"] for turn in source["turns"]) == "Why do entries stand twice?"
    assert all(turn["archived"] and turn["transcript"] is None for turn in source["turns"])
    run(why, home, "concepts/worker-lock")
    assert "archive (the transcript is gone)" in capsys.readouterr().out


def test_when_nothing_is_left_that_is_said(home: Home, transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transcript.unlink()
    Archive.of(home.paths, 1).remove("01aa")
    run(why, home, "concepts/worker-lock")
    assert "no longer in the transcript or in the archive" in capsys.readouterr().out


def test_what_nobody_claimed_is_an_error_in_one_line(home: Home) -> None:
    with pytest.raises(ExpectedError, match="No article and no claim"):
        run(why, home, "quagga", "stripes")
