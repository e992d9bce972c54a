"""A model that knows a story and tells the truth about it, as far as the request lets it.

It reads the text of a request and nothing else. It recognises there what the story's people said, and names the ids
that it finds: what a request does not show, it cannot end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoria.models.protocol import Prompt
from stories import Statement, Story

Json = dict[str, Any]
_FENCE = re.compile(r"^<([a-z][a-z -]*?)-([0-9a-f]{6,})>\n(.*?)\n</\1-\2>$", re.DOTALL | re.MULTILINE)
_FACT = re.compile(r"\b(l-[0-9a-z]{4,16})\b")
_ITEM = re.compile(r"\b(o-[0-9a-z]{4,16})\b")
_LINE = re.compile(r"^(l-[0-9a-z]+) · \S* · \[[^]]*\] (.*)$")


@dataclass(frozen=True, slots=True)
class Shown:
    """A line that a compile request shows, with the id of its statement."""

    slug: str
    text: str
    ident: str


@dataclass(slots=True)
class Truthful:
    """Answers requests about one story; ``asked`` holds what they were, with their size in bytes."""

    story: Story
    asked: list[tuple[str, int]] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)

    def __call__(self, prompt: Prompt) -> str:
        """Return the answer as the text that a language model would write."""
        self.asked.append((prompt.task, len(prompt.text.encode())))
        self.prompts.append(prompt)
        answer = getattr(self, f"_{prompt.task}", None)
        assert answer, f"the truthful model knows no task {prompt.task!r}"
        return json.dumps(answer(prompt.text), ensure_ascii=False, indent=1)

    # -- notes and facts

    def _flush(self, text: str) -> Json:
        talk, shown = _part(text, "conversation"), _rows(text, "known")
        said = self._said(talk)
        items = _rows(text, "open items")
        todo = [
            item.texts[min(number, len(item.texts) - 1)]
            for item in self.story.items.values()
            for number, words in enumerate(item.said)
            if words in talk
        ]
        closed = {it: _ids(_ITEM, items, self.story.mentioned, self._closed(it, talk)) for it in ("done", "dropped")}
        titles = [session.title for session in self.story.sessions if session.talk and session.talk[-1][0] in talk]
        answer = {
            "worth_saving": bool(said or todo or titles), "title": titles[-1] if titles else "A short session",
            "context": " ".join(each.text for each in said[:2]),
            "key_exchanges": [each.text for each in said if each.kind not in ("decision", "debugging")],
            "action_items": todo, "statements": self._learned(said, shown, talk),
        }  # fmt: skip
        if "known" in _labels(text):
            answer["ended"] = self._ended(said, shown)
        return answer | closed if "open items" in _labels(text) else answer

    def _closed(self, how: str, talk: str) -> list[str]:
        """Return the names of the items that a conversation says are done, or dropped."""
        return [item.name for item in self.story.items.values() if (words := getattr(item, how)) and words in talk]

    def _said(self, talk: str) -> list[Statement]:
        """Return what was said in a conversation and still held at its end."""
        said = [each for each in self.story.statements.values() if each.quote and each.quote in talk]
        said.sort(key=lambda each: talk.index(each.quote))
        over = {name for each in said for name in self.story.ended_by(each)}
        return [each for each in said if each.name not in over]

    def _learned(self, said: Sequence[Statement], shown: list[str], talk: str) -> list[Json]:
        """Return what was said as statements; of what holds in part, the wording that remains, once."""
        rest = {name: wording for each in said for name, wording in each.in_part.items()}
        found = {
            rest.get(each.name, each.text): {
                "kind": each.kind or "fact", "content": rest.get(each.name, each.text), "importance": 0.8,
                "tags": [each.page], "keywords": list(each.marks), "quote": each.quote, "origin": each.origin,
                "supersedes": self._replaced(each, shown, talk),
            }
            for each in said if each.kind != "withdrawal"
        }  # fmt: skip
        return list(found.values())

    def _replaced(self, statement: Statement, shown: list[str], talk: str) -> list[str] | str:
        """Return the ids of the shown facts that a statement ends; without ids, the words of what was said before."""
        if shown:
            kept = _ids(_FACT, shown, self._told, statement.in_part)
            return [it for it in _ids(_FACT, shown, self._told, self.story.ended_by(statement)) if it not in kept]
        ended = [self.story.statements[name] for name in statement.ends]
        return next((old.text for old in ended if old.quote and old.quote in talk), "")

    def _ended(self, said: Iterable[Statement], shown: list[str]) -> list[Json]:
        """Return what was taken back, and what holds in part with what remains of it."""
        found: dict[str, Json] = {}
        for each in said:
            for name, rest in each.in_part.items():
                for ident in _ids(_FACT, shown, self._told, [name]):
                    found[ident] = {"id": ident, "remains": rest, "quote": each.quote}
            over = self.story.ended_by(each) if each.kind == "withdrawal" else ()
            for ident in _ids(_FACT, shown, self._told, over):
                found.setdefault(ident, {"id": ident, "quote": each.quote})
        return list(found.values())

    # -- articles

    def _compile(self, text: str) -> Json:
        """Say where each statement stands: with what it ends or repeats, else on the page that the story names."""
        new = {row.split()[0]: self._told(row) for row in _rows(text, "statements") if _FACT.match(row)}
        shown = list(_lines(_part(text, "articles")))
        places, ends, articles = [], [], {}
        for ident, told in new.items():
            for each in told[:1]:
                slug, section = self._slug(each, shown), each.section
                places.append({"id": ident, "article": slug, "section": section})
                articles[slug] = {
                    "slug": slug,
                    "title": self.story.titles.get(slug, slug.replace("-", " ").capitalize()),
                    "summary": each.text,
                }
                over = self.story.ended_by(each)
                older = [(line.ident, self._told(line.text)) for line in shown]
                older += [(other, known) for other, known in new.items() if other != ident]
                ends += [{"id": old, "by": ident} for old, known in older if over & _names(known)]
        return {"places": places, "articles": list(articles.values()), "ends": ends}

    def _told(self, row: str) -> list[Statement]:
        """Return what a row tells; of statements with the same marks, the one in whose words it is."""
        found = self.story.told(row)
        worded = [each for each in found if each.text in row]
        marks = {each.marks for each in worded}
        return worded + [each for each in found if each.marks not in marks and _is_first(each, found)]

    def _slug(self, statement: Statement, shown: list[Shown]) -> str:
        """Return the article that already tells it or what it ends, else its own."""
        concerned = {statement.name, *self.story.ended_by(statement)}
        for line in shown:
            if concerned & _names(self._told(line.text)):
                return line.slug
        return statement.page


def _is_first(statement: Statement, among: list[Statement]) -> bool:
    return next(each for each in among if each.marks == statement.marks) is statement


def _names(statements: Iterable[Statement]) -> set[str]:
    return {each.name for each in statements}


def _ids(pattern: re.Pattern[str], rows: Iterable[str], told: Any, wanted: Iterable[str]) -> list[str]:
    """Return the ids of the rows that tell something wanted."""
    names = set(wanted)
    found = [match[1] for row in rows if names & {each.name for each in told(row)} and (match := pattern.search(row))]
    return list(dict.fromkeys(found))


def _labels(text: str) -> set[str]:
    return {match[1].replace("-", " ") for match in _FENCE.finditer(text)}


def _part(text: str, label: str) -> str:
    return "\n".join(match[3] for match in _FENCE.finditer(text) if match[1].replace("-", " ") == label)


def _rows(text: str, label: str) -> list[str]:
    return [row for row in _part(text, label).splitlines() if row.strip()]


def _lines(articles: str) -> Iterator[Shown]:
    slug = ""
    for row in articles.splitlines():
        if row.startswith("article "):
            slug = row.split()[1]
        elif match := _LINE.match(row):
            yield Shown(slug, match[2], match[1])
