"""Is a session found more often when what was written about it is searched beside its turns?

    uv run python tests/bench/written.py DIR [DIR ...] [--answers FOLDER]

Takes the folders of ``retrieval.py``. Of each session the offline model writes an entry with its facts, as a flush
does, and both are cut as the product cuts a daily log. Measured are the turns alone, what was written alone, and both.

With ``--answers``, a model writes instead: FOLDER is given a request for each session, ``NAME.txt``, and every
``NAME.json`` in it is the model's answer. While answers are missing, nothing is measured.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from pathlib import Path

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from bench import retrieval
from memoria.daily.entry import Entry
from memoria.daily.entry_form import render
from memoria.index import documents
from memoria.index.documents import Document
from memoria.index.index import Index
from memoria.models import answer, tasks
from memoria.models.offline import Offline
from memoria.models.protocol import Prompt
from memoria.statements import claim_check, fact, lines

NO_DATE = date(2026, 1, 1)  # of the sessions of a set that has no dates; no document is given it

Writer = Callable[[str, Prompt], retrieval.JsonObject]  # of a session's name and the request for its note


def main() -> int:
    """Print one table a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--answers", type=Path, help="a folder for requests and the answers of a model")
    args = parser.parse_args()
    for folder in args.folders:
        sessions, queries = retrieval.read(folder / "corpus.jsonl"), retrieval.read(folder / "queries.jsonl")
        if args.answers and (missing := _ask(sessions, args.answers)):
            print(f"{missing} of {len(sessions)} requests in {args.answers} have no answer yet")
            return 1
        write = _answered(args.answers) if args.answers else _offline
        said = [retrieval.document(session) for session in sessions]
        written = [document for number, session in enumerate(sessions) for document in _written(number, session, write)]
        kinds = [document.kind for document in written]
        retrieval.headline(folder)
        for name, indexed in (("said", said), ("written", written), ("both", [*said, *written])):
            with tempfile.TemporaryDirectory() as scratch, Index(Path(scratch, "index.db")) as index:
                index.add(indexed)
                retrieval.measure(name, queries, retrieval.found_by(index))
        size = sum(len(passage.text) for document in written for passage in document.passages)
        of = sum(len(passage.text) for document in said for passage in document.passages)
        print(f"written: {kinds.count('entry')} entries and {kinds.count('fact')} facts of {len(sessions)} sessions, "
              f"{size / of:.1%} of the characters")  # fmt: skip
    return 0


def _ask(sessions: Sequence[retrieval.JsonObject], folder: Path) -> int:
    """Write the request for each session's note; return how many have no answer."""
    folder.mkdir(parents=True, exist_ok=True)
    for session in sessions:
        (folder / f"{_name(session)}.txt").write_text(_request(list(_exchanges(session["turns"]))).text, "utf-8")
    return sum(not (folder / f"{_name(session)}.json").exists() for session in sessions)


def _answered(folder: Path) -> Writer:
    return lambda name, prompt: answer.read((folder / f"{name}.json").read_text("utf-8"), prompt)


def _offline(_name: str, prompt: Prompt) -> retrieval.JsonObject:
    return Offline().complete(prompt).data


def _name(session: retrieval.JsonObject) -> str:
    return re.sub(r"\W+", "-", session["session"])


def _request(exchanges: list[retrieval.JsonObject]) -> Prompt:
    return tasks.flush({"project": "", "known": [], "exchanges": exchanges, "open_items": []})


def _written(number: int, session: retrieval.JsonObject, write: Writer) -> Iterator[Document]:
    """Yield the documents of a session's entry and its facts."""
    said = retrieval.document(session)
    day = date.fromisoformat(said.date) if said.date else NO_DATE
    exchanges = list(_exchanges(session["turns"]))
    noted = write(_name(session), _request(exchanges))
    stamp = fact.Stamp(said.project, said.session, datetime.combine(day, time(12), UTC))
    facts = claim_check.check(noted["statements"], claim_check.Material.of(exchanges), stamp).facts
    if not noted["worth_saving"] and not facts:
        return
    entry = Entry(
        f"e{number:07}", day, "12:00", said.session, said.project, said.project, noted["title"], noted["context"],
        tuple(noted["key_exchanges"]), (), (), tuple(noted["action_items"]),
        tuple(map(lines.learned, facts)), (f"turn {number}",), "model",
    )  # fmt: skip
    for document in documents.of_file(f"daily/{day}.md", f"# {day}\n\n{render(entry)}"):
        yield replace(document, session=said.session, date=said.date)  # whose form the log does not take


def _exchanges(turns: Sequence[retrieval.JsonObject]) -> Iterator[retrieval.JsonObject]:
    """Yield exchanges as a model gets them; of two people, who speaks first is the user."""
    users = {"user", turns[0]["speaker"]} if turns and turns[0]["speaker"] != "assistant" else {"user"}
    texts: dict[bool, list[str]] = {True: [], False: []}
    for turn in turns:
        is_user = turn["speaker"] in users
        if is_user and texts[False]:
            yield _exchange(texts)
            texts = {True: [], False: []}
        texts[is_user].append(turn["text"])
    if any(texts.values()):
        yield _exchange(texts)


def _exchange(texts: dict[bool, list[str]]) -> retrieval.JsonObject:
    said = {"user": "\n\n".join(texts[True]), "assistant": "\n\n".join(texts[False])}
    return {**said, "tools": [], "errors": [], "notes": [], "judged": False}


if __name__ == "__main__":
    sys.exit(main())
