"""Consolidate: ask now which of the most similar statements still hold, whatever was asked today."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from memoria.base import state
from memoria.daily.ledger import Ledger
from memoria.ground import locks, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.models.metered import Metered
from memoria.statements.keeper import Keeper
from memoria.wiki.transaction import Transactions
from memoria.worker.consolidation import Consolidation


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options to ``parser``."""


def command(args: argparse.Namespace, home: Home) -> int:  # noqa: ARG001 (all commands have this signature)
    """Make one call and say what ended; return 0."""
    state.make_folders(home.paths)
    with locks.held(Path(home.paths.compile_lock)) as mine:
        if not mine:
            raise ExpectedError("A compile is running; try again when it is done.")
        Transactions.of(home.paths).recover()
        with closing(Ledger.of(home.paths)) as ledger, Index(home.paths.index) as index, Keeper.at(home) as keeper:
            sources.refresh(index, home.paths)
            run = Consolidation(home, ledger, index, Metered.of(home, ledger), keeper)
            report = run.run(run.likeliest())
    ended = printable.counted(len(report.applied), "statement")
    print(f"{printable.counted(report.pairs, 'pair')} asked about, {ended} ended.")
    return 0
