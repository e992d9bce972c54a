"""The process behind ``memoria open``: one for each home, and how it ends."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest

from memoria.ground.home import Home
from reader_home import fill
from real_browser import opened, served

pytestmark = pytest.mark.slow


def test_a_second_call_opens_a_page_of_the_first_ones_server() -> None:
    home = Home.open()
    fill(home)
    with served(home) as first:
        second = opened(home)
        out, err = second.communicate(timeout=60)
        assert second.returncode == 0, err
        address = next(word for word in out.split() if word.startswith("http://"))
        assert address.startswith(f"{first.origin}/enter?ticket=")
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
            assert "SameSite=Strict" in answer.headers["set-cookie"]
        assert first.process.poll() is None


def test_ctrl_c_ends_it_and_leaves_nothing_behind() -> None:
    home = Home.open()
    with served(home) as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
        assert "Traceback" not in (server.process.stderr.read() if server.process.stderr else "")
        assert not Path(home.paths.reader).exists()
    with served(home):  # the lock is free again
        pass


def test_where_it_is_can_be_read_by_its_user_only() -> None:
    home = Home.open()
    with served(home):
        place = Path(home.paths.reader)
        assert place.stat().st_mode & 0o777 == 0o600
        assert json.loads(place.read_bytes())["port"] > 0
