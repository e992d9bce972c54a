from __future__ import annotations

import ast
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from client_session import wait_until
from memoria.base import interpreter, state
from memoria.base import paths as places
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import detach
from places import ROOT


@pytest.fixture
def settings(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Settings:
    state.open_state(paths)
    monkeypatch.setenv("MEMORIA_PYTHON", "/bin/true")
    return Settings.load()


HOOK = """
import os, sys, signal
from memoria.capture import detach
from memoria.base.paths import Paths
signal.signal(signal.SIGINT, signal.SIG_IGN)
paths = Paths({home!r})
{before}
command = [sys.executable, "-c", {child!r}]
{call}
os._exit(0)
"""
REFUSED = """
spawn = os.posix_spawn
def refuse(*given, setsid, **options):
    if setsid:
        raise NotImplementedError("setsid")
    return spawn(*given, **options)
os.posix_spawn = refuse
"""
CHILD = """
import json, os, signal
from pathlib import Path
signal.alarm(120)  # also when the test fails before it opens the gate
while not os.path.exists({gate!r}):
    pass
found = {{"cwd": os.getcwd(), "pid": os.getpid(), "sid": os.getsid(0), "env": sorted(os.environ),
         "open": [fd for fd in os.listdir("/dev/fd") if os.path.exists("/dev/fd/" + fd)],
         "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler}}
Path({told!r} + ".new").write_text(json.dumps(found))
os.rename({told!r} + ".new", {told!r})
"""


@pytest.mark.parametrize(
    ("before", "is_leader"), [("", True), (REFUSED, False)], ids=["spawned", "where it cannot be spawned"]
)
def test_what_a_hook_starts_holds_nothing_of_it(paths: Paths, tmp_path: Path, before: str, is_leader: bool) -> None:
    state.open_state(paths)
    told, gate = tmp_path / "told.json", tmp_path / "gate"
    child, call = CHILD.format(told=str(told), gate=str(gate)), "detach.start(command, paths, is_ending=True)"
    code = HOOK.format(home=paths.home, before=before, child=child, call=call)
    env = {"PYTHONPATH": str(Path(ROOT, "scripts")), "PATH": os.defpath, "CLAUDECODE": "1", "ANYTHING": "else"}
    ours, theirs = os.pipe()  # as a client may leave one open in a hook
    hook = subprocess.Popen(
        [sys.executable, "-c", code], env=env, pass_fds=[theirs], start_new_session=True, cwd=tmp_path
    )
    os.close(theirs)
    assert hook.wait() == 0
    assert os.read(ours, 1) == b"", "the hook's end closes the pipe, while the process lives"
    os.close(ours)
    gate.touch()
    wait_until(told.exists, "it tells")
    found = json.loads(told.read_text(encoding="utf-8"))
    assert found["cwd"] == paths.state
    assert found["sid"] != hook.pid
    assert (found["sid"] == found["pid"]) is is_leader
    assert {"0", "1", "2"}.issuperset(found["open"])
    assert found["interrupt"]
    assert set(found["env"]) <= {"CLAUDE_INVOKED_BY", "LC_CTYPE", "MEMORIA_DETACHED", "PATH"}


@pytest.mark.timeout(60)
def test_what_no_pipe_holds_is_handed_to_no_command_and_waited_for_by_nobody(paths: Paths) -> None:
    with pytest.raises(OSError, match="does not hold"):
        detach.go_on_as(["/bin/true"], paths, b"x" * 5_000_000)


def test_what_a_hook_becomes_holds_nothing_but_what_it_was_handed(paths: Paths, tmp_path: Path) -> None:
    state.open_state(paths)
    child = "import os, sys; print(os.getcwd(), 'ANYTHING' in os.environ, sys.stdin.read()); sys.exit('failed')"
    code = HOOK.format(home=paths.home, before="", child=child, call="detach.go_on_as(command, paths, b'asked')")
    env = {"PYTHONPATH": str(Path(ROOT, "scripts")), "ANYTHING": "else"}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, check=False)
    assert done.stdout == f"{paths.state} False asked\n".encode()
    assert (done.stderr, Path(paths.worker_output).read_text()) == (b"", "failed\n")


@pytest.mark.parametrize(("ago", "is_tried"), [(40, False), (80, True), (-120, True)])
def test_a_failed_build_waits_a_minute(paths: Paths, monkeypatch: pytest.MonkeyPatch, ago: int, is_tried: bool) -> None:
    monkeypatch.setattr(detach, "start", lambda *_: None)
    monkeypatch.setattr(interpreter, "failure", lambda: ("no route", time.time() - ago))
    assert (detach.start_build(paths) == detach.BUILDING) is is_tried


def test_while_a_worker_holds_its_lock_none_is_started_and_one_that_cannot_run_is_logged(
    paths: Paths, settings: Settings
) -> None:
    with Path(paths.worker_lock).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert detach.start_worker(settings, paths) == "worker busy"
    assert detach.start_worker(settings, paths) == "worker started"
    detach.start(["/gone/python"], paths)
    assert Path(paths.worker_output).read_text("utf-8").startswith("cannot run /gone/python: ")


def test_uv_is_found_where_installers_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    uv = tmp_path / ".local" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.touch()
    assert interpreter.find_program("uv") != str(uv)  # not executable
    uv.chmod(0o755)
    assert interpreter.find_program("uv") == str(uv)


def test_a_named_interpreter_comes_first_then_a_clones_own_then_memorias(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def way() -> list[str]:
        return detach.command(Settings.load(), "flush")[:1]

    monkeypatch.delenv("MEMORIA_PYTHON")
    monkeypatch.setattr(places, "ROOT", str(tmp_path))
    (tmp_path / "pyproject.toml").touch()
    assert way() == []
    made = [Path(interpreter.python_of(folder)) for folder in (interpreter.environment(), str(tmp_path / ".venv"))]
    for python in made:
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        assert way() == [str(python)]
    monkeypatch.setattr(places, "is_checkout", lambda: False)
    assert way() == [str(made[0])], "a plugin's folder holds none of its own"
    monkeypatch.setenv("MEMORIA_PYTHON", "/opt/python")
    assert way() == ["/opt/python"]
    for python in made:
        interpreter.mark_use(str(python))
    assert [(each.parents[1] / interpreter.USED).exists() for each in made] == [True, False], "not in a clone's own"


def test_the_worker_is_told_which_program_the_client_is_whose_hook_starts_it() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from memoria.capture import detach; print(detach.worker_environment())"],
        env={**os.environ, "CLAUDE_PID": str(os.getpid())}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if Path("/proc/self/exe").exists():
        assert ast.literal_eval(said)["MEMORIA_CLIENT"] == str(Path("/proc/self/exe").readlink())
