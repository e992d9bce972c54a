"""The reader in a real Chromium: what runs and loads, the keys, the cards, and accessibility."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from client_session import wait_until
from hostile_home import fill_hostile
from memoria.ground.home import Home
from reader_home import DAY
from real_browser import NEEDS_BROWSER, Served, chromium, served

pytestmark = [pytest.mark.slow, NEEDS_BROWSER, pytest.mark.filterwarnings("default")]

ARTICLE = "/article/concepts/checkout"


@pytest.fixture
def server(home: Home) -> Iterator[Served]:
    fill_hostile(home)
    with served(home) as running:
        yield running


def entered(server: Served, context: Any, path: str = "/") -> Any:
    """Return a page of a browser that came in by the address that ``memoria open`` prints."""
    page = context.new_page()
    page.goto(server.entrance())
    page.wait_for_url(f"{server.origin}/")
    if path != "/":
        page.goto(server.origin + path)
    return page


def test_no_text_and_no_name_runs_or_loads_anything(server: Served) -> None:
    with chromium() as context:
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        page = entered(server, context)
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        for path in paths(page, server):
            page.goto(server.origin + path)
            page.wait_for_load_state("networkidle" if path == "/search?q=alert" else "load")
            for link in page.locator("main a.source:visible").all():
                link.hover(force=True)
            for tag in ("script:not([src^='/static/'])", "iframe", "img", "image", "style", "object", "embed"):
                assert page.locator(f"body {tag}").count() == 0, (path, tag)
            assert page.evaluate("getComputedStyle(document.body).display") != "none"
        assert not dialogs
        assert {urlsplit(url).netloc for url in asked} == {urlsplit(server.origin).netloc}


def test_the_browser_keeps_the_cookie_from_scripts_and_other_sites(server: Served) -> None:
    with chromium() as context:
        page = entered(server, context)
        cookie = next(each for each in context.cookies() if each["name"] == f"memoria_{server.port}")
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert "memoria_" not in page.evaluate("document.cookie")
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text))
        page.evaluate("() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
                      " document.body.append(s); }")  # fmt: skip
        assert page.evaluate("window.ran") is None  # the policy allows no inline script
        wait_until(lambda: any("Content Security Policy" in each for each in errors), "the browser says why")


def test_the_keys_alone_lead_from_search_to_the_words_behind_a_claim(server: Served) -> None:
    with chromium() as context:
        page = entered(server, context)
        assert page.evaluate("document.activeElement.id") == "find"
        page.keyboard.type("Pay")
        page.wait_for_selector("#results a")
        page.keyboard.press("ArrowDown")
        assert "Payment provider" in page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Enter")
        page.wait_for_url("**/article/concepts/payment-provider")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('a.source')"):
                break
        page.wait_for_selector("#card:not([hidden]) blockquote")
        page.keyboard.press("Escape")
        assert page.locator("#card").is_hidden()
        page.keyboard.press("Enter")
        page.wait_for_url("**/entry/c1?**")
        assert page.locator(".turn.match").count() >= 1
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "find"


def test_no_page_is_wider_than_its_window(server: Served) -> None:
    with chromium() as context:
        page = entered(server, context, ARTICLE)
        for width in (320, 390, 820, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            for path in paths(page, server):
                page.goto(server.origin + path)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_reading_and_search_work_without_javascript(server: Served) -> None:
    with chromium(java_script_enabled=False) as context:
        page = entered(server, context)
        page.locator("#find").fill("idempotency")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?**")
        page.get_by_role("link", name="Checkout", exact=True).first.click()
        page.wait_for_url(f"**{ARTICLE}")
        page.locator("li.claim a.source").first.click()
        page.wait_for_url("**/entry/**")
        assert page.get_by_text("a second worker must come to the same key").is_visible()
        page.get_by_role("link", name="Facts").click()
        page.get_by_label("Words").fill("pnpm")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name="Use pnpm").click()
        page.wait_for_url("**/fact/**")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(server: Served, theme: Any, width: int) -> None:
    with chromium(color_scheme=theme, viewport={"width": width, "height": 900}, bypass_csp=True) as context:
        page = entered(server, context, ARTICLE)
        for path in paths(page, server):
            page.goto(server.origin + path)
            found = violations(page)
            assert not found, (path, found)


def violations(page: Any) -> str:
    """Return what axe finds wrong with a page, as JSON, ``""`` for nothing."""
    axe = importlib.import_module("axe_playwright_python.sync_playwright").Axe()  # is not installed everywhere
    found = [(it["id"], [node["html"][:160] for node in it["nodes"]]) for it in axe.run(page).response["violations"]]
    return json.dumps(found, indent=1) if found else ""


def paths(page: Any, server: Served) -> list[str]:
    """Return a path of each page."""
    page.goto(server.origin + ARTICLE)
    claim = page.locator("li.claim a.source").first.get_attribute("href")
    wrong = page.locator("a.wrong").first.get_attribute("href")
    return [
        "/", "/search", "/search?q=idempotency", "/search?q=alert", ARTICLE, "/article/concepts/hostile",
        claim, wrong, "/nope", "/facts?state=all", "/fact/l-c1001", "/fact/l-e900001",
        "/sessions", "/session/s-evil", "/session/s-evil/seen", "/receipt", "/timeline", f"/day/{DAY}",
    ]  # fmt: skip
