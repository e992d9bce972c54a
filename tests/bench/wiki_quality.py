"""Is the wiki worth keeping? ``uv run python tests/bench/wiki_quality.py [DIR] [--keep HOME]``.

Turns the transcripts below DIR (``$MEMORIA_SHARED/transcripts``, or ``../shared/transcripts``) into entries without a
model, compiles them three days at a time, once with the offline model and once with a careless scripted one that
invents numbers, sources, links and second titles, and measures what stands on the disk. The check of identifiers and
numbers here is its own, cruder one, not that of ``evidence``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from memoria.daily.day_text import DayText
from memoria.daily.entry import Entry, Learned
from memoria.daily.entry_form import render
from memoria.ground import markdown
from memoria.language.words import words
from memoria.models.extractive import cluster, summarize
from memoria.transcripts.turn import exchanges, split
from memoria.transcripts.turn_reader import Reader
from memoria.wiki.article import Article
from wiki_home import WikiHome

SHARED = Path(os.environ.get("MEMORIA_SHARED") or Path(__file__).parents[3] / "shared")
PRECISE = re.compile(r"`([^`\n]{2,60})`|\b(\w+_\w+|[a-z]+[A-Z]\w+)\b|(?<![\w.])(\d[\d.]*\d|\d)(?![\w.])")
FIRST = date(2026, 10, 1)


def entries(folder: Path) -> list[Entry]:
    found = []
    for number, path in enumerate(sorted(folder.rglob("*.jsonl"))):
        reader = Reader()
        turns = [*reader.read(path.read_bytes().splitlines(keepends=True)), *reader.settle()]
        parts = path.stem.split("__")
        project = parts[2] if len(parts) > 3 else "bench"
        for place, piece in enumerate(split(exchanges(turns), 60_000)):
            note = summarize.note({"project": project, "exchanges": [part.material() for part in piece]})
            if note["worth_saving"]:
                found.append(_entry(f"q{number}x{place}", number, project, note))
    return found


def _entry(ident: str, number: int, project: str, note: dict[str, Any]) -> Entry:
    learned = [Learned(event["kind"], event["content"], f"l-{ident}{n}") for n, event in enumerate(note["statements"])]
    lists: Any = {name: tuple(note[name]) for name in ("key_exchanges", "action_items")}
    return Entry(
        ident, FIRST + timedelta(days=number // 4), f"{9 + number % 4:02}:00", ident, project, f"{project}-1a2b3c",
        note["title"], note["context"], learned=tuple(learned), turns=(ident,), model="offline", **lists,
    )  # fmt: skip


def careless(prompt: Any) -> Any:
    """The offline answer as a model would spoil it."""
    answer = cluster.articles(prompt.material)
    for number, page in enumerate(answer["articles"]):
        sources = page["claims"][0]["sources"]
        page["claims"].append({"text": f"It took {7919 + number} ms in `invented_{number}`", "sources": sources})
        page["claims"].append({"text": "Everybody knows this", "sources": ["nowhere"]})
        page["related"].append({"slug": "no-such-page", "why": "invented"})
        if number % 3 == 2:
            page["slug"], page["title"] = f"about-{page['slug']}"[:80], f"The {page['title']}"
    return answer


def build(model: Any, logged: list[Entry]) -> WikiHome:
    wiki = WikiHome()
    days = sorted({entry.day for entry in logged})
    for start in range(0, len(days), 3):
        wiki.log(*(entry for entry in logged if entry.day in days[start : start + 3]))
        wiki.compile(model)
    return wiki


def measure(wiki: WikiHome, model: Any) -> dict[str, str]:
    before = wiki.files()
    articles = list(wiki.wiki.articles())
    said = {}
    for path in Path(wiki.home.paths.daily).glob("*.md"):
        for entry in DayText(path.read_text()).entries(date.fromisoformat(path.stem)):
            said[entry.source] = f"{path.stem} {render(entry)}".casefold().replace("\\", "").replace("`", "")
    claims = [claim for article in articles for claim in article.claims]
    links = [(article, link) for article in articles for link in article.links]
    whole = [link for _, link in links if _resolves(link, before, said)]
    precise = [
        (part, claim) for claim in claims for match in PRECISE.finditer(claim.text) for part in match.groups() if part
    ]
    held = [part for part, claim in precise if _held(part, " ".join(said.get(source, "") for source in claim.sources))]
    linked = {link.target for article, link in links if link.target != article.slug}
    wiki.compile(model, "--all")
    after = wiki.files()
    changed = sum(before.get(name) != data for name, data in after.items())
    return {
        "articles": str(len(articles)),
        "claims": str(len(claims)),
        "links that resolve": _share(len(whole), len(links)),
        "claims with a source that exists": _share(
            sum(all(s in said for s in c.sources) and bool(c.sources) for c in claims), len(claims)
        ),
        "identifiers and numbers in the source": _share(len(held), len(precise)),
        "orphans": str(sum(article.slug not in linked for article in articles)),
        "near-duplicate titles": str(_duplicates(articles)),
        "claims that stand twice": str(sum(n - 1 for n in Counter(tuple(words(c.text)) for c in claims).values())),
        "files changed by a second compile": str(changed),
    }


def _resolves(link: markdown.Link, files: dict[str, bytes], said: dict[str, str]) -> bool:
    if link.target.startswith("daily/"):
        return f"{link.target}{link.anchor}" in said or any(source.startswith(link.target) for source in said)
    return f"{link.target}.md" in files


def _held(part: str, text: str) -> bool:
    return part.casefold().replace("\\", "") in text


def _duplicates(articles: list[Article]) -> int:
    """Pairs of titles that share at least four in five words, endings aside; a project's own shelves are no pair."""
    sets = [
        (article.slug, {word.rstrip("s") for word in words(article.title)} - {"the", "a", "of"}) for article in articles
    ]
    return sum(
        len(one & other) >= 0.8 * len(one | other)
        for n, (_, one) in enumerate(sets)
        for _, other in sets[n + 1 :]
        if one and other
    )


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / whole if whole else 100:.1f} %)"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED / "transcripts")
    parser.add_argument("--keep", type=Path, help="where to leave the two homes")
    args = parser.parse_args()
    logged = entries(args.folder)
    print(f"{len(logged)} entries from {args.folder}")
    with tempfile.TemporaryDirectory(prefix="memoria-bench-") as scratch:
        for name, model in (("offline", lambda prompt: cluster.articles(prompt.material)), ("careless", careless)):
            os.environ["MEMORIA_HOME"] = str(Path(args.keep or scratch, name))
            with contextlib.redirect_stdout(io.StringIO()):
                wiki = build(model, logged)
                told = measure(wiki, model)
            print(f"\n{name}")
            for what, value in told.items():
                print(f"  {what}: {value}")


if __name__ == "__main__":
    main()
