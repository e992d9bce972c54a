"""Lint: report what is wrong with the wiki, and fix on request what can be fixed without guessing.

Every rule is a function from a snapshot to findings, and a row of ``RULES``. Only contradictions are searched for with
a model, if there is one, in a limited number of calls.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from memoria.base import project
from memoria.daily.day_text import DayText
from memoria.daily.ledger import Ledger
from memoria.ground import clock, locks, printable, projects
from memoria.ground.errors import ModelError
from memoria.ground.home import Home
from memoria.ground.markdown import Link
from memoria.language.words import words
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.wiki import evidence, minhash, names
from memoria.wiki.article import RELATED, Article, Claim
from memoria.wiki.folder import slugify
from memoria.wiki.founding import Founding
from memoria.wiki.owners import Owners
from memoria.wiki.snapshot import Snapshot
from memoria.wiki.transaction import ChangedError, Transactions, digest
from memoria.wiki.user_words import UserWords

ERROR, WARNING, NOTE = "error", "warning", "note"
SPARSE_WORDS = 12  # an article with fewer words in summary and claims says next to nothing
MAX_CLAIMS, MAX_SECTION = 60, 25  # claims that an article may have, and one section of it
NEAR = 0.7  # two articles that share this part of their words are duplicates
TOPIC = 0.4  # two claims that share this part of their words are about the same thing
PAIRS, BATCHES = 25, 4  # claims compared in one call, and calls per run
_MAX_RELATED = 30

Fix = Callable[[Article], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. ``page`` is relative to the home; ``fix`` changes the article so that the fault is gone."""

    rule: str
    severity: str
    page: str
    text: str
    fix: Fix | None = None

    @property
    def slug(self) -> str:
        """The article's slug."""
        return self.page.removeprefix("knowledge/").removesuffix(".md")


Found = Iterator[tuple[str, str] | tuple[str, str, Fix | None]]  # page, text, how to fix it


def broken_links(snapshot: Snapshot) -> Found:
    """Find links to pages, headings or blocks that do not exist."""
    for slug, page in snapshot.pages.items():
        for link in page.links:
            if not _is_source(link) and (problem := snapshot.targets.problem(link, f"knowledge/{slug}")):
                yield slug, f"`[[{link.target}{link.anchor}]]`: {problem}", partial(_unlink, link)


def dead_sources(snapshot: Snapshot) -> Found:
    """Find claims that cite an entry that no daily log has."""
    for slug, page in snapshot.pages.items():
        for link in page.links:
            if _is_source(link) and snapshot.targets.problem(link):
                yield slug, f"cites `{link.target}{link.anchor}`, which does not exist", partial(_drop_source, link)


def missing_sources(snapshot: Snapshot) -> Found:
    """Find key points that cite nothing."""
    for slug, article in snapshot.readable():
        for claim in article.claims:
            if not claim.sources:
                yield slug, f"no source for “{claim.text[:100]}”"


def block_ids(snapshot: Snapshot) -> Found:
    """Find entries of a daily log whose block id is missing or occurs twice, so that no link can refer to them."""
    counts: dict[str, Counter[str]] = {}
    for entry in snapshot.entries:
        day = f"daily/{entry.day.isoformat()}"
        if day not in counts:
            counts[day] = DayText(snapshot.daily.text(entry.day)).block_ids()
        times = counts[day][f"e-{entry.id}"]
        if times != 1:
            fault = "is missing" if not times else "occurs twice" if times == 2 else f"occurs {times} times"
            yield f"{day}.md", f"entry {entry.id}: its line `^e-{entry.id}` {fault}"


def frontmatter(snapshot: Snapshot) -> Found:
    """Find frontmatter that is not valid YAML, or lacks what readers and programs rely on."""
    for slug, page in snapshot.pages.items():
        if page.article is None:
            yield slug, page.problem
            continue
        front = page.article.front
        for key in ("title", "created", "updated"):
            if not front.text(key):
                yield slug, f"`{key}` is missing", partial(_complete, key)
        for key in ("created", "updated"):
            if front.text(key) and not _day(front.text(key)):
                yield slug, f"`{key}` is not a day: {front.text(key)!r}"


def paths(snapshot: Snapshot) -> Found:
    """Find pages outside the wiki's folders, or with a name that memoria would not give."""
    for name in snapshot.strays():
        yield name, "is outside concepts/, connections/ and qa/, where no compile looks"
    for slug in snapshot.pages:
        name = slug.split("/", 1)[1]
        if slugify(name) != name:
            yield slug, f"is not a valid name for an article; `{slugify(name) or 'untitled'}` would be"


def duplicate_titles(snapshot: Snapshot) -> Found:
    """Find titles and aliases that two pages share."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for slug, article in snapshot.readable():
        for name in (article.title, *article.aliases):
            named[name.casefold()].add(slug)
    for name, slugs in sorted(named.items()):
        if len(slugs) > 1:
            first, *others = sorted(slugs)
            yield first, f"“{name}” is also a name of {', '.join(f'[[{slug}]]' for slug in others)}"


def near_duplicates(snapshot: Snapshot) -> Found:
    """Find articles that say nearly the same; those of two projects may."""
    texts = {slug: page.words for slug, page in snapshot.pages.items() if page.article}
    for one, other, share in minhash.pairs(texts, NEAR):
        if not snapshot.are_apart(one, other):
            yield one, f"says nearly the same as [[{other}]] ({share:.0%} of the words)"


def orphans(snapshot: Snapshot) -> Found:
    """Find articles that no other article links to."""
    reached = {target for targets in snapshot.linked.values() for target in targets}
    for slug in snapshot.pages:
        if slug not in reached and len(snapshot.pages) > 1:
            yield slug, "no other article links here"


def sparse(snapshot: Snapshot) -> Found:
    """Find articles that say next to nothing."""
    for slug, article in snapshot.readable():
        body = " ".join([*article.lead, *(row for section in article.sections for row in section.rows)])
        count = len(words(re.sub(r"\[\[[^\]]*\]\]", " ", body)))
        if count < SPARSE_WORDS:
            yield slug, f"only {printable.counted(count, 'word')}"


def long(snapshot: Snapshot) -> Found:
    """Find articles, and sections of articles, with more claims than anybody reads."""
    for slug, article in snapshot.readable():
        counts = Counter(heading for heading, _ in article.headed_claims)
        if counts.total() > MAX_CLAIMS:
            yield slug, f"has {counts.total()} claims; an article for each of its topics would be easier to read"
        for heading, count in counts.items():
            if count > MAX_SECTION:
                yield slug, f"has {count} claims under “{heading}”; give them headings of their own"


def thin(snapshot: Snapshot) -> Found:
    """Find articles with little to say (setting ``thin_claims``), and where their claims will go."""
    sources = {entry.source: entry for entry in snapshot.entries}
    owners = {slug: article.project for slug, article in snapshot.readable()}
    known = project.known(snapshot.home.paths.projects)
    founding = Founding(
        Owners(owners, projects.labels(filter(None, owners.values()), known)),
        UserWords(sources.get),
        {},
        snapshot.home.settings.thin_claims,
    )
    for slug, article in snapshot.readable():
        key = owners[slug]
        if key and slug.startswith("concepts/") and slug != founding.parent(key) and founding.is_thin(article):
            count = printable.counted(len(article.claims), "claim")
            yield slug, f"only {count}, of one entry; could be a section of [[{founding.parent(key)}]]"


def titles(snapshot: Snapshot) -> Found:
    """Find titles that nobody would look up."""
    for slug, article in snapshot.readable():
        own = bool(article.project) and article.title == project.name_of(article.project)  # its project's page
        if not own and (fault := names.fault(article.title)):
            yield slug, f"its title “{article.title}” is {fault}; nobody looks that up"
        elif names.clean(article.title) != article.title:
            yield slug, f"its title {article.title} stands in quotation marks"


def backlinks(snapshot: Snapshot) -> Found:
    """Find pages under Related that do not link back, though they may: a page names none of another project."""
    for slug, article in snapshot.readable():
        rows = [row for part in article.sections if part.heading == RELATED for row in part.rows]
        for link in Article(slug, "\n".join(rows)).links:
            other = snapshot.targets.page(link.target).removeprefix("knowledge/")
            known = snapshot.articles.get(other)
            if not known or other == slug or slug in snapshot.linked[other] or _related(known) >= _MAX_RELATED:
                continue
            if snapshot.owners[slug] in ("", snapshot.owners[other]):
                yield other, f"does not link back to [[{slug}]]", partial(_relate, slug, article.title)


def uncompiled(snapshot: Snapshot) -> Found:
    """Find entries that no compile has taken in."""
    waiting = Counter(entry.day for entry in snapshot.entries if entry.id not in snapshot.compiled)
    for day, count in sorted(waiting.items()):
        text = f"{printable.counted(count, 'entry')} not compiled yet; run `memoria compile`"
        yield f"daily/{day.isoformat()}.md", text


def stale(snapshot: Snapshot) -> Found:
    """Find articles that no entry has changed for a long time (setting ``stale_days``)."""
    limit = snapshot.home.settings.stale_days
    for slug, article in snapshot.readable():
        last = _day(article.updated)
        if limit and last and (snapshot.today - last).days > limit:
            age = printable.counted((snapshot.today - last).days, "day")
            yield slug, f"last updated {last.isoformat()}, {age} ago"


RULES: dict[str, tuple[str, Callable[[Snapshot], Found]]] = {
    "broken-link": (ERROR, broken_links),
    "dead-source": (ERROR, dead_sources),
    "block-id": (ERROR, block_ids),
    "frontmatter": (ERROR, frontmatter),
    "path": (WARNING, paths),
    "missing-source": (WARNING, missing_sources),
    "duplicate-title": (WARNING, duplicate_titles),
    "near-duplicate": (WARNING, near_duplicates),
    "orphan": (WARNING, orphans),
    "sparse": (WARNING, sparse),
    "title": (WARNING, titles),
    "long": (NOTE, long),
    "thin": (NOTE, thin),
    "backlink": (NOTE, backlinks),
    "uncompiled": (NOTE, uncompiled),
    "stale": (NOTE, stale),
}


def findings(snapshot: Snapshot) -> list[Finding]:
    """Return the findings of all rules, the most severe first."""
    found = []
    for rule, (severity, check) in RULES.items():
        for page, text, *fix in check(snapshot):
            found.append(Finding(rule, severity, _page(page), text, fix[0] if fix else None))
    return found


def _page(name: str) -> str:
    place = name if name.startswith("daily/") else f"knowledge/{name}"
    return place if place.endswith(".md") else f"{place}.md"


# -- contradictions


def candidates(snapshot: Snapshot) -> list[tuple[str, Claim, str, Claim]]:
    """Return differing pairs of claims about the same thing, most similar first; as many as one run checks.

    What two projects say of themselves is no contradiction.
    """
    claims = {
        (slug, place): claim for slug, article in snapshot.readable() for place, claim in enumerate(article.claims)
    }
    texts = {key: frozenset(words(claim.text)) for key, claim in claims.items()}
    near = [
        (share, one, other)
        for one, other, share in minhash.pairs(texts, TOPIC)
        if share < 1 and not snapshot.are_apart(one[0], other[0])
    ]
    # If identifiers or numbers differ, one may be wrong; different wording alone is weaker evidence.
    near.sort(key=lambda pair: (not _differ(claims[pair[1]], claims[pair[2]]), -pair[0], pair[1], pair[2]))
    return [(one[0], claims[one], other[0], claims[other]) for _, one, other in near[: PAIRS * BATCHES]]


def _differ(one: Claim, other: Claim) -> bool:
    return set(evidence.precise(one.text)) != set(evidence.precise(other.text))


def contradictions(snapshot: Snapshot) -> tuple[list[Finding], str]:
    """Return what a model finds among the candidates, and why it did not check all of them, if so."""
    pairs = candidates(snapshot)
    if not pairs:
        return [], ""
    if snapshot.home.settings.model.strip() == "offline":
        return [], "contradictions were not checked: that needs a language model (`model` is offline)"
    found: list[Finding] = []
    ledger = Ledger.of(snapshot.home.paths)
    try:
        model = Metered.of(snapshot.home, ledger)
        for start in range(0, len(pairs), PAIRS):
            found += _contradicting(model, pairs[start : start + PAIRS])
    except ModelError as error:
        return found, f"contradictions were not all checked: {error}"
    finally:
        ledger.close()
    return found, ""


def _contradicting(model: Metered, pairs: Sequence[tuple[str, Claim, str, Claim]]) -> Iterator[Finding]:
    material = {"pairs": [{"one": one.text, "other": other.text} for _, one, _, other in pairs]}
    for reported in model.complete(tasks.contradictions(material), "").data["contradictions"]:
        if reported["pair"] <= len(pairs):
            slug, one, place, other = pairs[reported["pair"] - 1]
            text = f"“{one.text[:150]}” against “{other.text[:150]}” in [[{place}]]. {reported.get('why', '')}".rstrip()
            yield Finding("contradiction", WARNING, _page(slug), text)


# -- fixing


def _is_source(link: Link) -> bool:
    return link.target.startswith("daily/") and link.anchor.startswith("#^e-")


def _rows(article: Article) -> Iterator[list[str]]:
    yield article.lead
    yield from (section.rows for section in article.sections)


def _pattern(link: Link) -> re.Pattern[str]:
    return re.compile(rf"(?<!\\)\[\[\s*{re.escape(link.target)}\s*{re.escape(link.anchor)}\s*(?:\|([^\[\]\n]*))?\]\]")


def _unlink(link: Link, article: Article) -> None:
    """Delete list items under Related that consist of this link; elsewhere, replace the link by its text."""
    pattern = _pattern(link)
    for section in article.sections:
        if section.heading == RELATED:
            section.rows = [row for row in section.rows if not (row.startswith("- [[") and pattern.match(row[2:]))]
    for rows in _rows(article):
        rows[:] = [pattern.sub(lambda match: match[1] or link.target or link.anchor.lstrip("#^"), row) for row in rows]


def _drop_source(link: Link, article: Article) -> None:
    """Remove a dead source from claims that have another; a claim's only source is left to a person."""
    source = link.target + link.anchor
    for section in article.sections:
        for number, claim in section.claims():
            if source in claim.sources and len(claim.sources) > 1:
                section.rows[number] = re.sub(r"\s*" + _pattern(link).pattern, "", section.rows[number])


def _complete(key: str, article: Article) -> None:
    days = sorted(source[len("daily/") :][:10] for claim in article.claims for source in claim.sources)
    if key == "title":
        article.front.set("title", article.title)
    elif days:
        article.front.set(key, days[0] if key == "created" else days[-1])


def _relate(slug: str, title: str, article: Article) -> None:
    article.relate(slug, title)


def _related(article: Article) -> int:
    return sum(row.startswith("- [[") for part in article.sections if part.heading == RELATED for row in part.rows)


def fix(home: Home, found: Sequence[Finding]) -> list[str]:
    """Fix what can be fixed, in one transaction, which ``memoria undo`` reverts; return what was done."""
    wanted: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in found:
        if finding.fix:
            wanted[finding.slug].append(finding)
    transactions = Transactions.of(home.paths)
    changes: dict[str, bytes | None] = {}
    read: dict[str, str] = {}
    reported: list[str] = []
    for slug, group in sorted(wanted.items()):
        name = f"{slug}.md"
        before = Path(home.paths.knowledge, name).read_bytes()
        article = Article(slug, before.decode("utf-8", "surrogateescape"))
        for finding in group:
            as_was = article.render()
            assert finding.fix  # noqa: S101 (only such findings were collected; for mypy)
            finding.fix(article)
            if article.render() != as_was:
                reported.append(f"{finding.page}: {finding.rule}: {finding.text}")
        after = article.render().encode("utf-8", "surrogateescape")
        if after != before:
            changes[name], read[name] = after, digest(before)
    try:
        transactions.commit(changes, read, f"lint fixed {printable.counted(len(reported), 'finding')}")
    except ChangedError:
        return []
    return reported


# -- the command


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely, and list it")
    parser.add_argument("--structural-only", action="store_true", help="call no model; contradictions are not checked")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the report; return 1 when there are errors."""
    today = home.zone.day(clock.now())
    snapshot = Snapshot(home, today)
    found = findings(snapshot)
    fixed: list[str] = []
    if args.fix:
        with locks.waiting(Path(home.paths.compile_lock)):
            Transactions.of(home.paths).recover()
            snapshot = Snapshot(home, today)
            fixed = fix(home, findings(snapshot))
        if fixed:
            snapshot = Snapshot(home, today)
        found = findings(snapshot)
    remark = "contradictions were not checked (--structural-only)"
    if not args.structural_only:
        more, remark = contradictions(snapshot)
        found += more
    counts = Counter(finding.severity for finding in found)
    print(_json(found, fixed, counts, remark) if args.json else _report(snapshot, found, fixed, counts, remark))
    return 1 if counts[ERROR] else 0


def _json(found: Sequence[Finding], fixed: Sequence[str], counts: Counter[str], remark: str) -> str:
    rows = [
        {"rule": each.rule, "severity": each.severity, "page": each.page, "text": each.text,
         "fixable": each.fix is not None} for each in found
    ]  # fmt: skip
    reported = {"findings": rows, "counts": {name: counts[name] for name in (ERROR, WARNING, NOTE)}}
    return json.dumps(reported | {"fixed": list(fixed), "remark": remark}, ensure_ascii=False, indent=2)


def _report(
    snapshot: Snapshot, found: Sequence[Finding], fixed: Sequence[str], counts: Counter[str], remark: str
) -> str:
    rows = [
        "# Lint",
        "",
        f"{printable.counted(len(snapshot.pages), 'article')}, {printable.counted(len(snapshot.entries), 'entry')}: "
        + ", ".join(printable.counted(counts[severity], severity) for severity in (ERROR, WARNING, NOTE))
        + ".",
    ]
    for severity, heading in ((ERROR, "Errors"), (WARNING, "Warnings"), (NOTE, "Notes")):
        group = [finding for finding in found if finding.severity == severity]
        if group:
            rows += ["", f"## {heading}", ""]
            rows += [f"- **{each.rule}** `{each.page}`: {printable.line(each.text)}" for each in group]
    if fixed:
        rows += ["", "## Fixed", "", *(f"- {printable.line(text)}" for text in fixed)]
    if remark:
        rows += ["", f"Remark: {printable.sentence(printable.line(remark))}"]
    return "\n".join(rows)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
