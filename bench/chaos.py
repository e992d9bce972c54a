"""Let everything go wrong at once for some minutes, and count the turns that were lost or kept twice.

``uv run python -m bench.chaos --minutes 30 --seed 1`` lets several sessions speak while hooks, workers and
compiles are killed (at named steps and at random moments), the clock jumps by up to a year in either direction, also in
the middle of a run, and the disk is full or read-only. A person saves a daily log in an editor's ways; entries that can
never be compiled, pipes and a link to a device lie in the home. After some rounds the disk is mended and the sessions
end; then every turn and every line by hand must stand in the daily logs exactly once, and no process may be left. Only
the model is scripted.

As root on Linux the home lies on a small tmpfs, which is really filled and really remounted read-only. Otherwise a full
disk is a limit on the size of files and a read-only one is left out. The clock is moved by a preloaded library, which
takes a C compiler; without one it stays as it is. The summary says what was done. See also crash.py and faults.py.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import crash
from bench.crash import HANGS_S, Process, Tally, reap, strike, wait_for
from bench.crash import World as CrashWorld
from editors import EDITORS

DISK_MB = 24
YEAR_S = 365 * 86_400
EVENTS = ("Stop", "Stop", "Stop", "PreCompact", "SessionEnd")
ROUNDS, STEPS = 4, 10  # rounds of a home, each of which ends with a look at everything; what goes wrong in a round
ROOM = (0, 0, 4_096, 16_384, 65_536)  # bytes left on a full disk
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *jump;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(0, sizeof *jump, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) jump = page;
    if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *moment) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = next(clock, moment);
    if (!status && jump && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) moment->tv_sec += *jump;
    return status;
}

time_t time(time_t *moment) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (moment) *moment = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict moment, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    moment->tv_sec = now.tv_sec;
    moment->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


@dataclass
class Wrong:
    """What went wrong on purpose."""

    jumps: int = 0
    farthest: int = 0  # seconds
    full: int = 0
    refused: int = 0  # full disks that refused something
    read_only: int = 0
    homes: int = 0
    hangs: int = 0
    saves: int = 0

    def add(self, other: Wrong) -> None:
        """Take in another's figures."""
        for name in ("jumps", "full", "refused", "read_only", "homes", "hangs", "saves"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.farthest = max(self.farthest, other.farthest)


class Clock:
    """A clock that jumps for the processes that are started through ``python``, also while they run."""

    def __init__(self, base: Path) -> None:
        self.file = base / "clock"
        self.file.write_bytes(bytes(8))
        self.environment: dict[str, str] = {}
        self.python = base / "python"
        self.jump_s = 0
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        library = base / "clock.so"
        if compiler and sys.platform == "linux":
            (base / "clock.c").write_text(CLOCK, encoding="utf-8")
            words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(base / "clock.c"), "-ldl"]
            subprocess.run(words, check=True)
            self.environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(self.file)}
        given = " ".join(f"{name}='{value}'" for name, value in self.environment.items())
        self.python.write_text(f"#!/bin/sh\n{given} exec '{sys.executable}' \"$@\"\n", encoding="utf-8")
        self.python.chmod(0o755)
        if self.environment and not self._is_moved():
            self.environment = {}

    def _is_moved(self) -> bool:
        self.set(YEAR_S)
        said = subprocess.run([self.python, "-c", "import time; print(time.time())"], capture_output=True, check=True)
        self.set(0)
        return float(said.stdout) - time.time() > YEAR_S / 2

    def set(self, jump_s: int) -> None:
        """Let the clock be so many seconds ahead of the real one."""
        self.jump_s = jump_s
        with self.file.open("r+b") as file:
            file.write(jump_s.to_bytes(8, sys.byteorder, signed=True))


class Disk:
    """The file system below ``folder``: a small tmpfs where that can be had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.is_own = sys.platform == "linux" and os.geteuid() == 0 and self._mount(f"size={DISK_MB}m")
        self.ballast = folder / "ballast"

    def _mount(self, options: str) -> bool:
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def fill(self, room: int) -> None:
        """Leave only so many bytes."""
        with self.ballast.open("wb") as file:
            for _ in range(10):
                status = os.statvfs(self.folder)
                size = os.fstat(file.fileno()).st_size + status.f_bavail * status.f_frsize - room
                try:
                    os.posix_fallocate(file.fileno(), 0, max(1, size))
                except OSError:  # something else has taken the room
                    continue
                return

    def is_full(self) -> bool:
        """Return whether not even a page is left."""
        return os.statvfs(self.folder).f_bavail == 0

    def empty(self) -> None:
        """Make room again."""
        self.ballast.unlink(missing_ok=True)

    def remount(self, way: str) -> bool:
        """Make it ``ro`` or ``rw``; False when somebody writes."""
        words = ["mount", "-o", f"remount,{way}", str(self.folder)]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def close(self) -> None:
        """Take the file system away."""
        if self.is_own:
            subprocess.run(["umount", "-l", str(self.folder)], check=False)


class World(CrashWorld):
    """One home on a disk of its own, some sessions, and a clock that jumps."""

    def __init__(self, base: Path, seed: int) -> None:
        base.mkdir(parents=True)
        self.clock = Clock(base)
        self.disk = Disk(base / "home")
        super().__init__(base, 3, seed)
        self.env |= self.clock.environment
        self.wrong = Wrong(homes=1)
        self.limit: int | None = None
        self.by_hand: list[str] = []

    def hook(self, event: str, session: str, *, kill_at: str = "", worker: str = "/bin/true") -> Process:
        """Start a hook, whose worker lives by the same clock."""
        return super().hook(event, session, kill_at=kill_at, worker=self._python(worker))

    def run(self, verb: str, *options: str, kill_at: str = "", worker: str = "/bin/true") -> Process:
        """Start a worker or a compile, which may write no more than the disk has room for."""
        process = super().run(verb, *options, kill_at=kill_at, worker=self._python(worker))
        if self.limit is not None and hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (self.limit, resource.RLIM_INFINITY))
        return process

    def _python(self, worker: str) -> str:
        return str(self.clock.python) if worker == sys.executable else worker

    def jump(self) -> None:
        """Let the clock jump, ahead or back."""
        if not self.clock.environment:
            return
        farthest = self.dice.choice((2, 90, 3_600, 86_400, 40 * 86_400, YEAR_S))
        self.clock.set(self.dice.choice((0, *(self.dice.randint(-farthest, farthest) for _ in range(4)), farthest)))
        self.wrong.jumps += 1
        self.wrong.farthest = max(self.wrong.farthest, abs(self.clock.jump_s))

    def date_files(self, since: float) -> None:
        """Give what was written since then the times that the moved clock showed, as a real jump would."""
        for path in Path(self.paths.home).rglob("*") if self.clock.jump_s else ():
            try:
                then = path.lstat().st_mtime
                if since <= then <= time.time() and path.is_file():
                    os.utime(path, (then + self.clock.jump_s,) * 2)
            except OSError:  # gone, or the disk is read-only
                continue

    def ours(self) -> list[int]:
        """Return the processes that work on this home: what its hooks and workers left running."""
        mark = f"MEMORIA_HOME={self.paths.home}".encode()
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environ.read_bytes().split(b"\0"):
                    found.append(int(environ.parent.name))
            except OSError:  # ended meanwhile
                continue
        return found

    def kill_all(self, tally: Tally) -> None:
        """Kill everything at once, as a power cut does."""
        for pid in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
                tally.kills["power cut"] += 1
            except ProcessLookupError:
                continue
        wait_for(lambda: not self.ours())

    def work(self, tally: Tally, trouble: str = "") -> None:
        """Sessions speak, hooks run over one another, and perhaps something is killed."""
        for session in self.dice.sample(self.sessions, 2):
            self.say(session, half=self.dice.random() < 0.2)
        some = [self._any_hook() for _ in range(self.dice.randint(1, 4))]
        if trouble:
            self._kill_one(trouble, tally)
        if self.dice.random() < 0.15:
            time.sleep(self.dice.uniform(0, 0.3))
            self.kill_all(tally)
        for process in some:
            output = process.communicate(timeout=HANGS_S)[0]
            if output or process.returncode not in (0, -signal.SIGKILL):
                tally.trouble.append(f"hook said {output!r}, status {process.returncode}")

    def _any_hook(self) -> Process:
        worker = self.dice.choice(("/bin/true", sys.executable))
        return self.hook(self.dice.choice(EVENTS), self.dice.choice(self.sessions), worker=worker)

    def _kill_one(self, step: str, tally: Tally) -> None:
        session, worker = self.dice.choice(self.sessions), self.dice.choice(("/bin/true", sys.executable))
        if step == "random hook":
            killed = strike(self.hook("SessionEnd", session), self.dice.uniform(0, 0.05))
        elif step.startswith("random"):
            killed = strike(self.run(step.split()[1], worker=worker), self.dice.uniform(0.1, 1.2))
        elif step in crash.HOOK:
            event = "SessionEnd" if step.startswith("worker") else "Stop"
            killed = reap(self.hook(event, session, kill_at=step))
        else:
            verb = "compile" if step in crash.COMPILE else "flush"
            killed = reap(self.run(verb, kill_at=f"{step}:{self.dice.randint(1, 2)}", worker=worker))
        tally.kills[step] += int(killed)

    def on_full_disk(self, tally: Tally, trouble: str) -> None:
        """Work while the disk is full, then make room."""
        self.wrong.full += 1
        if self.disk.is_own:
            self.disk.fill(self.dice.choice(ROOM))
        else:
            self.limit = self.dice.choice(ROOM)
        try:
            self.work(tally, trouble)
            reap(self.run("flush", worker=sys.executable))
            self.wrong.refused += int(not self.disk.is_own or self.disk.is_full())
        finally:
            self.disk.empty()
            self.limit = None

    def on_read_only_disk(self, tally: Tally, trouble: str) -> None:
        """Work while nothing can be written; whatever was at work has died with the disk."""
        if not self.disk.is_own:
            return
        self.kill_all(tally)
        if not wait_for(lambda: self.disk.remount("ro")):
            return
        self.wrong.read_only += 1
        try:
            self.work(tally, trouble)
            reap(self.run("flush", worker=sys.executable))
        finally:
            self.kill_all(tally)
            if not wait_for(lambda: self.disk.remount("rw")):
                tally.trouble.append("the disk stays read-only")

    def edit(self) -> None:
        """Let a person add a section to a daily log; one that is saved whole would undo what is written meanwhile."""
        path = self.dice.choice(self._days() or [Path(self.paths.daily, "2026-11-16.md")])
        note = f"note-{self.dice.getrandbits(64):016x}"
        section = f"\n### My own note\n\nThe {note} is mine.\n".encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.ours() or not path.exists():
            with path.open("ab") as file:
                file.write(section)
        else:
            save = self.dice.choice(list(EDITORS.values()))
            save(path, path.read_bytes() + section)
        self.by_hand.append(note)
        self.wrong.saves += 1

    def look(self, tally: Tally) -> None:
        """Count the lines by hand that are gone or stand twice, and the processes that do not end."""
        text = "".join(path.read_text(encoding="utf-8") for path in self._days())
        tally.lost += sum(note not in text for note in self.by_hand)
        tally.twice += sum(text.count(note) > 1 for note in self.by_hand)
        if not wait_for(lambda: not self.ours()):
            tally.left += len(self.ours())
            tally.trouble += [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in self.ours()]

    def close(self, tally: Tally) -> None:
        """End what still runs and take the disk away."""
        self.kill_all(tally)
        self.disk.close()


@dataclass
class Chaos:
    """So many minutes of it. ``say`` is told how far it is."""

    base: Path
    minutes: float
    seed: int
    say: Callable[[str], None] = lambda _: None
    tally: Tally = field(default_factory=Tally)
    wrong: Wrong = field(default_factory=Wrong)

    def run(self) -> None:
        """One home after another until the time is over."""
        until = time.monotonic() + 60 * self.minutes
        seed = self.seed
        while time.monotonic() < until:
            part, wrong = self._home(self.base / f"home-{seed}", seed, until)
            self.tally.add(part)
            self.wrong.add(wrong)
            self.say(summary(self.tally, self.wrong) if part.clean else f"seed {seed}: {part}")
            seed += 1

    def _home(self, base: Path, seed: int, until: float) -> tuple[Tally, Wrong]:
        tally, world = Tally(), World(base, seed)
        try:
            world.say(world.sessions[0])
            world.fork(world.sessions[0], world.sessions[2])
            world.burden()
            for _ in range(ROUNDS):
                for _ in range(STEPS):
                    self._step(world, tally)
                    if time.monotonic() > until:
                        break
                wait_for(lambda: not world.ours())  # a worker at work would keep the next one from insisting
                reap(world.run("flush", "--now"))  # jobs that a full disk refused wait for a minute or so
                world.mend(tally)
                world.look(tally)
                if not tally.clean or time.monotonic() > until:
                    break
        except subprocess.TimeoutExpired as error:
            world.wrong.hangs += 1
            tally.trouble.append(f"hangs: {error.cmd}")
        finally:
            if not tally.clean:  # before the disk goes
                kept = base / "kept"
                shutil.copytree(world.paths.home, kept, symlinks=True, ignore=_odd, dirs_exist_ok=True)
            world.close(Tally())
        tally.turns = len(world.said)
        if tally.clean:
            shutil.rmtree(base, ignore_errors=True)
        return tally, world.wrong

    def _step(self, world: World, tally: Tally) -> None:
        began, dice = time.time(), world.dice
        kinds = ("random hook", "random flush", "random compile", "", *crash.STEPS)
        trouble = dice.choice(kinds)
        if dice.random() < 0.5:
            world.jump()
        ways = (world.work, world.on_full_disk, world.on_read_only_disk)
        way: Callable[[Tally, str], None] = dice.choices(ways, weights=(5, 3, 2))[0]
        if way == world.work and dice.random() < 0.7:
            world.edit()
        way(tally, trouble)
        if not world.ours():
            world.date_files(began)


def _odd(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder, name).is_file() or Path(folder, name).is_dir())]


def summary(tally: Tally, wrong: Wrong) -> str:
    """Return the figures in a few lines."""
    return (
        f"{tally.turns} turns in {wrong.homes} homes; {tally.kills.total()} kills, {wrong.jumps} clock jumps (up to "
        f"{wrong.farthest / 86_400:.0f} days), {wrong.full} full disks ({wrong.refused} to the last page), "
        f"{wrong.read_only} read-only disks, {wrong.saves} saves by hand: lost {tally.lost}, twice {tally.twice}, "
        f"processes left {tally.left}, hangs {wrong.hangs}, never shown to the model {tally.unasked}, jobs stranded "
        f"{tally.stranded}, torn wikis {tally.torn}, facts not once {tally.unlearned}, other trouble "
        f"{len(tally.trouble)}"
    )


def main() -> int:
    """Run the long form and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="memoria-chaos-"))
    chaos = Chaos(base, args.minutes, args.seed, lambda line: print(line, file=sys.stderr, flush=True))
    chaos.run()
    print(summary(chaos.tally, chaos.wrong))
    for name, count in sorted(chaos.tally.kills.items()):
        print(f"  {name:<24}{count:5}")
    for line in chaos.tally.trouble:
        print(f"  {line}")
    if chaos.tally.clean:
        shutil.rmtree(base, ignore_errors=True)
        return 0
    print(f"kept for you: {base}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
