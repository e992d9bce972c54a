"""Install: add memoria to Claude Code as its plugin, with the client's own commands, or take it out.

Before 0.3 a clone or a tool wrote its hooks into the client's settings; such an install is replaced once the user
agrees. A clone is a marketplace, whose plugin the client reads in place; for a wheel, one is made in memoria's data
folder, whose hooks and server are those of the wheel. Codex has no command for that: its file of hooks is written here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from memoria.audit import client_settings
from memoria.audit.client_settings import ClientSettings, client_python
from memoria.base import interpreter, invocation, paths
from memoria.base.settings import Settings
from memoria.ground import client_program, files, printable
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.swap import Swap
from memoria.transcripts import codex

MARKETPLACE = "memoria"
PLUGIN = f"memoria@{MARKETPLACE}"
FITS = "import sys; sys.exit(sys.version_info < (3, 9))"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--agent", choices=("claude", "codex"), default="claude", help="which agent (default: claude)")
    parser.add_argument("--remove", action="store_true", help="take memoria out again")
    parser.add_argument("--yes", action="store_true", help="replace an older install without asking")


def command(args: argparse.Namespace, home: Home) -> int:
    """Install or remove, and say what was done and what to do next."""
    if args.agent == "codex":
        return _codex(args, home)
    files = ClientSettings.read_both(os.environ)
    if args.remove:
        return _remove(files, home)
    holding = [str(file.path) for file in files if file.our_hooks]
    older = f"Hooks of an older install stand in {' and '.join(holding)}."
    unasked = f"{older} Add --yes to replace them by the plugin."
    if holding and not (args.yes or printable.confirm(f"{older} Replace them by the plugin?", unasked)):
        print("Nothing was changed.")
        return 1
    _client("marketplace", "add", str(_marketplace(home.settings, hook_python(os.environ))))
    said = _client("install", PLUGIN, "--scope", "user")
    print(said.partition("✔ ")[2].partition("\n")[0] or said.strip())
    _take_out(home)
    print(
        f"Restart running Claude Code sessions, say something in one, then check with {invocation.command('status')}."
    )
    print(f"What is remembered goes to {home.paths.home}.")
    if Path(home.paths.home).is_relative_to(paths.ROOT):
        print(f"That is inside this clone, and is deleted with it; {invocation.command('doctor')} says how to move it.")
    if invocation.is_cached():
        print("Note: this memoria lies in a cache, as uvx runs it; when that is emptied, nothing is kept any more. To "
              f"make it stay: `{invocation.INSTALL_TOOL}`, then `memoria install`.")  # fmt: skip
    for file in files:
        if file.value.get("disableAllHooks"):
            print(f'Note: "disableAllHooks" stands in {file.path}: no hook will run until it is taken out.')
    return 0


def _remove(files: Sequence[ClientSettings], home: Home) -> int:
    if files[0].plugin is None and not any(file.our_hooks for file in files):
        print(f"memoria is not installed in {files[0].path}; nothing was changed.")
        return 0
    if files[0].plugin is not None:
        _uninstall()
        print(f"uninstalled the plugin {PLUGIN}.")
    _take_out(home)
    print(f"Restart running Claude Code sessions. What memoria remembers stays in {home.paths.home}.")
    return 0


def _take_out(home: Home) -> None:
    """Take an older install's hooks out of the settings, which the client may have written meanwhile."""
    for file in ClientSettings.read_both(os.environ):
        if file.our_hooks:
            print(_took_out(file, home))


def _took_out(settings: ClientSettings, home: Home) -> str:
    copy = settings.write(settings.merge({}), Swap(home.paths))
    kept = f" The file as it was: {copy.name}" if copy else ""
    return f"took memoria's {printable.amount(len(settings.our_hooks), 'hook')} out of {settings.path}.{kept}"


# -- the client's own commands


def _marketplace(settings: Settings, python: str) -> Path:
    """Return the folder of the marketplace of this memoria; a wheel's hooks name ``python``, unless it is empty."""
    root = Path(paths.ROOT)
    if paths.is_wheel():
        return _make_marketplace(root, settings, python)
    if not paths.is_checkout():
        raise ExpectedError(f"this memoria is the plugin {PLUGIN}, which is installed; nothing was changed.")
    if missing := client_settings.missing_links():
        raise ExpectedError(f"{missing}; {client_settings.MAKE_LINKS}.")
    return root


def _make_marketplace(root: Path, settings: Settings, python: str) -> Path:
    """Make the marketplace of an installed wheel, or make it anew."""
    folder = Path(interpreter.data_folder(), "plugin")
    about = json.loads((root / "plugin.json").read_text("utf-8"))
    server = paths.own_command(interpreter.find(settings), "mcp")
    about["mcpServers"] = {"memoria": {"command": server[0], "args": server[1:]}}
    plugin = {"name": about["name"], "source": "./plugin", "description": about["description"]}
    for path, content in {
        folder / ".claude-plugin" / "marketplace.json": {
            "name": MARKETPLACE,
            "owner": about["author"],
            "plugins": [plugin],
        },
        folder / "plugin" / ".claude-plugin" / "plugin.json": about,
        folder / "plugin" / "hooks" / "hooks.json": {"hooks": client_settings.plugin_hooks(root, python)},
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, json.dumps(content, indent=2).encode())
    shutil.copytree(root / "skills", folder / "plugin" / "skills", dirs_exist_ok=True)
    return folder


def _uninstall() -> None:
    """Uninstall the plugin, and forget the marketplace when nothing else from it is installed."""
    _client("uninstall", PLUGIN, "--scope", "user")
    if not any(each["id"].endswith(f"@{MARKETPLACE}") for each in json.loads(_client("list", "--json"))):
        _client("marketplace", "remove", MARKETPLACE)


def _client(*words: str) -> str:
    """Run one of the client's ``plugin`` commands and return what it printed. Raise ExpectedError when it fails."""
    program = client_program.find()
    if not program:
        raise ExpectedError(f"{client_program.MISSING}; {client_program.REMEDY}.")
    status, out, error = client_program.run(program, ["plugin", *words])
    if status:
        raise ExpectedError(f"`claude plugin {' '.join(words)}` failed: {(error or out).strip()}")
    return out


# -- Codex


def _codex(args: argparse.Namespace, home: Home) -> int:
    settings = ClientSettings.read(codex.folder(os.environ) / "hooks.json")
    if args.remove:
        print(_took_out(settings, home) if settings.our_hooks else f"there are no hooks of memoria in {settings.path}.")
        return 0
    if not codex.folder(os.environ).is_dir():
        raise ExpectedError(f"there is no {codex.folder(os.environ)}: Codex has not run here.")
    hooks = client_settings.codex_hooks(Path(paths.ROOT), hook_python(os.environ))
    copy = settings.write(settings.merge(hooks), Swap(home.paths))
    if settings.our_hooks == hooks:
        print(f"memoria's hooks stand in {settings.path} already; nothing was changed.")
    else:
        print(f"memoria's {len(hooks)} hooks stand in {settings.path} now."
              + (f" The file as it was: {copy.name}" if copy else ""))  # fmt: skip
    print(f"{client_settings.CODEX_TRUST}\nWhat is remembered goes to {home.paths.home}.")
    return 0


def hook_python(environ: Mapping[str, str]) -> str:
    """``""`` when the client will find a ``python3`` that is new enough (3.9), else the one running this."""
    found = client_python(environ)
    if paths.is_wheel() and sys.prefix == sys.base_prefix:  # no virtual environment tells hooks where the packages are
        return sys.executable
    return "" if found and _fits(found) else str(Path(sys.executable).resolve())


def _fits(python: str) -> bool:
    try:
        tried = subprocess.run([python, "-S", "-I", "-c", FITS], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0
