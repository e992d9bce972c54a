"""A small home for the verbs that read and mend one: entries through the daily log, articles through their own room."""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn_reader import Reader
from memoria.wiki import index_page
from memoria.wiki.article import KEY_POINTS, Article, Claim
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki

DAY = date(2026, 11, 20)


def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **answers: list[Any]) -> Path:
    """Let the home's model say these answers; returns the script's file."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(answers), encoding="utf-8")
    monkeypatch.setenv("MEMORIA_MODEL", f"scripted:{path}")
    monkeypatch.setenv("MEMORIA_LIMIT_RETRY_S", "0")
    return path


def entry(home: Home, ident: str, title: str, day: date = DAY, **fields: Any) -> Entry:
    """Put an entry into its daily log."""
    made = Entry(
        id=ident, day=day, time=fields.pop("time", "14:05"), session=fields.pop("session", "s1"), project="shop",
        project_key=fields.pop("project_key", "shop-aaaaaa"), title=title, turns=fields.pop("turns", (f"k{ident}",)),
        model="m", **fields,
    )  # fmt: skip
    DailyLog(home.paths).append(made)
    return made


def line(number: int, role: str, text: str) -> bytes:
    """A line of the transcript of the session ``s1``."""
    value = {
        "type": role, "uuid": f"11111111-aaaa-4aaa-8aaa-{number:012}", "sessionId": "s1", "cwd": "/shop",
        "timestamp": "2026-11-20T14:05:00Z",
        "message": {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]},
    }  # fmt: skip
    return json.dumps(value).encode() + b"\n"


def talk(home: Home, ident: str, title: str, said: list[bytes], **fields: Any) -> Entry:
    """Put an entry into its daily log, and the turns of these lines into the archive."""
    turns = list(Reader().read(said))
    Archive.of(home.paths, 1).keep(ident, DAY, turns)
    return entry(home, ident, title, turns=tuple(turn.key for turn in turns), **fields)


def article(home: Home, slug: str, title: str, *claims: tuple[str, str], related: tuple[str, ...] = ()) -> Article:
    """Put an article on disk; claims as (text, entry id), linked to ``DAY``."""
    page = Article.new(slug, title, f"{title} in short.", DAY)
    for text, ident in claims:
        if ident:
            page.add(Claim(text, (f"daily/{DAY}#^e-{ident}",)))
        else:  # as a person writes it
            page.section(KEY_POINTS).add(f"- {text}")
    for other in related:
        page.relate(other, other.rsplit("/", 1)[-1])
    path = Wiki(home.paths).path(slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.render(), encoding="utf-8")
    return page


def catalogued(home: Home, *entries: Entry) -> None:
    """Write index and log as a compile of these entries would have left them."""
    wiki = Wiki(home.paths)
    for name, data in index_page.pages([*map(Row.of, wiki.articles())], wiki.folder).items():
        (wiki.folder / name).write_bytes(data or b"")
    told = index_page.log_block(home.zone.to_local(clock.now()), entries, [], []) if entries else ""
    (wiki.folder / "log.md").write_text(index_page.LOG_INTRO + told, encoding="utf-8")


def run(verb: Any, home: Home, *words: str) -> int:
    """Run a verb as the command line would."""
    parser = argparse.ArgumentParser()
    verb.arguments(parser)
    status: int = verb.command(parser.parse_args(words), home)
    return status
