"""Lint: report what is wrong with the wiki, and fix on request what can be fixed without guessing.

The rules are in ``wiki.lint_rules``. What statements say of each other is the matter of ``consolidate``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from memoria.ground import clock, home_files, locks, printable
from memoria.ground.home import Home
from memoria.wiki.article import Article
from memoria.wiki.lint_rules import ERROR, NOTE, WARNING, Finding, findings
from memoria.wiki.snapshot import Snapshot
from memoria.wiki.transaction import ChangedError, Transactions, digest


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
        before = home_files.read(Path(home.paths.knowledge, name))
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
    counts = Counter(finding.severity for finding in found)
    print(_json(found, fixed, counts) if args.json else _report(snapshot, found, fixed, counts))
    return 1 if counts[ERROR] else 0


def _json(found: Sequence[Finding], fixed: Sequence[str], counts: Counter[str]) -> str:
    rows = [
        {"rule": each.rule, "severity": each.severity, "page": each.page, "text": each.text,
         "fixable": each.fix is not None} for each in found
    ]  # fmt: skip
    reported = {"findings": rows, "counts": {name: counts[name] for name in (ERROR, WARNING, NOTE)}}
    return json.dumps(reported | {"fixed": list(fixed)}, ensure_ascii=False, indent=2)


def _report(snapshot: Snapshot, found: Sequence[Finding], fixed: Sequence[str], counts: Counter[str]) -> str:
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
    return "\n".join(rows)
