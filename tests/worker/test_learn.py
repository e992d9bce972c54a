from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from facts import MONDAY, SHOP, exchange, keeper
from memoria.ground.errors import BadAnswerError, ModelUnavailableError
from memoria.models.protocol import Completion, Model, Prompt, Usage
from memoria.statements.keeper import Keeper, Outcome
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Exchange, Role, Turn
from memoria.worker import learner as judging
from memoria.worker import pending
from memoria.worker.learner import Learner, Session
from memoria.worker.pending import Pending
from scripted_model import Scripted

DAY = MONDAY.date()
S = Session("s-1", SHOP, "shop")
TALK = "Can you look at the layout of the settings page and tell me what you find there?"
FLAG = "Never commit directly to main, because main deploys automatically."


class Judge:
    """Answers with one fact per call, quoting the first user words of the material."""

    name = "fake"

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.asked: list[list[str]] = []

    def complete(self, prompt: Prompt) -> Completion:
        users = [part["user"] for part in prompt.material["exchanges"]]
        self.asked.append(users)
        error = self.errors.pop(0) if self.errors else None
        if error:
            raise error
        claim = {"kind": "fact", "content": f"Fact about {users[0]}", "quote": users[0], "origin": "user"}
        return Completion({"statements": [claim]}, self.name, Usage(1, 1))


class Listed:
    """A docket that holds these exchanges, and notes what becomes of them."""

    def __init__(self, *turns: Exchange, patience: int = 99) -> None:
        self.turns = turns
        self.patience = patience
        self.closed: list[str] = []
        self.failures: list[Exception] = []

    def due(self, intake: Intake) -> list[pending.Batch]:
        return pending.due(pending.unjudged(self.turns, set(self.closed).intersection))

    def close(self, session: str, batch: pending.Batch) -> None:
        self.closed += [mark for unit in batch for mark in unit.marks]

    def postpone(self, session: str, error: Exception) -> bool:
        self.failures.append(error)
        return len(self.failures) >= self.patience

    def forget_failures(self, session: str) -> None:
        self.failures.clear()


def judge_due(home: Keeper, listed: Listed, model: Model, session: Session = S) -> Outcome:
    """One run over all that is due."""
    return Learner(home, model, cast("Pending", listed)).judge_due(session, cast("Intake", None))


def talk(count: int, start: int = 1) -> list[Exchange]:
    return [exchange(number, f"{TALK} {number}") for number in range(start, start + count)]


def users(batches: list[pending.Batch]) -> list[list[str]]:
    return [[unit.exchange.texts("user")[0] for unit in batch] for batch in batches]


# -- when


def test_a_flagged_turn_is_due_alone_at_once_and_the_rest_is_left_to_the_flush() -> None:
    turns = talk(2)
    assert pending.due(pending.unjudged(turns, set().intersection)) == []
    turns = [*turns, exchange(3, FLAG), *talk(2, 4)]
    (alone,) = pending.due(pending.unjudged(turns, set().intersection))
    assert users([alone]) == [[FLAG]]
    assert pending.due(pending.unjudged(turns, set(alone[0].marks).intersection)) == []


def test_a_request_to_judge_holds_what_facts_are_made_of() -> None:
    def turn(number: int, role: Role, text: str = "", tool: str = "") -> Turn:
        return Turn(f"k{number}", role, text, tools=(tool,) if tool else ())

    steps_before = [
        turn(number, "assistant", f"Step {number}. " * 30, f"Bash step {number}") for number in range(2, 40)
    ]
    spoken = Exchange(
        (
            turn(1, "user", FLAG),
            *steps_before,
            turn(40, "assistant", tool="Edit a.py: weft_max"),
            turn(41, "assistant", tool="Grep lost"),
            turn(42, "error", "exit 1: nothing"),
            turn(43, "assistant", "It was the cache."),
        )
    )
    model = Scripted([{"statements": []}])
    (unit,) = pending.unjudged([spoken], set().intersection)
    judging.judge([unit.material()], S.stamp([]), model)
    asked = model.prompts[0].text
    assert all(part in asked for part in (FLAG, "Step 39", "Grep lost\nerror: exit 1: nothing", "It was the cache."))
    assert not any(part in asked for part in ("Step 2.", "weft_max"))


# -- the run


def test_a_model_that_failed_is_not_asked_again_for_each_batch_of_a_run(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        turns = [exchange(number, f"Never use tool{number}, because we all know better.") for number in range(12)]
        judge, listed = Judge(ModelUnavailableError("out")), Listed(*turns)
        report = judge_due(home, listed, judge)
        assert (report, len(judge.asked), len(listed.failures)) == (Outcome(), 1, 1)
        assert listed.closed == []
        report = judge_due(home, listed, judge)  # it is back
        assert len(report.added) == len(judge.asked) - 1 == 3
        assert listed.closed


def test_the_flush_learns_from_the_rest_only(tmp_path: Path) -> None:
    with keeper(tmp_path) as home:
        turns = [exchange(1, FLAG), *talk(2, 2)]
        home.store.mark_judged(S.id, pending.unjudged(turns[:1], set().intersection)[0].marks)
        learner = Learner(home, Judge(), cast("Pending", Listed()))
        claims = [
            {"kind": "fact", "content": "Judged already before.", "quote": FLAG, "origin": "user"},
            {"kind": "fact", "content": "New in the rest.", "quote": f"{TALK} 2", "origin": "user"},
        ]
        report = learner.keep(S, learner.findings(S, turns, {"statements": claims}, DAY))
        assert [fact.content for fact in report.added] == ["New in the rest."]
        assert learner.findings(S, turns, {"statements": claims}, DAY).facts == ()


def test_a_sub_agents_words_prove_nothing_to_the_flush(tmp_path: Path) -> None:
    (turn, answer) = exchange(1, FLAG).turns
    told = Exchange((replace(turn, sidechain=True), replace(answer, sidechain=True)))
    claim = {"kind": "preference", "content": "Never commit to main.", "quote": FLAG, "origin": "user"}
    with keeper(tmp_path) as home:
        learner = Learner(home, Judge(), cast("Pending", Listed()))
        assert learner.findings(S, [told, *talk(1, 2)], {"statements": [claim]}, DAY).facts == ()


# -- the judge chain


def test_what_was_pasted_does_not_fill_the_prompt_but_still_proves_a_claim(tmp_path: Path) -> None:
    class Keep(Judge):
        def complete(self, prompt: Prompt) -> Completion:
            self.text = prompt.text
            return super().complete(prompt)

    judge = Keep()
    long = f"{FLAG} {'y' * 500_000} because of the tides"
    judged = judging.judge([exchange(1, long).material()], S.stamp([]), judge)
    assert len(judge.text) < 30_000
    assert FLAG in judge.text
    assert "because of the tides" in judge.text
    assert max(map(len, judge.text.split("\n"))) <= 4_000
    assert not judged.facts  # what the fake claims is too long for a fact


@pytest.mark.parametrize(
    "said",
    [
        '{"statements": [%s]}',
        '```json\n{"statements": [%s]}\n```',
        'Sure! I found [1] one thing:\n\n{"statements": [%s]}\n\nShall I go on?',
        "[%s]",
        "Here is the list:\n```\n[%s]\n```",
        '{"statements": [%s], "note": "that is all"}',
        '{"statements": [{"kind": "rumour", "content": "x", "importance": []}, %s]}',
    ],
)
def test_fenced_chatty_and_partly_bad_answers_are_read(said: str) -> None:
    claim = {"kind": "correction", "content": FLAG, "quote": "Never commit directly to main", "origin": "user"}
    judged = judging.judge([exchange(1, FLAG).material()], S.stamp([]), Scripted([said % json.dumps(claim)]))
    assert [fact.content for fact in judged.facts] == [FLAG]


@pytest.mark.parametrize(
    "said", ["I found nothing.", "{}", '{"events": []}', '{"statements": null}', '{"statements": {}}']
)
def test_an_answer_that_does_not_speak_of_it_is_none(said: str) -> None:
    """Taken for an empty one, the turn would be done with and never learned from."""
    with pytest.raises(BadAnswerError):
        judging.judge([exchange(1, FLAG).material()], S.stamp([]), Scripted([said]))


def test_a_bad_event_is_dropped_with_its_reason_and_five_good_ones_stay() -> None:
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight")
    turns = exchange(1, " ".join(f"We call part {word} by its name." for word in words))
    good = [
        {"kind": "fact", "content": f"Part {word} has a name.", "quote": f"part {word} by", "origin": "user"}
        for word in words
    ]
    bad = [
        {**good[0], "quote": "words that nobody said"},
        {**good[0], "kind": "rumour"},
        {**good[0], "content": "No."},
    ]
    judged = judging.judge([turns.material()], S.stamp([]), Scripted([{"statements": [*bad, *good]}]))
    assert [fact.content for fact in judged.facts] == [f"Part {word} has a name." for word in words[:5]]
    for reason in ("does not occur in", "no kind 'rumour'", "content of 3 characters", "more than 5"):
        assert any(reason in dropped for dropped in judged.dropped), reason
    assert len(judged.dropped) == len(bad) + 3
