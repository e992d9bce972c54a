"""Start: a verb with nothing to do imports nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

# Each costs 2 ms of processor time or more, most of them far more.
SLOW = {
    "asyncio", "claude_agent_sdk", "ctypes", "difflib", "gzip", "hashlib", "jsonschema", "logging.handlers", "mcp",
    "numpy", "portalocker", "redis", "shutil", "subprocess", "tqdm", "urllib.request", "yaml", "zoneinfo",
}  # fmt: skip
OURS = {
    "memoria.audit.receipt", "memoria.statements.fact", "memoria.search.comparison", "memoria.worker.writer",
    "memoria.models.claude", "memoria.ground.redact", "memoria.transcripts.intake",
    "memoria.transcripts.turn", "memoria.wiki.article", "memoria.working",
}  # fmt: skip


def isolated(base: Path) -> dict[str, str]:
    return {
        "HOME": str(base), "CLAUDE_CONFIG_DIR": str(base / "claude"), "MEMORIA_HOME": str(base / "home"),
        "XDG_CONFIG_HOME": str(base / "config"),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("scripts", ["scripts", "plugin/scripts"], ids=["clone", "through the plugin's link"])
def test_started_by_its_path_it_finds_the_packages_whose_names_its_own_folders_have(
    scripts: str, tmp_path: Path
) -> None:
    program = ROOT / scripts / "memoria" / "__main__.py"
    run = subprocess.run(
        [sys.executable, program, "mcp"], env=isolated(tmp_path), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["observe", "flush", "status", "--help"])
def test_a_verb_with_nothing_to_do_imports_nothing_slow(verb: str, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from memoria import cli\n"
        "try:\n    assert cli.main(sys.argv[1:]) == 0\n"
        "except SystemExit as error:\n    assert not error.code\n"
        "print('\\n'.join(['loaded:', *sys.modules]))"
    )
    env = isolated(tmp_path)
    for each in ("flush",) * (verb != "--help") + (verb,):  # the first makes the home and its databases
        run = subprocess.run([sys.executable, "-c", program, each], env=env, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.partition("loaded:\n")[2].split())
    needed = {"portalocker", "shutil", "memoria.statements.fact", "memoria.search.comparison"}  # a lock, and the facts
    assert "memoria.cli" in loaded
    assert (loaded & (SLOW | OURS)) - (needed if verb == "flush" else set()) == set()
