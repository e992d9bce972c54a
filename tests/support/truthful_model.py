"""A model that knows a story and tells the truth about it, as far as the request lets it.

It reads the text of a request and nothing else. It recognises there what the story's people said, and names the ids and
numbers that it finds: what a request does not show, it cannot end. A request without ids or numbers is answered in the
form of version 0.1, by the words of what no longer holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memoria.models.protocol import Prompt
from stories import Statement, Story

Json = dict[str, Any]
_FENCE = re.compile(r"^<([a-z][a-z -]*?)-([0-9a-f]{6,})>\n(.*?)\n</\1-\2>$", re.DOTALL | re.MULTILINE)
_FACT = re.compile(r"\b(l-[0-9a-z]{4,16})\b")
_ITEM = re.compile(r"\b(o-[0-9a-z]{4,16})\b")
_ENTRY = re.compile(r"^entry (\S+) · (\d{4}-\d\d-\d\d)", re.MULTILINE)
_CITED = r"(?: \((?:(?:daily/|none)[^()]*|[0-9a-z]{4,}(?:, [0-9a-z]{4,})*)\))?$"
_NUMBERED = re.compile(r"^claim (\d+) · (\S+ · )?(?:\[([^]]*)\] )?(.*?)" + _CITED)
_UNNUMBERED = re.compile(r"^claim: (.*?)(?: \((?:daily/|[^()]*#\^e-)[^()]*\))?$")
_PAIR = re.compile(r"\W*(?:pair )?(\d+)\b", re.IGNORECASE)
_SIDE = re.compile(r"\b(?:fact l-|claim \S+#\d)")


@dataclass(frozen=True, slots=True)
class Shown:
    """A claim that a compile request shows: its ``number``, or 0 in a request that does not number them."""

    slug: str
    text: str
    number: int = 0


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
        closed = {
            name: _ids(_ITEM, items, self.story.mentioned, self._closed(name, talk)) for name in ("done", "dropped")
        }
        titles = [session.title for session in self.story.sessions if session.talk and session.talk[-1][0] in talk]
        answer = {
            "worth_saving": bool(said or todo or titles),
            "title": titles[-1] if titles else "A short session",
            "context": " ".join(each.text for each in said[:2]),
            "key_exchanges": [each.text for each in said if each.kind not in ("decision", "debugging")],
            "action_items": todo,
            "statements": self._learned(said, shown, talk),
        }
        if "known" in _labels(text):
            answer["ended"] = self._ended(said, shown)
        return answer | closed if "open items" in _labels(text) else answer

    def _learn(self, text: str) -> Json:
        talk, shown = _part(text, "conversation"), _rows(text, "known")
        said = self._said(talk)
        answer: Json = {"statements": self._learned(said, shown, talk)}
        return answer | {"ended": self._ended(said, shown)} if "known" in _labels(text) else answer

    def _closed(self, how: str, talk: str) -> list[str]:
        """Return the names of the items that a conversation says are done, or dropped."""
        return [item.name for item in self.story.items.values() if (words := getattr(item, how)) and words in talk]

    def _said(self, talk: str) -> list[Statement]:
        """Return what was said in a conversation and still held at its end."""
        said = [each for each in self.story.statements.values() if each.quote and each.quote in talk]
        said.sort(key=lambda each: talk.index(each.quote))
        over = {name for each in said for name in self.story.ended_by(each)}
        return [each for each in said if each.name not in over]

    def _learned(self, said: Iterable[Statement], shown: list[str], talk: str) -> list[Json]:
        return [
            {
                "kind": each.kind, "content": each.text, "importance": 0.8, "tags": [each.page],
                "keywords": list(each.marks), "quote": each.quote, "origin": each.origin,
                "supersedes": self._replaced(each, shown, talk),
            }
            for each in said if each.kind not in ("", "withdrawal")
        ]  # fmt: skip

    def _replaced(self, statement: Statement, shown: list[str], talk: str) -> list[str] | str:
        """Return the ids of the shown facts that a statement ends; without ids, the words of what was said before."""
        if shown:
            return _ids(_FACT, shown, self._told, self.story.ended_by(statement))
        ended = [self.story.statements[name] for name in statement.ends]
        return next((old.text for old in ended if old.quote and old.quote in talk), "")

    def _ended(self, said: Iterable[Statement], shown: list[str]) -> list[Json]:
        return [
            {"id": ident, "why": each.text, "quote": each.quote}
            for each in said
            if each.kind == "withdrawal"
            for ident in _ids(_FACT, shown, self._told, self.story.ended_by(each))
        ]

    # -- articles

    def _compile(self, text: str) -> Json:
        told = self._in_entries(_part(text, "entries"))
        shown = list(_claims(_part(text, "articles")))
        over = {name for each, _ in told for name in self.story.ended_by(each)}
        told = [(each, sources) for each, sources in told if each.name not in over]
        pages = dict.fromkeys(self._slug(each, shown) for each, _ in told)
        articles = [self._article(slug, told, shown, over) for slug in pages]
        return {"articles": [article for article in articles if article]}

    def _in_entries(self, entries: str) -> list[tuple[Statement, list[str]]]:
        """Return what the entries tell, each with the ids of the entries that do."""
        found: dict[str, list[str]] = {}
        blocks = re.split(r"^(?=entry \S+ · \d{4})", entries, flags=re.MULTILINE)
        for block in blocks:
            if entry := _ENTRY.match(block):
                rows = block.splitlines()[1:]
                for name in dict.fromkeys(each.name for row in rows for each in self._told(row)):
                    found.setdefault(name, []).append(entry[1])
        return [(self.story.statements[name], sources[-2:]) for name, sources in found.items()]

    def _told(self, row: str) -> list[Statement]:
        """Return what a row tells; of statements with the same marks, the one in whose words it is."""
        found = self.story.told(row)
        worded = [each for each in found if each.text in row]
        marks = {each.marks for each in worded}
        return worded + [each for each in found if each.marks not in marks and _is_first(each, found)]

    def _slug(self, statement: Statement, shown: list[Shown]) -> str:
        """Return the article that already tells it or what it ends, else its own."""
        concerned = {statement.name, *self.story.ended_by(statement)}
        for claim in shown:
            if concerned & _names(self._told(claim.text)):
                return claim.slug
        return statement.page

    def _article(
        self, slug: str, told: list[tuple[Statement, list[str]]], shown: list[Shown], over: set[str]
    ) -> Json | None:
        own = [claim for claim in shown if claim.slug == slug]
        here = [(each, sources) for each, sources in told if self._slug(each, shown) == slug]
        known = {each.name for claim in own for each in self._told(claim.text)}
        claims, retire = [], []
        for each, sources in here:
            ended = [claim for claim in shown if self.story.ended_by(each) & _names(self._told(claim.text))]
            if each.kind == "withdrawal" and (not ended or ended[0].number):
                why = {"why": each.text, "sources": sources}
                retire += [{"claim": claim.number, **why} for claim in ended]
            elif each.name not in known or ended:
                claims.append(_claim(each, sources, ended))
        if not claims and not retire:
            return None
        kept = [claim.text for claim in own if not over & _names(self._told(claim.text))]
        gone = {claim["claim"] for claim in retire}
        kept = [text for text in kept if not any(text == claim.text and claim.number in gone for claim in own)]
        first = here[0][0]
        article = {
            "slug": slug,
            "kind": "concept",
            "title": self.story.titles.get(slug, slug.replace("-", " ").capitalize()),
            "aliases": [],
            "tags": [first.page],
            "summary": " ".join(dict.fromkeys([*(claim["text"] for claim in claims), *kept][:2])),
            "claims": claims,
            "related": [],
        }
        return article | {"retire": retire} if retire else article

    # -- pairs

    def _consolidate(self, text: str) -> Json:
        pairs: dict[int, list[str]] = {}
        number = 0
        for row in _part(text, "pairs").splitlines():
            number = int(match[1]) if (match := _PAIR.match(row)) else number
            if _SIDE.search(row):
                pairs.setdefault(number, []).append(row)
        return {"pairs": [self._pair(number, rows) for number, rows in pairs.items() if len(rows) == 2]}

    def _pair(self, number: int, rows: list[str]) -> Json:
        first, second = map(self._told, rows)
        verdict = "both"
        if _names(first) & _names(second):
            verdict = "same"
        elif any(self.story.ended_by(each) & _names(second) for each in first):
            verdict = "first"
        elif any(self.story.ended_by(each) & _names(first) for each in second):
            verdict = "second"
        return {"pair": number, "verdict": verdict, "why": "the later statement holds"}

    def _contradictions(self, text: str) -> Json:
        del text
        return {"contradictions": []}


def _claim(statement: Statement, sources: list[str], ended: list[Shown]) -> Json:
    claim: Json = {"text": statement.text, "sources": sources}
    if any(claim.number for claim in ended):
        return claim | {"replaces": [each.number for each in ended if each.number], "section": statement.section}
    return claim | {"supersedes": ended[0].text if ended else ""}


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


def _claims(articles: str) -> Iterator[Shown]:
    slug = ""
    for row in articles.splitlines():
        if row.startswith("article "):
            slug = row.split()[1]
        elif match := _NUMBERED.match(row):
            yield Shown(slug, match[4], int(match[1]))
        elif match := _UNNUMBERED.match(row):
            yield Shown(slug, match[1])
