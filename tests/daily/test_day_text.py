"""A person's bytes in a daily log stay, whatever is written beside them, and every reader sees the same parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from as_before import bent, digest, same
from facts import MONDAY, SHOP, a_fact, parsed
from memoria.amending import forget_plan
from memoria.base.paths import Paths
from memoria.daily.daily_log import DailyLog
from memoria.daily.day_text import DayText
from memoria.daily.entry import DROPPED, OPEN, TICKED, Entry, Learned, fingerprint, is_cut, render, tombstone
from memoria.index import documents
from memoria.statements import lines
from memoria.statements.lines import Lines
from memoria.wiki.article import Article
from memoria.wiki.lines import retract

DAY = date(2026, 11, 16)
DAYS = Path(__file__).parents[1] / "fixtures" / "days"
BOM = b"\xef\xbb\xbf"
ROWS = st.sampled_from(
    ["", "   ", "\t", "My own words.", "Blanks.  ", "## My heading", "- a point", "```", "broken \udcff", "ü · 🙂"]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r\n", "\r"])


@st.composite
def persons(draw: st.DrawFn, number: int) -> bytes:
    """What a person writes at one go: it begins with a word of its own, so that it is found again."""
    rows = [f"Person {number}.", *draw(st.lists(ROWS, max_size=5))]
    ends = [draw(ENDS) for _ in rows[:-1]] + [draw(st.sampled_from(["", "\n", "\r\n", "\r\n\r\n", "\n \n"]))]
    return "".join(row + end for row, end in zip(rows, ends, strict=True)).encode("utf-8", "surrogateescape")


def entry(name: str, **fields: object) -> Entry:
    usual = Entry(name, DAY, "14:05", "s-9", "shop", SHOP, f"Title {name}", context="Why.", turns=(f"t{name}",))
    return replace(usual, **fields)  # type: ignore[arg-type]


def write(path: Path, data: bytes) -> None:
    """Write as a person's editor does: after the last line a new one begins."""
    before = path.read_bytes() if path.exists() else b""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before + (b"\r\n" if before and not before.endswith((b"\n", b"\r")) else b"") + data)


@pytest.mark.slow
@given(parts=st.tuples(*(persons(number) for number in range(7))), mark=st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_byte_of_a_person_stays_through_all_written_into_a_day(parts: tuple[bytes, ...], mark: bool) -> None:
    with TemporaryDirectory() as folder:
        daily = DailyLog(Paths(folder))
        log, path = Lines(daily), daily.path(DAY)
        kept, gone, moved = a_fact("Use pnpm."), a_fact("Use the heron server."), a_fact("Deploys happen on Mondays.")

        def checked() -> None:
            data, place = path.read_bytes(), 0
            assert data.startswith(BOM) == mark
            for part in written:
                found = data.find(part, place)
                assert found >= 0, (part, data)
                place = found + len(part)

        written: list[bytes] = []
        steps: list[Callable[[], bool]] = [
            lambda: daily.append(entry("one", learned=(Learned("fact", "Bare.", "l-bare"),))),
            lambda: log.add(kept, DAY, "09:00", "shop"),
            lambda: log.add(gone, DAY, "09:00", "shop") and log.add(moved, DAY, "09:30", "shop"),
            lambda: log.change(replace(kept, content="Use pnpm 9."), DAY),
            lambda: log.change(replace(kept, ended=MONDAY + timedelta(days=1), successor="l-bbbb"), DAY),
            lambda: (
                log.remove(moved.id, DAY)
                and daily.append(entry("two", lessons=("The falcon lesson.",), learned=(lines.to_learned(moved),)))
            ),
            lambda: log.remove(gone.id, DAY),
        ]
        for part, step in zip(parts, steps, strict=True):
            write(path, (BOM if mark and not written else b"") + part)
            written.append(part)
            assert step()
            checked()
        found = [("l-bare", "Bare."), (kept.id, "Use pnpm."), (moved.id, moved.content)]
        assert [(fact.id, fact.content) for fact in log.read(DAY)] == found
        assert not log.change(gone, DAY)
        assert daily.rewrite(DAY, lambda text: forget_plan.strike_lines(text, "falcon"))
        assert daily.edit(DAY, lambda day: day.append(tombstone("-", ["t7"])))
        assert daily.edit(DAY, lambda day: day.bury({"one"}))
        daily.sweep()
        checked()
        assert [found.id for found in daily.entries(DAY)] == ["two"]
        assert daily.read(DAY).tombstones() == [("one", ("tone",)), ("-", ("t7",))]
        assert daily.edit(DAY, lambda day: day.bury({"two"}))
        checked()


@pytest.mark.parametrize(("mine", "end"), [("# Mine\n\nNo.", "\n"), ("# Mine\r\n\r\nNo.", "\r\n"), ("", "\n")])
def test_what_is_added_has_the_line_endings_of_the_file(mine: str, end: str, tmp_path: Path) -> None:
    daily = DailyLog(Paths(str(tmp_path)))
    write(daily.path(DAY), mine.encode())
    daily.append(entry("one"))
    Lines(daily).add(a_fact("Use pnpm."), DAY, "09:00", "shop")
    data = daily.path(DAY).read_bytes()
    assert data.count(b"\n") == data.count(end.encode()) == len(data.splitlines())
    assert data.startswith(f"{mine}{end * 2 if mine else ''}### Session (14:05) · shop".encode())


def test_an_entry_is_read_alike_with_any_line_endings_and_with_a_mark_at_the_begin() -> None:
    whole = entry("one", learned=(lines.to_learned(a_fact("Use pnpm.")),), lessons=("a",), title="One · two · three")
    text = render(whole)
    (first,) = DayText(text).entries(DAY)
    for end in ("\r\n", "\r", "  \n"):
        dressed = "\ufeff" + text.replace("\n", end)
        (found,) = DayText(dressed).entries(DAY)
        assert replace(found, title=found.title.rstrip()) == first
        assert parsed(dressed, DAY) == parsed(text, DAY) != []
        assert not is_cut(dressed[1:])


def test_an_entry_that_is_withdrawn_leaves_what_stood_around_it() -> None:
    one, two = render(entry("one")), render(entry("two"))
    for ident, left in (("one", f"# Mine\n{two}"), ("two", f"# Mine\n\n{one}")):
        day = DayText(f"# Mine\n\n{one}\n{two}" if ident == "two" else f"# Mine\n\n{one}{two}")
        day.withdraw({ident})
        assert day.text == left


def test_a_lost_heading_costs_neither_the_page_its_title_nor_a_person_the_part_above() -> None:
    headless = render(entry("two")).partition("\n")[2]
    text = f"# Mine\n\n{render(entry('one'))}\n## My part\n\nmy words\n\n### Renamed\n{headless}"
    day = DayText(text)
    day.bury({"two"})
    assert day.text == f"# Mine\n\n{render(entry('one'))}\n## My part\n\nmy words\n\n{day.rows[-1]}\n"
    day = DayText("# Mine\r\n" + headless.removesuffix("\n"))
    day.bury({"two"})
    assert day.text == "# Mine\r\n<!-- memoria forgotten entry=two turns=ttwo -->"


def test_a_fact_stands_in_its_entry_whatever_a_person_wrote_into_the_entry() -> None:
    fact = lines.to_learned(a_fact("Use pnpm."))
    text = render(entry("one", learned=(fact,))).replace("\n^e-one\n\n", "\n#### My remark\n\nmine\n\n^e-one\n\n")
    for mark in ("- ", "+ ", "1. ", "  2) ", "\t- ", "> - ", "\u2022 ", "| "):
        (line,) = DayText(text.replace(" -->\n", " -->  \n").replace("- [", f"{mark}[")).facts()
        assert (line.session, line.project, line.learned.text) == ("s-9", SHOP, "Use pnpm.")
    assert DayText(text).name(["one"]) == 1, "the remark"


NAMES = st.sampled_from(["shop", "my-shop", "Ünïcode", "a"])
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp")), min_size=1, max_size=12
)
TITLES = st.lists(WORDS, min_size=1, max_size=4).map(" · ".join)
BETWEEN = st.sampled_from(
    ["", "\nMy note.\n", "\n### My part · two\n\nmine\n", "\n#### deep\n", "\n```  \n### code\n```  \n"]
)


@pytest.mark.slow
@given(st.lists(st.tuples(NAMES, TITLES, BETWEEN), max_size=4), st.sampled_from(["\n", "\r\n"]), BETWEEN)
@example([("shop", "^0", ""), ("shop", "It takes n ^2", "")], "\n", "")
def test_index_and_daily_log_see_the_same_entries(told: list[tuple[str, str, str]], end: str, before: str) -> None:
    text = "# Daily Log\n" + before
    for number, (name, title, between) in enumerate(told):
        block = render(entry(f"e{number}", project=name, project_key=f"{name}-123456", title=title, decisions=(title,)))
        text += "\n" + block.replace("\n**Context", between + "\n**Context") + between
    entries = list(DayText(text.replace("\n", end)).entries(DAY))
    found = [one for one in documents.parse(f"daily/{DAY}.md", text) if one.anchor.startswith("e-")]
    assert [(one.anchor, one.project, one.session) for one in found] == [
        (f"e-{one.id}", one.project_key, one.session) for one in entries
    ]
    assert [one.title for one in found] == [one.title or DAY.isoformat() for one in entries]
    for one, known in zip(found, entries, strict=True):
        texts = {(passage.label, passage.text) for passage in one.passages}
        assert {("Decisions Made", f"- {item}") for item in known.decisions} <= texts


@pytest.mark.parametrize(
    ("after", "stays"),
    [("", False), ("\n## Mine\n\nwords\n", False), ("\nmy words\n## Mine\n", True), ("my words\n## Mine\n", True)],
    ids=["nothing", "a heading", "words and a heading", "words at once"],
)
def test_the_heading_of_a_fact_goes_with_the_last_fact_unless_a_person_wrote_below(after: str, stays: bool) -> None:
    for gap in ("\n", "\n\n"):
        day = DayText("# Mine\n")
        day.add(lines.to_learned(a_fact("Use pnpm.")), "09:00", "shop")
        day = DayText(day.text.replace("shop\n\n", f"shop{gap}") + after)
        day.remove(next(iter(day.facts())))
        assert day.text == "# Mine\n\n" + (f"### Learned (09:00) · shop{gap}" if stays else "") + after


def test_a_statement_stands_once_under_the_section_of_its_kind_beside_a_persons_lines() -> None:
    kinds = ("decision", "debugging", "workaround", "preference")
    facts = [a_fact(f"What the {kind} says.", kind, quote=f"the {kind}") for kind in kinds]
    whole = entry("e1", model="haiku", decisions=("By hand.",), learned=tuple(map(lines.to_learned, facts)))
    text = render(whole)
    heads = {row: number for number, row in enumerate(text.splitlines()) if row.startswith("**")}
    places = [next(n for n, row in enumerate(text.splitlines()) if fact.content in row) for fact in facts]
    under = [max((head for head in heads if heads[head] < place), key=heads.__getitem__) for place in places]
    assert under == ["**Decisions Made:**", "**Lessons Learned:**", "**Lessons Learned:**", "**Learned:**"]
    assert all(text.count(fact.id) == 1 for fact in facts)
    (read,) = DayText(text).entries(DAY)
    assert read == whole
    bare = replace(whole, learned=tuple(replace(learned, below=()) for learned in whole.learned))
    assert fingerprint(read) == fingerprint(bare), "quotes and particulars do not change it"
    assert parsed(text, DAY) == facts


WRAPPED = [  # an @ stands where an id is added
    ("- Ada asked\n  for tea.@\n* Bob\nasked her\n      too.@\n", ["Ada asked for tea.", "Bob asked her too."]),
    ("- Ada asked\n  for tea.@\n\n  It was cold.\n  - Bob\n    drank it.\n", ["Ada asked for tea."]),
    ("-\tTea\n\tis hot.@\n  > said\n  > Bob\n### Mine\n\n- [ ] Cool\n  it.\n", ["Tea is hot."]),
    ("- Tea@\n| a |\n|---|\n- Run\n  this:\n  ```\n  - x\n  y\n  ```\n- Do\n  2. it@\n", ["Tea", "Do 2. it"]),
    ("**Action Items:**\n- Tea\n  cups\n\nMine\n====\n- My\r\n  tea@\n---\n- Hot@\n", ["My tea", "Hot"]),
    ("- Ours\n  here ^own\n**Learned:**\n- [fact] My\n  tea@\n<!-- mine -->\n", ["My tea"]),
    ("\nTea on  \n24. May@\n\n<!-- x\n-->\na | b\n--|--\nc\n\nIt is\ncold.@\n", ["Tea on 24. May", "It is cold."]),
    ("- In\n1999. Or\n2000.@\n- 3. May@\n\nOn\n24.\nMay.@\n", ["In 1999. Or 2000.", "3. May", "On 24. May."]),
]


@pytest.mark.parametrize(("form", "said"), WRAPPED)
def test_text_that_wraps_is_one_statement_and_keeps_its_lines(form: str, said: list[str]) -> None:
    for mine in (form, form.replace("\r\n", "\n").replace("\n", "\r\n")):
        day = DayText(f"---\ntags:\n- a\nb: c\n---\n{mine.replace('@', '')}")
        day.mark(DAY, {}, {})
        assert day.name(day.ids()) == len(said)
        day = DayText(written := day.text)
        for line in filter(lambda line: not line.learned.below, day.facts()):
            day.change(line, line.learned)
        assert ([line.learned.text for line in day.facts()], day.name(day.ids()), day.text) == (said, 0, written)
        for row in mine.split("### Mine"):
            assert row in re.sub(r" \^l-[0-9a-f]{8}", "@", written)


@pytest.mark.parametrize(("needle", "left"), [
    ("ada: 030", "Bob: 040\nEve says on\nMondays only.\n\n> Eve\n> knows.\n"),
    ("eve says on mondays", "Ada: 030\nBob: 040\n\n> Eve\n> knows.\n"),
    ("eve", "Ada: 030\nBob: 040\nMondays only.\n\n> knows.\n"),
    ("eve knows", "Ada: 030\nBob: 040\nEve says on\nMondays only.\n\n"),
])  # fmt: skip
def test_of_a_paragraph_no_more_lines_are_forgotten_than_hold_it(needle: str, left: str) -> None:
    told = "Ada: 030\nBob: 040\nEve says on\nMondays only.\n\n> Eve\n> knows.\n"
    assert forget_plan.strike_lines(told, needle) == left
    page = Article("notes", f"## Notes\n\n{told}")
    assert retract(page, (), (), needle) >= 1
    assert page.render().endswith(f"## Notes\n\n{left}")
    assert "stands here" not in page.render()


def test_a_day_is_read_and_changed_as_its_whole_text_tells() -> None:
    told, marked, changed = ((DAYS / f"{name}.md").read_text() for name in ("told", "marked", "changed"))
    day = DayText(told, {SHOP: "store-1a2b3c"})
    assert "".join(part.raw for part in day.parts(DAY)) == told
    shown = [row for row in told.splitlines() if row and row[:4] != "### " and not row.lstrip().startswith("<!--")]
    assert [row for part in day.parts(DAY) for row in part.text.splitlines() if row] == shown
    assert (day.mark(DAY, {}, {}), day.name(day.ids()), day.text) == (4, 5, marked)
    assert (day.mark(DAY, {}, {}), day.name(day.ids()), day.text) == (0, 0, marked)
    again = DayText(told.replace("- [decision] Use npm.", "- Use npm.\n- [decision] Use npm."))
    assert (again.mark(DAY, {}, {}), again.name(again.ids())) == (4, 5), "what repeats a statement gets no id"
    twice = DayText("## Plans\n\nI know.\n" * 2)
    assert (twice.mark(DAY, {}, {}), len(twice.ids()), twice.name(twice.ids())) == (2, 2, 2)
    for item, state in zip(list(day.items()), (TICKED, DROPPED, OPEN, TICKED, OPEN), strict=False):
        day.set_box(item, state)
    day.strike(lambda row: "Fix" in row or "npm" in row)
    for time, text in (("09:00", "New"), ("09:00", "New2"), ("09:01", "N3")):
        day.add(Learned("fact", f"{text}.", f"l-{text.casefold()}"), time, "shop")
    day.drop({"l-rain1"})
    day.bury({"d1b57bcd39"})
    assert day.text == changed


@pytest.mark.slow
def test_entries_are_read_and_written_as_they_were_before() -> None:
    rows, more = list[object](), (DAYS.parent / "home-0.2.0" / "daily").glob("*.md")
    for path in sorted([*DAYS.glob("*.md"), *more]):
        for found in DayText(path.read_text("utf-8"), {SHOP: "store-1a2b3c"}).entries(DAY):
            rows += [found, found.source, found.booking, fingerprint(found), render(found)]
        whole = path.read_text("utf-8").split("\n")
        for number, bits in enumerate((whole, *bent(whole, 30))):
            day = DayText("\n".join(bits), {SHOP: "store-1a2b3c"})
            seen = [*day.parts(DAY), *day.entries(DAY), *day.items(), *day.facts(), day.tombstones(), day.rest()]
            seen += [sorted(day.ids()), sorted(day.block_ids().items())]
            seen += [day.mark(DAY, {}, {}), day.name(day.ids()), day.text]
            for item, state in zip(list(day.items()), (TICKED, DROPPED, OPEN, TICKED), strict=False):
                day.set_box(item, state)
            if learned := list(day.facts()):
                day.change(learned[0], Learned("fact", "Told anew.", "l-anew"))
                day.remove(list(day.facts())[-1])
            day.add(Learned("fact", "Added.", "l-added"), "14:05", "shop")
            seen.append(day.text)
            day.strike(lambda row: "npm" in row)
            day.take_in(DayText("\n".join(whole)), DAY)
            seen.append(day.text)
            day.withdraw(sorted(day.ids())[:1])
            day.bury(set(sorted(day.ids())[-1:]))
            rows += [digest([*seen, day.text])] if number else seen
    same("read/entries.txt", rows)
