"""The Python interpreters to be had on this machine, for what must run on all of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

MINORS = range(6, 15)
VERSIONS = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")  # before conftest moves HOME
SAY = "import sys; print(*sys.version_info[:2], sys.executable)"


@cache
def interpreter(minor: int) -> str:
    """The path of a Python 3.``minor``; ``""`` when this machine has none."""
    for found in VERSIONS.glob(f"3.{minor}.*/bin/python3"):
        return str(found)
    for path in filter(None, (shutil.which(f"python3.{minor}"), "/usr/bin/python3")):
        with suppress(OSError):
            run = subprocess.run([path, "-S", "-I", "-c", SAY], capture_output=True, text=True, check=False)
            if run.stdout.startswith(f"3 {minor} "):
                return run.stdout.split(" ", 2)[2].strip()
    return ""


def every(low: int, high: int = MINORS[-1]) -> pytest.MarkDecorator:
    """Run the test on each Python from 3.``low`` to 3.``high``, as the argument ``python``; skip those missing here.

    All but the one that runs the tests are slow tests.
    """

    def one(minor: int) -> Any:
        missing = pytest.mark.skipif(not interpreter(minor), reason=f"no Python 3.{minor} here")
        marks = [missing] if minor == sys.version_info.minor else [missing, pytest.mark.slow]
        return pytest.param(interpreter(minor), id=f"3.{minor}", marks=marks)

    return pytest.mark.parametrize("python", [one(minor) for minor in range(low, high + 1)])
