"""What code made of recorded material before: a test that compares all of it notices whatever changes."""

from __future__ import annotations

from collections.abc import Iterable

from places import TESTS


def same(name: str, rows: Iterable[object]) -> None:
    """Fail when the rows are not those of ``fixtures/<name>``, which is written when it is missing, for you to read."""
    path, found = TESTS / "fixtures" / name, "".join(f"{row}\n" for row in rows)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, "utf-8")
        raise AssertionError(f"{name} is new")
    assert found == path.read_text("utf-8")
