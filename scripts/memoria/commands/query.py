"""Query: answer a question from the wiki and the daily logs, with links that code has checked.

The search index finds articles and entries, a model answers from them, and every link in the answer is looked up. Links
that do not resolve are printed as plain text and listed. Without a language model, the passages themselves are the
answer. ``--file-back`` stores the answer as an article.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memoria.base.visibility import Visibility
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks, markdown, printable
from memoria.ground.errors import ExpectedError, ModelError
from memoria.ground.home import Home
from memoria.indexing import lookup, sources
from memoria.indexing.index import Index
from memoria.language.words import words
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import JsonObject
from memoria.search.hit import Hit
from memoria.wiki import evidence, index_page
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import INDEX, LOG, Wiki, slugify
from memoria.wiki.links import LinkTargets
from memoria.wiki.transaction import ChangedError, Transactions, digest

log = logging.getLogger(__name__)

PASSAGES = 12  # documents shown to the model
PASSAGE_CHARS = 3_000  # of each document
SOURCES = 3  # entries that a statement about an article cites in its place
MAX_RELATED = 30  # links under Related of a page, as in a compile
_LINK = re.compile(r"\s*(?<!\\)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")


@dataclass(frozen=True, slots=True)
class Passage:
    """The text found in one document; ``ref`` is the target of a wikilink to it."""

    ref: str
    kind: str
    title: str
    date: str
    text: str

    @classmethod
    def of(cls, hit: Hit) -> Passage:
        """Return the passage of a search hit."""
        page = hit.path.removeprefix("knowledge/").removesuffix(".md")
        ref = f"{page}#^{hit.anchor}" if hit.anchor and not hit.anchor.startswith("x-") else page
        return cls(ref, hit.kind, hit.title, hit.date, "\n".join(hit.passages)[:PASSAGE_CHARS])

    def material(self) -> JsonObject:
        """Return the passage as prompt material."""
        return {"ref": self.ref, "kind": self.kind, "title": self.title, "date": self.date, "text": self.text}


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of an answer without its links, and the references that it rests on."""

    text: str
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked answer: ``dead`` are links that do not resolve, ``unsupported`` is what no passage says."""

    question: str
    statements: tuple[Statement, ...]
    rests_on: tuple[str, ...]
    dead: tuple[str, ...]
    unsupported: tuple[str, ...]
    model: str


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("question", nargs="+", help="what you want to know")
    parser.add_argument("--file-back", action="store_true", help="store the answer as an article under knowledge/qa/")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Answer and print; return 1 when the answer was to be filed and there is none."""
    question = " ".join(" ".join(args.question).split())
    with Index(home.paths.index) as index:
        sources.refresh(index, home.paths)
        view, today = Visibility(home.settings, home.paths), home.zone.day(clock.now())
        passages = _found(index, question, view, today)
        answer, reason = _ask(home, question, passages) if passages else (None, "")
        slug = ""
        if args.file_back and answer and answer.statements:
            slug = file_back(home, answer)
            sources.refresh(index, home.paths)
    if args.json:
        print(json.dumps(_record(question, answer, passages, reason, slug), ensure_ascii=False, indent=2))
    else:
        print("\n".join(_lines(answer, passages, reason, slug)))
    if args.file_back and not slug:
        print("memoria: nothing was filed, because there is no answer to file.", file=sys.stderr)
        return 1
    return 0


def _found(index: Index, question: str, view: Visibility, today: date) -> list[Passage]:
    hits = lookup.search(index, question, limit=PASSAGES, view=view, kinds=("article", "entry"), today=today)
    found = (Passage.of(hit) for hit in hits if hit.path not in (f"knowledge/{INDEX}", f"knowledge/{LOG}"))
    return [passage for passage in found if passage.text.strip()]


def _ask(home: Home, question: str, passages: Sequence[Passage]) -> tuple[Answer | None, str]:
    """Return the model's checked answer, or None and the reason."""
    ledger = Ledger.of(home.paths)
    try:
        material = {"question": question, "passages": [passage.material() for passage in passages]}
        completion = Metered.of(home, ledger).complete(tasks.query(material), "")
    except ModelError as error:
        return None, str(error)
    finally:
        ledger.close()
    targets = LinkTargets.of(Path(home.paths.home), Wiki.of(home.paths).articles())
    return checked(question, completion.data, completion.model, passages, targets), ""


def checked(question: str, data: JsonObject, model: str, passages: Sequence[Passage], targets: LinkTargets) -> Answer:
    """Return a model's answer with every link and reference looked up."""
    given = {passage.ref for passage in passages}
    dead: list[str] = []

    def known(target: str, anchor: str) -> str:
        ref = target.strip() + anchor.strip()
        found = ref if ref in given else targets.reference(target, anchor.strip())
        if not found:
            dead.append(ref)
        return found

    rests_on = [known(*_parted(ref)) for ref in data["rests_on"]]
    statements = []
    for row in data["text"].splitlines():
        refs = [known(match[1], match[2] or "") for match in _LINK.finditer(row)]
        text = re.sub(r"\s+([.,;:])", r"\1", _LINK.sub(_plain, row)).strip().removeprefix("- ").strip()
        if text:
            statements.append(Statement(text, tuple(dict.fromkeys(filter(None, refs)))))
    rests_on += [ref for statement in statements for ref in statement.refs]
    text_of_all = "\n".join(statement.text for statement in statements)
    ground = "\n".join([question, *(f"{passage.title}\n{passage.date}\n{passage.text}" for passage in passages)])
    return Answer(
        question,
        tuple(statements),
        tuple(dict.fromkeys(filter(None, rests_on))),
        tuple(dict.fromkeys(dead)),
        tuple(evidence.unsupported(text_of_all, ground)),
        model,
    )


def _parted(ref: str) -> tuple[str, str]:
    target, mark, anchor = ref.strip().removeprefix("[[").removesuffix("]]").split("|")[0].partition("#")
    return target, mark + anchor


def _plain(match: re.Match[str]) -> str:
    """Return a link's text for the sentence; a bare reference moves to its end."""
    return " " + match[3].strip() if match[3] else ""


# -- printing


def _record(
    question: str, answer: Answer | None, passages: Sequence[Passage], reason: str, slug: str
) -> dict[str, object]:
    return {
        "question": question,
        "answer": "\n".join(map(_cited, answer.statements)) if answer else "",
        "rests_on": list(answer.rests_on) if answer else [],
        "dead_links": list(answer.dead) if answer else [],
        "unsupported": list(answer.unsupported) if answer else [],
        "model": answer.model if answer else "",
        "reason": reason,
        "passages": [passage.material() for passage in passages],
        "filed": slug,
    }


def _cited(statement: Statement) -> str:
    return " ".join([statement.text, *(f"[[{ref}]]" for ref in statement.refs)])


def _lines(answer: Answer | None, passages: Sequence[Passage], reason: str, slug: str) -> Iterator[str]:
    if not passages:
        yield "The wiki and the daily logs contain nothing about this."
        return
    if answer is None or answer.model == "offline" or not answer.statements:
        yield from _passages(passages, _why_passages(answer, reason))
    else:
        yield from (printable.line(_cited(statement)) for statement in answer.statements)
        titles = {passage.ref: passage.title for passage in passages}
        yield "\nBased on:" if answer.rests_on else "\nBased on nothing that could be found."
        for ref in answer.rests_on:
            yield f"- [[{ref}]]" + (f" {printable.line(titles[ref])}" if titles.get(ref) else "")
    if answer and answer.dead:
        yield f"\nNot printed as links, because they do not resolve: {printable.line(', '.join(answer.dead))}"
    if answer and answer.unsupported:
        yield f"\nIn the answer but not in the passages: {printable.line(', '.join(answer.unsupported))}"
    if slug:
        yield f"\nFiled as [[{slug}]]"


def _why_passages(answer: Answer | None, reason: str) -> str:
    if answer is None:
        return f"No model answered ({reason}). These passages were found:"
    if answer.model == "offline":
        return "There is no language model (`model` is offline). These passages were found:"
    return "The model found no answer in these passages:"


def _passages(passages: Sequence[Passage], heading: str) -> Iterator[str]:
    yield heading
    for passage in passages:
        about = " · ".join(part for part in (passage.kind, passage.date, passage.title) if part)
        yield f"\n[[{passage.ref}]] {printable.line(about)}"
        yield from (f"  {printable.lines(row)}" for row in passage.text.splitlines())


# -- filing


def file_back(home: Home, answer: Answer) -> str:
    """Write the answer to ``knowledge/qa/`` with its sources, index and log in one transaction; return the slug.

    Raise ExpectedError when no statement can be traced to an entry, or when a person keeps saving a page.
    """
    paths = home.paths
    with locks.waiting(Path(paths.compile_lock)):
        transactions = Transactions.of(paths)
        transactions.recover()
        for _ in range(3):
            slug, changes, read = _filed(home, answer)
            filed = index_page.filed_block(home.zone.local(clock.now()), slug)
            block = index_page.appended(Path(paths.knowledge), filed)
            try:
                transactions.commit(changes, read, f"answer filed as {slug}", appended=block)
            except ChangedError as error:
                log.info("%s; filing again", error)
                continue
            return slug
    raise ExpectedError("Pages keep changing while the answer is filed; try again when they are saved.")


def _filed(home: Home, answer: Answer) -> tuple[str, dict[str, bytes | None], dict[str, str]]:
    wiki = Wiki.of(home.paths)
    articles = {article.slug: article for article in wiki.articles()}
    read = {f"{slug}.md": digest(wiki.encode(article)) for slug, article in articles.items()}  # before they change
    claims = [Claim(markdown.line(part.text), _sources(part.refs or answer.rests_on, part.text, articles))
              for part in answer.statements]  # fmt: skip
    claims = [claim for claim in claims if claim.sources]
    if not claims:
        raise ExpectedError("The answer was not filed, because it rests on no entry of a daily log.")
    moment = home.zone.local(clock.now())
    slug = f"qa/{slugify(answer.question) or 'question'}"
    if slug not in articles and wiki.path(slug).exists():
        raise ExpectedError(f"{wiki.path(slug)} cannot be read; repair its frontmatter, then ask again.")
    page = articles.get(slug) or Article.new(slug, answer.question, claims[0].text, moment.date())
    changed = {slug: page}
    for claim in claims:
        page.add_claim(claim)
    page.extend("sources", (f"[[{source.split('#')[0]}]]" for claim in claims for source in claim.sources))
    page.touch(moment.date())
    for ref in answer.rests_on:
        other = articles.get(ref.split("#")[0])
        if other and other is not page:
            page.relate(other.slug, other.title)
            if sum(row.startswith("- [[") for row in other.section("Related").rows) < MAX_RELATED:
                other.relate(slug, page.title)
                changed[other.slug] = other
    changes, current = _changes(wiki, articles | changed, changed)
    return slug, changes, current | {name: read[name] for name in changes if name in read}


def _changes(
    wiki: Wiki, articles: dict[str, Article], changed: dict[str, Article]
) -> tuple[dict[str, bytes | None], dict[str, str]]:
    listed = index_page.pages([Row.of(article) for article in articles.values()], wiki.folder)
    names = [*(f"{slug}.md" for slug in changed), *listed]
    current = {name: _bytes(wiki.folder / name) for name in names}
    changes: dict[str, bytes | None] = {
        f"{slug}.md": article.render().encode("utf-8", "surrogateescape") for slug, article in changed.items()
    }
    changes |= listed
    return changes, {name: digest(data) for name, data in current.items()}


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _sources(refs: Sequence[str], text: str, articles: dict[str, Article]) -> tuple[str, ...]:
    """Return the entries behind references: an entry itself, or those of an article's claims most like ``text``."""
    found: list[str] = []
    wanted = set(words(text))
    for ref in refs:
        article = articles.get(ref.split("#")[0])
        if article:
            ranked = sorted(article.claims, key=lambda claim: -len(wanted.intersection(words(claim.text))))
            found += [source for claim in ranked[:1] for source in claim.sources][:SOURCES]
        elif ref.startswith("daily/") and "#^e-" in ref:
            found.append(ref)
    return tuple(dict.fromkeys(found))
