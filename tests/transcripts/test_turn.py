"""Turns: what a person said and what was done, kept once and whole, whatever the transcript's lines look like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoria
from as_before import bent, digest, same
from memoria.ground.clock import Zone
from memoria.transcripts import client_files, clients
from memoria.transcripts.intake import stretches
from memoria.transcripts.turn import Turn, describe, exchanges, split, steps
from memoria.transcripts.turn_reader import Reader
from places import SHARED, TRANSCRIPTS

CODEX = sorted((TRANSCRIPTS.parent / "agents").rglob("*.jsonl"))
OWN = sorted(TRANSCRIPTS.rglob("*.jsonl"))
DEMO = sorted((Path(memoria.__file__).parent / "commands" / "demo_transcripts").glob("*.jsonl"))
REAL = sorted((SHARED / "transcripts").glob("*.jsonl"))
REFUSED = "The user doesn't want to proceed with this tool use."
SLOW_ONES = [pytest.param(path, marks=pytest.mark.slow) for number, path in enumerate(REAL) if number % 9]
every_transcript = pytest.mark.parametrize(
    "path", [*OWN, *DEMO, *REAL[::9], *SLOW_ONES], ids=lambda path: path.stem[:60]
)


def line(**value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def user(content: Any, uuid: str = "u", **more: Any) -> bytes:
    return line(type="user", uuid=uuid, sessionId="s", message={"role": "user", "content": content}, **more)


def assistant(text: str, uuid: str, time: str = "") -> bytes:
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return line(type="assistant", uuid=uuid, timestamp=time, message=message)


def use(name: str, **given: Any) -> bytes:
    """A tool use whose result ``result`` gives."""
    block = {"type": "tool_use", "id": "t", "name": name, "input": given}
    return line(type="assistant", uuid=f"use-{name}", message={"id": "m", "role": "assistant", "content": [block]})


def attachment(prompt: Any, uuid: str = "a") -> bytes:
    return line(type="attachment", uuid=uuid, attachment={"type": "queued_command", "prompt": prompt})


def queue(operation: str, time: str, **content: str) -> bytes:
    return line(
        type="queue-operation", operation=operation, timestamp=f"2026-03-01T09:00:{time}Z", sessionId="s", **content
    )


def result(content: Any, **more: Any) -> bytes:
    return user([{"type": "tool_result", "tool_use_id": "t", "content": content, **more}])


def read(lines: Iterable[bytes], *, with_sides: bool = False) -> list[Turn]:
    reader = Reader(with_sides=with_sides)
    return [*reader.read(lines), *reader.settle()]


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def shown(turns: list[Turn]) -> Iterator[str]:
    """All that is known of turns, and what a model is told of them."""
    for turn in turns:
        about = (turn.role, turn.key, turn.time and turn.time.isoformat(), turn.cwd, *turn.uses)
        yield " | ".join(map(str, about))
        yield from [f"    {row}" for row in turn.text.splitlines()] + [f"  * {row}" for row in turn.tools]
    for part in steps(exchanges(turns)):
        yield from ("--", *(f"{label}: {text}" for label, text in part))


@pytest.mark.slow
@pytest.mark.parametrize("path", [*OWN, *CODEX], ids=lambda path: path.stem)
def test_a_transcript_is_read_as_it_was_before(path: Path) -> None:
    whole = lines_of(path)
    rows, *others = (
        list(shown([*reader.read(lines), *reader.settle()]))
        for lines in (whole, *bent(whole, 30))
        for reader in [Reader(decode=clients.CODEX.decoder() if path in CODEX else client_files.decode)]
    )
    same(f"turns/{path.stem}.txt", [*rows, *map(digest, others)])


def test_sub_agents_are_left_out_unless_asked_for() -> None:
    lines = lines_of(TRANSCRIPTS / "subagents" / "agent-a1b2c3.jsonl")
    assert read(lines) == []
    assert [turn.role for turn in read(lines, with_sides=True)] == ["user", "assistant"]


def test_the_same_uuid_is_the_same_key_in_whatever_file() -> None:
    [one] = read([user("hello", "u-1", cwd="/a")])
    [other] = read([user("hello", "u-1", cwd="/b", parentUuid="x")])
    assert one.key == other.key
    assert len(one.key) == 10
    assert read([user("hello", "u-2")])[0].key != one.key


@pytest.mark.parametrize("words", [
    use("AskUserQuestion")
    + result('User has answered your questions: "q"="yes". You can now continue with the user\'s answers in mind.'),
    use("AskUserQuestion")
    + result('Your questions have been answered: "q"="yes". You can now continue with these answers in mind.'),
    use("Edit") + result(f"{REFUSED} To tell you how to proceed, the user said:\nyes", is_error=True),
    use("ExitPlanMode", plan="no")
    + user([{"type": "tool_result", "tool_use_id": "t", "content": "In other words"}],
           toolUseResult={"plan": "no\nyes", "isAgent": False, "planWasEdited": True}),
    user([{"type": "tool_result", "content": "a long file"}, {"type": "text", "text": "yes"}]),
    user([{"type": "text", "text": "yes"}, {"type": "tool_result", "content": "a long file"}]),
    user("<bash-input>ls</bash-input><system-reminder>be good</system-reminder> yes"),
    attachment("yes"),
    attachment([{"type": "text", "text": "yes"}]),
    line(type="progress", sessionId="s", data={"message": {"type": "user"}}).strip() + user("yes"),
])  # fmt: skip
def test_the_users_words_are_kept_wherever_they_stand(words: bytes) -> None:
    [turn] = [turn for turn in read(words.splitlines(keepends=True)) if turn.role == "user"]
    assert turn.text.endswith(("yes", '"yes"'))


@pytest.mark.parametrize("words", [
    user("This session is being continued from a previous conversation that ran out of context."),
    queue("enqueue", "01", content="<bash-stdout></bash-stdout>Read the output file to retrieve the result: /x"),
    user("<local-command-stdout>out</local-command-stdout>"),
    user("Stay on the branch.", promptSource="system"),
    assistant("API Error: 500", "a").replace(b'"message"', b'"isApiErrorMessage":true,"message"'),
    queue("enqueue", "01", content='{"task_id":"b1","description":"build"}'),
    attachment("go on").replace(b'"uuid"', b'"isMeta":true,"uuid"'),
])  # fmt: skip
def test_what_nobody_typed_is_no_turn(words: bytes) -> None:
    assert read([words]) == []


def test_a_queued_prompt_waits_until_the_session_is_over() -> None:
    reader = Reader()
    assert list(reader.read([queue("enqueue", "01", content="and then?"), queue("remove", "02")])) == []
    assert [turn.text for turn in reader.pending_turns] == ["and then?"]
    assert [turn.text for turn in reader.settle()] == ["and then?"]
    assert list(reader.pending_turns) == []
    typed = [queue("enqueue", "04", content="and now?"), queue("enqueue", "05", content="or not?")]
    assert list(reader.read([*typed, queue("popAll", "06", content="so and now? then")])) == []
    assert [turn.text for turn in reader.pending_turns] == ["or not?"], "the other is in the input line again"


@pytest.mark.parametrize("answered", [False, True])
def test_a_prompt_that_the_client_queues_again_and_again_is_said_once(answered: bool) -> None:
    lines, reader, turns = [], Reader(), []
    for number in range(0, 28, 2):
        lines += [queue("enqueue", f"{number:02d}", content="and then?"), queue("dequeue", f"{number + 1:02d}")]
        lines += [assistant("then this", f"a{number}", f"2026-03-01T09:00:{number + 2:02d}Z")] if answered else []
    for piece in (lines[:20], lines[20:]):
        turns += list(reader.read(piece))
    turns += reader.settle()
    assert [turn.text for turn in turns if turn.role == "user"] == ["and then?"]


def in_slices(lines: list[bytes], cuts: list[int]) -> list[Turn]:
    reader = Reader()
    parts = [lines[start:end] for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    return [*(turn for part in parts for turn in reader.read(part)), *reader.settle()]


@every_transcript
def test_whole_or_in_random_slices_gives_the_same_turns(path: Path) -> None:
    lines = lines_of(path)
    whole = read(lines)
    chance = Random(path.name)
    for _ in range(3):
        cuts = sorted(chance.sample(range(len(lines) + 1), min(len(lines), 6)))
        assert in_slices(lines, cuts) == whole


KINDS = ("enqueue", "remove", "dequeue", "popAll", "user", "attachment", "assistant")
QUEUED = [
    "a", "b", "a  b", "b\na", "/go", "/go a", "/model a", "<system-reminder>b</system-reminder>a", "/é a\ud800",
    "<command-name>/go</command-name><command-message>go</command-message><command-args>a</command-args>",
]  # fmt: skip
EVENTS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("abc"), st.booleans()), max_size=14)


def queue_lines(events: Iterable[tuple[str, str, bool]]) -> Iterator[bytes]:
    for number, (kind, text, named) in enumerate(events):
        time = f"{number:02d}"
        if kind == "user":
            yield user(text, f"u{number}")
        elif kind == "attachment":
            yield attachment(text, f"q{number}")
        elif kind == "assistant":
            yield assistant("ok", f"a{number}", f"2026-03-01T09:00:{time}Z")
        else:
            yield queue(kind, time, **({"content": text} if named or kind == "enqueue" else {}))


@pytest.mark.slow
def test_queued_prompts_are_read_as_they_were_before() -> None:
    draw, rows = Random(26), []
    for _ in range(800):
        kinds = draw.choices(("enqueue", "enqueue", *KINDS), k=draw.randint(1, 16))
        texts = draw.choices(draw.sample(QUEUED, 3), k=16)
        reader = Reader()
        turns = [*reader.read(queue_lines((*each, draw.random() < 0.5) for each in zip(kinds, texts, strict=False)))]
        rows.append(digest([*shown(turns), *shown([*reader.pending_turns]), *shown(reader.settle())]))
    same("read/queued.txt", [digest(rows[at::8]) for at in range(8)])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(events=EVENTS, data=st.data())
def test_queue_lines_give_the_same_turns_in_slices(events: list[tuple[str, str, bool]], data: st.DataObject) -> None:
    whole = read(lines := [*queue_lines(events)])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=4)))
    assert in_slices(lines, cuts) == whole
    enqueued = {text for kind, text, _ in events if kind in ("enqueue", "user", "attachment")}
    assert {turn.text for turn in whole if turn.role == "user"} <= enqueued


def test_a_failing_tool_leaves_its_status_and_its_first_and_last_lines() -> None:
    output = "Exit code 2\n" + "\n".join(f"line {number}" for number in range(100))
    [turn] = read([result(output, is_error=True)])
    assert turn.role == "error"
    shown = [*(f"line {number}" for number in range(6)), "…", *(f"line {number}" for number in (97, 98, 99))]
    assert turn.text == "exit 2: " + "\n".join(shown)
    short = "\n".join(f"line {number}" for number in range(9))
    assert [turn.text for turn in read([result(short, is_error=True)])] == [short], "none is left out of so few"
    for count, width in ((1, 800), (2, 400), (9, 160)):
        [turn] = read([result("\n".join(["y" * 100_000] * count), is_error=True)])
        assert turn.text.split("\n") == ["y" * width + "…"] * count


@pytest.mark.slow
def test_a_tool_use_is_one_line_with_what_identifies_it_in_any_language() -> None:
    uses = json.loads((TRANSCRIPTS.parent / "tool_uses.json").read_text("utf-8"))["described"]
    longer = json.loads(re.sub(r': "((?:[^"\\]|\\.)+)"', lambda it: f': "{f"{it[1]} x" * 1_500}"', json.dumps(uses)))
    longer.append(["Write", {"content": " ".join(f"name_{number}" for number in range(999)), "file_path": "a"}])
    plans = [use("ExitPlanMode", plan="Mine."), use("exit_plan_mode"), use("Note", plan="By the way.")]
    assert [turn.text for turn in read(plans)] == ["Mine.", "", ""], "a plan that is put before the user is told whole"
    rows, long = ([describe(name, given) for name, given in each] for each in (uses, longer))
    same("read/described.txt", [*rows, *map(len, long), digest(long)])


def turn(role: Any, text: str, number: int, *tools: str) -> Turn:
    return Turn(f"k{number}", role, text, tools)


def test_an_exchange_is_a_user_turn_and_what_answered_it() -> None:
    turns = [
        turn("assistant", "before", 0), turn("user", "one", 1), turn("note", "stopped", 2), turn("user", "one more", 3),
        turn("assistant", "answer", 4, "Bash ls"), turn("error", "exit 1", 5), turn("user", "two", 6),
    ]  # fmt: skip
    found = exchanges(turns)
    assert [[turn.key for turn in part.turns] for part in found] == [["k0"], ["k1", "k2", "k3", "k4", "k5"], ["k6"]]
    material = {"user": "one\n\none more", "assistant": "answer", "tools": ["Bash ls"]}
    assert found[1].material() == {**material, "errors": ["exit 1"], "notes": ["stopped"]}
    assert exchanges([]) == []
    assert [part.size for part in found] == [18, 85, 10]
    assert [[len(call) for call in split(found, limit)] for limit in (113, 112)] == [[3], [2, 1]]
    long = turn("user", "one two\nthree four five six", 7, "Bash make it all", "Bash ls")
    calls = split([*found, *exchanges([long])], 28)
    assert [[(turn.text, *turn.tools) for part in call for turn in part.turns] for call in calls] == [
        [("before",)], [("one",), ("stopped",)], [("one more",)], [("answer",)], [("", "Bash ls"), ("exit 1",)],
        [("two",)], [("one two\nthree ",)], [("four five six",)], [("", "Bash make it all")], [("", "Bash ls")],
    ]  # fmt: skip
    assert [sum(part.size for part in call) for call in calls] == [18, 24, 15, 18, 28, 10, 21, 20, 23, 14]


ROLES = st.sampled_from(("user", "assistant", "error", "note"))
ANY_TURN = st.builds(
    lambda role, text, tools, number: turn(role, text, number, *tools),
    ROLES,
    st.text(alphabet="ab \n", max_size=300),
    st.lists(st.text(alphabet="xy ", min_size=1, max_size=80), max_size=3),
    st.integers(0, 99),
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(turns=st.lists(ANY_TURN, max_size=8), limit=st.integers(40, 400))
def test_splitting_leaves_nothing_out_and_keeps_to_the_limit(turns: list[Turn], limit: int) -> None:
    parts = exchanges(turns)
    calls = split(parts, limit)
    dealt = [turn for call in calls for part in call for turn in part.turns]
    assert "".join(turn.text + "".join(turn.tools) for turn in dealt) == "".join(
        t.text + "".join(t.tools) for t in turns
    )
    assert {turn.key for turn in dealt} == {turn.key for turn in turns}
    for call in calls:
        assert sum(part.size for part in call) <= limit


@pytest.mark.parametrize(
    ("times", "limit", "count"),
    [
        (["18T22:10", "19T00:05"], 99, 1), (["18T08:00", "18T21:55", "19T00:05"], 99, 2),
        (["18T22:30", "19T00:30"], 99, 2), (["18T09:00", "18T12:00"], 99, 1), (["18T21:55", ""], 99, 1),
        ([""] * 4, 26, 2), ([""] * 2, 25, 2), ([""] * 6, 82, 1), ([""] * 6, 81, 2), ([""] * 5, 65, 1),
    ],
)  # fmt: skip
def test_what_follows_a_night_or_fits_no_more_is_a_stretch_of_its_own(times: list[str], limit: int, count: int) -> None:
    """An entry belongs to the day on which it began, in the user's zone."""
    moments = [datetime.fromisoformat(f"2026-11-{time}:00+00:00") if time else None for time in times]
    turns = [Turn(str(number), "user", "Go on.", time=moment) for number, moment in enumerate(moments)]
    found = list(stretches(turns, limit, Zone("UTC")))
    assert [len(found), *(part.keys for part in found if part.is_continued)] == [count], "and no turn is in pieces"


def test_a_stretch_says_nothing_when_one_tool_was_used_and_not_a_word_said() -> None:
    told = [("", "Bash ls"), ("", "Bash ls", "Bash pwd"), ("Done.",), ("Done.", "Bash ls")]
    found = [list(stretches([turn("assistant", words, 1, *tools)], 99, Zone("UTC"))) for words, *tools in told]
    assert [each.says_nothing for (each,) in found] == [True, False, False, False]
