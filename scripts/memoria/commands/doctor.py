"""Doctor: check everything that memoria depends on, and print each finding with its remedy.

The checks only look: they change nothing and ask no model. ``memoria demo`` plays sessions through the real hooks.
With ``--wiki`` it reports what is wrong with the wiki instead (``wiki.lint_rules``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from memoria.audit import checks
from memoria.audit.checks import BROKEN, NOTE, OK, Finding, Findings
from memoria.base import invocation
from memoria.base.paths import STATE_VERSION
from memoria.base.settings import CHANGE_OPTION, PLUGIN_OPTION
from memoria.exchange.memory_server import Server
from memoria.exchange.records import Records
from memoria.ground.errors import ExpectedError, HomeRefusedError
from memoria.ground.home import Home
from memoria.ground.printable import amount, line
from memoria.models import protocol
from memoria.wiki import lint_rules
from memoria.wiki.lint_rules import Snapshot
from memoria.working.shared_store import open_store
from memoria.working.store import StoreStats


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--wiki", action="store_true", help="report what is wrong with the wiki instead")
    parser.add_argument("--json", action="store_true", help="the same as one JSON object")


def command(args: argparse.Namespace, home: Home) -> int:
    """Print the findings; return 1 when something is broken."""
    if args.wiki:
        return _wiki(args, home)
    return _tell(args, (finding for check in CHECKS for finding in _run_check(check, home)))


def _run_check(check: Callable[[Home], Findings], home: Home) -> Findings:
    """Look, and name what keeps us from looking; what else there is to look at does not wait for that."""
    try:
        yield from check(home)
    except ExpectedError as error:
        yield Finding(check.__name__.strip("_").removeprefix("check_"), BROKEN, str(error))


def refuse(args: argparse.Namespace, error: HomeRefusedError) -> int:
    """Print that the home cannot be opened (it is of a newer memoria, or not writable), and check nothing else."""
    return _tell(args, iter([Finding("state", BROKEN, error.what, error.remedy)]))


def _wiki(args: argparse.Namespace, home: Home) -> int:
    """Print what is wrong with the wiki; return 1 when there are errors."""
    snapshot = Snapshot(home)
    found = lint_rules.findings(snapshot)
    severities = (lint_rules.ERROR, lint_rules.WARNING)
    counts = {severity: sum(each.severity == severity for each in found) for severity in severities}
    if args.json:
        shown = {"findings": [asdict(each) for each in found], "counts": counts}
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return 1 if counts[lint_rules.ERROR] else 0
    told = ", ".join(amount(count, severity) for severity, count in counts.items())
    print(f"# Wiki\n\n{amount(len(snapshot.pages), 'article')}, {amount(len(snapshot.entries), 'entry')}: {told}.")
    for severity in counts:
        group = [f"- **{each.rule}** `{each.page}`: {line(each.text)}" for each in found if each.severity == severity]
        if group:
            print("\n".join([f"\n## {severity.title()}s\n", *group]))
    return 1 if counts[lint_rules.ERROR] else 0


def _tell(args: argparse.Namespace, found: Findings) -> int:
    findings: list[Finding] = []
    for finding in found:
        findings.append(finding)
        if not args.json:
            print("\n".join(_lines(finding)), flush=True)
    broken = sum(finding.level == BROKEN for finding in findings)
    if args.json:
        print(json.dumps({"broken": broken, "findings": [asdict(one) for one in findings]}, indent=2))
    else:
        print(f"\n{broken} broken, {sum(one.level == NOTE for one in findings)} to note, {len(findings)} looked at.")
    return 1 if broken else 0


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.level:<7}{finding.about:<12}{finding.text}"
    if finding.remedy:
        yield f"{'':<19}-> {finding.remedy}"


def _settings(home: Home) -> Findings:
    for problem in home.settings.problems:
        where = f"with {CHANGE_OPTION}" if problem.startswith(PLUGIN_OPTION) else "in config.json or in the environment"
        yield Finding("settings", NOTE, problem, f"correct it {where}")
    for name, instead in home.settings.gone:
        yield Finding("settings", NOTE, f"{name} is no setting any more and has no effect", instead)
    if home.settings.disabled:
        yield Finding(
            "settings", BROKEN, "memoria is switched off", "unset MEMORIA_DISABLED, or `disabled` in config.json"
        )
    unknown = protocol.problems(home.settings)
    for problem in unknown:
        yield Finding("settings", BROKEN, problem, "correct it in config.json or in the environment")
    if not (home.settings.problems or home.settings.disabled or unknown):
        yield Finding("settings", OK, f"home {home.paths.home}, state version {STATE_VERSION}")


def check_exchange(home: Home) -> Findings:
    """Look how the last exchange with other machines went, if there is one."""
    if not home.settings.sync or not Path(home.paths.records).exists():
        return
    with Records.of(home.paths) as records:
        problem = str(records.get("problem", ""))
    remedy = f"run {invocation.command('sync')} once that is mended; what waits stays on this machine"
    if problem:
        yield Finding("exchange", BROKEN, problem, remedy)
    else:
        yield Finding("exchange", OK, f"this machine exchanges with {home.settings.sync}")


def check_memory_server(home: Home) -> Findings:
    """Ask the memory server, if one is named, whose key it is; how the last exchange went, ``status`` says."""
    settings = home.settings
    if not settings.memory_api_url:
        return
    try:
        server = Server(settings.memory_api_url, settings.memory_api_key)
        server.user()
    except ExpectedError as error:
        remedy = "check memory_api_url and MEMORY_API_KEY, and that the server runs; what waits stays on this machine"
        yield Finding("server", BROKEN, str(error), remedy)
        return
    yield Finding("server", OK, f"the memory server at {server.address} answers")


def check_redis(home: Home) -> Findings:
    """Ask the Redis server, if one is named, whether it can be used."""
    if not home.settings.redis_url:
        return
    stats = asyncio.run(_stats(home))
    if stats.degraded:
        remedy = "check redis_url, and that the server runs; until then each machine keeps its own working memory"
        yield Finding("redis", BROKEN, stats.reason, remedy)
    else:
        yield Finding("redis", OK, f"{stats.where} answers")


async def _stats(home: Home) -> StoreStats:
    store = open_store(home.settings, home.paths)
    try:
        return await store.stats()
    finally:
        await store.close()


CHECKS: tuple[Callable[[Home], Findings], ...] = (
    _settings, checks.check_excluded, checks.check_forgotten, checks.check_home, checks.check_files, checks.check_hooks,
    checks.check_firing, checks.check_pythons, checks.check_client,
    checks.check_disk, checks.check_lock, checks.check_synced, checks.check_jobs,
    checks.check_understood, check_exchange, check_memory_server, check_redis,
)  # fmt: skip
