"""Implied: fill in what an answer leaves out because the question or the rest of the answer says it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from memoria.models.protocol import JsonObject
from memoria.models.spelling import NOTHING, TEXT_NAMES, plain, simplified

TITLE_CHARS = 200  # of a note; a longer title goes on in its context
_OTHER_NAMES = {  # plain spellings of a note's lists that do not begin like the asked names
    "todos": "action_items", "todo": "action_items", "nextsteps": "action_items", "tasks": "action_items",
    "summary": "context", "facts": "statements", "learned": "statements", "exchanges": "key_exchanges",
}  # fmt: skip

Material = Mapping[str, Any]


def filled(value: JsonObject, task: str, material: Material) -> JsonObject:
    """Return an answer to a ``task`` about ``material`` with what it implies."""
    rule = _RULES.get(task)
    return rule(value, material) if rule else value


def _note(value: JsonObject, material: Material) -> JsonObject:
    """Return a note: one that says nothing of its worth is worth saving when it holds something."""
    for name in [name for name in value if plain(name) in _OTHER_NAMES]:
        value = {_OTHER_NAMES[plain(name)]: value[name], **{key: part for key, part in value.items() if key != name}}
    if str(value.get("worth_saving")).strip().casefold() not in ("true", "false", "yes", "no", "1", "0"):
        value = {name: part for name, part in value.items() if name != "worth_saving"}
        if any(part not in (None, "", [], {}) for part in value.values()):
            value["worth_saving"] = True
    title = value.get("title")
    if isinstance(title, str) and len(title) > TITLE_CHARS:
        short = title[: TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"
        value = {**value, "title": short, "context": f"{title} {value.get('context') or ''}".strip()}
    return _facts(value, material)


def _facts(value: JsonObject, material: Material) -> JsonObject:  # noqa: ARG001 (every rule has the same form)
    """Return an answer whose ``statements`` are a list, with each one's text under its own name."""
    learned = value.get("statements")
    if isinstance(learned, Mapping):
        learned = [learned] if "kind" in learned else list(learned.values()) or None
    if isinstance(learned, str) and learned and NOTHING.fullmatch(learned):
        learned = []
    if isinstance(learned, list):
        return {**value, "statements": [_fact(part) for part in learned if part is not None]}
    return value | {"statements": None} if learned is None and "statements" in value else value


def _fact(part: Any) -> Any:
    if not isinstance(part, Mapping) or part.get("content"):
        return part
    text = next((part[name] for name in TEXT_NAMES if isinstance(part.get(name), str)), "")
    return {**part, "content": text} if text else part


def _articles(value: JsonObject, material: Material) -> JsonObject:
    articles = value.get("articles")
    ids = [str(entry["id"]) for entry in material.get("entries", ())]
    if isinstance(articles, list):
        value = {**value, "articles": [_article(part, ids) for part in articles]}
    return value


def _article(article: Any, ids: list[str]) -> Any:
    """Return a proposal with its title from its slug, or the other way round, and the sources of its claims."""
    if not isinstance(article, Mapping):
        return article
    article = {str(key): part for key, part in article.items()}
    slug, title = article.get("slug"), article.get("title")
    if isinstance(slug, str) and slug.strip() and not title:
        article["title"] = slug.rsplit("/", 1)[-1].replace("-", " ").strip().capitalize()
    has_slug = isinstance(slug, str) and slug.strip() and simplified(slug).isascii()
    if isinstance(title, str) and title.strip() and not has_slug:
        article["slug"] = re.sub(r"[^a-z0-9]+", "-", simplified(title)).strip("-") or "untitled"
    if isinstance(claims := article.get("claims"), list | str | Mapping):
        listed = claims if isinstance(claims, list) else [claims]
        article["claims"] = [_sourced(claim, ids) for claim in listed]
    return article


def _sourced(claim: Any, ids: list[str]) -> Any:
    """Return a claim with its sources as the ids that were shown; when there is only one, it need not be named."""
    if isinstance(claim, str):
        claim = {"text": claim}
    if not isinstance(claim, Mapping):
        return claim
    given = [part for key, part in claim.items() if plain(str(key)).startswith("source")]
    listed = given[0] if given and isinstance(given[0], list) else given
    sources = [ident for source in listed for ident in _named(source, ids)]
    if len(ids) == 1 and ids[0] not in sources:
        sources = ids
    rest = {str(key): part for key, part in claim.items() if not plain(str(key)).startswith("source")}
    return {**rest, "sources": sources}


def _named(source: Any, ids: list[str]) -> list[str]:
    """Return the shown ids that a source names, in whatever words; the source itself when it names none."""
    words = re.findall(r"[0-9a-z]+", str(source).casefold())
    return [ident for ident in ids if ident.casefold() in words] or ([str(source)] if str(source).strip() else [])


_RULES: dict[str, Callable[[JsonObject, Material], JsonObject]] = {
    "compile": _articles,
    "flush": _note,
    "learn": _facts,
}
