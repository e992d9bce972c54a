"""An update in the middle of a session, with the real client: what is said before, meanwhile and after is kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from client_session import Session, wait_until
from installed import IDENTITY, environment_of, packages
from messages_api import MessagesApi
from plugin_person import Person

pytestmark = pytest.mark.slow

SAID = (
    "Always write dates as 2026-11-22.",
    "Never push to main without a review.",
    "From now on deploy on Tuesdays only.",
)


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    with MessagesApi(lambda _: "Understood.") as api:
        yield Person(tmp_path, api)


def release(person: Person, version: str) -> None:
    """Publish a version with other packages in the repository that the marketplace was added from."""
    folder = person.base / "release"
    subprocess.run(["git", "clone", "-q", str(person.base / "memoria.git"), str(folder)], check=True)
    for name in (".claude-plugin/plugin.json", "plugin/.claude-plugin/plugin.json"):
        manifest = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps(manifest | {"version": version}))
    with (folder / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write("# another environment\n")
    for words in (["commit", "-q", "-am", version], ["push", "-q"]):
        subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True)


def test_a_plugin_that_is_updated_in_the_middle_of_a_session_loses_nothing(person: Person) -> None:
    person.has_packages()
    person.from_git()
    cache = Path(person.env["CLAUDE_CONFIG_DIR"]) / "plugins" / "cache" / "memoria" / "memoria"
    (before,) = cache.iterdir()
    with Session(person.env, person.project) as session:
        session.ask(SAID[0])
        session.settle()
        release(person, "9.9.9")
        person.claude("plugin", "marketplace", "update", "memoria")
        person.claude("plugin", "update", "memoria@memoria")
        assert {path.name for path in cache.iterdir()} == {before.name, "9.9.9"}
        packages(environment_of(person.home, cache / "9.9.9"))
        session.ask(SAID[1])
        session.settle()
        assert session.end() == 0
    assert session.failed_hooks == []
    with Session(person.env, person.project) as after:
        after.ask(SAID[2])
        after.settle()
        assert after.end() == 0
    assert after.failed_hooks == []
    daily = person.home / "memoria" / "daily"

    def kept() -> bool:
        text = "".join(path.read_text("utf-8") for path in daily.glob("*.md"))
        return all(text.count(f"] {said} ^l-") == 1 for said in SAID)

    wait_until(kept, f"all three are in the daily log, below {daily}", timeout=90)
