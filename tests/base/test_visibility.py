"""A session is shown its own project; what is excluded later is shown to nobody from that moment on."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from home_of import DAY, article, catalogued, entry, run
from memoria.audit import checks
from memoria.base import project
from memoria.base.settings import Settings
from memoria.base.visibility import Visibility
from memoria.capture.hook import Event
from memoria.commands import forget, search
from memoria.daily.daily_log import DailyLog
from memoria.daily.ledger import Ledger
from memoria.ground import projects
from memoria.ground.errors import PageNotFoundError
from memoria.ground.home import Home
from memoria.mcp import search as mcp_search
from memoria.mcp.calls import Session
from memoria.mcp.pages import Library
from memoria.pages import refresh
from memoria.recall.prompt_notes import user_prompt_submit
from memoria.recall.session_start import session_start
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.folder import Wiki
from reader_home import Browser

SHOP_WORDS = "The pelican importer of the shop reads invoices from the harbour"
BANK_WORDS = "The quagga ledger of the bank rounds invoices at the harbour"
PROMPT = "How do the importer and the ledger read and round invoices from the harbour?"


class World:
    """Two projects, and an article of each and of both."""

    def __init__(self, folder: Path) -> None:
        self.shop, self.bank = folder / "shop", folder / "bank"
        for path in (self.shop, self.bank):
            path.mkdir()
        home = self.home = Home.open()
        self.keys = {path: project.key_of(str(path), home.settings, home.paths) for path in (self.shop, self.bank)}
        first = entry(home, "01aa", "Pelican", context=f"{SHOP_WORDS}.", project_key=self.keys[self.shop])
        second = entry(home, "01bb", "Quagga", context=f"{BANK_WORDS}.", session="s2", project_key=self.keys[self.bank])
        pelican = article(home, "concepts/pelican", "Pelican importer", (f"{SHOP_WORDS}.", "01aa"))
        quagga = article(home, "concepts/quagga", "Quagga ledger", (f"{BANK_WORDS}.", "01bb"))
        for page, place in ((pelican, self.shop), (quagga, self.bank)):
            page.give_to(self.keys[place])
            Wiki(home.paths).path(page.slug).write_text(page.render(), encoding="utf-8")
        # A page without a project is for all: its owner has marked it so, or 0.1.0 wrote it.
        both = article(home, "concepts/all", "Invoices", ("The heron reads invoices.", "01aa"),
                       ("The ibis reads invoices.", "01bb"), ("The ibis of old read letters.", "01bb"))  # fmt: skip
        both.retire(*list(both.lines())[-1][:2], str(DAY))
        both.summarise("The heron and the ibis read invoices.")
        Wiki(home.paths).path(both.slug).write_text(both.render(), encoding="utf-8")
        catalogued(home, first, second)
        moment = datetime(2026, 11, 20, 14, 5, tzinfo=UTC)
        with Keeper.at(home) as keeper:
            for ident, text, path in (
                ("l-00000001", "Pelican invoices arrive from the harbour on Mondays.", self.shop),
                ("l-00000002", "Quagga rounding of the ledger is half to even.", self.bank),
            ):
                keeper.take([Fact("fact", text, 0.5, "user", self.keys[path], moment, ident)], path.name)
        for path, key in self.keys.items():
            projects.see_folder(home.paths, key, str(path))
        self.prepare()

    def prepare(self) -> None:
        with closing(Ledger(self.home.paths)) as ledger:
            DailyLog(self.home.paths).refresh(ledger)
        with Keeper.at(self.home) as keeper:
            refresh.renew(self.home, keeper)

    def told(self, folder: Path) -> str:
        """All that a session in ``folder`` is told: its page, notes for a prompt, search and pages over MCP."""
        settings, paths = Settings.load(), self.home.paths
        for path in Path(paths.hints).glob("*"):
            path.unlink()
        common = {"session_id": "s9", "cwd": str(folder)}
        start = Event({**common, "hook_event_name": "SessionStart", "source": "startup"})
        prompt = Event({**common, "hook_event_name": "UserPromptSubmit", "prompt": PROMPT})
        outputs = [session_start(start, settings, paths), user_prompt_submit(prompt, settings, paths)]
        own = project.key_of(str(folder), settings, paths)
        home = Home.open()
        found, _ = mcp_search.find(home, Session(home, own, "s").visible, PROMPT, 20)
        library = Library(paths, Visibility(settings, paths, own))
        pages = []
        for name in ("concepts/pelican", "concepts/quagga", "concepts/all", "index", "log", f"daily/{DAY}"):
            try:
                pages.append(library.read(name).text)
            except PageNotFoundError:
                continue
        return "\n".join([json.dumps(outputs), *(f"{each.title} {each.passages}" for each in found), *pages])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_session_is_told_of_its_own_project_and_of_no_other(world: World) -> None:
    shop, bank = world.told(world.shop), world.told(world.bank)
    assert SHOP_WORDS in shop
    assert "ibis" in shop
    assert "quagga" not in shop.casefold()
    assert BANK_WORDS in bank
    assert "pelican" not in bank.casefold()


@pytest.mark.parametrize("is_learned", [True, False])
def test_what_a_person_wrote_under_a_heading_is_of_its_project(world: World, is_learned: bool) -> None:
    log = Path(world.home.paths.daily, f"{DAY}.md")
    text = log.read_text(encoding="utf-8")
    learned = next(row for row in text.splitlines() if row.startswith("### Learned (") and row.endswith("bank"))
    noted = "Ask the auditor about the marzipan account.\n"
    written = text.replace(learned, f"{learned}\n\n{noted}")
    log.write_text(written if is_learned else f"{text}\n### Session (16:00) · bank · Audit\n\n{noted}", "utf-8")
    for path, is_shown in ((world.shop, False), (world.bank, True)):
        own = project.key_of(str(path), world.home.settings, world.home.paths)
        visible = Visibility(world.home.settings, world.home.paths, own)
        assert ("marzipan" in Library(world.home.paths, visible).read(f"daily/{DAY}").text) == is_shown
        found, _ = mcp_search.find(world.home, visible, "learned bank marzipan account", 20)
        told = "".join(f"{each.title} {each.passages}" for each in found)
        assert ("marzipan" in told) == (is_shown and is_learned)
        assert is_shown or "· bank" not in told


def test_what_is_excluded_later_is_told_nowhere_from_then_on(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world.bank / ".memoria-off").touch()
    for folder in (world.shop, tmp_path / "unknown"):
        told = world.told(folder).casefold()
        assert "quagga" not in told
        assert "ibis" not in told
        assert "heron" in told
    browser = Browser(Home.open()).enter()
    read = "".join(browser.get(path).text for path in ("/article/concepts/all", "/search?q=ibis+invoices", "/facts"))
    assert "heron" in read
    assert "ibis reads" not in read
    assert "ibis of old" not in read
    assert "the ibis" not in read
    assert SHOP_WORDS in world.told(world.shop)
    assert run(search, Home.open(), "quagga", "ledger", "bank") == 0
    assert "quagga" not in capsys.readouterr().out
    world.prepare()
    assert "quagga" not in world.told(world.shop).casefold()
    (world.bank / ".memoria-off").unlink()
    assert run(search, Home.open(), "quagga", "ledger", "bank") == 0
    assert "quagga" in capsys.readouterr().out


def test_what_remains_of_an_excluded_project_is_counted_and_can_be_forgotten(
    world: World, ledger: Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    (world.bank / ".memoria-off").touch()
    key = world.keys[world.bank]
    (found,) = checks.check_excluded(world.home)
    assert found.text.startswith(f"1 entry of the excluded project {key},")
    assert run(forget, world.home, "--project", key, "--yes") == 0
    DailyLog(world.home.paths).refresh(ledger)
    assert not list(checks.check_excluded(world.home))
    assert "nothing contains it" in capsys.readouterr().out


def test_a_project_is_hidden_only_while_all_its_folders_are_excluded(world: World, tmp_path: Path) -> None:
    key = world.keys[world.bank]
    projects.see_folder(world.home.paths, key, str(tmp_path / "worktree"))
    (world.bank / ".memoria-off").touch()
    assert Visibility(world.home.settings, world.home.paths).shows(key)
    (tmp_path / ".memoria-off").touch()
    assert not Visibility(world.home.settings, world.home.paths).shows(key)
