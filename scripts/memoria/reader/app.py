"""App: every page and action with its path, and the way from a request to a page and from a page to a response.

The only module that knows Starlette. To add a page, write a module in ``pages`` with a function that returns a
``View``, a template, and a row in ``PAGES``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memoria.ground import database
from memoria.ground.errors import ExpectedError
from memoria.reader import security
from memoria.reader.pages import article, entry, facts, home, receipt, search, sessions, timeline
from memoria.reader.site import STATIC, Asked, Done, Site, View, not_found

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MAX_SAID = 300  # characters of the sentence about what was done


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its path with named parts (``{slug:path}``), its function, and its ``name`` in the navigation, if any."""

    path: str
    show: Callable[[Site, Asked], View]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What a form does: its path and its function. The token of the form is checked before."""

    path: str
    act: Callable[[Site, Asked], Done]


PAGES = (
    Page("/", home.show, "Home"),
    Page("/search", search.show, "Search"),
    Page("/article/{slug:path}", article.show),
    Page("/entry/{ident}", entry.show),
    Page("/source/{ident}", entry.source),
    Page("/timeline", timeline.show, "Timeline"),
    Page("/day/{day}", timeline.show_day),
    Page("/facts", facts.show, "Facts"),
    Page("/fact/{ident}", facts.show_one),
    Page("/sessions", sessions.show, "Sessions"),
    Page("/session/{ident}", sessions.show_one),
    Page("/session/{ident}/seen", sessions.show_seen),
    Page("/receipt", receipt.show, "Receipt"),
)
ACTIONS = (
    Action("/retry/flush", home.retry_flush),
    Action("/retry/compile", home.retry_compile),
    Action("/retry/waiting", home.retry_waiting),
    Action("/fact/{ident}/edit", facts.edit),
    Action("/fact/{ident}/promote", facts.promote),
    Action("/fact/{ident}/retire", facts.retire),
    Action("/fact/{ident}/delete", facts.delete),
    Action("/receipt/compare", receipt.compare),
    Action("/undo", article.take_back),
)


def application(site: Site) -> Starlette:
    """Return the application that shows a site."""
    routes = [Route(page.path, _page_route(site, page)) for page in PAGES]
    routes += [Route(action.path, _action_route(site, action), methods=["POST"]) for action in ACTIONS]
    routes += [Route("/static/{name}", _static), Route("/favicon.ico", _icon)]
    return Starlette(routes=routes, exception_handlers={HTTPException: _error_handler(site)})


def _icon(_: Request) -> Response:
    """Return the icon where a browser looks for it when a page names none."""
    return Response((STATIC / "icon.svg").read_bytes(), media_type="image/svg+xml")


def _static(request: Request) -> Response:
    """Return a static file, which browsers keep: its path changes with its content."""
    name = request.path_params["name"]
    path = next((path for path in STATIC.iterdir() if path.name == name), None)
    if path is None:
        raise HTTPException(404)
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)


def _page_route(site: Site, page: Page) -> Callable[[Request], Response]:
    def show(request: Request) -> Response:
        asked = Asked(dict(request.path_params), dict(request.query_params))
        try:
            view = page.show(site, asked)
        except ExpectedError as error:
            view = View("message.html", "Not now", {"said": str(error)}, 409)
        except (OSError, sqlite3.Error) as error:
            view = _refusal(error)
        return _response(site, request, view)

    return show


def _refusal(error: OSError | sqlite3.Error) -> View:
    """Return the page for what a full disk, a permission or another process's lock forbids; raise a bug again."""
    if not (isinstance(error, OSError) or database.is_refused(error)):
        raise error
    reason = getattr(error, "strerror", None) or error
    said = f"The disk or a database cannot be used now ({reason}). Check free space and permissions, then try again."
    return View("message.html", "Not now", {"said": said}, 503)


def _action_route(site: Site, action: Action) -> Callable[[Request], object]:
    async def act(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))
        if not security.is_same(form.get("token", ""), request.scope[security.FORM_TOKEN]):
            raise HTTPException(403, "This form is from another session; go back, reload the page and try again.")
        asked = Asked(dict(request.path_params), dict(request.query_params), form)
        try:
            done = await run_in_threadpool(action.act, site, asked)
        except ExpectedError as error:
            return _response(site, request, View("message.html", "Not done", {"said": str(error)}, 409))
        except (OSError, sqlite3.Error) as error:
            return _response(site, request, _refusal(error))
        site.watch.look()
        said = f"{'&' if '?' in done.location else '?'}{urlencode({'said': done.said})}" if done.said else ""
        return RedirectResponse(done.location + said, 303)

    return act


def _error_handler(site: Site) -> Callable[[Request, Exception], Response]:
    def show_error(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 404:
            return _response(site, request, not_found("There is no such page."))
        return _response(
            site, request, View("message.html", "Not done", {"said": getattr(error, "detail", "")}, status)
        )

    return show_error


def _response(site: Site, request: Request, view: View) -> Response:
    shared = {
        "title": view.title,
        "path": request.url.path,
        "navigation": [(page.path, page.name) for page in PAGES if page.name],
        "token": request.scope[security.FORM_TOKEN],
        "said": request.query_params.get("said", "")[:MAX_SAID],
        "words": "",
    }
    return HTMLResponse(site.templates.render(view.template, shared | dict(view.values)), view.status)
