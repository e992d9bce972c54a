"""A real redis-server for tests: our own process, a free loopback port, its data in the test's folder."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

MISSING = "no redis-server on PATH (Debian: apt-get install redis-server)"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """One server; ``kill`` is SIGKILL, ``start`` brings it back on the same port with what it had on disk."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> RedisServer:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while b"PONG" not in self._ask(b"PING\r\n"):
            assert self.process.poll() is None, "redis-server ended at once"
            assert time.monotonic() < deadline, "redis-server did not answer"
            time.sleep(0.01)
        return self

    def _ask(self, command: bytes) -> bytes:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(command)
                return connection.recv(100)
        except OSError:
            return b""

    def flush(self) -> None:
        assert b"OK" in self._ask(b"FLUSHALL\r\n")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None


def require_redis() -> None:
    """Skip the test, saying why, where there is no redis-server or no client package."""
    if shutil.which("redis-server") is None:
        pytest.skip(MISSING)
    pytest.importorskip("redis", reason="the extra memoria[redis] is not installed")
