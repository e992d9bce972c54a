"""Vectors: the meaning of a text as a direction in space; nearby directions mean similar things.

The model is a table of word pieces (WordLlama, 32,000 rows of 256 numbers, MIT licence) from a wheel; a text's vector
is the mean of its pieces' rows. It is read with numpy and ``tokenizers``; nothing is downloaded. The index stores the
vectors, so that only new texts are computed. Requires the extra ``memoria[semantic]``; use it through ``meaning``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memoria.indexing.index import Index
from memoria.search import ranking

NAME = "wordllama-l2-supercat-256"  # stored with every vector; vectors of another model are computed again
TEXT_CHARS = 4_000  # of one text; longer ones are about many things
BATCH = 200  # documents per commit; the index is locked for about a tenth of a second
CHUNK = 2_000  # documents compared at once: about 10 MB
HEADER_BYTES = 100_000_000  # maximum for a safetensors file (the format's own limit)
DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError)  # what reading a damaged file can raise
BEST = 3  # passages of a document that are shown

Nearest = tuple[float, int, dict[int, float]]  # cosine, document, and the cosine of its best passages


class Model:
    """The table and its tokenizer."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        """Open ``weights``, a safetensors file with one matrix of 16-bit floats (format: huggingface/safetensors).

        Raise one of DAMAGED when a file is damaged.
        """
        with weights.open("rb") as file:
            start = int.from_bytes(file.read(8), "little")
            if start > HEADER_BYTES:
                raise ValueError(f"{weights} is not a safetensors file")
            header = json.loads(file.read(start))
        (matrix,) = (value for name, value in header.items() if name != "__metadata__")
        rows, self.size = matrix["shape"]
        offset = 8 + start + matrix["data_offsets"][0]
        self._rows = np.memmap(weights, dtype="<f2", mode="r", offset=offset, shape=(rows, self.size))
        json.loads(tokenizer.read_bytes())  # for a truncated file the next line would raise a bare Exception
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Return one row of 256 integers per text, of which only the direction matters; zeros for a blank text."""
        embedded = np.zeros((len(texts), self.size), dtype=np.float32)
        for row, text in enumerate(texts):
            # one by one: for a batch the tokenizer starts threads, which forked processes would lack
            pieces = self._tokenizer.encode(text[:TEXT_CHARS], add_special_tokens=False).ids
            if pieces:
                embedded[row] = self._rows[np.minimum(pieces, len(self._rows) - 1)].mean(axis=0, dtype=np.float32)
        largest = np.abs(embedded).max(axis=1, keepdims=True, initial=1e-9)
        packed: NDArray[np.int8] = np.rint(embedded * (127 / largest)).astype(np.int8)
        return packed


@cache
def model(weights: Path, tokenizer: Path) -> Model:
    """Return the model in these files, read once per process."""
    return Model(weights, tokenizer)


def refresh(index: Index, model: Model) -> int:
    """Compute the vectors that the index lacks; return the number of documents."""
    done = 0
    while changed := index.keep_vectors(NAME, lambda texts: model.embed(texts).tobytes(), BATCH):
        done += changed
    return done


def nearest(stored: Callable[[str], Iterator[tuple[int, bytes]]], model: Model, query: str, most: int) -> list[Nearest]:
    """Return the documents with the passage nearest to the query, best first, and their best passages by ordinal."""
    asked = model.embed([query])[0].astype(np.float32)
    asked /= max(float(np.linalg.norm(asked)), 1.0)
    found: list[Nearest] = []
    rows = stored(NAME)
    while chunk := list(islice(rows, CHUNK)):
        found = sorted([*found, *_compared(chunk, asked, most)], key=lambda item: (-item[0], item[1]))[:most]
    return found


def _compared(chunk: Sequence[tuple[int, bytes]], asked: NDArray[np.float32], most: int) -> Iterator[Nearest]:
    """Yield the best ``most`` documents of a chunk; each has at least one vector."""
    table = np.frombuffer(b"".join(packed for _, packed in chunk), dtype=np.int8).reshape(-1, asked.size)
    table = table.astype(np.float32)
    cosines = table @ asked / np.maximum(np.linalg.norm(table, axis=1), 1.0)
    ends = np.cumsum([len(packed) // asked.size for _, packed in chunk])
    starts = np.concatenate(([0], ends[:-1]))
    best = np.maximum.reduceat(cosines, starts)
    for row in np.argsort(-best, kind="stable")[:most]:
        own = cosines[starts[row] : ends[row]]
        # the first vector is that of title and names, the others are those of the passages
        places = [int(place) for place in np.argsort(-own, kind="stable")[:BEST] if place]
        passages = {place - 1 + len(ranking.HEAD): float(own[place]) for place in places}
        yield float(best[row]), chunk[row][0], passages
