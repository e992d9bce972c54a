"""The precise parts of a claim occur in the entries that it cites, and not only as pieces of other words."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("The port is 80", "80"),
        ("The port is 808", "808"),
        ("It waits 3s", "3"),
        ("It waits 5 minutes", None),
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
def test_what_it_does_not_hold_is_named(claim: str, missing: str | None) -> None:
    assert unsupported(claim, GROUND) == ([missing] if missing else [])
