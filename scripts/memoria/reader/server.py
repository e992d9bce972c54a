"""Server: the process behind ``memoria open``, one for each home.

It holds a lock while it runs and says in the state folder where it is, so that a second call can open the first one's
page. It ends on Ctrl-C, or when nobody has asked for a page for an hour.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from memoria.ground import files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.reader import security
from memoria.reader.app import application
from memoria.reader.site import Site

IDLE_SECONDS = 3600.0
CLOSING_SECONDS = 1  # for which open connections are waited for at the end
PRIVATE = 0o600
_STARTING_SECONDS = 5.0  # for which a second call waits until the first says where it is


@dataclass(frozen=True, slots=True)
class Running:
    """Where a server is, and its key."""

    port: int
    key: str

    def address(self, path: str) -> str:
        """Return an address that lets a browser in, once, and shows a path."""
        query = urlencode({"ticket": security.ticket(self.key), "to": path})
        return f"http://{security.HOST}:{self.port}{security.ENTER}?{query}"


def serve(home: Home, *, port: int, path: str, has_browser: bool, idle_seconds: float = IDLE_SECONDS) -> None:
    """Serve a home until it is stopped; when it is served already, open a page of that server and return.

    ``port`` 0 is any free one; ``path`` is the page to open first. Raise ExpectedError when the port cannot be used.
    """
    with locks.held(Path(home.paths.reader_lock)) as mine:
        if not mine:
            address = _find_running(home).address(path)
            _say(address)
            if has_browser and _has_desktop():
                webbrowser.open(address)
            return
        listener = _listener(port)
        running = Running(listener.getsockname()[1], security.new_key())
        place = Path(home.paths.reader)
        try:
            _serve(home, listener, running, path, has_browser, idle_seconds)
        finally:
            place.unlink(missing_ok=True)
            listener.close()


def _serve(
    home: Home, listener: socket.socket, running: Running, path: str, has_browser: bool, idle_seconds: float
) -> None:
    def touched() -> None:
        server.touch()

    guard = security.Guard(application(Site(home)), running.key, running.port, touched)
    config = uvicorn.Config(
        guard, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )  # fmt: skip

    def announce() -> None:
        files.replace(Path(home.paths.reader), json.dumps({"port": running.port, "key": running.key}), mode=PRIVATE)
        address = running.address(path)
        _say(address)
        if has_browser and _has_desktop():  # in a thread: a browser may wait for the page, or be waited for
            threading.Thread(target=webbrowser.open, args=(address,), name="browser", daemon=True).start()

    server = _Server(config, idle_seconds, announce)
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that ends when it is idle, and says when it has begun."""

    def __init__(self, config: uvicorn.Config, idle_seconds: float, started: Callable[[], None]) -> None:
        super().__init__(config)
        self.idle_seconds = idle_seconds
        self.tell_started = started
        self.touch()

    def touch(self) -> None:
        """Record a request."""
        self.last = time.monotonic()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; only from here on Ctrl-C ends the server in order."""
        await super().startup(sockets)
        if self.started:
            self.tell_started()

    async def on_tick(self, counter: int) -> bool:
        """Return whether it is time to end; called several times a second."""
        return await super().on_tick(counter) or time.monotonic() - self.last > self.idle_seconds


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((security.HOST, port))
    except OSError as error:
        listener.close()
        raise ExpectedError(f"port {port} cannot be used ({error.strerror}); name another, or none.") from error
    return listener


def _find_running(home: Home) -> Running:
    """Return the server that holds the lock; wait while it is starting. Raise ExpectedError when it does not say."""
    until = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < until:
        try:
            stored = json.loads(Path(home.paths.reader).read_bytes())
            return Running(int(stored["port"]), str(stored["key"]))
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.05)
    raise ExpectedError("memoria is open already and does not say where; stop that one and try again.")


def _say(address: str) -> None:
    sys.stdout.write(f"memoria is open: {address}\nCtrl-C ends it. The address works once, for ten minutes.\n")
    sys.stdout.flush()


def _has_desktop() -> bool:
    """Return whether a browser can show a window; one in the terminal would take it over."""
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
