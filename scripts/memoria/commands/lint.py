"""Lint: report what is wrong with the wiki, and fix on request what can be fixed without guessing.

The rules are in ``wiki.lint_rules``. Only contradictions are searched for with a model, if there is one, in a limited
number of calls.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoria.daily.ledger import Ledger
from memoria.ground import clock, home_files, locks, printable
from memoria.ground.errors import ModelError
from memoria.ground.home import Home
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.search import comparison, identifiers
from memoria.search.words import words
from memoria.wiki import minhash
from memoria.wiki.article import Article, Claim
from memoria.wiki.lint_rules import ERROR, NOTE, WARNING, Finding, findings, page_of
from memoria.wiki.snapshot import Snapshot
from memoria.wiki.transaction import ChangedError, Transactions, digest

TOPIC = 0.4  # two claims that share this part of their words are about the same thing
PAIRS, BATCHES = 25, 4  # claims compared in one call, and calls per run


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
    names = (set(identifiers.in_prose(claim.text)) for claim in (one, other))
    return next(names) != next(names) or comparison.words(one.text).numbers != comparison.words(other.text).numbers


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
            yield Finding("contradiction", WARNING, page_of(slug), text)


# -- fixing


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
