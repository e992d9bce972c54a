"""The command line as a whole: what it says without a verb, with a wrong one, and with streams that are closed."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memoria import cli
from memoria.base.state import open_state
from memoria.ground.home import Home


def shell(command: str) -> subprocess.CompletedProcess[str]:
    memoria = f"{shlex.quote(sys.executable)} -m memoria"
    return subprocess.run(
        ["sh", "-c", command.replace("memoria", memoria)], capture_output=True, text=True, check=False
    )


def test_without_a_verb_a_short_help_names_every_verb_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    grouped = [verb for explained, named in cli.GROUPS.values() for verb in (*explained, *named)]
    assert sorted(grouped) == sorted(cli.VERBS)
    assert all(re.search(rf"\b{verb}\b", shown) for verb in cli.VERBS)
    assert len(shown.splitlines()) <= 25
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["search", "x", "--kind", "artcle"], "did you mean article?"),
        (["config", "lsit"], "did you mean list?"),
        (["search", "x", "--jsn"], "did you mean --json?"),
        (["undo", "--sho"], "did you mean --show?"),  # and nothing is undone
        (["install", "--rem"], "did you mean --remove?"),
    ],
)
def test_a_mistyped_value_or_option_is_answered_with_the_nearest(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert meant in capsys.readouterr().err


def test_a_home_that_is_refused_is_said_once() -> None:
    """As a process of its own: in one that runs tests a handler of another command takes the record."""
    paths = Home.open().paths
    open_state(paths)
    Path(paths.version).write_text("9\n")
    for verb in ("search x", "status", "flush"):
        done = shell(f"memoria {verb}")
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith("memoria: ")
        assert "newer memoria" in line


@pytest.mark.parametrize(
    ("former", "more"), [("diff", []), ("lint", ["--structural-only"]), ("uninstall", []), ("working", [])]
)
def test_a_former_verb_still_works_and_says_what_it_is_now(
    former: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(cli.VERBS) <= 20
    form = cli.FORMER[former]
    status, now = cli.main([*form.split(), *more]), capsys.readouterr()
    assert (cli.main([former, *more]), capsys.readouterr()) == (
        status,
        (now.out, f"memoria: `{former}` is `{form}` now\n{now.err}"),
    )


@pytest.mark.parametrize(("word", "meant"), [("stauts", "memoria status"), ("serach", "memoria search")])
def test_a_mistyped_verb_is_answered_with_the_nearest(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([word])
    assert stopped.value.code == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["memoria status >&-", "memoria learned >&-", "memoria status >&- 2>&- <&-"])
def test_closed_streams_are_no_bug(command: str) -> None:
    run = shell(command)
    assert (run.returncode, "bug" in run.stderr) == (0, False), run.stderr


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="signals are read from /proc")
def test_what_a_hook_starts_does_not_ignore_an_interrupt(tmp_path: Path) -> None:
    """The hook itself does: Ctrl-C is meant for the client."""
    out = tmp_path / "status"
    program = (
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from memoria.capture import detach; from memoria.base.paths import Paths; from memoria.base import state\n"
        f"paths = Paths({str(tmp_path / 'home')!r}); state.open_state(paths)\n"
        f"detach.start([['/bin/sh', '-c', 'cat /proc/$$/status > {out}.new; mv {out}.new {out}']], paths)\n"
        f"import os\nwhile not os.path.exists({str(out)!r}): time.sleep(0.01)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
    (ignored,) = [line.split()[1] for line in out.read_text().splitlines() if line.startswith("SigIgn")]
    assert not int(ignored, 16) & 1 << (signal.SIGINT - 1)
