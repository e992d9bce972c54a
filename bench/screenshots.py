"""The pictures of the documentation: ``uv run python -m bench.screenshots [FOLDER]`` (docs/images).

Shows the showcase (``bench/showcase.toml``) in the reader and in Debian's Chromium, at a fixed moment, so that
another run gives nearly the same pictures. Needs ``uv sync --inexact --group browser`` and ``apt install chromium``.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.showcase import BUDGET, NOW, build
from memoria.ground import clock
from memoria.ground.home import Home
from real_browser import IS_THERE, MISSING, Served, chromium, served

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
THEMES = ("light", "dark")
WINDOW = {"width": 1440, "height": 960}
QUALITY, WORST_QUALITY = 82, 40
MAX_BYTES = 80_000
INHERITED = ("ANTHROPIC_", "CLAUDE", "MEMORIA_", "XDG_")
PAGES = {"home": "/", "article": "/article/concepts/departure-times", "timeline": "/timeline"}
AT_THE_MOMENT = f"""
from datetime import datetime
from memoria.ground import clock
clock.now = lambda: datetime.fromisoformat({NOW.isoformat()!r})
"""


def own_world(scratch: str) -> None:
    """Let nothing of the user's in: a home, a client's folder and settings of its own."""
    for name in [name for name in os.environ if name.startswith(INHERITED)]:
        del os.environ[name]
    os.environ |= {"HOME": f"{scratch}/user", "MEMORIA_HOME": f"{scratch}/memoria", "MEMORIA_TZ": "UTC",
                   "MEMORIA_DAILY_BUDGET_USD": str(BUDGET)}  # fmt: skip


def take(server: Served, theme: Any, folder: Path) -> None:
    """Write the pictures of one theme."""
    with chromium(color_scheme=theme, viewport=WINDOW, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(server.entrance())
        page.wait_for_url(f"{server.origin}/")
        for name, path in PAGES.items():
            page.goto(server.origin + path)
            page.mouse.move(0, 0)
            if name == "article":  # with the words behind a claim
                page.locator("li.claim a.source").nth(2).hover()
                page.wait_for_selector("#card:not([hidden]) blockquote")
            write(folder / f"{name}-{theme}.webp", picture(context, page))


def picture(context: Any, page: Any) -> bytes:
    """Return what the window shows as WebP, small enough."""
    for quality in range(QUALITY, WORST_QUALITY, -6):
        session = context.new_cdp_session(page)
        data = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})["data"]
        if len(made := base64.b64decode(data)) <= MAX_BYTES:
            return made
    raise SystemExit(f"{page.url} takes more than {MAX_BYTES:,} bytes as a picture")


def write(path: Path, made: bytes) -> None:
    """Write a picture and say so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made)
    print(f"{len(made):>7,} {path.name}", flush=True)


def main() -> None:
    """Write all pictures."""
    if not IS_THERE:
        raise SystemExit(MISSING)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    with tempfile.TemporaryDirectory(prefix="memoria-pictures-") as scratch:
        own_world(scratch)
        clock.now = lambda: NOW
        home = Home.open()
        build(home)
        with served(home, code=AT_THE_MOMENT) as server:
            for theme in THEMES:
                take(server, theme, folder)


if __name__ == "__main__":
    main()
