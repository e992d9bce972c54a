"""Completion in the shells: verbs, their options, and the values that an option takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memoria import cli

ASK = """
source {script}
COMP_WORDS=({words} "")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_memoria
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Path:
    shell = getattr(request, "param", "bash")
    assert cli.main(["completion", shell]) == 0
    path = tmp_path / shell
    path.write_text(capsys.readouterr().out)
    return path


def completed(script: Path, words: str) -> list[str]:
    program = ASK.format(script=script, words=words)
    return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_bash_is_offered_the_verbs_then_the_verbs_options_then_the_options_values(script: Path) -> None:
    assert set(cli.VERBS) <= set(completed(script, "memoria"))
    assert {"--json", "--kind", "--history"} <= set(completed(script, "memoria search"))
    assert completed(script, "memoria search --kind") == ["article", "entry", "fact", "turn", "memory"]
    assert {"get", "set", "list"} <= set(completed(script, "memoria config"))
    assert completed(script, "memoria compile --file") == [], "files, as the shell completes them"


@pytest.mark.parametrize("script", ["bash", "zsh", "fish"], indirect=True)
def test_each_shell_can_read_its_script_and_every_verb_is_in_it(script: Path) -> None:
    text = script.read_text()
    assert all(verb in text for verb in cli.VERBS)
    assert "--json" in text or "-l json" in text
    if shutil.which(script.name):
        subprocess.run([script.name, "-n", script], check=True)
