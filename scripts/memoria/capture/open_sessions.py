"""Open sessions: which sessions are open, and the prepared block that says where each of them stands.

Each session has files in one folder, so that a hook only has to read: ``<session>.md`` is the block, written by
``observe``; ``<session>.live`` (the client's process id and the project) exists while the session is open; and
``<session>.compacting`` asks for a checkpoint. Knows names and times, not what a block says.
"""

from __future__ import annotations

import os
import time

MAX_CHARS = 2_000  # of a block
KEPT_S = 7 * 86_400  # age at which a block that was not used is removed
BLOCK, LIVE, COMPACTING = ".md", ".live", ".compacting"


class OpenSessions:
    """The folder of these files. Sessions are safe names (``spool.safe_name``), projects keys, clients process ids."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def path(self, session: str, kind: str) -> str:
        """Return the file of a session; ``kind`` is one of the three endings."""
        return os.path.join(self.folder, session + kind)

    def news(self, cursors: str) -> list[tuple[str, int, bool]]:
        """Return the sessions whose block is older than their cursor in ``cursors``, or that ask for a checkpoint.

        Each item is the session, its cursor's modification time in nanoseconds, and whether it asks for a checkpoint. A
        block has the modification time of the cursor that it was made for.
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
        """Remove files that are too old to be used."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > KEPT_S:
                    os.unlink(path)
            except FileNotFoundError:  # used and removed a moment ago
                continue

    def _made_for(self, session: str) -> int:
        try:
            return os.stat(self.path(session, BLOCK)).st_mtime_ns
        except FileNotFoundError:
            return -1

    def begin(self, session: str, project: str, client: str) -> None:
        """Record that the client has begun or resumed this session."""
        self._write(self.path(session, LIVE), f"{client} {project}")

    def end(self, session: str) -> None:
        """Record that the client has ended this session, so that it was not interrupted."""
        _remove(self.path(session, LIVE))

    def ask_checkpoint(self, session: str) -> None:
        """Ask for a checkpoint, because the session is about to be compacted."""
        self._write(self.path(session, COMPACTING), "")

    def block(self, session: str) -> str:
        """Return the block of this session, ``""`` when it has none."""
        try:
            with open(self.path(session, BLOCK), encoding="utf-8", errors="replace") as file:
                return file.read(MAX_CHARS)
        except OSError:
            return ""

    def take_cleared(self, project: str, client: str, own: str) -> str:
        """Return the block of the session that this client has just cleared; it is returned once."""
        return self._take([name for name, by, of in self._open() if by == client and of == project and name != own])

    def take_interrupted(self, project: str, own: str) -> str:
        """Return, once, the latest block of the project's sessions whose client died without ending them."""
        gone = [name for name, by, of in self._open() if of == project and name != own and not _is_alive(by)]
        return self._take(gone)

    def _take(self, sessions: list[str]) -> str:
        latest = max(sessions, key=self._seen, default="")
        for session in sessions:  # the older ones too, or the next session would get their blocks
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
        """Return name, client and project of every open session."""
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
    """Return whether the client is running; always true on Windows, where the check would end the process."""
    if os.name == "nt":
        return True
    try:
        os.kill(int(client), 0)  # signal 0 only checks
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
