"""OpenSessions: which sessions are open, and the prepared block that says where each of them stands.

Files in one folder, so that a hook only reads: ``<session>.md`` is the block (written by ``observe``),
``<session>.live`` says that the client has begun the session and not ended it (the client's process id and the
project), and ``<session>.compacting`` asks for a checkpoint. Knows names and times; does not know what a block says.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

import os
import time

MAX_CHARS = 2_000  # of a block
KEPT_S = 7 * 86_400  # a block that nobody asked for is of no use after that long
BLOCK, LIVE, COMPACTING = ".md", ".live", ".compacting"


class OpenSessions:
    """The folder. Sessions are safe names (``spool.safe_name``), projects keys, clients process ids as text."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def path(self, session: str, kind: str) -> str:
        """The file of a session; ``kind`` is one of the three endings."""
        return os.path.join(self.folder, session + kind)

    def news(self, cursors: str) -> list[tuple[str, int, bool]]:
        """Return the sessions whose block is older than their cursor in ``cursors``, or that ask for a checkpoint.

        As: the session, its cursor's time in nanoseconds, whether it asks for a checkpoint. A block bears the time of
        the cursor that it was made for.
        """
        found = []
        for name in os.listdir(cursors):
            if "." in name:
                continue
            try:
                stamp = os.stat(os.path.join(cursors, name)).st_mtime_ns
            except FileNotFoundError:  # removed since the folder was listed
                continue
            compacts = os.path.exists(self.path(name, COMPACTING))
            if time.time() - stamp / 1e9 <= KEPT_S and (compacts or self._made_for(name) != stamp):
                found.append((name, stamp, compacts))
        return found

    def expire(self) -> None:
        """Remove what is too old to be asked for."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > KEPT_S:
                    os.unlink(path)
            except FileNotFoundError:  # asked for and taken a moment ago
                continue

    def _made_for(self, session: str) -> int:
        try:
            return os.stat(self.path(session, BLOCK)).st_mtime_ns
        except FileNotFoundError:
            return -1

    def begin(self, session: str, project: str, client: str) -> None:
        """The client has begun (or taken up) this session."""
        self._write(self.path(session, LIVE), f"{client} {project}")

    def end(self, session: str) -> None:
        """The client has ended it: nothing was cut short."""
        _remove(self.path(session, LIVE))

    def ask_checkpoint(self, session: str) -> None:
        """The session is about to be compacted."""
        self._write(self.path(session, COMPACTING), "")

    def block(self, session: str) -> str:
        """Where this session stood when it was looked at last; ``""`` when it never was."""
        try:
            with open(self.path(session, BLOCK), encoding="utf-8", errors="replace") as file:
                return file.read(MAX_CHARS)
        except OSError:
            return ""

    def take_cleared(self, project: str, client: str, own: str) -> str:
        """The block of the session that this very client has just cleared away; given once."""
        return self._take([name for name, by, of in self._open() if by == client and of == project and name != own])

    def take_broken_off(self, project: str, own: str) -> str:
        """The latest block among this project's sessions whose client is gone without ending them; given once."""
        gone = [name for name, by, of in self._open() if of == project and name != own and not _is_alive(by)]
        return self._take(gone)

    def _take(self, sessions: list[str]) -> str:
        latest = max(sessions, key=self._seen, default="")
        for session in sessions:  # the older ones too: the next session must not be told of them instead
            self.end(session)
        if not latest or not 0 <= time.time() - self._seen(latest) < KEPT_S:
            return ""
        return self.block(latest)

    def _seen(self, session: str) -> float:
        try:
            return os.stat(self.path(session, BLOCK)).st_mtime
        except OSError:
            return 0.0

    def _open(self) -> list[tuple[str, str, str]]:
        """Every open session: its name, client and project."""
        found = []
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        for name in names:
            if not name.endswith(LIVE):
                continue
            try:
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    client, _, project = file.read(1000).partition(" ")
            except OSError:
                continue
            found.append((name[: -len(LIVE)], client, project))
        return found

    def _write(self, path: str, text: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def _is_alive(client: str) -> bool:
    """Whether the client still runs. On Windows, where asking would end it, every client counts as running."""
    if os.name == "nt":
        return True
    try:
        os.kill(int(client), 0)  # no signal, only the question
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
