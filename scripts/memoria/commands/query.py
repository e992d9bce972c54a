"""Query: answer a question from the wiki and the daily logs, with links that code has checked.

The search index finds articles, entries and facts, a model answers from them, and every link in the answer is looked
up. Links that do not resolve are printed as plain text and listed. Without a language model, the passages themselves
are the answer. ``--file-back`` stores the answer as an article.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from memoria.base.visibility import Visibility
from memoria.daily.daily_log import DailyLog
from memoria.ground import clock, locks, markdown
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.mcp.search import Answer, Passage, ask, cited, lines, passages_for
from memoria.search.words import words
from memoria.wiki import index_page
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki, slugify
from memoria.wiki.index_page import commit
from memoria.wiki.lines import is_same_text
from memoria.wiki.transaction import ChangedError, Transactions, digest

log = logging.getLogger(__name__)

SOURCES = 3  # entries that a statement about an article cites in its place
MAX_RELATED = 30  # links under Related of a page, as in a compile


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("question", nargs="+", help="what you want to know")
    parser.add_argument("--file-back", action="store_true", help="store the answer as an article under knowledge/qa/")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Answer and print; return 1 when the answer was to be filed and there is none."""
    question = " ".join(" ".join(args.question).split())
    passages, lacking = passages_for(home, Visibility(home.settings, home.paths), question)
    if lacking:
        print(f"memoria: {lacking}", file=sys.stderr)
    answer, reason = ask(home, question, passages) if passages else (None, "")
    slug = file_back(home, answer) if args.file_back and answer and answer.statements else ""
    if args.json:
        print(json.dumps(_record(question, answer, passages, reason, slug), ensure_ascii=False, indent=2))
    else:
        filed = [f"\nFiled as [[{slug}]]"] if slug else []
        print("\n".join([*lines(answer, passages, reason), *filed]))
    if args.file_back and not slug:
        print("memoria: nothing was filed, because there is no answer to file.", file=sys.stderr)
        return 1
    return 0


# -- printing


def _record(
    question: str, answer: Answer | None, passages: Sequence[Passage], reason: str, slug: str
) -> dict[str, object]:
    return {
        "question": question,
        "answer": "\n".join(map(cited, answer.statements)) if answer else "",
        "rests_on": list(answer.rests_on) if answer else [],
        "dead_links": list(answer.dead) if answer else [],
        "unsupported": list(answer.unsupported) if answer else [],
        "model": answer.model if answer else "",
        "reason": reason,
        "passages": [passage.material() for passage in passages],
        "filed": slug,
    }


# -- filing


def file_back(home: Home, answer: Answer) -> str:
    """Write the answer to ``knowledge/qa/`` with its sources, index and log in one transaction; return the slug.

    Raise ExpectedError when no statement can be traced to an entry, or when a person keeps saving a page.
    """
    paths = home.paths
    with locks.waiting(Path(paths.compile_lock)):
        Transactions.of(paths).recover()
        for _ in range(3):
            articles = {article.slug: article for article in Wiki.of(paths).articles()}
            read = {f"{slug}.md": digest(Wiki.encode(article)) for slug, article in articles.items()}
            rows = {slug: Row.of(article) for slug, article in articles.items()}
            slug, changed = _filed(home, answer, articles)
            block = index_page.filed_block(home.zone.local(clock.now()), slug)
            try:
                commit(paths, rows, changed, read, block, f"answer filed as {slug}")
            except ChangedError as error:
                log.info("%s; filing again", error)
                continue
            return slug
    raise ExpectedError("Pages keep changing while the answer is filed; try again when they are saved.")


def _filed(home: Home, answer: Answer, articles: dict[str, Article]) -> tuple[str, dict[str, Article]]:
    """Return the slug of the answer's article, and the articles that change."""
    wiki = Wiki.of(home.paths)
    claims = [Claim(markdown.line(part.text), _sources(home, part.refs or answer.rests_on, part.text, articles))
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
        if not any(is_same_text(known.text, claim.text) for known in page.claims):
            page.add(claim)
    page.touch(moment.date())
    for ref in answer.rests_on:
        other = articles.get(ref.split("#")[0])
        if other and other is not page:
            page.relate(other.slug, other.title)
            if other.related < MAX_RELATED:
                other.relate(slug, page.title)
                changed[other.slug] = other
    return slug, changed


def _sources(home: Home, refs: Sequence[str], text: str, articles: dict[str, Article]) -> tuple[str, ...]:
    """Return the entries behind references: an entry, that of a fact, or those of an article's claim like ``text``."""
    found: list[str] = []
    wanted = set(words(text))
    for ref in refs:
        article = articles.get(ref.split("#")[0])
        if article:
            ranked = sorted(article.claims, key=lambda claim: -len(wanted.intersection(words(claim.text))))
            found += [source for claim in ranked[:1] for source in claim.sources][:SOURCES]
        elif ref.startswith("daily/") and "#^e-" in ref:
            found.append(ref)
        elif ref.startswith("daily/") and "#^l-" in ref:
            found += _entries_with(home, ref)
    return tuple(dict.fromkeys(found))


def _entries_with(home: Home, ref: str) -> list[str]:
    """Return the entry that a fact (``daily/2026-11-20#^l-7f3a``) is a line of; none for one that stands alone."""
    day, _, ident = ref.removeprefix("daily/").partition("#^")
    entries = DailyLog.of(home.paths).entries(date.fromisoformat(day))
    return [entry.source for entry in entries if any(learned.id == ident for learned in entry.learned)]
