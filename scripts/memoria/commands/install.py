"""Install: add memoria to Claude Code as its plugin, with the client's own commands, or take it out.

Before 0.3 a clone or a tool wrote its hooks into the client's settings; such an install is replaced once the user
agrees. Codex has no command for that: its file of hooks is written here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from memoria.audit import client_plugin, client_settings
from memoria.audit.client_settings import ClientSettings, client_python, settings_file
from memoria.base import invocation, paths
from memoria.ground import projects
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.home import Home
from memoria.ground.swap import Swap
from memoria.transcripts import codex

FITS = "import sys; sys.exit(sys.version_info < (3, 9))"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--project",
        nargs="?",
        const=".",
        metavar="NAME",
        help="only for this project (its folder, name or key; default: the folder you are in)",
    )
    parser.add_argument("--agent", choices=("claude", "codex"), default="claude", help="which agent (default: claude)")
    parser.add_argument("--remove", action="store_true", help="take memoria out again")
    parser.add_argument("--yes", action="store_true", help="replace an older install without asking")


def command(args: argparse.Namespace, home: Home) -> int:
    """Install or remove, and say what was done and what to do next."""
    if args.agent == "codex":
        return _codex(args, home)
    project = None if args.project is None else projects.folder_meant(args.project, home)
    settings = ClientSettings.read(settings_file(project, os.environ))
    if args.remove:
        return _remove(settings, project, home)
    if settings.ours and not (args.yes or _agreed(settings.path)):
        print("Nothing was changed.")
        return 1
    folder = client_plugin.marketplace(home.settings, interpreter(os.environ))
    said = client_plugin.install(folder, project)
    print(said.partition("✔ ")[2].partition("\n")[0] or said.strip())
    settings = ClientSettings.read(settings.path)  # the client has written it
    if settings.ours:
        print(_took_out(settings, home))
    print(f"Restart running Claude Code sessions, say something in one, then check with {invocation.shown('status')}.")
    print(f"What is remembered goes to {home.paths.home}.")
    if Path(home.paths.home).is_relative_to(paths.ROOT):
        print(f"That is inside this clone, and is deleted with it; {invocation.shown('doctor')} says how to move it.")
    if invocation.is_cached():
        print("Note: this memoria lies in a cache, as uvx runs it; when that is emptied, nothing is kept any more. To "
              f"make it stay: `{invocation.INSTALL_TOOL}`, then `memoria install`.")  # fmt: skip
    if settings.value.get("disableAllHooks"):
        print(f'Note: "disableAllHooks" stands in {settings.path}: no hook will run until it is taken out.')
    return 0


def _agreed(path: Path) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"Hooks of an older install stand in {path}. Add --yes to replace them by the plugin.")
    return input(f"Hooks of an older install stand in {path}. Replace them by the plugin? [Y/n] ") in ("", "y", "Y")


def _remove(settings: ClientSettings, project: Path | None, home: Home) -> int:
    if settings.plugin is None and not settings.ours:
        print(f"memoria is not installed in {settings.path}; nothing was changed.")
        return 0
    if settings.plugin is not None:
        client_plugin.uninstall(project)
        print(f"uninstalled the plugin {client_plugin.PLUGIN}.")
        settings = ClientSettings.read(settings.path)
    if settings.ours:
        print(_took_out(settings, home))
    print(f"Restart running Claude Code sessions. What memoria remembers stays in {home.paths.home}.")
    return 0


def _took_out(settings: ClientSettings, home: Home) -> str:
    copy = settings.write(settings.merged({}), Swap.of(home.paths))
    kept = f" The file as it was: {copy.name}" if copy else ""
    return f"took memoria's {len(settings.ours)} hooks out of {settings.path}.{kept}"


def _codex(args: argparse.Namespace, home: Home) -> int:
    if args.project is not None:
        raise UsageError("--project is for Claude Code; Codex's hooks are installed for the user.")
    settings = ClientSettings.read(codex.folder(os.environ) / "hooks.json")
    if args.remove:
        print(_took_out(settings, home) if settings.ours else f"there are no hooks of memoria in {settings.path}.")
        return 0
    if not codex.folder(os.environ).is_dir():
        raise ExpectedError(f"there is no {codex.folder(os.environ)}: Codex has not run here.")
    hooks = client_settings.codex_hooks(Path(paths.ROOT), interpreter(os.environ))
    copy = settings.write(settings.merged(hooks), Swap.of(home.paths))
    if settings.ours == hooks:
        print(f"memoria's hooks stand in {settings.path} already; nothing was changed.")
    else:
        print(f"memoria's {len(hooks)} hooks stand in {settings.path} now."
              + (f" The file as it was: {copy.name}" if copy else ""))  # fmt: skip
    print(f"{client_settings.CODEX_TRUST}\nWhat is remembered goes to {home.paths.home}.")
    if client_settings.codex_switched_off(os.environ):
        print("Note: config.toml switches Codex's hooks off: no hook will run until that is changed.")
    return 0


def interpreter(environ: Mapping[str, str]) -> str:
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
