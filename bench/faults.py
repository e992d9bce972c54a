"""Fill the disk at every single write of everything memoria does, and see whether anything is lost.

``uv run python -m bench.faults`` lets, for each thing memoria does (every hook, worker, observer, compile,
index, verify, ingest, forget, install ...), the first call that takes room fail, then the second, and so on until a run
passes untouched: once as a single failure and once as a disk that stays full from there on. SQLite's own writes are
refused by the kernel, by a limit on the size of files that grows page by page. After each, room is made and the next
hook and worker run; then every turn must stand in the daily logs exactly once. Short form: tests/test_faults.py.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import runpy
import shutil
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.crash import PLACES
from bench.crash import World as CrashWorld
from full_disk import Done, Fault, run
from memoria import cli, commands
from memoria.base.paths import safe_name
from memoria.capture import cursor
from memoria.models.protocol import Prompt
from memoria.transcripts.clients import CLIENTS
from memoria.transcripts.turn_reader import Reader
from registered import CODEX, HOOKS, recorded
from scripted_model import Scripted

for _module in pkgutil.walk_packages(commands.__path__, f"{commands.__name__}."):
    importlib.import_module(_module.name)  # each child would import them anew

NOTED = "Never run `make deploy` before src/prices.py is checked, or the linker cannot find libzebra."
TOOLS: dict[str, dict[str, Any]] = {  # tool -> an input about which something is noted
    "Bash": {"command": "make deploy"},
    "Edit": {"file_path": "src/prices.py", "old_string": "cents = 1", "new_string": "cents = 2"},
    "MultiEdit": {"file_path": "src/prices.py", "edits": [{"old_string": "cents = 1", "new_string": "cents = 2"}]},
    "NotebookEdit": {"notebook_path": "src/prices.py", "new_source": "cents = 2"},
    "Write": {"file_path": "src/prices.py", "content": "cents = 2"},
}
ERROR = "Exit code 1\nld: the linker cannot find libzebra"
PROMPT = "Why does make deploy say that the linker cannot find libzebra?"
MOMENTS: dict[str, dict[str, Any]] = {  # event -> what the client says of it, where the recorded payload will not do
    "PreCompact": {"trigger": "auto"},
    "SessionEnd": {"reason": "other"},
    "SessionStart": {"source": "resume"},
    "UserPromptSubmit": {"prompt": PROMPT},
    "PostToolUseFailure": {"error": ERROR},
}
PAGE = 4_096
MAX_PAGES = 96
EVERY = 10  # points after which everything is looked at, and not only hook and worker
WIKI = ("compile", "undo", "forget")  # what changes the wiki: everything is looked at each time
WAYS = ("once", "lasting", "pages")
SPENT = "room-is-gone"  # what is forgotten in the scenario of forgetting


@dataclass
class Tally:
    """What was tried and what came of it."""

    points: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    lost: int = 0
    twice: int = 0
    stranded: int = 0
    torn: int = 0
    trouble: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing at all went wrong."""
        return not (self.lost or self.twice or self.stranded or self.torn or self.trouble)


class World(CrashWorld):
    """One home and one session; hooks and verbs run in forked children, the worker only when it is asked."""

    answered = f" {NOTED}"

    def __init__(self, base: Path, seed: int = 1) -> None:
        super().__init__(base, 1, seed)
        self.session = self.sessions[0]
        self.other = ""  # a session whose transcript nobody counts, which is given notes
        self.rollout = base / "codex" / f"rollout-2026-11-20T10-00-00-{uuid.UUID(int=self.dice.getrandbits(128))}.jsonl"
        self.client = base / "claude"
        self.env |= {
            "CLAUDE_CONFIG_DIR": str(self.client), "MEMORIA_PYTHON": "/bin/true",
            "MEMORIA_LIMIT_RETRY_S": "0", "MEMORIA_LIMIT_TRANSCRIPT_WAIT_S": "0",
        }  # fmt: skip

    def transcript(self, session: str) -> Path:
        """Where the client keeps a session."""
        return self.base / "claude" / "projects" / "project" / f"{session}.jsonl"

    def say_to_codex(self) -> None:
        """Codex writes an exchange into its rollout."""
        self.rollout.parent.mkdir(exist_ok=True)
        with self.rollout.open("a", encoding="utf-8") as file:
            for role, kind in (("user", "input_text"), ("assistant", "output_text")):
                text = f"token-{self.dice.getrandbits(64):016x}"
                item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
                line = {"timestamp": "2026-11-20T10:00:00.000Z", "type": "response_item", "payload": item}
                file.write(json.dumps(line) + "\n")

    def payload(self, name: str, **fields: Any) -> dict[str, Any]:
        """What the hook's client says at its event."""
        hook = HOOKS[name]
        path = self.rollout if hook.agent == CODEX else self.transcript(self.session)
        return {
            "session_id": path.stem[-36:] if hook.agent == CODEX else self.session, "transcript_path": str(path),
            "cwd": str(self.project), "hook_event_name": hook.event, **fields,
        }  # fmt: skip

    def fire(self, name: str, fault: Fault = Fault(), **fields: Any) -> Done:  # noqa: B008 (frozen)
        """Run a hook of the session, or of Codex's."""
        return self.tell(name, json.dumps(self.payload(name, **fields)).encode(), fault)

    def tell(self, name: str, raw: bytes, fault: Fault = Fault()) -> Done:  # noqa: B008 (frozen)
        """Run a hook on this input."""

        def hook() -> int:
            sys.argv = [HOOKS[name].script]
            runpy.run_path(sys.argv[0])
            return 0

        return run(hook, self.env, stdin=raw, cwd=str(self.project), fault=fault)

    def command(self, name: str) -> list[str]:
        """The command line by which a client starts a hook."""
        return list(HOOKS[name].words)

    def verb(self, *words: str, fault: Fault = Fault()) -> Done:  # noqa: B008 (frozen)
        """Run a verb as the command line does, with a model that answers well."""

        def verb() -> int:
            with patch("memoria.models.protocol.from_settings", lambda *_: Scripted(_answer)):
                return cli.main(words)

        return run(verb, self.env, cwd=str(self.project), fault=fault)

    def age(self) -> None:
        """The transcripts were written long enough ago for their sessions to be over."""
        for path in self.client.rglob("*.jsonl"):
            os.utime(path, (time.time() - 3_600,) * 2)

    def settle(self, tally: Tally, only: str = "", whole: bool = True) -> None:
        """There is room again: the session ends, the worker and the compile run; then look at everything.

        ``only``: other sessions' jobs may wait, and those that name a transcript that never comes. ``whole``: also
        observe, compile and verify.
        """
        self._sound(self.fire("SessionEnd", reason="other"), tally, "a hook with room again")
        if self.rollout.exists():
            self._sound(self.fire("codex Stop"), tally, "a hook with room again")
        if whole:
            self._sound(self.fire("SessionStart", source="startup"), tally, "a hook with room again")
        for words in (("flush", "--now"), ("observe",), ("compile",), ("verify", "--all"))[: 4 if whole else 1]:
            done = self.verb(*words)
            if done.status:
                tally.trouble.append(f"{words[0]} with room again: status {done.status} {done.err or done.out}")
        left = self.spool.jobs(self.spool.new, self.spool.cur, self.spool.failed)
        if only:
            left = [job for job in left if job.session == only and job.end]
        tally.stranded += len(left) + (self._uncompiled() if whole else 0)
        tally.torn += self.torn_wiki()
        self._count(tally)
        self._cursor(tally)

    def _sound(self, done: Done, tally: Tally, about: str) -> None:
        if done.status or done.err or (done.out and not isinstance(json.loads(done.out), dict)):
            tally.trouble.append(f"{about}: {done}")

    def _count(self, tally: Tally) -> None:
        wanted = {turn.key for path in sorted(self.client.rglob("*.jsonl"))
                  for turn in Reader().read(path.read_bytes().splitlines(True))}  # fmt: skip
        if self.rollout.exists():
            reader = Reader(decode=CLIENTS[CODEX].decoder())
            wanted |= {turn.key for turn in reader.read(self.rollout.read_bytes().splitlines(True))}
        found = Counter(key for entry in self.entries() for key in entry.turns)
        gone = {key for day in self._daily().days() for _, keys in self._daily().read(day).tombstones() for key in keys}
        tally.lost += len(wanted - set(found) - gone)
        tally.twice += sum(count - 1 for count in found.values())
        tally.turns = len(wanted)

    def _daily(self) -> Any:
        from memoria.daily.daily_log import DailyLog  # noqa: PLC0415 (beside its only use)

        return DailyLog(self.paths)

    def _cursor(self, tally: Tally) -> None:
        """The cursor stands at the end of a line of the transcript, and its mark right before it."""
        path = self.transcript(self.session)
        found = cursor.read(self.paths.cursors, safe_name(self.session), str(path))
        data = path.read_bytes()
        if found.end != len(data) or data[found.end - len(found.mark) : found.end] != found.mark:
            tally.trouble.append(f"the cursor stands at {found.end} of {len(data)}")


def _answer(prompt: Prompt) -> Any:
    """An entry that learned something from what was said, or where it stands."""
    if prompt.task == "compile":
        return PLACES
    said = prompt.material["exchanges"][0]["user"][:80] if "exchanges" in prompt.material else ""
    fact: dict[str, Any] = {
            "kind": "fact", "content": f"The word was {said}.", "importance": 0.5, "tags": [], "keywords": [],
            "quote": said, "origin": "user", "supersedes": ""}  # fmt: skip
    return {"worth_saving": True, "title": "Room was made", "context": f"It was about {said}.",
            "key_exchanges": ["Room is made in time."], "action_items": ["Buy a disk."],
            "statements": [fact, {**fact, "kind": "correction", "content": NOTED}] if said else []}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something memoria does: ``before`` brings a world to where it does it, ``act`` does it."""

    act: Callable[[World, Fault], Done]
    before: Callable[[World], object] = lambda world: None
    is_hook: bool = False
    after: Callable[[World], str] = lambda world: ""  # one more look at what is left; a text says what is wrong


def _hook(name: str, tool: str = "") -> Scenario:
    hook = HOOKS[name]
    fields = {**recorded(hook.event), **MOMENTS.get(hook.event, {})}
    fields |= {"tool_name": tool, "tool_input": TOOLS[tool]} if tool else {}
    own = ("session_id", "transcript_path", "cwd")  # these are the world's
    fields = {key: value for key, value in fields.items() if key not in own}
    if hook.event == "SessionStart" or not hook.may_speak or hook.agent == CODEX:
        say = World.say_to_codex if hook.agent == CODEX else _said
        return Scenario(lambda world, fault: world.fire(name, fault, **fields), say, is_hook=True)

    def before(world: World) -> None:
        world.say(world.session)
        _begin_another(world)

    def act(world: World, fault: Fault) -> Done:
        return world.fire(name, fault, **fields, session_id=world.other)

    def after(world: World) -> str:
        _begin_another(world)
        done = act(world, Fault())
        return "" if "libzebra" in done.out or "Room is made" in done.out else f"no note with room again: {done}"

    return Scenario(act, before, is_hook=True, after=after)


def _said(world: World) -> None:
    world.say(world.session)


def _begin_another(world: World) -> None:
    """Let a session begin that was given no notes yet."""
    world.other = f"other-{world.dice.getrandbits(64):016x}"


def _verb(*words: str, before: Callable[[World], object], after: Callable[[World], str] = lambda _: "") -> Scenario:
    return Scenario(lambda world, fault: world.verb(*words, fault=fault), before, after=after)


def _spooled(world: World) -> None:
    world.say(world.session)
    world.fire("SessionEnd", reason="other")


def _answered(world: World) -> None:
    world.say(world.session)
    world.fire("Stop")


def _flushed(world: World) -> None:
    _spooled(world)
    world.verb("flush", "--now")


def _compiled(world: World) -> None:
    _flushed(world)
    world.verb("compile")


def _unheard(world: World) -> None:
    """A session whose hooks never fired."""
    path = world.transcript(str(uuid.UUID(int=world.dice.getrandbits(128))))
    kept = world.transcript(world.session)
    world.sessions.append(path.stem)
    world.say(path.stem)
    if not kept.exists():
        world.say(world.session)
        world.fire("SessionEnd", reason="other")
    world.age()


def _to_forget(world: World) -> None:
    _flushed(world)
    days = sorted(Path(world.paths.daily).glob("*.md"))
    text = days[-1].read_text(encoding="utf-8")
    before, _, after = text.rpartition("Room is made in time.")  # of the last entry, which no compile took in yet
    days[-1].write_text(f"{before}Room is made, says {SPENT}.{after}", encoding="utf-8")


def _forgotten(world: World) -> str:
    if Path(world.paths.forgetting).exists():
        world.verb("flush")  # any worker goes on with it
    else:
        world.verb("forget", SPENT, "--as", "text", "--yes")
    held = [str(path) for path in Path(world.paths.home).rglob("*")
            if path.is_file() and SPENT.encode() in path.read_bytes()]  # fmt: skip
    return f"still in {held}" if held else ""


SCENARIOS = {
    **{f"{name} {tool}".strip(): _hook(name, tool) for name, hook in HOOKS.items() for tool in hook.tools or ("",)},
    "flush": _verb("flush", "--now", before=_spooled),
    "observe": _verb("observe", before=_answered),
    "compile": _verb("compile", before=_flushed),
    "index": _verb("search", "--wait", "room", before=_flushed),
    "verify --repair": _verb("verify", "--repair", before=_unheard),
    "ingest": _verb("ingest", "--yes", before=_unheard),
    "forget": _verb("forget", SPENT, "--as", "text", "--yes", before=_to_forget, after=_forgotten),
    "undo": _verb("undo", before=_compiled),
}  # fmt: skip


def faults(way: str, folder: Path) -> Iterator[Fault]:
    """The faults of one way, one after the other."""
    number = 0
    while True:
        number += 1
        if way == "pages":
            if number > MAX_PAGES:
                return
            yield Fault(str(folder), most_bytes=(number - 1) * PAGE)
        else:
            yield Fault(str(folder), number, lasting=way == "lasting")


def sweep(
    world: World, name: str, way: str, tally: Tally, points: Sequence[int] = (), say: Callable[[str], None] = print
) -> World:
    """One thing under every fault of one way, until a run is not hit; ``points``: only the faults of these numbers.

    Returns the world, or the one that took its place because something was wrong in it.
    """
    scenario = SCENARIOS[name]
    passed = 0
    for number, fault in enumerate(faults(way, world.base), 1):
        if points and number > max(points):
            break
        if points and number not in points:
            continue
        scenario.before(world)
        done = scenario.act(world, fault)
        was_hit = bool(done.hit) or (way == "pages" and _refused(world, done))
        if was_hit:
            tally.points[f"{name}, {way}"] += 1
            tally.hit.update(done.hit[:1])
        before = len(tally.trouble), tally.lost, tally.twice, tally.stranded, tally.torn
        told = _judge(scenario, done)
        if told:
            tally.trouble.append(told)
        if wrong := scenario.after(world):
            tally.trouble.append(wrong)
        world.settle(tally, whole=number % EVERY == 0 or not was_hit or name in WIKI)
        if (len(tally.trouble), tally.lost, tally.twice, tally.stranded, tally.torn) != before:
            last = f": {tally.trouble[-1][-400:]}" if len(tally.trouble) > before[0] else ""
            say(f"{name}, {way} {number} ({'; '.join(done.hit[:3])}): lost {tally.lost}, twice {tally.twice}, "
                f"stranded {tally.stranded}, torn {tally.torn}{last}")  # fmt: skip
            shutil.rmtree(world.base)
            world = begun(world.base)
        passed = 0 if was_hit else passed + 1
        if passed >= (3 if way == "pages" else 1):
            break
    return world


def begun(base: Path) -> World:
    """A world in which there is something to work on, and in which memoria has always been there."""
    world = World(base)
    fill(world)
    return world


def fill(world: World) -> None:
    """Let memoria have worked in a world for a while, so that there is an index and a wiki."""
    _compiled(world)
    Path(world.paths.since).write_text("0\n", encoding="utf-8")


def _refused(world: World, done: Done) -> bool:
    """Whether the last run said so, or wrote it in one of its logs, which are begun anew by that."""
    told = done.err + done.out
    for path in (*Path(world.paths.log).glob("*.log"), Path(world.paths.worker_output)):
        if path.exists():
            told += path.read_text(encoding="utf-8", errors="replace")
            path.write_text("", encoding="utf-8")
    return any(words in told for words in ("File too large", "disk I/O error", "disk is full", "cannot be used now"))


def _judge(scenario: Scenario, done: Done) -> str:
    """What is wrong with how a run under a fault ended; ``""`` when nothing is."""
    if scenario.is_hook:
        try:
            bad = done.status != 0 or done.err or (done.out and not isinstance(json.loads(done.out), dict))
        except ValueError:
            bad = True
        return f"the hook: {done}" if bad else ""
    if done.status not in (0, 1) or "Traceback" in done.err or (done.status and not (done.err or done.out).strip()):
        return f"status {done.status}: {done.err[-2000:]}"
    rows = done.err.splitlines()
    return f"{len(rows)} lines for one fault: {done.err[-1000:]}" if len(rows) > 1 else ""


def main() -> int:
    """Run the long form and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SCENARIOS), help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--way", choices=WAYS, action="append")
    args = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="memoria-faults-"))
    tally, started = Tally(), time.monotonic()
    turns = 0
    for name in args.names:
        for way in args.way or WAYS:
            if way == "pages" and SCENARIOS[name].is_hook:  # hooks write no database
                continue
            sweep(begun(base / "world"), name, way, tally)
            turns += tally.turns
            shutil.rmtree(base / "world", ignore_errors=True)
            print(f"{name + ', ' + way:<28}{tally.points[f'{name}, {way}']:5} points", flush=True)
    shutil.rmtree(base, ignore_errors=True)
    print(f"{tally.points.total()} points in {time.monotonic() - started:.0f} s, {len(tally.hit)} different calls and "
          f"files, {turns} turns: lost {tally.lost}, twice {tally.twice}, stranded {tally.stranded}, torn wikis "
          f"{tally.torn}, other trouble {len(tally.trouble)}")  # fmt: skip
    return 0 if tally.clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
