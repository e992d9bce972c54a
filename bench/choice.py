"""Does a fact that was said in passing reach the prompt that needs it, when a model chooses?

    uv run python -m bench.choice TRANSCRIPTS [--set SET] [--mass FILE] [--facts N] [--without-asked] [--words N]

TRANSCRIPTS is a folder of Claude Code's transcripts. Their statements, and those of the sessions in FILE (a
``corpus.jsonl`` of ``retrieval.py``), are the mass of N facts around the 40 of ``choice_set.txt`` or another set
(``choice_set_second.txt``); their prompts are asked as strangers', for whom nothing counts that their own session says
elsewhere, such as the answer to the prompt itself. No prompt of a set was known when its fact and the
phrases by which that may be asked for were written. Two stand-ins choose: one takes the fact that a prompt needs when
it is offered, the other takes two at random. The words by which a model would search for a prompt stand beside it. A
large model wrote them that had read the prompts alone; a small one may name fewer that fit: ``--words`` takes that many
of them at random. For an idle prompt it names none, for a stranger's the prompt's own. A session starts with its page,
types one prompt and gets what the hook says or the process in the background.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench import retrieval
from memoria.base import project, state
from memoria.base.settings import Settings
from memoria.capture import detach, hook
from memoria.ground.home import Home
from memoria.index import sources
from memoria.index.index import Index
from memoria.models.protocol import Completion, Prompt, Usage
from memoria.pages import refresh
from memoria.recall import prompt_notes, session_start
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.transcripts import client_files
from memoria.transcripts.turn_reader import Reader
from memoria.worker import weigher

SET = Path(__file__).with_name("choice_set.txt")
NO_WORDS: tuple[str, ...] = ()
KINDS = ("fact", "decision", "debugging", "operational", "workaround", "preference")
IDLE = (
    "go on", "commit that", "yes, do it", "thanks!", "ok", "looks good, continue", "push it", "try again", "no, stop",
    "why?", "do the same for the other one", "perfect", "and now the next one", "show me the diff", "merge it",
    "What is a monad?", "Write a haiku about autumn.", "How do I exit vim?", "Sort this list: 3, 1, 2.",
    "Explain the difference between TCP and UDP.", "What does HTTP 418 mean?", "Translate 'good morning' to French.",
    "Give me a regular expression for hexadecimal colours.", "How many bytes does a UUID have?",
    "What is the capital of Peru?", "Tell me a joke.", "How does quicksort work?",
    "What is the time complexity of that?",
    "Which licence is more permissive, MIT or GPL?", "Convert 300 Fahrenheit to Celsius.",
    "Summarise what you have done so far.", "Can you format that as a table?", "Make it shorter.", "Rename x to y.",
    "undo the last change", "Add a comment there.", "Is that all?", "Run it again please.", "What did you change?",
    "Which files did you touch?", "Please wait until I have read it.", "Let me think about it first.",
    "Could you say that in simpler words?", "I like the second version better.", "Use the first one.", "Not like that.",
    "Good, now clean up after yourself.", "Fix the typo in the last line.", "Delete the temporary files again.",
    "Put that into a function.", "What would you do next?", "How sure are you?", "Start over.", "Skip that one.",
    "Remind me what we were doing.", "List the open points.", "That is wrong.", "Explain line 12 to me.",
    "What does this error mean?", "Close the issue then.",
)  # fmt: skip


@dataclass
class Case:
    """A fact, its phrases, and the prompt that needs it."""

    text: str
    kind: str
    phrases: tuple[str, ...]
    prompt: str
    words: tuple[str, ...]


@dataclass
class Outcome:
    """What became of the prompts of one kind."""

    beside: int = 0
    there: int = 0
    wrong: int = 0
    widened: int = 0
    asked: int = 0
    offered: int = 0
    sizes: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class StandIn:
    """The model that names words and chooses: by the question's notes and the prompt that is being asked."""

    def __init__(self, words: Sequence[str], choose: Callable[[list[str]], list[int]]) -> None:
        self.words = words
        self.choose = choose
        self.notes: list[str] | None = None
        self.sizes: dict[str, int] = {}

    def of(self, *_: object) -> StandIn:
        """Return itself, in the place of the class of models."""
        return self

    def complete_soon(self, question: Callable[[], Prompt | None], wait_s: float) -> Completion | None:
        """Answer as ``Metered`` does."""
        del wait_s
        asked = question()
        if asked is None:
            return None
        self.sizes[asked.task] = len(asked.text.encode())
        if asked.task == "widen":
            return Completion({"words": list(self.words)}, "stand-in", Usage())
        self.notes = list(asked.material["notes"])
        return Completion({"needed": self.choose(self.notes)}, "stand-in", Usage())


def main() -> int:
    """Print what came beside the prompts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--mass", type=Path, help="a corpus.jsonl with more sessions")
    parser.add_argument("--set", type=Path, default=SET, help="another file of facts and prompts")
    parser.add_argument("--facts", type=int, default=400)
    parser.add_argument("--without-asked", action="store_true", help="no fact has phrases by which it is asked for")
    parser.add_argument("--words", type=int, default=100, help="most words that the model names to search by")
    parser.add_argument("--worst", action="store_true", help="print the prompts that went without their fact")
    args = parser.parse_args()
    cases = list(_cases(args.set, args.words))
    said, strangers = _said(args.transcripts, args.mass)
    if len(said) < args.facts - len(cases):
        parser.error(f"the transcripts hold only {len(said)} statements")
    with tempfile.TemporaryDirectory() as scratch:
        home = _home(Path(scratch), cases, said[: args.facts - len(cases)], has_asked=not args.without_asked)
        print(f"{args.facts} facts, {'without' if args.without_asked else 'with'} asked_as")
        for name, is_random in (("chooses rightly", False), ("two at random", True)):
            for group, prompts in (
                ("needed", [(case.prompt, case.text, case.words) for case in cases]),
                ("idle", [(prompt, "", NO_WORDS) for prompt in IDLE]),
                ("strangers", [(prompt, "", tuple(prompt.split())) for prompt in list(strangers)[:100]]),
            ):
                outcome = _ask(home, prompts, strangers, is_random=is_random)
                _print(f"{name}, {group}", len(prompts), outcome, worst=args.worst)
    return 0


def _print(name: str, count: int, found: Outcome, *, worst: bool) -> None:
    size = int(statistics.mean(found.sizes)) if found.sizes else 0
    new = count - (found.there - found.beside)
    print(
        f"  {name:27} n {count:3}  beside {found.beside / count:4.0%}  or on the page {found.there / count:4.0%}"
        f"  of the {new} that no page shows {found.beside / max(new, 1):4.0%}"
        f"  offered {found.offered / count:4.0%}  wrong notes {found.wrong / count:4.2f} a prompt"
        f"  asked for words {found.widened / count:4.0%}, to choose {found.asked / count:4.0%}, {size} bytes"
    )
    for prompt in found.lost if worst else ():
        print(f"      lost: {prompt}")


def _cases(path: Path, most_words: int = 100) -> Iterator[Case]:
    chance = random.Random(5)
    for row in path.read_text("utf-8").splitlines():
        if row and not row.startswith("#"):
            text, kind, phrases, prompt, words = (part.strip() for part in row.split("|"))
            named = words.split()
            some = chance.sample(named, min(most_words, len(named)))
            yield Case(text, kind, tuple(phrase.strip() for phrase in phrases.split(";")), prompt, tuple(some))


def _said(folder: Path, mass: Path | None) -> tuple[list[str], dict[str, list[str]]]:
    """Return the statements of transcripts, and by the prompts of people in them those of the same session.

    Both are in an order of chance.
    """
    said: dict[str, None] = {}
    prompts: dict[str, list[str]] = {}
    for found in client_files.transcripts(folder):
        reader = Reader()
        with found.path.open("rb") as file:
            turns = [*reader.read(file), *reader.settle()]
        own = [text for turn in turns for text in _statements(turn.text)]
        said.update(dict.fromkeys(own))
        for turn in turns:
            if turn.role == "user" and 20 <= len(turn.text) <= 600 and prompt_notes.is_asking(turn.text):
                prompts[" ".join(turn.text.split())] = own
    for session in retrieval.read(mass) if mass else ():
        said.update(dict.fromkeys(text for turn in session["turns"] for text in _statements(turn["text"])))
    chance = random.Random(25)
    statements, asked = list(said), list(prompts)
    chance.shuffle(statements)
    chance.shuffle(asked)
    return statements, {prompt: prompts[prompt] for prompt in asked}


def _statements(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.])\s+|\n+", text):
        plain = sentence.strip(" -*#>").replace("**", "")
        if re.match(r"[A-Z`].{38,220}\.$", plain) and not re.match(r"(I |I'|Let |Now |Good|Here|Perf)", plain):
            yield plain


def _home(scratch: Path, cases: list[Case], mass: list[str], *, has_asked: bool) -> Home:
    for name in [name for name in os.environ if name.startswith(("MEMORIA_", "CLAUDE"))]:
        del os.environ[name]
    os.environ.update(
        MEMORIA_HOME=str(scratch / "home"), MEMORIA_MODEL="claude:haiku", MEMORIA_PYTHON=sys.executable,
        XDG_CONFIG_HOME=str(scratch / "config"),
    )  # fmt: skip
    os.environ[hook.ENTRYPOINT] = "cli"
    (scratch / "shop").mkdir()
    home = Home.open()
    state.open_state(home.paths)
    own = project.key_of(str(scratch / "shop"), home.settings, home.paths)
    chance = random.Random(7)
    texts = [(case.text, case.kind, case.phrases if has_asked else ()) for case in cases]
    texts += [(text, chance.choice(KINDS), ()) for text in mass]
    chance.shuffle(texts)
    first = datetime(2026, 1, 5, 9, tzinfo=UTC)
    facts = [
        Fact(
            kind, text, chance.choice((0.5, 0.6, 0.7, 0.8, 0.9)), "user", own,
            first + timedelta(minutes=number * 450_000 // len(texts)), f"l-{number:08d}",
            session=f"s{number // 5}", asked_as=phrases,
        )
        for number, (text, kind, phrases) in enumerate(texts)
    ]  # fmt: skip
    with Keeper.at(home) as keeper:
        keeper.take(facts, "shop")
        refresh.renew(home, keeper)
    with closing(Index(home.paths.index)) as index:
        sources.refresh(index, home.paths)
    return home


def _ask(
    home: Home, prompts: list[tuple[str, str, tuple[str, ...]]], own: Mapping[str, Sequence[str]], *, is_random: bool
) -> Outcome:
    """Ask each prompt in a session of its own, for which a note that repeats one of its ``own`` statements is none."""
    outcome = Outcome()
    chance = random.Random(3)
    given: list[bytes] = []
    setattr(detach, "go_on_as", lambda command, paths, request, **_: given.append(request))  # noqa: B010
    for number, (prompt, needed, words) in enumerate(prompts):
        fields: dict[str, Any] = {
            "session_id": f"bench-{is_random}-{bool(needed)}-{number}-{len(prompts)}", "transcript_path": "/nowhere",
            "cwd": str(Path(home.paths.home).parent / "shop"), "permission_mode": "default", "prompt": prompt,
        }  # fmt: skip
        start = hook.Event({**fields, "hook_event_name": "SessionStart", "source": "startup"})
        page = _context(session_start.session_start(start, Settings.load(), home.paths))
        event = hook.Event({**fields, "hook_event_name": "UserPromptSubmit"})
        given.clear()
        said = _context(prompt_notes.user_prompt_submit(event, Settings.load(), home.paths))
        if event.after:
            event.after()

        def choose(notes: list[str], needed: str = needed) -> list[int]:
            if is_random:
                return sorted(chance.sample(range(1, len(notes) + 1), min(2, len(notes))))
            return [place for place, note in enumerate(notes, 1) if needed and needed in note]

        model = StandIn(words, choose)
        setattr(weigher, "Metered", model)  # noqa: B010
        for request in given:
            said += weigher.weigh(home, weigher.Request.read(request.decode(), home))[1]
        rows = [row for row in said.splitlines() if row.startswith("- [")]
        notes = [row for row in rows if not any(text in row for text in own.get(prompt, ()))]
        is_beside = bool(needed) and any(needed in row for row in notes)
        outcome.beside += is_beside
        outcome.there += is_beside or bool(needed and needed in page)
        outcome.wrong += len(notes) - is_beside
        outcome.widened += "widen" in model.sizes
        outcome.asked += model.notes is not None
        outcome.offered += bool(needed) and any(needed in note for note in model.notes or ())
        outcome.sizes += [sum(model.sizes.values())] if model.sizes else []
        if needed and not (is_beside or needed in page):
            outcome.lost.append(prompt)
        if not needed and model.notes is None:
            outcome.lost += [f"{prompt}\n          {row}" for row in notes]
    return outcome


def _context(output: dict[str, Any] | None) -> str:
    return str((output or {}).get("hookSpecificOutput", {}).get("additionalContext", ""))


if __name__ == "__main__":
    sys.exit(main())
