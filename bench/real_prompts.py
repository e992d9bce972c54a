"""Real prompts: what people typed, read from transcripts and from a corpus of sessions outside this project."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import NamedTuple

from memoria.recall import prompt_notes
from memoria.search import tokens
from memoria.transcripts.turn_reader import Reader

CLASSES = ((6, "to 6 words"), (15, "7 to 15"), (40, "16 to 40"), (sys.maxsize, "more than 40"))


class RealPrompt(NamedTuple):
    """A prompt and the repository it was typed in."""

    repository: str
    prompt: str

    @property
    def half(self) -> int:
        """The half it belongs to."""
        return md5(self.prompt.encode("utf-8", "replace"), usedforsecurity=False).digest()[-1] % 2

    @property
    def words(self) -> str:
        """The class of its number of content words."""
        count = len(tokens.query_terms(self.prompt))
        return next(name for most, name in CLASSES if count <= most)


def typed(files: dict[str, list[Path]]) -> Iterator[RealPrompt]:
    """Yield the prompts that a person typed."""
    for repository, paths in files.items():
        for path in paths:
            reading = Reader(describing=False)
            with path.open("rb") as file:
                turns = [*reading.read(file), *reading.settle()]
            texts = [turn.text for turn in turns if turn.role == "user" and turn.text]
            yield from (RealPrompt(repository, text) for text in texts if prompt_notes.is_asking(text))


def in_corpus(path: Path) -> Iterator[RealPrompt]:
    with path.open(encoding="utf-8") as file:
        for session in map(json.loads, file):
            texts = [turn["text"] for turn in session["turns"] if turn["speaker"] == "user"]
            yield from (RealPrompt(session["collection"], text) for text in texts if prompt_notes.is_asking(text))
