"""Questions and pages over the protocol, as a client has them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from home_of import DAY, article, entry, line, scripted, talk
from mcp_client import call, drive, fenced, refused
from memoria.base import project
from memoria.capture import cursor
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.slow

CLAIM = "The cache lies in the ferry folder."
OTHER = "bank-bbbbbb"
SECRET = "password=W1nter$un9x"


@pytest.fixture
def key(tmp_path: Path) -> str:
    home = Home.open()
    return project.key_of(str(tmp_path), home.settings, home.paths)


@pytest.fixture
def home(tmp_path: Path, key: str) -> Home:
    """One entry, its turns, and an article about it; the same of another project."""
    home = Home.open()
    path = tmp_path / "s1.jsonl"
    said = [
        line(1, "user", f"Where does the cache lie? Use {SECRET} to look."),
        line(2, "assistant", "In the ferry folder.\nThe harbour master lives at Quay 7."),
    ]
    path.write_bytes(b"".join(said))
    talk(home, "01aa", "The cache", said, project_key=key, decisions=(CLAIM,))
    entry(home, "01bb", "The vault", session="s2", project_key=OTHER, decisions=("The vault cache is under the bank.",))
    cursor.write(home.paths.cursors, "s1", cursor.Cursor(str(path), 1, b""))
    article(home, "concepts/cache", "Cache", (CLAIM, "01aa"))
    banks(home, "concepts/vault", "Vault")
    book(home)
    return home


def banks(home: Home, slug: str, title: str) -> None:
    """Put an article of the other project on disk."""
    page = article(home, slug, title, ("The bank keeps a quagga.", "01bb"))
    page.give_to(OTHER)
    Path(home.paths.knowledge, f"{slug}.md").write_text(page.render())


def book(home: Home) -> None:
    """Let the ledger know what the daily logs hold, as the worker does."""
    with closing(Ledger(home.paths)) as ledger:
        DailyLog(home.paths).refresh(ledger)


def test_why_shows_the_words_and_who_said_them_without_the_secret_in_them(home: Home, tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        for asked in (CLAIM, "cache", "Cache", "[[concepts/cache]]", "e-01aa", f"daily/{DAY}#^e-01aa"):
            shown = fenced(await call(client, "why", statement=asked))
            assert f"from [[daily/{DAY}#^e-01aa]] · 14:05 · shop · The cache" in shown
            assert "user: Where does the cache lie?" in shown
            assert "assistant: In the ferry folder." in shown
            assert "W1nter" not in shown
            assert "vault" not in shown.lower()

    drive(tmp_path, scenario)


def test_why_knows_nothing_of_another_project_or_of_what_is_not_there_and_says_what_to_do(
    home: Home, tmp_path: Path
) -> None:
    hostile = ("../../etc/passwd", "[[", "%%", "\x00\x1b[2J", "x" * 1_000)

    async def scenario(client: Client) -> None:
        for asked in ("e-01bb", "concepts/vault", "The bank keeps a quagga.", "e-99zz", "l-99zz99zz", *hostile):
            said = await refused(client, "why", statement=asked)
            assert "vault" not in said
            assert "nothing in memory says this; search for it" in said or "there is no" in said

    drive(tmp_path, scenario)


def test_a_model_answers_from_this_project_with_checked_links(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {"text": f"In the ferry folder [[daily/{DAY}#^e-01aa]] [[concepts/none]].", "rests_on": []}
    script = scripted(tmp_path, monkeypatch, query=[answer])

    async def scenario(client: Client) -> None:
        shown = fenced(await call(client, "query", question=f"Where does the cache lie? {SECRET}"))
        assert f"In the ferry folder [[daily/{DAY}#^e-01aa]]." in shown
        assert "do not resolve: concepts/none" in shown
        assert "lacks question" in await refused(client, "query")
        assert "does not look like" in await refused(client, "query", question="   ")

    drive(tmp_path, scenario, MEMORIA_MODEL=f"scripted:{script}", MEMORIA_LIMIT_RETRY_S="0")
    asked = Path(f"{script}.calls").read_text()
    assert "ferry" in asked
    assert "vault" not in asked
    assert "W1nter" not in asked


def test_in_an_excluded_folder_nothing_is_asked_and_nothing_of_it_shown(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".memoria-off").touch()

    async def scenario(client: Client) -> None:
        assert "nothing was asked" in await refused(client, "query", question="Where does the cache lie?")

    drive(tmp_path, scenario, MEMORIA_MODEL="offline")


def test_a_fact_of_another_project_is_neither_listed_changed_nor_deleted(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "bank"
    other.mkdir()
    made: list[str] = []

    async def there(client: Client) -> None:
        told = await call(client, "remember", content="The vault opens at nine.")
        made.append(told.split()[-1].rstrip("."))

    async def here(client: Client) -> None:
        assert "vault" not in await call(client, "facts")
        for name, more in (("update", {"content": "The vault opens at ten."}), ("forget", {})):
            said = await refused(client, name, id=made[0], **more)
            assert "no learned fact" in said
            assert "vault" not in said
        assert "no learned fact" in await refused(client, "why", statement=made[0])

    async def still_there(client: Client) -> None:
        assert "opens at nine" in await call(client, "facts")
        assert "opens at nine" in await call(client, "why", statement=made[0])

    drive(tmp_path, there, CLAUDE_PROJECT_DIR=str(other))
    drive(tmp_path, here)
    drive(tmp_path, still_there, CLAUDE_PROJECT_DIR=str(other))


def test_a_page_is_read_without_what_belongs_to_other_projects(home: Home, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("ferry secret")
    entry(home, "01cc", "Elsewhere", day=DAY.replace(day=19), session="s3", project_key=OTHER)
    book(home)

    async def scenario(client: Client) -> None:
        for path in ("concepts/cache", f"daily/{DAY}"):
            shown = fenced(await call(client, "read", path=path))
            assert "ferry folder" in shown
            assert "vault" not in shown.lower()
        for path in ("knowledge/concepts/vault", "daily/2026-11-19", "knowledge/../../secret", "file:///etc/passwd"):
            said = await refused(client, "read", path=path)
            assert "there is no" in said, path
            assert len(said) < 2_100
        for name in ("The vault", "e-01cc"):  # not by its slug or day either, which it has elsewhere
            assert f"there is no page '{name}'" in await refused(client, "read", path=name)

    drive(tmp_path, scenario)
