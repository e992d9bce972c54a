"""A home that is worth reading, and a browser that asks the reader's application for its pages."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.reader import security
from memoria.reader.server import application
from memoria.reader.site import Site
from memoria.statements import lines
from memoria.statements.fact import Fact
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from memoria.wiki.article import Article, Claim
from memoria.wiki.folder import Wiki
from places import TESTS

DAY = date(2026, 11, 20)
PORT = 4711
HOST = f"127.0.0.1:{PORT}"

SHOP, BLOG, LAB = ("shop", "shop-1a2b3c"), ("grüße-blog", "grüße-blog-4d5e6f"), ("数据实验", "数据实验-7a8b9c")

# id, days before DAY, time, project, title, context, open items, facts, turns (speaker, words); the facts of an entry
# ``c1`` are ``l-c1001``, ``l-c1002``, ..., each of a kind, its words and, if it has ended, what holds instead
ENTRIES: list[dict[str, Any]] = [
    {"id": "c1", "ago": 0, "time": "10:05", "project": SHOP, "title": "Checkout retries without double charges",
     "context": "The payment provider times out under load, and the client retried blindly.",
     "items": ("Alert when a charge needs more than two attempts", "Write the runbook for stuck orders"),
     "facts": (("decision", "A charge carries an idempotency key made from the order's id and the amount, so that "
                "two workers that retry the same order come to the same key."),
               ("preference", "Use pnpm in the shop, never npm."),
               ("debugging", "A `409` means that the key was used before with *another amount*, which is a bug of "
                "ours."),
               ("fact", "The provider answers a repeated key with its first answer, also when the first request "
                "timed out."),
               ("decision", "Retries are counted per order; after three the order waits for a person."),
               ("fact", "Requests time out after ten seconds; the charge may have been made all the same.")),
     "said": (("user", "The checkout charged somebody twice last night. I think it is our retry."),
              ("assistant", "It is: `charge()` is retried on a timeout, and nothing tells the provider that it is the "
               "same charge. I would send an **idempotency key** with each one."),
              ("user", "Yes. Make the key from the order's id, not from a random number: a second worker must come to "
               "the same key. And use pnpm here, never npm."),
              ("assistant", "Done: `key = sha256(order.id + amount)`, and a test that two workers agree."))},
    {"id": "b1", "ago": 1, "time": "16:40", "project": BLOG, "title": "Umlaute in den Adressen der Beiträge",
     "context": "Adressen mit Umlauten brachen in alten Feedreadern.", "items": ("Alte Adressen weiterleiten",),
     "facts": (("decision", "Adressen der Beiträge werden transliteriert; die alten leiten weiter."),
               ("operational", "ä wird ae, ö wird oe, ü wird ue, ß wird ss.")),
     "said": (("user", "Der Feed ist kaputt, sobald ein Titel ein ü hat. Bitte transliterieren, ä zu ae."),
              ("assistant", "Ist umgestellt, mit einer Weiterleitung für jede alte Adresse."))},
    {"id": "l1", "ago": 3, "time": "09:15", "project": LAB, "title": "训练数据的版本 🧪",
     "context": "每个实验都要能够重现。", "items": (),
     "facts": (("operational", "数据集用内容的摘要命名，不用日期。"),),
     "said": (("user", "请用内容的摘要来命名数据集，日期不可靠。"), ("assistant", "好的，已改为 sha256 的前十二位。"))},
    {"id": "a1", "ago": 30, "time": "11:20", "project": SHOP, "title": "First version of the checkout",
     "context": "The checkout went live with a plain retry.", "items": (),
     "facts": (("decision", "A failed charge is retried three times without a key.", "l-c1001"),
               ("fact", "One order is charged by one worker at a time.")),
     "said": (("user", "Retry a failed charge three times, that is enough."),
     ("assistant", "Three attempts with a second between them."))},
]  # fmt: skip

# of more turns than one page shows; a claim can come from "Line 130 is about the harbour."
LONG = ENTRIES[-1] | {
    "id": "long1", "title": "A long conversation", "facts": (("fact", "Line 130 is about the harbour."),),
    "said": [("user", f"Line {n} is about the {'harbour' if n == 130 else 'rest'}.") for n in range(150)],
}  # fmt: skip

# ``claims``: section and fact; one that has ended stands under History
ARTICLES: list[dict[str, Any]] = [
    {"slug": "concepts/checkout", "title": "Checkout", "project": SHOP, "aliases": ["Kasse"],
     "summary": "How an order becomes a charge, and what keeps a customer from paying twice.",
     "claims": (("Behaviour", "l-c1001"), ("Behaviour", "l-c1004"), ("Decisions", "l-c1005"), ("Gotchas", "l-c1003"),
                ("Decisions", "l-a1001")),
     "related": (("concepts/payment-provider", "whose timeouts started it"), ("concepts/order-queue", ""))},
    {"slug": "concepts/payment-provider", "title": "Payment provider", "project": SHOP, "aliases": [],
     "summary": "The service that takes the money, and what it promises.", "claims": (("Behaviour", "l-c1006"),),
     "related": (("concepts/checkout", ""),)},
    {"slug": "concepts/order-queue", "title": "Order queue", "project": SHOP, "aliases": [],
     "summary": "Orders wait here until a worker charges them.", "claims": (("Behaviour", "l-a1002"),),
     "related": (("concepts/checkout", ""),)},
    {"slug": "concepts/umlaute", "title": "Umlaute in Adressen", "project": BLOG, "aliases": ["Transliteration"],
     "summary": "Wie Titel mit Umlauten zu Adressen werden.", "claims": (("How to", "l-b1002"),), "related": ()},
    {"slug": "concepts/u8bad7ec3", "title": "训练数据 🧪", "project": LAB, "aliases": [],
     "summary": "数据集怎样命名和保存。", "claims": (("How to", "l-l1001"),), "related": ()},
]  # fmt: skip


# an article that tries to run and to load things
HOSTILE = (TESTS / "fixtures" / "pages" / "hostile.md").read_text("utf-8")


def fill(
    home: Home, entries: Sequence[dict[str, Any]] = ENTRIES, articles: Sequence[dict[str, Any]] = ARTICLES
) -> None:
    """Write entries with their archived turns, and articles about them; ``keys`` of an entry are those of its turns."""
    facts = {fact.id: fact for about in entries for fact in _facts(about)}
    facts |= {ident: replace(fact, ended=facts[fact.successor].time) for ident, fact in facts.items() if fact.successor}
    archive = Archive.of(home.paths, 100)
    for about in entries:
        name, key = about["project"]
        keys = about.get("keys") or [f"t{about['id']}{n}" for n in range(len(about["said"]))]
        turns = [
            Turn(key, who, words, time=_began(about) + timedelta(minutes=n))
            for n, (key, (who, words)) in enumerate(zip(keys, about["said"], strict=True))
        ]
        made = Entry(
            about["id"], _began(about).date(), about["time"], f"s-{about['id']}", name, key, about["title"],
            about["context"], action_items=about["items"],
            learned=tuple(lines.to_learned(facts[fact.id]) for fact in _facts(about)),
            turns=tuple(turn.key for turn in turns), model="m",
        )  # fmt: skip
        DailyLog(home.paths).append(made)
        archive.keep(made.id, made.day, turns)
    titles = {about["slug"]: about["title"] for about in articles}
    for about in articles:
        _write(home, about, facts, titles)


def _began(about: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(f"{DAY - timedelta(days=about['ago'])}T{about['time']}:00+00:00")


def _facts(about: dict[str, Any]) -> list[Fact]:
    """Return the facts of an entry, with the last words of the user in it as their proof."""
    quote = next((words for who, words in reversed(about["said"]) if who == "user"), "")
    return [
        Fact(kind, text, 0.7, "user", about["project"][1], _began(about) + timedelta(seconds=n),
             f"l-{about['id']}00{n}", f"s-{about['id']}", quote=quote, successor=next(iter(successor), ""))
        for n, (kind, text, *successor) in enumerate(about["facts"], 1)
    ]  # fmt: skip


def _write(home: Home, about: dict[str, Any], facts: Mapping[str, Fact], titles: Mapping[str, str]) -> None:
    def claim(ident: str) -> Claim:
        return Claim(facts[ident].content, (f"daily/{facts[ident].time.date()}#^{ident}",))

    latest = max(facts[ident].time.date() for _, ident in about["claims"])
    page = Article.new(about["slug"], about["title"], about["summary"], latest)
    page.give_to(about["project"][1])
    page.front.add("aliases", about["aliases"])
    for heading, ident in about["claims"]:
        page.add(claim(ident), heading)
        if end := facts[ident].ended:
            section, number, _ = next(line for line in page.lines() if line[2].id == ident)
            page.retire(section, number, end.date().isoformat(), claim(facts[ident].successor))
    for slug, why in about["related"]:
        page.relate(slug, titles[slug], why)
    write(home, about["slug"], page.render())


def write(home: Home, slug: str, text: str) -> None:
    """Put an article on disk as it is."""
    path = Wiki(home.paths).path(slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def asked(text: str) -> dict[str, object]:
    """A line of a transcript in which the user says this."""
    return {"type": "user", "message": {"role": "user", "content": text}}


def given(event: str, text: str) -> dict[str, object]:
    """A line of a transcript in which the hook of an event gives this."""
    content = {"type": "hook_additional_context", "content": [text], "hookEvent": event, "hookName": "x"}
    return {"type": "attachment", "attachment": content}


def transcribe(home: Home, ident: str, rows: list[dict[str, object]], fates: dict[str, int], cwd: str = "/s") -> Path:
    """Write the transcript of a session, and record what became of its turns."""
    path = Path.home() / ".claude" / "projects" / "p" / f"{ident}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"sessionId": ident, "cwd": cwd, "timestamp": "2026-11-20T10:05:00Z"}
    path.write_text("".join(json.dumps({**about, "uuid": f"{ident}{n}", **row}) + "\n" for n, row in enumerate(rows)))
    with closing(Ledger(home.paths)) as ledger:
        ledger.check(str(path), "1-2-0", fates)
    return path


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text, without the line breaks of the templates, which a browser does not show."""
        text = re.sub(r">\s*\n\s*<", "><", self.body.decode())
        return re.sub(r"\n +", " ", text)


@dataclass(slots=True)
class Browser:
    """A browser of one home: it keeps its cookie, and sends what browsers send from one of our pages."""

    home: Home
    headers: dict[str, str] = field(default_factory=dict)
    site: Site = field(init=False)
    key: str = field(init=False)
    guard: security.Guard = field(init=False)

    def __post_init__(self) -> None:
        """Make the application, without a server."""
        self.site = Site(self.home)
        self.site.watch.every_seconds = 0.0
        self.key = secrets.token_hex(32)
        self.guard = security.Guard(application(self.site), self.key, PORT, lambda: None)

    def enter(self) -> Browser:
        """Come in by a ticket."""
        answer = self.get(f"/enter?{urlencode({'ticket': security.ticket(self.key)})}")
        self.headers["cookie"] = answer.headers["set-cookie"].split(";")[0]
        return self

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a page."""
        return self.ask("GET", path, b"", **headers)

    def post(self, path: str, *, token: str | None = None, form: Mapping[str, str] | None = None,
             **headers: str) -> Answer:  # fmt: skip
        """Send a form, with the token of the first page unless another is given."""
        token = self.token() if token is None else token
        body = urlencode({**(form or {}), "token": token}).encode()
        given = {"origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, body, **{"content-length": str(len(body)), **given})

    def token(self) -> str:
        """Return the token of this session's forms."""
        return security.form_token(self.key, self.headers.get("cookie", "").partition("=")[2])

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Send one request to the application."""
        name, _, query = path.partition("?")
        given = {"host": HOST, **self.headers, **headers}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": name, "raw_path": name.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(key.encode(), value.encode()) for key, value in given.items()], "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", PORT),
        }  # fmt: skip
        return asyncio.run(_exchange(self.guard, scope, body))


async def _exchange(app: security.Application, scope: dict[str, Any], body: bytes) -> Answer:
    told: list[dict[str, Any]] = []

    events = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return events.pop() if events else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        told.append(dict(message))

    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode() for name, value in told[0]["headers"]}
    return Answer(told[0]["status"], headers, b"".join(message.get("body", b"") for message in told[1:]))


def links(page: str) -> list[str]:
    """Return where a page's links lead."""
    return re.findall(r'<a [^>]*href="([^"]*)"', page)
