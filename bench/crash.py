"""Kill memoria at every named step and at random moments, and see whether anything is lost.

``uv run python -m bench.crash --kills 500`` prints how often it killed what, and what was lost, twice or
stranded. Real hooks, worker and compile as processes; only the model is scripted. Short form: tests/test_crash.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture.spool import Spool
from memoria.daily import gate
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry, fingerprint
from memoria.daily.ledger import Ledger
from memoria.ground import locks
from memoria.ground.clock import Zone
from memoria.ground.home import Home
from memoria.statements.lines import Lines
from memoria.statements.store import Store
from memoria.transcripts.turn_reader import Reader
from memoria.wiki import index_page
from memoria.wiki.folder import Wiki

ROOT = Path(__file__).resolve().parents[1]

Process = subprocess.Popen[bytes]
# The named steps, in the order in which a conversation passes them.
HOOK = (
    "spool.opened", "spool.written", "spool.synced", "spool.renamed", "cursor.written", "cursor.replaced",
    "worker.forked",
)  # fmt: skip
WORKER = (
    "worker.locked", "spool.claimed", "flush.answered", "files.written", "files.compared", "files.replaced",
    "daily.appended", "ledger.recorded", "spool.acknowledged", "flush.unlocked",
)  # fmt: skip
COMPILE = (
    "compile.locked", "compile.answered", "transaction.staged", "transaction.journaled", "transaction.swapped",
    "transaction.closed", "compile.booked",
)  # fmt: skip
STEPS = HOOK + WORKER + COMPILE
PATIENCE_S = 60.0
HANGS_S = 180.0
SEEDS_APART = 10_000
ROUND_KILLS, CAMPAIGN_KILLS = 8, 40  # kills before the next hook's worker may mend; kills before a fresh home
TIMES = {"files.written": 6, "files.replaced": 6, "transaction.swapped": 3, "spool.claimed": 2, "ledger.recorded": 2}
RULES = (  # what the user says in the first, second, third session of a home; nothing alike
    "No, never push to main on a Friday, because nobody is there to mend it.",
    "I prefer tabs in every Makefile, since spaces break the recipes.",
    "We decided to keep carts in Postgres instead of Redis.",
)
LEARNED = [{"kind": "decision", "content": rule, "importance": 0.8, "quote": rule, "origin": "user"} for rule in RULES]
ENTRY = {
    "worth_saving": True, "title": "A crash that lost nothing", "context": "Turns went by.",
    "key_exchanges": ["One asked, the other answered."], "action_items": [],
    "statements": LEARNED,
}  # fmt: skip
PLACES = {  # the first two on a page of their own, the others on the project's
    "places": [{"id": f"${number}", "article": "crash-safety"} for number in (1, 2)],
    "articles": [{"slug": "crash-safety", "title": "Crash safety"}],
}


@dataclass
class Tally:
    """What was done and what came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    lost: int = 0
    twice: int = 0
    unasked: int = 0
    stranded: int = 0
    torn: int = 0
    unlearned: int = 0
    left: int = 0  # processes that did not end
    trouble: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing at all went wrong."""
        return not (self.lost or self.twice or self.unasked or self.stranded or self.torn or self.unlearned
                    or self.left or self.trouble)  # fmt: skip

    def add(self, other: Tally) -> None:
        """Take in another's figures."""
        self.kills += other.kills
        for name in ("turns", "lost", "twice", "unasked", "stranded", "torn", "unlearned", "left"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.trouble += other.trouble


class World:
    """One home, some sessions, and the client that fires their hooks."""

    answered = ""  # what the assistant says beside its token

    def __init__(self, base: Path, sessions: int, seed: int) -> None:
        self.base = base
        self.dice = random.Random(seed)
        self.paths = Paths(str(base / "home"))
        self.spool = Spool(self.paths.spool)
        self.script = base / "answers.json"
        self.script.parent.mkdir(parents=True, exist_ok=True)
        self.script.write_text(json.dumps({"flush": [ENTRY], "compile": [PLACES]}), encoding="utf-8")
        self.project = base / "project"
        self.project.mkdir()
        self.sessions = [f"{number:08d}-{uuid.UUID(int=self.dice.getrandbits(128))}" for number in range(sessions)]
        self.open_lines: dict[str, str] = {}
        self.said: set[str] = set()
        self.asked: set[str] = set()
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(base), "XDG_CONFIG_HOME": str(base / "config"),
            "MEMORIA_HOME": self.paths.home, "MEMORIA_PYTHON": sys.executable, "MEMORIA_LIMIT_RETRY_S": "0,0",
            "MEMORIA_MODEL": f"scripted:{self.script}", "MEMORIA_COMPILE_INTERVAL_MIN": "0",
            "MEMORIA_LIMIT_FLUSH_TURNS_COMPACT": "1", "MEMORIA_LIMIT_FLUSH_TURNS_STOP": "2", "MEMORIA_TZ": "UTC",
        }  # fmt: skip

    def burden(self) -> None:
        """Leave what can never be done (a session of an excluded folder, a day that is gone) and no regular files."""
        hidden = self.base / "hidden"
        hidden.mkdir()
        session, said = str(uuid.UUID(int=self.dice.getrandbits(128))), self.said.copy()
        self.project, project = hidden, self.project
        self.say(session)
        reap(self.hook("SessionEnd", session))
        self.project, self.said = project, said
        gone = Entry("gone", date(2026, 11, 18), "10:00", "s-gone", "gone", "gone-000000", "Gone", turns=("t-gone",))
        DailyLog(self.paths).append(gone)
        reap(self.run("flush", "--now"))
        (hidden / ".memoria-off").touch()
        DailyLog(self.paths).path(gone.day).unlink()
        concepts = Path(self.paths.knowledge, "concepts")
        concepts.mkdir(parents=True, exist_ok=True)
        for path in (concepts / "pipe.md", Path(self.paths.daily, "2026-11-17.md")):
            os.mkfifo(path)
        (concepts / "zero.md").symlink_to("/dev/zero")

    def transcript(self, session: str) -> Path:
        """Where the client keeps a session."""
        return self.base / "projects" / f"{session}.jsonl"

    def say(self, session: str, *, half: bool = False) -> None:
        """The client writes an exchange; ``half``: it is in the middle of the last line."""
        text = self.open_lines.pop(session, "")
        for role in ("user", "assistant"):
            word = f"token-{self.dice.getrandbits(64):016x}"
            self.said.add(word)
            rule = RULES[self.sessions.index(session) % len(RULES)] if session in self.sessions else "Nothing."
            content: Any = f"{word}: {rule}" if role == "user" else [{"type": "text", "text": f"{word}{self.answered}"}]
            line = {
                "parentUuid": None, "isSidechain": False, "type": role, "message": {"role": role, "content": content},
                "uuid": str(uuid.UUID(int=self.dice.getrandbits(128))), "timestamp": "2026-11-20T10:00:00.000Z",
                "cwd": str(self.project), "sessionId": session, "version": "2.1.329", "gitBranch": "main",
            }  # fmt: skip
            text += json.dumps(line, separators=(",", ":")) + "\n"
        if half:
            cut = self.dice.randrange(1, 200)
            text, self.open_lines[session] = text[:-cut], text[-cut:]
        self._write(session, text)

    def finish_lines(self) -> None:
        """The client completes what it was writing."""
        for session in list(self.open_lines):
            self._write(session, self.open_lines.pop(session))

    def fork(self, source: str, target: str) -> None:
        """A session that begins with another's lines."""
        self._write(target, self.transcript(source).read_text(encoding="utf-8"))

    def _write(self, session: str, text: str) -> None:
        path = self.transcript(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)

    def hook(self, event: str, session: str, *, kill_at: str = "", worker: str = "/bin/true") -> Process:
        """Start a hook as the client does."""
        names = {"Stop": "stop", "PreCompact": "pre-compact", "SessionEnd": "session-end"}
        payload = {
            "session_id": session, "transcript_path": str(self.transcript(session)), "cwd": str(self.project),
            "hook_event_name": event,
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-S", "-I", str(ROOT / "hooks" / f"{names[event]}.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self.env | {"MEMORIA_PYTHON": worker, "MEMORIA_KILL_AT": kill_at},
        )  # fmt: skip
        assert process.stdin
        try:
            process.stdin.write(json.dumps(payload).encode())
            process.stdin.close()
        except BrokenPipeError:  # killed before it read
            pass
        process.stdin = None  # ``communicate`` would flush it
        return process

    def run(self, verb: str, *options: str, kill_at: str = "", worker: str = "/bin/true") -> Process:
        """Start the worker or the compile in the foreground, so that its end can be seen."""
        given = options or (["--due"] if verb == "compile" else [])
        words = [sys.executable, str(ROOT / "scripts" / f"{verb}.py"), *given]
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.env | {"MEMORIA_PYTHON": worker, "MEMORIA_KILL_AT": kill_at},
        )  # fmt: skip

    def come_late(self, tally: Tally) -> None:
        """A session ends while a worker has looked at the spool for the last time and still holds its lock."""
        if len(self.sessions) < 2:
            return
        early, late = self.dice.sample(self.sessions, 2)
        self.say(early)
        reap(self.hook("SessionEnd", early))
        worker = self.run("flush", kill_at=f"spool.acknowledged:1:{signal.SIGSTOP.value}")
        if not _stops(worker):
            return
        self.say(late)
        reap(self.hook("SessionEnd", late, worker=sys.executable))
        worker.send_signal(signal.SIGCONT)
        worker.wait()
        if not wait_for(lambda: all(job.session != late for job in self.spool.jobs())):  # others may wait for more
            tally.stranded += 1
            tally.trouble.append(f"came late and was left: {[job.name for job in self.spool.jobs()]}")

    def mend(self, tally: Tally) -> None:
        """The sessions go on and end, undisturbed; then look whether everything is there."""
        self.finish_lines()
        self.come_late(tally)
        for session in self.sessions:
            self.say(session)
        for process in [self.hook("SessionEnd", session, worker=sys.executable) for session in self.sessions]:
            output = process.communicate()[0]
            if output or process.returncode:
                tally.trouble.append(f"hook said {output!r}, status {process.returncode}")
        if not wait_for(self._is_quiet):
            tally.stranded += len(self.spool.jobs())
            tally.trouble.append(
                f"not quiet: {[job.name for job in self.spool.jobs()]}, {self._uncompiled()} uncompiled"
            )
        self._check(tally)

    def _is_quiet(self) -> bool:
        if self.spool.jobs():
            return False
        for name in ("worker.lock", "compile.lock"):
            with locks.wait(Path(self.paths.state, name)):  # let go by whoever was killed
                pass
        if self.spool.jobs():
            return False
        if self._uncompiled():  # a compile was at work when the worker asked for one, and the next worker asks again
            self.run("flush", worker=sys.executable).wait()
            return False
        return True

    def _uncompiled(self) -> int:
        if not Path(self.paths.ledger).exists():
            return 0
        with closing(Ledger(self.paths)) as ledger:
            waiting = gate.waiting_entries(ledger, Home(Settings(), self.paths, Zone("UTC")))
            return len(waiting) + ledger.count_by_hand()

    def _check(self, tally: Tally) -> None:
        wanted: set[str] = set()
        for session in self.sessions:
            wanted |= {turn.key for turn in Reader().read(self.transcript(session).read_bytes().splitlines(True))}
        found = Counter(key for entry in self.entries() for key in entry.turns)
        tally.lost += len(wanted - set(found))
        tally.twice += sum(count - 1 for count in found.values())
        calls = Path(f"{self.script}.calls")
        if calls.exists():
            text = calls.read_text(encoding="utf-8")
            self.asked |= {word for word in self.said if word in text}
            calls.unlink()
        tally.unasked += len(self.said - self.asked)
        tally.torn += self.torn_wiki()
        tally.unlearned += self.unlearned()
        left = [job.name for job in self.spool.jobs(self.spool.failed)]
        left += [str(path) for path in Path(self.paths.daily).glob(".*.tmp")]
        tally.trouble += left

    def entries(self) -> list[Any]:
        """Every entry of every daily log."""
        daily = DailyLog(self.paths)
        return [entry for day in daily.days() for entry in daily.entries(day)]

    def _days(self) -> list[Path]:
        return [path for path in Path(self.paths.daily).glob("*.md") if path.is_file()]

    def unlearned(self) -> int:
        """How many rules do not stand exactly once in the daily logs, or not the same way in the store."""
        daily = DailyLog(self.paths)
        written = [fact for day in daily.days() for fact in Lines(daily).read(day)]
        text = "".join(path.read_text(encoding="utf-8") for path in self._days())
        spoken = RULES[: len(self.sessions)]
        with Store(self.paths) as store:
            stored = store.facts(live=False)
        return sum(text.count(f"] {rule} ^l-") != 1 for rule in spoken) + int(
            sorted(fact.id for fact in stored) != sorted(fact.id for fact in written)
        )

    def torn_wiki(self) -> int:
        """How many signs there are that the wiki is neither the old one nor the new one; a journal makes it whole.

        What its log says that it took in stands on its articles, once, and nothing else does.
        """
        if Path(self.paths.undo, "journal.json").exists():
            return 0
        claims = [claim for article in Wiki(self.paths).articles() for claim in article.claims]
        shown = Counter(claim.id for claim in claims if claim.id and not claim.is_own)
        log = Path(self.paths.knowledge, "log.md")
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        taken, entries = index_page.fingerprints(text), self.entries()
        known = {learned.id for entry in entries if entry.id in taken for learned in entry.learned}
        whole = [entry for entry in entries if taken.get(entry.id) == fingerprint(entry)]
        told = {learned.id for entry in whole for learned in entry.learned if not learned.ended}
        return (
            (shown.total() - len(shown))
            + len(shown.keys() ^ (told | (known & shown.keys())))
            + len(taken.keys() - {entry.id for entry in entries})
            + sum(text.count(f"^e-{entry}") - 1 for entry in taken)
        )


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether the condition came true in good time."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _stops(process: Process) -> bool:
    """Whether a process stopped itself; False when it ended before."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return True
    process.returncode = os.waitstatus_to_exitcode(status)
    return False


def strike(process: Process, after_s: float) -> bool:
    """Kill a process from outside after a moment; False when it was done before."""
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return reap(process)


def reap(process: Process) -> bool:
    """Wait for the end; whether it was a kill. Raises TimeoutExpired when there is none."""
    process.wait(HANGS_S)
    if process.stdout:
        process.stdout.read()
        process.stdout.close()
    return process.wait() == -signal.SIGKILL


def campaign(base: Path, kills: int, seed: int, order: Iterable[str]) -> Tally:
    """So many kills in one home; ``order`` yields the named steps to die at, ``random`` for a kill from outside."""
    tally = Tally()
    world = World(base, 3, seed)
    world.say(world.sessions[0])
    world.fork(world.sessions[0], world.sessions[2])
    world.burden()
    steps_left = iter(order)
    while tally.kills.total() < kills:
        before = tally.kills.total()
        for _ in range(3 * ROUND_KILLS):
            if tally.kills.total() - before >= ROUND_KILLS or tally.kills.total() >= kills:
                break
            _one(world, next(steps_left), tally)
            tally.torn += world.torn_wiki()
        world.mend(tally)
    tally.turns = len(world.said)
    return tally


def _one(world: World, step: str, tally: Tally) -> None:
    """Let a few hooks run over one another, and something die."""
    dice = world.dice
    chosen = dice.sample(world.sessions, 2)
    for session in chosen:
        world.say(session, half=dice.random() < 0.2)
    kill_at = f"{step}:{dice.randint(1, TIMES.get(step, 1))}"
    others = [world.hook("Stop", dice.choice(world.sessions))]
    if step == "random":
        victim = dice.choice(("hook", "flush", "compile"))
        process = world.hook("SessionEnd", chosen[0]) if victim == "hook" else world.run(victim)
        killed = strike(process, dice.uniform(0, 0.04) if victim == "hook" else dice.uniform(0.1, 0.9))
        name = f"random {victim}"
    elif step in HOOK:
        killed = reap(world.hook("SessionEnd" if step.startswith("worker") else "Stop", chosen[0], kill_at=kill_at))
        name = step
    else:
        others.append(world.hook("PreCompact", chosen[1]))
        reap(world.hook("SessionEnd", chosen[0]))
        if step in COMPILE:
            reap(world.run("flush"))
            killed = reap(world.run("compile", kill_at=kill_at))
        else:
            killed = reap(world.run("flush", kill_at=kill_at, worker=dice.choice(("/bin/true", sys.executable))))
        name = step
    for other in others:
        reap(other)
    tally.kills[name] += int(killed)


def burst(base: Path, sessions: int, hooks: int) -> Tally:
    """That many hooks at once, over the sessions in turn, each session growing meanwhile."""
    tally = Tally()
    world = World(base, sessions, 1)
    running = []
    for number in range(hooks):
        session = world.sessions[number % sessions]
        world.say(session)
        running.append(world.hook(("Stop", "PreCompact", "SessionEnd")[number % 3], session, worker=sys.executable))
    for process in running:
        output = process.communicate()[0]
        if output or process.returncode:
            tally.trouble.append(f"hook said {output!r}, status {process.returncode}")
    world.mend(tally)
    tally.turns = len(world.said)
    return tally


def endless(seed: int) -> Iterable[str]:
    """Every named step in turn, a random kill after every second."""
    names = list(STEPS)
    dice = random.Random(seed)
    while True:
        dice.shuffle(names)
        for number, name in enumerate(names):
            yield name
            if number % 2:
                yield "random"


def run(base: Path, kills: int, seed: int = 1, say: Callable[[str], None] = lambda _: None) -> Tally:
    """All campaigns, each in a fresh home below ``base``, which is emptied as they go well."""
    total = Tally()
    order = endless(seed)
    while total.kills.total() < kills:
        home = base / f"campaign-{seed}"
        part = campaign(home, min(CAMPAIGN_KILLS, kills - total.kills.total()), seed, order)
        total.add(part)
        if part.clean:
            shutil.rmtree(home, ignore_errors=True)
        else:
            say(f"seed {seed}: {part}")
        say(f"{total.kills.total()} of {kills} kills")
        seed += 1
    return total


def share(base: Path, kills: int, seed: int, jobs: int) -> Tally:
    """The kills dealt to so many processes, each with homes and seeds of its own: what is killed mostly waits."""
    total = Tally()
    parts = [kills // jobs + (number < kills % jobs) for number in range(jobs)]
    with ProcessPoolExecutor(jobs) as pool:
        seeds = (seed + number * SEEDS_APART for number in range(jobs))
        for part in pool.map(run, (base / str(number) for number in range(jobs)), parts, seeds, [_say] * jobs):
            total.add(part)
    return total


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Run the long form and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that kill side by side")
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="memoria-crash-"))
    started = time.monotonic()
    total = share(base, args.kills, args.seed, max(1, args.jobs))
    print(f"{total.kills.total()} kills in {time.monotonic() - started:.0f} s, {total.turns} turns")
    for name, count in sorted(total.kills.items()):
        print(f"  {name:<24}{count:5}")
    print(f"lost {total.lost}, twice {total.twice}, never shown to the model {total.unasked}, "
          f"jobs stranded {total.stranded}, torn wikis {total.torn}, facts not once {total.unlearned}")  # fmt: skip
    swarm = burst(base / "burst", 8, 64)
    print(f"64 hooks at once over 8 sessions: {swarm.turns} turns, lost {swarm.lost}, twice {swarm.twice}, "
          f"stranded {swarm.stranded}")  # fmt: skip
    for line in total.trouble + swarm.trouble:
        print(f"  {line}")
    if total.clean and swarm.clean:
        shutil.rmtree(base, ignore_errors=True)
        return 0
    print(f"kept for you: {base}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
