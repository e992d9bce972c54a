from __future__ import annotations

import pytest

from memoria.facts import retractions

KNOWN = [
    {"id": "l-pnpm", "content": "Use pnpm for installs."},
    {"id": "l-redis", "content": "Carts are kept in Redis."},
    {"id": "l-w3", "content": "Worker 3 uses port 9001."},
    {"id": "l-w4", "content": "Worker 4 uses port 9002."},
    {"id": "l-fr", "content": "Les paniers sont dans Mongo."},
]


def ended(said: str) -> list[str]:
    return [claim["id"] for claim in retractions.ended([{"user": said}], KNOWN)]


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ("Forget the rule about pnpm for installs.", ["l-pnpm"]),
        ("We no longer use pnpm for installs, by the way.", ["l-pnpm"]),
        ("Carts are not kept in Redis any more.", ["l-redis"]),
        ("We don't keep the carts in Redis anymore; Postgres has them.", ["l-redis"]),
        ("Forget what I said about worker 3 and its port.", []),
        ("Worker 3 no longer uses port 9001.", ["l-w3"]),
        ("Les paniers ne sont plus dans Mongo.", ["l-fr"]),
    ],
)
def test_a_fact_that_the_user_takes_back_in_so_many_words_ends(said: str, ids: list[str]) -> None:
    assert ended(said) == ids


@pytest.mark.parametrize(
    "said",
    [
        "Do we no longer use pnpm for installs?",
        "Use pnpm for installs.",
        "Don't use pnpm for installs today.",
        "Drop the users table.",
        "No longer than 80 characters, please.",
        "I stopped the installs.",
        "We no longer deploy on Fridays.",
        "Maybe we should forget the rule about pnpm for installs.",
    ],
)
def test_what_is_no_retraction_ends_nothing(said: str) -> None:
    assert ended(said) == []


def test_the_quote_is_the_users_sentence() -> None:
    (claim,) = retractions.ended([{"user": "Fine. Forget the rule about pnpm for installs. Thanks!"}], KNOWN)
    assert claim["quote"] == "Forget the rule about pnpm for installs."
