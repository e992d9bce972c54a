"""What `memoria eval` says of a history whose answers are known."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from home_of import article, run
from memoria.base.settings import config_path
from memoria.commands import eval as evaluate
from memoria.daily.ledger import Ledger
from memoria.evaluating import replay, report
from memoria.evaluating.asking import NOISE, USED, Answer, Asked, Asking, judge
from memoria.evaluating.harm import CONTRADICTORY, LOOK_ALIKE, SUPERSEDED
from memoria.evaluating.history import History
from memoria.evaluating.report import Report
from memoria.ground.clock import Zone
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.home import Home
from memoria.statements.keeper import Keeper
from memoria.transcripts import client_files
from past_sessions import Past, Said

MONDAY = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
QUEUE = "Refunds wait in `RefundQueue` until the payment gateway answers again."


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the bootstrap's sample of a handful of sessions a hundred times instead of a thousand."""
    monkeypatch.setattr(report, "SAMPLES", 100)


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Past:
    """A shop whose first session says where refunds wait; four more follow that need nothing of it."""
    monkeypatch.setenv("MEMORIA_TZ", "UTC")
    monkeypatch.setenv("MEMORIA_PAGE_CHARS", "300")  # so that no page shows what the notes are to say
    (tmp_path / "shop").mkdir()
    made = Past(Home.open(), tmp_path / "shop")
    made.session(
        MONDAY,
        Said("Where do refunds wait while the payment gateway is down?", f"{QUEUE} It lies in billing/refunds.py."),
        context="Where refunds wait while the payment gateway is down.",
        facts=[made.fact(QUEUE, MONDAY + timedelta(minutes=1))],
    )
    for number, thing in enumerate(("harbour", "lantern", "orchard", "glacier"), 1):
        made.session(MONDAY + timedelta(days=number), Said(f"Paint the {thing} picture in oil on wood", f"A {thing}."))
    return made


def ask(past: Past) -> dict[str, Asked]:
    """What every session was shown, by its id."""
    with closing(Ledger.of(past.home.paths)) as ledger, replay.opened(past.home) as then:
        history = History(past.home, ledger, client_files.folder(os.environ))
        asking = Asking(then, 0)
        sessions = [session for each in history.candidates() if (session := history.read(each))]
        return {session.ident: asking.ask(session) for session in sessions}


def refunds(past: Past, day: float = 10, **given: Any) -> str:
    """A session that needs what the first one said."""
    said = Said("The payment gateway is down, where do the refunds wait now?", "In `RefundQueue`, as before.", **given)
    return past.session(MONDAY + timedelta(days=day), said)


def test_an_answer_that_stood_in_the_notes_is_found_there_and_the_note_counts_as_used(past: Past) -> None:
    ident = refunds(past)
    asked = ask(past)[ident]
    assert (asked.prompts, asked.with_notes) == (1, 1)
    assert asked.items["identifier", "all"] == asked.items["identifier", "notes"] == 1
    assert USED in [note.verdict for note in asked.notes]
    assert 0 < asked.note_chars <= 1_500


def test_the_memory_of_a_session_holds_nothing_that_was_said_later(past: Past) -> None:
    past.session(
        MONDAY + timedelta(days=20),
        Said("What does the refund report show?", "The report shows `LateFee` rows."),
        context="The refund report shows LateFee rows while the payment gateway is down.",
        facts=[past.fact("The refund report shows `LateFee` rows.", MONDAY + timedelta(days=20))],
    )
    article(past.home, "concepts/late-fee", "Late fee", ("The refund report shows `LateFee` rows.", "s6abc"))
    early = past.session(
        MONDAY + timedelta(days=12), Said("Which rows does the refund report show?", "It shows `LateFee` rows.")
    )
    late = past.session(
        MONDAY + timedelta(days=25), Said("Which rows does the refund report show?", "It shows `LateFee` rows.")
    )
    asked = ask(past)
    assert asked[early].items["identifier", "known"] == 0
    assert asked[late].items["identifier", "either"] == 1
    assert asked["s1"].with_notes == 0, "the first session had nothing to know"


def test_what_ended_later_held_when_the_session_began(past: Past) -> None:
    """The fact was replaced after the session; a session after that is not shown it, and counts no harm."""
    before = refunds(past, 10)
    ended = MONDAY + timedelta(days=11)
    with Keeper.at(past.home) as keeper:
        old = next(fact for fact in keeper.store.facts() if fact.content == QUEUE)
        keeper.write(replace(old, ended=ended, successor=""))
    after = refunds(past, 12)
    asked = ask(past)
    assert asked[before].items["identifier", "notes"] == 1
    assert not asked[before].harm[SUPERSEDED]
    assert not any(note.kind == "fact" for note in asked[after].notes)


def test_a_note_that_the_answer_takes_nothing_of_is_noise(past: Past) -> None:
    ident = past.session(
        MONDAY + timedelta(days=10), Said("Where do refunds wait while the payment gateway is down?", "Let us paint.")
    )
    asked = ask(past)[ident]
    assert asked.notes
    assert {note.verdict for note in asked.notes} == {NOISE}


def test_words_that_every_answer_holds_make_no_note_useful() -> None:
    others = [Answer.of("We deploy the harbour service with the usual script.")] * 20
    note = "The harbour service is deployed with the usual script."
    assert judge(note, "What now?", others[0], others) == NOISE
    assert judge(note, "What now?", others[0], [Answer.of("Nothing.")] * 20) == USED


def test_a_correction_that_came_again_is_counted_and_whether_it_was_shown(past: Past) -> None:
    past.home.settings.page_chars = 9_500
    rule = "No, never use npm here, always use pnpm for packages."
    at = MONDAY + timedelta(days=6)
    past.session(at, Said(rule, "Understood."), facts=[past.fact(rule, at, kind="correction")])
    again = past.session(at + timedelta(days=1), Said(rule, "Understood, pnpm."))
    asked = ask(past)
    assert asked["s6"].corrections == {"made": 1, "again": 0, "shown": 0}
    assert asked[again].corrections == {"made": 1, "again": 1, "shown": 1}, "it leads the page"


def test_a_preference_that_had_to_be_said_again_counts_as_a_correction_and_is_named(
    past: Past, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "From now on, write tables in Makefiles with tabs."
    at = MONDAY + timedelta(days=6)
    past.session(at, Said(rule, "Understood."))
    past.session(at + timedelta(days=1), Said("From now on, name branches after the ticket.", "Understood."))
    past.session(at + timedelta(days=2), Said(rule, "Understood, tabs."))
    figures = printed(past, capsys)["corrections"]
    assert (figures["made"], figures["made_again"]["part"]) == (1, 1), (
        "what is said for the first time corrects nothing"
    )
    assert [(each["text"], each["day"], each["shown"]) for each in figures["repeated"]] == [
        ("From now on, write tables in Makefiles with tabs.", "2026-11-10", False)
    ]
    assert run(evaluate, past.home) == 0
    assert "    2026-11-10 From now on, write tables in Makefiles with tabs.\n" in capsys.readouterr().out


def test_what_was_superseded_and_is_shown_all_the_same_counts_as_harm(past: Past) -> None:
    """An article that nobody brought up to date repeats a fact that has ended."""
    old = "Refunds of the payment gateway wait in the table `refund_backlog`."
    article(past.home, "concepts/refunds", "Refunds", (old, "s1abc"))
    ended = MONDAY + timedelta(days=3)
    with Keeper.at(past.home) as keeper:
        keeper.take([past.fact(old, MONDAY + timedelta(minutes=1))])
        known = next(fact for fact in keeper.store.facts() if "backlog" in fact.content)
        keeper.write(replace(known, ended=ended))
    ident = past.session(MONDAY + timedelta(days=10), Said("In which table do refunds of the payment gateway wait?"))
    assert ask(past)[ident].harm[SUPERSEDED]


def test_notes_that_contradict_each_other_count_as_harm(past: Past) -> None:
    three, five = (f"Refunds wait {days} days for the payment gateway." for days in (3, 5))
    with Keeper.at(past.home) as keeper:
        keeper.take([past.fact(three, MONDAY + timedelta(minutes=2))])
        keeper.lines.add(past.fact(five, MONDAY + timedelta(minutes=3)), MONDAY.date(), "10:00", "shop")
    said = Said("How many days do refunds wait for the payment gateway?", "Five.")
    ident = past.session(MONDAY + timedelta(days=10), said)
    assert ask(past)[ident].harm[CONTRADICTORY]


def test_a_file_of_the_same_name_elsewhere_counts_as_a_look_alike(past: Past) -> None:
    at = MONDAY + timedelta(days=6)
    told = "The retry limit of refunds is set in `jobs/retry_limit.py`."
    past.session(at, Said("Where is the retry limit of refunds set?", told), facts=[past.fact(told, at)])
    other = str(past.folder / "billing" / "retry_limit.py")
    ident = past.session(
        at + timedelta(days=1),
        Said("Raise the retry limit of refunds, where is it set?", "Raised.", [("Edit", {"file_path": other})]),
    )
    assert ask(past)[ident].harm[LOOK_ALIKE]


def test_a_session_whose_transcript_is_gone_is_asked_from_the_archive(past: Past) -> None:
    ident = refunds(past)
    whole = ask(past)[ident]
    (client_files.folder(os.environ) / "-shop" / f"{ident}.jsonl").unlink()
    assert ask(past)[ident] == whole


def test_a_fork_is_asked_only_what_its_origin_did_not_say(past: Past) -> None:
    """A resumed or forked session's transcript begins with a copy of the lines of another."""
    folder = client_files.folder(os.environ) / "-shop"
    ident = refunds(past)
    copied = (folder / "s1.jsonl").read_bytes()
    (folder / f"{ident}.jsonl").write_bytes(copied + (folder / f"{ident}.jsonl").read_bytes())
    asked = ask(past)
    assert (asked["s1"].prompts, asked[ident].prompts) == (1, 1)


def test_what_a_program_said_or_an_excluded_folder_holds_is_not_asked(past: Past) -> None:
    folder = client_files.folder(os.environ) / "-shop"
    program = refunds(past)
    lines = (folder / f"{program}.jsonl").read_text("utf-8")
    (folder / f"{program}.jsonl").write_text(lines.replace('"type"', '"entrypoint": "sdk-py", "type"'), "utf-8")
    assert program not in ask(past)
    assert "s1" in ask(past)
    (past.folder / ".memoria-off").touch()
    assert ask(past) == {}


def test_files_and_commands_are_found_by_name(past: Past) -> None:
    refunds(past, 9, tools=[("Read", {"file_path": str(past.folder / "billing" / "refund_flow.py")})])
    refunds(past, 10, tools=[("Bash", {"command": "cd x && uv run pytest -q && ls"})])
    again = [("Read", {"file_path": "/other/refund_flow.py"}), ("Bash", {"command": "uv run pytest -x tests"})]
    ident = refunds(past, 11, tools=again)
    asked = ask(past)[ident]
    assert (asked.items["file", "all"], asked.items["file", "known"]) == (1, 1)
    assert (asked.items["command", "all"], asked.items["command", "known"]) == (1, 1)


# -- tool events


MAKEFILES = "Indent Makefiles with tabs, since `ifeq_guard` breaks otherwise."


def corrected(past: Past, content: str = MAKEFILES, kind: str = "correction") -> None:
    past.session(
        MONDAY + timedelta(days=8), Said("No, that is wrong.", content),
        facts=[past.fact(content, MONDAY + timedelta(days=8), kind)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("then", "verdict"), [("The `ifeq_guard` would break, so tabs it is.", USED), ("Shall I paint it too?", NOISE)]
)
def test_what_an_edit_would_have_been_given_is_judged_by_what_came_after_it(
    past: Past, then: str, verdict: str
) -> None:
    corrected(past)
    edit = ("Edit", {"file_path": str(past.folder / "Makefile"), "old_string": "all:", "new_string": "every:"})
    said = Said(
        "Rename the first target of the build, please", "Renaming.", [edit, ("Read", {"file_path": "x"})], then=then
    )
    ident = past.session(MONDAY + timedelta(days=10), said)
    met = ask(past)[ident].met["PreToolUse"]
    assert (met.events, met.with_notes) == (1, 1), "a file that is only read is no event"
    assert [note.verdict for note in met.notes] == [verdict]
    assert met.chars > len(MAKEFILES)


def test_what_the_session_had_said_before_the_edit_is_not_taken_up_from_the_note(past: Past) -> None:
    corrected(past)
    edit = ("Write", {"file_path": str(past.folder / "Makefile"), "content": "all:"})
    said = Said("Write the build file for the shop", "`ifeq_guard` needs tabs.", [edit], then="`ifeq_guard` is there.")
    ident = past.session(MONDAY + timedelta(days=10), said)
    assert [note.verdict for note in ask(past)[ident].met["PreToolUse"].notes] == [NOISE]


def test_what_a_failed_command_and_a_sub_agent_would_have_been_given_is_counted(past: Past) -> None:
    past.home.settings.page_chars = 9_500
    corrected(past, "When the linker cannot find libzebra, run ldconfig in the toolchain folder first.", "debugging")
    make, tried = ("Bash", {"command": "make shop"}), ("Edit", {"file_path": "/elsewhere/notes.txt"})
    agent = (
        "Agent",
        {"subagent_type": "Explore", "description": "Look", "prompt": "Where do refunds wait, RefundQueue?"},
    )
    error = "Exit code 1\nld: linker cannot find libzebra"
    said = Said("Build the shop for the fair on Sunday", "Building.", [make, agent], error, "I run ldconfig there.")
    other = Said("Write the notes of the fair on Sunday", "Writing.", [tried], error)
    asked = ask_session(past, said, other)
    failed, started = asked.met["PostToolUseFailure"], asked.met["SubagentStart"]
    assert (failed.events, failed.with_notes) == (1, 1), "an edit that fails has no hook"
    assert [note.verdict for note in failed.notes] == [USED]
    assert (started.events, started.with_notes) == (1, 1)
    assert started.notes
    assert {note.kind for note in started.notes} == {"decision"}


def ask_session(past: Past, *said: Said) -> Asked:
    ident = past.session(MONDAY + timedelta(days=10), *said)
    return ask(past)[ident]


def test_tool_events_are_reported_apart_from_prompts(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    corrected(past)
    edit = ("Edit", {"file_path": str(past.folder / "Makefile"), "old_string": "all:", "new_string": "every:"})
    past.session(
        MONDAY + timedelta(days=10), Said("Rename the first target", "Renaming.", [edit], then="Tabs; `ifeq_guard`.")
    )
    found = printed(past, capsys)["tool_events"]
    assert list(found) == ["PreToolUse", "PostToolUseFailure", "SubagentStart"]
    before = found["PreToolUse"]
    assert (before["events"], before["with_notes"]["part"], before["notes"]["used"]["part"]) == (1, 1, 1)
    assert before["characters"] > len(MAKEFILES)
    assert found["SubagentStart"]["events"] == 0
    assert run(evaluate, past.home) == 0
    assert "edits and commands       100.0 % of 1" in capsys.readouterr().out


# -- the command


TUNED = 16  # sessions


def config(home: Home) -> dict[str, Any]:
    path = Path(config_path(os.environ))
    stored: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return stored


def printed(past: Past, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(evaluate, past.home, "--json", *words) == 0
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    return figures


def test_the_report_counts_what_was_asked_and_says_how_sure_it_is(
    past: Past, capsys: pytest.CaptureFixture[str]
) -> None:
    refunds(past)
    figures = printed(past, capsys)
    assert (figures["sessions"], figures["prompts"], figures["complete"]) == (6, 6, True)
    stood = figures["answer"]["notes"]["identifier"]
    assert (stood["part"], stood["whole"]) == (1, 3), "RefundQueue twice, of which the first had nowhere to stand"
    assert 0 <= stood["low"] <= stood["share"] <= stood["high"] <= 1
    assert list(figures["by_week"]) == ["2026-W45", "2026-W46"]
    assert list(figures["by_project"]) == [past.key]
    assert run(evaluate, past.home) == 0
    assert "6 sessions of 1 project, 6 prompts" in capsys.readouterr().out


def test_what_never_happened_in_a_few_sessions_is_not_said_to_be_impossible() -> None:
    asked = [Asked(f"s{number}", "shop", MONDAY, prompts=3) for number in range(5)]
    given = Report(asked, 0, Zone("UTC")).figures()["prompts_with_notes"]
    assert (given["part"], given["whole"], given["low"]) == (0, 15, 0)
    assert given["high"] == pytest.approx(1 - 0.025 ** (1 / 5), abs=0.001), "the exact bound for none of 5 sessions"


def test_what_always_happened_in_one_session_is_not_said_to_be_certain(
    past: Past, capsys: pytest.CaptureFixture[str]
) -> None:
    refunds(past)
    used = [row["used"] for row in printed(past, capsys)["by_kind"].values()]
    always = next(share for share in used if share["share"] == 1)
    assert always["high"] == 1
    assert always["low"] < 0.05


def test_projects_of_the_same_name_are_told_apart() -> None:
    report = Report(
        [Asked(f"s{key}", f"shop-{key}", MONDAY, prompts=2) for key in ("aaaaaa", "bbbbbb")], 0, Zone("UTC")
    )
    rows = [line.split() for line in report.text().splitlines() if line.startswith("  shop")]
    assert rows == [["shop-aaaaaa", "1", "2", "0", "%", *"----"], ["shop-bbbbbb", "1", "2", "0", "%", *"----"]]


def test_a_long_history_is_cut_for_a_person_and_whole_in_json() -> None:
    asked = [Asked(f"s{week}", f"p{week}", MONDAY + timedelta(weeks=week), prompts=1) for week in range(20)]
    report = Report(asked, 0, Zone("UTC"))
    assert len(report.figures()["by_week"]) == len(report.figures()["by_project"]) == 20
    text = report.text()
    assert "  2027-W11 " in text, "the last weeks are shown"
    assert "  2026-W45 " not in text
    assert "and 8 weeks more: --json" in text
    assert "and 10 projects more: --json" in text


def test_the_same_seed_says_the_same(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    refunds(past)
    assert printed(past, capsys, "--seed", "3") == printed(past, capsys, "--seed", "3")


def test_the_run_is_bounded(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    refunds(past)
    assert printed(past, capsys, "--sessions", "5")["sessions"] == 5
    since = printed(past, capsys, "--since", "2026-11-02", "--project", "shop")
    assert since["sessions"] == 6
    with pytest.raises(UsageError):
        run(evaluate, past.home, "--since", "yesterday")


def test_too_little_history_is_said_in_one_line(past: Past) -> None:
    with pytest.raises(ExpectedError, match="too little history: 2 sessions"):
        run(evaluate, past.home, "--since", "2026-11-05")


def test_a_run_interrupted_before_it_knows_anything_says_so(
    past: Past, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Asking, "ask", interrupted)
    assert run(evaluate, past.home, "--json") == 130
    assert capsys.readouterr().err.strip().endswith("interrupted after 0 sessions")


def test_an_interrupted_run_prints_what_it_knows(
    past: Past, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refunds(past)
    ask_one, calls = Asking.ask, iter(range(100))

    def interrupted(self: Asking, *given: Any) -> Any:
        if next(calls) == 5:
            raise KeyboardInterrupt
        return ask_one(self, *given)

    monkeypatch.setattr(Asking, "ask", interrupted)
    assert run(evaluate, past.home, "--json") == 130
    figures = json.loads(capsys.readouterr().out)
    assert (figures["sessions"], figures["complete"]) == (5, False)
    assert not Path(past.home.paths.replay).exists()


def test_nothing_of_the_home_changes(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    refunds(past)
    ask(past)  # the ledger's own look at the transcripts
    before = {path: path.read_bytes() for path in _files(past.home) if path.suffix in (".md", ".gz")}
    printed(past, capsys)
    assert before == {path: path.read_bytes() for path in _files(past.home) if path.suffix in (".md", ".gz")}


def _files(home: Home) -> Iterator[Path]:
    return (path for path in Path(home.paths.home).rglob("*") if path.is_file())
