"""How often is a prompt given notes that cannot be meant for it? Real prompts, asked of strangers' projects.

    uv run python tests/bench/hint_threshold.py TRANSCRIPTS [CORPUS ...] [--half 0|1] [--rows]

TRANSCRIPTS is a folder of files called NUMBER__OWNER__REPOSITORY__SESSION.jsonl. Each repository's sessions are
ingested into a home of their own, with the offline model. Then every prompt that a person typed, there or in a CORPUS
(a ``corpus.jsonl`` whose collections are OWNER/REPOSITORY), is asked of the homes of the other repositories, as the
hook asks it. Printed is the share of prompts that are given anything, by content words and by home. The prompts are
halved by a digest: the threshold was found with half 0, half 1 is for checking it. ``--rows`` prints what was given.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

sys.path.extend(str(Path(__file__).resolve().parents[1] / part) for part in (".", "support"))

from memoria.recall import prompt_notes, question
from memoria.search import reader
from real_prompts import CLASSES, RealPrompt, in_corpus, typed

FEWEST = 3  # sessions of a repository that is asked


def main() -> int:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("corpora", type=Path, nargs="*")
    parser.add_argument("--half", type=int, choices=(0, 1), default=0)
    parser.add_argument("--rows", action="store_true", help="print every prompt that was given something, with it")
    args = parser.parse_args()
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(args.transcripts.glob("*__*__*__*.jsonl")):
        files["/".join(path.name.split("__")[1:3])].append(path)
    found = [*typed(files), *(asked for corpus in args.corpora for asked in in_corpus(corpus))]
    prompts = [asked for asked in dict.fromkeys(found) if asked.half == args.half]
    total, given = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for repository, paths in files.items():
            if len(paths) < FEWEST:
                continue
            index = _ingested(Path(scratch, repository.replace("/", "__")), paths)
            for asked, notes in _answered(index, [asked for asked in prompts if asked.repository != repository]):
                for label in (asked.words, f"asked of {repository}", "all"):
                    total[label] += 1
                    given[label] += bool(notes)
                if args.rows and notes:
                    print(json.dumps({"prompt": asked.prompt[:300], "home": repository, "notes": notes}))
    for label in [name for _, name in CLASSES] + sorted(set(total) - {name for _, name in CLASSES}):
        print(f"{label:45} {given[label]:4} of {total[label]:5}  {given[label] / max(1, total[label]):6.2%}")
    return 0


def _ingested(base: Path, paths: Sequence[Path]) -> Path:
    """Return the index of a home into which the transcripts were ingested."""
    (base / "in").mkdir(parents=True)
    for path in paths:
        shutil.copy(path, base / "in")
    env = {
        "PATH": os.environ["PATH"], "HOME": str(base / "user"), "MEMORIA_HOME": str(base / "home"),
        "MEMORIA_MODEL": "offline", "MEMORIA_LEARN_MODELS": "", "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    words = [sys.executable, "-m", "memoria", "ingest", str(base / "in"), "--yes"]
    subprocess.run(words, env=env, check=False, stdout=subprocess.DEVNULL)  # exit status 1: some hold nothing
    subprocess.run([*words[:3], "search", "anything"], env=env, check=True, stdout=subprocess.DEVNULL)
    return base / "home" / ".memoria" / "index.db"


def _answered(index: Path, prompts: Iterable[RealPrompt]) -> Iterator[tuple[RealPrompt, list[str]]]:
    with reader.Finder(str(index), candidates=prompt_notes.CANDIDATES) as finder:
        for asked in prompts:
            parts = question.parts_of(asked.prompt)
            found = prompt_notes.searched(finder, parts) if parts else []
            yield asked, [f"{each.evidence:.2f} {sorted(each.words)} {each.text[:200]}" for each in found]


if __name__ == "__main__":
    sys.exit(main())
