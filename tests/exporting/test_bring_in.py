"""All data as one JSON object, and the way back: nothing is lost, and nothing is overwritten."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memoria.base.paths import Paths
from memoria.base.state import open_state
from memoria.cli import main
from memoria.correcting import claims
from memoria.daily.daily_log import DailyLog
from memoria.exporting.bring_in import bring_in, checked
from memoria.exporting.record import record
from memoria.facts.keeper import Keeper
from memoria.ground import project_folders
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.transcripts.archive import Archive
from memoria.transcripts.tombstones import Tombstones
from memoria.wiki.folder import Wiki
from reader_home import DAY, fill, write


@pytest.fixture
def full() -> Home:
    home = Home.open()
    fill(home)
    write(
        home,
        "concepts/odd",
        "# Odd\r\n\r\nWindows line ends, \udcff and 🧪.\r\n".encode("utf-8", "surrogateescape").decode(
            "utf-8", "replace"
        ),
    )
    Path(home.paths.knowledge, "concepts", "bytes.md").write_bytes(b"# Bytes\n\nnot \xff UTF-8\n")
    claim = Wiki.of(home.paths).get("concepts/umlaute")
    assert claim is not None
    claims.correct(home, "concepts/umlaute", claim.claims[0].digest, "ä wird a, ö wird o")
    with Keeper.at(home) as keeper:
        keeper.delete(keeper.store.facts()[0].id)
    project_folders.see(home.paths, "shop-1a2b3c", "/home/ann/shop")
    Tombstones.of(home.paths).add("a forgotten text")
    Path(home.paths.projects).write_text(
        '{"folders": {"/a": {"key": "k", "remote": "r", "commit": "c", "mark": "m"}}, "aliases": {"x": "y"}}'
    )
    return home


@pytest.fixture
def empty(full: Home, tmp_path: Path) -> Home:
    paths = Paths(str(tmp_path / "other"))
    open_state(paths)
    return replace(full, paths=paths)


def through_json(told: dict[str, Any]) -> dict[str, Any]:
    return checked(json.dumps(told).encode())


def test_an_import_into_an_empty_home_is_exported_as_the_same(full: Home, empty: Home) -> None:
    told = record(full)
    assert told["archive"]
    assert told["taken_back"]
    assert told["deleted_facts"]
    assert told["facts"]
    bring_in(empty, through_json(told))
    assert record(empty) == told
    for name in ("concepts/bytes.md", "concepts/odd.md", "log.md"):
        assert Path(empty.paths.knowledge, name).read_bytes() == Path(full.paths.knowledge, name).read_bytes()
    days = DailyLog.of(full.paths).days()
    assert all(DailyLog.of(full.paths).text(day) == DailyLog.of(empty.paths).text(day) for day in days)
    assert Archive.of(empty.paths).turns("c1") == Archive.of(full.paths).turns("c1")


def test_a_second_import_changes_nothing(full: Home, empty: Home) -> None:
    told = through_json(record(full))
    bring_in(empty, told)
    before = record(empty)
    brought = bring_in(empty, told)
    assert [brought.days, brought.files, brought.archived] == [[], [], []]
    assert record(empty) == before


def test_a_day_that_is_there_gets_what_it_lacks_and_loses_nothing(full: Home, empty: Home) -> None:
    rows = ("### Session (08:00) · mine · My own", "**Context:** Mine.", "^e-mine1",
            "<!-- memoria entry=mine1 session=s turns=t project=mine-1 model=m -->\n")  # fmt: skip
    mine = "\n\n".join(rows)
    path = DailyLog.of(empty.paths).path(DAY)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Daily Log: {DAY}\n\nA note of mine.\n\n{mine}")
    bring_in(empty, through_json(record(full)))
    text = DailyLog.of(empty.paths).text(DAY)
    assert "A note of mine." in text
    assert mine in text
    assert {"mine1", "c1"} <= {entry.id for entry in DailyLog.of(empty.paths).entries(DAY)}
    assert text.count("^e-c1\n") == 1


def test_a_page_that_is_there_with_another_text_stops_everything(full: Home, empty: Home) -> None:
    write(empty, "concepts/checkout", "# Mine\n")
    with pytest.raises(ExpectedError, match=r"1 page here has another text: concepts/checkout\.md"):
        bring_in(empty, through_json(record(full)))
    assert Wiki.of(empty.paths).read("concepts/checkout") == b"# Mine\n"
    assert Wiki.of(empty.paths).slugs() == ["concepts/checkout"]
    assert not DailyLog.of(empty.paths).days()


def test_what_was_forgotten_here_does_not_come_back(full: Home, empty: Home) -> None:
    Tombstones.of(empty.paths).add("idempotency key")
    brought = bring_in(empty, through_json(record(full)))
    assert "concepts/checkout.md" in brought.forgotten
    texts = [*map(DailyLog.of(empty.paths).text, DailyLog.of(empty.paths).days())]
    assert texts
    assert not any("idempotency key" in text for text in texts)
    assert not Wiki.of(empty.paths).read("concepts/checkout")
    assert "idempotency key" not in json.dumps(record(empty)["archive"])
    assert Archive.of(empty.paths).turns("c1")  # the other turns of the conversation are there


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "update memoria"),
        ({"version": None}, "update memoria"),
        ({"format": "other"}, "not an export"),
        ({"daily": []}, "damaged"),
        ({"daily": {"../x": "y"}}, "no day"),
        ({"knowledge": {"../../x.md": "y"}}, "no page"),
        ({"knowledge": {"/etc/x.md": "y"}}, "no page"),
        ({"knowledge": {"concepts/x.sh": "y"}}, "no page"),
        ({"knowledge": {"concepts\\x.md": "y"}}, "no page"),
        ({"archive": {"c1": {"day": "never", "turns": []}}}, "damaged"),
        ({"archive": {"c1": {"day": "2026-11-20", "turns": [{}]}}}, "damaged"),
        ({"archive": {"../c1": {"day": "2026-11-20", "turns": []}}}, "damaged"),
        ({"knowledge": {"concepts/x.md": "half a pair: \ud800"}}, "damaged"),
        ({"daily": {"2026-11-20": "half a pair: \ud800"}}, "damaged"),
        ({"forgotten": {"salt": "no digits", "texts": []}}, "damaged"),
        ({"forgotten": {"texts": [{}]}}, "damaged"),
        ({"taken_back": {"x": {"nonsense": 1}}}, "damaged"),
    ],
)
def test_what_is_no_export_of_this_version_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ExpectedError, match=reason):
        checked(json.dumps({"format": "memoria", "version": 1, **change}).encode())


def test_the_commands_write_and_read_a_file(
    full: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "all.json"
    assert main(["export", "--json", str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("MEMORIA_HOME", str(tmp_path / "third"))
    assert main(["import", str(file)]) == 0
    assert "articles" not in capsys.readouterr().err
    assert record(Home.open()) == record(full)
    assert date.fromisoformat(next(iter(record(full)["daily"])))
    file.write_text("nonsense")
    assert main(["import", str(file)]) == 1
    assert main(["import", str(tmp_path / "nowhere")]) == 1
