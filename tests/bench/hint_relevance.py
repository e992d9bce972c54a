"""What are people given beside their prompts? Writes real prompts and their notes to a file, for a person to judge.

    uv run python tests/bench/hint_relevance.py TRANSCRIPTS [CORPUS ...] --out FILE [--sample N] [--seed N] [--half 0|1]
        [--model NAME [--weighed]]

TRANSCRIPTS and CORPUS are those of hint_threshold.py. Each repository is one project. Its sessions are ingested with
the offline model and then asked again in the order of time, as ``memoria eval`` does: every typed prompt is given what
the memory held when its session began. A CORPUS has no times; its sessions count as a day apart, in the order of the
file, or with ``--backwards`` in the opposite order, in which every prompt sees the sessions that it did not see before.
``--model ollama:NAME`` lets a model write the notes instead, at the address in ``MEMORIA_OLLAMA_URL``, and with
``--weighed`` choose those that a prompt needs, as it does in a session.
``--half`` asks the prompts of every second session, by a digest: rules are found with half 0. N of all notes that were
shown are drawn with the seed and written as JSON lines: prompt, repository, note and the rest of what the prompt was
given. The rule by which a note is judged is in docs/experiments/threshold.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import md5
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from bench import hooks
from memoria.base.paths import Paths
from memoria.capture import background
from memoria.capture.hook import Event
from memoria.daily.ledger import Ledger
from memoria.evaluating import replay
from memoria.evaluating.asking import rows_of
from memoria.evaluating.history import History, Session, prompt_of
from memoria.ground.home import Home
from memoria.recall import prompt_notes, weighed_notes
from memoria.recall.shown_notes import ShownNotes
from memoria.transcripts.turn import Exchange
from memoria.weighing import weigher

FIRST = datetime(2026, 1, 1, tzinfo=UTC)  # of a corpus, which has no times


def main() -> int:
    """Write the sample and print how much was shown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("corpora", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--model", default="offline", help="what writes the notes (default: offline)")
    parser.add_argument("--weighed", action="store_true", help="let the model choose the notes, as in a session")
    parser.add_argument("--backwards", action="store_true", help="play a CORPUS from its end")
    parser.add_argument("--base", type=Path, help=argparse.SUPPRESS)  # the scratch folder: this is the second process
    args = parser.parse_args()
    if args.base is None:
        with tempfile.TemporaryDirectory(prefix="memoria-hints-") as scratch:
            words = [sys.executable, __file__, *sys.argv[1:], "--base", scratch]
            env = hooks.environment(Path(scratch)) | {"MEMORIA_MODEL": args.model, "MEMORIA_LEARN_MODELS": ""}
            env |= {
                name: os.environ[name]
                for name in ("MEMORIA_OLLAMA_URL", "MEMORIA_MODEL_TIMEOUT_S")
                if name in os.environ
            }
            env["PYTHONPATH"] = os.pathsep.join(sys.path)
            return subprocess.run(words, env=env, check=False).returncode
    source = args.base / "in"
    source.mkdir()
    for path in sorted(args.transcripts.glob("*__*__*__*.jsonl")):
        _place(path, args.base, source)
    for corpus in args.corpora:
        _unfold(corpus, args.base, source, is_backwards=args.backwards)
    _ingest(source)
    _write_sample(list(shown(source, args.half, is_weighed=args.weighed)), args)
    return 0


def _place(path: Path, base: Path, source: Path) -> None:
    """Copy a transcript, all of whose lines were written in the repository's folder."""
    folder = _folder(base, "/".join(path.name.split("__")[1:3]))
    with path.open("rb") as lines, (source / path.name).open("wb") as copy:
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and "cwd" in value:
                value["cwd"] = folder
            copy.write(json.dumps(value).encode() + b"\n")


def _unfold(corpus: Path, base: Path, source: Path, *, is_backwards: bool) -> None:
    """Write each session of a corpus as a transcript."""
    with corpus.open(encoding="utf-8") as lines:
        sessions = [json.loads(line) for line in lines]
    for day, session in enumerate(reversed(sessions) if is_backwards else sessions):
        ident = session["session"].rpartition("|")[2]
        if any(source.glob(f"*{ident}*")):  # among the transcripts too
            continue
        folder = _folder(base, session["collection"])
        turns = _lines(session["turns"], ident, folder, FIRST + timedelta(days=day))
        (source / f"{ident}.jsonl").write_text("\n".join(map(json.dumps, turns)), "utf-8")


def _lines(turns: list[dict[str, str]], ident: str, folder: str, began: datetime) -> Iterator[dict[str, Any]]:
    before = None
    for number, turn in enumerate(turns):
        name, moment = f"{ident}-{number}", began + timedelta(seconds=number)
        line = {"type": turn["speaker"], "uuid": name, "parentUuid": before, "sessionId": ident, "cwd": folder}
        content: object = turn["text"]
        if turn["speaker"] == "assistant":
            content = [{"type": "text", "text": turn["text"]}]
        yield line | {
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
            "message": {"role": turn["speaker"], "content": content, "id": name},
        }
        before = name


def _folder(base: Path, repository: str) -> str:
    folder = base / "projects" / repository.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _half(session: str) -> int:
    return md5(session.encode(), usedforsecurity=False).digest()[-1] % 2


def _ingest(source: Path) -> None:
    words = [sys.executable, "-m", "memoria", "ingest", str(source), "--yes"]
    subprocess.run(words, check=False, stdout=subprocess.DEVNULL)  # exit status 1: some hold nothing


def shown(source: Path, half: int | None, *, is_weighed: bool = False) -> Iterator[tuple[str, str, str]]:
    """Yield project, prompt and notes of every prompt that was typed, the oldest session first."""
    home = Home.open()
    with closing(Ledger.of(home.paths)) as ledger, replay.opened(home) as past:
        history = History(home, ledger, source)
        for candidate in history.candidates():
            session = history.read(candidate)
            if session is None or half not in (None, _half(session.ident)):
                continue
            past.move(session.began, session.project)
            for exchange in session.exchanges:
                prompt = prompt_of(exchange)
                if is_weighed and candidate.path:
                    told = _weighed(past, home, session, _before(candidate.path, exchange, past.paths), prompt)
                else:
                    told = past.notes(session.ident, session.cwd, prompt, 1.0)
                yield Path(session.cwd).name, prompt, told


def _before(transcript: Path, exchange: Exchange, paths: Paths) -> str:
    """Return a copy of what a transcript held when a prompt was entered."""
    copy = Path(paths.state, "before.jsonl")
    with transcript.open("rb") as lines, copy.open("wb") as kept:
        for line in lines:
            time = json.loads(line).get("timestamp") or ""
            if exchange.time and time and datetime.fromisoformat(time) >= exchange.time:
                break
            kept.write(line)
    return str(copy)


def _weighed(past: replay.Replay, home: Home, session: Session, transcript: str, prompt: str) -> str:
    """Return what a prompt is given when a model chooses; a question that is answered at once is given that."""
    handed: list[bytes] = []
    background.go_on_as = lambda _command, _paths, given: handed.append(given)  # type: ignore[assignment]
    os.environ[weighed_notes.CLIENT] = "bench"
    past.settings.weigh_notes = True
    told = {"hook_event_name": "UserPromptSubmit", "session_id": session.ident, "cwd": session.cwd, "prompt": prompt}
    event = Event({**told, "transcript_path": transcript, "permission_mode": "default"})
    answer = prompt_notes.user_prompt_submit(event, past.settings, past.paths)
    if not event.after:
        return str((answer or {}).get("hookSpecificOutput", {}).get("additionalContext", ""))  # type: ignore[attr-defined]
    event.after()
    keys, text = weigher.weighed(replace(home, paths=past.paths), weigher.Request.read(handed[0].decode()))
    ShownNotes(past.paths.hints, session.ident).add(keys)
    return text


def _write_sample(shown: list[tuple[str, str, str]], args: argparse.Namespace) -> None:
    notes = [(name, prompt, row, rows) for name, prompt, told in shown for rows in [rows_of(told)] for row in rows]
    drawn = random.Random(args.seed).sample(notes, min(args.sample, len(notes)))
    with args.out.open("w", encoding="utf-8") as file:
        for name, prompt, row, rows in drawn:
            value = {"project": name, "prompt": prompt, "note": row, "beside": [one for one in rows if one != row]}
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
    given = Counter(name for name, _, told in shown if told)
    asked = Counter(name for name, _, _ in shown)
    for name, count in asked.items():
        print(f"{name:35} {given[name]:4} of {count:5} prompts were given notes")
    print(f"{given.total()} of {asked.total()} prompts, {len(notes)} notes; {len(drawn)} drawn with seed {args.seed}")


if __name__ == "__main__":
    sys.exit(main())
