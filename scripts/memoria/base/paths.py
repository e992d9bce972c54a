"""Paths: where everything lies on disk, worked out once from the settings, and which names a file may have.

Knows names, not contents. All attributes are absolute paths as ``str``, because hooks cannot afford to import pathlib.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memoria.base.settings import Settings

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _root(package: str) -> str:
    """Return the folder that holds ``hooks/``: the clone, the plugin's folder or, in an installed wheel, the package.

    In a clone it is a real path, because plugin/ holds links: memoria that runs as plugin/scripts/ has the clone as
    its root. A wheel's path is kept as it is, because the installer may have linked each file to its cache.
    """
    if os.path.basename(os.path.dirname(package)) != "scripts":
        return package
    return os.path.dirname(os.path.dirname(os.path.realpath(package)))


ROOT = _root(PACKAGE)

MAX_PATH = 32_767  # characters of a path, the most that any system takes
MAX_NAME_BYTES = 200  # of a file named after a project's key; 255 is what file systems take
MAX_NAME_WINDOWS = 100  # there 260 characters are the most of a whole path
WINDOWS = os.name == "nt"  # a value that tests can change
DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))))
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
FORBIDDEN = '<>:"/\\|?*'  # in a file's name on Windows
STATE_VERSION = 1  # of the form of the state folder
SPOOL_BOXES = ("tmp", "new", "cur", "failed")  # below the spool; the folder of a job is its state


def expand(path: str) -> str:
    """Return ``path`` with the home folder for ``~`` and ``$HOME``; unchanged when no user can have the name in it."""
    for name in ("$HOME", "${HOME}"):
        if path.startswith(name + "/"):
            path = "~" + path[len(name) :]
    try:
        return os.path.expanduser(path)
    except ValueError:  # a NUL or a lone surrogate
        return path


def file_name(key: str) -> str:
    """Return a project's key as the name of a file; one that is too long is cut before the digits at its end."""
    most = MAX_NAME_BYTES
    if WINDOWS:
        key, most = "".join("_" if sign in FORBIDDEN or sign < " " else sign for sign in key), MAX_NAME_WINDOWS
    whole = key.encode("utf-8", "replace")
    if len(whole) <= most:
        return key
    return whole[:most].decode("utf-8", "ignore") + key[key.rfind("-") :]


def safe_name(text: str) -> str:
    """Return ``text`` as a file name of at most 80 characters; different texts get different names."""
    safe = "".join([letter if letter in SAFE else "_" for letter in text[:64]])
    if safe == text and safe and not is_device(safe):
        return safe
    import binascii  # noqa: PLC0415 (sessions have plain names)

    return f"{safe}_{binascii.crc32(text.encode('utf-8', 'replace')):08x}"


def is_device(name: str) -> bool:
    """Return whether Windows takes a file of this name for a device, whatever its ending and its case."""
    return name.partition(".")[0].rstrip(" ").lower() in DEVICES


WRITING = os.O_WRONLY | os.O_CREAT
_UNBLOCKED = getattr(os, "O_NONBLOCK", 0)
BINARY = getattr(os, "O_BINARY", 0)


def opener(path: str, flags: int = WRITING) -> int:
    """Open a file for its owner alone, like everything in the state folder; an ``opener`` for ``open``.

    A pipe that nobody reads is an OSError.
    """
    return os.open(path, flags | _UNBLOCKED, 0o600)


def private_folder(path: str) -> None:
    """Make a folder for its owner alone, with those above it, where there is none."""
    if not os.path.isdir(path):
        os.makedirs(path, mode=0o700, exist_ok=True)


def regular(path: str, flags: int) -> int:
    """Open a file for ``open``; raise OSError for a pipe or a device, which would let a hook wait or read for ever."""
    descriptor = os.open(path, flags | _UNBLOCKED)
    if os.fstat(descriptor).st_mode & 0o170000 != 0o100000:
        os.close(descriptor)
        raise OSError(22, "no regular file", path)  # EINVAL
    return descriptor


def data_of(path: str) -> bytes:
    """Return what a regular file holds; raise OSError for anything else."""
    with open(path, "rb", opener=regular) as file:
        return file.read()


def text_of(path: str) -> str:
    """Return the text of a regular file, whatever it holds; raise OSError for anything else."""
    return data_of(path).decode("utf-8", "replace")


class Paths:
    """The folders and files of one home and its state; no other module spells out their names."""

    def __init__(self, home: str, state: str = "") -> None:
        """Work out the paths; ``state`` defaults to ``<home>/.memoria``."""
        self.home = os.path.abspath(os.path.expanduser(home))
        self.daily = os.path.join(self.home, "daily")
        self.knowledge = os.path.join(self.home, "knowledge")
        chosen = os.path.abspath(os.path.expanduser(state)) if state else os.path.join(self.home, ".memoria")
        self.state = chosen
        self._place_files(os.path.join(chosen, ""))

    def _place_files(self, state: str) -> None:
        """Name the files of the state; ``state`` ends with a separator."""
        self.readme, self.gitignore = state + "README", state + ".gitignore"
        self.version, self.written_by = state + "version", state + "written-by"
        self.since = state + "since"
        # capture
        self.spool = state + "spool"
        self.cursors = state + "cursors"
        self.where = state + "where"
        # databases
        self.ledger = state + "ledger.db"
        self.index = state + "index.db"
        self.facts = state + "learned.db"
        self.working = state + "working.db"
        # what sessions are told
        self.page = state + "page"
        self.short_page = os.path.join(self.page, "short")
        self.hidden = state + "hidden"
        self.named = state + "named"
        self.hints = state + "hints"
        self.saved, self.days = state + "saved", state + "days"
        self.doubled = state + "doubled"
        self.notice = state + "notice"
        self.notices_given = state + "told.json"
        self.welcomed, self.gone = state + "welcomed", state + "gone"
        # kept beside the databases
        self.archive = state + "archive"
        self.forgotten, self.forgetting = state + "forgotten.json", state + "forgetting.json"
        self.folders = state + "folders.json"
        self.records, self.exchange_clone = state + "exchange.db", state + "exchange.git"
        self.exchange_key, self.exchanged = state + "exchange.key", state + "exchanged"
        self.team = state + "team.json"
        self.undo = state + "undo"
        self.replaced = state + "replaced"
        self.projects = state + "projects.json"
        self.facts_outbox = state + os.path.join("outbox", "learned")
        self.server_outbox = state + os.path.join("outbox", "server")
        self._place_processes(state)

    def _place_processes(self, state: str) -> None:
        """Name locks, marks and logs."""
        self.worker_lock = state + "worker.lock"
        self.observer_lock = state + "observer.lock"
        self.indexer_lock = state + "indexer.lock"
        self.compile_lock = state + "compile.lock"
        self.daily_lock = state + "daily.lock"
        self.model_lock = state + "model.lock"
        self.sync_lock = state + "sync.lock"
        self.notices_lock = state + "told.lock"
        self.client_cwd = state + "claude"
        self.reader, self.reader_lock = state + "reader.json", state + "reader.lock"
        self.log = state + "log"
        self.hook_log = os.path.join(self.log, "hook.log")
        self.worker_output = os.path.join(self.log, "worker.out")
        self.memoria_log = os.path.join(self.log, "memoria.log")

    def has_state(self) -> bool:
        """Return whether the state folder is there, in the form of this version."""
        try:
            with open(self.version, "rb", opener=regular) as file:
                return file.read(20).strip() == b"%d" % STATE_VERSION
        except OSError:
            return False

    def page_of(self, project: str, *, short: bool = False) -> str:
        """Return the prepared page of a project (by key) or of ``global``; a ``short`` one leaves room for a block."""
        return os.path.join(self.short_page if short else self.page, file_name(project) + ".md")

    @classmethod
    def of(cls, settings: Settings) -> Paths:
        """Return the paths that these settings name."""
        return cls(settings.home or default_home(), settings.state)


def is_checkout() -> bool:
    """Return whether memoria runs from a clone, not from a wheel or a plugin's cache, which an update replaces."""
    inside_client = os.sep + os.path.join("plugins", "cache") + os.sep in ROOT
    return os.path.isfile(os.path.join(ROOT, "pyproject.toml")) and not inside_client


def is_wheel() -> bool:
    """Return whether memoria was installed as a wheel, by uv, pip or pipx, with its packages beside it."""
    return ROOT == PACKAGE


def own_command(python: str, *arguments: str) -> list[str]:
    """Return the command by which ``python`` runs this memoria's command line, also where it is not installed."""
    return [python, os.path.join(PACKAGE, "__main__.py"), *arguments]


def default_home() -> str:
    """Return the home until one is recorded in config.json: ``~/memoria``.

    memoria 0.2.0 made a clone that it was run from its home: that one stays, where it is the only memory.
    """
    own = os.path.join(os.path.expanduser("~"), "memoria")
    return ROOT if is_checkout() and holds_memory(ROOT) and not holds_memory(own) else own


def other_memories(home: str) -> list[str]:
    """Return what else holds memory of the places where memoria may look for its home."""
    places = (os.path.join(os.path.expanduser("~"), "memoria"), *([ROOT] if is_checkout() else []))
    here = os.path.realpath(home)
    return [place for place in places if os.path.realpath(place) != here and holds_memory(place)]


def is_plugin() -> bool:
    """Return whether the client runs this memoria as a plugin, from its own folder or through a clone's plugin/."""
    root = os.environ.get("CLAUDE_PLUGIN_ROOT", "")
    return bool(root) and os.path.realpath(os.path.join(root, "scripts")) == os.path.join(ROOT, "scripts")


def holds_memory(folder: str) -> bool:
    """Return whether something is remembered in a home: a daily log, or conversation in the spool."""
    spool = os.path.join(folder, ".memoria", "spool")
    if any(names(os.path.join(spool, box)) for box in SPOOL_BOXES[1:]):
        return True
    return any(name.endswith(".md") for name in names(os.path.join(folder, "daily")))


def names(folder: str) -> list[str]:
    """Return the names in a folder, none of one that cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
