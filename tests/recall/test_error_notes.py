"""Error notes: what a failed command is given, and when nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from as_before import same
from memoria.base import project, state
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import hook
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.recall import error_notes, shown_notes

CWD = "/nowhere/shop"
OWN = project.key_of_path(CWD)
FIX = "ModuleNotFoundError for yaml in the worker: set MEMORIA_PYTHON to the clone's interpreter."
ERROR = 'Exit code 1\nTraceback (most recent call last):\n  File "/x/y.py", line 3\nModuleNotFoundError: no yaml worker'


@pytest.fixture
def world(paths: Paths) -> Paths:
    state.open_state(paths)
    return paths


def remember(paths: Paths, *texts: str, session: str = "before", key: str = OWN) -> None:
    made = [
        Document("daily/2026-11-20.md", "fact", f"l-{number:08d}", session, key, passages=(Passage(text, "debugging"),))
        for number, text in enumerate((*texts, *(f"Tide table {number} of the harbour." for number in range(40))))
    ]
    with Index(paths.index) as index:
        index.add(made)


def fail(paths: Paths, error: str = ERROR, *, is_stopped: bool = False, **env: str) -> str:
    fields = {
        "session_id": "s1", "cwd": CWD, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_use_id": "toolu_1", "tool_input": {"command": "make"}, "error": error, "is_interrupt": is_stopped,
    }  # fmt: skip
    output = error_notes.post_tool_use_failure(hook.Event(fields), Settings.load(env), paths)
    told: Any = output["hookSpecificOutput"] if output else {"additionalContext": ""}
    return str(told["additionalContext"])


def test_an_error_that_was_met_before_is_given_what_helped_once(world: Paths) -> None:
    remember(world, FIX)
    assert FIX in fail(world)
    assert fail(world) == ""


def test_as_much_is_given_of_many_notes_as_before(world: Paths) -> None:
    remember(world, *(f"{FIX} {'It is so. ' * (20 * number)}{number}" for number in range(5)))
    same("read/helps.txt", fail(world).split("\n"))


def test_what_the_sessions_page_shows_is_not_given_again(world: Paths) -> None:
    remember(world, FIX)
    shown_notes.ShownNotes(world.hints, "s1").append([{"page": f"- [debugging] {FIX} (2026-11-20)"}])
    assert fail(world) == ""


def test_nothing_is_given_in_an_excluded_folder_over_a_stopped_command_or_unasked(world: Paths) -> None:
    remember(world, FIX)
    assert fail(world, MEMORIA_EXCLUDE=CWD) == ""
    assert fail(world, MEMORIA_NOTES="prompt") == ""
    assert fail(world, is_stopped=True) == ""
    assert FIX in fail(world)


def test_what_another_project_or_the_session_itself_met_is_not_given_nor_what_cannot_be_read(world: Paths) -> None:
    for more in ({"key": "blog-1a2b3c"}, {"session": "s1"}):
        remember(world, FIX, **more)
        assert fail(world) == ""
    Path(world.index).write_bytes(b"no database" * 1000)
    assert fail(world) == ""
    assert "no notes (" in Path(world.hook_log).read_text("utf-8"), "and who fills it is started"


@pytest.mark.parametrize(("error", "text"), [
    (ERROR, "ModuleNotFoundError: no yaml worker"),
    ("[lint] ERROR task failed", "The lint task failed with an error: the factories return interfaces on purpose."),
    ("no such file: types/README.md", "README.md got a section about the preview, and a call to open issues."),
    ("ld: cannot find libzebra", "The zebra stripes in libzebra are counted at noon by two people."),
])  # fmt: skip
def test_a_note_that_only_repeats_the_error_or_shares_less_is_not_given(world: Paths, error: str, text: str) -> None:
    remember(world, text)
    assert fail(world, error) == ""


def test_only_the_lines_that_say_what_went_wrong_are_looked_up() -> None:
    assert error_notes.telling(ERROR) == ["ModuleNotFoundError no yaml worker"]
    assert error_notes.telling("slow tides rise\n" * 100_000) == ["slow tides rise"]
    path = "/x/y/z.py:12: error: 'foo' undefined 0x7f 12 12:30\nfatal: bad config\nfatal: bad config"
    assert error_notes.telling(path) == ["z.py:12 error foo undefined", "fatal bad config"]
    assert error_notes.telling("Exit code 1\n  a\nlast word") == ["last word"]
    every = "Error: never told\nfatal: bad yaml\nfailed to (open)\nno such zebra table\nok then"
    assert error_notes.telling(every) == ["fatal bad yaml", "failed to open", "no such zebra table"]
    long = error_notes.telling("bad yaml\n" + "fatal yaml " * 60)
    assert list(map(len, long)) == [300]
    assert [error_notes.telling(text) for text in ("one", "", "12 0x1f\n\n")] == [[], [], []]


def test_a_note_helps_that_shares_half_of_a_line_and_says_three_words_more() -> None:
    lines = ["ModuleNotFoundError no yaml worker", "ld cannot find libzebra in path", "gauge tide chart pier buoy"]
    texts = {
        "yaml worker sets the interpreter of the clone": True, "yaml worker clone interpreter": False,
        "yaml interpreter clone path": False, "yaml worker clone": False, "libzebra path needs two packages more": True,
        "yaml worker clone interpreter moved": True, "tide chart paper is printed twice": False,
    }  # fmt: skip
    assert {text: error_notes.helps(text, lines) for text in texts} == texts
