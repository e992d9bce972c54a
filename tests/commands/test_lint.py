"""Each rule finds its fault and nothing in a sound wiki."""

from __future__ import annotations

from pathlib import Path

import pytest

from home_of import DAY, article, catalogued, entry, run
from memoria.commands import doctor
from memoria.ground.home import Home
from memoria.wiki import lint_rules
from memoria.wiki.folder import Wiki
from memoria.wiki.lint_rules import Snapshot

LOCK = "Hold `worker.lock` before reading the spool, because a hook may come in between."
FREE = "The lock is released when the spool is empty."
SHIP = "Deploys run on Fridays with `make ship`, after the release notes were read."


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Home:
    """A wiki without a fault."""
    monkeypatch.setenv("MEMORIA_MODEL", "offline")
    home = Home.open()
    first, second = entry(home, "01aa", "Flush race", context=LOCK), entry(home, "01bb", "Deploy", context=SHIP)
    article(home, "concepts/worker-lock", "Worker lock", (LOCK, "01aa"), (FREE, "01bb"), related=("concepts/deploys",))
    article(home, "concepts/deploys", "Deploys", (SHIP, "01bb"), ("Nobody deploys alone.", "01bb"),
            related=("concepts/worker-lock",))  # fmt: skip
    catalogued(home, first, second)
    return home


def page(home: Home, slug: str = "concepts/worker-lock") -> Path:
    return Wiki(home.paths).folder / f"{slug}.md"


def rewrite(home: Home, old: str, new: str, slug: str = "concepts/worker-lock") -> None:
    text = page(home, slug).read_text()
    assert old in text
    page(home, slug).write_text(text.replace(old, new))


def found(home: Home) -> list[tuple[str, str]]:
    return [(finding.rule, finding.page) for finding in lint_rules.findings(Snapshot(home))]


def test_a_sound_wiki_has_no_findings(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(home) == []
    assert run(doctor, home, "--wiki") == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out


@pytest.mark.parametrize("link", ["[[concepts/gone]]", "[[deploys#No such part]]", "[[#^e-none]]"])
def test_a_link_to_nothing_is_an_error(home: Home, link: str, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(home, "Worker lock in short.", f"Worker lock in short: {link}.")
    assert found(home) == [("broken-link", "knowledge/concepts/worker-lock.md")]
    assert run(doctor, home, "--wiki") == 1
    assert "## Errors\n\n- **broken-link**" in capsys.readouterr().out


@pytest.mark.parametrize("link", [
    "[[Deploys]]", "[[shipping|so]]", "[[deploys#Key Points]]", "[[concepts/deploys.md]]", f"[[daily/{DAY}#^e-01aa]]",
    f"[[daily/{DAY}]]", "[[#Key Points]]", "`[[code]]`", "[[knowledge/concepts/deploys]]",
])  # fmt: skip
def test_names_aliases_anchors_and_code_are_understood(home: Home, link: str) -> None:
    rewrite(home, "aliases: []", "aliases: [Shipping]", "concepts/deploys")
    rewrite(home, f"created: '{DAY}'", f"created: {DAY}T09:30", "concepts/deploys")
    rewrite(home, "Worker lock in short.", f"Worker lock in short: {link}.")
    assert found(home) == []


def test_an_entry_without_its_block_id_is_an_error(home: Home) -> None:
    log = Path(home.paths.daily, f"{DAY}.md")
    log.write_text(log.read_text().replace("^e-01bb\n", ""))
    assert ("block-id", f"daily/{DAY}.md") in found(home)


def test_broken_frontmatter_is_an_error_and_none_is_not(home: Home) -> None:
    rewrite(home, "title: Worker lock", "title: [Worker lock")
    page(home, "concepts/mine").write_text("# Mine\n\nA note by hand lacks it all.\n")
    places = [place for rule, place in found(home) if rule == "frontmatter"]
    assert places == ["knowledge/concepts/worker-lock.md"]


def test_pages_out_of_place_are_named(home: Home) -> None:
    for name in ("ideas/x.md", "concepts/sub/My own.md"):
        path = Wiki(home.paths).folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(page(home).read_text().replace("Worker lock", name))
    assert [place for rule, place in found(home) if rule == "path"] == ["knowledge/ideas/x.md"]


@pytest.mark.parametrize(("rule", "slug", "old", "new"), [
    ("dead-source", "concepts/worker-lock", "#^e-01aa|20 Nov]]", "#^e-99zz]]"),
    ("missing-source", "concepts/worker-lock", "## Key Points\n", "## Key Points\n\n- Just so, everybody knows.\n"),
    ("duplicate-title", "concepts/deploys", "aliases: []", "aliases: [worker LOCK]"),
])  # fmt: skip
def test_a_source_in_no_log_or_none_and_one_name_for_two_pages_are_found(
    home: Home, rule: str, slug: str, old: str, new: str
) -> None:
    rewrite(home, old, new, slug)
    assert found(home) == [(rule, f"knowledge/{slug}.md")]
