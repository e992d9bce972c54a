"""What names and texts can do on any page, in its pictures as well: nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hostile_home import IDENT, KEY, fill_hostile
from memoria.ground.home import Home
from memoria.reader.server import ACTIONS, PAGES
from reader_home import HOST, Browser, links

TAGS = re.compile(
    "html|head|meta|title|link|script|body|a|header|svg|path|g|circle|rect|line|text|span|nav|form|label|input|kbd|"
    "button|main|div|footer|p|section|article|aside|h1|h2|h3|ul|ol|li|dl|dt|dd|table|caption|thead|tbody|tr|th|td|"
    "strong|em|s|code|pre|blockquote|details|summary|select|option|textarea|time|mark|figure|figcaption|small|hr|br"
)
LEADING = re.compile(r"(?:/(?!/)|#|\?|https://|mailto:|$)")
LISTS = [
    "/", "/search?q=alert", "/facts?state=all", "/sessions", "/session/s-evil", "/session/s-evil/seen",
    "/receipt", "/timeline", f"/?project={KEY}", f"/source/{IDENT}",
]  # fmt: skip
ELSEWHERE = {"sec-fetch-site": "cross-site", "origin": f"http://{HOST}", "content-length": "0"}
RUNNING = ("style", "srcdoc", "formaction", "srcset")  # attributes that run or load something, beside events


class Checked(HTMLParser):
    """A page of which nothing may run or load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check an element and its attributes."""
        given = {name: value or "" for name, value in attrs}
        faults = [name for name in given if name.startswith("on") or name in RUNNING]
        faults += [given[name] for name in ("href", "action") if not LEADING.match(given.get(name, ""))]
        if not TAGS.fullmatch(tag) or faults:
            self.faults.append(f"<{tag}> {faults}")
        if given.get("src", "/static/")[:8] != "/static/":
            self.faults.append(f"<{tag} src={given['src']}>")
        self._in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        """Check that no script is written in the page."""
        if self._in_script and data.strip():
            self.faults.append(data[:80])

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._in_script = False


@pytest.fixture
def browser(home: Home) -> Browser:
    fill_hostile(home)
    return Browser(home).enter()


@pytest.mark.slow
def test_no_name_and_no_text_is_more_than_text_on_any_page(browser: Browser) -> None:
    seen, ahead, said = set[str](), list(LISTS), 0
    while ahead:
        path = urlsplit(ahead.pop().replace("&amp;", "&").replace("&#34;", '"').replace("&#39;", "'"))
        if path.netloc or not path.path.startswith("/") or (target := path._replace(fragment="").geturl()) in seen:
            continue
        seen.add(target)
        answer = browser.get(target)
        assert answer.status in (200, 404), target
        if "html" in answer.headers["content-type"]:
            assert not Checked(answer.text).faults, target
            said += "&lt;script&gt;alert(1)" in answer.text
            ahead += links(answer.text)
    shown = {path.strip("/").partition("/")[0] for path in PAGES}
    assert shown == {path.strip("/").partition("/")[0].partition("?")[0] for path in seen if "static" not in path}
    assert said >= 20


def test_asking_for_a_page_or_for_an_action_changes_nothing(browser: Browser) -> None:
    def state() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path(browser.home.paths.home).rglob("*.md")}

    before = state()
    for path in (path.replace("{ident}", "l-e900001") for path in ACTIONS):
        for method in ("GET", "HEAD"):
            answer = browser.ask(method, f"{path}?token={browser.token()}&text=x&slug=concepts/checkout")
            assert answer.status in (404, 405)
    for page in LISTS:
        browser.get(f"{page}{'&' if '?' in page else '?'}token={browser.token()}&text=gone&delete=1")
    assert state() == before


def test_every_form_needs_its_token_our_origin_and_a_session(browser: Browser) -> None:
    fact = browser.get("/fact/l-e900001").text
    other = Browser(browser.home).enter()
    for path in (path.replace("{ident}", "l-e900001") for path in ACTIONS):
        assert browser.post(path, token="").status == 403, path
        assert browser.post(path, token=other.token()).status == 403, path
        assert browser.post(path, origin="https://evil.example").status == 403, path
        assert browser.ask("POST", path, b"", **ELSEWHERE).status == 403, path
        assert Browser(browser.home).post(path).status == 403, path
    assert browser.get("/fact/l-e900001").text == fact
