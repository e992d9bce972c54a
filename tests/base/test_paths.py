"""A name of a file below home or state is written in ``base/paths.py`` and nowhere else."""

from __future__ import annotations

from pathlib import Path

from memoria.base.paths import Paths


def test_every_path_lies_where_home_and_state_say(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path / "home"), str(tmp_path / "state"))
    people_read = {paths.home, paths.daily, paths.knowledge}
    for path in vars(paths).values():
        assert path.startswith(paths.home if path in people_read else paths.state)
