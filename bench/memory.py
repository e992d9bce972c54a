"""Peak memory on a large transcript: `uv run python -m bench.memory [MEGABYTES]` (1000 by default).

Writes a transcript of that size into a scratch folder (lines as the client writes them, every turn with its own uuid, a
share of tool output as in real files), then runs each command in a process of its own and prints its peak resident
memory and time: `verify`, `ingest --dry-run`, and the worker on a job that names the whole file.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

COMMANDS = {
    "verify": ["verify", "--all"],
    "ingest --dry-run": ["ingest", "--dry-run"],
    "verify --repair": ["verify", "--repair"],
    "worker": ["flush"],
}


def write(path: Path, size: int) -> None:
    """An exchange is a prompt, an answer with a tool use, and 30 KB of the tool's output."""
    base = {"sessionId": path.stem, "cwd": "/tmp", "timestamp": "2026-11-20T10:00:00Z", "version": "2.1.329"}
    output = "0123456789 some output of a tool\n" * 900
    with path.open("w") as file:
        while file.tell() < size:
            result = [{"tool_use_id": "t", "type": "tool_result", "content": output}]
            said = [{"type": "text", "text": "I looked and it is fine."}]
            use = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make test"}}]
            for kind, content in (("user", "Look again, please."), ("assistant", said), ("assistant", use),
                                  ("user", result)):  # fmt: skip
                message = {"role": kind, "content": content}
                line = {**base, "type": kind, "message": message, "uuid": str(uuid.uuid4())}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    os.utime(path, (time.time() - 3600, time.time() - 3600))


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "claude", "projects", "-big", "big.jsonl")
        path.parent.mkdir(parents=True)
        write(path, megabytes * 1_000_000)
        environment = {
            "PATH": os.environ["PATH"], "HOME": scratch, "CLAUDE_CONFIG_DIR": str(Path(scratch, "claude")),
            "MEMORIA_HOME": str(Path(scratch, "home")), "MEMORIA_MODEL": "offline", "MEMORIA_PYTHON": "/bin/true",
        }  # fmt: skip
        Path(scratch, "home", ".memoria").mkdir(parents=True)
        Path(scratch, "home", ".memoria", "since").write_text("0")
        for name, words in COMMANDS.items():
            measure(name, words, environment)


def measure(name: str, words: list[str], environment: dict[str, str]) -> None:
    """Run one command below a parent that does nothing else, so that the peak of children is its own."""
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        run = subprocess.run([sys.executable, "-m", "memoria", *words], env=environment, stdout=subprocess.DEVNULL,
                             check=False)  # fmt: skip
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{name:<18} {peak:6.0f} MB peak   {time.perf_counter() - started:6.1f} s   status {run.returncode}")
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
