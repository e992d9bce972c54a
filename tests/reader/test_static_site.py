"""The export of the pages: a folder that can be read without a server."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from memoria.ground import project_folders
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.reader.static_site import StaticSite
from memoria.reader.watch import Watch
from reader_home import ARTICLES, BLOG, ENTRIES, HOSTILE, LONG, SHOP, fill, write

SECRET = "ghp_" + "a8B3c9D2e7F1g6H5i4J0k8L3m9N2o7P1q6R5"  # not a key


@pytest.fixture
def home() -> Home:
    made = Home.open()
    fill(made)
    return made


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.html")}


def test_every_article_and_entry_is_a_page_and_every_link_leads_to_a_file(home: Home, tmp_path: Path) -> None:
    write(home, "concepts/hostile", HOSTILE)
    fill(home, [LONG], [])
    folder = tmp_path / "site"
    count = StaticSite(home, folder).write()
    pages = texts(folder)
    assert len(pages) == count
    assert {f"entry/{about['id']}.html" for about in ENTRIES} < pages.keys()
    assert "Line 149 is" in pages["entry/long1-120.html"]
    for about in ARTICLES:
        assert any(f"<h1>{about['title']}</h1>" in text for text in pages.values()), about["slug"]
    for name, text in pages.items():
        for link in re.findall(r'\b(?:href|src|action)="([^"]*)"', text):
            place = unquote(unescape(link)).partition("#")[0]
            if place and not place.startswith(("https://", "mailto:")):
                assert not place.startswith("/"), (name, link)
                assert (folder / name).parent.joinpath(place).resolve().is_file(), (name, link)


def test_the_pages_run_nothing_and_have_no_forms(home: Home, tmp_path: Path) -> None:
    write(home, "concepts/hostile", HOSTILE)
    StaticSite(home, tmp_path / "site").write()
    for name, text in texts(tmp_path / "site").items():
        for tag in ("<script", "<form", "<iframe", "<img", "<style", 'href="javascript:', 'href="file:'):
            assert tag not in text, (name, tag)


def test_facts_sessions_costs_days_and_the_graph_are_exported_and_what_needs_a_server_is_not(
    home: Home, tmp_path: Path
) -> None:
    StaticSite(home, tmp_path / "site").write()
    pages = texts(tmp_path / "site")
    overviews = ("facts", "sessions", "receipt", "receipt-92", "timeline", "graph")
    assert {f"{name}.html" for name in overviews} < pages.keys()
    assert {name.partition("/")[0] for name in pages if "/" in name} == {"article", "day", "entry", "fact", "session"}
    assert "facts-ended.html" in pages  # a filter without a form
    assert "Show each turn" not in "".join(pages.values())


def test_a_secret_that_came_into_an_article_is_not_exported(home: Home, tmp_path: Path) -> None:
    write(home, "concepts/leak", f"---\ntitle: Key {SECRET}\n---\n\n# Leak\n\nIt is {SECRET}.\n\n- `{SECRET}`\n")
    StaticSite(home, tmp_path / "site").write()
    pages = texts(tmp_path / "site")
    assert any("Leak" in name or "leak" in name for name in pages)
    assert not [name for name, text in pages.items() if SECRET in text]


def test_an_excluded_project_is_exported_only_when_it_is_asked_for(home: Home, tmp_path: Path) -> None:
    project_folders.see(home.paths, SHOP[1], str(tmp_path / "shop"))
    project_folders.see(home.paths, BLOG[1], str(tmp_path / "blog"))
    home.settings.exclude = (str(tmp_path / "shop"),)
    StaticSite(home, tmp_path / "without").write()
    pages = texts(tmp_path / "without")
    assert not [name for name, text in pages.items() if "idempotency" in text or "pnpm" in text or SHOP[1] in text]
    assert any("Umlaute" in text for text in pages.values())
    StaticSite(home, tmp_path / "whole", has_excluded=True).write()
    pages = texts(tmp_path / "whole")
    assert "Make the key from the order" in pages["entry/c1.html"]
    assert "idempotency key" in pages["article/concepts/checkout.html"]
    assert "Use pnpm" in pages["facts.html"]
    assert any(name.startswith("session/s-c1") for name in pages)


def test_an_export_looks_at_the_files_once_however_many_pages_it_writes(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Watch] = []
    look = Watch.look

    def counted(watch: Watch) -> None:
        looks.append(watch)
        look(watch)

    monkeypatch.setattr(Watch, "look", counted)
    assert StaticSite(home, tmp_path / "site").write() > len(ARTICLES)
    assert len(looks) == 1


def test_a_folder_that_holds_anything_is_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ExpectedError, match="not empty"):
        StaticSite(home, tmp_path).write()
    assert (tmp_path / "mine.txt").read_text() == "mine"
