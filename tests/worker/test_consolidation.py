"""With the first compile of a day, statements that were never shown together are; what is over ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from facts import a_fact
from memoria.commands import compile as compiling
from memoria.ground import clock
from memoria.ground import home as ground
from memoria.ground.errors import ExpectedError, ModelUnavailableError
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.worker.compiler import AGAIN
from memoria.worker.request import MAX_PAIRS, near_pairs
from wiki_home import WikiHome, answer_of, entry, placed, stated

pytestmark = pytest.mark.slow

QUEUE = "Uploads of the shop go through the queue."
DIRECT = "Uploads of the shop go straight to the bucket, past the queue."
SUNDAYS = "On Sundays uploads of the shop go past the queue to the bucket of the archive."
LATER = "The invoice of week {} was sent by the mail gateway."


class Person(WikiHome):
    """Somebody whose model was away for a while, so that two statements that cannot both hold stand in the wiki."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.set = monkeypatch
        self.day = 0
        self.told = 0
        self.set.setenv("MEMORIA_LIMIT_RETRY_S", "")
        lines = [LATER.format(number) for number in range(100, 140)]  # more than a request shows
        self.log(entry("old", 16, learned=stated(QUEUE, *lines)), entry("new", 17, learned=stated(DIRECT)))
        self.compile_without_a_model()
        assert self.live() == {QUEUE, DIRECT}, "the premise: without a model nothing ends"

    def compile_without_a_model(self) -> None:
        with self.set.context() as away:
            away.setenv("MEMORIA_MODEL", "offline")
            self.home = ground.Home.open()
            self.run(compiling)
        self.home = ground.Home.open()

    def live(self) -> set[str]:
        with Keeper.at(self.home) as keeper:
            return {fact.content for fact in keeper.store.facts()} & {QUEUE, DIRECT}

    def next_day(self) -> None:
        self.day += 1
        moment = datetime.now(UTC) + timedelta(days=self.day)
        self.set.setattr(clock, "now", lambda: moment)

    def asked(self, **more: Any) -> list[str]:
        """Compile something new; return what the model was asked about uploads beside it."""
        self.told += 1
        self.log(entry(f"n{self.told}", 18, learned=stated(LATER.format(self.told))))
        before = len(self.prompts)
        self.compile(lambda prompt: answer_of(prompt, placed("mail", f"l-n{self.told}0", **more)))
        (material,) = [prompt.material for prompt in self.prompts[before:]]
        idents = [row["id"] for row in material["statements"]]
        assert len(idents) == len(set(idents))
        again = [row for row in material["statements"] if "ploads" in row["text"]]
        assert all(row["about"] == AGAIN for row in again)
        asked = [row["text"] for row in again]
        shown = {line["text"] for article in material["articles"] for line in article["lines"]}
        assert not asked or (set(asked) <= shown and shown & {QUEUE, DIRECT} - set(asked))
        return asked


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Person:
    return Person(monkeypatch)


def test_what_was_placed_without_a_model_is_shown_beside_what_contradicts_it_and_ends(person: Person) -> None:
    assert person.asked(ends=[{"id": "l-old0", "by": "l-new0"}]) == [DIRECT]
    assert person.live() == {DIRECT}
    above, _, history = next(text for text in map(bytes.decode, person.files().values()) if QUEUE in text).partition(
        "## History"
    )
    assert QUEUE not in above
    assert DIRECT in above
    assert QUEUE in history


def test_a_new_article_is_as_old_as_what_is_new(person: Person) -> None:
    person.log(entry("gate", 19, learned=stated("The gate opens at six.", "The gate closes at nine.")))
    person.compile([placed("gates", "l-gate0", "l-gate1")])
    assert [row["text"] for row in person.prompts[-1].material["statements"]][2:] == [DIRECT]
    assert "created: '2026-11-19'" in person.text("concepts/gates")


def test_it_is_asked_about_once_and_there_is_one_look_a_day(person: Person) -> None:
    assert person.asked() == [DIRECT]
    assert person.live() == {QUEUE, DIRECT}
    person.log(entry("more", 19, learned=stated(SUNDAYS)))
    person.compile([placed("sundays")])
    assert person.asked() == []
    person.next_day()
    assert person.asked() == [SUNDAYS]


def test_a_call_that_fails_is_no_look(person: Person) -> None:
    def away(_: Any) -> Any:
        raise ModelUnavailableError("overloaded")

    person.log(entry("bad", 18, learned=stated("The mail gateway is down.")))
    with pytest.raises(ExpectedError, match="overloaded"):
        person.compile(away)
    assert person.asked() == [DIRECT]


def test_without_a_model_nothing_counts_as_looked_at(person: Person) -> None:
    person.log(entry("more", 18, learned=stated("The mail gateway is down.")))
    person.compile_without_a_model()
    assert person.asked() == [DIRECT]


def test_no_other_project_is_looked_at(person: Person) -> None:
    for each in (entry("p1", 16, learned=stated(QUEUE)), entry("p2", 17, learned=stated(SUNDAYS))):
        person.log(replace(each, project="mill", project_key="mill-1a2b3c"))
    person.compile_without_a_model()
    assert person.asked() == [DIRECT]


def numbered(text: str, day: int, **given: Any) -> Fact:
    return a_fact(text, "fact", day=day, **given)


def test_the_nearest_come_first_and_few_at_once() -> None:
    alike = [numbered(f"Parcel {word} is weighed at the gate of the yard.", day) for day, word in enumerate(
        ("alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta"))]  # fmt: skip
    old = numbered("The upload retries three times with a pause of 20 seconds.", 20)
    new = numbered("The upload retries three times with a pause of 45 seconds.", 21)
    pairs = near_pairs([new, *alike, old], ())
    assert pairs[0] == (new, old)
    assert len(pairs) == MAX_PAIRS
    assert new not in [newer for newer, _ in near_pairs([new, *alike, old], {new.id})]


def test_what_one_answer_said_together_is_no_pair() -> None:
    one, other = numbered(QUEUE, 1), numbered(DIRECT, 1)
    assert near_pairs([one, other], ()) == []


def test_what_shares_a_word_or_two_is_no_pair() -> None:
    assert near_pairs([numbered(QUEUE, 1), numbered("The queue of the bakery is long on Sundays in May.", 2)], ()) == []
