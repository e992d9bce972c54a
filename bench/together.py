"""Let homes live at random on several machines, and count what was lost, doubled or came back.

``uv run python -m bench.together`` runs all parts; ``--part NAME --count N --seed S`` one of them:

- ``model``: random steps of the records beside those of a model, whose view must be the same after each step; and
  records alone, over folders that a program synchronises late, by halves and with conflict copies
- ``lives``: 2 to 5 real homes in one process, with failpoints, saves in the middle of a write, clocks years apart,
  partitions, clones and restored back-ups
- ``written``: the same with entries and a person's notes that look like real ones, whose files are compared row by row
- ``processes``: the same with a process for each exchange, over a folder and over real git, killed at each failpoint
- ``join``: a machine joins a memory of 10,000 articles; then one session's exchange
- ``forgotten``: texts that are forgotten on one machine, searched for in all homes and on a git host after its gc

Only processor time is measured, because the machine may do other things.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import exchange_lives
from bench import exchange_model
from exchange_lives import fresh
from facts import MONDAY, SHOP, a_fact
from home_lives import KILLS, OPERATIONS, WORD, Life, Machine
from memoria.daily.entry import Entry
from memoria.ground import replaced
from memoria.pages import refresh
from memoria.statements import lines as statement_lines
from memoria.statements.fact import Ending, Fact
from memoria.wiki import lines
from memoria.wiki.article import Article, Section
from memoria.wiki.folder import Wiki

STEPS = 40  # of a life
MOST_JOIN_S, MOST_MORE = 30, 2_000  # bytes
ARTICLES, DAYS = 10_000, 300  # that a machine joins, and how many days they were learned on
PARTS: dict[str, int] = {"model": 1_250, "lives": 2_000, "written": 300, "processes": 100, "join": 2, "forgotten": 100}


class Process(Machine):
    """A machine whose exchanges are processes of their own."""

    def run(self, *words: str, kill: str = "") -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent / "user"),
            "TZ": "UTC",
            "MEMORIA_HOME": str(self.folder),
            "MEMORIA_SYNC": self.home.settings.sync,
            "MEMORIA_KILL_AT": kill,
        }
        command = [sys.executable, "-m", "memoria", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def sync(self, reached: object = None, *, taken: bool = False, restored: bool = False) -> None:
        if not self.is_away:
            kill = f"{reached.step}:{reached.times}" if isinstance(reached, Kill) else ""
            done = self.run("sync", *["--deleted"] * taken, *["--restore"] * restored, kill=kill)
            if done.returncode not in (0, -9) and "Other machines" not in done.stderr:
                raise AssertionError(f"sync: {done.returncode} {done.stdout} {done.stderr}")

    def forget(self, target: str) -> None:
        self.run("forget", target, "--yes")


class Kill:
    """The step at which a process is to be killed."""

    def __init__(self, rng: random.Random) -> None:
        self.step, self.times = rng.choice(KILLS), rng.randrange(1, 4)


class ProcessLife(Life):
    """A life whose machines exchange in processes of their own."""

    machine = Process

    def _kill(self, machine: Machine) -> None:
        machine.sync(Kill(self.rng))  # type: ignore[arg-type]

    def _race(self, machine: Machine) -> None:
        self._sync(machine)


WRITTEN = {name: weight for name, weight in OPERATIONS.items() if name not in ("reformat", "shift", "carry", "reflow")}
WRITTEN |= {"note": 6, "extend": 6, "tick_note": 3, "end_note": 1, "forget_row": 0.5}

BODY = """
#### What was measured

1. The queue held 500 jobs ({one}).
   - 12 of them twice
2. See [[concepts/queue|the queue]] and <https://example.org/queue#jobs>.

```sh
# {two} is no heading
- [ ] no box
make {two} && ls -- *.log
```

> Quoted, **in bold**: `flush()` | {three}

| day | jobs |
|---|---|
| Mon | 500 |
"""
NOTE = """
## Before the release ({one})

Ask Ada *first*, see [[daily/2026-11-16]].

- [ ] Call Bob about the queue ({two})
- [ ] Rotate the pager
  - nested, {three}
- [x] Order pizza

"""


class WrittenLife(Life):
    """A life whose entries have headings, lists, code and links, with a person's notes between them.

    Row by row the articles of all homes are the same in the end, and the days but for the order in a minute.
    ``rows``: words that a person wrote outside statements.
    """

    def __init__(self, folder: Path, seed: int, count: int) -> None:
        super().__init__(folder, seed, count)
        self.rows: set[str] = set()

    def _time(self) -> str:
        minutes = self.number // 3  # some are of one minute
        return f"{9 + minutes // 60:02d}:{minutes % 60:02d}"

    def _learn(self, machine: Machine) -> None:
        with machine.keeper() as keeper:
            fact = a_fact(f"Learn {self._word()} well.", day=self._day() + self.number * 20 / 86_400)
            keeper.take([fact], "shop")

    def _filled(self, form: str) -> str:
        words = [self._word() for _ in range(3)]
        self.rows.update(words)
        self.said.difference_update(words)
        return form.format(one=words[0], two=words[1], three=words[2])

    def _live(self, machine: Machine) -> Fact | None:
        found = [
            fact for fact in machine.facts() if not fact.ended and self.said.intersection(WORD.findall(fact.content))
        ]
        return self.rng.choice(found) if found else None

    def _extend(self, machine: Machine) -> None:
        """Let a person add to an entry."""
        rows = [row for day in machine.daily.days() for row in machine.daily.text(day).split("\n") if row[:4] == "^e-"]
        if rows:
            row = self.rng.choice(rows)
            self._save(machine, lambda text: text.replace(f"{row}\n", f"{self._filled(BODY)}\n{row}\n", 1), f"{row}\n")

    def _comment(self, machine: Machine) -> None:
        for page in machine.pages():
            if all(not section.is_headed("My notes") for section in page.sections):
                page.insert(Section("My notes", "## My notes"), len(page.sections))
                machine.wiki().path(page.slug).write_bytes(Wiki.encode(page))
        super()._comment(machine)

    def _note(self, machine: Machine) -> None:
        """Let a person write below an entry, or at a day's end."""

        def noted(text: str) -> str:
            ends = [at.end() for at in re.finditer(r"(?m)^<!-- memoria entry=.* -->\n", text)]
            end = self.rng.choice([*ends, len(text)])
            return f"{text[:end]}{self._filled(NOTE)}{text[end:]}"

        self._save(machine, noted)

    def _tick_note(self, machine: Machine) -> None:
        self._save(machine, lambda text: text.replace("- [ ] Rotate", "- [x] Rotate", 1), "- [ ] Rotate")

    def _end_note(self, machine: Machine) -> None:
        """Let a statement end that memoria found in a person's note."""
        found = [
            fact for fact in machine.facts() if not fact.ended and self.rows.intersection(WORD.findall(fact.content))
        ]
        if found:
            with machine.keeper() as keeper:
                keeper.take([], endings=[Ending(self.rng.choice(found).id, MONDAY + timedelta(days=10), "user")])

    def _forget_row(self, machine: Machine) -> None:
        words = sorted(self.rows.intersection(WORD.findall("\n".join(_texts(machine).values()))))
        if words:
            word = self.rng.choice(words)
            self.forgotten.add(word)
            machine.forget(word)

    def wrong(self) -> Iterator[str]:
        yield from super().wrong()
        first, *others = [{name: _bare(text) for name, text in _texts(machine).items()} for machine in self.machines]
        for machine, other in zip(self.machines[1:], others, strict=True):
            for name in sorted(first.keys() | other.keys()):
                mine, theirs = first.get(name, []), other.get(name, [])
                if sorted(mine) != sorted(theirs):
                    yield f"other rows: {name} of {machine.name}"
                elif mine != theirs and ("/" in name or _minutes(mine) != _minutes(theirs)):
                    yield f"other order: {name} of {machine.name}"
        there = set(WORD.findall(str(first)))
        yield from (f"lost row: {word}" for word in sorted(self.rows - there - self.forgotten))
        yield from (f"row back: {word}" for word in sorted(self.rows & there & self.forgotten))


def _texts(machine: Machine) -> dict[str, str]:
    return {f"{day}": machine.daily.text(day) for day in machine.daily.days()} | {
        page.slug: page.render() for page in machine.pages()}  # fmt: skip


def _minutes(rows: list[str]) -> list[str]:
    """Return the minutes of a day's entries; what is of one minute stands as it was met."""
    return re.findall(r"(?m)^### Session \((\d\d:\d\d)", "\n".join(rows))


def _bare(text: str) -> list[str]:
    """Return the rows without those that memoria writes above single statements, and headings with nothing below."""
    rows = [row.strip().partition(") · ")[0] for row in text.split("\n") if row.strip() and row[:3] != "# D"]
    rows = [row for row in rows if not row.startswith("### L")]
    pairs = zip(rows, [*rows[1:], "#"], strict=False)
    return [row for row, below in pairs if not (row.startswith("## ") and below[:1] in ("#", "^"))
            and not (row.endswith(":**") and below[:1] in ("^", "*"))]  # fmt: skip


def model(folder: Path, seed: int) -> list[str]:
    """Play 80 steps of the records beside the model, and a life of records without homes."""
    try:
        exchange_model.side_by_side(fresh(folder), seed, 80)
    except AssertionError as error:
        return [f"another view: {error}"]
    return exchange_lives.Life(fresh(folder), seed).play(60)


def lives(folder: Path, seed: int) -> list[str]:
    """Play a life of real homes in this process."""
    return Life(fresh(folder), seed, 2 + seed % 4).play(STEPS)


def written(folder: Path, seed: int) -> list[str]:
    """Play a life of real homes whose files look as those of people do."""
    return WrittenLife(fresh(folder), seed, 2 + seed % 4).play(STEPS, WRITTEN)


def processes(folder: Path, seed: int) -> list[str]:
    """Play a life of real homes with a process for each exchange."""
    fresh(folder)
    address = str(folder / "host.git") if seed % 2 else ""
    if address:
        subprocess.run(["git", "init", "-q", "--bare", address], check=True)
    return ProcessLife(folder, seed, 2 + seed % 2, address).play(16)


def forgotten(folder: Path, seed: int) -> list[str]:
    """Forget words on one machine of three that met over git, and look for them everywhere after a gc."""
    fresh(folder)
    address = str(folder / "host.git")
    subprocess.run(["git", "init", "-q", "--bare", address], check=True)
    life = Life(folder, seed, 3, address)
    wrong = life.play(12, {"flush": 6, "learn": 6, "reword": 4, "sync": 8})
    for machine in life.machines:
        if words := sorted(machine.shown()):
            word = life.rng.choice(words)
            life.forgotten.add(word)
            machine.forget(word)
    for _ in range(2):
        for machine in life.machines:
            machine.sync()
    subprocess.run(["git", "-C", address, "gc", "-q", "--prune=now"], check=True)
    for clone in (Path(address), *(Path(machine.home.paths.exchange_clone) for machine in life.machines)):
        objects = subprocess.run(
            ["git", "-C", clone, "cat-file", "--batch", "--batch-all-objects"], capture_output=True, check=True
        ).stdout.decode("utf-8", "replace")
        wrong += [f"{word} in {clone}" for word in life.forgotten if word in objects]
    life.said -= life.forgotten
    return [*wrong, *life.wrong()]


def join(folder: Path, seed: int) -> list[str]:
    """Let a machine join a memory of many articles, then exchange one session's; over git and over a folder in turn."""
    way = "git" if seed % 2 else "folder"
    address = fresh(folder) / way
    subprocess.run(["git", "init", "-q", "--bare", address] if seed % 2 else ["mkdir", address], check=True)
    if seed % 2:  # what is sent is kept as it came, also what was there
        subprocess.run(["git", "-C", address, "config", "receive.unpackLimit", "1"], check=True)
    desk, laptop = (Machine(name, folder / name, str(address), random.Random(seed)) for name in ("desk", "laptop"))
    with desk.at_work():
        _fill(desk)
    took = {"first": _took(desk), "join": _took(laptop)}
    _took(desk)  # learns of the other
    size, day = _size(address), MONDAY.date()
    before = len(desk.daily.text(day).encode())
    with desk.at_work():
        learned = [statement_lines.to_learned(a_fact(f"Cache {number} is warm.")) for number in range(5)]
        session = Entry(
            id="5e551011", day=day, time="09:05", session="s-1", project="shop", project_key=SHOP, title="Work",
            context="The queue was slow, and so it has a cache now.", key_exchanges=("asked", "answered") * 10,
            learned=tuple(learned), turns=("k1",), model="m",
        )  # fmt: skip
        desk.daily.append(session)
    took["send"] = _took(desk)
    sent, text = _size(address) - size, len(desk.daily.text(day).encode()) - before
    took["take"] = _took(laptop)
    print(f"  {way}: processor seconds {took}, {sent} bytes for a session of {text}", flush=True)
    wrong = ["join: it takes too long"] if took["join"] > MOST_JOIN_S else []
    missing = ARTICLES - len(laptop.wiki().slugs())
    return [*wrong, *["session: it sends too much"] * (sent > text + MOST_MORE), *["lost: articles"] * bool(missing)]


def _fill(machine: Machine) -> None:
    """Let a machine have many articles, of one statement each."""
    wiki = machine.wiki()
    for day in range(DAYS):
        said = [
            a_fact(f"Service {number} keeps its jobs in queue q{number}, and answers in {number + 7} ms while the "
                   "cache in front of it is warm.", "fact", day=day)
            for number in range(day, ARTICLES, DAYS)
        ]  # fmt: skip
        machine.daily.append(Entry(
            id=f"{day:08x}", day=(MONDAY + timedelta(days=day)).date(), time="09:00", session=f"s-{day}",
            project="shop", project_key=SHOP, title=f"Work {day}", context="Services were looked at.",
            learned=tuple(map(statement_lines.to_learned, said)), turns=(f"t{day}",), model="m",
        ))  # fmt: skip
    with machine.keeper() as keeper:
        keeper.refresh()
        for number, fact in enumerate(keeper.store.facts()):
            page = Article.new(f"concepts/service-{number}", f"Service {number}", "What it does.", MONDAY.date())
            page.give_to(SHOP)
            page.add(lines.claim_of(fact, keeper.store), "Behaviour")
            wiki.path(page.slug).parent.mkdir(parents=True, exist_ok=True)
            wiki.path(page.slug).write_bytes(Wiki.encode(page))
        while len(keeper.store.articles()) < ARTICLES:  # some hundred in one run
            refresh.settle(machine.home, keeper)


def _took(machine: Machine) -> float:
    begun = _seconds()
    machine.sync()
    return round(_seconds() - begun, 2)


def _size(address: Path) -> int:
    return sum(path.stat().st_size for path in address.rglob("*") if path.is_file())


PLAYS: dict[str, Callable[[Path, int], list[str]]] = {
    "model": model, "lives": lives, "written": written, "processes": processes, "join": join, "forgotten": forgotten,
}  # fmt: skip


def play(part: str, count: int, seed: int, folder: Path) -> int:
    """Play some lives and say what went wrong."""
    begun, bad = _seconds(), 0
    kinds: Counter[str] = Counter()
    for number in range(seed, seed + count):
        try:
            wrong = PLAYS[part](folder / part, number)
        except Exception as error:  # noqa: BLE001 (a life that ends in an error is told, and the next one is played)
            wrong = [f"error: {type(error).__name__}: {error}"]
        if wrong:
            bad += 1
            kinds.update({each.partition(":")[0] for each in wrong})
            print(f"  seed {number}: {wrong[:3]}", flush=True)
    print(f"{part}: {count} lives, {bad} with a fault {dict(kinds) or ''}, {_seconds() - begun:.0f} s", flush=True)
    return bad


def _seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> int:
    """Run the parts that are wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    replaced.STILL_S = 0  # on a file system without leases, a file that was just written is waited for
    if not os.environ.get("MEMORIA_BENCH_SYNCED"):
        os.fsync = lambda _: None  # type: ignore[assignment]  # it is for power failures
    shm = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="together-", dir=shm if shm.is_dir() else None))
    bad = 0
    try:
        for part in [args.part] if args.part else [*PLAYS]:
            bad += play(part, args.count or PARTS[part], args.seed, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
