"""Index page: the wiki's index page, its full lists and its log, written with the articles in one transaction.

``index.md`` is a reader's starting point, by project, and stays one page, however many articles there are; ``lists/``
names them all. ``log.md`` records which entries each compile took in; a lost ledger is rebuilt from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from memoria.base import project
from memoria.base.paths import Paths
from memoria.daily.entry import Entry, fingerprint
from memoria.ground import home_files, markdown, printable, projects
from memoria.wiki.article import Article, link_text
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import INDEX, LOG, Wiki, slugify
from memoria.wiki.transaction import End, Transactions, digest

HEADINGS = {"concepts": "Concepts", "connections": "Connections", "qa": "Questions and answers"}
WHOLE = 200  # up to this many articles the index lists every one
LATEST, MIN_LATEST = 30, 3  # articles that a larger index shows: of all projects, and of each
PROJECTS = 10  # those that changed last, of which a larger index shows articles
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
LIST_INTRO = "\nEvery article of this project. memoria keeps this page; start at [[index]].\n\n"


@dataclass(frozen=True, slots=True)
class Shelf:
    """The articles of one project, its own page first; ``key`` is empty for those of all projects."""

    key: str
    label: str
    rows: tuple[Row, ...]

    @property
    def updated(self) -> str:
        """ISO day of the last change."""
        return max(row.updated for row in self.rows)

    @property
    def is_small(self) -> bool:
        """Whether the project's own page is its only article."""
        return len(self.rows) == 1 and _own(self.key) == self.rows[0].slug

    @property
    def file(self) -> str:
        """The name of its list."""
        return slugify(self.key) or "all-projects"

    @property
    def counted(self) -> str:
        """How many articles there are, and when the last of them changed."""
        changed = f", last changed {self.updated}" if self.updated else ""
        return printable.counted(len(self.rows), "article") + changed


def index(rows: Iterable[Row]) -> str:
    """Return the text of ``index.md``: all articles by project and kind, or the latest and links to the full lists."""
    shelves = _shelves(rows)
    if sum(len(shelf.rows) for shelf in shelves) <= WHOLE:
        return INTRO + _whole(shelves)
    each = max(MIN_LATEST, LATEST // min(PROJECTS, len(shelves)))
    parts = [INTRO, *(_latest(shelf, each) for shelf in shelves[:PROJECTS])]
    if others := shelves[PROJECTS:]:
        parts += ["\n## Other projects\n\n", *(f"- {_list_link(shelf)}: {shelf.counted}\n" for shelf in others)]
    return "".join(parts)


def _whole(shelves: Sequence[Shelf]) -> str:
    """Return the parts of an index that lists every article; projects with nothing but their own page come last."""
    small = [shelf.rows[0] for shelf in shelves if shelf.is_small] if len(shelves) > 1 else []
    large = [shelf for shelf in shelves if len(shelves) == 1 or not shelf.is_small]
    parts = [f"\n## {_plain(shelf.label)}\n\n{shelf.counted}.\n\n{_by_kind(shelf.rows, 3)}" for shelf in large]
    return "".join([*parts, *(["\n## Other projects\n\n", *map(_line, small)] if small else [])])


def _latest(shelf: Shelf, count: int) -> str:
    """Return a project's part of a large index: the articles that changed last, and where all of them are."""
    rows = sorted(sorted(shelf.rows, key=lambda row: row.slug), key=lambda row: row.updated, reverse=True)[:count]
    shown = "".join(map(_line, rows))
    return f"\n## {_plain(shelf.label)}\n\n{shelf.counted}: {_list_link(shelf)}. Latest:\n\n{shown}"


def _list_link(shelf: Shelf) -> str:
    """Return a link to the list of all articles of a project."""
    return f"[[lists/{shelf.file}|{link_text(shelf.label)}]]"


def pages(rows: Collection[Row], folder: Path) -> dict[str, bytes | None]:
    """Return ``index.md`` and the full lists by path inside the wiki; None marks an obsolete list in ``folder``."""
    found: dict[str, bytes | None] = {name: None for name in home_files.generated(folder) if "/" in name}
    found |= {name: text.encode() for name, text in lists(rows).items()}
    return found | {INDEX: index(rows).encode()}


def lists(rows: Iterable[Row]) -> dict[str, str]:
    """Return the texts of the full lists by path inside the wiki; empty while the index lists every article itself."""
    shelves = _shelves(rows)
    if sum(len(shelf.rows) for shelf in shelves) <= WHOLE:
        return {}
    found = {}
    for shelf in shelves:
        owner = f"---\nproject: {project.name_of(shelf.key)} · {shelf.key}\n---\n" if shelf.key else ""
        title = f"{owner}# {_plain(shelf.label)}"
        found[f"lists/{shelf.file}.md"] = f"{title}\n{LIST_INTRO}{_by_kind(shelf.rows, 2)}"
    return found


def _shelves(rows: Iterable[Row]) -> list[Shelf]:
    """Return the articles by project, the project that changed last first; those of all projects come last."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.project, []).append(row)
    labels = projects.labels(filter(None, groups), project.Known({}, {}))
    shelves = []
    for key, group in groups.items():
        group.sort(key=lambda row: (row.slug != _own(row.project), row.title.casefold(), row.slug))
        shelves.append(Shelf(key, labels.get(key, "All projects"), tuple(group)))
    shelves.sort(key=lambda shelf: (shelf.label.casefold(), shelf.key))
    shelves.sort(key=lambda shelf: (bool(shelf.key), shelf.updated), reverse=True)
    return shelves


def _own(key: str) -> str:
    """Return the slug that a project's own page usually has."""
    return f"concepts/{slugify(project.name_of(key))}" if key else ""


def _by_kind(rows: Iterable[Row], level: int) -> str:
    """Return rows for articles; concepts first, then the other kinds below headings of a level."""
    groups: dict[str, list[Row]] = {folder: [] for folder in HEADINGS}
    for row in rows:
        groups[row.slug.split("/")[0]].append(row)
    parts: list[str] = []
    for folder, group in groups.items():
        if group and folder != "concepts":
            parts.append(f"{chr(10) if parts else ''}{'#' * level} {HEADINGS[folder]}\n\n")
        parts += map(_line, group)
    return "".join(parts)


def _plain(label: str) -> str:
    return markdown.line(label)


def _line(row: Row) -> str:
    summary = row.summary
    if len(summary) > SUMMARY_CHARS:
        summary = markdown.cut(summary, SUMMARY_CHARS) + " …"
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


def appended(folder: Path, block: str) -> dict[str, bytes]:
    """Return what to append to the log in ``folder`` for a block, with the introduction when there is no log yet."""
    return {LOG: ("" if (folder / LOG).exists() else LOG_INTRO).encode() + block.encode()}


def settled_block(when: datetime, slugs: Sequence[str]) -> str:
    """Return the lines of ``log.md`` for articles that code brought up to date; ``when`` is local time."""
    return f"\n## {when:%Y-%m-%d %H:%M} up to date\n- Updated: " + ", ".join(f"[[{slug}]]" for slug in slugs) + "\n"


def compiled_entries(log: str) -> set[str]:
    """Return the ids of the entries that a log records as taken in."""
    took = (row for row in log.split("\n") if row.startswith("- Took in: "))
    return {match[1] for row in took for match in _ENTRY.finditer(row)}


def fingerprints(log: str) -> dict[str, str]:
    """Return the entries that a log records as taken in, with their fingerprints then.

    ``""`` stands for one that was not recorded, or in the form of an earlier version.
    """
    found = dict.fromkeys(compiled_entries(log), "")
    for row in log.split("\n"):
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
    folder = Wiki.of(paths).folder
    changes: dict[str, bytes | None] = {f"{slug}.md": Wiki.encode(article) for slug, article in changed.items()}
    owned = {slug: rows[slug].project if slug in rows else article.project for slug, article in changed.items()}
    after = dict(rows) | {slug: replace(Row.of(article), project=owned[slug]) for slug, article in changed.items()}
    lists = pages(after.values(), folder)
    digests = dict(read)
    for name in lists:
        path = folder / name
        digests[name] = digest(home_files.read_if_there(path))
    Transactions.of(paths).commit(changes | lists, digests, label, ends, appended(folder, block))
