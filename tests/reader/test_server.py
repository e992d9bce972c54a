"""The process behind ``memoria open``: one for each home, and how it ends."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest

from memoria.ground.home import Home
from reader_home import fill
from real_browser import opened, served, until

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
        assert server.process.wait(30) == 0
        assert "Traceback" not in (server.process.stderr.read() if server.process.stderr else "")
        assert not Path(home.paths.reader).exists()
    with served(home):  # the lock is free again
        pass


def test_it_ends_by_itself_when_nobody_asks() -> None:
    home = Home.open()
    idle = "from memoria.reader import server; server.serve.__kwdefaults__['idle_seconds'] = 0.3"
    process = opened(home, code=idle)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "memoria is open" in out
    assert not Path(home.paths.reader).exists()


def test_where_it_is_can_be_read_by_its_user_only() -> None:
    home = Home.open()
    with served(home):
        place = Path(home.paths.reader)
        assert place.stat().st_mode & 0o777 == 0o600
        assert json.loads(place.read_bytes())["port"] > 0


def test_a_port_that_is_taken_is_said() -> None:
    home = Home.open()
    with served(home) as server:
        other = Home.open()
        object.__setattr__(other, "paths", type(home.paths)(str(Path(home.paths.home).with_name("other"))))
        process = opened(other, "--port", str(server.port))
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert f"port {server.port} cannot be used" in err
        until(lambda: server.process.poll() is None, "the first one goes on")
