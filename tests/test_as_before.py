"""What plain functions make of texts is what they made of them before."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from as_before import bent, digest, same
from memoria.daily import open_items
from memoria.exchange import record, team
from memoria.ground import files, markdown, printable
from memoria.index import documents, highlight
from memoria.recall import error_notes, notes, prompt_notes
from memoria.search import tokens
from memoria.statements import fact
from memoria.transcripts import turn
from memoria.wiki import folder, index_page, lines
from memoria.wiki.article import heading_of
from memoria.wiki.article_cache import Row
from places import TESTS

OF_ONE = (
    folder.slugify, folder.is_name, folder.unquote, open_items.ident, files.short_id, record.digest_of, fact.make_plain,
    notes.words, error_notes.telling, prompt_notes.is_asking, prompt_notes.has_words, lines.fold, fact.clamp,
    turn.one_line, printable.line, record.nameless_id, markdown.line, lambda text: printable.amount(len(text), text),
    lambda text: fact.words(text.replace(" ", ","), 8), lambda text: fact.phrases((text * 3).split("a")),
    lambda text: notes.line(text, 40), lambda text: markdown.cut(text, 30), lambda text: team.path_of("x", text),
    lambda text: highlight.excerpt(f"{'so ' * 20}{text} " * 9, tokens.terms(text)[-1:]),
    lambda text: record.seal([text], None)[0],
    lambda text: heading_of(text * 3), lambda text: index_page._line(Row("a", text, text * 9, "2026-11-20")),
    lambda text: [part.text for part in documents.cut(f"{text}\n" * 40, "")],
)  # fmt: skip
OF_TWO: tuple[Callable[[str, str], bool], ...] = (
    open_items.is_same, lines.is_same_text, lines.is_rewording, lambda one, two: error_notes.helps(one, [two]),
)  # fmt: skip


@pytest.mark.slow
def test_what_texts_become_is_as_before() -> None:
    told = [json.loads((TESTS / "fixtures" / f"{name}.json").read_text("utf-8")) for name in ("ended", "tool_uses")]
    words = [word for each in told for text in each["texts"] for word in text.split(" ")]
    words += ["1.", "- [x]", "`a b`", "ü-ß", "訓練", "🧪", "x" * 70, "\n", "not", "[fact]", "/a/b.py:3:", "Error:", "("]
    draw, pairs = random.Random(26), list[tuple[str, str]]()
    for _ in range(60):
        drawn = draw.choices(words, k=draw.randint(1, 14))
        pairs += [(" ".join(drawn), " ".join(other)) for other in bent(drawn, 4)]
    texts = [text for pair in pairs for text in pair]
    rows = [f"{number} {digest(map(single, texts))}" for number, single in enumerate(OF_ONE)]
    rows += [f"{number} {''.join('01'[double(*pair)] for pair in pairs)}" for number, double in enumerate(OF_TWO)]
    same("read/texts.txt", rows)
