"""Measure how the time of every reader grows with its input, for text that was made to slow it down.

``uv run python -m bench.growth`` gives each reader (of transcripts, daily logs, articles, prompts, answers of a
model) texts that repeat one hostile piece, or two in turn: an opening tag, a brace, a quote, half a link. It doubles
the text until it takes long enough to measure, and prints every reader and piece for which sixteen times the text takes
more than ``MAX_RATIO`` times as long (16 times when it is linear, 256 when it is quadratic: far enough apart for a busy
machine; the steps of a regular expression cannot be counted). The time is that of the processor. Short form:
tests/test_growth.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from memoria.amending import forget_plan, proof
from memoria.base import fence, project, quickjson
from memoria.base.paths import Paths
from memoria.capture import cursor, open_sessions
from memoria.daily.day_text import DayText
from memoria.daily.entry import Reference
from memoria.exchange.memory_server import Memory
from memoria.exchange.rows import read_told
from memoria.ground import markdown, printable
from memoria.ground.redact import Redactor
from memoria.index import documents, highlight
from memoria.models import answer
from memoria.search import comparison, cues, identifiers, tokens, words
from memoria.search.reader import sentence
from memoria.statements import claim_check
from memoria.statements import lines as fact_lines
from memoria.transcripts import prompt, turn
from memoria.transcripts.client_files import objects
from memoria.transcripts.screen import Tombstones
from memoria.transcripts.turn_reader import Reader
from memoria.wiki import index_page, lines
from memoria.wiki.article import Article
from memoria.working import task_reading

FOLD, MAX_RATIO = 16, 64.0
MEASURABLE_S = 0.001
LONGEST_S = 4.0  # a text of START characters may not take longer
START, MOST = 4_000, 512_000  # characters
PIECES = (
    "<", "</", "<system-reminder>", "</system-reminder>", "<command-name>", "<command-args>", "<bash-input>",
    "<!-- ", "-->", "<x ", "{{", "{{ ", "}}", "{%", "${", "{", "[", "[[", "]]", "](", "![", "[x](", "[a]: ", "(",
    "((", "`", "``` \n", "~~~\n", "%%", "$$", "==", "\\", "\\u", "&", "&lt;", "&#", "=", "a=", "a =", ":", "::",
    "://", "http://a", "a@", "a:b@", "/", "/a", "../", "-", "--", "- ", "- [", "- [ ] ", "* ", "+ ", "1. ", "> ",
    ">", "| ", "#", "# ", "## ", "^", "^e-", " ^l-", "_", "**", "'", '"', '\\"', "“", "„", "\n", "\r", "\r\n",
    "\n\n", "\t", " ", "  ", ".", ". ", "...", ",", ", ", ";", "!", "? ", "a", "a ", "A ", "aB", "a1", "1", "1 ",
    "0x", "é", "e\u0301", "\u200b", "\u202e", "\x1b[", "\x00", "語", "語 ", "\u2028", "key=", "password ",
    "password is ", "token: ", "Bearer ", "No, ", "I prefer ", "always ", "not ", "remember ", "eyJ", "sk-",
    "-----BEGIN ", "AKIA", "@", "user: ", "Exit code 1\n", "file.py ", "a.b", "a_b", "---\n", "title: ", "title: [",
    "- a: ", "entry=", "<!-- memoria ", "<!-- learned {", "### Session (", "**Learned:**\n", "  > ",
    "[[daily/2026-11-20#^e-", "took=", "eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\n" + "A" * 20 + "\n", "cookie: a=b",
    "basic aaaaaaaa", " --password", "curl -u ", "mysql -", "login a password ", "[redacted:token]: x1", "hmac.new(",
    "mnemonic", "seed phrase abc ", "token\n  value: ", 'env("token", ', "mot de passe a ", "密码是", "aB3! as my ",
    "jdbc:a:", "xfreerdp /p:", "net use a /user:a ", "M" * 24 + ".",
)  # fmt: skip
SCHEMA: dict[str, object] = {"type": "object"}


def _json_line(text: str) -> bytes:
    return json.dumps(
        {"type": "user", "uuid": "u", "sessionId": "s", "cwd": "/x", "message": {"content": text}}
    ).encode()


def _result_line(text: str) -> bytes:
    block = {"type": "tool_result", "tool_use_id": "t", "content": text, "is_error": True}
    return json.dumps({"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": [block]}}).encode()


def _use_line(text: str) -> bytes:
    given = {"command": text, "file_path": text, "old_string": text, "new_string": text[::-1], "content": text}
    use = [
        {"type": "tool_use", "id": f"t{name}", "name": name, "input": given} for name in ("Bash", "Edit", "Write", "X")
    ]
    return json.dumps({"type": "assistant", "uuid": "u", "sessionId": "s", "message": {"content": use}}).encode()


def _turns(line: bytes) -> None:
    reader = Reader()
    list(reader.read([line + b"\n"]))
    reader.settle()


def _day(text: str) -> None:
    day = DayText(f"# Daily Log: 2026-11-20\n\n{text}\n")
    list(day.entries(date(2026, 11, 20)))
    list(day.facts())
    day.rest()
    fact_lines.read_facts(day, date(2026, 11, 20))


def _article(text: str) -> None:
    article = Article("concepts/a", f"---\ntitle: A\n---\n# A\n\n{text}\n\n## Key Points\n\n- {text}\n")
    _ = (article.claims, article.links, article.summary, article.history)
    article.render()


def _exchange(text: str) -> dict[str, object]:
    return {"user": text, "assistant": text, "tools": [], "errors": [text], "notes": []}


def _tombstones() -> Tombstones:
    stones = Tombstones(Paths("/nonexistent"))
    stones.salt = bytes(32).hex()
    stones.stones = [stones._stone(words.fold(text)) for text in ("aaaaaaaaaaaa", "password is hunter2", "((((((((")]
    return stones


REDACTOR, STONES = Redactor(), _tombstones()


READERS: dict[str, Callable[[str], object]] = {
    "prompt.typed_words": prompt.typed_words,
    "prompt.mark": prompt.mark,
    "prompt.report": prompt.report,
    "prompt.spoken_words": prompt.spoken_words,
    "prompt.queued_words": prompt.queued_words,
    "prompt.queued_forms": prompt.queued_forms,
    "turns of a prompt": lambda text: _turns(_json_line(text)),
    "turns of a result": lambda text: _turns(_result_line(text)),
    "turns of a use": lambda text: _turns(_use_line(text)),
    "turns of a raw line": lambda text: _turns(
        b'{"type":"user","message":{"content":"' + text.encode("utf-8", "replace")
    ),
    "client_files.objects": lambda text: objects(b"{" + text.encode("utf-8", "replace")),
    "cursor.folders": lambda text: cursor.folders(_json_line(text)),
    "quickjson.loads": lambda text: _quiet(quickjson.loads, "[" + text),
    "turn.one_line": turn.one_line,
    "open_sessions.without_secrets": open_sessions.drop_secrets,
    "task_reading.observe": lambda text: task_reading.observe([_json_line(text), _use_line(text), _result_line(text)]),
    "redact": REDACTOR.redact,
    "tombstones.holds": STONES.holds,
    "tombstones.without": STONES.purge,
    "words.folded": words.fold,
    "proof.holds": lambda text: proof.holds(text, ["quagga"]),
    "without_lines": lambda text: forget_plan.strike_lines(text, "quagga"),
    "day": _day,
    "article": _article,
    "article, frontmatter": lambda text: _quiet(Article, "concepts/a", f"---\n{text}\n---\n# A\n"),
    "markdown.line": markdown.line,
    "markdown.links": markdown.links,
    "markdown.code_rows": lambda text: list(markdown.code_rows(text.split("\n"))),
    "markdown.cut": lambda text: markdown.cut(text, len(text) // 2),
    "markdown.read_page": markdown.read_page,
    "markdown.unbulleted": markdown.strip_bullet,
    "markdown.load_yaml": lambda text: _quiet(markdown.load_yaml.__wrapped__, text),
    "fence.neutral": fence.defuse,
    "fence.visible": fence.strip_invisible,
    "fence.wrapped": fence.wrap,
    "printable.lines": printable.lines,
    "Reference.of": Reference.of,
    "documents.of a day": lambda text: documents.parse("daily/2026-11-20.md", text),
    "documents.of an article": lambda text: documents.article("knowledge/concepts/a.md", text),
    "highlight": lambda text: highlight.highlight(text, {"a"}),
    "tokens.of": tokens.terms,
    "tokens.of_query": tokens.query_terms,
    "reader.sentence": sentence,
    "cues.stated": cues.find_stated,
    "identifiers.find": identifiers.find,
    "cues.sentences": cues.sentences,
    "comparison.words": comparison.words,
    "words.stems": words.stems,
    "claim_check.unheard": lambda text: claim_check.find_unheard(text, text),
    "lines.is_rewording": lambda text: lines.is_rewording(text, text[::-1]),
    "lines.is_supported": lambda text: lines.is_supported(text, Article("concepts/a", f"# A\n\n- {text}\n")),
    "index_page.fingerprints": lambda text: index_page.fingerprints(f"- Took in: {text}\n<!-- memoria took={text}"),
    "rows.to_told": lambda text: read_told(Memory(1, text, tags=text)),
    "answer.read": lambda text: _quiet(answer.read, text, SCHEMA),
    "project.remote_identity": project.remote_identity,
}


def _quiet(read: Callable[..., object], *given: object) -> None:
    """Read, whatever is wrong with the text: only the time counts."""
    with suppress(Exception):
        read(*given)


@dataclass(frozen=True, slots=True)
class Growth:
    """How long a reader takes for a piece repeated to ``size`` characters, and for ``FOLD`` times as much."""

    reader: str
    pieces: str
    size: int
    seconds: float
    ratio: float

    @property
    def is_linear(self) -> bool:
        """Whether the time grows about as the text does."""
        return self.ratio <= MAX_RATIO and self.seconds < LONGEST_S


def measured(reader: str, pieces: str, most: int = MOST) -> Growth:
    """Measure one reader on one repeated text, which is not longer than ``FOLD`` times ``most`` characters."""
    read = READERS[reader]
    size = START
    took = _time(read, pieces, size)
    while took < MEASURABLE_S and size < most:
        size *= 2
        took = _time(read, pieces, size)
    if took < MEASURABLE_S or took > LONGEST_S:
        return Growth(reader, pieces, size, took, 0.0)
    ratio = _time(read, pieces, FOLD * size) / took
    if ratio > MAX_RATIO:
        ratio = min(ratio, _time(read, pieces, FOLD * size) / _time(read, pieces, size))
    return Growth(reader, pieces, size, took, ratio)


def _time(read: Callable[[str], object], pieces: str, size: int) -> float:
    text = (pieces * (size // len(pieces) + 1))[:size]
    begin = time.process_time()
    read(text)
    return time.process_time() - begin


def texts(pairs: bool) -> Iterator[str]:
    """Yield the pieces, and with ``pairs`` every two of them in turn."""
    yield from PIECES
    if pairs:
        yield from map("".join, itertools.permutations(PIECES, 2))


def found(readers: Sequence[str], pieces: Sequence[str], say: Callable[[str], None] = lambda _: None) -> list[Growth]:
    """Return every reader and text for which the time does not grow as the text does."""
    bad = []
    for reader in readers:
        began = time.monotonic()
        worst = [growth for piece in pieces if not (growth := measured(reader, piece)).is_linear]
        say(f"{reader:<32}{len(pieces)} texts, {len(worst)} not linear, {time.monotonic() - began:.0f} s")
        for growth in sorted(worst, key=lambda one: -one.seconds)[:5]:
            say(f"    {growth.pieces!r}: {growth.seconds:.3f} s for {growth.size} characters, times {growth.ratio:.1f}")
        bad += worst
    return bad


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", default=list(READERS))
    parser.add_argument("--pairs", action="store_true", help="also every two pieces in turn (takes hours)")
    args = parser.parse_args()
    bad = found(args.readers or list(READERS), list(texts(args.pairs)), lambda line: print(line, flush=True))
    print(f"{len(args.readers)} readers, {len(bad)} texts for which one is not linear")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
