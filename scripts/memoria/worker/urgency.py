"""Urgency: whether an open session is to be summarised at once, because the user corrected, ruled or decided something.

Cues tell it, without a model (``search.cues``); what is worth keeping is for the flush. This module knows waiting jobs
and failed attempts, and imports little, because the observer runs after every answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.home import Home
from memoria.search import cues
from memoria.transcripts.intake import Intake
from memoria.transcripts.turn import Turn


def is_urgent(turns: Iterable[Turn]) -> bool:
    """Return whether words of the user in these turns hold a cue; those to a sub-agent are the assistant's."""
    return any(turn.role == "user" and not turn.sidechain and cues.stated(turn.text) for turn in turns)


def calls_for_worker(home: Home, ledger: Ledger, intake: Intake) -> bool:
    """Return whether a worker is to summarise an open session now, and may: no attempt at it has failed just now."""
    if not home.settings.learn_at_once or intake.is_echo:
        return False
    if any(clock.is_waiting(ledger.tries(job.name)[1], time.time()) for job in intake.jobs):
        return False
    return is_urgent(intake.turns(lambda key: ledger.entry_of(key) is not None, settle=False))
