"""The Python interpreters to be had on this machine, for what must run on all of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

MINORS = range(6, 15)
VERSIONS = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")  # before conftest moves HOME
SAY = "import sys; print(*sys.version_info[:2], sys.executable)"


@cache
def interpreter(minor: int) -> str:
    """The path of a Python 3.``minor``; ``""`` when this machine has none."""
    for found in VERSIONS.glob(f"3.{minor}.*/bin/python3"):
        return str(found)
    for path in (shutil.which(f"python3.{minor}"), "/usr/bin/python3"):
        if not path:
            continue
        try:
            run: subprocess.CompletedProcess[str] = subprocess.run(
                [path, "-S", "-I", "-c", SAY], capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        if run.stdout.startswith(f"3 {minor} "):
            return run.stdout.split(" ", 2)[2].strip()
    return ""


def every(low: int, high: int = MINORS[-1]) -> pytest.MarkDecorator:
    """Run the test on each Python from 3.``low`` to 3.``high``, as the argument ``python``; skip those missing here.

    All but the one that runs the tests are slow tests.
    """
    return pytest.mark.parametrize(
        "python",
        [
            pytest.param(
                interpreter(minor),
                id=f"3.{minor}",
                marks=[
                    pytest.mark.skipif(not interpreter(minor), reason=f"no Python 3.{minor} here"),
                    *([] if minor == sys.version_info.minor else [pytest.mark.slow]),
                ],
            )
            for minor in range(low, high + 1)
        ],
    )
