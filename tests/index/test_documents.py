"""The index reads a page as ``Article`` reads it: the same title, names, sections and claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from as_before import bent, digest, same
from facts import MONDAY, SHOP, a_fact, rendered
from memoria.index import documents
from memoria.index.index import Index
from memoria.statements.fact import Fact
from memoria.wiki.article import HISTORY, Article
from places import TESTS

DAYS = TESTS / "fixtures" / "days"
SOURCE = "[[daily/2026-11-20#^e-01aa]]"
OPEN = st.sampled_from(["---\n", "---  \n", "---\t\n"])
FRONT = st.lists(
    st.sampled_from(
        ["title: A · B · C", 'title: "Quoted: name"', "title: 0", "aliases: one", "aliases:\n  - x · y\n  - z",
         "tags: [a, 1]", "tags:", "updated: 2026-11-20", "created: 2026-11-01", "own: {a: b}", "title: [broken"]
    ),
    max_size=4,
    unique_by=lambda row: row.partition(":")[0],
)  # fmt: skip
ROWS = st.lists(
    st.sampled_from(
        ["# Title · of", "# Closed #", "## Key Points", "## C#", "## Related", "## History ##", "### Deep", "words",
         "", "```", "```  ", "```python", "~~~ ", "````", "## ",
         f"- One claim. {SOURCE}", "- A claim without. ^block",
         "* Starred. ^e-01aa", "+ Plus.", "---", "**Label:** bold"]
    ),
    max_size=14,
)  # fmt: skip


def page(opening: str, front: list[str], rows: list[str], end: str, mark: str) -> str:
    head = opening + "".join(f"{row}\n" for row in front) + opening if front else ""
    return mark + (head + "".join(f"{row}\n" for row in rows)).replace("\n", end)


@pytest.mark.slow
@given(OPEN, FRONT, ROWS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
@example("---\n", ["title: A"], ["# Title", "## ", f"- One claim. {SOURCE}"], "\n", "")
@example("---\n", ["title: A"], ["##", f"- One claim. {SOURCE}"], "\n", "")
@settings(deadline=None, max_examples=300)
def test_the_index_and_the_article_agree_on_title_names_sections_and_claims(
    opening: str, front: list[str], rows: list[str], end: str, mark: str
) -> None:
    text = page(opening, front, rows, end, mark)
    found = documents.article("knowledge/concepts/x.md", text)
    try:
        article = Article("concepts/x", text)
    except ValueError:  # the index reads such a page as text
        assert found.passages
        return
    assert (found.title, list(found.aliases), list(found.tags)) == (
        article.title,
        article.aliases,
        article.front.texts("tags"),
    )
    assert found.date == (article.last_day or article.front.text("created"))
    texts = {(passage.label, passage.text.partition(" daily/")[0].replace("\n", " ")) for passage in found.passages}
    bullets = {text.lstrip("-*+ ") for _, text in texts}
    assert all(any(said.startswith(claim.text) for said in bullets) for claim in article.claims)
    for section in article.sections:
        for _, claim in section.claims() if not section.is_headed(HISTORY) else ():
            deep = any(row.startswith(("### ", "# ", "**")) for row in section.rows)
            label = "" if section.heading == article.title else section.heading
            assert deep or any(of == label and said[2:].startswith(claim.text) for of, said in texts)


def write(home: Path, *facts: Fact) -> None:
    written = "".join(map(rendered, facts))
    (home / "daily").mkdir()
    (home / "daily/2026-11-16.md").write_text(f"# Daily Log: 2026-11-16\n\n### Learned (09:00) · shop\n\n{written}")


def test_a_phrase_finds_what_it_asks_for_and_is_not_shown(tmp_path: Path) -> None:
    fact = a_fact(
        "Use pnpm, not npm.",
        keywords=("tarball",),
        also=("till-1a2b3c",),
        asked_as=("add a package", "update the front end"),
    )
    write(tmp_path, fact, a_fact("Use yarn.", asked_as=("mend a parcel",), ended=MONDAY))
    with Index(tmp_path / "index.db") as index:
        index.sync(tmp_path)
        found = {query: [hit.passages for hit in index.search(query)] for query in ("package", "parcel", "tarball")}
        assert [hit.anchor for hit in index.search("tarball", project="till-1a2b3c")] == [fact.id]
        (note,) = index.finder.notes("update the front end", limit=3, room=300)
    assert found == {"package": [["Use pnpm, not npm."]], "parcel": [], "tarball": [["Use pnpm, not npm."]]}
    assert (note.text, note.share) == ("Use pnpm, not npm.", 1.0)


def test_a_line_of_an_article_stands_for_the_statement_that_it_shows(tmp_path: Path) -> None:
    fact, ended = a_fact("Prices are integers of cents."), a_fact("Taxes are floats.", ended=MONDAY)
    write(tmp_path, fact, ended)
    (tmp_path / "knowledge/concepts").mkdir(parents=True)
    shown = (f"- {each.content} [[daily/2026-11-16#^{each.id}|16 Nov]]\n" for each in (fact, ended))
    page = "---\ntitle: Prices\nproject: shop · shop-1a2b3c\n---\n\n# Prices\n\nCents.\n\n## Behaviour\n\n"
    (tmp_path / "knowledge/concepts/prices.md").write_text(page + "".join(shown))
    with Index(tmp_path / "index.db") as index:
        index.sync(tmp_path)
        (note,) = index.finder.notes("integers", limit=3, room=300)
        assert index.finder.notes("floats", limit=3, room=300) == [], "it has ended"
    assert (note.hit.kind, note.hit.key, note.hit.date) == ("fact", f"daily/2026-11-16.md#^{fact.id}", "2026-11-16")


@pytest.mark.slow
def test_pages_and_days_are_cut_as_they_were_before() -> None:
    files = {"knowledge/concepts/page.md": DAYS / "page.md", f"daily/{MONDAY.date()}.md": DAYS / "told.md"}
    for top in ("knowledge/concepts", "daily"):
        files |= {f"{top}/{path.name}": path for path in sorted((DAYS.parent / "home-0.2.0" / top).glob("*.md"))}
    rows: list[object] = []
    for name, path in files.items():
        for found in documents.parse(name, path.read_text("utf-8"), {SHOP: "store-1a2b3c"}):
            rows += [f"== {found.key}", replace(found, passages=()), found.digest, *found.passages]
        if "---" in (whole := path.read_text("utf-8")):
            front, _, bare = whole.rpartition("---\n")
            texts = [f"{front}---\n" + "\n".join(bits) for bits in bent(bare.split("\n"), 30)]
        else:
            texts = ["\n".join(bits) for bits in bent(whole.split("\n"), 30)]
        rows += [digest(documents.parse(name, text, {SHOP: "store-1a2b3c"})) for text in texts]
    same("read/documents.txt", rows)
    texts = [
        "x" * 5_000,
        "word " * 900,
        "row\n" * 900,
        " ",
        "y" * 1_200,
        "y" * 1_199,
        "y" * 1_201,
        f"x {'y' * 1_198}",
        f" {'y' * 1_300}",
    ]
    cuts = [(len(each.text), each.text[-3:], each.own) for text in texts for each in documents.cut(text, "", own=True)]
    same("read/passages.txt", cuts)
