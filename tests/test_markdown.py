"""Markdown: text from elsewhere as one inert line."""

from __future__ import annotations

import pytest

from memoria import markdown


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Created [.github/CODEOWNERS](.github/CODEOWNERS).", "Created .github/CODEOWNERS."),
        ("See [`flush.py`](scripts/memoria/flush.py:10)!", "See `flush.py` (scripts/memoria/flush.py:10)!"),
        ("Run [this](javascript:alert(1))", "Run this (javascript:alert(1))"),
        ("[click](file:///etc/passwd)", "click (file:///etc/passwd)"),
        ("[the docs](https://example.org/a)", "[the docs](https://example.org/a)"),
        ("`[a](b)` and a[0](x)", "`[a](b)` and a[0](x)"),
        ("![logo](logo.png)", r"!\[logo](logo.png)"),
    ],
)
def test_a_link_to_anything_but_the_web_stays_as_words(said: str, written: str) -> None:
    assert markdown.line(said) == written
    assert markdown.line(written) == written
