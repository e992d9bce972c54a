"""A request carries its material, with the ids that an answer names."""

from __future__ import annotations

import json
import re
from typing import Any

from memoria.models import tasks

NEW = {"id": "l-b20", "kind": "fact", "day": "2026-11-17", "about": "Port", "text": "The port is 9090."}
LINE = {"id": "l-a10", "day": "2026-11-16", "section": "Behaviour", "text": "The port is 8080."}
PAGE = {"slug": "port", "title": "Port", "aliases": ["listener"], "summary": "Where it listens.", "lines": [LINE]}


def test_a_request_outlines_the_answer_that_its_schema_asks_for() -> None:
    schemas = {
        "flush": tasks.FLUSH_SCHEMA, "compile": tasks.COMPILE_SCHEMA, "query": tasks.QUERY_SCHEMA,
        "widen": tasks.WIDEN_SCHEMA, "weigh": tasks.WEIGH_SCHEMA,
    }  # fmt: skip
    for task, schema in schemas.items():
        shown = set(re.findall(r'"(\w+)": ', tasks.SHAPES[task]))
        assert shown >= set(schema["properties"])
        assert shown <= set(re.findall(r'"(\w+)"', json.dumps(schema)))


def compiled(*statements: dict[str, Any], **more: Any) -> str:
    return tasks.compile_({"statements": statements or (NEW,), "articles": [], "index": [], **more}).text


def test_statements_and_lines_are_shown_with_the_ids_that_an_answer_names() -> None:
    sent = compiled(NEW, {**NEW, "id": "l-b21"}, articles=[PAGE])
    assert "# Port\nl-b20 · fact · 2026-11-17 · The port is 9090.\nl-b21 · " in sent, "one title above both"
    assert "article port · Port, listener\nsummary: Where it listens.\n" in sent
    assert "\nl-a10 · 2026-11-16 · [Behaviour] The port is 8080." in sent
