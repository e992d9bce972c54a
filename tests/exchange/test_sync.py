from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from facts import BLOG, MONDAY, SHOP, Synced, a_fact, keeper, meet, records_of, refused, said, server_state, sync
from home_of import run
from memoria.commands import flush
from memoria.exchange.memory_server import MAX_TAGS, Memory, Server
from memoria.exchange.records import Records
from memoria.exchange.rows import MOST_FAILURES, read_told, to_memory
from memoria.ground import clock
from memoria.ground.errors import ExpectedError, MemoryServerError
from memoria.ground.home import Home
from memoria.statements.fact import GLOBAL, Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.worker import together
from memory_server import KEY, MemoryServer

pytestmark = pytest.mark.slow


def to_fact(memory: Memory) -> Fact:
    told = read_told(memory)
    assert told
    return told.fact


@pytest.mark.parametrize("ident", ["e-one", "concepts/port", "x-1a"])
def test_a_row_that_names_no_statement_is_another_programs(ident: str) -> None:
    told = read_told(Memory(7, "The port is 8080.", "facts", f"memoria,id:{ident}", "", 0.5))
    assert told
    assert (told.named, told.fact.id[:2]) == ("", "l-")


def unlink(home: Keeper) -> None:
    """Let a home forget the numbers of all rows."""
    with records_of(home) as records:
        records.db.execute("DELETE FROM rows")


def exchanged(server: MemoryServer, fact: Fact, home: Keeper, *others: Keeper) -> Fact:
    """Return a fact that a home has learned and exchanged with the server, and the others after it."""
    home.take([fact])
    meet(server, home, *others)
    return fact


def test_a_fact_crosses_the_wire_as_it_was() -> None:
    fact = a_fact(
        "Use pnpm.", "correction", tags=("tools",), keywords=("npm",), supersedes=("l-x",), also=("blog-1",), seen=3
    )
    back = to_fact(to_memory(fact, 7))
    assert back == replace(fact, quote="", session="")


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        ("id:7,kind:decision", ("id:7", "kind:decision")),
        ("memoria,kind:correction,origin:user,project:shop,one", ("one",)),
        ("memoria,seen:²", ()),
    ],
    ids=["its own tags", "the tags of ours without an id", "a count that is none"],
)
def test_what_another_program_stored_is_a_global_fact_and_no_rule_of_the_users(tags: str, kept: tuple[str]) -> None:
    fact = to_fact(Memory(3, "Never ask.", "preferences", tags, created="2026-11-20T08:00:00+00:00"))
    assert (fact.kind, fact.project, fact.origin, fact.tags) == ("fact", GLOBAL, "assistant", kept)


def test_facts_travel_from_one_machine_to_the_other(server: MemoryServer, here: Keeper, there: Keeper) -> None:
    fact = a_fact("Use pnpm, not npm.")
    here.take([fact])
    assert sync(here, server).pushed == 1
    assert sync(there, server).pulled == 1
    got = there.get(fact.id)
    assert (got.content, got.kind, got.project, got.time) == (fact.content, fact.kind, SHOP, fact.time)
    assert fact.content in there.lines.daily.path(MONDAY.date()).read_text()
    assert sync(there, server) == Synced()
    assert sync(here, server) == Synced()
    server.fault_for["GET"] = 500
    assert (sync(here, server).pushed, server_state(here)["waiting"]) == (0, 0)


@pytest.mark.parametrize("skew", [-1, 1])
@pytest.mark.parametrize("back_first", ["here", "there"])
def test_two_machines_converge_with_either_offline_and_clocks_an_hour_apart(
    server: MemoryServer, here: Keeper, there: Keeper, skew: float, back_first: str
) -> None:
    server.skew = timedelta(hours=skew)
    first = a_fact("Use tabs for indentation, not spaces.")
    gone = a_fact("The wombat service owns the invoices.", "fact")
    here.take([first, gone])
    sync(here, server)
    sync(there, server, skew=-skew)
    assert said(there) == said(here)
    # Both work on without the server. One replaces a fact and hears another again; the other adds, edits the first,
    # learns the same thing in its own words and its own time, and deletes what the first one has just heard again.
    hour = skew / 24
    spaces = a_fact("Use spaces for indentation, not tabs.", day=1, supersedes=(first.id,))
    here.take([spaces, a_fact("Name tests as promises.", day=1)])
    here.take([a_fact("The wombat service owns the invoices.", "fact", day=1)])
    there.take([a_fact("Deploys go out on Tuesdays.", "operational", day=1 + hour)])
    there.take([a_fact("Name tests as promises.", day=1 + hour, session="s-2")])
    there.edit(first.id, "Use tabs for indentation, not spaces, said once.")
    there.delete(gone.id)
    machines = {"here": (here, 0.0), "there": (there, -skew)}
    other = "there" if back_first == "here" else "here"
    for home, drift in (machines[name] for name in (back_first, other, back_first, other, back_first)):
        assert sync(home, server, skew=drift).problems == ()
    twice = ["Name tests as promises."] * 2  # which a compile finds out, as when machines meet in a folder
    wanted = ["Deploys go out on Tuesdays.", *twice, "Use spaces for indentation, not tabs."]
    assert said(here) == said(there) == wanted
    assert not any("wombat" in content for content in server.live()), "a deletion outlives a repetition"
    for home in (here, there):
        logs = "".join(path.read_text() for path in home.lines.daily.folder.glob("*.md"))
        assert "wombat" not in logs
    assert sync(here, server) == sync(there, server) == Synced()


def test_pull_runs_when_push_fails(server: MemoryServer, here: Keeper, there: Keeper) -> None:
    exchanged(server, a_fact("Deploys go out on Tuesdays.", "operational"), there)
    here.take([a_fact("Use pnpm, not npm.")])
    server.fault_for["POST"] = 500
    done = sync(here, server)
    assert done.pulled == 1
    assert server_state(here)["waiting"] == 1


def test_what_the_server_refuses_holds_up_nothing_and_is_sent_later(server: MemoryServer, here: Keeper) -> None:
    long, good = a_fact("Use pnpm, not npm."), a_fact("Write short functions.")
    here.take([long, good])
    here.edit(long.id, "word " * 400)  # more than the server takes
    sync(here, server)
    assert server.live() == ["Write short functions."]
    assert "422" in refused(here)[long.id]
    assert here.store.get(long.id) is not None
    assert sync(here, server) == Synced()
    assert server_state(here)["waiting"] == 0
    here.edit(long.id, "Use pnpm, and nothing else.")
    sync(here, server)
    assert "Use pnpm, and nothing else." in server.live()
    assert refused(here) == {}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_degrades_to_local_and_recovers(server: MemoryServer, here: Keeper, status: int) -> None:
    server.fault_for.update(dict.fromkeys(("GET", "POST", "PUT", "DELETE"), status))
    here.take([a_fact("Use pnpm, not npm.")])
    assert "refuses the key" in sync(here, server).problems[0]
    assert said(here) == ["Use pnpm, not npm."]
    assert {path for _, path in server.requests} == {"/api/auth-check"}, "it is asked for nothing else"
    server.fault_for.clear()
    assert sync(here, server) == Synced(pushed=1)


def test_the_worker_says_once_that_the_key_is_refused(server: MemoryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_API_URL", server.url)
    monkeypatch.setenv("MEMORY_API_KEY", "wrong")
    home = Home.open()
    notice = Path(home.paths.notice)
    with Keeper.at(home) as kept:
        kept.take([a_fact("Use pnpm, not npm.")])
        for _ in range(3):
            together.run(home, is_news=False)
        assert notice.read_text().count("refuses the key") == 1
        notice.unlink()  # a session's start has shown it
        together.run(home, is_news=False)
        assert not notice.exists()
        monkeypatch.setenv("MEMORY_API_KEY", KEY)
        together.run(Home.open(), is_news=False)
        assert server.live() == ["Use pnpm, not npm."]


def test_an_address_that_is_none_stops_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_API_URL", "memory.example")
    home = Home.open()
    with Keeper.at(home) as kept:
        kept.take([a_fact("Use pnpm, not npm.")])
    assert run(flush, home) == 0
    assert "must be an http(s) address" in Path(home.paths.notice).read_text()
    with Keeper.at(home) as kept:
        assert said(kept) == ["Use pnpm, not npm."]


def test_what_stood_here_before_a_server_is_sent_also_what_has_ended(tmp_path: Path, server: MemoryServer) -> None:
    with keeper(tmp_path / "home") as home:
        old = a_fact("Use tabs for indentation, not spaces.")
        home.take([a_fact("Use pnpm, not npm."), old])
        home.take([a_fact("Use spaces for indentation, not tabs.", day=1, supersedes=(old.id,))])
    with keeper(tmp_path / "home") as home:
        assert sync(home, server).pushed == 3
        assert (len(server.memories), len(said(home))) == (3, 2)


def test_a_lost_store_forgets_no_number_and_no_tombstone(tmp_path: Path, server: MemoryServer, there: Keeper) -> None:
    one, two = a_fact("Use pnpm, not npm."), a_fact("Write short functions.")
    with keeper(tmp_path / "home") as home:
        home.take([one, two])
        sync(home, server)
        home.store.path.unlink()
    sync(there, server)
    there.delete(two.id)
    sync(there, server)
    with keeper(tmp_path / "home") as home:
        assert said(home) == ["Use pnpm, not npm.", "Write short functions."]
        sync(home, server)
        assert said(home) == server.live() == ["Use pnpm, not npm."]
        assert len(server.memories) == 2


@pytest.mark.parametrize("lost", ["store", "answer"])
def test_a_fact_whose_number_is_not_known_is_deleted_there_too(tmp_path: Path, server: MemoryServer, lost: str) -> None:
    fact = a_fact("Use pnpm, not npm.")
    with keeper(tmp_path / "home") as home:
        home.take([fact])
        if lost == "answer":
            server.fault_for["POST"] = "cut"
        sync(home, server)
        assert server.live() == [fact.content]
        server.fault_for.clear()
        if lost == "store":
            home.store.path.unlink()
    with keeper(tmp_path / "home") as home:
        home.delete(fact.id)
        server.fault_for["GET"] = 503
        assert sync(home, server).problems
        assert server.written()[-1][0] == "POST", "without a look nobody can tell the number"
        server.fault_for.clear()
        sync(home, server)
        assert said(home) == server.live() == []
        assert sync(home, server) == Synced()


def test_what_another_program_wrote_is_taken_in_and_never_rewritten(server: MemoryServer, here: Keeper) -> None:
    server.store({"content": "Two\nlines [[here]]", "category": "projects", "tags": "x,y"})
    before = dict(server.memories[1])
    sync(here, server)
    assert said(here) == [r"Two lines here"]
    sync(here, server)
    sync(here, server)
    assert server.memories[1] == before


def test_the_client_speaks_the_whole_interface(server: MemoryServer) -> None:
    client = Server(server.url + "/", KEY)
    assert client.user() == "default"
    number = client.add(Memory(0, "Use pnpm here"))
    client.change(Memory(number, "Use bun here"))
    assert [memory.content for memory in client.listing()] == ["Use bun here"]
    client.delete(number)
    client.delete(number)
    with pytest.raises(MemoryServerError) as gone:
        client.change(Memory(number, "x"))
    assert gone.value.status == 404
    with pytest.raises(MemoryServerError, match="refuses the key"):
        Server(server.url, "wrong").user()
    with pytest.raises(MemoryServerError, match="cannot be reached"):
        Server("http://127.0.0.1:9", KEY, timeout=1).user()
    with pytest.raises(ExpectedError, match="http"):
        Server("ftp://x", KEY)
    assert [Server(f"{scheme}://x", KEY).port for scheme in ("http", "https")] == [80, 443]


def test_a_pull_that_breaks_off_here_is_made_again_and_one_that_succeeds_is_not(
    server: MemoryServer, here: Keeper, there: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(here, server)
    exchanged(server, a_fact("Use pnpm, not npm."), there)
    with monkeypatch.context() as patch:
        patch.setattr(Records, "spread", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            sync(here, server)
    assert sync(here, server).pulled == 1
    assert sync(here, server).pulled == 0


def test_what_is_marked_sensitive_is_not_taken_in(server: MemoryServer, here: Keeper, there: Keeper) -> None:
    exchanged(server, a_fact("Use pnpm, not npm."), there)
    server.memories[1].update(is_sensitive=True, content="[hidden]")
    server.requests.clear()
    unlink(there)
    sync(here, server)
    sync(there, server)
    assert (said(here), server.written()) == ([], []), "nor sent again"


@pytest.mark.parametrize(("kind", "project"), [("preference", BLOG), ("decision", SHOP)])
def test_the_same_words_in_another_project_or_of_another_kind_are_another_fact(
    server: MemoryServer, here: Keeper, there: Keeper, kind: str, project: str
) -> None:
    here.take([a_fact("Use pnpm, not npm.")])
    exchanged(server, a_fact("Use pnpm, not npm.", kind, project=project, session="s-2"), there)
    sync(here, server)
    assert said(here) == ["Use pnpm, not npm.", "Use pnpm, not npm."]


def test_a_change_elsewhere_leaves_the_quote_and_the_session_that_only_this_machine_has(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    fact = exchanged(server, a_fact("Use pnpm, not npm.", session="s-7"), here, there)
    there.edit(fact.id, "Use pnpm 9.")
    sync(there, server)
    server.requests.clear()
    sync(here, server)
    got = here.get(fact.id)
    assert (got.content, got.quote, got.session) == ("Use pnpm 9.", fact.quote, "s-7")
    assert (server.written(), server_state(here)["waiting"]) == ([], 0), "what was pulled is not pushed back"


def test_an_end_is_told_and_is_not_taken_back_by_a_machine_that_has_not_heard_of_it(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    old = a_fact("Use tabs for indentation, not spaces.")
    here.take([old])
    sync(here, server)
    sync(there, server)
    exchanged(server, a_fact("Use spaces for indentation, not tabs.", day=1, supersedes=(old.id,)), here)
    there.edit(old.id, "Use tabs for indentation, not spaces, said once.")
    meet(server, there, here, there, here)
    for home in (here, there):
        assert home.get(old.id).ended


def test_how_often_a_fact_was_seen_never_shrinks_and_its_projects_add_up(
    server: MemoryServer, here: Keeper, there: Keeper
) -> None:
    fact = exchanged(server, a_fact("Use pnpm, not npm."), here, there)
    for home, ident, seen in ((here, BLOG, 5), (there, "shed-9", 2)):
        known = home.get(fact.id)
        home.write(replace(known, seen=seen, also=(ident,)))
    meet(server, here, there, here, there)
    for home in (here, there):
        got = home.get(fact.id)
        assert (got.seen, set(got.also)) == (5, {BLOG, "shed-9"})
    for home, place in ((here, SHOP), (there, BLOG)):  # at once
        home.take([], endings=[Ending(fact.id, home.get(fact.id).time, "user", projects=(place,))])
    meet(server, here, there, here, there)
    for home in (here, there):
        assert [fact.projects for fact in home.store.facts()] == [("shed-9",)]


def test_a_memorys_tags_are_whole_parts_however_many_there_are(here: Keeper) -> None:
    fact = a_fact("Use pnpm, not npm.", tags=tuple(f"{'tag' * 20}-{number}" for number in range(40)))
    memory = to_memory(fact)
    assert len(memory.tags) <= MAX_TAGS
    assert set(memory.tags.split(",")) <= {*to_memory(replace(fact, tags=())).tags.split(","), *fact.tags}


def test_of_two_memories_that_are_one_fact_the_older_stays(server: MemoryServer, here: Keeper) -> None:
    exchanged(server, a_fact("Use pnpm, not npm."), here)
    server.memories[2] = {**server.memories[1], "id": 2, "updated_at": server.now()}
    server.fault_for["DELETE"] = 503
    for _ in range(3):
        assert sync(here, server).problems, "nobody is told that it is gone"
    server.fault_for.clear()
    sync(here, server)
    assert (server.memories[1]["deleted_at"], bool(server.memories[2]["deleted_at"])) == (None, True)
    sync(here, server)  # brings the tombstone of the double, which names the fact
    assert said(here) == server.live() == ["Use pnpm, not npm."]


def test_a_younger_memory_known_first_gives_way_to_the_older_one(server: MemoryServer, here: Keeper) -> None:
    exchanged(server, a_fact("Use pnpm, not npm."), here)
    server.memories[7] = {**server.memories.pop(1), "id": 7, "updated_at": server.now()}
    with records_of(here) as records:
        records.db.execute("UPDATE rows SET number = 7")
    server.memories[3] = {**server.memories[7], "id": 3, "updated_at": server.now()}
    sync(here, server)
    assert (server.memories[3]["deleted_at"], bool(server.memories[7]["deleted_at"])) == (None, True)


def test_what_is_deleted_here_stays_so_though_another_program_rewrote_it(server: MemoryServer, here: Keeper) -> None:
    server.store({"content": "Likes tea", "category": "preferences"})
    sync(here, server)
    (fact,) = here.store.facts()
    here.delete(fact.id)
    server.memories[1].update(content="Likes green tea", updated_at=server.now())
    sync(here, server)
    assert said(here) == []


def test_a_fact_whose_number_was_lost_is_known_by_its_id(server: MemoryServer, here: Keeper, there: Keeper) -> None:
    fact = exchanged(server, a_fact("Use pnpm, not npm."), here, there)
    there.edit(fact.id, "Use yarn for everything.")
    sync(there, server)
    unlink(here)
    sync(here, server)
    assert said(here) == ["Use yarn for everything."]
    assert here.get(fact.id).quote == fact.quote


def test_what_is_added_while_the_whole_is_compared_is_not_pushed_back_as_lost(
    server: MemoryServer, here: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Server.listing
    late = iter([lambda: server.store({"content": "Likes tea", "category": "preferences"})])

    def asked(self: Server) -> list[Memory]:
        page = ask(self)
        next(late, lambda: None)()
        return page

    monkeypatch.setattr(Server, "listing", asked)
    for _ in range(2):
        sync(here, server)
    assert said(here) == server.live() == ["Likes tea"]
    assert server.written() == []


def test_what_may_have_arrived_waits_for_a_pull_before_it_is_sent_again(server: MemoryServer, here: Keeper) -> None:
    here.take([a_fact("Use pnpm, not npm.")])
    server.fault_for["POST"] = "cut"
    assert sync(here, server).problems
    assert len(server.memories) == 1, "the server did the work; only its answer was lost"
    server.fault_for = {"GET": 503}
    sync(here, server)
    assert [method for method, _ in server.requests].count("POST") == 1
    server.fault_for.clear()
    assert sync(here, server).problems == ()
    assert server.live() == ["Use pnpm, not npm."]
    assert server_state(here)["waiting"] == 0


def test_what_was_deleted_has_no_number_and_what_did_not_change_is_not_sent(server: MemoryServer, here: Keeper) -> None:
    fact = exchanged(server, a_fact("Use pnpm, not npm."), here)
    here.edit(fact.id, "Use pnpm 9.")
    sync(here, server)
    assert [method for method, _ in server.requests].count("PUT") == 1
    server.requests.clear()
    sync(here, server)
    assert {method for method, _ in server.requests} == {"GET"}
    here.delete(fact.id)
    assert sync(here, server).pushed == 1
    assert server.live() == []


def test_a_row_from_a_little_before_the_last_one_seen_is_not_missed(server: MemoryServer, here: Keeper) -> None:
    server.store({"content": "Likes tea", "category": "preferences"})
    sync(here, server)
    server.store({"content": "Likes rye bread", "category": "preferences"})  # its transaction began before, ended later
    early = clock.now() - timedelta(minutes=1)
    server.memories[2].update(created_at=early.isoformat(), updated_at=early.isoformat())
    sync(here, server)
    assert said(here) == ["Likes rye bread", "Likes tea"]


def test_a_tombstone_buries_no_fact_that_another_row_stands_for(server: MemoryServer, here: Keeper) -> None:
    fact = exchanged(server, a_fact("Use pnpm, not npm."), here)
    server.sequence += 1
    server.memories[2] = {**server.memories[1], "id": 2, "created_at": server.now(), "updated_at": server.now()}
    server.memories[1].update(deleted_at=server.now(), updated_at=server.now())
    unlink(here)
    sync(here, server)
    assert here.get(fact.id).quote == fact.quote


def test_a_fact_edited_here_does_not_follow_another_programs_row(server: MemoryServer, here: Keeper) -> None:
    server.store({"content": "Likes tea", "category": "preferences"})
    sync(here, server)
    (fact,) = here.store.facts()
    here.edit(fact.id, "Likes oolong.")
    sync(here, server)
    server.memories[1].update(content="Likes rye bread", updated_at=server.now())
    sync(here, server)
    assert said(here) == ["Likes oolong.", "Likes rye bread"]


def test_a_deleted_fact_does_not_come_back_by_a_row_that_another_machine_wrote_of_it(
    server: MemoryServer, here: Keeper
) -> None:
    exchanged(server, a_fact("Use pnpm, not npm."), here)
    row = dict(server.memories[1])
    server.one("default", "DELETE", 1, {})
    sync(here, server)
    assert said(here) == []
    server.sequence = 2
    server.memories[2] = {**row, "id": 2, "created_at": server.now(), "updated_at": server.now()}
    sync(here, server)
    assert said(here) == server.live() == []


def test_a_row_that_counts_less_takes_nothing_from_what_was_counted_here(server: MemoryServer, here: Keeper) -> None:
    fact = exchanged(server, a_fact("Use pnpm, not npm.", seen=5, last=clock.now()), here)
    tags = server.memories[1]["tags"]
    assert "seen:5" in tags
    fewer = ",".join(tag for tag in tags.replace("seen:5", "seen:2").split(",") if not tag.startswith("last:"))
    server.memories[1].update(tags=fewer, content="Use pnpm 9.", updated_at=server.now())
    sync(here, server)
    got = here.get(fact.id)
    assert (got.content, got.seen, got.last) == ("Use pnpm 9.", 5, fact.last)
    server.memories[1].update(tags=tags.replace("seen:5", "seen:3"), updated_at=server.now())
    assert sync(here, server).pulled == 0


@pytest.mark.parametrize("hidden", [set[int](), {1}], ids=["listed", "not listed"])
@pytest.mark.parametrize("change", ["delete", "edit"])
def test_a_row_that_was_put_in_the_place_of_ours_unseen_is_not_written(
    server: MemoryServer, here: Keeper, change: str, hidden: set[int]
) -> None:
    fact, other = a_fact("Use pnpm, not npm."), a_fact("Deploys go out on Tuesdays.", session="s-9")
    here.take([fact])
    sync(here, server)
    sync(here, server)  # has seen the row now
    long_ago = "2026-01-01T00:00:00+00:00"  # earlier than what was seen
    tags = to_memory(other).tags
    server.memories[1].update(content=other.content, tags=tags, created_at=long_ago, updated_at=long_ago)
    here.delete(fact.id) if change == "delete" else here.edit(fact.id, "Use pnpm 9.")
    server.hidden = hidden
    sync(here, server)
    assert (server.memories[1]["content"], server.memories[1]["deleted_at"]) == (other.content, None)


def test_a_server_that_is_away_is_not_asked_about_everything_that_waits(server: MemoryServer, here: Keeper) -> None:
    here.take([a_fact(f"The {word} service owns the {word}s.", "fact", session=word) for word in "abcdefgh"])
    for status in (503, 413):
        server.fault_for["POST"] = status
        server.requests.clear()
        sync(here, server)
        assert len(server.written()) == MOST_FAILURES
    server.fault_for.clear()
    *first, last = sorted(here.store.facts(), key=lambda fact: fact.id)
    for fact in first:
        here.edit(fact.id, "word " * 400 + fact.content)  # more than the server takes
    for _ in first:
        sync(here, server)
    assert server.live() == [last.content], "what is refused holds up nothing"


@pytest.mark.parametrize("lost", ["a fresh machine", "a lost store", "an old copy of the logs"])
def test_a_copied_home_takes_no_correction_back(
    tmp_path: Path, server: MemoryServer, here: Keeper, there: Keeper, lost: str
) -> None:
    """A copy is as new as the moment of copying; what counts is when the words were written."""
    fact = a_fact("Use npm.")
    here.take([fact])
    meet(server, here, there)
    log = here.lines.daily.path(MONDAY.date())
    old = log.read_text()
    there.edit(fact.id, "Use pnpm.")
    meet(server, there, here)
    late = here
    if lost == "a fresh machine":
        late = keeper(tmp_path / "late")
        log = late.lines.daily.path(MONDAY.date())
        log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(old)
    if lost == "a lost store":
        here.store.db.close()
        here.store.path.unlink()
        late = keeper(tmp_path / "here")
    late.refresh()
    meet(server, late, there, late)
    assert said(late) == said(there) == server.live() == ["Use pnpm."]
