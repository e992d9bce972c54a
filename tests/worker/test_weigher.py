"""What the model is told, and what a session is given of its choice."""

from __future__ import annotations

import io
import json
import os
import re
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from home_of import scripted
from memoria.capture import detach
from memoria.capture.open_sessions import OpenSessions
from memoria.daily.ledger import Ledger
from memoria.ground import locks
from memoria.ground.home import Home
from memoria.index import documents
from memoria.index.documents import Document, Passage
from memoria.index.index import Index
from memoria.models.metered import Metered
from memoria.models.protocol import Completion, Prompt
from memoria.models.scripted import ScriptedFile
from memoria.recall.shown_notes import ShownNotes
from memoria.search import layout
from memoria.transcripts.screen import Tombstones
from memoria.worker import weigher
from memoria.worker.weigher import MAX_CHARS
from memoria.worker.weigher import NOTES as NOTES_OFFERED

SESSION = "5e551014-0000-4000-8000-000000000001"
ANSWER = ScriptedFile.complete
NOTES = ("Prices are whole cents.", "Tags have nine stripes.", "The shop opens at nine.")


def key(number: int) -> str:
    return f"daily/2026-11-20.md#^l-{number:08d}"


class World:
    """A home with three facts, a transcript, and a model whose answers stand in a file."""

    capsys: pytest.CaptureFixture[str]

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.monkeypatch = monkeypatch
        self.script = scripted(base, monkeypatch, widen=[{"words": []}], weigh=list(answers))
        self.home = Home.open()
        self.transcript = base / "session.jsonl"
        with Index(self.home.paths.index) as index:
            index.add(
                Document(
                    "daily/2026-11-20.md", "fact", f"l-{number:08d}", date="2026-11-20", importance=1.0 - number / 10,
                    passages=(Passage(text, "decision"), Passage("price goods", layout.ASKED)),
                )
                for number, text in enumerate(NOTES, 1)
            )  # fmt: skip

    def say(self, *turns: tuple[str, str], **more: Any) -> None:
        with self.transcript.open("a", encoding="utf-8") as file:
            for role, text in turns:
                content: object = text if role == "user" else [{"type": "text", "text": text}]
                line = {
                    "type": role, "uuid": os.urandom(8).hex(), "sessionId": SESSION, "cwd": "/nowhere/shop",
                    "timestamp": "2026-11-22T10:00:00Z", "message": {"role": role, "content": content}, **more,
                }  # fmt: skip
                file.write(json.dumps(line) + "\n")

    def weigh(self, prompt: str = "Add a discount code", at: float | None = None) -> str:
        request = {
            "session": SESSION, "transcript": str(self.transcript), "cwd": "/nowhere/shop", "project": "shop-1a2b3c",
            "prompt": prompt, "at": time.time() if at is None else at, "client": os.getppid(),
            "recorded": OpenSessions(self.home.paths.where).latest_prompt(SESSION),
        }  # fmt: skip
        self.monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(request)))
        assert weigher.command(Namespace(), self.home) == 0
        return str(self.capsys.readouterr().out)

    def meanwhile(self, act: Callable[[], Any]) -> None:
        """Let something happen while the model thinks."""

        def complete(model: ScriptedFile, prompt: Prompt) -> Completion:
            act()
            return ANSWER(model, prompt)

        self.monkeypatch.setattr(ScriptedFile, "complete", complete)

    def names(self, *answers: Any) -> None:
        """Let the model answer this when it is asked for words."""
        self.script.write_text(json.dumps({**json.loads(self.script.read_text()), "widen": answers}))

    def learns(self, *told: tuple[str, str]) -> None:
        """Add statements of a text and a kind, and more of another matter than can be offered."""
        told += tuple((f"The harbour crane {n} lifts {'box ' * 60}{n}.", "fact") for n in range(100))
        with Index(self.home.paths.index) as index:
            index.add(
                Document("daily/2026-11-20.md", "fact", f"l-1{n:07d}", passages=(Passage(text, kind),), importance=0.5)
                for n, (text, kind) in enumerate(told)
            )

    def calls(self) -> list[dict[str, Any]]:
        try:
            rows = self.script.with_name(self.script.name + ".calls").read_text("utf-8").splitlines()
        except OSError:
            return []
        return [json.loads(row) for row in rows]

    def asked(self) -> str:
        return str(self.calls()[-1]["text"])


Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Make:
    World.capsys = capsys
    return partial(World, tmp_path, monkeypatch)


def given(printed: str) -> str:
    output = json.loads(printed)["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    return str(output["additionalContext"])


def offered(call: dict[str, Any]) -> list[str]:
    """The notes among which a model was to choose."""
    return re.findall(r"^\d+: - (.*)$", call["text"], re.MULTILINE)


def test_the_chosen_notes_are_given_fenced_and_recorded(make: Make) -> None:
    world = make({"needed": [3, 2, 1]})
    world.meanwhile(lambda: ShownNotes(world.home.paths.hints, SESSION).add([key(2)]))  # which is not given again
    text = given(world.weigh())
    assert [line for line in text.splitlines() if line.startswith("- ")] == [
        f"- [decision, 2026-11-20] {NOTES[0]} ({key(1)})", f"- [decision, 2026-11-20] {NOTES[2]} ({key(3)})",
    ]  # fmt: skip
    assert "<memoria-notes-" in text
    assert ShownNotes(world.home.paths.hints, SESSION).keys() == {key(1), key(2), key(3)}
    assert "notes shown: 2, characters" in Path(world.home.paths.hook_log).read_text("utf-8")


@pytest.mark.parametrize(
    "answer",
    [{"needed": []}, {"needed": [9, 0]}, "no JSON at all", {"error": "unavailable"}, {"error": "bad"}, {"wanted": [1]}],
)
def test_without_a_choice_nothing_is_given_and_nobody_waits_for_another_try(make: Make, answer: Any) -> None:
    world = make(answer)
    assert world.weigh() == ""
    assert len(world.calls()) == 1
    assert ShownNotes(world.home.paths.hints, SESSION).keys() == set()


def test_a_note_that_was_changed_ended_or_superseded_meanwhile_is_not_given(make: Make) -> None:
    world = make({"needed": [1, 2, 3]})

    def change() -> None:
        with Index(world.home.paths.index) as index:
            floats = (Passage("Prices are floats."),)
            index.add([Document("daily/2026-11-20.md", "fact", "l-00000001", passages=floats),
                       Document("daily/2026-11-20.md", "fact", "l-00000002", superseded_by="^l-00000003")])  # fmt: skip

    world.meanwhile(change)
    text = given(world.weigh())
    assert [note in text for note in NOTES] == [False, False, True]


@pytest.mark.parametrize("switch", [("MEMORIA_EXCLUDE", "/nowhere/shop"), ("MEMORIA_DISABLED", "1")])
def test_nothing_is_given_when_the_person_has_switched_it_off_meanwhile(
    make: Make, switch: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make({"needed": [1]})
    world.meanwhile(lambda: monkeypatch.setenv(*switch))
    assert world.weigh() == ""
    assert ShownNotes(world.home.paths.hints, SESSION).keys() == set()


def test_nothing_is_asked_or_sent_once_a_text_was_forgotten_or_a_folder_excluded_while_it_waited(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make({"needed": [1]})
    with locks.take(Path(world.home.paths.model_lock)) as mine:
        assert mine
        monkeypatch.setattr(weigher, "WAIT_S", 0.0)
        assert world.weigh() == ""
    assert not world.calls()
    monkeypatch.setattr(weigher, "WAIT_S", 30.0)
    forget = partial(Tombstones(world.home.paths).add, "Add a discount code")
    exclude = partial(monkeypatch.setenv, "MEMORIA_EXCLUDE", "/nowhere/shop")
    for asked, change in (("code", forget), ("field", exclude)):
        with locks.take(Path(world.home.paths.model_lock)):
            waits = threading.Thread(target=world.weigh, args=[f"Add a discount {asked}"])
            waits.start()
            change()
        waits.join()
        assert not world.calls()


def test_a_call_that_is_cut_off_is_booked_and_gives_nothing(make: Make) -> None:
    world = make({"needed": [1]})

    def end() -> None:
        raise KeyboardInterrupt

    world.meanwhile(end)
    assert world.weigh() == ""
    with closing(Ledger(world.home.paths)) as ledger:
        ((_, call),) = ledger.calls_since(datetime.min.replace(tzinfo=UTC))
    assert (call.task, call.project[:5], call.outcome) == ("weigh", "shop-", "cut off")
    assert call.input_tokens > 0
    assert "the client ended it" in Path(world.home.paths.hook_log).read_text("utf-8")


def test_the_model_is_told_the_end_of_the_conversation_without_the_prompt_itself(make: Make) -> None:
    world = make({"needed": []})
    world.say(*((role, f"{role} turn {n}") for n in range(6) for role in ("user", "assistant")))
    world.say(("user", "Add a discount code"))
    world.weigh()
    asked = world.asked()
    assert [asked.count(told) for told in ("[Claude] assistant turn 5", "[user] user turn 3", "turn 2")] == [1, 1, 0]
    assert asked.count("Add a discount code") == 1
    assert "1: - [decision, 2026-11-20] Prices are whole cents." in asked


def test_secrets_forgotten_texts_and_what_was_said_elsewhere_are_not_sent(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIA_EXCLUDE", "/secret")
    world = make({"needed": []})
    Tombstones(world.home.paths).add("the purple elephant")
    token = "ghp_" + "a1B2c3D4" * 5
    world.say(("user", f"use {token} here"), ("assistant", "I saw the purple elephant"))
    world.say(("assistant", "in the excluded folder"), cwd="/secret")
    world.say(("assistant", "all is well"))
    world.weigh(f"Add a discount with {token}\nand the purple elephant")
    asked = world.asked()
    told = ("all is well", "Add a discount", token, "purple elephant", "excluded folder")
    assert [text in asked for text in told] == [True, True, False, False, False]


def test_what_was_said_while_memoria_was_off_is_not_sent(make: Make) -> None:
    world = make({"needed": []})
    world.say(("user", "kept words"))
    start = world.transcript.stat().st_size
    world.say(("user", "unheard words"))
    end = world.transcript.stat().st_size
    world.say(("user", "later words"))
    spans = {"transcript": str(world.transcript), "spans": [[start, end]], "open": False}
    Path(world.home.paths.cursors).mkdir(exist_ok=True)
    Path(world.home.paths.cursors, f"{SESSION}.off").write_text(json.dumps(spans))
    world.weigh()
    assert "kept words" in world.asked()
    assert "later words" in world.asked()
    assert not any(said in world.asked() for said in ("unheard words", "price goods"))


def test_what_the_page_shows_what_was_given_and_what_stems_from_the_prompt_is_not_offered(make: Make) -> None:
    world = make(*[{"needed": []}] * 3)
    shown = ShownNotes(world.home.paths.hints, SESSION)
    shown.append([{"page": f"- [decision] {NOTES[0]} (2026-11-20)"}])
    shown.add([key(2)])
    lines = "".join(f"- {text} [[daily/2026-11-20#^l-{n:08d}|20 Nov]]\n" for n, text in enumerate(NOTES[:2], 1))
    summary = "The discount of the shop, in whole cents."
    article = f"---\ntitle: Discount code\nsummary_digest: x\n---\n# Discount code\n{summary}\n## Gotchas\n{lines}"
    entry = Passage("- A discount code was added to the form.", "Key Exchanges")
    with Index(world.home.paths.index) as index:
        index.add(documents.parse("knowledge/concepts/discount.md", article))
        index.add([Document("daily/2026-11-20.md", "entry", "e-00000001", passages=(entry,), date="2026-11-20"),
                   Document("daily/2026-11-20.md", "entry", "e-0002", title="Learned · discount code")])  # fmt: skip
    world.weigh()
    assert [text for text in (*NOTES, summary, entry.text[2:]) if text in world.asked()] == [NOTES[2], entry.text[2:]]
    assert "Learned" not in world.asked(), "a heading without a text of its own"
    assert world.weigh(f"{NOTES[2]} Do it, add a discount code.") == ""
    assert "Do it" not in world.asked(), "nothing but a record was left to ask about"


def test_an_article_leads_to_the_statement_that_its_line_shows(make: Make) -> None:
    world = make({"needed": [1, 2, 3, 4]})
    lines = [f"- {NOTES[1]} [[daily/2026-11-20#^l-00000002|20 Nov]]", "- Gone. [[daily/2026-11-20#^l-00000009|20 Nov]]"]
    with Index(world.home.paths.index) as index:
        index.add(documents.parse("knowledge/concepts/code.md", "\n".join(["# Discount code", "## Gotchas", *lines])))
        index.add(documents.parse("knowledge/concepts/own.md", "# Discount code\n## Gotchas\n- Codes are short."))
    text = given(world.weigh())
    rows = [line for line in text.splitlines() if line.startswith("- ")]
    assert f"- [decision, 2026-11-20] {NOTES[1]} ({key(2)})" in rows[:2], "the title led to it"
    assert sum(NOTES[1] in row for row in rows) == 1
    assert "Gone." not in world.asked()
    assert "Codes are short. (knowledge/concepts/own.md)" in text


def test_the_same_prompt_asks_no_model_again(make: Make) -> None:
    world = make({"needed": []}, {"needed": [1]}, {"needed": [1]})
    assert world.weigh() == world.weigh() == ""
    ShownNotes(world.home.paths.hints, SESSION).record_compaction()
    assert world.weigh(), "a compaction took the prompt away as well"


def test_the_model_names_words_by_which_more_than_can_be_offered_is_searched(make: Make) -> None:
    world = make({"needed": [1]})
    money = ("Money is an integer of cents.", "decision")
    world.learns(money, ("A discount is never above ten percent.", "fact"), money)
    world.names({"words": ["money", "integer"]})
    with Index(world.home.paths.index) as index:
        index.add([Document("daily/2026-11-20.md", "fact", "l-20000000", project="other-1a2b3c",
                            passages=(Passage("A discount of others is money.", "fact"),)),
                   Document("daily/2026-11-20.md", "fact", "l-30000000", session=SESSION,
                            passages=(Passage("Money was counted in this session.", "fact"),))])  # fmt: skip
    world.say(("assistant", "The form has two fields."))
    assert "Money is an integer" in given(world.weigh("Add a discount to the form"))
    widened, weighed = world.calls()
    assert (widened["task"], weighed["task"]) == ("widen", "weigh")
    assert "two fields" in widened["text"]
    assert "Money" not in widened["text"]
    assert offered(weighed) == [
        "[decision] Money is an integer of cents.", "[fact] A discount is never above ten percent.",
    ], "what shares no word is left out, however important it is"  # fmt: skip
    assert "A discount of others" not in weighed["text"]
    assert "#^l-" not in weighed["text"], "where a note stands says nothing to the one who chooses"


def test_no_more_notes_are_offered_than_may_be_together() -> None:
    for chars, most in ((50, NOTES_OFFERED), (200, 39)):
        assert len(list(weigher._fit([weigher.Note("", "", "", "x" * chars, "")] * 200))) == most


def test_where_no_note_can_matter_none_is_weighed_and_the_model_is_not_asked_again(make: Make) -> None:
    world = make({"needed": [1]})
    world.learns()
    assert world.weigh() == world.weigh() == ""
    assert [call["task"] for call in world.calls()] == ["widen"]


@pytest.mark.parametrize("answer", ["no JSON at all", {"error": "bad"}, {"needed": []}, {"error": "unavailable"}])
def test_without_an_answer_about_words_those_of_the_prompt_are_searched(make: Make, answer: Any) -> None:
    world = make({"needed": [1]})
    world.learns(("A discount is never above ten percent.", "fact"))
    world.names(answer)
    assert "never above ten" in given(world.weigh())
    notes = offered(world.calls()[-1])
    assert 20 < len(notes) <= NOTES_OFFERED
    assert sum(map(len, notes)) <= MAX_CHARS


def test_the_models_of_a_chain_share_the_time_of_one_call(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world, of = make({"needed": [1]}), mock.Mock(side_effect=Metered.of)
    world.home.settings.model += f",{world.home.settings.model}"
    monkeypatch.setattr(Metered, "of", of)
    assert world.weigh()
    assert [call.args[0].settings.model_timeout_s for call in of.call_args_list] == [10.0]
    assert world.home.settings.model_timeout_s == 180.0


def test_a_prompt_without_words_to_look_up_asks_no_model(make: Make) -> None:
    """The hook counts no content words, because that takes it longer than all the rest."""
    world = make({"needed": [1]})
    assert world.weigh("yes, please just do it now") == ""
    assert not world.calls()
    assert world.weigh()


def test_an_index_of_another_version_is_renewed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make({"needed": [1]})
    started: list[object] = []
    monkeypatch.setattr(detach, "start_worker", lambda *_: started.append(1))
    monkeypatch.setattr(layout, "VERSION", layout.VERSION + 1)
    assert world.weigh() == ""
    assert started == [1]


@pytest.mark.parametrize("ends", [True, False])
def test_a_process_whose_client_is_gone_ends_in_any_case(monkeypatch: pytest.MonkeyPatch, *, ends: bool) -> None:
    done = threading.Event()
    left = mock.Mock(side_effect=lambda _: done.set())
    monkeypatch.setattr(os, "kill", lambda *_: done.set() if ends else None)
    monkeypatch.setattr(os, "_exit", left)
    with mock.patch.multiple(weigher, LOOK_S=0.01, CLEANUP_S=0.01):
        weigher._end_with(-1, done)
    assert left.called is not ends
