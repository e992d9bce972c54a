"""How fast redaction is, and what it finds in real transcripts: ``uv run python -m bench.redact FOLDER``.

Prints every distinct finding for a person to judge, and the speed in processor time. What is found of the labelled
sets is held by tests/ground/test_redact.py; how the time grows with a hostile text, by growth.py.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memoria.ground.redact import Redactor


def main() -> int:
    """Read the transcripts below the folder that was given."""
    _read(sorted(Path(sys.argv[1]).glob("**/*.jsonl")))
    return 0


def _read(files: list[Path]) -> None:
    said: list[str] = []
    results: list[str] = []
    for path in files:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            _collect(line, said, results)
    for name, texts in (("said and done", said), ("tool results", results)):
        size = sum(map(len, texts)) / 1e6
        speeds = [_speed(chunks, size) for chunks in (texts, ["\n".join(texts)])]
        print(f"{name}: {size:.1f} MB in {len(texts)} texts, {speeds[0]:.0f} MB/s text by text, {speeds[1]:.0f} in one")
        for (kind, secret), (count, context) in sorted(_findings(texts).items()):
            print(f"FOUND   {kind:14} {count:3}x {secret!r} in {context!r}")


def _speed(texts: list[str], size: float) -> float:
    redactor = Redactor()
    begin = time.process_time()
    for text in texts:
        redactor.find(text)
    return size / (time.process_time() - begin)


def _findings(texts: list[str]) -> dict[tuple[str, str], tuple[int, str]]:
    found: dict[tuple[str, str], tuple[int, str]] = {}
    redactor = Redactor()
    for text in texts:
        for start, end, kind in redactor.find(text):
            key = kind, text[start:end][:60]
            count = found.get(key, (0, ""))[0]
            found[key] = count + 1, text[max(0, start - 50) : end + 20]
    return found


def _collect(line: str, said: list[str], results: list[str]) -> None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(row, dict) or row.get("type") not in ("user", "assistant"):
        return
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    for block in content if isinstance(content, list) else [content]:
        sink = results if isinstance(block, dict) and block.get("type") == "tool_result" else said
        sink.extend(_strings(block))


def _strings(value: Any) -> Iterator[str]:
    """Every string below; pictures and signatures are data that memoria does not keep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in ("data", "signature"):
                yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


if __name__ == "__main__":
    sys.exit(main())
