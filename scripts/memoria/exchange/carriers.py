"""Carriers: where the segments of several machines lie: a folder that something else synchronises, or a git repository.

A carrier lists, reads, writes and deletes files, each below the name of a machine, and understands none of them.

In git each file has a ref, ``refs/memory/<machine>/<name>``: a commit without parents, which a push replaces only if
the ref still is what was read. So there is no branch, no merge and no history, and what is there is not sent again.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from memoria.base import failpoints
from memoria.ground import files, home_files
from memoria.ground.errors import ExpectedError

Place = tuple[str, str]
"""A file of a carrier: the machine and the name."""

NETWORK_S: Final = 120.0  # for one fetch or push, unless a person waits for it
LOCAL_S: Final = 60.0
LOOSE: Final = 60  # objects that the own clone may hold unpacked
_REFS: Final = "refs/memory/"
_FILE: Final = "segment"  # the one file of a commit
_LOCAL: Final = "file://"  # begins the address of a repository on this machine
_SCHEMES: Final = (_LOCAL, "ssh://", "git://", "http://", "https://")
_AGAIN: Final = ("atomic push failed", "stale info", "[rejected]", "cannot lock ref", "failed to update ref")


class CarrierError(ExpectedError):
    """The carrier cannot be used now; nothing is lost, and the next exchange tries again."""


class Folder:
    """A folder that something else synchronises, or that several machines can reach.

    Each method raises CarrierError when the carrier cannot be used now, as those of ``Git`` do.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.address = root, str(root)

    def list_files(self) -> set[Place]:
        """Return the files that are there."""
        try:
            machines = [entry for entry in os.scandir(self.root) if entry.is_dir() and not entry.name.startswith(".")]
            return {(machine.name, entry.name) for machine in machines for entry in os.scandir(machine.path)}
        except OSError as error:
            raise CarrierError(f"{self.root} cannot be read ({error.strerror}).") from error

    def read(self, places: Collection[Place]) -> Iterator[tuple[Place, bytes]]:
        """Yield the contents of those files that can be read."""
        for machine, name in sorted(places):
            with suppress(OSError):  # it was deleted, or is on its way
                yield (machine, name), home_files.read(self.root / machine / name)

    def write(self, new: Mapping[Place, bytes], gone: Collection[Place]) -> bool:
        """Write files, then delete others; return whether no other machine was faster, which changes nothing."""
        try:
            for (machine, name), data in new.items():
                files.replace(self.root / machine / name, data)
                failpoints.reach("exchange.written")
            for machine, name in gone:
                (self.root / machine / name).unlink(missing_ok=True)
        except OSError as error:
            raise CarrierError(f"{self.root} cannot be written ({error.strerror}).") from error
        return True

    def shred(self) -> None:
        """Keep no copy here of what was deleted: there is none."""


class Git:
    """The refs of a git repository; ``clone`` is a bare repository of our own."""

    def __init__(self, address: str, clone: Path, limit_s: float = NETWORK_S) -> None:
        self.address = address
        self.clone = clone
        self.limit_s = limit_s
        kept = {name: value for name, value in os.environ.items() if name[:4] != "GIT_" or name == "GIT_SSH_COMMAND"}
        self.environment = kept | {  # without what could ask or belongs to another repository
            "GIT_DIR": str(clone), "GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never",
            "SSH_ASKPASS_REQUIRE": "never", "GIT_ALLOW_PROTOCOL": "ssh:git:http:https:file", "LC_ALL": "C",
        }  # fmt: skip
        self.refs: dict[Place, str] = {}

    def list_files(self) -> set[Place]:
        """Fetch, and return the files that are there."""
        if not (self.clone / "HEAD").exists():
            self.clone.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._run("init", "-q", "--bare")
        loose = len(list((self.clone / "objects").glob("[0-9a-f][0-9a-f]/*")))
        if loose > LOOSE or len(list((self.clone / "objects" / "pack").glob("*.pack"))) > LOOSE:
            self.shred()  # to read them would cost more than the exchange
        fetch = ("fetch", "-q", "--prune", "--no-tags", "--no-write-fetch-head", self.address, f"+{_REFS}*:{_REFS}*")
        self._run(*fetch, limit_s=self.limit_s)
        rows = self._run("for-each-ref", "--format=%(refname) %(objectname)", _REFS).decode().split("\n")
        found = (row.removeprefix(_REFS).replace(" ", "/").split("/") for row in rows if row)
        self.refs = {(machine, name): commit for machine, name, commit in found}
        return set(self.refs)

    def read(self, places: Collection[Place]) -> Iterator[tuple[Place, bytes]]:
        """Yield the contents of those files."""
        wanted = sorted(set(places) & set(self.refs))
        given = "".join(f"{self.refs[place]}:{_FILE}\n" for place in wanted)
        data, start = self._run("cat-file", "--batch", given=given.encode()) if wanted else b"", 0
        for place in wanted:
            end = data.index(b"\n", start)
            size = int(data[start:end].split()[2])
            yield place, data[end + 1 : end + 1 + size]
            start = end + size + 2

    def write(self, new: Mapping[Place, bytes], gone: Collection[Place]) -> bool:
        """Push new files and the deletion of others, all or none of them."""
        refs = {place: f"{_REFS}{'/'.join(place)}" for place in (*new, *gone)}
        stream = b"".join(
            b"commit %b\ncommitter memoria <memoria@localhost> now\ndata 0\nM 100644 inline %b\ndata %d\n%b\n"
            % (refs[place].encode(), _FILE.encode(), len(data), data)
            for place, data in new.items()
        )
        self._run("fast-import", "--quiet", "--force", "--date-format=now", given=stream)
        failpoints.reach("exchange.written")
        leases = [f"--force-with-lease={ref}:{self.refs.get(place, '')}" for place, ref in refs.items()]
        wanted = [f"{ref if place in new else ''}:{ref}" for place, ref in refs.items()]
        try:
            push = ("-c", "pack.window=0", "push", "-q", "--no-thin", "--atomic", *leases, self.address)
            self._run(*push, *wanted, limit_s=self.limit_s)
        except CarrierError as error:
            if any(sign in str(error) for sign in _AGAIN):
                return False
            raise  # the next fetch takes back what was not pushed
        if gone:  # before ``shred``, which keeps what a ref holds
            self._run("update-ref", "--stdin", given="".join(f"delete {refs[place]}\n" for place in gone).encode())
        return True

    def shred(self) -> None:
        """Drop every object that no machine's ref holds."""
        self._run("repack", "-q", "-a", "-d")
        self._run("prune", "--expire=now")

    def _run(self, *arguments: str, given: bytes = b"", limit_s: float = LOCAL_S) -> bytes:
        """Run git, which asks nobody for anything; raise CarrierError when it fails or takes longer than its limit."""
        settings = ("gc.auto=0", "maintenance.auto=false", "core.hooksPath=/dev/null", "core.askPass=",
                    "http.lowSpeedLimit=100", "http.lowSpeedTime=30")  # fmt: skip
        command = ["git", *(part for each in settings for part in ("-c", each)), *arguments]
        try:
            process = subprocess.Popen(
                command, cwd=self.clone, env=self.environment, start_new_session=True,  # no terminal to ask in
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise CarrierError(f"git cannot be run ({error.strerror}).") from error
        try:
            output, told = process.communicate(given, timeout=limit_s)
        except BaseException as error:
            with suppress(OSError):
                if hasattr(os, "killpg"):  # with what it has started
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise CarrierError(f"{self.address} did not answer within {limit_s:.0f} seconds.") from None
            raise
        if process.returncode:
            rows = [row for row in told.decode("utf-8", "replace").splitlines() if row.strip()]
            raise CarrierError(f"git could not use {self.address}: {' '.join(rows[:3]) or 'it gave no reason'}")
        return output


Carrier = Folder | Git


def address_of(given: str) -> str:
    """Return an address as it is known from every folder; raise ExpectedError for what is none.

    A folder is what begins as a path, or is there. What else has no host is mistyped, and would become a folder.
    """
    path = Path(given).expanduser()
    if given.startswith(_SCHEMES) or ("://" not in given and is_far(given)):
        return given
    if path.is_absolute() or given.startswith((".", "~")) or path.is_dir():
        return str(path.absolute())
    raise ExpectedError(
        f"There is no folder {given}. Write a new one as ./FOLDER, and a git address as https://HOST/PATH or "
        "git@HOST:PATH."
    )


def is_git(address: str) -> bool:
    """Return whether an address names a git repository: a URL, ``host:path``, or the folder of a repository."""
    path = Path(address).expanduser()
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
    return is_far(address) or address.startswith(_LOCAL) or address.endswith(".git") or is_bare


def is_far(address: str) -> bool:
    """Return whether an address is not a path of this machine."""
    if "://" in address:
        return not address.startswith(_LOCAL)
    host, colon, _ = address.partition(":")
    return bool(colon) and len(host) > 1 and not any(sign in host for sign in "/\\")


def open_carrier(address: str, clone: Path, limit_s: float = NETWORK_S) -> Carrier:
    """Return the carrier of an address."""
    path = Path(address).expanduser()
    if not is_git(address):
        return Folder(path)
    return Git(str(path) if address.startswith("~") else address, clone, limit_s)
