"""A hook imports what its event needs and nothing that only the rare case needs: each module takes 0.1 to 0.2 ms."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hooks import SESSION, Client, arguments, line
from memoria.base import sqlite

# Slow, or for the rare case: a pause, a line that must be escaped, an error of the file system, several projects.
RARE = {
    "_ast", "collections", "datetime", "errno", "functools", "json", "logging", "memoria.base.fence",
    "memoria.base.state", "pathlib", "re", "typing",
}  # fmt: skip


def imported(client: Client, event: str, **fields: object) -> set[str]:
    """Return the modules that a hook imports, by the interpreter's own account."""
    done = subprocess.run(
        [client.python, "-X", "importtime", *arguments(event)],
        input=json.dumps(client.payload(event, **fields)).encode(),
        env=client.env, cwd=client.cwd, capture_output=True, check=True,
    )  # fmt: skip
    rows = [row for row in done.stderr.decode().splitlines() if row.startswith("import time:")]
    return {row.rpartition("|")[2].strip() for row in rows}


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd", "SessionStart"])
def test_a_hook_imports_nothing_that_only_the_rare_case_needs(event: str, tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.transcript = tmp_path / "transcript.jsonl"  # with a name that needs no escaping
    client.write(line("question"))
    for _ in range(2):  # the first makes the home
        found = imported(client, event, source="startup", reason="other", trigger="auto")
    assert "memoria.capture.hook" in found
    assert found & RARE == set()
    assert len([name for name in found if name.startswith("memoria.")]) <= 18
    assert SESSION in client.log()


def test_sqlite_is_imported_without_functools_and_leaves_no_stand_in(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(sqlite.__file__).parents[2])!r})\n"
        "from memoria.base import sqlite\n"
        "db = sqlite.module().connect(':memory:')\n"
        "assert db.execute('SELECT 1').fetchone() == db.execute('SELECT 1').fetchone() == (1,)\n"
        "assert 'functools' not in sys.modules\n"
        "import functools\n"
        "assert functools.partial(int)() == 0\n"
        "import sqlite3\n"
        "assert sqlite3.connect(':memory:').execute('SELECT 2').fetchone() == (2,)\n"
    )
    subprocess.run([sys.executable, "-S", "-I", "-c", program], check=True, cwd=tmp_path)
