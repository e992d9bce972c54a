"""Client settings: Claude Code's settings.json as a file, and the hooks of ours that an install before 0.3 put there.

Codex's hooks.json has the same form, and is written here. Everything that is not ours stays as it is, in its order; a
file that cannot be understood is never touched. Knows the form of the client's ``hooks`` (event -> groups -> handlers:
Claude Code's settings and hooks reference) and where its settings lie; does not know what the hooks do.

Codex, read from its source (openai/codex, ``codex-rs/hooks/src/engine/discovery.rs``, ``schema.rs``) and documentation
(https://developers.openai.com/codex/hooks), 2026: ``$CODEX_HOME/hooks.json`` maps events to groups of handlers, a
handler's ``command`` is a line for the user's shell (``commandWindows`` for cmd.exe), an exit status of 2 makes Codex
go on with what the hook said, and a handler runs only after the user has trusted it. A handler that is declared
``async`` was passed over in earlier versions.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

from memoria.base import paths, user_environment
from memoria.base.atomic import PRIVATE
from memoria.ground import clock, files
from memoria.ground.errors import ClientSettingsError, SavedMeanwhileError
from memoria.ground.swap import Swap

Object = dict[str, object]
Hooks = dict[str, list[Object]]  # event -> groups, each {"hooks": [handler, ...]}, perhaps with a "matcher"
FLOOR_FLAGS = ["-S", "-I"]  # how every handler of ours starts its interpreter
LAUNCHER = "run"
MAKE_LINKS = "run `git config core.symlinks true` and `git checkout plugin` in the clone"
CODEX_EVENTS = ("SessionStart", "Stop")  # those that all versions with hooks have, from 0.114 on
CODEX_TIMEOUT_S = 30
CODEX_TRUST = (
    "Codex runs a hook only after you have trusted it: start codex, open /hooks and trust memoria's two hooks. "
    "With hooks = false under [features] in its config.toml none runs; Codex before 0.130 needs codex_hooks = true."
)


def client_python(environ: Mapping[str, str]) -> str:
    """``python3`` as the client will find it, ``""`` when it will not.

    A virtual environment that is active here is not there when the client runs: its folder does not count.
    """
    own = {Path(sys.prefix, name) for name in ("bin", "Scripts")}
    folders = [folder for folder in environ.get("PATH", "").split(os.pathsep) if folder and Path(folder) not in own]
    return shutil.which("python3", path=os.pathsep.join(folders)) or ""


def plugin_hooks(root: Path, python: str) -> Hooks:
    """The hooks of ``<root>/hooks/hooks.json`` with this root written out, and the interpreter where one is named."""
    source = root / "hooks" / "hooks.json"
    try:
        declared = json.loads(source.read_text("utf-8"))["hooks"]
    except FileNotFoundError:
        raise ClientSettingsError(f"there is no {source}: this memoria is not complete; install it again") from None
    hooks: Hooks = json.loads(json.dumps(declared))
    for handler in _handlers(hooks):
        launcher = shlex.join(filter(None, (str(root / "hooks" / LAUNCHER), python)))
        handler["command"] = str(handler["command"]).replace(f'"${{CLAUDE_PLUGIN_ROOT}}/hooks/{LAUNCHER}"', launcher)
    return hooks


def missing_links() -> str:
    """Say that a clone's plugin folder holds files for its links, as git on Windows may leave it; ``""`` if not so."""
    folder = Path(paths.ROOT, "plugin")
    is_missing = folder.is_dir() and not (folder / "scripts").is_dir()
    return f"{folder} does not lead to the scripts: its symbolic links are missing" if is_missing else ""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """One settings file: ``raw`` its bytes (None: there is no file), ``value`` what they say."""

    path: Path
    raw: bytes | None
    value: Object

    @classmethod
    def read(cls, path: Path) -> ClientSettings:
        """A missing file says ``{}``; ClientSettingsError when it cannot be read or has not the form it must have."""
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return cls(path, None, {})
        except OSError as error:
            raise ClientSettingsError(f"{path} cannot be read ({error.strerror}); nothing was changed") from None
        try:
            value = _parse(raw)
        except ValueError as error:
            raise ClientSettingsError(
                f"{path} is not what the client's settings must be ({error}); correct it and try again. "
                "Nothing was changed."
            ) from None
        return cls(path, raw, value)

    @classmethod
    def read_both(cls, environ: Mapping[str, str]) -> list[ClientSettings]:
        """The user's settings, and those of this folder, where an install before 0.3 could put hooks."""
        places = user_environment.user_file(environ), Path(".claude", "settings.local.json")
        return [cls.read(Path(place).absolute()) for place in places]

    @property
    def our_hooks(self) -> Hooks:
        """The groups of our hooks that stand in it, by event, without what stands beside ours in a group."""
        return _share(self.value, ours=True)

    @property
    def our_commands(self) -> list[list[str]]:
        """The command line of each of our hooks in it."""
        return [_words(handler) for handler in _handlers(self.our_hooks)]

    @property
    def plugin(self) -> bool | None:
        """Whether memoria's plugin is switched on in it; None when it is not installed."""
        enabled = self.value.get("enabledPlugins")
        ours = [on for name, on in enabled.items() if name.startswith("memoria@")] if isinstance(enabled, dict) else []
        return any(ours) if ours else None

    @property
    def missing_source(self) -> str:
        """What the client reads our plugin from, or starts for a hook, when it was moved or deleted, else ``""``."""
        known: Any = self.value.get("extraKnownMarketplaces")
        with suppress(KeyError, TypeError, IndexError, ValueError):
            path = Path(str(known["memoria"]["source"]["path"]))
            if not (hooks := path / "plugin" / "hooks" / "hooks.json").is_file():
                return str(path)
            handlers = _handlers(json.loads(hooks.read_text("utf-8"))["hooks"])
            names = (shlex.split(str(handler["command"]))[2] for handler in handlers)  # of a clone with a variable
            return next((name for name in names if not (name.startswith("$") or Path(name).exists())), "")
        return ""

    def merge(self, hooks: Hooks) -> bytes:
        """The file with exactly these hooks of ours, any others of ours replaced; the same bytes when they stand."""
        if self.raw is not None and self.our_hooks == hooks:
            return self.raw
        merged = _share(self.value, ours=False)
        for event, groups in hooks.items():
            merged[event] = [*merged.get(event, []), *groups]
        value = {**self.value, "hooks": merged}
        if not merged:
            del value["hooks"]
        return self._serialise(value)

    def write(self, data: bytes, exchange: Swap) -> Path | None:
        """Replace the file by ``data``; return the copy of what it was, None when it is as it was.

        A symbolic link stays one: what it points to is replaced. The copy stands beside the link. A file that was saved
        since it was read is left alone, with SavedMeanwhileError.
        """
        if data == self.raw:
            return None
        copy = None
        try:
            if self.raw is not None:
                copy = self.path.with_name(f"{self.path.name}.bak-{clock.now():%Y%m%dT%H%M%S.%fZ}")
                files.replace(copy, self.raw, mode=self.path.stat().st_mode & 0o777)
            exchange.replace(self.path, data, self.raw, mode=PRIVATE)
        except SavedMeanwhileError:
            if copy:
                copy.unlink()
            raise
        except OSError as error:
            raise ClientSettingsError(
                f"{self.path} cannot be written ({error.strerror or error}); it is as it was"
            ) from None
        return copy

    def _serialise(self, value: Object) -> bytes:
        """JSON with the file's indentation and line ends."""
        raw = self.raw or b""
        indent = re.search(rb"\n([ \t]+)\S", raw)
        text = json.dumps(value, indent=indent[1].decode() if indent else 2, ensure_ascii=False) + "\n"
        return (text.replace("\n", "\r\n") if b"\r\n" in raw else text).encode()


def _parse(raw: bytes) -> Object:
    """ValueError, with a word about what is wrong, for everything that cannot be written back as it was."""
    text = raw.decode("utf-8-sig")
    if not text.strip():  # the client takes an empty file for one without settings
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_reject_duplicates)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # also half a surrogate pair
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("it must hold one JSON object")
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError('"hooks" must be an object')
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise ValueError(f'"hooks.{event}" must be a list')
    return value


def _reject_duplicates(pairs: list[tuple[str, object]]) -> Object:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError(f"a key stands twice beside {next(iter(value))!r}")
    return value


def _share(settings: Object, *, ours: bool) -> Hooks:
    """The settings' hooks that are ours, or those that are not; what was empty before is not ours."""
    hooks = settings.get("hooks")
    found: Hooks = {}
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        kept = [part for part in (_share_of_group(group, ours=ours) for group in groups) if part is not None]
        if kept or not (groups or ours):
            found[event] = kept
    return found


def _share_of_group(group: object, *, ours: bool) -> Object | None:
    """The group with only those handlers that are ours (or not); None when there are none."""
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(group, dict) or not isinstance(handlers, list):
        return None if ours else group  # type: ignore[return-value]  # of no known form: not ours, kept as it is
    kept = [handler for handler in handlers if _is_ours(handler) == ours]
    return {**group, "hooks": kept} if kept or not (handlers or ours) else None


def _handlers(hooks: Hooks) -> Iterator[Object]:
    for groups in hooks.values():
        for group in groups:
            handlers = group["hooks"]
            assert isinstance(handlers, list)  # noqa: S101 (our own file, and a test reads it)
            yield from handlers


def _words(handler: Object) -> list[str]:
    """The handler's command line: exec form has ``args``, shell form is split as a shell would."""
    command, arguments = handler.get("command"), handler.get("args")
    if isinstance(arguments, list):
        return [str(command), *map(str, arguments)]
    try:
        return shlex.split(str(command))
    except ValueError:
        return str(command).split()


def _is_ours(handler: object) -> bool:
    """Whether it runs the hooks of a memoria: of this clone, of another one, or of one that has gone.

    Until 0.2 they were ``<a memoria>/hooks/<name>.py``, now ``set <name> <a memoria>/hooks/run``.
    """
    if not isinstance(handler, dict) or handler.get("type") != "command":
        return False
    words = _words(handler)
    every = (PureWindowsPath(word) if "\\" in word else PurePath(word) for word in words)
    paths = [path for path in every if path.is_absolute()]
    scripts = [path for path in paths if path.match("hooks/*.py") or path.match(f"hooks/{LAUNCHER}")]
    return any(_is_root(Path(path.parent.parent), words) for path in scripts)


def _is_root(root: Path, words: list[str]) -> bool:
    if root.is_dir():
        package = root if root.name == "memoria" and (root / "__init__.py").is_file() else root / "scripts" / "memoria"
        return (package / "__init__.py").is_file()  # of a wheel, or of a clone
    own = Path(__file__).parents[1] / "hooks"
    is_launched = any((own / f"{word}.py").is_file() for word in words if word.replace("-", "").isalpha())
    return root.name == "memoria" or words[1:3] == FLOOR_FLAGS or is_launched  # moved or removed since


# -- Codex


def codex_hooks(root: Path, python: str) -> Hooks:
    """Return the hooks of the memoria at ``root``.

    A memoria that has been removed must not make Codex go on: the status is 0 whatever the interpreter says.
    """
    launcher = str(root / "hooks" / LAUNCHER)
    launched = [launcher, "codex", launcher, *([python] if python else [])]
    words = [python or "python3", *FLOOR_FLAGS, str(root / "hooks" / "codex.py")]
    handler: dict[str, object] = {
        "type": "command",
        "command": f"{shlex.join(launched)} || true",
        "commandWindows": f"{subprocess.list2cmdline(words)} || exit 0",
        "timeout": CODEX_TIMEOUT_S,
    }
    return {event: [{"hooks": [dict(handler)]}] for event in CODEX_EVENTS}
