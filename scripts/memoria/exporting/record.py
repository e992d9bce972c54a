"""Record: all data of a home as one JSON object, from which a home can be made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memoria.base import visibility
from memoria.daily.daily_log import DailyLog
from memoria.facts.keeper import Keeper
from memoria.ground import home_files
from memoria.ground.home import Home
from memoria.transcripts import archive
from memoria.transcripts.archive import Archive

FORMAT, VERSION = "memoria", 1

JsonObject = dict[str, Any]


def record(home: Home) -> JsonObject:
    """Return everything; bytes that are not UTF-8 are escaped as half surrogates, so that nothing is lost."""
    paths = home.paths
    daily = DailyLog.of(paths)
    with Keeper.at(home) as keeper:
        facts = sorted(keeper.store.facts(live=False), key=lambda fact: (fact.time, fact.id))
        gone = sorted(keeper.store.gone())
        taken_back = {name: json.loads(past.to_json()) for name, past in sorted(keeper.store.taken_back().items())}
    return {
        "format": FORMAT,
        "version": VERSION,
        "daily": {day.isoformat(): text(daily.path(day)) for day in daily.days()},
        "knowledge": _knowledge(Path(paths.knowledge)),
        "archive": _archive(Archive.of(paths)),
        "projects": _json(Path(paths.projects)),
        "folders": visibility.folders(paths.folders),
        "forgotten": _json(Path(paths.forgotten)),
        "deleted_facts": gone,
        "taken_back": taken_back,
        "facts": [fact.to_dict() for fact in facts],
    }


def text(path: Path) -> str:
    """Return what a file holds, byte for byte."""
    return home_files.read(path).decode("utf-8", "surrogateescape")


def _knowledge(folder: Path) -> dict[str, str]:
    names = [*home_files.generated(folder), *(f"{slug}.md" for slug, _ in home_files.articles(folder))]
    return {name: text(folder / name) for name in sorted(names)}


def _archive(kept: Archive) -> dict[str, JsonObject]:
    listed = sorted(kept.listed(), key=lambda each: (each.day, each.entry))
    return {each.entry: {"day": each.day, "turns": [archive.row(turn) for turn in kept.read(each)]} for each in listed}


def _json(path: Path) -> JsonObject:
    try:
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}
