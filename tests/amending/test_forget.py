"""What was forgotten is in no file and no page of a database any more, and nothing brings it back."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, redirect_stderr
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from as_before import same
from facts import a_fact, sync
from home_of import DAY, article, catalogued, entry, line, run, scripted, talk
from memoria.amending import proof, removal
from memoria.audit import checks
from memoria.audit.checks import BROKEN
from memoria.capture import cursor
from memoria.capture.spool import Spool
from memoria.commands import compile as compile_verb
from memoria.commands import forget
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Learned, tombstone
from memoria.daily.ledger import Ledger
from memoria.ground import locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.pages import page, refresh
from memoria.recall.shown_notes import ShownNotes
from memoria.statements.fact import Ending, Fact
from memoria.statements.keeper import Keeper, Outbox
from memoria.transcripts.archive import Archive
from memoria.transcripts.screen import Tombstones
from memoria.wiki import lint_rules
from memoria.wiki.folder import Wiki
from memoria.wiki.lint_rules import Snapshot
from memoria.wiki.transaction import Transactions, digest
from memoria.worker import worker
from memoria.working.memory import Scope, WorkingMemory
from memoria.working.shared_store import open_store
from memory_server import MemoryServer
from wiki_home import WikiHome, placed, stated
from wiki_home import entry as wiki_entry

pytestmark = pytest.mark.slow

SECRET = "The merger with Quaggasoft closes in May"
PLAIN = "Deploys run on Fridays with `make ship`"
KEPT_FACT = "Use pnpm in this shop."
TOLD = line(1, "user", f"Note: {SECRET}.") + line(2, "assistant", "Noted: Quaggasoft.")
LATER = line(3, "user", f"Again, {SECRET}!") + line(4, "assistant", "Fine.")
BRING_BACK = {
    "worth_saving": True, "title": "Back", "context": SECRET, "key_exchanges": [],
    "action_items": [], "statements": [],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home in which the secret stands wherever it can."""
    scripted(tmp_path, monkeypatch, flush=[BRING_BACK], compile=[{"places": []}])
    monkeypatch.setenv("MEMORY_API_URL", "http://127.0.0.1:9")
    home = Home.open()
    learned = (Learned("fact", f"{SECRET}.", "l-aa111"),)
    first = talk(home, "01aa", "About Quaggasoft", TOLD.splitlines(), context=f"{SECRET}.",
                 lessons=("Quaggasoft is secret.",), action_items=("Call Quaggasoft.",), learned=learned)  # fmt: skip
    second = entry(home, "01bb", "Deploy", context=f"{PLAIN}.", session="s2", project_key="ship-bbbbbb")
    article(home, "concepts/merger", "Merger", (f"{SECRET}.", "01aa"), related=("concepts/deploys",))
    article(
        home, "concepts/deploys", "Deploys", (f"{SECRET}, so no deploys then.", "01aa"), (PLAIN, "01bb"),
        related=("concepts/merger",),
    )  # fmt: skip
    catalogued(home, first, second)
    wiki = Wiki(home.paths)
    page = wiki.path("concepts/deploys")
    was = page.read_bytes()
    deploys = wiki.parse("concepts/deploys", was)
    deploys.front.set("asked_as", ["ship while Quaggasoft is negotiated"])
    deploys.front.set("sources", [f"[[daily/{DAY}]]", "[[daily/2026-11-19]]"])  # the days that it cites, as in 0.1.0
    own = f"\n## My notes\n\n- [[concepts/merger|{SECRET}]]\n- Mine.\n"
    Transactions(home.paths).commit(
        {"concepts/deploys.md": (deploys.render() + own).encode()}, {"concepts/deploys.md": digest(was)}, "x"
    )
    with Keeper.at(home) as keeper:
        moment = datetime(2026, 11, 20, 14, 5, tzinfo=UTC)
        facts = (
            ("l-00000001", "s1", "Nobody outside may hear of it.", SECRET, "write to Quaggasoft"),
            ("l-00000002", "s2", KEPT_FACT, "pnpm", "add a package"),
        )
        for ident, session, text, quote, phrase in facts:
            fact = Fact("fact", text, 0.5, "user", "shop-aaaaaa", moment, ident, session=session, quote=quote)
            keeper.take([replace(fact, asked_as=(phrase,))])
    job(home, TOLD + LATER)
    asyncio.run(_in_mind(home))
    _caches(home)
    Path(home.paths.memoria_log).write_text(f"entry 01aa: About Quaggasoft\n{SECRET}\nharmless\n")
    for number, said in enumerate([SECRET, PLAIN]):
        Path(home.paths.state, f"folders.bak-{number}").write_text(said)  # set aside, because it could not be read
    Path(home.paths.daily, f".{DAY}.md.12.tmp").write_text(SECRET)  # of a writer that was killed
    assert len(holding(home, "quaggasoft")) >= 10
    return home


def job(home: Home, data: bytes, session: str = "s1") -> None:
    header = {"event": "SessionEnd", "session": session, "transcript": "", "start": 0, "end": len(data), "cwd": "/shop"}
    Spool(home.paths.spool).add(header, data)


async def _in_mind(home: Home) -> None:
    async with await WorkingMemory.for_session("s1", store=open_store(home.settings, home.paths)) as memory:
        await memory.set("plan", f"{SECRET}.")
        await memory.append_scratchpad(f"{SECRET}.")
        await memory.set("step", "whistle")
        await (await WorkingMemory.create(Scope("project", "shop-aaaaaa"), store=memory._store)).set("rule", "hum")


def _caches(home: Home) -> None:
    ledger = Ledger(home.paths)
    DailyLog(home.paths).refresh(ledger)
    ledger.mark_compiled({"01aa": "", "01bb": ""})
    ledger.note("refused", "01aa", f"not in the source: {SECRET}")
    ledger.fail(["flush 01aa"], counted=True, not_before=0.0, reason=SECRET)
    for told in (SECRET, PLAIN):
        ledger.put(told, told)
    ShownNotes(home.paths.hints, "s9").add(["knowledge/concepts/quaggasoft-key.md"])
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        with Keeper.at(home) as keeper:
            page.prepare(home, ledger, DailyLog(home.paths), index, keeper)
    ledger.close()


def contents(home: Home) -> Iterator[tuple[Path, str]]:
    """Every file of home and state, archives unpacked, with what databases keep in free pages."""
    for path in Path(home.paths.home).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield path, (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace").casefold()


def holding(home: Home, text: str) -> list[str]:
    return sorted(path.name for path, content in contents(home) if text.casefold() in content)


def gone(home: Home, text: str = "quaggasoft") -> None:
    assert holding(home, text) == []


def taken_in_again(home: Home, model: str = "") -> None:
    """Whatever could bring it back: the same conversation spooled again, every entry compiled again, ledger lost.

    The scripted model would say it whatever it was asked, so it shows that nothing was; ``offline`` says what it reads.
    """
    home.settings.model = model or home.settings.model
    for companion in ("", "-wal", "-shm"):
        Path(home.paths.ledger + companion).unlink(missing_ok=True)
    job(home, TOLD)
    worker.work(home, insist=True)
    run(compile_verb, home, "--all")
    with Keeper.at(home):
        pass


def test_an_entry_goes_from_everywhere_and_never_comes_back(home: Home) -> None:
    for path in Path(home.paths.spool, "new").glob("*"):
        path.unlink()  # with further turns of its own; the test of the job is below
    job(home, TOLD)
    assert run(forget, home, "^e-01aa", "--yes") == 0
    gone(home)
    for name in ("ledger.db", "index.db", "learned.db"):
        with closing(sqlite3.connect(Path(home.paths.state, name))) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert Spool(home.paths.spool).jobs() == []
    assert (holding(home, '"whistle"') == [], holding(home, '"hum"') == []) == (True, False), "of the session alone"
    taken_in_again(home)
    gone(home)
    assert [each.id for each in DailyLog(home.paths).entries(DAY)] == ["01bb"]
    assert [ident for ident, _ in DailyLog(home.paths).read(DAY).tombstones()] == ["01aa"]


@pytest.mark.parametrize("what", ["s1", "shop-aaaaaa", "01aa", "quaggasoft"])
def test_what_an_entry_left_that_a_person_removed_is_forgotten(home: Home, what: str) -> None:
    for path in Path(home.paths.spool, "new").glob("*"):
        path.unlink()
    DailyLog(home.paths).edit(DAY, lambda text: text.withdraw({"01aa"}))
    with closing(Ledger(home.paths)) as ledger:
        DailyLog(home.paths).refresh(ledger)
    assert run(forget, home, what, "--yes") == 0
    assert Archive.of(home.paths, 1).turns("01aa") is None
    if what == "quaggasoft":
        gone(home)
    else:
        taken_in_again(home, "offline")
        assert [each.id for each in DailyLog(home.paths).entries(DAY)] == ["01bb"]


def test_what_rests_on_other_entries_stays(home: Home) -> None:
    run(forget, home, "01aa", "--yes")
    wiki = Wiki(home.paths)
    page = wiki.get("concepts/deploys")
    assert page
    assert [claim.text for claim in page.claims] == [PLAIN]
    assert page.front.texts("sources") == [f"[[daily/{DAY}]]"]
    assert "- Mine." in page.render()
    assert wiki.get("concepts/merger") is None
    assert contents_of(home) == [PLAIN, KEPT_FACT]
    log = Path(home.paths.memoria_log).read_text()
    assert "harmless" in log
    assert Path(home.paths.state, "folders.bak-1").exists()
    snapshot = Snapshot(home)
    assert [finding for finding in lint_rules.findings(snapshot) if finding.severity == lint_rules.ERROR] == []


def test_a_text_takes_single_lines_and_leaves_the_rest_of_the_entry(home: Home) -> None:
    entry(home, "01cc", "Said by its title alone")
    article(home, "concepts/own", "Own", ("Ask Ada.", "01cc"))
    article(home, "concepts/talks", SECRET, ("Ask Ada.", "01bb"))
    article(home, "concepts/merger-with-quaggasoft-closes", "Talks", ("Ask Ada.", "01bb"))
    with Keeper.at(home) as keeper:
        for words in (SECRET, KEPT_FACT):
            keeper.edit("l-00000002", words)
    assert run(forget, home, "merger with  QUAGGASOFT closes", "--yes") == 0
    with Keeper.at(home) as keeper:
        left = keeper.get("l-00000002")
    assert (left.content, left.wordings, left.asked_as) == (KEPT_FACT, (KEPT_FACT,), ("add a package",))
    gone(home, "merger with quaggasoft closes")
    assert "Ask Ada." in Wiki(home.paths).path("concepts/own").read_text()
    assert Wiki(home.paths).slugs() == ["concepts/deploys", "concepts/own"], "a page goes that is named by it"
    assert Ledger(home.paths).get(PLAIN) == PLAIN
    first = DailyLog(home.paths).entries(DAY)[0]
    assert (first.id, first.context, first.lessons) == ("01aa", "", ("Quaggasoft is secret.",))
    assert len(Archive.of(home.paths, 1).turns("01aa") or []) == 1
    stones = [stone for day in DailyLog(home.paths).days() for stone in DailyLog(home.paths).read(day).tombstones()]
    assert [(ident, len(keys)) for ident, keys in stones] == [("-", 1)], "for what has no entry alone"
    assert [Spool(home.paths.spool).header(job)["session"] for job in Spool(home.paths.spool).jobs()] == ["s1"]
    taken_in_again(home, "offline")
    gone(home, "merger with quaggasoft closes")


@pytest.fixture
def wiki() -> WikiHome:
    """A home in which it is known where uploads are stored."""
    wiki = WikiHome()
    wiki.log(wiki_entry("a1", title="Uploads", learned=stated("Uploads are stored at Quaggasoft.")))
    return wiki


def contents_of(home: Home) -> list[str]:
    with Keeper.at(home) as keeper:
        return sorted(fact.content for fact in keeper.store.facts())


@pytest.mark.parametrize("what", ["Quaggasoft", "l-a10", "e-a1"])
def test_a_forgotten_statement_leaves_its_article_with_every_sentence_about_it(wiki: WikiHome, what: str) -> None:
    wiki.log(wiki_entry("b2", title="Resume at Quaggasoft", learned=stated("Uploads are resumed.")))
    both: Any = {"text": "Uploads are resumed where they are stored.", "ids": ["l-a10", "l-b20"]}
    wiki.compile([placed("uploads-of-the-shop", title="Uploads of the shop", connections=[both])])
    assert both["text"] in wiki.text("concepts/uploads-of-the-shop"), "the premise"
    wiki.edit("concepts/uploads-of-the-shop", "- Uploads are resumed. ", "- Ask Ada.\n- Downloads are resumed. ")
    assert run(forget, wiki.home, what, "--yes") == 0
    assert contents_of(wiki.home) == ["Ask Ada.", "Downloads are resumed."]
    text = wiki.text("concepts/uploads-of-the-shop")
    assert [told in text for told in ("Quaggasoft", both["text"], "Downloads are resumed.")] == [False, False, True]
    assert what != "Quaggasoft" or what not in Path(wiki.home.paths.knowledge, "log.md").read_text()
    day = Path(wiki.home.paths.daily, "2026-11-16.md").read_text()
    assert what == "e-a1" or "### Session (09:00) · shop · Uploads" in day


@pytest.mark.parametrize(("what", "stays"), [("e-a1", False), ("s-a1", False), ("l-a10", True)])
def test_what_was_said_goes_in_the_words_that_a_person_gave_it(wiki: WikiHome, what: str, stays: bool) -> None:
    wiki.compile([placed("uploads-of-the-shop", title="Uploads of the shop")])
    (slug,) = Wiki(wiki.home.paths).slugs()
    for old, words in (("Uploads are stored at Quaggasoft.", "They lie in Graz."), ("They lie in Graz.", "Ask Bob.")):
        wiki.edit(slug, f"- {old}", f"- {words}")
        with Keeper.at(wiki.home) as keeper:
            refresh.settle(wiki.home, keeper)
    assert run(forget, wiki.home, what, "--yes") == 0
    assert contents_of(wiki.home) == ["Ask Bob."] * stays


def test_a_page_of_which_nothing_else_is_left_keeps_what_a_person_wrote_there(wiki: WikiHome) -> None:
    wiki.compile([placed("uploads-of-the-shop", title="Uploads of the shop")])
    (slug,) = Wiki(wiki.home.paths).slugs()
    wiki.edit(slug, "## ", "## Mine\n\nAsk Ada first.\n\n## ")
    assert run(forget, wiki.home, "l-a10", "--yes") == 0
    text = wiki.text(slug)
    assert "Ask Ada first." in text
    assert "Quaggasoft" not in text


def test_a_session_goes_with_its_jobs_facts_and_what_its_transcript_still_holds(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_bytes(TOLD + LATER + line(5, "user", f"{SECRET}, third time"))
    cursor.write(home.paths.cursors, "s1", cursor.Cursor(str(transcript), 10, b""))
    capsys.readouterr()
    assert run(forget, home, "s1", "--yes") == 0
    assert f"keeps nothing of it:\n- {transcript}\n" in capsys.readouterr().out
    gone(home)
    job(home, transcript.read_bytes())
    taken_in_again(home)
    gone(home)


def test_a_session_takes_its_facts_that_wait_to_be_stored_and_a_text_those_that_hold_it(home: Home) -> None:
    def put(session: str) -> Path:
        fact = a_fact("Elks like pears.", session=session)
        return outbox.put({"id": fact.id, "event": fact.to_dict(), "project": "shop"})

    outbox = Outbox(Path(home.paths.facts_outbox))
    own, other = put("s1"), put("s2-quaggasoft")
    assert run(forget, home, "Quaggasoft", "--yes") == 1, "the name of a session, which nobody said, still contains it"
    assert set(outbox.items()) == {own, other}
    job(home, LATER)
    assert run(forget, home, "s1", "--yes") == 0
    assert list(outbox.items()) == [other]
    (waiting,) = outbox.items().values()
    assert run(forget, home, str(waiting["id"]), "--yes") == 0, "it is known by its id, too"
    assert outbox.items() == {}


@pytest.mark.parametrize("told", [SECRET, "合併は五月", "the merger with QUAGGASOFT"])
def test_a_file_of_the_client_that_holds_what_was_forgotten_is_named(
    home: Home, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [("a.jsonl", line(1, "user", f"Note: {SECRET} (合併は五月).")), ("b.jsonl", b"merger")]
    monkeypatch.setattr(proof, "_client_files", lambda _: iter(files))
    found = asyncio.run(proof.search(home, [told]))
    assert found.client == ["a.jsonl"]
    assert found.values == 6
    assert ("working memory: session:s1" in found.holding) == (told != "合併は五月")


@pytest.mark.parametrize("what", [("--project", "shop"), ("quaggasoft",)], ids=["project", "text"])
def test_the_folder_and_remote_of_what_goes_are_forgotten_too(home: Home, what: tuple[str, ...]) -> None:
    known = {
        "folders": {
            "/home/ada/shop": {"key": "shop-aaaaaa", "remote": "git.example.com/quaggasoft/shop", "commit": "c1"},
            "/home/ada/ship": {"key": "ship-bbbbbb", "remote": "git.example.com/quaggasoft/ship", "commit": "c2"},
        },
        "aliases": {"shop-cccccc": "shop-aaaaaa", "ship-dddddd": "ship-bbbbbb"},
    }
    Path(home.paths.projects).write_text(json.dumps(known))
    folders = {"shop-cccccc": ["/home/ada/shop/web"], "ship-bbbbbb": ["/home/ada/ship"]}  # one under its former key
    Path(home.paths.folders).write_text(json.dumps(folders))
    assert run(forget, home, *what, "--yes") == (what == ("quaggasoft",)), "which the remote of another still says"
    assert holding(home, "quaggasoft") == ["projects.json"]
    assert [bool(holding(home, f'"{word}"')) for word in ("whistle", "hum")] == [what == ("quaggasoft",)] * 2
    assert [each.id for each in DailyLog(home.paths).entries(DAY)] == ["01bb"]
    stored = json.loads(Path(home.paths.projects).read_text())
    assert list(stored["folders"]) == ["/home/ada/ship"]
    assert ("shop-cccccc" in stored["aliases"]) == (what == ("quaggasoft",))
    recorded = json.loads(Path(home.paths.folders).read_text())
    assert ("shop-cccccc" in recorded) == (what == ("quaggasoft",))
    assert recorded["ship-bbbbbb"] == ["/home/ada/ship"]


def test_a_session_without_an_entry_goes_with_its_project(home: Home, tmp_path: Path) -> None:
    Path(home.paths.projects).write_text(json.dumps({"folders": {"/home/ada/shop": {"key": "shop-aaaaaa"}}}))
    data = line(7, "user", "What of Zanzibar?").replace(b"/shop", b"/home/ada/shop")
    (transcript := tmp_path / "s8.jsonl").write_bytes(data)
    cursor.write(home.paths.cursors, "s8", cursor.Cursor(str(transcript), 10, b""))
    header = {"event": "Stop", "session": "s7", "transcript": "", "start": 0, "end": len(data), "cwd": "/home/ada/shop"}
    Spool(home.paths.spool).add(header, data)

    async def plan(session: str) -> None:
        async with await WorkingMemory.for_session(session, store=open_store(home.settings, home.paths)) as memory:
            await memory.set("goal", "Zanzibar")

    asyncio.run(plan("s8"))
    asyncio.run(plan("s9"))
    assert len(holding(home, "zanzibar")) >= 2
    run(forget, home, "--project", "shop", "--yes")
    assert [job.session for job in Spool(home.paths.spool).jobs()] == []
    assert asyncio.run(proof.search(home, ["zanzibar"])).holding.count("working memory: session:s9") == 1
    assert holding(home, "zanzibar") == ["working.db"], "of another session"


def test_what_still_says_a_forgotten_statement_is_named(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(forget, home, "l-aa111", "--yes") == 1
    printed = capsys.readouterr().out
    assert f"Still contains it: {Path(home.paths.archive, f'{DAY}-01aa.jsonl.gz')}" in printed
    assert f"forget --as text '{SECRET}.'" in printed


def test_an_article_goes_with_links_to_it_and_undoable_steps(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    index = Path(home.paths.knowledge, "index.md")
    index.write_text("- [[concepts/merger|Merger]]\n")
    for word, kind in (("merger", "article"), ("shop", "project")):
        with pytest.raises(ExpectedError, match=f"--as {kind}: .*; --as text: "):
            run(forget, home, word, "--yes")
    article(home, "concepts/stripes", "Stripes", (PLAIN, "01bb"))
    assert [run(forget, home, slug, "--yes") for slug in ("stripes", "concepts/merger")] == [0, 0], "unasked"
    assert asyncio.run(proof.search(home, ["and what they cost; also which turns"])).holding == [], "of the README"
    assert "Searched" not in capsys.readouterr().out
    wiki = Wiki(home.paths)
    assert wiki.slugs() == ["concepts/deploys"]
    assert "[[concepts/deploys|" in index.read_text()
    assert "concepts/merger" not in "".join(path.read_text() for path in wiki.folder.rglob("*.md"))
    assert Transactions(home.paths).steps() == []


def test_the_memory_server_is_told_and_only_of_the_number(home: Home) -> None:
    with MemoryServer() as server:
        with Keeper.at(home) as keeper:
            sync(keeper, server)
        before = server.live()
        run(forget, home, "01aa", "--yes")
        with Keeper.at(home) as keeper:
            sync(keeper, server)
    assert "Nobody outside may hear of it." in set(before) - set(server.live())
    assert KEPT_FACT in server.live()
    assert {method for method, _ in server.written()} == {"POST", "DELETE"}


def test_a_dry_run_shows_everything_and_changes_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    with Keeper.at(home) as keeper:
        keeper.take([], endings=[Ending("l-00000002", datetime(2026, 11, 20, 15, tzinfo=UTC), "user", "l-aa111")])
    before = {path: data for path, data in contents(home) if path.suffix not in _CHANGING}
    rows: list[str] = []
    for what in ("01aa", "s1", "Quaggasoft", "shop-aaaaaa", "concepts/merger", "l-00000001", "Fridays"):
        rows += [f"== {what}: {run(forget, home, what, '--dry-run')}", *capsys.readouterr().out.splitlines()]
    same("read/forgotten.txt", (row.replace(home.paths.home, "~") for row in rows))
    for unsaid in ("nobody said this", "daily/2026-11-20", "session", "importance", "Learned"):
        with pytest.raises(ExpectedError, match="nothing to forget"):
            run(forget, home, unsaid, "--as", "text", "--dry-run")
    assert {path: data for path, data in contents(home) if path.suffix not in _CHANGING} == before


def test_forgetting_again_finishes_what_was_broken_off(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(removal, "_caches", _broken)
        with pytest.raises(RuntimeError):
            run(forget, home, "01aa", "--yes")
    assert [name for name in holding(home, "quaggasoft") if name == "index.db"]
    assert run(forget, home, "01aa", "--yes") == 0
    assert run(forget, home, "Quaggasoft", "--yes") == 0
    gone(home)


@pytest.mark.parametrize("left", ["", "{}", '{"salt": "12", "te', "[1]", '{"salt": "xy", "texts": []}', "null"])
def test_digests_that_are_damaged_are_named_and_never_taken_for_none(
    home: Home, caplog: pytest.LogCaptureFixture, left: str
) -> None:
    assert run(forget, home, "Quaggasoft", "--yes") == 0
    Path(home.paths.forgotten).write_text(left)
    job(home, TOLD)
    worker.work(home, insist=True)
    assert len(Spool(home.paths.spool).jobs()) == 2, "nothing was taken in"
    assert re.search(r"session s1: OSError: .*damaged", caplog.text)
    (finding,) = checks.check_forgotten(home)
    assert (finding.level, "forget the texts again" in finding.text) == (BROKEN, True)
    assert Path(home.paths.forgotten).read_text() == left


@pytest.mark.parametrize("step", ["_spool", "_archive", "_wiki", "_daily", "_caches", "_logs"])
@pytest.mark.parametrize("what", ["s1", "quaggasoft"])
def test_the_next_worker_completes_a_forget_that_was_broken_off(
    home: Home, monkeypatch: pytest.MonkeyPatch, step: str, what: str
) -> None:
    with Keeper.at(home) as keeper:
        refresh.settle(home, keeper)
    with monkeypatch.context() as patch:
        patch.setattr(removal, step, _broken)
        with pytest.raises(RuntimeError):
            run(forget, home, what, "--yes")
    deploys = Path(home.paths.knowledge, "concepts/deploys.md")
    deploys.write_text(deploys.read_text().replace(f"- {PLAIN}", f"- Ask Ada.\n- {PLAIN}"))
    home.settings.model = "offline"
    with locks.wait(Path(home.paths.compile_lock)):
        worker.work(home)
    assert Path(home.paths.forgetting).stat().st_mode & 0o777 == 0o600, "it waits while a compile is at work"
    worker.work(home)
    gone(home)
    assert {"Ask Ada.", PLAIN} <= {*contents_of(home)}
    assert not Path(home.paths.forgetting).exists()


def test_who_forgets_while_a_worker_is_at_it_is_told_at_once(home: Home) -> None:
    with redirect_stderr(io.StringIO()) as told, locks.take(Path(home.paths.worker_lock)):
        waits = threading.Thread(target=run, args=(forget, home, "s1", "--yes"))
        waits.start()
        while waits.is_alive() and not told.getvalue().endswith("\n"):  # a line may be written in two pieces
            pass
    waits.join()
    assert told.getvalue() == "memoria: waiting for the worker, which may be asking a model ...\n"
    gone(home)


_CHANGING = (".db", ".db-wal", ".db-shm", ".lock")  # opened, not changed


def _broken(*_: object) -> None:
    raise RuntimeError("power cut")


def test_a_tombstone_holds_ids_alone_and_a_lost_ledger_learns_of_it(home: Home) -> None:
    run(forget, home, "01aa", "--yes")
    Path(home.paths.ledger).unlink()
    ledger = Ledger(home.paths)
    DailyLog(home.paths).refresh(ledger)
    ((ident, keys),) = [stone for stone in DailyLog(home.paths).read(DAY).tombstones() if stone[0] != "-"]
    assert (ident, len(keys)) == ("01aa", 2)
    assert [ledger.entry_of(key) for key in keys] == ["", ""]
    assert [each.id for each in ledger.entries()] == ["01bb"]
    ledger.close()
    text = DailyLog(home.paths).text(DAY)
    assert tombstone("01aa", keys) in text.splitlines()
    stones = Tombstones(home.paths)
    stones.add("I am")  # as short as may be, and found up to the end of a text
    assert (stones.find("so I am"), stones.find("so I a"), stones.purge("so I\nam")) == ("i am", None, "")
    stones.add("acme")
    for kept in ('{"content": "Tabs.", "project": "acme-1a2b3c"}', "<!-- memoria entry=a1 project=acme-1a2b3c -->"):
        assert stones.purge(kept) == kept
    assert stones.purge('{"content": "For Acme.", "project": "acme-1a2b3c"}') == ""
    assert stones.purge('Tabs.\n  <!-- learned {"history": ["Acme."]} -->\n') == "Tabs.\n"


def test_what_the_copy_of_a_sync_program_or_a_broken_page_holds_is_forgotten_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted(tmp_path, monkeypatch)
    home = Home.open()
    entry(home, "01aa", "Deploy", context=PLAIN)
    daily, concepts = Path(home.paths.daily), Path(home.paths.knowledge, "concepts")
    article(home, "concepts/deploys", "Deploys", (PLAIN, "01aa"))
    parted = [mark + SECRET.replace(" ", f"\n{mark}") for mark in ("", "> ")]  # by a formatter
    copies = {
        daily / f"{DAY}.sync-conflict-20261121-101112-ABCDEFG.md": (daily / f"{DAY}.md").read_text() + f"\n{SECRET}\n",
        daily / "ideas.txt": f"# Ideas\n\n<!-- {SECRET}\n-->\n".replace(" ", "\n"),
        concepts / "deploys.md": "\n\n".join([(concepts / "deploys.md").read_text(), *parted]),
        concepts / "deploys 2.md": (concepts / "deploys.md").read_text() + f"\n- {SECRET}\n",
        concepts / "broken.md": f"---\ntitle: [\n---\n{SECRET}\n",
        concepts / "deploys.md.conflict-20261121T101112Z": f"  > {SECRET}\nMine\n".replace("with", "with\n  >"),
    }  # fmt: skip
    for path, text in copies.items():
        path.write_text(text)
    (daily / "ideas.md").symlink_to("ideas.txt")
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        found = [hit.path for hit in index.search("Fridays make ship deploys")]
    assert not any("2.md" in path or "ideas" in path or "conflict" in path for path in found)
    holds = asyncio.run(proof.search(home, [SECRET])).holding
    assert [path for path in holds if "ideas" in path] == [str(daily / "ideas.txt")], "once, where it lies"
    assert run(forget, home, SECRET, "--as", "text", "--yes") == 0
    assert "nothing contains it" in capsys.readouterr().out
    assert holding(home, "quaggasoft") == []
    assert run(forget, home, "e-01aa", "--yes") == 0
    assert holding(home, "make ship") == []
    assert not (concepts / "deploys 2.md").exists(), "with the article that it is a copy of"
