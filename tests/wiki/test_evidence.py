"""The precise parts of a claim occur in the entries that it cites, and not only as pieces of other words."""

from __future__ import annotations

import pytest

from bench import evidence
from memoria.wiki.evidence import unsupported

GROUND = """The port is 8080 and the wait 30 s; `connect_timeout` in src/net/client.py.
We have five workers, 1,500 jobs, version v2.3.1, ratio 0.75. He said: "never on Fridays".
`uv run pytest -q` exits 1. Commit 9b02d7e. At 14:05. Runs with --color and NO_COLOR."""


@pytest.mark.parametrize(
    "claim",
    [
        "The port is `8080`",
        "It waits 30s, or 30 seconds",
        "5 workers do 1500 jobs",
        "Version v2.3.1, ratio 0.75",
        "`connect_timeout` stands in `src/net/client.py` (client.py)",
        'The rule is "never on Fridays"',
        "`uv run  pytest` is how; commit 9b02d7e at 14:05",
        "--color yields to NO_COLOR",
        "Read and/or write, no names at all",
    ],
)
def test_what_the_entry_holds_is_supported(claim: str) -> None:
    assert unsupported(claim, GROUND) == []


def test_a_verb_of_measuring_beside_another_number_refuses_no_honest_claim() -> None:
    ground = "Every command went from ~800 ms to ~135 ms (~15ms without metrics). The first run takes ~700 ms."
    assert unsupported("`tool help` takes ~135ms instead of ~800 ms", ground.replace("command", "`tool help`")) == []
    assert unsupported("Without metrics a command takes ~15ms", ground) == []


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("The port is 80", "80"),
        ("The port is 808", "808"),
        ("It waits 3s", "3"),
        ("It waits 5 minutes", "5"),
        ("Version 5 waits", "5"),
        ("The port is 30", "30"),
        ("`connect_timeout = 8080`", "connect_timeout = 8080"),
        ("In src/net/pytest.py", "src/net/pytest.py"),
        ("Ratio 0.7", "0.7"),
        ("Version v2.3", "v2.3"),
        ("Version v2.3.10", "v2.3.10"),
        ("Uses `connect`", "connect"),
        ("Uses timeout_ms", "timeout_ms"),
        ("Calls connectTimeout", "connectTimeout"),
        ("In src/net/server.py", "src/net/server.py"),
        ('He said "always on Fridays"', "always on Fridays"),
        ("150 jobs", "150"),
        ("500 jobs", "500"),
        ("Commit 9b02d7f", "9b02d7f"),
        ("Use --colour", "--colour"),
        ("Set HTTP_PROXY", "HTTP_PROXY"),
    ],
)
def test_what_it_does_not_hold_is_named(claim: str, missing: str) -> None:
    assert unsupported(claim, GROUND) == [missing]


@pytest.mark.parametrize("name", ["evidence_set.txt", "evidence_set_heldout.txt", "evidence_set_third.txt"])
def test_of_the_labelled_claims_hardly_an_honest_one_is_refused_and_no_invented_one_passes(name: str) -> None:
    cases = evidence.load(evidence.HERE / name)
    refused, passed = evidence.faults(cases)
    assert passed == []
    assert len(refused) <= 0.02 * sum(len(case.honest) for case in cases)


def test_of_the_first_of_two_numbers_the_unit_may_be_left_out() -> None:
    ground = "The run went from 14 to 9 minutes with 14 workers."
    assert unsupported("It dropped from 14 min to 9 min.", ground) == []
    assert unsupported("It dropped from 14 seconds to 9 minutes.", ground) == ["14"]


def test_what_is_said_of_a_part_is_not_said_of_the_whole() -> None:
    ground = "38 of 212 snapshots were recorded again."
    assert unsupported("38 snapshots of 212 were recorded again.", ground) == []
    assert unsupported("There are 212 snapshots.", ground) == []
    assert unsupported("212 snapshots were recorded again.", ground) == ["212"]


def test_a_sentence_in_another_script_needs_all_its_numbers_in_their_order() -> None:
    ground = "Порог поднят до: 70, потом 85 градусов. 検索の結果は1ページ20件、最大500件まで。"
    assert unsupported("The threshold was raised from 70 to 85 degrees.", ground) == []
    assert unsupported("The threshold was raised to 70 degrees.", ground) == ["70"]
    assert unsupported("The threshold was raised from 85 to 70 degrees.", ground) == ["85", "70"]
    assert unsupported("Search shows 20 results a page and 500 at most.", ground) == []
    assert unsupported("Search shows 500 results a page.", ground) == ["500"]


def test_numbers_between_letters_of_a_script_without_blanks_are_checked() -> None:
    assert unsupported("商品缓存的价格保留60秒", "商品缓存的价格保留60秒。") == []
    assert unsupported("商品缓存的价格保留90秒", "商品缓存的价格保留60秒。") == ["90"]


def test_a_version_in_capitals_is_checked() -> None:
    assert unsupported("It needs firmware V84.20.21Z.", "Firmware V84.20.21Z is on it.") == []
    assert unsupported("It needs firmware V9100.", "Firmware V84.20.21Z is on it, port 9100.") == ["V9100"]


def test_a_path_is_taken_from_its_folder_and_its_file_where_both_stand() -> None:
    ground = "The code is in `scripts/upload`, mostly in `queue.py`; the test is tests/store.py."
    assert unsupported("See `scripts/upload/queue.py`.", ground) == []
    assert unsupported("See `scripts/upload/store.py`.", ground) == ["scripts/upload/store.py"]
    assert unsupported("See `scripts/mail/queue.py`.", ground) == ["scripts/mail/queue.py"]


def test_a_number_belongs_to_the_word_it_counts() -> None:
    ground = "2 workers handle uploads; each tries three times within 30 s."
    assert unsupported("There are 2 workers, which try 3 times in 30 seconds.", ground) == []
    assert unsupported("Version 2 handles uploads.", ground) == ["2"]
    assert unsupported("There are 3 workers.", ground) == ["3"]
    assert unsupported("Each tries for 30 minutes.", ground) == ["30"]


@pytest.mark.parametrize(
    ("claim", "text", "missing"),
    [
        ("Version 2 of the API is live.", "Two users asked about the API version.", ["2"]),
        ("The fee is 2 %.", "The fee is 2 €.", ["2"]),
        ("Queue A has 4 workers.", "Queue B has 4 workers.", ["A"]),
        ("Bench 3 is misted every 20 minutes.", "banco 3: 20 secondi", ["20"]),
    ],
)
def test_a_number_of_other_things_and_the_letter_of_another_thing_support_nothing(
    claim: str, text: str, missing: list[str]
) -> None:
    assert set(missing) <= set(unsupported(claim, text))


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Version 2 of the API is live.", "The API's version went from 1 to 2 for all users."),
        ("The fee is 2 %.", "The fee: 2%."),
        ("Queue B has 4 workers.", "Queues A and B have 4 workers each."),
        ("Il banco 3 va ogni 20 minuti.", "banco 3: 20 min"),
    ],
)
def test_the_same_number_and_the_same_letter_support_a_claim_in_other_words(claim: str, text: str) -> None:
    assert unsupported(claim, text) == []
