"""Proof: search everything that memoria stores for texts, in every form that one can be stored in.

Compressed files are unpacked, the rows of databases are read and their free pages too, and escapes of JSON, Markdown
and HTML are undone. What cannot be read is named, because it may hold the text. Nothing is changed here.
"""

from __future__ import annotations

import gzip
import html
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memoria.base import project, sqlite
from memoria.exchange import team
from memoria.ground.home import Home
from memoria.search.words import fold
from memoria.transcripts import client_files, clients
from memoria.working.shared_store import open_store

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BLANK = frozenset("nrtbf")
_NESTED = 3  # levels of JSON within JSON that are undone
_GZIP, _SQLITE = b"\x1f\x8b", b"SQLite format 3\0"
_TOKEN = re.compile(rb"[a-z0-9]{3,}")


@dataclass(slots=True)
class Proof:
    """What was searched and found.

    ``holding`` and ``unread`` name places of memoria; ``client`` names files of Claude Code or shared with a team,
    which only the user may change.
    """

    files: int = 0
    bytes: int = 0
    values: int = 0  # of working memory
    holding: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    client: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether everything could be read and nothing holds the texts."""
        return not (self.holding or self.unread)


async def search(home: Home, texts: Sequence[str]) -> Proof:
    """Search for ``texts`` in the home, in the state folder, in working memory and in Claude Code's own files."""
    proof = Proof()
    wanted = [plain for text in texts if (plain := fold(text))]
    for path in _files(home):
        try:
            data = path.read_bytes()
            proof.files += 1
            proof.bytes += len(data)
            if any(holds(text, wanted) for text in _texts(path, data)):
                proof.holding.append(str(path))
        except FileNotFoundError:
            continue  # a file of a session that goes on
        except (OSError, EOFError, zlib.error, sqlite3.Error) as error:
            proof.unread.append(f"{path} ({error})")
    if wanted:
        await _search_working(home, wanted, proof)
        proof.client = [name for name, data in _client_files(home) if _client_holds(data, wanted)]
    return proof


def texts(home: Home) -> Iterator[str]:
    """Yield what every file says that can be read."""
    for path in _files(home):
        with suppress(OSError, EOFError, zlib.error, sqlite3.Error):
            yield from _texts(path, path.read_bytes())


def holds(text: str, wanted: Sequence[str]) -> bool:
    """Return whether ``text`` contains one of ``wanted``, which are folded, in any form."""
    forms = set(map(fold, {*_forms(text)}))
    return any(plain in form for form in forms for plain in wanted)


def _forms(text: str) -> Iterator[str]:
    """Yield the text as it is, and with its escapes undone."""
    yield text
    for _ in range(_NESTED):
        text = _ESCAPE.sub(_unescape, text)
        yield text
    yield html.unescape(text)


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return " " if match[2] in _BLANK else match[2]


def _files(home: Home) -> Iterator[Path]:
    paths = home.paths
    for place in (paths.daily, paths.knowledge, paths.state):
        for folder, _, names in os.walk(place):
            # what a link leads to lies in the same folder, and is looked at there, or is not memoria's
            paths_ = (path for name in names if str(path := Path(folder, name)) != paths.readme)
            yield from (path for path in paths_ if path.is_file() and not path.is_symlink())


def _texts(path: Path, data: bytes) -> Iterator[str]:
    """Yield what a file says, decoded."""
    if data.startswith(_GZIP):
        data = gzip.decompress(data)
    elif data.startswith(_SQLITE):
        yield from _rows(path)
    elif path.name.endswith(".gz"):
        raise OSError("not compressed")
    yield data.decode("utf-8", "ignore")


def _rows(path: Path) -> Iterator[str]:
    """Yield the rows of a database's tables; long values lie scattered over the file."""
    with closing(sqlite.read_only(str(path.absolute()))) as db:
        db.text_factory = lambda data: data.decode("utf-8", "replace")
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
        for (name,) in tables.fetchall():
            quoted = '"' + str(name).replace('"', '""') + '"'
            for row in db.execute(f"SELECT * FROM {quoted}"):  # noqa: S608 (a name of the schema, quoted)
                yield "\n".join(it.decode("utf-8", "ignore") if isinstance(it, bytes) else str(it) for it in row)


async def _search_working(home: Home, wanted: Sequence[str], proof: Proof) -> None:
    if not (Path(home.paths.working).exists() or home.settings.redis_url):
        return
    store = open_store(home.settings, home.paths)
    try:
        for scope in await store.scopes():
            for internal in (True, False):
                for key, record in (await store.records(scope, internal=internal)).items():
                    proof.values += 1
                    if holds(f"{key}\n{record.value}", wanted):
                        proof.holding.append(f"working memory: {scope}")
    finally:
        await store.close()


def _client_files(home: Home) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of what coding agents wrote or a team shares; what cannot be read is passed over."""
    for found in clients.sessions(tuple(clients.CLIENTS), sides=True):
        with suppress(OSError):
            yield str(found.path), found.path.read_bytes()
    roots = project.read(home.paths.projects).folders
    shared = (path for root in roots for path in Path(root, team.FOLDER).glob("*.md"))
    for path in (*client_files.folder(os.environ).glob("*/memory/**/*.md"), *shared):
        with suppress(OSError):
            yield str(path), path.read_bytes()


def _client_holds(data: bytes, wanted: Sequence[str]) -> bool:
    """Return whether a file of a coding agent's holds one of the texts; its longest plain word is looked for first."""
    data = data.lower()
    likely = []
    for plain in wanted:
        words = _TOKEN.findall(plain.encode("utf-8", "replace"))
        if not words or max(words, key=len) in data:
            likely.append(plain)
    return bool(likely) and holds(data.decode("utf-8", "replace"), likely)
