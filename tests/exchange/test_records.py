from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import exchange_lives as lives
from as_before import bent, same
from as_before import digest as digest_of_rows
from bench import exchange_model
from facts import MONDAY, a_fact
from memoria.daily.entry import DROPPED, TICKED, Learned
from memoria.daily.open_items import ident as item_ident
from memoria.exchange.forms import Day, Page, new_page
from memoria.exchange.keys import Key
from memoria.exchange.memory_server import Memory
from memoria.exchange.record import Record, digest_of, live_records, prose_id, wordings
from memoria.exchange.records import Records
from memoria.exchange.rows import read_told, to_memory
from places import TESTS

DAYS = TESTS / "fixtures" / "days"


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_twice_or_back_by_a_folder_that_lags_halves_and_copies(tmp_path: Path, seed: int) -> None:
    life = lives.Life(tmp_path, seed, Key(bytes(16)) if seed % 2 else None)
    assert life.play(60) == []
    query = "SELECT line FROM records ORDER BY id, line"
    kept = ((machine.view(), digest_of_rows(machine.records.db.execute(query))) for machine in life.machines)
    same(f"read/records{seed}.txt", kept)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_records_of_a_former_numbering_are_read_on(tmp_path: Path, version: int) -> None:
    path = tmp_path / "exchange.db"
    with Records(path) as known:
        known.put("l-1", "statement", "said", ())
        known.db.executescript(f"DROP TABLE rows; CREATE TABLE rows (digest TEXT); PRAGMA user_version = {version}")
    with Records(path) as known:
        assert (known.standing("l-1") or Record("", "", "")).text == "said"
        assert known.db.execute("SELECT mark FROM rows").fetchall() == []


def entry(word: str, ident: str) -> str:
    marker = f"<!-- memoria entry={ident[2:]} session=s turns=k project=shop-1a model=m -->"
    return f"2026-11-23\n### Session (09:00) · shop · T\n\n**Context:** {word}\n\n{marker}"


def seen(known: Records) -> dict[str, Record]:
    """Return what stands under each id."""
    idents = known.db.execute("SELECT id FROM records UNION SELECT name FROM beside")
    found = {ident: known.standing(ident) for (ident,) in idents.fetchall()}
    return {ident: record for ident, record in found.items() if record and record.text}


@pytest.mark.slow
@pytest.mark.parametrize("first", [
    ("e-1", "entry", entry), (f"concepts/a#{prose_id('Notes')}", "prose", lambda word, _: f"## Notes\n{word}"),
    ("l-1", "statement", lambda word, _: f'{{"content":"{word}","time":"2026-11-23","worded":"2026-11-23"}}'),
])  # fmt: skip
@pytest.mark.parametrize("seed", [*range(7), 183, 199])
def test_each_wording_stands_once_wherever_machines_changed_one_thing_at_once(
    first: tuple[str, str, Callable[[str, str], str]], seed: int
) -> None:
    ident, kind, text = first
    rng = random.Random(seed)
    homes = [records(100 * seed + number) for number in range(2 + seed % 4)]
    said: set[str] = set()
    replaced: set[str] = set()
    forgotten: set[str] = set()

    def put(home: Records, ident: str, old: Record | None) -> None:
        word = f"w{len(said):03d}x"
        told = old.text.replace(words([old])[0], word) if old and old.text else text(word, ident)
        left = told if old is None or rng.random() > 0.15 else None
        said.update([word] if left else [])
        replaced.update(words([old] if old else []))
        about = {"machine": f"m{homes.index(home) % (1 + seed % 3)}"}
        home.put(ident, kind, left, old.dots if old else (), **about)

    def meet(source: Records, target: Records) -> None:
        for (line,) in source.db.execute("SELECT line FROM gone UNION ALL SELECT line FROM records").fetchall():
            target.add(Record.parse(line))
        target.spread()

    put(homes[0], ident, None)
    for home in homes:
        meet(homes[0], home)
    for _ in range(30):
        home = rng.choice(homes)
        if rng.random() < 0.4 and (there := seen(home)):
            name = rng.choice(sorted(there))
            put(home, name, there[name])
        elif rng.random() < 0.1 and kind != "prose":
            home.part(rng.choice(sorted(seen(home)) or [ident]))
        elif rng.random() < 0.05 and kind != "prose" and ident in seen(home):
            forgotten.update(words([seen(home)[ident]]))
            for name in home.beside(ident):
                home.part(name)
            home.put(ident, "forget", None, home.dots(ident))
        else:
            meet(rng.choice(homes), home)
    for one, other in 4 * list(itertools.product(homes, homes)):
        meet(one, other)
    views = [{ident: record.text for ident, record in seen(home).items()} for home in homes]
    assert all(view == views[0] for view in views)
    found, left = words(seen(homes[0]).values()), said - replaced - forgotten
    assert sorted(found) == sorted(left & set(found) if forgotten else left)  # edits go with what is forgotten


def words(found: Iterable[Record]) -> list[str]:
    return [word for record in found for word in re.findall(r"\bw\d{3}x\b", record.text or "")[:1]]


def records(seed: int = 1) -> Records:
    rng = random.Random(seed)
    return Records(lives.MEMORY, lambda: f"{rng.getrandbits(64):016x}")


def test_a_record_of_a_newer_version_is_carried_on_as_it_came() -> None:
    line = '{"i":"z-1","k":"dream","d":"00000000000000010a","t":"?","new":{"field":[1,2]}}'
    with records() as known:
        known.add(Record.parse(line))
        assert known.unsent_lines() == [line]
    for no_record in ('{"i":"z-1","k":"dream"}', "[]", '{"i":"z-1","k":"x","d":"1","o":7}'):
        with pytest.raises(ValueError, match="no record"):
            Record.parse(no_record)


def test_an_old_copy_of_a_text_is_known_by_the_digest_in_a_dot() -> None:
    with records(1) as here, records(2) as there:
        first = here.put("l-1", "statement", "Use npm.", ())
        here.put("l-1", "statement", "Use pnpm.", here.dots("l-1"))
        there.put("l-1", "statement", "Use npm.", ())  # a home that was copied before, without its records
        for record in here.current("l-1"):
            there.add(record)
        assert [record.text for record in live_records(there.current("l-1"))] == ["Use pnpm."]
        assert here.is_former("l-1", first.digest)


def test_two_old_copies_do_not_hide_each_other() -> None:
    with records() as known:
        one = known.put("l-1", "x", "one", ())
        two = known.put("l-1", "x", "two", (one.dot,))
        back = Record("l-1", "x", "f" * 16 + one.digest, (one.dot, two.dot), "one").with_line()
        again = Record("l-1", "x", "e" * 16 + two.digest, (one.dot,), "two").with_line()
        for record in (back, again):
            known.add(record)
        assert {record.text for record in live_records(known.current("l-1"))} == {"one", "two"}


def test_what_two_machines_deleted_is_deleted_once_and_stands_if_a_third_wrote_it() -> None:
    with records() as known:
        for machine in ("a", "b"):
            known.put("l-1", "x", None, (), machine=machine)
        assert [record.text for record in live_records(known.current("l-1"))] == [None]
        known.put("l-1", "x", "one", (), machine="c")
        assert [record.text for record in live_records(known.current("l-1"))] == ["one"]


def test_what_was_never_reworded_is_what_the_others_were_made_of_and_the_first_end_counts() -> None:
    said = ('{"content":"Use npm."}', '{"content":"Use pnpm.","origin":"assistant","worded":"2026-11-23"}')
    with records() as known:
        for ident, kind, texts, stands in (
            ("l-1", "statement", said, said[1]), ("e-1#box", "item", (DROPPED, TICKED), DROPPED),
            ("l-1#end", "end", ("2026-11-24", "2026-11-23"), "2026-11-23"),
            ("a/b#c-1", "place", ("History\n- Two.\n  More.", "Rules\n- Two."), "Rules\n- Two.\n  More."),
        ):  # fmt: skip
            assert [known.put(ident, kind, text, ()) for text in texts], "on machines that had not met"
            assert [record.text for record in known.wordings(ident)] == [stands]


def test_what_a_formatter_changes_is_the_same_text() -> None:
    said = "**Context:** It is *slow*.\n\n- one\n- [ ] two_three"
    assert digest_of(said) == digest_of("__Context:__ It is _slow_.\n* one\n\n*   [ ] two\\_three\n")
    assert digest_of("x > 5") != digest_of("x < 5")
    assert digest_of("two_three") != digest_of("twothree")


def test_forgetting_takes_the_parts_along() -> None:
    with records() as known:
        known.put("l-1", "statement", "secret", ())
        known.put("l-1#end", "end", "{}", ())
        known.put("l-10", "statement", "open", ())
        known.put("l-1", "forget", None, ())
        known.put("l-1#end", "end", "{}", ())
        assert [record.text for record in live_records(known.current("l-10"))] == ["open"]
        assert live_records(known.current("l-1#end")) == []
        places = [known.put(f"a/b#{part}", "place", f"Rules\n- {row}\n  open\n  {more}", (), project="shop").id
                  for part, row, more in (("c-1", "a secret", "too"), ("c-2", "a rule", "secret"))]  # fmt: skip
        for place in places:
            known.clean(known.under(place)[0], lambda text: text.replace("secret", "").rstrip())
        left = [known.wordings(place)[0] for place in places]
        assert [(each.text, each.project) for each in left] == [(None, "shop"), ("Rules\n- a rule\n  open", "shop")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_records_come_to_what_the_model_comes_to(tmp_path: Path, seed: int) -> None:
    exchange_model.side_by_side(tmp_path, seed, 80)


@pytest.mark.parametrize("dots", ["ab", "ba"])
def test_of_the_same_words_said_at_two_times_every_home_tells_the_same_time(dots: str) -> None:
    texts = [f'{{"content":"Use tabs.","time":"2026-11-17T0{hour}:00:00"}}' for hour in (9, 8)]
    said = digest_of("Use tabs.")
    told = [Record("l-1", "statement", dot * 16 + said, (), text) for dot, text in zip(dots, texts, strict=True)]
    assert json.loads(str(wordings("l-1", told)[0].text))["time"] == "2026-11-17T08:00:00"


@pytest.mark.slow
def test_pages_and_days_are_taken_apart_and_put_together_as_they_were_before() -> None:
    day = Day((DAYS / "marked.md").read_text("utf-8"))
    pieces = list(day.pieces(MONDAY.date()))
    (told,) = [piece.text for piece in pieces if piece.id == "e-one"]
    learned = {line.learned.id: line.learned for line in day.facts()}
    rows: list[object] = [*pieces]
    day.set_item("one", item_ident("Write it"), TICKED)
    day.put_entry("one", told.replace("Why.", "Because."), [Learned("decision", "Use pnpm.", "l-new4")])
    six = told.replace("entry=one", "entry=six").replace("14:05", "15:05")
    day.put_entry("six", six, [learned["l-rain1"]])
    rows += ["==", day.text]
    day.drop_entry("one")
    day.drop_entry("none")
    rows += ["==", day.text]
    page = Page("concepts/port", (DAYS / "page.md").read_text("utf-8"))
    rows += ["==", *page.pieces()]
    about = {"created": "2026-11-15", "updated": "2026-11-19", "project": "shop · shop-1a2b3c"}
    page.describe(
        {"title": "The Port", "tags": ["http"], "aliases": ["listener", "port"], "summary": "Not mine.", **about}
    )
    page.displace("l-b2")
    page.write_prose("p-", "\nAda's own words.")
    page.write_prose(prose_id("Notes"), "## Notes")
    page.write_prose(prose_id("Behaviour"), "## behaviour\nOther words.")
    page.write_prose(prose_id("Mine"), "## Mine\nNew words.")
    page.write_prose(prose_id("None"), "## None")
    rows += ["==", page.render(), "==", *page.pieces()]
    made = new_page("concepts/new", next(piece.text for piece in page.pieces()))
    rows += ["==", made.render()]
    made.describe({"title": "Port", "tags": [], "aliases": [], "summary": "In short.", **about})
    rows += ["==", made.render()]
    for bits in bent((DAYS / "marked.md").read_text("utf-8").split("\n"), 80):
        day = Day("\n".join(bits))
        seen: list[object] = [*day.pieces(MONDAY.date())]
        day.set_item("one", item_ident("Write it"), DROPPED)
        day.put_entry("one", told.replace("Why.", "Because."), [Learned("decision", "Use pnpm.", "l-new4")])
        day.put_entry("six", six, [learned["l-rain1"]])
        seen += ["==", day.text, day.line_of("l-rain1")]
        day.drop_entry("two")
        rows.append(digest_of_rows([*seen, "==", day.text]))
    front, _, bare = (DAYS / "page.md").read_text("utf-8").rpartition("---\n")
    for bits in bent(bare.split("\n"), 80):
        page = Page("concepts/port", f"{front}---\n" + "\n".join(bits))
        seen = [*page.pieces()]
        page.describe({"title": "Port", "tags": ["http"], "aliases": ["port"], "summary": "Not mine.", **about})
        page.displace("l-b2")
        page.write_prose("p-", "\nAda's own words.")
        page.write_prose(prose_id("Behaviour"), "## behaviour\nOther words.")
        page.write_prose(prose_id("Mine"), "## Mine\nNew words.")
        rows.append(digest_of_rows([*seen, "==", page.render(), *page.pieces()]))
    same("read/exchanged.txt", rows)


@pytest.mark.parametrize(("above", "headings"), [("History", ["History", "Mine"]), ("Not yet", ["Mine", "History"])])
@pytest.mark.parametrize("history", ["", "## History\n\n- Until 2026-11-16: It was.\n"])
def test_a_persons_section_stands_at_the_same_side_of_the_history(
    above: str, headings: list[str], history: str
) -> None:
    page = Page("concepts/port", f"# Port\n\n{history}")
    page.write_prose(prose_id("Mine"), f"## Mine\t{above}\nWords.")
    page.section("History")  # where it is missing, something that ends adds it
    assert [section.heading for section in page.sections] == headings


def test_rows_of_a_memory_server_tell_what_they_did_before() -> None:
    rich = a_fact("Use pnpm.", "correction", ended=MONDAY, successor="l-z", last=MONDAY, tags=("a", "b"), seen=3,
                  keywords=("k l",), supersedes=("l-x", "l-y"), also=("blog-1",), asked_as=("q",))  # fmt: skip
    known = [to_memory(rich, 7, "ab.cd.ef"), to_memory(a_fact("x " * 40, keywords=("k" * 500, "l")))]
    tags = ["", "a, b,id:7,kind:decision", "memoria, ,a,seen:x,kind:fact", "memoria,id:l-1,was:a.b,memoria:x,also:"]
    tags.append("memoria,id:l-2,kind:rumour")
    tags.append("memoria,kind:fact,seen:4,supersedes:l-a,supersedes:l-b,origin:user,ended:now")
    for category in ("facts", "preferences", "decisions", "other"):
        known += [Memory(3, "Likes  tea", category, each, "k,l", created="2026-11-20T08:00:00+00:00") for each in tags]
    for bits in bent(",".join(known[0].tags.split(",") * 2).split(","), 60):
        known.append(Memory(3, "Likes tea", "facts", ",".join(bits), "k", created="2026-11-20T08:00:00+00:00"))
    rows: list[object] = []
    for memory in (*known, Memory(4, " ")):
        told = read_told(memory)
        rows += ["", memory, told and (told.fact, told.named, sorted(told.was))]
    same("read/rows.txt", rows)
