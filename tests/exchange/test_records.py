from __future__ import annotations

import random
from pathlib import Path

import pytest

import exchange_lives as lives
from memoria.exchange import merge
from memoria.exchange.keys import Key
from memoria.exchange.record import Record, digest_of
from memoria.exchange.records import Records


@pytest.mark.parametrize("seed", range(6))
def test_the_records_come_to_what_the_model_comes_to(tmp_path: Path, seed: int) -> None:
    lives.side_by_side(tmp_path, seed, 80)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_lost_twice_or_back_by_a_folder_that_lags_halves_and_copies(tmp_path: Path, seed: int) -> None:
    assert lives.Life(tmp_path, seed, Key.new() if seed % 2 else None).play(60) == []


def records(seed: int = 1) -> Records:
    rng = random.Random(seed)
    return Records(lives.MEMORY, lambda: f"{rng.getrandbits(64):016x}")


def test_a_record_of_a_newer_version_is_carried_on_as_it_came() -> None:
    line = '{"i":"z-1","k":"dream","d":"00000000000000010a","t":"?","new":{"field":[1,2]}}'
    with records() as known:
        known.add(Record.parse(line))
        assert known.unsent("a") == [line]


def test_an_old_copy_of_a_text_is_known_by_the_digest_in_a_dot() -> None:
    with records(1) as here, records(2) as there:
        first = here.put("l-1", "statement", "Use npm.", ())
        here.put("l-1", "statement", "Use pnpm.", here.dots("l-1"))
        there.put("l-1", "statement", "Use npm.", ())  # a home that was copied before, without its records
        for record in here.known("l-1"):
            there.add(record)
        assert [record.text for record in merge.live(there.known("l-1"))] == ["Use pnpm."]
        assert here.is_former("l-1", first.digest)


def test_two_old_copies_do_not_hide_each_other() -> None:
    with records() as known:
        one = known.put("l-1", "x", "one", ())
        two = known.put("l-1", "x", "two", (one.dot,))
        back = Record("l-1", "x", "f" * 16 + one.digest, (one.dot, two.dot), "one").written()
        again = Record("l-1", "x", "e" * 16 + two.digest, (one.dot,), "two").written()
        for record in (back, again):
            known.add(record)
        assert {record.text for record in merge.live(known.known("l-1"))} == {"one", "two"}


def test_what_two_machines_deleted_is_deleted_once_and_stands_if_a_third_wrote_it() -> None:
    with records() as known:
        for machine in ("a", "b"):
            known.put("l-1", "x", None, (), machine=machine)
        assert [record.text for record in merge.live(known.known("l-1"))] == [None]
        known.put("l-1", "x", "one", (), machine="c")
        assert [record.text for record in merge.live(known.known("l-1"))] == ["one"]


def test_what_a_formatter_changes_is_the_same_text() -> None:
    said = "**Context:** It is *slow*.\n\n- one\n- [ ] two_three"
    assert digest_of(said) == digest_of("__Context:__ It is _slow_.\n* one\n\n*   [ ] two\\_three\n")
    assert digest_of("x > 5") != digest_of("x < 5")
    assert digest_of("two_three") != digest_of("twothree")


def test_forgetting_takes_the_parts_along() -> None:
    with records() as known:
        known.put("l-1", "statement", "secret", ())
        known.put("l-1#end", "end", "{}", ())
        known.put("l-10", "statement", "open", ())
        known.put("l-1", "forget", None, ())
        known.put("l-1#end", "end", "{}", ())
        assert [record.text for record in merge.live(known.known("l-10"))] == ["open"]
        assert merge.live(known.known("l-1#end")) == []
