"""What every test stands on: a home of its own, nothing inherited, nothing but loopback."""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memoria.base.invocation import UV_RUN
from memoria.base.paths import Paths
from memoria.daily.ledger import Ledger

# Where a shell turns bytecode off, each worker and each process that a test starts would compile everything anew,
# hypothesis among it: it is imported after this.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import hypothesis  # noqa: E402

import syntax  # noqa: E402

# Tests that start processes wait for the disk at each fsync, which says nothing where no power fails: their folders lie
# in memory where that has the gigabyte or two that they take.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# A shell that starts the tests in the background has SIGINT ignored, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says nothing on a machine that does other things as well; bench/ measures time.
hypothesis.settings.register_profile("memoria", deadline=None)
hypothesis.settings.load_profile("memoria")

INHERITED = ("ANTHROPIC_", "CLAUDE", "CODEX_", "GEMINI_", "MEMORIA_", "MEMORY_", "OLLAMA_", "XDG_")

NUMBERS = itertools.count()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Divide a run of everything among twice the processors, since the tests with a client mostly wait.

    The fast ones do not, and a run of named tests starts sooner in one process.
    """
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return 0
    return (1 if config.option.markexpr == "not slow" else 2) * (os.cpu_count() or 1)


def pytest_collection_finish() -> None:
    """Let garbage be looked for among what tests make, not among the modules."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let go of what is kept for all tests, so that pytest's last collections of garbage do not walk through it.

    Folders are kept for who looks at a failure.
    """
    syntax.nodes.cache_clear()
    syntax.tree.cache_clear()
    if not (exitstatus or hasattr(session.config, "workerinput")):
        shutil.rmtree(session.config._tmp_path_factory.getbasetemp(), ignore_errors=True)  # type: ignore[attr-defined]


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own, as pytest's, which reads all folders made before it to number the next."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(NUMBERS)}", numbered=False)


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME, the client's folder and memoria's home are fresh; no key and no setting leaks in from the developer.

    A worker or compile that is started in the background ends at once: it would race the test, and ask a real model. A
    test of one sets ``MEMORIA_PYTHON``, or runs what starts it in an environment of its own.
    """
    for name in list(os.environ):
        if name.startswith(INHERITED) or name == UV_RUN:  # a message names the command as a shell would find it
            monkeypatch.delenv(name)
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")  # never the developer's own
    monkeypatch.setenv("MEMORIA_HOME", str(tmp_path / "memoria"))
    monkeypatch.setenv("MEMORIA_LIMIT_SEARCH_WAIT_S", "60")  # a busy machine answers from a whole index as well
    monkeypatch.setenv("MEMORIA_PYTHON", shutil.which("true") or "")  # what this process starts in the background


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anything but this machine's loopback fails the test that tries it."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fsync return at once in this process: it is for power failures, and no test can make one.

    Tests that want to know when it is called, or let it fail, replace it themselves.
    """
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def as_urgent_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker that runs in this process not lower the priority of all tests after it, which nothing can raise."""
    monkeypatch.setattr(os, "nice", lambda by: 0, raising=False)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """The paths of this test's home."""
    return Paths(str(tmp_path / "memoria"))


@pytest.fixture
def ledger(paths: Paths) -> Iterator[Ledger]:
    """The ledger of this test's home."""
    with closing(Ledger(paths)) as ledger:
        yield ledger
