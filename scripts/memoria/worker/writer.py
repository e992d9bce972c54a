"""Writer: the flush of one session, from its waiting jobs to entries of the daily log.

``unwritten_turns`` finds the turns that no entry holds, and whether they are worth a model call now. ``write_entries``
makes an entry of each stretch, in one call, and learns from it. Turns are identified by key, so that the next worker
can finish the work of one that was killed at any point. The worker decides what happens to the jobs.

The order matters: archive, then daily log, then ledger, then learned facts. When a writer is killed between two of
them, the next one finds the entry in the log or writes it again under the same id. The entry is on disk before the
statements that it shows are in the store, which is read back from the daily logs.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from memoria.base import failpoints, project
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry
from memoria.daily.ledger import Ledger
from memoria.daily.open_items import OpenItem, OpenItems, is_same
from memoria.ground import clock
from memoria.ground.errors import BadAnswerError, MemoryStoreError, TranscriptMissingError
from memoria.ground.files import short_id
from memoria.ground.home import Home
from memoria.ground.redact import Redactor, marker
from memoria.models import tasks
from memoria.models.metered import Metered
from memoria.models.protocol import Completion, JsonObject
from memoria.pages import housekeeping, notices
from memoria.search import comparison
from memoria.statements import claim_check, lines
from memoria.statements.claim_check import Material
from memoria.statements.fact import Ending, Fact, Stamp
from memoria.statements.keeper import Keeper
from memoria.transcripts import clients
from memoria.transcripts.archive import Archive
from memoria.transcripts.intake import Intake, Stretch, stretches
from memoria.transcripts.turn import Exchange
from memoria.worker import conversation
from memoria.worker.conversation import SPEAKERS, is_urgent

log = logging.getLogger(__name__)

MISSING_S = 24 * 3600  # a transcript that has not appeared by then never will
MAX_SHOWN = 20  # items in a request; a project with more shows those that share words with the conversation first


@dataclass(frozen=True, slots=True)
class Session:
    """A session's id, its project's key and name, its working folder, and its agent (empty for Claude Code)."""

    id: str
    project: str
    name: str
    cwd: str
    agent: str

    @classmethod
    def of(cls, intake: Intake, settings: Settings, paths: Paths) -> Session:
        """Return the session of these jobs."""
        key = project.key_of(intake.cwd, settings, paths)
        agent = "" if intake.client is clients.CLAUDE else intake.client.name
        return cls(intake.session, key, project.name_of(key), intake.cwd, agent)

    def stamp(self, exchanges: Sequence[Exchange]) -> Stamp:
        """Return where and when these exchanges happened; the time is that of the last exchange."""
        moments = [exchange.time for exchange in exchanges if exchange.time]
        return Stamp(self.project, self.id, moments[-1] if moments else clock.now(), self.agent)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a flush learns.

    ``facts``: those that its answer proves; ``fresh``: those of them that are not in the store yet. ``endings``: the
    ends of known facts. ``asked``: the phrases for facts that had none, by their ids.
    """

    facts: tuple[Fact, ...] = ()
    fresh: tuple[Fact, ...] = ()
    endings: tuple[Ending, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_near(keeper: Keeper, session: Session, exchanges: Sequence[Exchange]) -> list[JsonObject]:
    """Return the known facts nearest to what was said and touched in these exchanges, as a model is shown them.

    Those that this session has brought are among them, because it may take back what it said before.
    """
    said = [text for exchange in exchanges for role in ("user", "assistant") for text in exchange.texts(role)]
    touched = [line for exchange in exchanges for turn in exchange.turns for line in turn.tools]
    return [
        {
            "id": fact.id,
            "kind": fact.kind,
            "day": keeper.zone.day(fact.last or fact.time).isoformat(),
            "origin": fact.origin,
            "content": fact.content,
            "is_asked": bool(fact.asked_as),
        }
        for fact in keeper.store.find_near("\n".join((*said, *touched)), session.project)
    ]


def findings(
    keeper: Keeper, session: Session, exchanges: Sequence[Exchange], material: JsonObject, answer: JsonObject, day: date
) -> Findings:
    """Return what a flush learns from exchanges of ``day``, checked against them; nothing is stored.

    ``material``: what the model was asked with (``tasks.flush``).
    """
    near = material["known"]
    asked = claim_check.read_phrases(answer.get("asked"), [str(fact["id"]) for fact in near if not fact["is_asked"]])
    if not (spoken := [part for part in exchanges if part.texts("user")]):
        return Findings(asked=asked)

    def parts_of(parts: Iterable[Exchange]) -> list[Exchange]:
        return [part for part in parts if part.time and keeper.zone.day(part.time) == day]

    # a time of the day in whose log the facts are
    stamp = session.stamp(parts_of(spoken) or parts_of(exchanges) or spoken)
    said = (turn.text for part in exchanges for turn in part.turns if turn.role in SPEAKERS)
    found = claim_check.check(
        answer.get("statements", ()), Material.of([told for told in material["exchanges"] if told["user"]]), stamp,
        shown={str(fact["id"]): str(fact["content"]) for fact in near}, ended=answer.get("ended", ()),
        told="\n".join([material["before"], *said]),
    )  # fmt: skip
    # The entry shows all of them before the first is in the store, so they are compared with one another here.
    news = [found.facts[place] for place in comparison.distinct([fact.content for fact in found.facts])]
    fresh = tuple(fact for fact in news if not keeper.store.get(fact.id) and not keeper.find_repeated(fact))
    return Findings(tuple(news), fresh, found.endings, asked)


def _drop_repeated(texts: Iterable[str]) -> list[str]:
    """Return the texts without further wordings of an earlier one."""
    kept: list[str] = []
    for text in texts:
        if not any(is_same(text, known) for known in kept):
            kept.append(text)
    return kept


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The turns of a session that no entry holds, as ``stretches`` of one model call each, from an ``intake`` of jobs.

    ``is_enough``: they are to be written now, without waiting for the session's next event.
    """

    session: Session
    intake: Intake
    stretches: Iterable[Stretch]
    is_enough: bool


class Writer:
    """Writes the entries of one session of a home at a time, with its model, archive, logs and facts.

    The caller holds the worker lock, so that only one learns.
    """

    def __init__(self, home: Home, daily: DailyLog, ledger: Ledger, keeper: Keeper) -> None:
        """The home's logs, ledger and facts are open already."""
        self.home = home
        self.daily = daily
        self.ledger = ledger
        self.keeper = keeper
        self.model = Metered.of(home, ledger)
        redactor = Redactor(home.settings.redact_extra)
        self.archive = Archive.of(home.paths, home.settings.archive_mb, redactor)
        wrong = [f"memoria: {problem}. What it was to remove is kept." for problem in redactor.problems]
        notices.tell(home.paths, "redact", " ".join(wrong))
        self.items = OpenItems(daily, ledger)

    def unwritten_turns(self, intake: Intake, now: float, *, insist: bool) -> Unwritten:
        """Return what is not written yet.

        ``insist``: take the session for ended. Raise TranscriptMissingError when the transcript of no job exists yet.
        """
        settings = self.home.settings
        age = abs(now - intake.newest)  # a job from the future was written before the clock was set back
        over = insist or intake.is_over or age >= settings.flush_idle_min * 60
        intake = _drop_missing(intake, age, settings)
        turns = intake.turns(lambda key: self.ledger.entry_of(key) is not None, settle=over)
        cut = stretches(turns, settings.call_chars, self.home.zone)
        ahead = _look_ahead(cut, settings)
        session = Session.of(intake, settings, self.home.paths)  # after a look at the turns, for their folders
        enough = _is_enough(ahead, intake, settings, over=over)
        return Unwritten(session, intake, itertools.chain(ahead, cut), enough)

    def write_entries(self, unwritten: Unwritten) -> Iterator[str]:
        """Write an entry for every stretch that the model answers well, and yield the entries' ids.

        When a part of a long turn fails, its later parts wait with it, because the last one records the turn as
        written. Raise the first BadAnswerError after everything else is written. Of excluded or forgotten turns, only
        the keys are recorded.
        """
        fault: BadAnswerError | None = None
        broken = False
        before = conversation.answer_before(self.home, unwritten.intake)
        for stretch in unwritten.stretches:
            if not broken and stretch.says_nothing:
                self.ledger.record_nothing(stretch.keys, unwritten.session.id, "nothing was said")
            elif not broken:
                try:
                    if entry := self.write_entry(stretch, unwritten.session, before):
                        yield entry
                except BadAnswerError as error:  # the model may well answer the next stretch
                    fault = fault or error
                    broken = True
            broken = broken and stretch.is_continued
            before = conversation.last_answer(stretch.turns, self.archive.redactor.redact) or before
        dropped = unwritten.intake.dropped
        for reason in dict.fromkeys(dropped.values()):
            keys = [key for key, why in dropped.items() if why == reason]
            self.ledger.record_nothing(keys, unwritten.session.id, reason)
        for gap in unwritten.intake.missing:
            self.ledger.note("missing", unwritten.session.id, gap)
        if fault:
            raise fault

    def write_entry(self, stretch: Stretch, session: Session, before: str) -> str:
        """Write the entry and return its id; ``""`` when nothing was worth saving.

        ``before``: Claude's last words before the stretch, which its first may refer to.
        """
        stretch = stretch.clean(self.archive.redactor.redact)
        said = stretch.material(session.cwd)
        known, shown = find_near(self.keeper, session, stretch.exchanges), self._shown_items(session, stretch)
        items = [{"id": item.id, "day": item.day, "text": item.text} for item in shown]
        material: JsonObject = {"project": session.name, "known": known, "open_items": items, "before": before}
        material["exchanges"] = said
        completion = self.model.complete(tasks.flush(material), session.project)
        failpoints.reach("flush.answered")
        marked = marker(completion.data["secrets"])  # what the rules did not know is kept nowhere
        answer, material, stretch = marked(completion.data), marked(material), stretch.clean(marked)
        moment = next((part.time for part in stretch.exchanges if part.time), None) or clock.now()
        found = findings(self.keeper, session, stretch.exchanges, material, answer, self.home.zone.day(moment))
        completion, to_do = replace(completion, data=answer), self._settle(shown, answer)
        entry = _entry(completion, stretch, session, found, self.home.zone.to_local(moment), to_do)
        # An empty note is no entry; learned facts are compiled from their entry.
        is_worth = answer["worth_saving"] and _says_something(completion)
        is_kept = is_worth or entry.learned
        if is_kept:
            self._put(entry, stretch)
        else:
            self.ledger.record_nothing(stretch.keys, session.id, f"{completion.model}: nothing worth saving")
        self._keep(session, found)
        return entry.id if is_kept else ""

    def _shown_items(self, session: Session, stretch: Stretch) -> list[OpenItem]:
        """Return the open items that a model is shown with this stretch of a session.

        Those of later days are left out, which an older session that is ingested cannot close.
        """
        self.items.refresh()
        last = max((part.time for part in stretch.exchanges if part.time), default=None)
        items = self.items.of(session.project)
        if last:
            items = [item for item in items if item.day <= self.home.zone.day(last).isoformat()]
        said = comparison.words(" ".join(turn.text for turn in stretch.turns))
        newest = items[-MAX_SHOWN // 4 :]
        share = {item.id: comparison.claim_coverage(comparison.words(item.text), said) for item in items}
        ranked = sorted(items, key=lambda item: (item not in newest, -share[item.id]))
        return [item for item in items if item in ranked[:MAX_SHOWN]]

    def _settle(self, shown: Iterable[OpenItem], data: JsonObject) -> list[str]:
        """Close what an answer says is done or dropped; return the action items of the entry.

        An item that the answer also lists as an action item is still open.
        """
        action_items = _drop_repeated(data["action_items"])
        known = {item.id: item for item in shown if not any(is_same(item.text, text) for text in action_items)}
        for names, dropped in ((data["done"], False), (data["dropped"], True)):
            self.items.close([known[name] for name in names if name in known], dropped=dropped)
        return action_items

    def _keep(self, session: Session, findings: Findings) -> None:
        """Store the facts after the entry that shows the fresh ones is on disk; count those that are known already.

        Facts that cannot be stored wait in the outbox; the entry and the session are recorded nevertheless.
        """
        try:
            self.keeper.take(findings.facts, session.name, endings=findings.endings)
            for ident, phrases in findings.asked.items():
                self.keeper.ask(ident, phrases)
        except MemoryStoreError as error:
            log.warning("%s", error)

    def _put(self, entry: Entry, stretch: Stretch) -> None:
        """Append the entry to the daily log."""
        # First, so that every entry in the log has its archived turns; after a crash here they are archived again.
        self.archive.keep(entry.id, entry.day, stretch.turns)
        # If this worker dies before it prepares the pages, the next one does.
        self.ledger.put(housekeeping.PAGES_DUE, value=True)
        self.daily.append(entry)
        self.ledger.record(entry.booking)
        log.info("entry %s: %s", entry.id, entry.title)


def _entry(
    completion: Completion, stretch: Stretch, session: Session, found: Findings, moment: datetime, items: Iterable[str]
) -> Entry:
    """Return the entry of a stretch that began at ``moment``, given in the user's time zone; ``items``: of action."""
    data = completion.data
    return Entry(
        id=short_id(f"{session.id} {stretch.identity}"),
        day=moment.date(),
        time=f"{moment:%H:%M}",
        session=session.id,
        project=session.name,
        project_key=session.project,
        # The ledger and the log message need the title on one line, as the daily log does.
        title=" ".join(data["title"].split()) or "What was learned",
        context=data["context"],
        key_exchanges=tuple(data["key_exchanges"]),
        learned=tuple(map(lines.to_learned, found.fresh)),
        action_items=tuple(items),
        turns=stretch.keys,
        model=completion.model,
        agent=session.agent,
    )


def _says_something(completion: Completion) -> bool:
    """Return whether a note holds more than what every note has."""
    named = ("title", "context", "key_exchanges", "action_items")
    return any(completion.data[name] for name in named)


def _drop_missing(intake: Intake, age: float, settings: Settings) -> Intake:
    """Return the intake without the jobs whose transcript is missing; those wait on.

    The client writes a transcript within moments of the hook or not at all, so old jobs are not waited for.
    """
    absent = intake.wait_for_transcripts(max(0.0, settings.transcript_wait_s - age)) if age < MISSING_S else []
    if len(absent) == len(intake.jobs):
        raise TranscriptMissingError(f"the transcript of session {intake.session} does not exist yet")
    return intake.drop(absent) if absent else intake


def _look_ahead(rest: Iterator[Stretch], settings: Settings) -> list[Stretch]:
    """Return as many stretches as it takes to know that there is enough for a call."""
    most = max(settings.flush_turns_compact, settings.flush_turns_stop)
    ahead: list[Stretch] = []
    for stretch in rest:
        ahead.append(stretch)
        if sum(known.turn_count for known in ahead) >= most:
            break
    return ahead


def _is_enough(ahead: Sequence[Stretch], intake: Intake, settings: Settings, *, over: bool) -> bool:
    """Return whether these turns are worth a call now; if not, they wait for the session's next event."""
    if over:
        return True
    count = sum(stretch.turn_count for stretch in ahead)
    turns = (turn for stretch in ahead for turn in stretch.turns)
    if settings.learn_at_once and not intake.is_echo and is_urgent(turns):
        return True
    if any(job.event == "PreCompact" for job in intake.jobs) and count >= settings.flush_turns_compact:
        return True
    # Count two turns per answer, as the hook does: a worker that another session started must not summarise sooner.
    answers = sum(job.event == "Stop" for job in intake.jobs)
    return min(count, answers * 2) >= settings.flush_turns_stop
