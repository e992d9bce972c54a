"""Server: the process behind ``memoria open``, one for each home, and the way from a request to a page and back.

It holds a lock while it runs and says in the state folder where it is, so that a second call can open the first one's
page. It ends on Ctrl-C, or when nobody has asked for a page for an hour. To add a page, write a module in ``pages``
with a function that returns a ``View``, a template, and a row in ``PAGES``. Nothing else knows Starlette.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sqlite3
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memoria.ground import database, files, locks
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.reader import security
from memoria.reader.pages import article, entry, facts, home, receipt, search, sessions, timeline
from memoria.reader.site import STATIC, Asked, Done, Made, Site, View, not_found

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


def serve(home: Home, *, port: int, path: str, has_browser: bool) -> None:
    """Serve a home until it is stopped; when it is served already, open a page of that server and return.

    ``port`` 0 is any free one; ``path`` is the page to open first. Raise ExpectedError when the port cannot be used.
    """
    with locks.take(Path(home.paths.reader_lock)) as mine:
        if not mine:
            _show(_find_running(home).address(path), has_browser)
            return
        listener = _listener(port)
        running = Running(listener.getsockname()[1], secrets.token_hex(32))
        place = Path(home.paths.reader)
        try:
            _serve(home, listener, running, path, has_browser)
        finally:
            place.unlink(missing_ok=True)
            listener.close()


def _serve(home: Home, listener: socket.socket, running: Running, path: str, has_browser: bool) -> None:
    def touch() -> None:
        server.touch()

    guard = security.Guard(application(Site(home)), running.key, running.port, touch)
    config = uvicorn.Config(
        guard, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )  # fmt: skip

    def announce() -> None:
        files.replace(Path(home.paths.reader), json.dumps({"port": running.port, "key": running.key}), mode=PRIVATE)
        # in a thread: a browser may wait for the page, or be waited for
        threading.Thread(target=_show, args=(running.address(path), has_browser), name="browser", daemon=True).start()

    server = _Server(config, announce)
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that ends when it is idle, and says when it has begun."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
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
        return await super().on_tick(counter) or time.monotonic() - self.last > IDLE_SECONDS


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((security.HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", error)
        raise ExpectedError(f"port {port} cannot be used ({reason}); name another, or none.") from error
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


def _show(address: str, has_browser: bool) -> None:
    sys.stdout.write(f"memoria is open: {address}\nCtrl-C ends it. The address works once, for ten minutes.\n")
    sys.stdout.flush()
    if has_browser and _has_desktop():
        webbrowser.open(address)


def _has_desktop() -> bool:
    """Return whether a browser can show a window; one in the terminal would take it over."""
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))


_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MAX_SAID = 300  # characters of the sentence about what was done


Show = Callable[[Site, Asked], View]
Act = Callable[[Site, Asked], Done]
PAGES: dict[str, Show] = {
    "/": home.show,
    "/search": search.show,
    "/article/{slug:path}": article.show,
    "/entry/{ident}": entry.show,
    "/source/{ident}": entry.source,
    "/timeline": timeline.show,
    "/day/{day}": timeline.show_day,
    "/facts": facts.show,
    "/fact/{ident}": facts.show_one,
    "/sessions": sessions.show,
    "/session/{ident}": sessions.show_one,
    "/session/{ident}/seen": sessions.show_seen,
    "/receipt": receipt.show,
}
NAMED = ("Home", "Search", "Timeline", "Facts", "Sessions", "Receipt")  # pages in the navigation
ACTIONS: dict[str, Act] = {  # what forms do; the token of the form is checked before
    "/retry/flush": home.retry_flush,
    "/retry/compile": home.retry_compile,
    "/retry/waiting": home.retry_waiting,
    "/fact/{ident}/edit": facts.edit,
    "/fact/{ident}/promote": facts.promote,
    "/fact/{ident}/retire": facts.retire,
    "/fact/{ident}/delete": facts.delete,
    "/undo": article.take_back,
}


def application(site: Site) -> Starlette:
    """Return the application that shows a site."""
    routes = [Route(path, _page_route(site, show)) for path, show in PAGES.items()]
    routes += [Route(path, _action_route(site, act), methods=["POST"]) for path, act in ACTIONS.items()]
    routes += [Route("/static/{name}", _serve_static)]
    return Starlette(routes=routes, exception_handlers={HTTPException: _error_handler(site)})


def _serve_static(request: Request) -> Response:
    """Return a static file, which browsers keep: its path changes with its content."""
    name = request.path_params["name"]
    path = next((path for path in STATIC.iterdir() if path.name == name), None)
    if path is None:
        raise HTTPException(404)
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)


def _page_route(site: Site, show: Show) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        asked = Asked(dict(request.path_params), dict(request.query_params))
        return _response(site, request, _try(show, site, asked, "Not now"))

    return answer


def _try(act: Callable[[Site, Asked], Made], site: Site, asked: Asked, refused: str) -> Made | View:
    """Return what ``act`` returns, or the page that says why it cannot; a bug is raised."""
    try:
        return act(site, asked)
    except ExpectedError as error:
        return View("message.html", refused, {"said": str(error)}, 409)
    except (OSError, sqlite3.Error) as error:  # a full disk, a permission or another process's lock
        if not (isinstance(error, OSError) or database.is_refused(error)):
            raise
        reason = getattr(error, "strerror", None) or error
    said = f"The disk or a database cannot be used now ({reason}). Check free space and permissions, then try again."
    return View("message.html", "Not now", {"said": said}, 503)


def _action_route(site: Site, act: Act) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
        if not security.is_same(form.get("token", ""), request.scope[security.FORM_TOKEN]):
            raise HTTPException(403, "This form is from another session; go back, reload the page and try again.")
        asked = Asked(dict(request.path_params), dict(request.query_params), form)
        done = await run_in_threadpool(_try, act, site, asked, "Not done")
        if isinstance(done, View):
            return _response(site, request, done)
        site.watch.look()
        said = f"{'&' if '?' in done.location else '?'}{urlencode({'said': done.said})}" if done.said else ""
        return RedirectResponse(done.location + said, 303)

    return answer


def _error_handler(site: Site) -> Callable[[Request, Exception], Response]:
    def show_error(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        view = View("message.html", "Not done", {"said": getattr(error, "detail", "")}, status)
        return _response(site, request, not_found("There is no such page.") if status == 404 else view)

    return show_error


def _response(site: Site, request: Request, view: View) -> Response:
    shared = {
        "title": view.title,
        "path": request.url.path,
        "navigation": [("/" if name == "Home" else f"/{name.lower()}", name) for name in NAMED],
        "token": request.scope[security.FORM_TOKEN],
        "said": request.query_params.get("said", "")[:MAX_SAID],
        "words": "",
    }
    page = site.templates.get_template(view.template).render(shared | dict(view.values))
    return HTMLResponse(page.encode("utf-8", "replace"), view.status)  # a file may hold what is no UTF-8
