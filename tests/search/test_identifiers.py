"""Identifiers: names out of code are found in prose and in code, and what only looks like one is not."""

from __future__ import annotations

import pytest

from memoria.search import identifiers


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see scripts/memoria/flush.py and a/b.py", ["scripts/memoria/flush.py", "a/b.py"]),
        ("the probe asks /health, the config is ~/.memoria/settings", ["/health", "~/.memoria/settings"]),
        ("`uv run pytest` with --no-cov", ["uv run pytest", "--no-cov"]),
        ("flush_session calls parseUrl and SQLite", ["flush_session", "parseUrl", "SQLite"]),
        ("MAX_LINES at most", ["MAX_LINES"]),
        ("@types/node and setup.cfg", ["@types/node", "setup.cfg"]),
    ],
)  # fmt: skip
def test_names_in_prose(text: str, names: list[str]) -> None:
    assert identifiers.in_prose(text) == names


@pytest.mark.parametrize(
    "text", ["read and/or write", "CI/CD", "see https://example.org/some/page", "Is it done? Yes."]
)
def test_what_is_no_name(text: str) -> None:
    assert identifiers.in_prose(text) == []


def test_a_called_name_in_code_keeps_its_arguments() -> None:
    assert identifiers.in_code(["def load(path):", "x = parse_url(raw, True)"]) == [
        "load(path)",
        "parse_url(raw, True)",
    ]
