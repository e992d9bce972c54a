"""Random lives of real homes that exchange their memory: flushes, a person's edits, forgetting, kills, copies.

Everything that is said holds a word of its own (``w0017x``), by which it is found again. At the end all homes hold the
same, every word once, except what was replaced or forgotten, and no folder holds a forgotten word.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import platform
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

from exchange_lives import Killed
from facts import MONDAY, SHOP, a_fact, parsed
from memoria.amending import forget_plan, proof, removal
from memoria.base import failpoints
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.exchange import carriers, keys
from memoria.exchange.carriers import Carrier, CarrierError, Folder
from memoria.exchange.forms import Day, Page
from memoria.exchange.keys import Key
from memoria.exchange.record import PROSE, unseal
from memoria.exchange.records import Records
from memoria.ground import clock
from memoria.ground.clock import Zone
from memoria.ground.home import Home
from memoria.pages import refresh
from memoria.statements import lines
from memoria.statements.fact import Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.wiki import lines as wiki_lines
from memoria.wiki.article import Article
from memoria.wiki.folder import Wiki
from memoria.worker import together

WORD = re.compile(r"\bw\d{4}x\b")
ABOUT = re.compile(r"about (w\d{4}x)\.")
KILLS = (
    "exchange.read", "exchange.written", "exchange.sent", "exchange.placed", "files.written", "files.compared",
    "files.replaced",
)  # fmt: skip
SLUGS = ("concepts/queue", "concepts/job", "connections/queue-and-job")
DAYS = 3
SECONDS = itertools.count()


class Machine:
    """A home on a machine of its own."""

    def __init__(self, name: str, folder: Path, address: str, rng: random.Random) -> None:
        self.name, self.folder, self.rng, self.skew = name, folder, rng, timedelta()
        settings = Settings()
        settings.home, settings.sync, settings.tz = str(folder), address, "UTC"
        self.home = Home(settings, Paths(str(folder)), Zone("UTC"))
        self.daily = DailyLog(self.home.paths)
        Path(self.home.paths.state).mkdir(parents=True, exist_ok=True)
        self.is_away = False
        self.is_torn = False  # its last exchange was killed, so that it does not know yet what it has written

    @contextmanager
    def at_work(self, reached: Callable[[str], object] = lambda _: None) -> Iterator[None]:
        """Let time, name and failpoints be those of this machine."""
        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(clock, "now", self._now))
            stack.enter_context(mock.patch.object(os, "urandom", self.rng.randbytes))
            stack.enter_context(mock.patch.object(platform, "node", return_value=f"{self.name.title()}.local"))
            stack.enter_context(mock.patch.object(failpoints, "reach", reached))
            stack.enter_context(mock.patch.object(refresh, "renew"))
            with suppress(Killed):
                yield

    def _now(self) -> datetime:
        return MONDAY + timedelta(days=30, seconds=next(SECONDS)) + self.skew

    def sync(
        self, reached: Callable[[str], object] = lambda _: None, *, taken: bool = False, restored: bool = False
    ) -> None:
        with self.at_work(reached), suppress(CarrierError), Records.of(self.home.paths) as records:
            carrier = _Away(self.folder) if self.is_away else together.carrier_of(self.home)
            done = together.exchange(self.home, records, carrier, taken=taken, restored=restored)
            if done.failure:
                raise done.failure
            self.is_torn = False

    def forget(self, target: str) -> None:
        with self.at_work():
            removal.carry_out(self.home, forget_plan.plan(self.home, target))

    def keeper(self) -> Keeper:
        return Keeper.at(self.home)

    def facts(self) -> list[Fact]:
        return [fact for day in self.daily.days() for fact in parsed(self.daily.text(day), day)]

    def pieces(self) -> dict[str, str]:
        """Return what the daily logs hold, by id, as far as a formatter does not change it."""
        days = ((day, Day(self.daily.text(day))) for day in self.daily.days())
        return {piece.id: piece.full_digest for day, text in days for piece in text.pieces(day)}

    def wiki(self) -> Wiki:
        return Wiki(self.home.paths)

    def pages(self) -> Iterator[Page]:
        wiki = self.wiki()
        for slug in wiki.slugs():
            yield Page(slug, (wiki.read(slug) or b"").decode())

    def placed(self) -> dict[str, str]:
        """Return what the articles hold, by id."""
        return {piece.id: piece.full_digest for page in self.pages() for piece in page.pieces() if not piece.follows}

    def settle(self) -> None:
        with self.at_work(), self.keeper() as keeper:
            refresh.settle(self.home, keeper)

    def told(self) -> set[str]:
        """Return the words in a person's prose in articles."""
        return {word for page in self.pages() for piece in page.pieces() if piece.kind == PROSE
                for word in WORD.findall(piece.text)}  # fmt: skip

    def shown(self) -> Counter[str]:
        """Return how often each word is told in a context or a statement."""
        said = [fact.content for fact in self.facts()]
        said += [entry.context for day in self.daily.days() for entry in self.daily.entries(day)]
        return Counter(word for text in said for word in WORD.findall(text))


class _Away(Folder):
    """A carrier that cannot be reached."""

    def list_files(self) -> set[carriers.Place]:
        raise CarrierError("away")


OPERATIONS = {
    "flush": 8, "learn": 6, "repeat": 2, "end": 2, "supersede": 2, "promote": 1, "reword": 7, "rewrite": 4, "tick": 3,
    "untick": 1, "delete": 2, "reformat": 2, "forget": 1, "sync": 14, "kill": 5, "race": 3, "backup": 1, "restore": 1,
    "clone": 0.4, "away": 1, "skew": 0.5,
    "place": 8, "settle": 2, "put_right": 2, "strike": 1, "shift": 2, "carry": 1, "comment": 4, "comment_anew": 2,
    "discard": 0.5, "reflow": 1,
}  # fmt: skip


class Life:
    """One life of some homes."""

    machine = Machine

    def __init__(self, folder: Path, seed: int, count: int = 3, address: str = "") -> None:
        self.rng, self.folder = random.Random(seed), folder
        self.address = address or str(folder / "carrier")
        if not address:
            (folder / "carrier").mkdir(parents=True)
        names = ("desk", "laptop", "server", "tablet", "attic")[:count]
        self.machines = [self.machine(name, folder / name, self.address, self.rng) for name in names]
        self.number = 0
        self.replaced: set[str] = set()
        self.unsettled: set[str] = set()  # replaced where a kill left open whether they had come: both may stand
        self.forgotten: set[str] = set()
        self.said: set[str] = set()
        self.owners: dict[str, set[str]] = {}  # of a word: the statements in which it, or one before it, was said
        self.gone: set[str] = set()  # statements that were forgotten, in whatever words
        self.notes: set[str] = set()  # words of a person's prose
        self.placed: set[str] = set()  # statements that must stand on an article, unless one is ``touched``
        self.touched: set[str] = set()
        self.done: Counter[str] = Counter()

    def play(self, steps: int, operations: dict[str, float] = OPERATIONS) -> list[str]:
        """Return what went wrong."""
        for _ in range(steps):
            name = self.rng.choices([*operations], [*operations.values()])[0]
            self.done[name] += 1
            machine = self.rng.choice(self.machines)
            with machine.at_work():
                getattr(self, f"_{name}")(machine)
        for machine in self.machines:
            machine.is_away = False
        for _ in range(5):
            for machine in self.machines:
                machine.sync(taken=True)  # what a person deleted although it was all that there was
                machine.settle()
        return list(self.wrong())

    def _word(self) -> str:
        self.number += 1
        word = f"w{self.number:04d}x"
        self.said.add(word)
        return word

    def _day(self) -> int:
        return self.rng.randrange(DAYS)

    # -- memoria

    def _flush(self, machine: Machine) -> None:
        day, name = self._day(), f"{self.rng.getrandbits(32):08x}"
        kinds = ("decision", "preference", "debugging")
        facts = [a_fact(f"The rule {self._word()} holds.", kind, day=day) for kind in self.rng.sample(kinds, 2)]
        moment = MONDAY + timedelta(days=day)
        entry = Entry(
            id=name, day=moment.date(), time=self._time(), session=f"s-{name}", project="shop",
            project_key=SHOP, title=f"Work {name}", context=f"It was about {self._word()}.",
            key_exchanges=(f"asked {name}",), action_items=(f"Do {name}", f"See {name}"),
            learned=tuple(map(lines.to_learned, facts)), turns=(f"k{name}",), model="m",
        )  # fmt: skip
        machine.daily.append(entry)

    def _time(self) -> str:
        return f"{self.rng.randrange(8, 20):02d}:05"

    def _learn(self, machine: Machine) -> None:
        with machine.keeper() as keeper:
            keeper.take([a_fact(f"Learn {self._word()} well.", day=self._day())], "shop")

    def _live(self, machine: Machine) -> Fact | None:
        found = [fact for fact in machine.facts() if not fact.ended and WORD.search(fact.content)]
        return self.rng.choice(found) if found else None

    def _repeat(self, machine: Machine) -> None:
        if fact := self._live(machine):
            with machine.keeper() as keeper:
                keeper.take([a_fact(fact.content, fact.kind, day=self.rng.uniform(4, 9), session="s-again")], "shop")

    def _end(self, machine: Machine) -> None:
        if fact := self._live(machine):
            with machine.keeper() as keeper:
                moment = MONDAY + timedelta(days=10, seconds=self.number)
                keeper.take([], endings=[Ending(fact.id, moment, "user")])

    def _supersede(self, machine: Machine) -> None:
        if fact := self._live(machine):
            with machine.keeper() as keeper:
                keeper.take([a_fact(f"Now {self._word()} holds.", day=12, supersedes=(fact.id,))], "shop")

    def _promote(self, machine: Machine) -> None:
        if fact := self._live(machine):
            with machine.keeper() as keeper, suppress(Exception):
                keeper.promote(fact.id)

    # -- a person

    def _save(self, machine: Machine, change: Callable[[str], str], word: str = "") -> None:
        """Change the first daily log that holds a word, or any."""
        paths = [path for path in sorted(machine.daily.folder.glob("*.md")) if word in path.read_text()]
        if paths:
            path = self.rng.choice(paths)
            path.write_text(change(path.read_text()))

    def _reword(self, machine: Machine) -> None:
        if fact := self._live(machine):
            old = self.rng.choice(WORD.findall(fact.content))
            new = self._word()
            line = f"{fact.content} ^{fact.id}"
            self._save(machine, lambda text: text.replace(line, line.replace(old, new)), line)
            (self.unsettled if machine.is_torn else self.replaced).add(old)
            self.owners[new] = self.owners.get(old, set()) | {_root(fact)}

    def _rewrite(self, machine: Machine) -> None:
        entries = [entry for day in machine.daily.days() for entry in machine.daily.entries(day)]
        if words := [word for entry in entries for word in ABOUT.findall(entry.context)]:
            old, new = self.rng.choice(words), self._word()
            self._save(machine, lambda text: text.replace(f"about {old}.", f"about {new}."), f"about {old}.")
            self.replaced.add(old)

    def _tick(self, machine: Machine) -> None:
        self._save(machine, lambda text: text.replace("- [ ] ", "- [x] ", 1), "- [ ] ")

    def _untick(self, machine: Machine) -> None:
        self._save(machine, lambda text: text.replace("- [x] ", "- [ ] ", 1), "- [x] ")

    def _delete(self, machine: Machine) -> None:
        if not machine.is_torn and (fact := self._live(machine)):
            rows = re.compile(rf"(?m)^- \\?\[\w+\] .*\^{fact.id}\n(?:  .*\n)*")
            self._save(machine, lambda text: rows.sub("", text), f"^{fact.id}\n")
            self.replaced.update(WORD.findall(fact.content))
            self.touched.add(fact.id)  # where it is reworded meanwhile, it lives on, and the next compile places it

    def _reformat(self, machine: Machine) -> None:
        def formatted(text: str) -> str:
            if "\n* " in text:
                text = text.replace("\n* ", "\n- ").replace("\n- \\[", "\n- [")
            else:
                text = re.sub(r"(?m)^- \[(?=[a-z]{2,}\] )", r"- \\[", text)
                text = re.sub(r"(?m)^- (?!\\\[)", "* ", text)
            return re.sub(r"\n\n(?=\S)", lambda _: "\n\n\n" if self.rng.random() < 0.3 else "\n\n", text)

        self._save(machine, formatted)

    def _forget(self, machine: Machine) -> None:
        words = sorted(machine.shown().keys() | machine.told())
        if words:
            word = self.rng.choice(words)
            self.forgotten.add(word)
            self.gone |= {_root(fact) for fact in machine.facts() if word in f"{fact.content} {fact.quote}"}
            machine.forget(word)

    # -- the wiki

    def _place(self, machine: Machine) -> None:
        """Give some statements their places, as a compile does."""
        with machine.keeper() as keeper:
            keeper.refresh()
            new = [fact for fact in keeper.store.facts() if fact.id not in keeper.store.placed_ids()][:3]
            wiki, slug = machine.wiki(), self.rng.choice(SLUGS)
            page = wiki.get(slug) or Article.new(slug, slug.rpartition("/")[2], "What is known of it.", MONDAY.date())
            page.give_to(SHOP)
            for fact in new:
                row = wiki_lines.claim_of(fact, keeper.store).render()
                wiki_lines.place(page, wiki_lines.section_of(fact.kind), [row], fact.id, keeper.store)
            if new:
                wiki.path(slug).parent.mkdir(parents=True, exist_ok=True)
                wiki.path(slug).write_bytes(Wiki.encode(page))
                self.placed.update(fact.id for fact in new)
                refresh.settle(machine.home, keeper)

    def _settle(self, machine: Machine) -> None:
        machine.settle()

    def _line(self, machine: Machine) -> tuple[Path, str, str] | None:
        """Return a current line of an article, with its path and its statement."""
        found = [(machine.wiki().path(page.slug), claim.render(), claim.id) for page in machine.pages()
                 for claim in page.claims if claim.id and f"{claim.render()}\n" in page.render()]  # fmt: skip
        return self.rng.choice(found) if found else None

    def _put_right(self, machine: Machine) -> None:
        if line := self._line(machine):
            path, row, ident = line
            self.touched.add(ident)
            if words := WORD.findall(row):
                new = self._word()
                told = {_root(fact) for fact in machine.facts() if fact.id == ident} or {ident}
                self.owners[new] = self.owners.get(words[0], set()) | told
                path.write_text(path.read_text().replace(row, row.replace(words[0], new), 1))
                machine.settle()

    def _strike(self, machine: Machine) -> None:
        if line := self._line(machine):
            path, row, ident = line
            self.touched.add(ident)
            path.write_text(path.read_text().replace(f"{row}\n", "", 1))

    def _shift(self, machine: Machine) -> None:
        if line := self._line(machine):
            path, row, _ = line
            path.write_text(path.read_text().replace(f"{row}\n", "", 1) + f"\n## Limits\n\n{row}\n  - since then\n")

    def _carry(self, machine: Machine) -> None:
        if line := self._line(machine):
            path, row, _ = line
            others = [machine.wiki().path(page.slug) for page in machine.pages()]
            other = self.rng.choice(others)
            if other != path:
                other.write_text(f"{other.read_text()}\n## Limits\n\n{row}\n")
                path.write_text(path.read_text().replace(f"{row}\n", "", 1))

    def _comment(self, machine: Machine) -> None:
        if pages := list(machine.pages()):
            page, word = self.rng.choice(pages), self._word()
            page.section("My notes").add(f"Think of {word}.", "")
            machine.wiki().path(page.slug).write_bytes(Wiki.encode(page))
            self.notes.add(word)

    def _comment_anew(self, machine: Machine) -> None:
        if words := sorted(machine.told()):
            old, new = self.rng.choice(words), self._word()
            self.notes.add(new)
            self.replaced.add(old)
            for page in machine.pages():
                path = machine.wiki().path(page.slug)
                path.write_text(path.read_text().replace(f"Think of {old}.", f"Think of {new}."))

    def _discard(self, machine: Machine) -> None:
        pages = list(machine.pages())
        if len(pages) > 1:
            page = self.rng.choice(pages)
            self.touched.update(claim.id for claim in page.claims)
            self.replaced.update(self.notes & set(WORD.findall(page.render())))
            machine.wiki().path(page.slug).unlink()

    def _reflow(self, machine: Machine) -> None:
        if pages := list(machine.pages()):
            path = machine.wiki().path(self.rng.choice(pages).slug)
            path.write_text(re.sub(r"\n\n## (.*)", r"\n\n\n\1\n---", path.read_text().replace("\n- ", "\n* ")))

    # -- machines

    def _sync(self, machine: Machine) -> None:
        machine.sync()

    def _kill(self, machine: Machine) -> None:
        step, left = self.rng.choice(KILLS), [self.rng.randrange(1, 4)]

        def reached(name: str) -> None:
            if name == step:
                left[0] -= 1
                if not left[0]:
                    machine.is_torn = True
                    raise Killed

        machine.sync(reached)

    def _race(self, machine: Machine) -> None:
        """Let a person save a daily log in the moment in which the exchange writes it."""
        saved: list[str] = []

        def reached(name: str) -> None:
            if name == "files.compared" and not saved:
                saved.append("")
                with mock.patch.object(failpoints, "reach"):
                    self.rng.choice((self._rewrite, self._tick, self._delete))(machine)

        machine.sync(reached)

    def _backup(self, machine: Machine) -> None:
        machine.sync()
        _copied(machine.folder, self.folder / f"{machine.name}.backup")

    def _restore(self, machine: Machine) -> None:
        backup = self.folder / f"{machine.name}.backup"
        if backup.exists() and not machine.is_away:
            machine.sync()
            _copied(backup, machine.folder)

    def _clone(self, machine: Machine) -> None:
        other = self.rng.choice(self.machines)
        if other is not machine and not machine.is_away:
            other.sync()  # else the same new entry would be written in two homes, as far as anybody can tell
            machine.sync()
            _copied(other.folder, machine.folder)

    def _away(self, machine: Machine) -> None:
        machine.is_away = not machine.is_away

    def _skew(self, machine: Machine) -> None:
        machine.skew = timedelta(days=self.rng.choice((0, -1500, 900)))

    # -- what went wrong

    def wrong(self) -> Iterator[str]:
        first, *others = self.machines
        mine = first.pieces()
        for other in others:
            theirs = other.pieces()
            if differ := sorted(ident for ident in {*mine, *theirs} if mine.get(ident) != theirs.get(ident)):
                yield f"diverged: {other.name} {differ[:3]}"
        yield from self._wrong_wiki()
        shown = first.shown()
        for word in sorted(self.said - self.notes):
            if word in self.forgotten and shown[word]:
                yield f"back: {word}"
            elif word not in self.forgotten | self.replaced | self.unsettled and not (shown[word] or self._went(word)):
                yield f"lost: {word}"
            if word in self.replaced and shown[word]:
                yield f"old again: {word}"
            if shown[word] > 1:
                yield f"twice: {word}"
        texts = [path.read_text() for machine in self.machines for path in machine.daily.folder.glob("*")]
        if any(sign in text for text in texts for sign in ("<<<<<<<", ">>>>>>>")):
            yield "markers"
        yield from self._left()

    def _wrong_wiki(self) -> Iterator[str]:
        first, *others = self.machines
        mine, told = first.placed(), first.told()
        for other in others:
            theirs = other.placed()
            if differ := sorted(ident for ident in {*mine, *theirs} if mine.get(ident) != theirs.get(ident)):
                yield f"other wiki: {other.name} {differ[:3]}"
        yield from (f"lost note: {word}" for word in sorted(self.notes - told - self.replaced - self.forgotten))
        yield from (f"note back: {word}" for word in sorted(self.notes & told & self.forgotten))
        facts = {fact.id: fact for fact in first.facts()}
        lines = [(page.slug, claim) for page in first.pages() for claim in page.claims if claim.id]
        for slug, claim in lines:
            if claim.id not in facts or facts[claim.id].ended:
                yield f"ended but current: {claim.id} on {slug}"
            elif WORD.findall(claim.text) != WORD.findall(facts[claim.id].content):
                yield f"other words: {claim.text} on {slug}"
        missing = self.placed - self.touched - {claim.id for _, claim in lines}
        yield from (f"no place: {ident}" for ident in sorted(missing) if ident in facts and not facts[ident].ended)

    def _went(self, word: str) -> bool:
        """Return whether a word was said in a statement that another machine forgot in its former words."""
        return not self.owners.get(word, set()).isdisjoint(self.gone)

    def _left(self) -> Iterator[str]:
        carrier: Carrier = carriers.open_carrier(self.address, Path(self.machines[0].home.paths.exchange_clone))
        key: Key | None = keys.read_key(self.machines[0].home.paths)
        for _, data in carrier.read(carrier.list_files()):
            for record in unseal(data, key):
                if words := self.forgotten.intersection(WORD.findall(record.text or "")):
                    yield f"left in the carrier: {words} {record.id}"
        for machine in self.machines:
            if self.forgotten:
                found = asyncio.run(proof.search(machine.home, sorted(self.forgotten)))
                for place in found.holding:
                    yield f"left in {place}"


def _root(fact: Fact) -> str:
    """Return the id of a statement, or of the one beside which it stands."""
    return fact.beside.partition(" ")[0] or fact.id


def _copied(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
