"""Security: who may ask for a page, and what a page may do in the browser.

The server listens on loopback only. An address that ``memoria open`` prints holds a ticket, which works once and for
ten minutes, and gives the browser a cookie; nothing is answered without the cookie. The cookie's name holds the port,
because browsers send cookies to every port of a host. Requests for another host name (DNS rebinding) or from another
origin are refused, and forms hold a token of their own. docs/decisions/0106-reader.md.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

HOST = "127.0.0.1"
ENTER = "/enter"
TICKET_SECONDS = 600
MAX_BODY = 1_000_000  # bytes of a form
FORM_TOKEN = "memoria.form_token"  # noqa: S105 (the key of a request's scope)
_OWN_SITES = ("same-origin", "none", "")  # of Sec-Fetch-Site: our own pages, and the address bar
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_WELCOME = """<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={path}">
<title>memoria</title><p><a href="{path}">Open memoria</a></p></html>"""
_REFUSAL = """<!doctype html><html lang="en"><meta charset="utf-8"><title>memoria</title>
<h1>memoria</h1><p>{reason}</p></html>"""
_CLOSED = "Run <code>memoria open</code> again: it opens this page with a fresh address."


def ticket(key: str, now: float | None = None) -> str:
    """Return a ticket that lets a browser in, once."""
    stamp = f"{int(time.time() if now is None else now)}.{secrets.token_urlsafe(16)}"
    return f"{stamp}.{_sign(key, 'ticket', stamp)}"


def form_token(key: str, session: str) -> str:
    """Return what each form of a session holds."""
    return _sign(key, "form", session)


def _sign(key: str, purpose: str, text: str) -> str:
    return hmac.new(key.encode(), f"{purpose} {text}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Return whether two secrets are equal, in a time that does not depend on them."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


class Guard:
    """An ASGI application before another one: it passes on only what the person's own browser asks for."""

    def __init__(self, app: Application, key: str, port: int, touched: Callable[[], None]) -> None:
        """``touched`` is called for each request that is let in."""
        self.app = app
        self.key = key
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self.cookie = f"memoria_{port}"
        self.touched = touched
        self._used: set[str] = set()
        self._sessions: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse or pass on one request."""
        if scope["type"] != "http":
            return  # nothing here uses a web socket
        asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status, reason = self._refusal(scope, asked)
        session = self._session(asked)
        if status:
            await _answer(send, status, _REFUSAL.format(reason=reason))
        elif scope["path"] == ENTER:
            await self._enter(scope, send, session)
        elif not session or asked.get("sec-fetch-site", "") not in _OWN_SITES:
            await _answer(send, 403, _REFUSAL.format(reason=_CLOSED))
        else:
            self.touched()
            scope[FORM_TOKEN] = form_token(self.key, session)
            await self.app(scope, receive, _protect(send))

    def _refusal(self, scope: Scope, asked: dict[str, str]) -> tuple[int, str]:
        """Return the status and the reason with which a request is refused, whoever makes it; 0 if it is not."""
        if asked.get("host", "") not in self.hosts:
            return 421, "This address is not memoria's."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "There is nothing here for this method."
        if scope["method"] != "POST":
            return 0, ""
        if asked.get("origin", "") != f"http://{asked['host']}":
            return 403, "A form is accepted only from memoria's own pages."
        length = asked.get("content-length", "")
        return (0, "") if length.isdecimal() and int(length) <= MAX_BODY else (413, "That is more than a form holds.")

    def _session(self, asked: dict[str, str]) -> str:
        """Return the session of the request's cookie, ``""`` when it has none of ours."""
        try:
            found = SimpleCookie(asked.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        given = found.value if found else ""
        return next((session for session in self._sessions if is_same(session, given)), "")

    async def _enter(self, scope: Scope, send: Send, session: str) -> None:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        path = html.escape(_inner_path(query.get("to", ["/"])[0]))
        if session:
            await _answer(send, 200, _WELCOME.format(path=path))
        elif scope["method"] != "GET" or not self._takes(query.get("ticket", [""])[0]):
            await _answer(send, 403, _REFUSAL.format(reason=f"This address was used before or is too old. {_CLOSED}"))
        else:
            self.touched()
            session = secrets.token_urlsafe(32)
            self._sessions.add(session)
            cookie = f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
            # a page and not a redirect: after a link from elsewhere the browser would keep a strict cookie back
            await _answer(send, 200, _WELCOME.format(path=path), [(b"set-cookie", cookie.encode())])

    def _takes(self, given: str) -> bool:
        stamp, _, signed = given.rpartition(".")
        when = stamp.partition(".")[0]
        if not is_same(signed, _sign(self.key, "ticket", stamp)) or stamp in self._used or not when.isdecimal():
            return False
        self._used.add(stamp)
        return 0 <= time.time() - int(when) + 1 <= TICKET_SECONDS


def _inner_path(path: str) -> str:
    """Return a path of this server; ``/`` for an address that would lead elsewhere."""
    is_ours = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isascii() and path.isprintable()
    return path if is_ours else "/"


def _protect(send: Send) -> Send:
    async def send_protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = _add_headers(message.get("headers", ()))
        await send(message)

    return send_protected


def _add_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    names = {name.lower() for name, _ in headers}
    caching = [] if b"cache-control" in names else [(b"cache-control", b"no-store")]
    return [*headers, *caching, *_HEADERS]


async def _answer(send: Send, status: int, page: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    body = page.encode()
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": _add_headers(headers)})
    await send({"type": "http.response.body", "body": body})
