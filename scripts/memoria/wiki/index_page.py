"""Index page: the wiki's index page and its log, written with the articles in one transaction.

``index.md`` is where a reader starts: all articles by project. ``log.md`` records which entries each compile took in; a
lost ledger is rebuilt from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from memoria.base import project
from memoria.base.paths import Paths
from memoria.daily.entry import Entry, fingerprint
from memoria.ground import home_files, markdown, projects
from memoria.wiki.article import Article, link_text
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import INDEX, LOG, Wiki, slugify
from memoria.wiki.transaction import End, Transactions, digest

SUMMARY_CHARS = 240

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENTRY = re.compile(r"\[\[daily/\d{4}-\d{2}-\d{2}#\^e-([0-9a-z]+)")
_TOOK = re.compile(r"(?<![0-9a-z])([0-9a-z]+):([0-9a-f]{12})(?![0-9a-f])")

INTRO = """# Knowledge

Start here. Each article holds what was learned about one thing, every claim with a link to the conversation it came
from; what no longer holds stands dated under its History. What each compile did is in [[log]]. memoria keeps this page;
edit the articles as you like, your changes stay.
"""
LOG_INTRO = "# Log\n\nWhat each compile took in, newest last.\n"


def pages(rows: Collection[Row], folder: Path) -> dict[str, bytes | None]:
    """Return the pages that list articles, by path inside the wiki; None marks an obsolete one in ``folder``."""
    found: dict[str, bytes | None] = {name: None for name in home_files.generated_pages(folder) if name != LOG}
    return found | {INDEX: (INTRO + _group_by_project(rows)).encode()}


def _group_by_project(rows: Iterable[Row]) -> str:
    """Return rows for articles below their project's name; the project that changed last first, none at the end."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.project, []).append(row)
    labels = projects.labels(filter(None, groups), project.Known({}, {}))
    parts = []
    for key, group in sorted(groups.items(), key=lambda item: (labels.get(item[0], "").casefold(), item[0])):
        own = f"concepts/{slugify(project.name_of(key))}"  # the slug that a project's own page usually has
        group.sort(key=lambda row: (row.slug != own, row.title.casefold(), row.slug))
        title = markdown.line(labels.get(key, "All projects"))
        parts.append((bool(key), max(row.updated for row in group), f"\n## {title}\n\n{''.join(map(_line, group))}"))
    parts.sort(key=lambda part: part[:2], reverse=True)
    return "".join(text for _, _, text in parts)


def _line(row: Row) -> str:
    summary = markdown.cut(row.summary, SUMMARY_CHARS)
    summary += " …" if summary != row.summary else ""
    day = f" ({row.updated})" if _DAY.fullmatch(row.updated) else ""
    return f"- [[{row.slug}|{link_text(row.title)}]]{day}" + (f": {summary}\n" if summary else "\n")


def log_block(when: datetime, entries: Sequence[Entry], created: Sequence[str], updated: Sequence[str]) -> str:
    """Return the lines of ``log.md`` for one compile; ``when`` is in the user's zone."""
    rows = [f"\n## {when:%Y-%m-%d %H:%M} compile\n"]
    if entries:
        rows.append(
            "- Took in: " + ", ".join(f"[[{entry.source}|{link_text(entry.title) or entry.id}]]" for entry in entries)
        )
    for label, slugs in (("Created", created), ("Updated", updated)):
        if slugs:
            rows.append(f"- {label}: " + ", ".join(f"[[{slug}]]" for slug in slugs))
    if entries:
        rows.append(f"\n<!-- memoria took={' '.join(f'{entry.id}:{fingerprint(entry)}' for entry in entries)} -->")
    return "\n".join(rows) + "\n"


def append_block(folder: Path, block: str) -> dict[str, bytes]:
    """Return what to append to the log in ``folder`` for a block, with the introduction when there is no log yet."""
    return {LOG: ("" if (folder / LOG).exists() else LOG_INTRO).encode() + block.encode()}


def settled_block(when: datetime, slugs: Sequence[str]) -> str:
    """Return the lines of ``log.md`` for articles that code brought up to date; ``when`` is local time."""
    return f"\n## {when:%Y-%m-%d %H:%M} up to date\n- Updated: " + ", ".join(f"[[{slug}]]" for slug in slugs) + "\n"


def fingerprints(log: str) -> dict[str, str]:
    """Return the entries that a log records as taken in, with their fingerprints then.

    ``""`` stands for one that was not recorded, or in the form of an earlier version.
    """
    found: dict[str, str] = {}
    for row in log.split("\n"):
        if row.startswith("- Took in: "):
            found |= dict.fromkeys((match[1] for match in _ENTRY.finditer(row)), "")
        if row.startswith("<!-- memoria took="):
            found.update((match[1], match[2]) for match in _TOOK.finditer(row))
    return found


def commit(
    paths: Paths,
    rows: Mapping[str, Row],
    changed: Mapping[str, Article],
    read: Mapping[str, str],
    block: str,
    label: str,
    ends: Sequence[End] = (),
) -> None:
    """Write the ``changed`` articles and add ``block`` to the log; raise ChangedError when a file was saved meanwhile.

    ``rows``: those of all articles before the change. ``read`` maps the articles' files to their digests when they were
    read. ``ends``: the facts that end with it.
    """
    folder = Wiki(paths).folder
    changes: dict[str, bytes | None] = {f"{slug}.md": Wiki.encode(article) for slug, article in changed.items()}
    after = dict(rows) | {slug: Row.of(article) for slug, article in changed.items()}
    lists = pages(after.values(), folder)
    digests = dict(read)
    for name in lists:
        path = folder / name
        digests[name] = digest(home_files.read_if_there(path))
    Transactions(paths).commit(changes | lists, digests, label, ends, append_block(folder, block))
