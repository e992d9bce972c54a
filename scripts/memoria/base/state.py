"""State: the runtime folder, who owns it, and which version of memoria wrote it."""

from __future__ import annotations

import os
import time

from memoria.base import paths as places
from memoria.base.paths import SPOOL_BOXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.paths import Paths


class StateError(Exception):
    """The state folder cannot be used as it is: ``what`` is wrong, and the ``remedy``; the message says both."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy


README = """This folder is memoria's runtime state. It is yours; nothing in it is sent anywhere. `memoria status` says
how things stand. Close Claude Code before you delete anything here.

Do not delete: what is lost here is lost.
  spool/               conversation that is in no daily log yet, one file a job; `ls spool/new` is the status page
  spool/tmp/           being written by a hook
  spool/new/           waiting to be summarised
  spool/cur/           being summarised now
  spool/failed/        given up after several tries, with the reason in a .why file
  ledger.db            model calls and what they cost; also which turns are in which entry, which is read back
  archive/             the turns behind each entry, redacted and compressed
  forgotten.json       digests of what `memoria forget` removed, so that it does not come back; no text
  forgetting.json      what `memoria forget` is removing, or was until it was interrupted; the next worker goes on
  folders.json         in which folders each project was worked on, so that an excluded one can be told
  outbox/              learned facts that could not be written yet
  outbox/learned/      waiting for the daily log
  outbox/server/       what version 0.2.0 had waiting for a memory server; it is removed
  working.db           what each session holds in mind: task, notes, checkpoints
  since                when memoria was installed, which `memoria verify` counts from
  version              which format this folder has
  written-by           the version of memoria that last worked here

May be deleted, at a small price.
  cursors/             how far each transcript has been copied, and what was said while memoria was off; without
                       them transcripts are read again, and what was said while it was off is kept
  learned.db           the learned facts, read back from the daily logs; a memory server restored from a backup may
                       bring deleted facts back
  projects.json        which folder belongs to which project, and the keys it had before; without it what was written
                       under a former key is another project's again, until the folder is seen once more
  undo/                what the wiki was before the last compiles; without it `memoria undo` has nothing
  replaced/            files as they were before memoria wrote them, for a few seconds or a day; without it what
                       an editor still wrote into one of them is lost
  exchange.db          what was exchanged with your other machines and the memory server; without it they are met as
                       for the first time
  exchange.git/        the copy of the git repository by which they are met
  exchange.key         the key of an encrypted exchange, where the system has no keyring; `memoria sync --key` shows it
  exchanged            when an exchange was last tried
  told.json            what the user was told already, so that it is not said twice
  notice               what the next session's start tells the user
  days/                the line about each day that the next session's start tells the user
  saved/               what version 0.2.0 had counted for such a line; it is removed
  doubled              says that you were told that the hooks run twice
  welcomed             says that the first greeting was given
  hints/               which notes each session was given; without it they may come twice
  where/               which sessions are open, where each stands, and its last prompt; without it a prompt
                       is lost whose client was killed over it
  log/                 what hooks and worker did
  log/hook.log         one line for each hook
  log/memoria.log      what the worker and the commands did
  log/worker.out       what the worker printed; a log that has grown long is kept once as <name>.1
  claude/              the working folder of memoria's own model calls; empty
  reader.json          where `memoria open` is running, and its key; gone when it ends
  README               this page
  .gitignore           keeps this folder out of git

Caches: made anew when deleted.
  index.db             the search index
  hidden               which projects were excluded when the pages were prepared
  named                the words by which rules may name a file, a command or a symbol
  page/                prepared text for new sessions
  page/short/          the same, leaving room for where a session stood

Locks and counters of running processes; they say nothing once no memoria runs.
  compile.lock  daily.lock  indexer.lock  model.lock  observer.lock  reader.lock  sync.lock  told.lock  worker.lock
  working.db.replay.lock
  spawns  spawns.indexer  spawns.observer  spawns.weigher

SQLite keeps a -wal and a -shm file beside a database that is open: never delete these alone. A file that could not be
read is set aside as <name>.bak-<time>, guarded by <name>.lock; delete it when you do not need it. A file that ends in
.tmp was being written; what a killed process left is removed after a day.
"""


def open_state(paths: Paths) -> None:
    """Make the state folder (0700) when it is missing and check its version; StateError when it is not ours to use."""
    try:
        with open(paths.version, "rb", opener=places.regular) as file:
            found = file.read(20).strip()
    except FileNotFoundError:
        _make(paths)
        return
    except OSError as error:
        raise StateError(
            f"cannot read {paths.version} ({error.strerror})", "make it readable, or set MEMORIA_STATE"
        ) from error
    if found == b"%d" % places.STATE_VERSION:
        return
    if not found:  # a power cut can leave a file that was never written through
        _make(paths)
        return
    if not found.isdigit():
        remedy = f"restore it to {places.STATE_VERSION} or move {paths.state} away"
        raise StateError(f"{paths.version} should hold a number", remedy)
    if int(found) > places.STATE_VERSION:
        raise _newer(paths, int(found))
    raise StateError(f"{paths.version} says state {int(found)}, which no memoria wrote", f"move {paths.state} away")


def _newer(paths: Paths, found: int) -> StateError:
    """Return the error for a state whose version is higher than this memoria's."""
    from memoria import __version__  # noqa: PLC0415 (only for who cannot go on)
    from memoria.base import invocation  # noqa: PLC0415

    try:
        with open(paths.written_by, "rb", opener=places.regular) as file:
            writer = file.read(40).decode("ascii", "ignore").strip() + ", "
    except OSError:
        writer = ""
    return StateError(
        f"{paths.state} was written by a newer memoria ({writer}state {found}) than this one "
        f"({__version__}, state {places.STATE_VERSION})",
        f"update memoria ({invocation.update()}), or point MEMORIA_STATE elsewhere",
    )


def make_folders(paths: Paths) -> None:
    """Make whatever folder of the state is missing, 0700."""
    for folder in (paths.state, paths.cursors, paths.page, paths.archive, paths.log, paths.spool, paths.where):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    for box in SPOOL_BOXES:
        os.makedirs(os.path.join(paths.spool, box), mode=0o700, exist_ok=True)


def sign(paths: Paths) -> None:
    """Write the folder's README and this memoria's version, unless they say the same: an older one may have."""
    from memoria import __version__  # noqa: PLC0415 (not for a hook whose state stands)
    from memoria.base import atomic  # noqa: PLC0415

    for path, text in ((paths.readme, README.encode()), (paths.written_by, f"{__version__}\n".encode())):
        try:
            with open(path, "rb", opener=places.regular) as file:
                if file.read() == text:
                    continue
        except FileNotFoundError:
            pass
        atomic.replace(path, text)


def _make(paths: Paths) -> None:
    from memoria.base import atomic  # noqa: PLC0415 (not for a hook whose state stands)

    make_folders(paths)
    atomic.replace(paths.gitignore, b"*\n")
    sign(paths)
    if not os.path.exists(paths.since):
        atomic.replace(paths.since, b"%d\n" % time.time())
    atomic.replace(
        paths.version, f"{places.STATE_VERSION}\n".encode()
    )  # last: until it stands, the next caller makes what is missing
