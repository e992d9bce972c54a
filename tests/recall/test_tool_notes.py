"""Tool notes: which notes an edit or a command is given, which it is not, and how often."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from as_before import digest, same
from memoria.base import project, state
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import hook
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.recall import naming_notes, shown_notes, tool_notes
from memoria.search import layout
from places import TESTS

CWD = "/nowhere/shop"
OWN = project.key_of_path(CWD)
TABS = "Use tabs in Makefiles, never spaces."


def fact(text: str, kind: str = "correction", number: int = 1, **more: Any) -> Document:
    about: dict[str, Any] = {"project": OWN, "date": "2026-11-20", "session": "before", **more}
    passages = (Passage(text, kind, own=True),)
    return Document("daily/2026-11-20.md", "fact", f"l-{number:08d}", passages=passages, **about)


def claim(text: str, label: str = "Gotchas") -> Document:
    passages = (Passage(text, label),)
    return Document("knowledge/concepts/prices.md", "article", title="Prices", passages=passages)


@pytest.fixture
def world(paths: Paths) -> Paths:
    state.open_state(paths)
    return paths


def remember(paths: Paths, *documents: Document) -> None:
    others = [fact(f"The tide table number {n} comes from harmonics.", "fact", 100 + n) for n in range(30)]
    with Index(paths.index) as index:
        index.add([*others, *documents])
        index.prepare(naming_notes.LEVELS, lambda texts: Path(paths.named).write_text(naming_notes.names_in(texts)))


def use(paths: Paths, tool: str, session: str = "s1", cwd: str = CWD, agent: str = "", **given: str) -> str:
    """The text that a tool use is given; settings are among ``given`` as MEMORIA_..."""
    env = {name: value for name, value in given.items() if name.startswith("MEMORIA_")}
    fields: dict[str, object] = {
        "session_id": session, "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": tool, "agent_id": agent,
        "tool_use_id": "toolu_1", "tool_input": {name: text for name, text in given.items() if name not in env},
    }  # fmt: skip
    told = told_of(fields, paths, **env)
    return str(told["additionalContext"]) if told else ""


def told_of(fields: dict[str, object], paths: Paths, **env: str) -> dict[str, Any]:
    """What the hook tells the client of a tool use."""
    output = tool_notes.pre_tool_use(hook.Event(fields), Settings.load(env), paths)
    if output is None:
        return {}
    told: Any = output["hookSpecificOutput"]
    assert told["hookEventName"] == "PreToolUse"
    return dict(told)


def test_an_edit_is_given_the_correction_that_names_its_file_once_a_session(world: Paths) -> None:
    remember(world, fact(TABS))
    said = use(world, "Edit", file_path=f"{CWD}/Makefile", old_string="a", new_string="b")
    assert f"- [correction, 2026-11-20, the user] {TABS} (daily/2026-11-20.md#^l-00000001)" in said
    assert use(world, "Edit", file_path=f"{CWD}/Makefile", old_string="b", new_string="c") == ""
    assert TABS in use(world, "Write", session="s2", file_path=f"{CWD}/Makefile", content="all:\n")


def test_it_is_given_again_after_a_compaction_and_to_a_subagent_which_knows_nothing_of_it(world: Paths) -> None:
    remember(world, fact(TABS), fact("The Makefile is generated.", number=2, session="s1"))
    assert use(world, "Edit", file_path=f"{CWD}/Makefile").count("\n- [") == 1, "the context has what it said itself"
    assert use(world, "Edit", agent="a1", file_path=f"{CWD}/Makefile").count("\n- [") == 2
    assert use(world, "Edit", agent="a1", file_path=f"{CWD}/Makefile") == ""
    shown_notes.ShownNotes(world.hints, "s1").record_compaction()
    assert use(world, "Edit", file_path=f"{CWD}/Makefile")


@pytest.mark.parametrize(("kind", "file", "is_given"), [
    ("correction", "src/prices.py", True), ("preference", "src/prices.py", True), ("decision", "prices.py", True),
    ("fact", "src/prices.py", True), ("fact", "prices.py", False), ("decision", ".py", False),
    ("correction", ".py", True), ("correction", "lib/prices.py", False),
])  # fmt: skip
def test_a_note_is_given_that_names_the_file_as_exactly_as_its_kind_asks(
    world: Paths, kind: str, file: str, is_given: bool
) -> None:
    remember(world, fact(f"Leave {file} alone.", kind))
    path = f"{CWD}/src/prices.py"
    assert bool(use(world, "Edit", file_path=path, old_string="x", new_string="y")) == is_given
    assert bool(use(world, "Bash", session="s2", command=f"sed -i s/1/2/ {path}")) == is_given


def test_a_line_of_an_article_is_given_as_the_statement_that_it_shows(world: Paths) -> None:
    lesson = "`npm run lint` failed in lint.js, which is why it has a comment."
    rule = "Keep src/prices.py free of floats."
    remember(
        world, fact(lesson, "debugging", 1), claim(f"- {lesson} daily/2026-11-20#^l-00000001"),
        fact(rule, number=2), claim(f"- {rule} daily/2026-11-20#^l-00000002"),
    )  # fmt: skip
    assert use(world, "Bash", command="npm run fmt && npm run lint") == "", "a lesson waits for its error"
    said = use(world, "Edit", file_path=f"{CWD}/src/prices.py")
    assert [line for line in said.splitlines() if line.startswith("- ")] == [
        f"- [correction, 2026-11-20, the user] {rule} (daily/2026-11-20.md#^l-00000002)"
    ]
    theirs = Document("daily/2026-11-20.md", "entry", anchor="e-1", project="blog-1a2b3c", passages=(Passage("x"),))
    remember(world, theirs, claim("- src/prices.py is sorted. daily/2026-11-20#^e-1"))
    Path(world.folders).write_text('{"blog-1a2b3c": ["/nowhere/blog"]}')
    assert "sorted" in use(world, "Edit", file_path=f"{CWD}/src/prices.py")
    assert "sorted" not in use(world, "Edit", "s2", file_path=f"{CWD}/src/prices.py", MEMORIA_EXCLUDE="/nowhere/blog")


def test_only_a_rule_is_said_again_that_the_page_shows(world: Paths) -> None:
    known = "src/prices.py rounds half up."
    shown_notes.ShownNotes(world.hints, "s1").append([{"page": f"- [correction] {TABS} (x)\n- [fact] {known} (x)"}])
    remember(world, fact(TABS), fact(known, "fact", 2))
    assert TABS in use(world, "Edit", file_path=f"{CWD}/Makefile")
    assert use(world, "Edit", file_path=f"{CWD}/src/prices.py") == ""
    assert known in use(world, "Edit", session="s2", file_path=f"{CWD}/src/prices.py")


def test_the_setting_switches_it_off_and_a_missing_or_broken_index_gives_nothing(world: Paths) -> None:
    assert use(world, "Edit", file_path=f"{CWD}/Makefile") == ""
    remember(world, fact(TABS))
    assert use(world, "Edit", file_path=f"{CWD}/Makefile", MEMORIA_NOTES="prompt") == ""
    assert use(world, "Edit", file_path=f"{CWD}/Makefile", MEMORIA_EXCLUDE=CWD) == ""
    with open(world.index, "wb") as file:  # noqa: PTH123 (a str)
        file.write(b"no database" * 1000)
    assert use(world, "Edit", file_path=f"{CWD}/Makefile") == ""
    assert "no notes (" in Path(world.hook_log).read_text("utf-8"), "and who fills it is started"


def test_what_no_rule_names_reads_nothing_else(world: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ("Run `make check`, not pytest.", TABS, "Never touch vendor/grid.js, is_up or *.lock")
    remember(world, *(fact(rule, number=number) for number, rule in enumerate(rules)))
    monkeypatch.setattr(naming_notes, "answer", lambda *_: {"read": True})
    event = {"session_id": "s1", "cwd": CWD, "hook_event_name": "PreToolUse", "tool_use_id": "toolu_1"}

    def reads(tool: str, **given: str) -> bool:
        fields: dict[str, object] = {**event, "tool_name": tool, "tool_input": given}
        return tool_notes.pre_tool_use(hook.Event(fields), Settings(), world) is not None

    assert reads("Bash", command="make check")
    assert reads("Edit", file_path="vendor/grid.js")
    assert reads("Write", file_path="Makefile")
    assert not reads("Bash", command="npm run build")
    assert not reads("Edit", file_path=f"{CWD}/src/prices.go", old_string="tide_table", new_string="tideTable")
    assert not reads("Edit", file_path=f"{CWD}/src/prices.go", old_string="is_up", new_string="is_on"), "a short name"
    assert reads("Edit", file_path="uv.lock")
    Path(world.named).unlink()
    assert reads("Bash", command="npm run build"), "what is not known may be named"


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hook.ENTRYPOINT, "cli")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")


PUSH = "Never run git push --force here, use --force-with-lease."
AGAIN = 0.6 + layout.AGAIN
NOT_THE_USERS = Document("d.md", "fact", "l-00000009", project=OWN, passages=(Passage(f"{PUSH} #ask", "correction"),))


def force(paths: Paths, session: str = "s1", tool: str = "Bash", **more: Any) -> dict[str, Any]:
    """What the hook tells the client before a push, or an edit, that a rule is about."""
    env = {name: more.pop(name) for name in list(more) if name.startswith("MEMORIA_")}
    fields: dict[str, object] = {
        "session_id": session, "cwd": CWD, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "toolu_1",
        "permission_mode": "default", "tool_input": {"file_path": f"{CWD}/Makefile", "command": "git push --force"},
        **more,
    }  # fmt: skip
    return told_of(fields, paths, **env)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    "rule",
    [fact(PUSH, importance=AGAIN), fact(f"{PUSH} #ask"), fact(f"{PUSH} #ask", "preference")],
    ids=["given twice", "marked", "a marked preference"],
)
def test_over_a_rule_marked_or_given_twice_the_user_is_asked_once_a_session(world: Paths, rule: Document) -> None:
    remember(world, rule)
    told = force(world)
    assert told["permissionDecision"] == "ask"
    assert told["permissionDecisionReason"] == f"memoria: a rule of yours, 2026-11-20: {PUSH}"
    assert PUSH in told["additionalContext"], "the model is told as well"
    assert force(world) == {}
    shown_notes.ShownNotes(world.hints, "s1").record_compaction()
    assert "permissionDecision" not in force(world), "the note comes again, the question does not"
    assert "permissionDecision" in force(world, session="s2")


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("rule", "tool"),
    [
        (fact(PUSH), "Bash"), (fact(PUSH, importance=AGAIN, session="s1"), "Bash"),
        (fact("git is slow here.", importance=AGAIN), "Bash"),
        (fact("Never git commit on Fridays.", importance=AGAIN), "Bash"), (NOT_THE_USERS, "Bash"),
        (claim(f"{PUSH} #ask"), "Bash"), (fact(TABS, importance=AGAIN), "Write"),
    ],
    ids=["given once", "said here", "by its program", "another command", "not the user's", "of an article", "an edit"],
)  # fmt: skip
def test_nobody_is_asked_over_anything_else(world: Paths, rule: Document, tool: str) -> None:
    remember(world, rule)
    assert "permissionDecision" not in force(world, tool=tool)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(("environ", "fields"), [
    ({hook.ENTRYPOINT: "sdk-cli"}, {}), ({}, {"permission_mode": ""}), ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {}),
    ({}, {"permission_mode": "bypassPermissions"}), ({}, {"permission_mode": "dontAsk"}), ({}, {"agent_id": "a1"}),
    ({}, {"MEMORIA_NOTES": "prompt"}),
])  # fmt: skip
def test_a_program_a_subagent_and_who_wants_no_questions_are_not_asked(
    world: Paths, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], fields: dict[str, Any]
) -> None:
    remember(world, fact(PUSH, importance=AGAIN))
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert "permissionDecision" not in force(world, **fields)


def test_what_tool_uses_touch_and_texts_mention_is_as_it_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    told, rows = json.loads((TESTS / "fixtures" / "tool_uses.json").read_text("utf-8")), list[object]()
    edits, texts = told["edits"], told["texts"]
    uses = [("Bash", {"command": line}) for line in told["shell"]] + [("Edit", edit) for edit in edits]
    for tool, values in (*uses, ("Read", edits[0])):
        touched = tool_notes.find_touched(tool, values, "/a/b")
        levels = "".join(str(naming_notes.mention_level(touched, text)) for text in texts)
        rows += [f"{touched.commands} {['/'.join(parts) for parts in touched.files]} {touched.symbols}", levels]
        found = [naming_notes.names_in([text]) for text in texts]
        may = [touched.may_be_named(names) for names in found]
        assert all(is_named or level == "0" for is_named, level in zip(may, levels, strict=True))
        rows += ["".join(str(int(each)) for each in may), naming_notes._terms(touched)]
    for text, kind, tool, values in told["ranked"]:
        rows.append(f"{naming_notes._rank(tool_notes.find_touched(tool, values, '/a/b'), kind, text)} {text}")
    draw, words = random.Random(26), [word for line in (*told["shell"], *texts) for word in line.split(" ")]
    for _ in range(40):
        seen = list[object]()
        for _ in range(20):
            line, text = (" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(2))
            touched = tool_notes.find_touched("Bash", {"command": line}, "/a/b")
            about = [touched.commands, touched.files, touched.may_be_named(naming_notes.names_in([text]))]
            seen += [about, naming_notes._terms(touched), naming_notes._rank(touched, "fact", text)]
        rows.append(digest(seen))
    same("read/touched.txt", [*rows, naming_notes.names_in(texts)])
