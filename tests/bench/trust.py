"""Measure what memoria can be trusted with: ``uv run python tests/bench/trust.py [part ...]``; without a part, all.

``leaves``: requests for each model call and connections to other hosts (1 and 0), tokens booked against tokens that
the service counted, and which variables of a project's settings changed something (none). With the real client and
scripted services on loopback. ``races``: how many saves of a person were lost while memoria wrote the same file (none),
in the ways of four kinds of editor, on this disk and on a slow one. ``forget``: what is left of 100 texts in 12 forms,
in sessions that go on and that have ended (nothing). ``exclude``: leaks and losses in 200 orders of entering and
leaving an excluded folder (none). Each part is a function in ``PARTS`` that prints its figures and returns whether they
are as promised.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from bench import races  # noqa: E402 (found through the line above)
from installed import fingerprint  # noqa: E402
from logging_proxy import LoggingProxy  # noqa: E402
from memoria.daily.ledger import Ledger  # noqa: E402
from memoria.ground.home import Home  # noqa: E402
from memoria.models import tasks  # noqa: E402
from memoria.models.metered import Metered  # noqa: E402
from messages_api import MessagesApi  # noqa: E402
from person import Person, answer, booked, of_memoria  # noqa: E402
from real_client import DUMMY_KEY, users_env  # noqa: E402
from trust_text import exclude, forget  # noqa: E402

CALLS = 5
AT_ONCE = 4  # sessions, which mostly wait


def leaves() -> bool:
    """Count what leaves the machine for a call, and what a project's settings change."""
    return all([_requests(), _environments()])


def _requests() -> bool:
    with tempfile.TemporaryDirectory() as folder, MessagesApi(answer) as api, LoggingProxy() as proxy:
        env = users_env(Path(folder, "user"), api.url, proxy.url, MEMORIA_HOME=str(Path(folder, "memoria")))
        with patch.dict(os.environ, env, clear=True):
            home = Home.open()
            ledger = Ledger.of(home.paths)
            model = Metered.of(home, ledger)
            for number in range(CALLS):
                exchange = {"user": f"Fix race {number}.", "assistant": "Fixed."}
                model.complete(tasks.flush({"project": "shop", "exchanges": [exchange]}))
            tokens = sum(call.input_tokens + call.output_tokens for call in booked(ledger))
            ledger.close()
    sent = CALLS * (100 + 20)  # what the scripted service says of each
    print(f"{CALLS} calls: {len(api.requests)} requests, {len(proxy.connections)} connections to other hosts, "
          f"{tokens} tokens booked of {sent}")  # fmt: skip
    return len(api.requests) == CALLS and not proxy.connections and tokens == sent


def _environments() -> bool:
    with tempfile.TemporaryDirectory() as folder, MessagesApi(answer) as api:
        names = list(Person(Path(folder), api, api).foreign())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        changed = [name for name, has_changed in zip(names, pool.map(_changes, names), strict=True) if has_changed]
    print(f"{len(names)} variables of a project's settings: {len(changed)} changed something {' '.join(changed)}")
    return not changed


def _changes(name: str) -> bool:
    """Return whether one variable in a project's settings changes what memoria does with a session there."""
    place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a worker may still be at work in it
    with place as folder, MessagesApi(answer) as api, MessagesApi(answer) as evil:
        person = Person(Path(folder), api, evil)
        person.settings(person.work, **{name: person.foreign()[name]})
        before = fingerprint(person.work)
        person.session()
        try:
            person.wait()
        except AssertionError:
            return True
        keys = {request.headers["x-api-key"] for request in of_memoria(api)}
        return (
            bool(of_memoria(evil)) or keys != {DUMMY_KEY} or person.mark.exists() or fingerprint(person.work) != before
        )


PARTS: dict[str, Callable[[], bool]] = {
    "leaves": leaves, "races": races.measure, "forget": forget, "exclude": exclude,
}  # fmt: skip


def main() -> int:
    """Run the parts that are named; exit with 1 when a figure is not as promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help="what to measure")
    chosen = parser.parse_args().part or list(PARTS)
    if set(chosen) - set(PARTS):
        parser.error(f"the parts are {', '.join(PARTS)}")
    kept = [PARTS[name]() for name in chosen]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
