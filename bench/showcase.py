"""The showcase: a fictional memory (``showcase.toml``) that is worth a picture, with all that the reader can show.

Its moment is ``NOW``; whoever reads it sets ``clock.now`` to that. The same text always gives the same home.
"""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoria.audit.receipt import check_some
from memoria.base import project
from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Call, Ledger
from memoria.ground.home import Home
from memoria.pages.refresh import renew
from memoria.recall import session_start
from memoria.statements.keeper import Keeper
from memoria.transcripts import client_files
from memoria.transcripts.turn_reader import Reader
from reader_home import DAY, fill

SHOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NOW: datetime = SHOWN["today"].astimezone(UTC)
BUDGET: float = SHOWN["costs"]["budget"]
PRICES = {"haiku": (1.0, 5.0), "sonnet": (3.0, 15.0)}  # dollars for a million tokens in and out
assert NOW.date() == DAY

Row = dict[str, Any]


def build(home: Home) -> None:
    """Write everything to an empty home, and its transcripts to the client's folder; ``clock.now`` must be ``NOW``."""
    Path(home.paths.since).write_text(str((NOW - timedelta(days=30)).timestamp()))
    projects = {name: (word, _project(home, word)) for name, word in SHOWN["projects"].items()}
    entries, quiet = ([_entry(each, projects) for each in SHOWN[kind]] for kind in ("entries", "quiet"))
    fill(home, entries, [{**each, "project": projects[each["project"]]} for each in SHOWN["articles"]])
    with closing(Ledger(home.paths)) as ledger, Keeper.at(home) as keeper:
        DailyLog(home.paths).refresh(ledger)
        _book_calls(ledger, entries)
        renew(home, keeper)
        for each in quiet:
            ledger.record_nothing(each["keys"], f"s-{each['id']}", "nothing worth an entry")
        for each in entries + quiet:
            _write_transcript(home, each)
        check_some(home, ledger, Spool(home.paths.spool))
        _fail(home, ledger)


def folder(word: str) -> str:
    """Return the folder of a project."""
    return f"/home/robin/{word}"


def _project(home: Home, word: str) -> str:
    return project.key_of(folder(word), home.settings, home.paths)


def _entry(each: Row, projects: dict[str, tuple[str, str]]) -> Row:
    ident, ago, time = each["at"]
    given = [[who, one[part]] for one in SHOWN["given"] if one["entry"] == ident
             for who, part in (("user", "prompt"), ("assistant", "said"))]  # fmt: skip
    made = {**each, "id": ident, "ago": ago, "time": time, "project": projects[each["project"]],
            "said": given + each["said"]}  # fmt: skip
    lines = [json.dumps(row).encode() + b"\n" for row in _conversation(made)]
    reader = Reader()
    return {**made, "keys": [turn.key for turn in (*reader.read(lines), *reader.settle())]}


def _conversation(each: Row) -> list[Row]:
    """Return the rows of the transcript in which something is said."""
    return [_said(who, text, f"t{each['id']}{number}") for number, (who, text) in enumerate(each["said"])]


def _book_calls(ledger: Ledger, entries: list[Row]) -> None:
    """Book a summary for each entry, and a compile for each day of a project."""
    compiled = set()
    for number, each in enumerate(entries):
        said = sum(len(text) for _, text in each["said"]) + len(each["context"])
        when = _began(each) + timedelta(minutes=40)
        _book(ledger, "flush", "haiku", each["project"][1], (3 * said + 4_000, 600), when)
        day = each["ago"], each["project"]
        if day not in compiled:
            compiled.add(day)
            tokens = 5_500 + 600 * (number % 7), 900 + 150 * (number % 5)
            _book(ledger, "compile", "sonnet", each["project"][1], tokens, when + timedelta(hours=1))


def _book(ledger: Ledger, task: str, model: str, key: str, tokens: tuple[int, int], when: datetime) -> None:
    dollars = sum(count * price for count, price in zip(tokens, PRICES[model], strict=True)) / 1_000_000
    ledger.book(Call(task, model, key, "ok", *tokens, dollars, 6.0), min(when, NOW))


def _began(each: Row) -> datetime:
    return datetime.fromisoformat(f"{DAY - timedelta(days=each['ago'])}T{each['time']}:00+00:00")


def _write_transcript(home: Home, each: Row) -> None:
    """Write the client's transcript of an entry's session, with what memoria gave it."""
    began = _began(each)
    word, key = each["project"]
    session = f"s-{each['id']}"
    page = _added("SessionStart", session_start.context(key, "", home.settings, home.paths))
    first, *others = _conversation(each)
    notes = [_notes(given["notes"]) for given in SHOWN["given"] if given["entry"] == each["id"]]
    about = {"sessionId": session, "cwd": folder(word), "version": "2.1.180"}
    lines = [
        {"uuid": f"{session}-{n}", "timestamp": f"{began + timedelta(minutes=n):%Y-%m-%dT%H:%M:%SZ}", **about, **row}
        for n, row in enumerate([page, first, *notes, *others])
    ]
    path = client_files.folder(os.environ) / folder(word).replace("/", "-") / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    ended = (began + timedelta(minutes=len(lines))).timestamp()
    os.utime(path, (ended, ended))


def _notes(notes: list[list[str]]) -> Row:
    """Return the notes that were shown beside a prompt."""
    rows = "".join(f"- [{about}] {text} ({_source(source)})\n" for about, text, source in notes)
    return _added("UserPromptSubmit", f"Notes that may fit:\n<memoria-notes-5e1f>\n{rows}</memoria-notes-5e1f>\n")


def _source(source: str) -> str:
    if not source.startswith("l-"):
        return f"knowledge/{source}.md"
    ago = next(each["at"][1] for each in SHOWN["entries"] if each["at"][0] == source[2:5])
    return f"daily/{DAY - timedelta(days=ago)}#^{source}"


def _added(event: str, text: str) -> Row:
    content = {"type": "hook_additional_context", "content": [text], "hookEvent": event, "hookName": event}
    return {"type": "attachment", "attachment": content}


def _said(who: str, text: str, uuid: str) -> Row:
    content: Any = text if who == "user" else [{"type": "text", "text": text}]
    return {"type": who, "uuid": uuid, "message": {"role": who, "content": content, "id": uuid}}


def _fail(home: Home, ledger: Ledger) -> None:
    """Leave a job that failed, and the note of a compile that was refused."""
    spool = Spool(home.paths.spool)
    header = {"event": "Stop", "session": "s-away", "start": 0, "end": 3, "transcript": "t", "cwd": folder("away")}
    spool.add(header, b"{}\n")
    for job in spool.jobs():
        spool.claim(job)
        spool.fail(job, "the model was overloaded")
    ledger.note("refused", "f18", "The draft of “GTFS export” left out two claims that still hold; "
                "the article stays as it was, and the entry waits for the next compile.")  # fmt: skip
