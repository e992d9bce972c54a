"""The command line as a whole: what it says without a verb, with a wrong one, and with streams that are closed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from memoria import cli


def shell(command: str) -> subprocess.CompletedProcess[str]:
    memoria = f"{shlex.quote(sys.executable)} -m memoria"
    return subprocess.run(
        ["sh", "-c", command.replace("memoria", memoria)], capture_output=True, text=True, check=False
    )


def test_without_a_verb_a_short_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"\b{verb}\b", shown) for verb in cli.VERBS)
    assert set(cli.VERBS) >= cli.READING


def test_part_of_an_option_does_nothing_nor_does_one_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    apart = ("undo --list --show", "sync --off --status", "share --accept --decline", "forget --project a --as entry")
    for words in ("undo --sho", *apart):
        with pytest.raises(SystemExit) as stopped:
            cli.main(words.split())
        assert stopped.value.code == 2
        assert re.search("`memoria undo --help` lists|not allowed with", capsys.readouterr().err)


@pytest.mark.parametrize("former", ["diff", "lint", "uninstall"])
def test_a_former_verb_still_works_and_says_what_it_is_now(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(cli.VERBS) <= 20
    form = cli.FORMER[former]
    status, now = cli.main(form.split()), capsys.readouterr()
    assert (cli.main([former]), capsys.readouterr()) == (
        status,
        (now.out, f"memoria: `{former}` is `{form}` now\n{now.err}"),
    )


@pytest.mark.parametrize(("word", "meant"), [("stauts", "memoria status"), ("serach", "memoria search")])
def test_a_mistyped_verb_is_answered_by_the_nearest(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([word])
    assert stopped.value.code == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err


def test_words_are_utf_8_in_any_locale_and_no_bug_when_they_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["learned", "promote", "l-\udcff"]) == 1
    assert "there is no learned fact" in capsys.readouterr().err
    plain = "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONIOENCODING=utf-8"
    assert "there is no verb 'Größe'" in shell(f"{plain} memoria Größe").stderr


@pytest.mark.parametrize("command", ["memoria status >&-", "memoria learned >&-", "memoria status >&- 2>&- <&-"])
def test_closed_streams_are_no_bug(command: str) -> None:
    run = shell(command)
    assert (run.returncode, "bug" in run.stderr) == (0, False), run.stderr
