"""Receipt: what the transcripts on the client's shelf hold, and what became of each turn.

Reads every turn's key as the worker reads it, and looks it up in the ledger (which mirrors the daily logs) and in the
spool. What is in neither is missing, and ``capture`` spools it. Remembers in the ledger what it found, so that a second
look reads only what changed. Lines with words in a form that no client so far wrote are counted and named, so that a
new client's are on its first day. Knows shelf, spool and ledger; does not know entries or models.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from memoria.audit.changes import MISSING, Changes
from memoria.base import project
from memoria.base.exclude import EXCLUDED_BY
from memoria.base.paths import safe_name
from memoria.capture import cursor
from memoria.capture.spool import Job, Spool
from memoria.daily.ledger import Ledger
from memoria.ground.home import Home
from memoria.transcripts import client_files, clients
from memoria.transcripts.client_files import Found, Head, objects
from memoria.transcripts.intake import MAX_LINE, Intake, UnreadableJobError, regular
from memoria.transcripts.screen import Screen
from memoria.transcripts.turn import Turn
from memoria.transcripts.turn_reader import Reader

SOME_BYTES, SOME_FILES = 32_000_000, 50  # what a worker compares when it starts

# What becomes of a turn; further ones are "skipped: <reason>".
CAPTURED, WAITING, ASIDE, OPEN, BEFORE = "captured", "waiting", "set aside", "still open", "before memoria"
UNHOOKED = "not ingested"  # of an agent whose sessions no hook captures, or did not
WORDS = {
    CAPTURED: "in the daily logs",
    WAITING: "waiting in the spool for the worker",
    ASIDE: "set aside because they could not be summarised",
    OPEN: "in sessions in progress",
    BEFORE: "from before memoria was installed",
    UNHOOKED: "of other agents, captured by no hook",
    MISSING: "missing",
}
SKIPPED = "skipped: "
REPEATED = "also in another transcript"  # of a session that was resumed or forked into a new file; counted there
NOT_UNDERSTOOD = "not understood: "  # and the form of the lines, which are no turns
_UNSETTLED = frozenset((WAITING, ASIDE, OPEN, MISSING))
# Lines that Claude Code writes for itself (1.0 to 2.1.330): without words, or with words that stand on another line.
_OWN = frozenset((
    "agent-name", "ai-title", "api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state",
    "custom-title", "file-history-delta", "file-history-snapshot", "frame-link", "last-prompt", "mode",
    "permission-mode", "pr-link", "progress", "queue-operation", "summary", "system", "tools-used", "memoria-note",
))  # fmt: skip
_BLOCKS = frozenset((
    "document", "fallback", "image", "redacted_thinking", "server_tool_use", "text", "thinking", "tool_reference",
    "tool_result", "tool_use",
))  # fmt: skip
_FIELDS = {  # of a line that say who speaks, with the values that clients wrote so far
    "origin.kind": ("auto-continuation", "channel", "coordinator", "human", "observer-activity", "peer", "plugin",
                    "task-notification", "unclassified", "voice-call"),
    "promptSource": ("queued", "sdk", "suggestion_accepted", "system", "typed"),
    "toolDenialKind": ("automode-blocked", "cancelled", "interrupted", "permission-rule", "user-rejected"),
}  # fmt: skip
# Codex's lines of which no turn need be made, as its source says (transcripts/codex.py); events repeat what items say.
_CODEX = frozenset((
    "", "compacted", "event_msg", "inter_agent_communication", "reasoning", "session_meta", "turn_context",
    "additional_tools", "agent_message", "compaction", "compaction_summary", "context_compaction", "ghost_snapshot",
    "custom_tool_call_output", "function_call_output", "image_generation_call", "message", "tool_search_call",
    "tool_search_output",
))  # fmt: skip
_SPEAKING = ("user", "assistant", "attachment")
_WORDS = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}")
UNREADABLE = "no JSON object"
_PROGRAMS = ("sdk-py", "sdk-ts")  # how the client calls the starter of a session that a program drives
SWITCHED_OFF = "memoria was switched off"
BY_PROGRAM = "a program's session, started without hooks"


@dataclass(frozen=True, slots=True)
class Account:
    """One transcript, its project's key, and what became of its turns; ``fates`` maps a fate to a number of turns."""

    found: Found
    session: str
    project: str
    cwd: str
    fates: dict[str, int] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """All turns that are this transcript's own."""
        return sum(own_turns(self.fates).values())

    @property
    def missing(self) -> int:
        """Turns that were never captured and should have been."""
        return self.fates.get(MISSING, 0)

    @property
    def open_turns(self) -> int:
        """Turns that are recorded nowhere yet."""
        return sum(count for fate, count in self.fates.items() if fate in (MISSING, BEFORE, UNHOOKED, OPEN))

    @property
    def is_settled(self) -> bool:
        """Whether each turn is recorded, or is not to be."""
        return not self.open_turns and _UNSETTLED.isdisjoint(self.fates)


def own_turns(fates: Mapping[str, int]) -> dict[str, int]:
    """Return the number of the turns that are a transcript's own, by what became of them."""
    return {fate: count for fate, count in fates.items() if not fate.startswith((REPEATED, NOT_UNDERSTOOD))}


class NotUnderstood(NamedTuple):
    """Lines of one form that may hold words and of which the reader made nothing; ``example`` says where one stands."""

    form: str
    lines: int
    example: str


def not_understood(fates_of: Iterable[tuple[str, Mapping[str, int]]]) -> list[NotUnderstood]:
    """The unknown forms among what became of transcripts (path and fates), the most frequent first."""
    found: dict[str, NotUnderstood] = {}
    for path, fates in fates_of:
        for fate, count in fates.items():
            if fate.startswith(NOT_UNDERSTOOD):
                form, _, line = fate.removeprefix(NOT_UNDERSTOOD).rpartition(" · line ")
                known = found.get(form, NotUnderstood(form, 0, f"line {line} of {path}"))
                found[form] = known._replace(lines=known.lines + count)
    return sorted(found.values(), key=lambda one: (-one.lines, one.form))


@dataclass(slots=True)
class Receipt(Changes):
    """Compares transcripts with one home; hold it no longer than one run: it remembers what waits in the spool."""

    _jobs: dict[str, list[tuple[Job, str]]] = field(default_factory=dict)
    _waiting: tuple[str, dict[str, str]] = ("", {})
    _counted: set[str] = field(default_factory=set)  # captured turns of transcripts that are gone
    _screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        """Look once at the ledger's memory and at the spool, and record what was said with memoria switched off."""
        Changes.__post_init__(self)
        self._screen = Screen(self.home)
        for path in sorted(self.silences()):
            self._record_silence(path)
        for box, fate in ((self.spool.new, WAITING), (self.spool.cur, WAITING), (self.spool.failed, ASIDE)):
            for job in self.spool.jobs(box):
                self._jobs.setdefault(job.session, []).append((job, fate))

    def account(self, found: Found, *, forced: bool = False) -> Account:
        """What became of a transcript's turns; read again when it changed, was not settled, or ``forced``.

        OSError when the transcript cannot be read.
        """
        head = clients.client_of(found).head(found.path)
        owner = project.key_of(head.cwd, self.home.settings, self.home.paths)
        stamp, fates = self._checked.get(str(found.path), ("", {}))
        left_alone = self.skip_reason(found, head)
        settled = stamp == found.stamp and not _UNSETTLED.intersection(fates)
        if forced or not settled or bool(left_alone) != _was_left_alone(fates, left_alone):
            fates = self._compare(found, head, left_alone)
            self.ledger.check(str(found.path), found.stamp, fates)
        return Account(found, head.session, owner, head.cwd, fates)

    def known_fates(self, found: Found, session: str) -> dict[str, int] | None:
        """What became of the turns, when anything of the session can be recorded; None when it is new to memoria."""
        path = str(found.path)
        if path in self._checked or self._was_seen(session):
            return self.account(found).fates
        return None

    def waits(self, session: str) -> bool:
        """Whether jobs of the session are in the spool."""
        return safe_name(session) in self._jobs

    def capture(self, account: Account, event: str) -> str:
        """Spool a transcript whole, by its name; returns the job's name.

        Turns that are recorded already are passed over by the worker.
        """
        found = account.found
        self.ledger.forget_checked([str(found.path)])
        return self.spool.add(
            {
                "event": event,
                "session": account.session,
                "transcript": str(found.path.absolute()),
                "start": 0,
                "copied_from": found.size,
                "end": found.size,
                "cwd": "" if self._screen.exclusion(account.cwd) else account.cwd,
                "agent": found.agent,
            },
            b"",
        )

    def skip_reason(self, found: Found, head: Head) -> str:
        """Why a session as a whole is not to be captured; ``""`` when it is, or when it left an excluded folder."""
        reason = self._screen.exclusion(head.cwd)
        if reason and not all(map(self._screen.exclusion, client_files.cwds(found.path))):
            reason = ""
        quiet = cursor.paused_spans(self.home.paths.cursors, safe_name(head.session))
        if not reason and quiet is not None and not quiet.spans:  # off for the session as a whole, as far as is known
            reason = SWITCHED_OFF
        if not reason and head.entrypoint in _PROGRAMS and not self._was_seen(head.session):
            reason = BY_PROGRAM
        return reason

    def _record_silence(self, path: Path) -> None:
        """Record the turns that were said while memoria was off, so that nobody takes them in; a look per change."""
        quiet = cursor.paused_spans(self.home.paths.cursors, path.stem)
        if quiet is None or not quiet.spans:
            return
        try:
            status = Path(quiet.transcript).stat()
            stamp = f"{path.stat().st_mtime_ns}-{status.st_mtime_ns if quiet.is_open else 0}"
            if self._checked.get(str(path), ("", {}))[0] == stamp:
                return
            keys = [turn.key for turn in self._read_turns(quiet)]
        except OSError:  # the transcript is gone, and with it what must not be taken in
            return
        self.ledger.record_nothing(keys, path.stem, SWITCHED_OFF)
        self.ledger.check(str(path), stamp, {})

    def _read_turns(self, quiet: cursor.PausedSpans) -> Iterator[Turn]:
        reader = Reader(with_sides=True, decode=clients.owner(Path(quiet.transcript)).decoder())
        with regular(quiet.transcript) as file:
            for number, (start, end) in enumerate(quiet.spans, 1):
                goes_on = quiet.is_open and number == len(quiet.spans)
                file.seek(start)
                yield from reader.read(_read_until(file, None if goes_on else end))
        yield from reader.settle()

    def _compare(self, found: Found, head: Head, left_alone: str) -> dict[str, int]:
        waiting = self._waiting_keys(head.session)  # before the ledger: a job goes only after its turns are recorded
        rest = self._fate_of_the_rest(found, head, left_alone)
        fates: Counter[str] = Counter()
        unknown: dict[str, list[int]] = {}  # the numbers of the lines of each form
        for turn in self._turns(found, head.cwd, unknown):
            reason = self.ledger.reason_of(turn.key)
            if reason is None and (dropped := self._screen.reason(turn)):
                fates[SKIPPED + dropped] += 1
            elif reason is None:
                fates[waiting.get(turn.key) or rest] += 1
            elif reason:
                fates[SKIPPED + reason] += 1
            else:
                fates[REPEATED if self._is_anothers(turn.key, found, head.session) else CAPTURED] += 1
        if not left_alone:
            fates.update({f"{NOT_UNDERSTOOD}{form} · line {at[0]}": len(at) for form, at in unknown.items()})
        return dict(fates)

    def _is_anothers(self, key: str, found: Found, session: str) -> bool:
        """Whether a captured turn is counted with another transcript that is still there, or was in this run."""
        entry = self.ledger.session_of(key)
        if entry == session:
            return False
        if found.path.with_name(f"{entry}.jsonl").is_file() or key in self._counted:
            return True
        self._counted.add(key)
        return False

    def _fate_of_the_rest(self, found: Found, head: Head, left_alone: str) -> str:
        if left_alone:
            return SKIPPED + left_alone
        if self.is_open(found):
            return OPEN
        if not self._was_seen(head.session):
            if found.agent != clients.CLAUDE.name:
                return UNHOOKED
            if found.changed_s < self.install_time:
                return BEFORE
        return MISSING

    def _turns(self, found: Found, folder: str, unknown: dict[str, list[int]]) -> Iterator[Turn]:
        reader = Reader(describing=False, decode=clients.client_of(found).decoder())
        reader.folder = folder
        for number, line in enumerate(client_files.lines(found.path), 1):
            turns = list(reader.read((line,)))
            if form := unknown_form(line, found.agent, is_read=bool(turns)):
                unknown.setdefault(form, []).append(number)
            yield from turns
        if not self.is_open(found):
            yield from reader.settle()

    def _waiting_keys(self, session: str) -> dict[str, str]:
        """The keys of the turns that wait in the spool for this session, and whether in ``new`` or in ``failed``."""
        name = safe_name(session)
        if self._waiting[0] != name:
            jobs = self._jobs.get(name, [])
            keys = {fate: self._keys([job for job, box in jobs if box == fate]) for fate in (ASIDE, WAITING)}
            self._waiting = (name, {key: fate for fate, found in keys.items() for key in found})
        return self._waiting[1]

    def _keys(self, jobs: list[Job]) -> set[str]:
        while jobs:
            try:
                return {turn.key for turn in Intake(self.spool, jobs).turns(lambda _: False, settle=True)}
            except UnreadableJobError as error:
                jobs = [job for job in jobs if job is not error.job]
            except FileNotFoundError:  # the worker is done with one: the ledger knows its turns
                jobs = [job for job in jobs if _is_there(self.spool, job)]
        return set()


def _read_until(file: BinaryIO, end: int | None) -> Iterator[bytes]:
    while end is None or file.tell() < end:
        line = file.readline(MAX_LINE)
        if not line:
            return
        yield line


def _is_there(spool: Spool, job: Job) -> bool:
    try:
        spool.path(job)
    except FileNotFoundError:
        return False
    return True


def _was_left_alone(fates: dict[str, int], reason: str) -> bool:
    return SKIPPED + reason in fates if reason else any(EXCLUDED_BY in fate for fate in fates)


def unknown_form(raw: bytes, agent: str, *, is_read: bool) -> str:
    """Return the form of a line with words that no client so far wrote, ``""`` for another line.

    ``is_read``: the reader made turns of it.
    """
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):  # torn, or two lines glued together
        return "" if is_read or objects(raw) or not raw.strip(b"\0 \t\r\n") or not raw.endswith(b"\n") else UNREADABLE
    if not isinstance(line, dict):
        return ""
    kind = str(line.get("type"))
    if agent == clients.CODEX.name:
        kind = str(_get_in(line, "payload", "type")) if kind == "response_item" else kind
        return "" if is_read or kind in _CODEX or not _has_words(line) else f"type {kind!r}"
    if kind not in _SPEAKING:
        return "" if kind in _OWN or not _has_words(line) else f"type {kind!r}"
    source = line.get("attachment") if kind == "attachment" else line
    for name, known in _FIELDS.items():
        given = _get_in(source, *name.split("."))
        if given is not None and given not in known:
            return f"{name} {given!r}"
    content = _get_in(line, "message", "content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    new = (str(block.get("type")) for block in blocks if block.get("type") not in _BLOCKS and _has_words(block))
    return next((f"{kind}: block {name!r}" for name in new), "")


def _get_in(value: Any, *names: str) -> Any:
    """Return what stands under these keys, None when nothing does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _has_words(value: Any) -> bool:
    """Return whether a text anywhere in a JSON value holds two words."""
    if isinstance(value, str):
        return _WORDS.search(value) is not None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_words, inner))


def check_some(home: Home, ledger: Ledger, spool: Spool) -> list[Account]:
    """Compare a few transcripts that changed, oldest first, and spool what no hook captured; returns those spooled.

    What a worker does when it starts: the session of a killed terminal, or one whose hooks never fired, is taken up.
    """
    receipt = Receipt(home, ledger, spool)
    read, repaired = 0, []
    due = filter(receipt.is_due, receipt.transcripts())
    for number, found in enumerate(due):
        read += found.size
        if number and (read > SOME_BYTES or number >= SOME_FILES):
            break
        try:
            account = receipt.account(found)
            if account.missing:
                receipt.capture(account, "Verify")
                # Once: what the worker could not make turns of is for a verify to say.
                fates = {WAITING if fate == MISSING else fate: count for fate, count in account.fates.items()}
                ledger.check(str(found.path), found.stamp, fates)
                repaired.append(account)
        except OSError:  # it went meanwhile, or is not ours to read: the receipt of a person names it
            continue
    return repaired
