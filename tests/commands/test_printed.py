"""Nothing that memoria remembers controls the terminal on which a command or a log is read."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import struct
import subprocess
import sys
import termios
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest

import home_of
from memoria import cli
from memoria.base.paths import own_command
from memoria.capture import hook
from memoria.daily.entry import Learned
from memoria.ground.home import Home

# A title for the window, a clipboard write, C1 controls, bidi overrides and isolates, a tag character, line separators.
EVIL = "\x1b]0;own\x07\x1b[2J\x9b31m\u202eabc\u2066def\u2069\u200f\U000e0041\u2028\r\x08\x7f\ufeff"
SECOND = "kettle" + EVIL + "whistles"
VERBS = (
    ["status"], ["status", "--json"], ["verify"], ["verify", "--json"], ["doctor", "--json"],
    ["search", "kettle"], ["search", "kettle", "--json"], ["search", EVIL], ["query", "what of the kettle?"],
    ["query", SECOND], ["lint"], ["lint", "--json"], ["why", "concepts/kettle"], ["why", SECOND], ["show", "aaaa"],
    ["show", EVIL], ["learned"], ["learned", "list", "--json"],
    ["learned", "show", EVIL], ["diff"], ["undo"], ["undo", "--list"],
    ["compile", "--dry-run"], ["compile"], ["flush"], ["observe"], ["install", "--remove"],
    ["ingest", "--dry-run", EVIL.replace("\0", "")], ["forget", "--text", SECOND],
    ["forget", "kettle", "--yes"], [EVIL], ["status", EVIL],
)  # fmt: skip


def _active(text: str) -> set[str]:
    """Return the characters of a text that a person cannot see, without the line feeds and tabs of a layout."""
    return {
        character
        for character in text
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in "\n\t"
    }


@pytest.fixture
def hostile_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """A home whose articles, entries, facts, settings and files hold such characters, written by an older version."""
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    monkeypatch.setenv("MEMORIA_COMPILE_INTERVAL_MIN", "none" + EVIL)
    monkeypatch.chdir(tmp_path)
    home = Home.open()
    learned = Learned("fact", "The kettle whistles.", "l-aaaaaaaa")
    home_of.entry(home, "aaaa", "The kettle", context="It whistles.", decisions=("Kettle stays.",), learned=(learned,))
    home_of.article(home, "concepts/kettle", "The kettle", ("The kettle whistles.", "aaaa"), ("Nobody knows.", ""))
    home_of.catalogued(home)
    for top in (home.paths.daily, home.paths.knowledge):
        for path in Path(top).rglob("*.md"):
            text = path.read_text(encoding="utf-8").replace("ettle", "ettle" + EVIL.replace("\r", ""))
            path.write_text(text, encoding="utf-8", newline="")
    Path(home.paths.knowledge, "concepts", f"lid{EVIL}.md").write_text(
        f"---\n- {EVIL}\n---\n# Lid{EVIL}\n[[no{EVIL}]]\n"
    )
    return home


@pytest.mark.slow
def test_no_command_prints_a_character_that_controls_the_terminal(
    hostile_home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    printed = 0
    for words in VERBS:
        with suppress(SystemExit):  # wrong usage, which repeats the word
            cli.main(words)
        out, err = capfd.readouterr()
        assert _active(out + err) == set(), words
        printed += "ettle" in out
    assert printed >= 8
    logging.getLogger("memoria.test").warning("a model said %s", EVIL)
    hook.log(hostile_home.paths, f"a session named {EVIL}")
    logs = {path.name: path.read_text("utf-8") for path in Path(hostile_home.paths.log).iterdir()}
    assert {"memoria.log", "hook.log"} <= set(logs)
    assert {name: _active(text) for name, text in logs.items() if _active(text)} == {}


@pytest.mark.slow
def test_a_terminal_marks_found_words_and_draws_a_bar_over_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    home_of.entry(Home.open(), "aaaa", "The kettle", decisions=("The kettle stays.",))
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    for words in (["search", "kettle"], ["compile"]):
        subprocess.run(own_command(sys.executable, *words), stdout=terminal, stderr=terminal, check=True)
    os.close(terminal)
    said = b""
    while b"entries compiled" not in said and b"entry compiled" not in said:
        said += os.read(master, 4096)
    os.close(master)
    assert b"The **kettle** stays." in said
    assert b"\rcompile: 100%" in said
