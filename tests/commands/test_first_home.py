"""Where a memory lies by default, and that it is found where it was taken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from installed import clone
from memoria.base import state
from memoria.base.paths import Paths

pytestmark = pytest.mark.slow

NOTE = (
    "### Session (14:05) · zoo · Stripes\n**Context:** Counted the zebra stripes.\n\n^e-01\n"
    "<!-- memoria entry=01 session=s1 turns=a project=zoo-123456 model=m -->\n"
)
PROGRAM = "import sys; sys.path.insert(0, {!r}); from memoria.cli import main; sys.exit(main())"


class Owner:
    """Who runs memoria from a clone by hand, with nothing chosen."""

    def __init__(self, base: Path) -> None:
        self.home = base / "user"
        self.root = clone(base / "clöne")
        (base / "tmp").mkdir()
        for folder in ("daily", "knowledge"):
            (self.root / folder).mkdir()
            (self.root / folder / ".gitkeep").touch()
        self.own = self.home / "memoria"
        self.config = self.home / ".config" / "memoria" / "config.json"
        self.env = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "MEMORIA_MODEL": "offline",
            "MEMORIA_PYTHON": "/bin/true", "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "TMPDIR": str(base / "tmp"),
        }  # fmt: skip

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        program = PROGRAM.format(str(self.root / "scripts"))
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            env={**self.env, **more}, cwd=self.home, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def remembers(self) -> None:
        """Leave a memory in the clone, as 0.2.0 did for everybody who ran it from one."""
        state.open_state(Paths(str(self.root)))
        (self.root / "daily" / "2026-11-21.md").write_text(NOTE)
        (self.root / "knowledge" / "concepts").mkdir(exist_ok=True)
        (self.root / "knowledge" / "concepts" / "zebra.md").write_text("---\ntitle: Zebras\n---\n# Zebras\nStriped.\n")
        (self.root / ".memoria" / "spool" / "new" / "1-job").write_text("waits")
        (self.root / ".obsidian").mkdir()

    def start_session(self) -> str:
        """Let the client start a session with the hooks of the clone, and return what it is told."""
        payload = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(self.home), "source": "startup"}
        return subprocess.run(
            [sys.executable, str(self.root / "hooks" / "session-start.py")],
            input=json.dumps(payload), env=self.env, text=True, capture_output=True, check=True,
        ).stdout  # fmt: skip

    def home_now(self, **more: str) -> str:
        return str(json.loads(self.run("status", "--json", **more).stdout)["home"])


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(tmp_path)


def test_who_only_reads_begins_no_memory_in_the_clone_nor_anywhere(owner: Owner) -> None:
    for words in (
        ["status"], ["doctor"], ["search", "zebra"], ["show", "01"], ["sync", "--status"],
        ["forget", "--dry-run", "zebra"],
    ):  # fmt: skip
        done = owner.run(*words)
        assert done.returncode in (0, 1), done.stderr
    assert not owner.home.exists() or not list(owner.home.rglob("*"))
    assert list(Path(owner.env["TMPDIR"]).iterdir()) == []
    assert not (owner.root / ".memoria").exists()
    assert "nothing is kept there yet" in owner.run("status").stdout


def test_the_home_is_decided_at_the_first_write_and_nothing_later_changes_it(owner: Owner) -> None:
    owner.start_session()
    assert json.loads(owner.config.read_text()) == {"home": str(owner.own)}
    owner.remembers()
    assert owner.home_now() == owner.home_now(CLAUDE_PLUGIN_ROOT=str(owner.root)) == str(owner.own)
    elsewhere = owner.home.parent / "another"
    chosen = {"HOME": str(elsewhere), "XDG_CONFIG_HOME": str(owner.home / ".config")}
    assert owner.home_now(**chosen) == str(owner.own)
    assert not elsewhere.exists()


def test_a_memory_that_is_not_where_it_began_is_said_to_be_gone(owner: Owner) -> None:
    assert "nothing to recall yet" in owner.start_session()
    gone = f"memory at {owner.own} is gone"
    assert gone not in owner.run("status").stdout
    owner.own.rename(owner.home / "backup")
    owner.own.mkdir()  # where its disk was mounted
    assert gone in owner.run("status").stdout
    assert gone in owner.start_session()
    for verb in ("status", "doctor"):
        assert gone in owner.run(verb).stdout, "also when a new one has begun there"
    for place in ("backup", "new"):
        assert owner.run("config", "set", "home", f"~/{place}").returncode == 0
        assert "is gone" not in owner.run("status").stdout, "where it was named anew, or another begins"


def test_a_second_memory_is_named_with_what_to_do(owner: Owner) -> None:
    (owner.own / "daily").mkdir(parents=True)
    (owner.own / "daily" / "2026-11-20.md").write_text(NOTE)
    owner.remembers()
    assert owner.home_now() == str(owner.own), "a clone is no home beside another"
    for verb in ("status", "doctor"):
        said = owner.run(verb).stdout
        (line,) = [part for part in said.split("\n") if str(owner.root) in part and "read" in part]
        assert "holds memory" in line
        assert f'config set home "{owner.root}"' in said
    assert owner.run("config", "set", "home", str(owner.root)).returncode == 0
    assert owner.home_now() == str(owner.root)
    assert str(owner.own) in owner.run("status").stdout


def test_a_memory_that_was_moved_by_hand_is_whole_when_the_settings_name_its_place(owner: Owner) -> None:
    owner.remembers()
    owner.own.mkdir(parents=True)
    for name in ("daily", "knowledge", ".memoria"):
        (owner.root / name).rename(owner.own / name)
    assert owner.run("config", "set", "home", "~/memoria").returncode == 0
    assert owner.home_now() == owner.home_now(CLAUDE_PLUGIN_ROOT=str(owner.root)) == str(owner.own)
    assert "zebra" in owner.run("search", "stripes").stdout.lower()
    assert len(json.loads(owner.run("status", "--json").stdout)["other_memories"]) == 0
