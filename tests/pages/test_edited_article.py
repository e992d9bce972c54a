"""What a person writes into an article reaches index, page and search with the worker's next run, without a compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoria.ground import locks
from memoria.index.index import Index
from memoria.statements.keeper import Keeper
from memoria.worker import worker
from wiki_home import WikiHome, claim, entry, page

OLD, NEW = "Uploads go through the queue.", "Uploads go straight to the bucket."


@pytest.fixture
def home() -> WikiHome:
    home = WikiHome()
    home.log(entry("a1", lessons=(OLD,)))
    home.compile([page("uploads-of-the-shop", claim(OLD, "a1"), title="Uploads of the shop")])
    worker.work(home.home)
    return home


def index_page(home: WikiHome) -> Path:
    return Path(home.home.paths.knowledge, "index.md")


def prepared(home: WikiHome) -> str:
    return "".join(path.read_text() for path in Path(home.home.paths.page).glob("*.md"))


def test_an_edited_article_is_told_everywhere_after_the_next_worker(home: WikiHome) -> None:
    assert OLD in index_page(home).read_text()
    home.edit("concepts/uploads-of-the-shop", OLD, NEW)
    worker.work(home.home)
    assert NEW in index_page(home).read_text()
    assert OLD not in index_page(home).read_text()
    assert OLD not in prepared(home)
    with Index(home.home.paths.index) as index:
        assert [hit.path for hit in index.search("straight to the bucket", kinds=("article",))]


def test_a_deleted_article_leaves_the_index_and_a_new_one_enters_it(home: WikiHome) -> None:
    home.wiki.path("concepts/uploads-of-the-shop").rename(home.wiki.path("concepts/my-page-of-uploads"))
    worker.work(home.home)
    assert "concepts/my-page-of-uploads" in index_page(home).read_text()
    assert "concepts/uploads-of-the-shop" not in index_page(home).read_text()


def test_a_worker_with_nothing_new_writes_nothing(home: WikiHome) -> None:
    before = index_page(home).stat().st_ino, index_page(home).stat().st_mtime_ns
    worker.work(home.home)
    assert (index_page(home).stat().st_ino, index_page(home).stat().st_mtime_ns) == before


def test_an_edit_during_a_compile_is_told_by_the_worker_after_it(home: WikiHome) -> None:
    home.edit("concepts/uploads-of-the-shop", OLD, NEW)
    with locks.waiting(Path(home.home.paths.compile_lock)):
        worker.work(home.home)
        assert NEW not in index_page(home).read_text()
    worker.work(home.home)
    assert NEW in index_page(home).read_text()


def test_undo_takes_the_compile_back_and_names_no_page_that_memoria_wrote(
    home: WikiHome, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "The bucket is emptied on Sundays."
    home.log(entry("b2", 17, lessons=(more,)))
    home.compile([page("bucket-of-the-shop", claim(more, "b2"), title="Bucket of the shop")])
    home.edit("concepts/uploads-of-the-shop", f"- {OLD}", f"- {NEW}")
    worker.work(home.home)
    capsys.readouterr()
    home.undo()
    assert "index.md" not in capsys.readouterr().out
    assert "concepts/bucket-of-the-shop" not in index_page(home).read_text()


WAIT, LONGER = "An upload waits 30 s for a free slot.", "An upload waits 45 s for a free slot."
SLOTS = "concepts/slots-of-the-shop"


@pytest.fixture
def slots(home: WikiHome) -> WikiHome:
    home.log(entry("c3", 17, lessons=(WAIT,)))
    home.compile([page("slots-of-the-shop", claim(WAIT, "c3"), title="Slots of the shop")])
    worker.work(home.home)
    home.edit(SLOTS, f"- {WAIT}", f"- {LONGER}")
    return home


def history(home: WikiHome, slug: str = SLOTS) -> list[str]:
    article = home.wiki.get(slug)
    assert article is not None
    return [past.text for past in article.past]


def test_a_value_corrected_by_hand_stands_under_history(slots: WikiHome) -> None:
    worker.work(slots.home)
    article = slots.wiki.get(SLOTS)
    assert article is not None
    assert [claim.text for claim in article.claims] == [LONGER]
    assert history(slots) == [WAIT]
    assert "\n- Until 20" in article.render()


def test_a_correction_is_put_under_history_once(slots: WikiHome) -> None:
    worker.work(slots.home)
    text = slots.wiki.path(SLOTS).read_text()
    row = next(line for line in text.splitlines() if line.startswith("- Until"))
    slots.edit(SLOTS, f"{row}\n", "")
    worker.work(slots.home)
    worker.work(slots.home)
    assert history(slots) == []


def test_a_value_that_is_put_back_leaves_the_history(slots: WikiHome) -> None:
    worker.work(slots.home)
    slots.edit(SLOTS, f"- {LONGER}", f"- {WAIT}")
    worker.work(slots.home)
    article = slots.wiki.get(SLOTS)
    assert article is not None
    assert [claim.text for claim in article.claims] == [WAIT]
    assert history(slots) == []


def test_a_correction_during_a_compile_is_recorded_by_the_worker_after_it(slots: WikiHome) -> None:
    with locks.waiting(Path(slots.home.paths.compile_lock)):
        worker.work(slots.home)
        assert history(slots) == []
    worker.work(slots.home)
    assert history(slots) == [WAIT]


def test_an_entry_compiled_again_does_not_bring_a_corrected_value_back(slots: WikiHome) -> None:
    worker.work(slots.home)
    slots.compile([page("slots-of-the-shop", claim(WAIT, "c3"), title="Slots of the shop")])
    article = slots.wiki.get(SLOTS)
    assert article is not None
    assert [claim.text for claim in article.claims] == [LONGER]


BATCH, SMALLER = "An export holds 500 rows at most.", "An export holds 200 rows at most."
EXPORTS = "concepts/exports-of-the-shop"


@pytest.fixture
def exports(home: WikiHome) -> WikiHome:
    """A home whose article and fact say the same, and a person who gives the article another value."""
    home.log(entry("d4", 17, decisions=(BATCH,), learned=(("decision", BATCH), ("decision", "Exports go to `out/`."))))
    home.compile([page("exports-of-the-shop", claim(BATCH, "d4"), title="Exports of the shop")])
    worker.work(home.home)
    home.edit(EXPORTS, f"- {BATCH}", f"- {SMALLER}")
    worker.work(home.home)
    return home


def facts(home: WikiHome) -> list[str]:
    with Keeper.at(home.home) as keeper:
        return sorted(fact.content for fact in keeper.store.facts())


def test_a_fact_ends_when_a_person_gives_its_article_another_value(exports: WikiHome) -> None:
    assert facts(exports) == ["Exports go to `out/`."]
    assert BATCH not in prepared(exports)
    assert history(exports, EXPORTS) == [BATCH]


def test_a_fact_holds_again_when_the_value_is_put_back(exports: WikiHome) -> None:
    exports.edit(EXPORTS, f"- {SMALLER}", f"- {BATCH}")
    worker.work(exports.home)
    assert facts(exports) == [BATCH, "Exports go to `out/`."]


def test_undo_of_a_recorded_correction_lets_the_fact_hold_again(exports: WikiHome) -> None:
    exports.undo("--steps", "2")  # the fact's words had gone from the summary, too
    assert BATCH in facts(exports)
    worker.work(exports.home)
    assert BATCH in facts(exports)
    assert SMALLER in exports.text(EXPORTS)
