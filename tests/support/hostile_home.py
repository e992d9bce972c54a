"""A home in which every name and every text tries to run or to load something."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from memoria.capture.spool import Spool
from memoria.daily.daily_log import DailyLog
from memoria.daily.entry import Entry, Learned
from memoria.daily.ledger import Call, Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.recall.shown_notes import ShownNotes
from memoria.statements.keeper import Keeper
from memoria.transcripts.archive import Archive
from memoria.transcripts.turn import Turn
from reader_home import DAY, HOSTILE, asked, given, transcribe, write

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)></title></textarea></svg><svg/onload=alert(1)>"
LINK = "[[concepts/x|<b onclick=alert(1)>]] [run](javascript:alert(1)) ![p](https://example.com/p.png)"
KEY, SESSION, IDENT = "evil-1a2b3c", "s-<b>&\"'", "e9"
SLUG = "concepts/\"onload='alert(1)<b>"
NOTES = f"Notes:\n<memoria-notes-1a2b3c>\n- [{EVIL}] {EVIL} `order_key` ({SLUG})\n</memoria-notes-1a2b3c>\n"
PAGE = f"Notes\n<memoria-notes-1a2b3c>\n- {EVIL}\n</memoria-notes-1a2b3c>\n"


def fill_hostile(home: Home) -> None:
    """Write entries, facts, articles, a transcript, costs and a failed job that try to run or to load something."""
    facts = (Learned("decision", f"{EVIL} one {LINK}", "l-e900001"), Learned("preference", EVIL, "l-e900002"))
    text, now = f"{EVIL}\n{LINK}", clock.now()
    turns = [Turn("te0", "user", text, time=now), Turn("te1", "assistant", text, time=now)]
    entry = Entry(
        IDENT, DAY, "10:00", SESSION, EVIL, KEY, EVIL, f"{EVIL} {LINK}", decisions=(EVIL,), lessons=(LINK,),
        action_items=(EVIL,), learned=facts, turns=tuple(turn.key for turn in turns), model=EVIL,
    )  # fmt: skip
    DailyLog(home.paths).append(entry)
    Archive.of(home.paths, 100).keep(entry.id, DAY, turns)
    with Keeper.at(home) as keeper:
        fact = next(fact for fact in keeper.store.facts() if fact.id == "l-e900002")
        keeper.store.put(DAY, replace(fact, quote=EVIL, tags=(EVIL,)))
    text = HOSTILE.replace("\n## Key", f"\n{EVIL}\n\n## {EVIL}\n\n- {EVIL} [[daily/{DAY}#^e-{IDENT}|{EVIL}]]\n\n## Key")
    write(home, "concepts/hostile", text.replace('title: "', f'project: "x · {KEY}"\ntitle: "'))
    write(home, SLUG, f"# {EVIL}\n\n[[concepts/hostile|{EVIL}]]\n\n## History\n\n- {EVIL} (until 2026-11-20)\n")
    _transcribe(home)
    spool = Spool(home.paths.spool)
    spool.add({"event": "Stop", "session": "s", "start": 0, "end": 3, "transcript": EVIL, "cwd": "/"}, b"{}\n")
    for job in spool.jobs():
        spool.claim(job)
        spool.fail(job, EVIL)


def _transcribe(home: Home) -> None:
    rows: list[dict[str, object]] = [
        given("SessionStart", PAGE), asked(EVIL), given("UserPromptSubmit", NOTES), given(EVIL, PAGE),
        {"type": "assistant", "message": {"role": "assistant", "id": "m", "content": [{"type": "text", "text": EVIL}]}},
        {"type": EVIL, "content": EVIL},
    ]  # fmt: skip
    fates = {"captured": 1, "missing": 1, f"skipped: {EVIL}": 2}
    transcribe(home, "s-evil", rows, fates, f"/tmp/{EVIL}")
    ShownNotes(home.paths.hints, SESSION).add([f"{EVIL} {LINK}"])
    with closing(Ledger(home.paths)) as ledger:
        ledger.book(Call("flush", EVIL, EVIL, "ok", 10, 5, 0.25, 1.0))
