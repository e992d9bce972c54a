from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from memoria import __version__
from memoria.base import state
from memoria.base.paths import STATE_VERSION, Paths


def mode(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_a_missing_state_is_made_for_the_user_alone(paths: Paths) -> None:
    state.open_state(paths)
    for path in Path(paths.state).rglob("*"):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert mode(paths.state) == 0o700
    assert {path.name for path in Path(paths.spool).iterdir()} == {"tmp", "new", "cur", "failed"}
    assert Path(paths.state, ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_newer_state_is_refused_with_a_clear_word(paths: Paths) -> None:
    state.open_state(paths)
    Path(paths.version).write_text(f"{STATE_VERSION + 1}\n", encoding="utf-8")
    Path(paths.written_by).write_text("9.8.7\n", encoding="utf-8")
    both = rf"newer memoria \(9\.8\.7, state {STATE_VERSION + 1}\) than this one \({re.escape(__version__)}, state 1\)"
    with pytest.raises(state.StateError, match=both + ": update memoria"):
        state.open_state(paths)
    Path(paths.written_by).unlink()
    with pytest.raises(state.StateError, match=r"newer memoria \(state .*update memoria"):
        state.open_state(paths)


@pytest.mark.parametrize("text", ["one", "-1", "0"])
def test_a_version_that_nobody_wrote_is_refused(paths: Paths, text: str) -> None:
    state.open_state(paths)
    Path(paths.version).write_text(text, encoding="utf-8")
    with pytest.raises(state.StateError, match=f"'{text}', which no memoria wrote: restore it"):
        state.open_state(paths)
