"""Homes and states as 0.1.0 and 0.2.0 wrote them go on working: nothing is lost, nothing is told twice."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memoria import cli
from memoria.capture import cursor
from memoria.capture.capture import capture
from memoria.capture.hook import Event
from memoria.capture.spool import Spool
from memoria.commands.demo import TRANSCRIPTS
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.index.index import Index
from memoria.recall import session_start
from memoria.statements.fact import Ending
from memoria.statements.keeper import Keeper
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki
from memoria.worker import worker

pytestmark = pytest.mark.slow

OLD = Path(__file__).parent / "fixtures" / "home-0.1.0"
CLOCK, CACHE = "5b1f6a0e-3c52-4c1f-9d0a-7e1c2f4a9b10", "c4d8e7b2-91a6-4f0d-8b35-2a6d1c9e0f44"
OFFLINE, OFF = "0e97a3d5-6f48-4b7c-a1d2-b83f5c7e6120", "0d9b7e11-7c1e-4a55-9f0e-3f6f3f0a9c77"
SEEN = 40  # lines of the session that was going on
PROJECT = "/home/mara/src/tidemark"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with home, settings and transcripts, as 0.1.0 left them a moment ago."""
    base = _home(tmp_path, OLD, monkeypatch)
    (base / ".config" / "memoria").mkdir(parents=True)
    (base / "memoria" / "config.json").rename(base / ".config" / "memoria" / "config.json")
    client = transcript(base, CLOCK).parent
    client.mkdir(parents=True)
    (base / "memoria" / f"{OFF}.jsonl").rename(transcript(base, OFF))
    for session, name in ((CLOCK, "2026-11-18-clock-change"), (CACHE, "2026-11-18-prediction-cache")):
        shutil.copy(TRANSCRIPTS / f"{name}.jsonl", transcript(base, session))
    transcript(base, OFFLINE).write_bytes(b"".join(_rows()[:SEEN]))
    return base


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a home of 0.2.0 in which all is summarised and compiled."""
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    return _home(tmp_path, OLD.with_name("home-0.2.0"), monkeypatch)


def _home(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    base = tmp_path / "user"
    _copy(source, base / "memoria", base)
    (base / "memoria" / "state").rename(base / "memoria" / ".memoria")
    (base / "memoria" / "README.md").unlink()
    monkeypatch.setenv("MEMORIA_HOME", str(base / "memoria"))
    monkeypatch.setenv("MEMORIA_COMPILE_INTERVAL_MIN", "100000000")  # the tests compile when they mean to
    monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")  # no worker beside them
    return base


def _copy(source: Path, target: Path, base: Path) -> None:
    for path in source.rglob("*"):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".sql":
            with closing(sqlite3.connect(copy.with_suffix(""))) as db:
                db.executescript(path.read_text(encoding="utf-8").replace("@BASE@", str(base)))
        elif path.suffix == ".gz":
            shutil.copy(path, copy)
        elif path.is_file():
            copy.write_bytes(path.read_bytes().replace(b"@BASE@", str(base).encode()))


def _rows() -> list[bytes]:
    return (TRANSCRIPTS / "2026-11-19-offline-tides.jsonl").read_bytes().splitlines(keepends=True)


def transcript(base: Path, session: str) -> Path:
    return base / ".claude" / "projects" / "-home-mara-src-tidemark" / f"{session}.jsonl"


def fire(base: Path, session: str, name: str) -> None:
    home = Home.open()
    fields = {"hook_event_name": name, "session_id": session, "transcript_path": str(transcript(base, session))}
    capture(Event({**fields, "cwd": PROJECT}), home.settings, home.paths)


def entries() -> list[Entry]:
    daily = DailyLog(Home.open().paths)
    return [entry for day in daily.days() for entry in daily.entries(day)]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert cli.main(list(arguments)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_the_receipt_finds_nothing_missing(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(capsys, "verify", "--json"))
    assert (facts["turns"], facts["captured"], facts["waiting"], facts["missing"]) == (86, 58, 22, 0)
    assert sum(facts["skipped"].values()) == 6, "what was said with memoria off stays out"


def test_a_waiting_job_becomes_an_entry_and_the_session_goes_on(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = entries()
    run(capsys, "flush", "--now")
    (first,) = [entry for entry in entries() if entry not in before]
    assert first.session == OFFLINE
    assert entries()[:2] == before
    run(capsys, "flush", "--now")
    assert len(entries()) == 3
    with transcript(base, OFFLINE).open("ab") as file:
        file.writelines(_rows()[SEEN:])
    fire(base, OFFLINE, "SessionEnd")
    run(capsys, "flush", "--now")
    _, _, first_again, rest = entries()
    assert first_again == first
    assert rest.session == OFFLINE
    assert not set(first.turns) & set(rest.turns)
    assert not Spool(Home.open().paths.spool).jobs()
    assert json.loads(run(capsys, "verify", "--json"))["missing"] == 0


def test_a_session_that_was_switched_off_stays_out_until_it_is_switched_on(base: Path) -> None:
    home = Home.open()
    mark = cursor.paused_spans(home.paths.cursors, OFF)
    assert mark is not None
    assert mark.covers(0)
    shutil.copy(transcript(base, CLOCK), new := transcript(base, OFF).with_name("new.jsonl"))
    with transcript(base, OFF).open("ab") as file:
        file.write(new.read_bytes())
    fire(base, OFF, "SessionEnd")
    (job,) = [job for job in Spool(home.paths.spool).jobs() if job.session == OFF]
    assert job.start == (OLD / f"{OFF}.jsonl").stat().st_size


def pages(base: Path) -> dict[str, bytes]:
    """Return the articles; the index and the log have another form now."""
    folder = base / "memoria" / "knowledge"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("*/*.md")}


def lines(base: Path) -> dict[str, list[Claim]]:
    """Return what articles and their histories tell."""
    articles = [Article(name, data.decode()) for name, data in pages(base).items()]
    return {article.slug: [*article.claims, *article.history] for article in articles}


def texts(told: dict[str, list[Claim]]) -> dict[str, list[str]]:
    return {slug: [claim.text for claim in claims] for slug, claims in told.items()}


def logs(base: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (base / "memoria" / "daily").glob("*.md")}


def test_lines_get_ids_where_they_stand_once_and_nothing_is_compiled_again(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, before, said = pages(base), texts(lines(base)), logs(base)
    assert "0 of 0 entries compiled" in run(capsys, "compile")
    assert texts(lines(base)) == before
    assert logs(base).items() >= said.items(), "a statement that waited has a log of its own now"
    told = [claim for claims in lines(base).values() for claim in claims]
    assert all(claim.id for claim in told)
    with Keeper.at(Home.open()) as keeper:
        facts = {claim.id: keeper.store.get(claim.id) for claim in told}
        written = {claim.id for claim in told if keeper.store.day(claim.id)}
    assert {fact.content for fact in facts.values() if fact} == {text for each in before.values() for text in each}
    assert {claim.id for claim in told if not claim.is_own} == written, "a line links its statement where there is one"
    assert written
    assert all("#^e-" in claim.sources[0] for claim in told if claim.is_own)
    named = pages(base)
    assert "0 of 0 entries compiled" in run(capsys, "compile")
    assert pages(base) == named
    owned = {name: re.sub(rb"^project: .*\n", b"", data, flags=re.MULTILINE) for name, data in named.items()}
    assert owned != old
    assert [name for name, data in named.items() if owned[name] == data] == [], "each has its project"


def test_a_compile_takes_in_what_is_new_and_undo_takes_all_back(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = pages(base)
    run(capsys, "compile")
    named = pages(base)
    run(capsys, "flush", "--now")
    run(capsys, "compile")
    assert pages(base) != named
    run(capsys, "undo")
    assert pages(base) == named
    run(capsys, "undo")  # of the ids and the projects
    assert pages(base) == old
    run(capsys, "undo")  # a step that 0.1.0 wrote
    step = OLD / "state" / "undo" / "00000002-20261121T180134"
    assert pages(base)["concepts/tidemark.md"] == (step / "1.old").read_bytes()


def stated(base: Path) -> dict[str, str]:
    """Return the ids in the daily logs by what they say."""
    rows = re.findall(r"^- \[\w+\] (.*) \^(l-\w+)$", "".join(map(bytes.decode, logs(base).values())), re.MULTILINE)
    return dict(rows)


BY_HAND = "No dot folders in my home at all; follow the XDG directories."


def test_the_first_worker_gives_the_lines_of_0_2_0_their_ids_and_leaves_all_words(
    later: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, said, known = texts(lines(later)), logs(later), stated(later)
    with Keeper.at(Home.open()) as keeper:
        facts = {fact.id: fact for fact in keeper.store.facts(live=False)}
    worker.work(Home.open())
    assert (texts(lines(later)), logs(later)) == (before, said)
    now = {claim.text: claim for slug in before for claim in lines(later)[slug] if claim.id}
    assert [text for slug in before for text in before[slug] if text not in now] == [
        "Predictions are fetched from the server at run time when the cache has nothing.",
        "Predictions are cached in one SQLite file, not in JSON files.",
    ], "only what stood under History has none"
    assert {text: claim.id for text, claim in now.items() if not claim.is_own} == {
        BY_HAND if "dot folders" in text else text: ident for text, ident in known.items() if not facts[ident].ended
    }
    assert all("#^e-" in claim.sources[0] for claim in now.values() if claim.is_own)
    hour = next(claim for text, claim in now.items() if "`utc_offset`; each station" in text)
    assert "from [[daily/2026-11-18#^e-as6uhuey]]" in run(capsys, "why", hour.id)
    assert "High waters one hour late" in run(capsys, "show", hour.id)
    with Keeper.at(Home.open()) as keeper:
        assert {fact.id: fact for fact in keeper.store.facts(live=False)}.items() >= facts.items()
        assert not any("Mara" in fact.content for fact in keeper.store.facts()), "a person's own list is none"
    page = next(Path(Home.open().paths.page).glob("tidemark-*.md")).read_text()
    assert page.count("dot folders") == 1
    assert "cached in one SQLite file" not in page
    assert "0 of 0 entries compiled" in run(capsys, "compile")
    named = pages(later)
    worker.work(Home.open())
    assert pages(later) == named


def test_what_was_edited_since_its_compile_still_waits_for_the_next(
    later: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(later / "memoria" / ".memoria" / "ledger.db")) as db, db:
        db.execute("UPDATE entries SET took = '00000000' WHERE id = (SELECT min(id) FROM entries)")
    for count in (1, 0):
        assert f"{count} of {count} entr" in run(capsys, "compile")


def test_what_0_2_0_compiled_ends_by_its_id_and_a_person_goes_on_editing_it(later: Path) -> None:
    worker.work(Home.open())
    said = logs(later)
    page = later / "memoria/knowledge/concepts/working-on-tidemark.md"
    page.write_text(page.read_text().replace("and no co-author line.", "and no co-author line at all."))
    worker.work(Home.open())
    assert sum(logs(later)[name] != said[name] for name in said) == 1, "only what was edited is worded anew"
    assert set(stated(later)) & {BY_HAND} == set()
    ident = stated(later)["Ask before adding a dependency: fewer are always better."]
    own = next(claim for claim in lines(later)["concepts/tidemark.md"] if claim.is_own)
    with Keeper.at(Home.open()) as keeper:
        keeper.take([], endings=[Ending(each, clock.now(), "user") for each in (ident, own.id)])
    worker.work(Home.open())
    for slug, name in (("concepts/working-on-tidemark.md", ident), ("concepts/tidemark.md", own.id)):
        article = Article(slug, pages(later)[slug].decode())
        assert name in [claim.id for claim in article.history]
        assert name not in [claim.id for claim in article.claims]


def test_undo_takes_back_the_ids_and_then_what_0_2_0_did(later: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = pages(later)
    worker.work(Home.open())
    assert pages(later) != old
    run(capsys, "undo")
    assert pages(later) == old
    worker.work(Home.open())
    assert pages(later) == old, "it is not done a second time"
    run(capsys, "undo")
    assert "Schureman" not in pages(later)["concepts/working-on-tidemark.md"].decode()


def test_a_compile_that_a_person_asks_for_does_again_what_was_undone(
    later: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker.work(Home.open())
    named, known = pages(later), run(capsys, "learned")
    run(capsys, "undo")
    run(capsys, "compile")
    assert run(capsys, "learned") == known
    concepts = [name for name in named if name.startswith("concepts/")]
    assert [pages(later)[name] for name in concepts] == [named[name] for name in concepts]


def test_what_was_known_is_found_and_told(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "search", "--json", "prediction cache SQLite one file"))
    assert any(CACHE in json.dumps(hit) for hit in found["results"])
    assert "Never use pip" in run(capsys, "learned")
    run(capsys, "flush", "--now")
    home = Home.open()
    with Index(home.paths.index) as index:
        assert {entry.id for entry in entries()} <= set(index.entries())
    fields: dict[str, object] = {
        "hook_event_name": "SessionStart", "session_id": "a-new-one", "source": "startup", "cwd": PROJECT,
    }  # fmt: skip
    told = json.dumps(session_start.session_start(Event(fields), home.settings, home.paths), ensure_ascii=False)
    assert "SQLite" in told


def test_a_fact_that_waited_is_learned_and_every_old_one_is_still_known(
    base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = {it.split()[-1].strip("^") for it in (OLD / "daily/2026-11-18.md").read_text().splitlines() if " ^l-" in it}
    run(capsys, "flush", "--now")
    with Keeper.at(Home.open()) as keeper:
        known = {fact.id for fact in keeper.store.facts()}
    assert {*old, "l-0utb0x11"} <= known
    assert len(old) > 5


def test_forgetting_leaves_nothing_of_it(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert b"pip" in (base / "memoria/daily/2026-11-18.md").read_bytes()
    run(capsys, "forget", "--yes", "Never use pip in this project")
    for path in (base / "memoria").rglob("*"):
        assert not path.is_file() or b"never use pip in this project" not in path.read_bytes().lower(), path
    run(capsys, "flush", "--now")
    with Keeper.at(Home.open()) as keeper:
        assert not any("pip in" in fact.content for fact in keeper.store.facts())


def test_where_an_open_session_was_is_still_known(base: Path) -> None:
    home = Home.open()
    block = Path(home.paths.where, f"{OFFLINE}.md").read_text(encoding="utf-8")
    fields: dict[str, object] = {
        "hook_event_name": "SessionStart", "session_id": OFFLINE, "source": "resume", "cwd": PROJECT,
    }  # fmt: skip
    told = json.dumps(session_start.session_start(Event(fields), home.settings, home.paths), ensure_ascii=False)
    assert block.strip().splitlines()[-1][:40] in told


def test_the_wiki_is_whole(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "flush", "--now")
    home = Home.open()
    assert not list(Path(home.paths.state).glob("*.bak-*")), "no old file was taken for a damaged one"
    assert len(list(Wiki(home.paths).articles())) == 4
