"""A home with entries and a scripted compile, for tests about the wiki."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest

import home_of
from memoria.commands import compile as compiling
from memoria.commands import undo
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry, Learned
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.wiki.folder import Wiki
from scripted_model import Scripted

JsonObject = dict[str, Any]
T = TypeVar("T")


def entry(ident: str, day: int = 16, *, title: str = "A session", **given: Any) -> Entry:
    """An entry of November 2026; ``learned`` as (kind, text) pairs."""
    learned = tuple(Learned(kind, text, f"l-{ident}{n}") for n, (kind, text) in enumerate(given.pop("learned", ())))
    usual = {"session": f"s-{ident}", "project": "shop", "project_key": "shop-1a2b3c", "turns": (f"t{ident}",)}
    return Entry(ident, date(2026, 11, day), "09:00", title=title, learned=learned, **{**usual, **given})


def stated(*texts: str, kind: str = "fact") -> tuple[tuple[str, str], ...]:
    """Statements of an entry, for ``entry(learned=...)``."""
    return tuple((kind, text) for text in texts)


def placed(article: str, *idents: str, title: str = "", section: str = "", **given: Any) -> JsonObject:
    """An answer of a compile: these statements (by default all that are asked about) stand on one article."""
    return {"article": article, "ids": idents, "title": title or article.capitalize(), "section": section, **given}


def answer_of(prompt: Any, *wanted: JsonObject) -> JsonObject:
    """Return the answer to a compile's prompt that ``placed`` describes; further keys are those of the answer."""
    answer: JsonObject = {"places": [], "articles": []}
    for each in wanted:
        idents = each["ids"] or [row["id"] for row in prompt.material["statements"]]
        answer["places"] += [{"id": name, "article": each["article"], "section": each["section"]} for name in idents]
        about: JsonObject = {name: each[name] for name in ("title", "summary", "aliases") if name in each}
        answer["articles"].append({"slug": each["article"], **about})
        for name in ("ends", "same", "links", "connections"):
            answer[name] = [*answer.get(name, ()), *each.get(name, ())]
    return answer


LISTENS, IS = "The port of the listener is 8080.", "It is the listener of the shop."
PORT = entry("a1", 16, learned=stated(LISTENS, IS), title="Port")  # its statements: l-a10 and l-a11
PORT_PAGE = placed("port")


class WikiHome:
    """Entries go in by ``log``, a scripted answer by ``compile``."""

    def __init__(self) -> None:
        self.home = Home.open()
        self.wiki = Wiki(self.home.paths)
        self.prompts: list[Any] = []

    def log(self, *entries: Entry) -> None:
        for each in entries:
            DailyLog(self.home.paths).append(each)

    def ledger(self, ask: Callable[[Ledger], T]) -> T:
        """Return what ``ask`` finds in the ledger."""
        with closing(Ledger(self.home.paths)) as ledger:
            return ask(ledger)

    def compile(self, answer: list[JsonObject] | Callable[[Any], Any], *words: str) -> int:
        """Run the verb; ``answer``: what ``placed`` returns, or a function of the prompt."""
        model = Scripted(answer if callable(answer) else lambda prompt: answer_of(prompt, *answer))
        with patch("memoria.models.protocol.from_settings", lambda *_: model):
            try:
                return self.run(compiling, *words)
            finally:
                self.prompts += model.prompts

    def run(self, verb: Any, *words: str) -> int:
        return home_of.run(verb, self.home, *words)

    def undo(self, *words: str) -> int:
        return self.run(undo, *words)

    def diff(self, *words: str) -> int:
        return self.run(undo, "--show", *words)

    def text(self, slug: str) -> str:
        return Path(self.home.paths.knowledge, f"{slug}.md").read_bytes().decode()

    def edit(self, slug: str, old: str, new: str) -> None:
        path = Path(self.home.paths.knowledge, f"{slug}.md")
        text = path.read_bytes().decode()
        assert old in text
        path.write_bytes(text.replace(old, new).encode())

    def files(self) -> dict[str, bytes]:
        root = Path(self.home.paths.knowledge)
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def wiki() -> WikiHome:
    """A home whose log holds one entry, which is not compiled yet."""
    home = WikiHome()
    home.log(PORT)
    return home
