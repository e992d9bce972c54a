"""A message names a command that works where its reader stands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memoria.base import interpreter, invocation
from memoria.base import paths as places


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone, and no ``memoria`` on the PATH."""
    root = tmp_path / "user" / "src" / "memoria"
    root.mkdir(parents=True)
    monkeypatch.setattr(places, "ROOT", str(root))
    monkeypatch.setenv("PATH", str(tmp_path))
    return root


@pytest.mark.skipif(sys.platform != "linux", reason="where the folder of data is on Linux")
def test_what_memoria_installs_lies_in_the_platforms_data_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert interpreter.data_folder() == str(Path("~/.local/share/memoria").expanduser())
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    assert interpreter.data_folder() == str(root / "data" / "memoria")


def test_in_a_session_with_the_plugin_it_is_on_the_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(invocation.UV_RUN, "1")
    assert invocation.program() == "~/src/memoria/bin/memoria"  # in a terminal
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/somewhere")
    assert invocation.program() == "memoria"
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.setenv("MEMORIA_DETACHED", "1")  # the worker, whose notices a session shows
    assert invocation.program() == "memoria"
    assert "plugin update" in invocation.update()
    (root / "pyproject.toml").touch()
    assert (invocation.program(), invocation.update()) == ("uv run memoria", f"`git pull` in {root}")


def test_a_tool_that_is_not_on_the_path_is_named_by_its_place_and_uvx_by_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = root / "tools" / "claude-memoria" / "lib" / "python3.12" / "site-packages" / "memoria"
    python = Path(interpreter.python_of(str(package.parents[3])))
    for folder in (package, python.parent):
        folder.mkdir(parents=True)
    python.touch(mode=0o755)
    assert interpreter.find_of_wheel(str(package)) == sys.executable, "a package outside of any environment"
    (python.parents[1] / "pyvenv.cfg").touch()
    monkeypatch.setattr(places, "ROOT", str(package))
    monkeypatch.setattr(places, "PACKAGE", str(package))
    assert invocation.program() == "~/src/memoria/tools/claude-memoria/bin/memoria"
    (root / "tools" / "claude-memoria" / "CACHEDIR.TAG").touch()  # uv marks the environments of its tools, too
    assert invocation.program() == "~/src/memoria/tools/claude-memoria/bin/memoria"
    (root / "tools" / "CACHEDIR.TAG").touch()
    assert invocation.program() == "uvx --from claude-memoria memoria"
