"""The doctor finds what is broken, says what to do, and leaves everything as it was."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from home_of import scripted
from installed import packages
from memoria import cli
from memoria.audit import checks
from memoria.audit.checks import BROKEN, NOTE, OK, Finding
from memoria.base import interpreter
from memoria.base import paths as places
from memoria.capture.spool import Spool
from memoria.daily.ledger import Ledger
from memoria.ground.errors import CannotLockError
from memoria.ground.home import Home
from places import ROOT
from shelves import DAY, HOUR, Shelf


@pytest.fixture
def home(client: Shelf, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home, and a client with the plugin."""
    monkeypatch.setenv("MEMORIA_PYTHON", sys.executable)
    monkeypatch.chdir(client.work)
    client_settings({"enabledPlugins": {"memoria@memoria": True}})
    return Home.open()


def client_settings(value: object) -> Path:
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "settings.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def levels(findings: Iterable[Finding]) -> list[str]:
    return [finding.level for finding in findings]


def one(findings: Iterable[Finding], level: str) -> Finding:
    found = [finding for finding in findings if finding.level == level]
    assert len(found) == 1, found
    assert (level == OK) or found[0].remedy
    return found[0]


def everything(home: Home) -> dict[str, bytes]:
    """All files of a home but its logs and the database, which sqlite writes when it is opened."""
    root = Path(home.paths.home)
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files if "log" not in path.parts and "ledger" not in path.name}


def test_a_sound_home_is_found_sound_and_left_as_it_was_and_no_model_is_asked(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripted(tmp_path, monkeypatch)
    before = everything(home)
    status = cli.main(["doctor", "--json"])
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    broken = [finding for finding in facts["findings"] if finding["level"] == BROKEN]
    assert (status, broken) == (0, [])
    assert everything(home) == before
    assert not script.with_name("script.json.calls").exists()


def test_packages_that_are_missing_are_noted_and_that_they_cannot_be_installed_is_broken(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORIA_PYTHON")
    monkeypatch.setattr(places, "is_checkout", lambda: False)
    home = Home.open()
    assert "not installed yet" in one(checks.check_worker(home), NOTE).text
    failed = Path(interpreter.failure_file())
    failed.parent.mkdir(parents=True)
    failed.write_text("uv pip install: no route to the index\n")
    assert "no route to the index" in one(checks.check_worker(home), BROKEN).text


def test_hooks_that_cannot_run_are_broken(home: Home) -> None:
    plugin = {"enabledPlugins": {"memoria@memoria": True}}
    client_settings({**plugin, "disableAllHooks": True})
    assert "disableAllHooks" in one(checks.check_hooks(home), BROKEN).text
    for place, said in ((ROOT, "installed as a plugin"), ("/moved/clone", "/moved/clone is gone, from which")):
        client_settings(plugin | {"extraKnownMarketplaces": {"memoria": {"source": {"path": str(place)}}}})
        assert said in one(checks.check_hooks(home), OK if place == ROOT else BROKEN).text
    made = Path(home.paths.home, "plugin", "hooks", "hooks.json")  # of a wheel, whose Python is another one since
    made.parent.mkdir(parents=True)
    made.write_text((ROOT / "plugin/hooks/hooks.json").read_text().replace("${CLAUDE_PLUGIN_ROOT}", "/lib/python3.11"))
    client_settings(plugin | {"extraKnownMarketplaces": {"memoria": {"source": {"path": home.paths.home}}}})
    assert "/lib/python3.11/hooks/run is gone" in one(checks.check_hooks(home), BROKEN).text
    client_settings({"enabledPlugins": {"memoria@memoria": False}})
    assert "switched off" in one(checks.check_hooks(home), BROKEN).text
    client_settings({})
    assert "not installed" in one(checks.check_hooks(home), BROKEN).text
    client_settings({}).write_text("{")
    assert levels(checks.check_hooks(home)) == [BROKEN]


@pytest.mark.parametrize("words", [("run", "stop"), ("stop.py",)], ids=["0.3", "0.2"])
def test_hooks_in_the_settings_are_an_older_install_and_broken_when_it_has_gone(home: Home, words: list[str]) -> None:
    command = shlex.join([str(ROOT / "hooks" / words[0]), *words[1:]])
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
    path = client_settings(hooks)
    assert "in the way of memoria 0.2" in one(checks.check_hooks(home), NOTE).text
    path.write_text(path.read_text().replace(str(ROOT), "/gone/memoria"))
    assert "gone" in one(checks.check_hooks(home), BROKEN).text
    client_settings({**hooks, "enabledPlugins": {"memoria@memoria": True}})
    assert levels(checks.check_hooks(home)) == [OK, NOTE]


def test_hooks_that_do_not_fire_any_more_are_broken(home: Home, client: Shelf) -> None:
    assert levels(checks.check_firing(home)) == [NOTE]
    log = Path(home.paths.hook_log)
    log.write_text(time.strftime("%Y-%m-%dT%H:%M:%SZ Stop s spooled\n", time.gmtime(time.time() - DAY)))
    assert levels(checks.check_firing(home)) == [OK]
    client.session(1, age_s=HOUR)
    assert "though a session ran" in one(checks.check_firing(home), BROKEN).text


def test_a_worker_without_our_packages_is_broken(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert levels(checks.check_worker(home)) == [OK]
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    monkeypatch.setenv("MEMORIA_PYTHON", str(bare / "bin" / "python"))
    assert "lacks claude_agent_sdk" in one(checks.check_worker(Home.open()), BROKEN).text
    monkeypatch.setenv("MEMORIA_PYTHON", str(packages(tmp_path / "plugin")))  # a plugin's: memoria lies elsewhere
    assert levels(checks.check_worker(Home.open())) == [OK]
    monkeypatch.setenv("MEMORIA_PYTHON", "/nowhere/python")
    assert "does not run" in one(checks.check_worker(Home.open()), BROKEN).text


def test_a_python3_missing_or_old_is_broken(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not found" in next(checks.check_pythons(home)).text
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\necho 3.8.10\n")
    old.chmod(0o755)
    found = next(checks.check_pythons(home))
    assert (found.level, "3.8.10" in found.text) == (BROKEN, True)


def test_a_folder_that_cannot_lock_is_broken(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(checks.check_lock(home)) == [OK]
    Path(home.paths.notices_lock).touch()

    def refuse(path: Path) -> None:
        raise CannotLockError(f"{path} cannot be locked")

    monkeypatch.setattr("memoria.ground.locks.take", refuse)
    assert levels(checks.check_lock(home)) == [BROKEN]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux says who holds a lock")
def test_a_folder_that_leads_nowhere_and_a_disk_that_is_nearly_full_are_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert one(checks.check_disk(home), OK)
    Path(home.paths.knowledge).rmdir()
    Path(home.paths.knowledge).symlink_to("gone/away")
    assert f"{home.paths.knowledge}: No such file" in one(checks.check_disk(home), BROKEN).text
    Path(home.paths.knowledge).unlink()
    for free, level in ((checks.FREE_WARN_MB, OK), (checks.FREE_WARN_MB - 1, NOTE), (checks.FREE_MB - 1, BROKEN)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free * 1_000_000))
        assert one(checks.check_disk(home), level)
    Path(home.paths.ledger).touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path != home.paths.ledger or not mode & os.W_OK)
    assert home.paths.ledger in "".join(finding.text for finding in checks.check_disk(home))


def test_a_damaged_ledger_is_named_with_what_to_do_and_hides_nothing_else(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    Ledger(home.paths).close()
    whole = Path(home.paths.ledger).read_bytes()
    Path(home.paths.ledger).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    assert cli.main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "flush` sets it aside" in told
    assert told.count("damaged") > 1, "each check that needs it says so"


def test_a_process_that_holds_a_lock_without_progress_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print('', flush=True); input()"
    for lock in (home.paths.worker_lock, home.paths.compile_lock, home.paths.observer_lock):
        words = [sys.executable, "-c", program, lock]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            holder.stdout.readline()
            assert levels(checks.check_lock(home)) == [OK], "it has only begun"
            with monkeypatch.context() as patched:
                patched.setattr(checks, "LONG_LOCK_S", 0.0)
                found, _ = checks.check_lock(home)
                assert (found.level, f"process {holder.pid} holds" in found.text) == (NOTE, True)
                patched.setattr(checks, "_has_called", lambda home: True)
                assert levels(checks.check_lock(home)) == [OK], "it asks models"
            holder.communicate(b"\n")


@pytest.mark.parametrize("folder", ["Dropbox", "OneDrive - Pier", "Library/Mobile Documents", "Google Drive/My Drive"])
def test_a_home_in_a_synced_folder_is_told(tmp_path: Path, folder: str) -> None:
    assert checks.sync_service(tmp_path / folder / "memoria")
    assert not checks.sync_service(tmp_path / "notes" / "memoria")


def test_jobs_that_failed_or_wait_too_long_are_told(home: Home) -> None:
    assert levels(checks.check_jobs(home)) == [OK]
    spool = Spool(home.paths.spool)
    name = spool.add({"event": "Stop", "session": "s", "start": 0, "end": 0}, b"")
    old = Path(spool.new, name)
    old.rename(old.with_name(f"{time.time_ns() - 3 * 86_400 * 10**9:020d}.{name.split('.', 1)[1]}"))
    assert "one waits for 3 days" in one(checks.check_jobs(home), NOTE).text
    job = spool.jobs()[0]
    spool.claim(job)
    spool.fail(job, "a test")
    assert "0 wait, 1 failed" in one(checks.check_jobs(home), NOTE).text
