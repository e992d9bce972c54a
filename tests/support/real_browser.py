"""A real headless Chromium, and a server of the reader for it; a test is skipped where there is none."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from client_session import wait_until
from memoria.ground.home import Home
from memoria.reader import security

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
IS_THERE = bool(CHROMIUM) and importlib.util.find_spec("playwright") is not None
MISSING = "needs chromium (apt install chromium) and playwright (uv sync --inexact --group browser)"
NEEDS_BROWSER = pytest.mark.skipif(not IS_THERE, reason=MISSING)


@dataclass(slots=True)
class Served:
    """A process of ``memoria open``."""

    process: subprocess.Popen[str]
    port: int
    key: str

    @property
    def origin(self) -> str:
        """What its pages' addresses begin with."""
        return f"http://127.0.0.1:{self.port}"

    def entrance(self) -> str:
        """Return an address that lets a browser in."""
        return f"{self.origin}/enter?{urlencode({'ticket': security.ticket(self.key)})}"


def opened(home: Home, *words: str, code: str = "") -> subprocess.Popen[str]:
    """Start ``memoria open`` in this test's world; ``code`` runs in its process before."""
    environment = {**os.environ, "MEMORIA_HOME": str(home.paths.home), "PYTHONUNBUFFERED": "1"}
    command = f"import sys; {code or 'pass'}\nfrom memoria.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", command, "open", "--no-browser", *words],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def served(home: Home, code: str = "") -> Iterator[Served]:
    """Serve a home in a process of its own."""
    process = opened(home, code=code)
    try:
        place = Path(home.paths.reader)
        wait_until(lambda: place.exists() or process.poll() is not None, "the server says where it is")
        assert process.poll() is None, process.stderr and process.stderr.read()
        stored = json.loads(place.read_bytes())
        yield Served(process, stored["port"], stored["key"])
    finally:
        process.kill()
        process.communicate()


@contextmanager
def chromium(**given: Any) -> Iterator[Any]:
    """Yield a context of a new Chromium."""
    driver = importlib.import_module("playwright.sync_api")  # is not installed everywhere
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser.new_context(**given)
        finally:
            browser.close()
