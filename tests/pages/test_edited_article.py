"""What a person writes into an article reaches index, page and search with the worker's next run, without a compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.ground import locks
from memoria.index.index import Index
from memoria.statements.keeper import Keeper
from memoria.worker import worker
from wiki_home import WikiHome, entry, placed, stated

OLD, NEW = "Uploads go through the queue.", "Uploads go straight to the bucket."
SLOW = "Uploads of the shop are slow."


@pytest.fixture
def home() -> WikiHome:
    home = WikiHome()
    home.log(entry("a1", learned=stated(SLOW, OLD)))
    home.compile([placed("uploads-of-the-shop", title="Uploads of the shop", summary=OLD)])
    worker.work(home.home)
    return home


def index_page(home: WikiHome) -> Path:
    return Path(home.home.paths.knowledge, "index.md")


def prepared(home: WikiHome) -> str:
    return "".join(path.read_text() for path in Path(home.home.paths.page).glob("*.md"))


def test_an_edited_or_renamed_article_is_told_everywhere_after_the_next_worker(home: WikiHome) -> None:
    assert OLD in index_page(home).read_text()
    home.edit("concepts/uploads-of-the-shop", OLD, NEW)
    worker.work(home.home)
    assert NEW in index_page(home).read_text()
    assert OLD not in index_page(home).read_text()
    assert OLD not in prepared(home)
    with Index(home.home.paths.index) as index:
        assert [hit.path for hit in index.search("straight to the bucket", kinds=("article",))]
    home.wiki.path("concepts/uploads-of-the-shop").rename(home.wiki.path("concepts/my-page-of-uploads"))
    worker.work(home.home)
    assert "concepts/my-page-of-uploads" in index_page(home).read_text()
    assert "concepts/uploads-of-the-shop" not in index_page(home).read_text()


def test_an_edit_during_a_compile_is_told_by_the_worker_after_it(home: WikiHome) -> None:
    home.edit("concepts/uploads-of-the-shop", OLD, NEW)
    with locks.wait(Path(home.home.paths.compile_lock)):
        worker.work(home.home)
        assert NEW not in index_page(home).read_text()
    worker.work(home.home)
    assert NEW in index_page(home).read_text()


def test_undo_takes_the_compile_back_and_names_no_page_that_memoria_wrote(
    home: WikiHome, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "The bucket is emptied on Sundays."
    home.log(entry("b2", 17, learned=stated(more, "The bucket is in the cellar.")))
    home.compile([placed("bucket-of-the-shop", title="Bucket of the shop")])
    assert home.diff() == 0
    shown = capsys.readouterr().out
    assert "--- /dev/null\n+++ b/concepts/bucket-of-the-shop.md\n" in shown
    assert f"+- {more} [[" in shown
    assert "--- a/log.md\n+++ b/log.md\n" in shown, "it grew"
    home.edit("concepts/uploads-of-the-shop", f"- {OLD}", f"- {NEW}")
    worker.work(home.home)
    capsys.readouterr()
    home.undo("--steps", "2")  # what the person changed, too
    assert "index.md" not in capsys.readouterr().out
    assert "concepts/bucket-of-the-shop" not in index_page(home).read_text()


WAIT, LONGER = "An upload waits 30 s for a free slot.", "An upload waits 45 s for a free slot."
SLOTS = "concepts/slots-of-the-shop"


@pytest.fixture
def slots(home: WikiHome) -> WikiHome:
    """A home in which a person gives the article of a statement another value."""
    home.log(entry("c3", 17, learned=stated(WAIT, "Slots are given to uploads in turn.")))
    home.compile([placed("slots-of-the-shop", title="Slots of the shop")])
    worker.work(home.home)
    home.edit(SLOTS, f"- {WAIT}", f"- {LONGER}")
    return home


def told(home: WikiHome) -> tuple[bool, bool, list[str]]:
    """Return whether the first and the second value are told as what holds, and the history."""
    with Keeper.at(home.home) as keeper:
        known = {fact.content for fact in keeper.store.facts()}
    article = home.wiki.get(SLOTS)
    assert article is not None
    said = {claim.text for claim in article.claims}
    assert known & {WAIT, LONGER} == said & {WAIT, LONGER}
    assert all((text in prepared(home)) == (text in said) for text in (WAIT, LONGER))
    return WAIT in said, LONGER in said, [past.text for past in article.history]


def test_another_value_by_hand_ends_the_statement_and_can_be_put_back(slots: WikiHome) -> None:
    worker.work(slots.home)
    assert told(slots) == (False, True, [WAIT])
    row = next(line for line in slots.text(SLOTS).splitlines() if line.startswith("- Until"))
    slots.edit(SLOTS, f"{row}\n", "")
    for _ in range(2):
        worker.work(slots.home)
    assert told(slots) == (False, True, []), "what a person deletes of the history does not come back"
    slots.edit(SLOTS, f"- {LONGER}", f"- {WAIT}")
    worker.work(slots.home)
    assert told(slots)[:2] == (True, False)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_undo_of_what_a_person_changed_lets_the_statement_hold_again(slots: WikiHome, is_deleted: bool) -> None:
    if is_deleted:
        row = next(line for line in slots.text(SLOTS).splitlines() if LONGER in line)
        slots.edit(SLOTS, f"{row}\n", "")
    path, edited = Path(slots.home.paths.knowledge, f"{SLOTS}.md"), slots.text(SLOTS)
    worker.work(slots.home)
    slots.undo()
    assert told(slots) == (True, False, [])
    path.write_text(edited)
    worker.work(slots.home)
    assert told(slots) == (False, not is_deleted, [WAIT]), "what is edited so again counts again"
    slots.undo()
    for _ in range(2):
        assert told(slots) == (True, False, [])
        worker.work(slots.home)
    slots.undo()
    assert not path.exists(), "the article is as the compile left it, which the second undo takes back"
