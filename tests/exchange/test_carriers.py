from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from client_session import wait_until
from exchange_lives import Machine as Plain
from memoria.base.interpreter import reduce_environment
from memoria.exchange import carriers
from memoria.exchange.carriers import CarrierError, Folder, Git
from memoria.ground.errors import ExpectedError


@pytest.fixture
def host(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "host.git"], check=True)
    return tmp_path / "host.git"


def git(tmp_path: Path, host: Path | str, name: str = "clone", limit_s: float = 20) -> Git:
    return Git(str(host), tmp_path / name, limit_s)


def test_what_one_clone_writes_another_reads(tmp_path: Path, host: Path) -> None:
    one, other = git(tmp_path, host, "one"), git(tmp_path, host, "other")
    assert one.list_files() == set()
    assert one.write({("a", "x.records"): b"said", ("a", "y.records"): b"more"}, ())
    assert other.list_files() == {("a", "x.records"), ("a", "y.records")}
    assert dict(other.read([("a", "x.records"), ("b", "none")])) == {("a", "x.records"): b"said"}
    assert other.write({("b", "z.records"): b"z"}, [("a", "x.records")])
    assert one.list_files() == {("a", "y.records"), ("b", "z.records")}


def test_a_push_gives_way_to_who_was_faster_and_changes_nothing(tmp_path: Path, host: Path) -> None:
    one, other = git(tmp_path, host, "one"), git(tmp_path, host, "other")
    one.list_files(), other.list_files()
    assert one.write({("a", "x.records"): b"one"}, ())
    assert not other.write({("a", "x.records"): b"other", ("b", "y.records"): b"other"}, ())
    other.list_files()
    assert dict(other.read([("a", "x.records")])) == {("a", "x.records"): b"one"}
    assert other.write({("b", "y.records"): b"other"}, ())
    host.rename(tmp_path / "away")
    with pytest.raises(CarrierError):
        other.write({("b", "z.records"): b"other"}, ())


def test_no_history_is_kept_here_and_none_on_the_host_after_it_tidied_up(
    tmp_path: Path, host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = git(tmp_path, host, "one")
    one.list_files()
    one.write({("a", "x.records"): b"a secret word\n"}, ())
    subprocess.run(["git", "-C", host, "config", "receive.unpackLimit", "1"], check=True)  # to see what is sent
    one.list_files()
    one.write({("a", "z.records"): random.randbytes(50_000)}, ())
    one.write({("a", "y.records"): b"another\n"}, [("a", "x.records")])
    _, pack = sorted((host / "objects" / "pack").glob("*.pack"), key=lambda pack: pack.stat().st_mtime_ns)
    assert pack.stat().st_size < 1_000, "what is there is not sent again"
    monkeypatch.setattr(carriers, "LOOSE", 1)
    one.list_files()  # finds that it holds more than that, and packs what is left
    subprocess.run(["git", "-C", host, "gc", "-q", "--prune=now"], check=True)
    for folder in (host, tmp_path / "one"):
        objects = subprocess.run(
            ["git", "-C", folder, "cat-file", "--batch", "--batch-all-objects"], capture_output=True, check=True
        ).stdout
        assert b"another" in objects
        assert b"secret" not in objects


def ssh(home: str, script: str) -> None:
    """Let the user's git reach hosts by this script in place of ssh."""
    program = Path(home, "ssh")
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    subprocess.run(["git", "config", "--global", "core.sshCommand", program], check=True)


def test_the_agent_reaches_ssh_which_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    asks = "(: < /dev/tty) 2> /dev/null && echo it asks"
    ssh(os.environ["HOME"], f'{{ echo "$SSH_AUTH_SOCK $GIT_TERMINAL_PROMPT $SSH_ASKPASS_REQUIRE"; {asks}; }} > {told}')
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    assert reduce_environment(os.environ)["SSH_AUTH_SOCK"] == "/run/agent", "the worker inherits it"
    with pytest.raises(CarrierError, match="could not use"):
        git(tmp_path, "ssh://git@host.invalid/memory.git").list_files()
    assert told.read_text() == "/run/agent 0 never\n"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{tmp_path}/own/ssh -i key")
    assert reduce_environment(os.environ)["GIT_SSH_COMMAND"] == f"{tmp_path}/own/ssh -i key", "of a shell's profile"
    with pytest.raises(CarrierError, match="own/ssh"):
        git(tmp_path, "ssh://git@host.invalid/memory.git").list_files()


@pytest.mark.slow
def test_a_host_that_does_not_answer_is_waited_for_no_longer_than_the_limit(tmp_path: Path) -> None:
    number = tmp_path / "number"
    ssh(os.environ["HOME"], f"sleep 600 & echo $! > {number}; wait")
    with pytest.raises(CarrierError, match="did not answer"):
        git(tmp_path, "ssh://git@host.invalid/memory.git", limit_s=3).list_files()
    child = Path("/proc", number.read_text().strip(), "stat")
    wait_until(lambda: not child.exists() or child.read_text().split()[2] == "Z", "what git had started ends")


def test_a_repository_around_the_caller_has_no_say(tmp_path: Path, host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "x")
    one = git(tmp_path, host)
    assert one.list_files() == set()
    assert one.write({("a", "x.records"): b"x"}, ())


def test_an_address_that_is_no_repository_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CarrierError, match="empty"):
        git(tmp_path, tmp_path / "empty").list_files()
    with pytest.raises(CarrierError, match="gone"):
        Folder(tmp_path / "gone").list_files()


@pytest.mark.parametrize(("address", "is_git", "is_far"), [
    ("git@github.com:me/memory.git", True, True), ("https://example.org/me/memory", True, True),
    ("pi:memory", True, True), ("/mnt/nas/memory.git", True, False), ("file:///mnt/nas/memory", True, False),
    ("~/Dropbox/memoria", False, False), ("C:\\Users\\me\\memoria", False, False), ("D:/memoria", False, False),
])  # fmt: skip
def test_an_address_says_what_it_is(address: str, is_git: bool, is_far: bool) -> None:
    assert (carriers.is_git(address), carriers.is_far(address)) == (is_git, is_far)


def test_nothing_but_a_path_becomes_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "memory").mkdir()
    for given, whole in [("memory", "memory"), ("./new", "new"), ("~/new", "me/new"), ("/mnt/nas", "/mnt/nas")]:
        assert carriers.address_of(given) == str(tmp_path / whole)
    for far in ("file:///mnt/nas", "git@github.com:me/memory", "ssh://nas/memory", "nas:memory"):
        assert carriers.address_of(far) == far
    for mistyped in ("gihub.com/me/memory", "memroy", "htps://github.com/me/memory", "sftp://nas/memory"):
        with pytest.raises(ExpectedError, match="git@HOST:PATH"):
            carriers.address_of(mistyped)


def test_a_repository_on_this_machine_is_known_by_what_is_in_it(tmp_path: Path, host: Path) -> None:
    plain = host.rename(tmp_path / "memory")
    assert carriers.is_git(str(plain))
    assert isinstance(carriers.open_carrier(str(plain), tmp_path / "clone"), Git)
    assert isinstance(carriers.open_carrier(str(tmp_path), tmp_path / "clone"), Folder)


@pytest.mark.slow
def test_many_exchanges_leave_few_segments_that_another_machine_reads(tmp_path: Path) -> None:
    machine = Plain("a", Folder(tmp_path), random.Random(1))
    for number in range(300):
        machine.put(f"l-{number}", "statement", f"The statement number {number} of a long life.")
        machine.sync()
    assert 8 < len(machine.carrier.list_files()) < 30, "neither many, nor a few that are all written anew each time"
    late = Plain("b", Folder(tmp_path), random.Random(2))
    late.sync()
    assert late.view() == machine.view()
