"""Requests that were answered by hand, with the slips of a small model: they still ask the same, and all is taken."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from memoria.capture.spool import Spool
from memoria.commands import compile as compiling
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import OpenItems
from memoria.facts.keeper import Keeper
from memoria.flushing import worker
from memoria.models.protocol import Prompt
from memoria.models.scripted import Scripted
from wiki_home import WikiHome

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "fixtures" / "answered"
SESSIONS = sorted(FOLDER.glob("*.jsonl"))
_FENCE = re.compile(r"^<([a-z ]+)-[0-9a-f]{6}>\n(.*?)\n</\1-[0-9a-f]{6}>$", re.MULTILINE | re.DOTALL)
_SOURCE = re.compile(r"daily/[\d-]+#\^e-")
_TOOL = re.compile(r"(?:\[\d+\] )?(?:tool|error|note): |  File |OSError: ")


def fences(text: str) -> dict[str, set[str]]:
    """Return the rows of each fence of a request by its label, without those of tools and the days of sources."""
    return {
        label: {_SOURCE.sub("", row) for row in rows.splitlines() if not _TOOL.match(row)}
        for label, rows in _FENCE.findall(text)
    }


@dataclass
class Played:
    """A home in which the sessions were played with the recorded answers, and what was asked."""

    wiki: WikiHome = field(default_factory=WikiHome)
    asked: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def play(self) -> None:
        for number, path in enumerate(SESSIONS, 1):
            data = path.read_bytes()
            first = json.loads(data.splitlines()[0])
            header = {"transcript": str(path), "start": 0, "copied_from": 0, "end": len(data), "cwd": first["cwd"]}
            spool = Spool(self.wiki.home.paths.spool)
            spool.add({**header, "event": "SessionEnd", "session": path.stem}, data)

            def answer(prompt: Prompt, number: int = number) -> str:
                name = f"{number}-{prompt.task}"
                assert name not in self.asked, f"{name} was asked twice"
                self.asked[name] = prompt.text
                return (FOLDER / f"{name}.answer.txt").read_text(encoding="utf-8")

            with patch("memoria.models.chain.from_settings", lambda *_: Scripted(answer)):
                worker.work(self.wiki.home, insist=True)
                assert self.wiki.run(compiling) == 0
        with closing(Ledger.of(self.wiki.home.paths)) as ledger:
            self.refused = [text for _, _, _, text in ledger.notes("refused")]

    def claims(self, slug: str) -> list[tuple[str, str]]:
        article = self.wiki.wiki.get(f"concepts/{slug}")
        assert article
        return [(heading, claim.text) for heading, claim in article.headed_claims]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    monkeypatch.delenv("MEMORIA_THIN_CLAIMS")  # as for a user
    settings = {
        "TZ": "UTC",
        "CONSOLIDATE": "false",
        "PYTHON": "/bin/true",
        "TRANSCRIPT_WAIT_S": "0",
        "MODEL": "offline",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"MEMORIA_{name}", value)
    found = Played()
    found.play()
    return found


def test_requests_still_carry_what_they_carried(played: Played) -> None:
    recorded = sorted(FOLDER.glob("*.request.txt"))
    assert sorted(played.asked) == sorted(path.name.removesuffix(".request.txt") for path in recorded)
    for path in recorded:
        now = fences(played.asked[path.name.removesuffix(".request.txt")])
        assert now == fences(path.read_text(encoding="utf-8")), path.name


def test_answers_with_slips_are_taken_as_they_were_meant(played: Played) -> None:
    assert played.claims("thumbnails") == [
        ("Behaviour", "Cut-off photos are no problem for `pyvips`."),
        ("Behaviour", "Thumbnails are 480 px wide instead of 320 px, because 320 px looks blurred on phones with dense "
                      "screens."),
        ("Decisions", "Thumbnails are made by `pyvips` instead of Pillow, because it is much faster (about 3 s instead "
                      "of 12 s); it uses its own threads, so there is no pool of workers."),
        ("Gotchas", "`OSError: cannot load library 'libvips.so.42'` means that the library is missing; `apt-get "
                    "install libvips42` installs it."),
    ]  # fmt: skip
    assert [heading for heading, _ in played.claims("gallery-build")] == ["Behaviour"] * 2 + ["Decisions"] * 2
    assert (
        played.claims("lantern-preferences-and-conventions")[0][1]
        == "Build with `make build`; `just` is no longer used."
    )


def test_summaries_of_the_answers_tell_the_present(played: Played) -> None:
    summaries = {article.name: article.summary for article in played.wiki.wiki.articles()}
    assert summaries == {
        "thumbnails": "Thumbnails of the gallery are 480 px wide and made by `pyvips`.",
        "gallery-build": "The gallery is built with `make build` in about 3 s.",
        "lantern-preferences-and-conventions": "Build with `make build`; do not commit before the user has looked at "
                                               "the change.",
        "lantern": "All that is known of lantern has articles of its own.",
    }  # fmt: skip


def test_only_what_no_entry_says_and_a_to_do_are_refused(played: Played) -> None:
    assert [reason.split("“")[1].split("”")[0] for reason in sorted(played.refused)] == [
        "Ask Noor to upload `harbour-0412.jpg` again.",
        "The pool has 8 workers on the build server.",
    ]


def test_facts_of_the_answers_are_kept_or_ended_and_invented_ones_dropped(played: Played) -> None:
    with closing(Keeper.at(played.wiki.home).store.db), Keeper.at(played.wiki.home) as keeper:
        facts = {fact.content.split(";")[0]: fact.ended for fact in keeper.store.facts(live=False)}
    assert [content for content, ended in facts.items() if ended is None] == [
        "Thumbnails are made by `pyvips`, not by Pillow, because it is much faster.",
        "`pyvips` needs `libvips42` on the build machine (`apt-get install libvips42`).",
        "Thumbnails are 480 px wide, because 320 px looks blurred on phones with dense screens.",
        "Build with `make build`",
        "Keep `public/manifest.json`: the mobile app of the harbour museum loads it every night.",
        "Do not commit before the user has looked at the change.",
    ]
    assert len([content for content, ended in facts.items() if ended]) == 2


def test_items_of_the_answers_open_and_close(played: Played) -> None:
    paths = played.wiki.home.paths
    with closing(Ledger.of(paths)) as ledger:
        items = OpenItems(DailyLog.of(paths), ledger)
        items.refresh()
        (project,) = {entry.project for entry in ledger.entries()}
        assert [item.text for item in items.of(project)] == [
            "Commit the change from `just` to `make`; waits for the user's look at it."
        ]
