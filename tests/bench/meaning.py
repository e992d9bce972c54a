"""Is a note found by a question that shares no word with it? With and without the extra ``memoria[semantic]``.

    uv run python tests/bench/meaning.py [DIR ...]

60 notes and questions of our own (paraphrases.txt), each note a document. The notes are searched alone, and among the
sessions of each DIR (folders of the form that retrieval.py takes), once with each session one document and once with
each of its turns one. Prints any@5, any@10 and any@20 over the questions, and what the vectors cost.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from bench import retrieval
from memoria.indexing import meaning
from memoria.indexing.documents import Document, Passage
from memoria.indexing.index import Index
from memoria.search.hit import Hit

PAIRS = Path(__file__).with_name("paraphrases.txt")


def main() -> int:
    """Print a table for each collection."""
    if not meaning.files():
        print("the extra memoria[semantic] is not installed: only the words are measured")
    _measure("the notes alone", [])
    for folder in map(Path, sys.argv[1:]):
        sessions = [retrieval.document(session) for session in retrieval.read(folder / "corpus.jsonl")]
        _measure(f"among {len(sessions)} sessions of {folder.name}", sessions)
        turns = list(_turns(sessions))
        _measure(f"among {len(turns)} turns of {folder.name}", turns)
    return 0


def pairs() -> list[tuple[str, str]]:
    """Each note with its question."""
    rows = PAIRS.read_text(encoding="utf-8").splitlines()
    return [(note, question) for row in rows if not row.startswith("#") for note, _, question in [row.partition("\t")]]


def _turns(sessions: Sequence[Document]) -> Iterator[Document]:
    for session in sessions:
        for number, passage in enumerate(session.passages):
            yield Document(path=f"{session.path}/{number}", kind="fact", passages=(passage,))


def _measure(name: str, others: Sequence[Document]) -> None:
    asked = pairs()
    notes = [Document(path=f"note/{n}", kind="fact", passages=(Passage(note),)) for n, (note, _) in enumerate(asked)]
    print(f"{name}: {len(asked)} questions")
    with tempfile.TemporaryDirectory() as scratch, Index(Path(scratch, "index.db")) as index:
        index.add([*notes, *others])
        _row("words", asked, lambda question: index.search(question, limit=20))
        if meaning.files():
            start = time.process_time()
            meaning.search(index, "every document's vectors are worked out now")
            took = 1000 * (time.process_time() - start)
            passages = sum(len(document.passages) for document in others) + len(notes)
            _row("+ semantic", asked, lambda question: meaning.search(index, question, limit=20))
            print(f"  {took / passages:.2f} ms a passage once, {passages} passages")


def _row(name: str, asked: Sequence[tuple[str, str]], search: Callable[[str], list[Hit]]) -> None:
    start = time.process_time()
    found = [[hit.path for hit in search(question)] for _, question in asked]
    took = 1000 * (time.process_time() - start) / len(asked)
    shares = [sum(f"note/{n}" in paths[:k] for n, paths in enumerate(found)) / len(asked) for k in (5, 10, 20)]
    print(
        f"  {name:10} any@5 {shares[0]:.3f}  any@10 {shares[1]:.3f}  any@20 {shares[2]:.3f}  {took:.1f} ms a question"
    )


if __name__ == "__main__":
    sys.exit(main())
