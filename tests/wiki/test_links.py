"""The wiki as another program reads it: obsidiantools finds the same links as memoria.

It knows notes by their bare names and reads no links in frontmatter, so edges are compared by the last part of what
each link in the text names. Run with ``uv run --group vault pytest tests/wiki/test_links.py``;
skipped without the group.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stories
from memoria.ground import markdown
from played_story import played

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # a package that is not ours, with pandas


def test_an_independent_parser_finds_the_same_link_graph(tmp_path: Path) -> None:
    other = pytest.importorskip("obsidiantools.api", reason="the dependency group vault is not installed")

    home = Path(played(stories.load("port"), tmp_path).home.paths.home)
    vault: Any = other.Vault(home).connect()
    theirs = {(source.rsplit("/", 1)[-1], target.rsplit("/", 1)[-1]) for source, target in vault.graph.edges()}
    ours = set()
    for path in [*home.glob("knowledge/**/*.md"), *home.glob("daily/*.md")]:
        for link in markdown.links(markdown.split_frontmatter(path.read_text())[1]):
            ours.add((path.stem, link.target.rsplit("/", 1)[-1]))
    assert ours == theirs
    assert len(ours) > 20
    names = {path.stem for path in home.rglob("*.md")}
    assert {target for _, target in theirs} - names == {"2026-11-20"}, "a link leads nowhere, beside those of fillers"
    assert all(vault.get_front_matter(path.stem)["title"] for path in home.glob("knowledge/concepts/*.md"))
