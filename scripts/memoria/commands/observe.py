"""Observe: note where each session stands, and whether what was said is due to be judged."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from memoria.ground.home import Home
from memoria.observing.loop import work


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def command(args: argparse.Namespace, home: Home) -> int:  # noqa: ARG001 (every verb takes them)
    """Look once at every session with news, as hooks have it done."""
    if hasattr(os, "nice"):
        os.nice(max(0, 10 - os.nice(0)))
    Path(home.paths.where).mkdir(mode=0o700, parents=True, exist_ok=True)
    Path(home.paths.cursors).mkdir(mode=0o700, parents=True, exist_ok=True)
    asyncio.run(work(home))
    return 0
