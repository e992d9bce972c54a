"""Install: write our hooks into Claude Code's settings, for people who run memoria from a clone.

A plugin brings its hooks itself; a clone says them once here. The same hooks as hooks/hooks.json, with this clone's
path. Knows which settings file and which interpreter; the file's form is ``client_settings``' affair.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from memoria.audit import codex_settings
from memoria.audit.client_settings import ClientSettings, client_python, plugin_hooks, settings_file
from memoria.base import invocation, paths
from memoria.ground import projects
from memoria.ground.errors import ExpectedError, UsageError
from memoria.ground.exchange import Exchange
from memoria.ground.home import Home

FITS = "import sys; sys.exit(sys.version_info < (3, 9))"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What ``memoria install`` understands."""
    parser.add_argument(
        "--project",
        nargs="?",
        const=".",
        metavar="NAME",
        help="only for this project (its folder, name or key; default: the folder you are in)",
    )
    parser.add_argument(
        "--agent", choices=("claude", "codex"), default="claude", help="whose settings (default: claude)"
    )
    parser.add_argument("--beside-plugin", action="store_true", help="also when the memoria plugin is switched on")
    parser.add_argument("--remove", action="store_true", help="take memoria's hooks out again")
    parser.add_argument("--dry-run", action="store_true", help="show the change and make none")


def command(args: argparse.Namespace, home: Home) -> int:
    """Write the hooks and say what was done and what to do next."""
    if args.agent == "codex":
        return _into_codex(args, home)
    project = None if args.project is None else projects.folder_meant(args.project, home)
    settings = ClientSettings.read(settings_file(project, os.environ))
    hooks = plugin_hooks(Path(paths.ROOT), interpreter(os.environ))
    data = settings.merged(hooks)
    if args.dry_run:
        sys.stdout.write(settings.difference(data) or f"nothing to change in {settings.path}\n")
        return 0
    plugin = next((name for name in _plugins(project) if name.startswith("memoria@")), "")
    if plugin and not args.beside_plugin:
        raise ExpectedError(
            f"the plugin {plugin} is switched on and brings the same hooks; nothing was changed. Remove it first "
            f"(`claude plugin uninstall {plugin}`), or add --beside-plugin: then only one of the two answers."
        )
    before = sum(map(len, settings.ours.values()))
    copy = settings.write(data, Exchange.of(home.paths))
    sys.stdout.write(report(settings, len(hooks), before, copy))
    sys.stdout.write(
        f"Restart running Claude Code sessions, say something in one, then check with {invocation.shown('status')}.\n"
        f"What is remembered goes to {home.paths.home}.\n"
    )
    if Path(home.paths.home).is_relative_to(paths.ROOT):
        sys.stdout.write(
            f"That is inside this clone, and is deleted with it; {invocation.shown('move')} takes it to ~/memoria.\n"
        )
    if invocation.is_cached():
        sys.stdout.write(
            "Note: this memoria lies in a cache, as uvx runs it; when the cache is emptied, nothing is kept any more. "
            f"To make it stay: `{invocation.INSTALL_TOOL}`, then `memoria install`.\n"
        )
    if settings.value.get("disableAllHooks"):
        sys.stdout.write('Note: "disableAllHooks" stands in this file: no hook will run until it is taken out.\n')
    return 0


def _into_codex(args: argparse.Namespace, home: Home) -> int:
    if args.project is not None:
        raise UsageError("--project is for Claude Code; Codex's hooks are installed for the user.")
    if not codex_settings.folder(os.environ).is_dir():
        raise ExpectedError(f"there is no {codex_settings.folder(os.environ)}: Codex has not run here.")
    settings = ClientSettings.read(codex_settings.hooks_file(os.environ))
    hooks = codex_settings.codex_hooks(Path(paths.ROOT), interpreter(os.environ))
    data = settings.merged(hooks)
    if args.dry_run:
        sys.stdout.write(settings.difference(data) or f"nothing to change in {settings.path}\n")
        return 0
    before = sum(map(len, settings.ours.values()))
    copy = settings.write(data, Exchange.of(home.paths))
    sys.stdout.write(report(settings, len(hooks), before, copy))
    sys.stdout.write(f"{codex_settings.TRUST}\nWhat is remembered goes to {home.paths.home}.\n")
    if codex_settings.switched_off(os.environ):
        sys.stdout.write("Note: config.toml switches Codex's hooks off: no hook will run until that is changed.\n")
    return 0


def _plugins(project: Path | None) -> list[str]:
    """Return the plugins that are switched on in the user's settings and in those of the project."""
    files = {settings_file(None, os.environ), settings_file(project or Path(), os.environ)}
    return [name for path in sorted(files) for name in ClientSettings.read(path).plugins]


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


def report(settings: ClientSettings, hooks: int, before: int, copy: Path | None) -> str:
    """What was done, in one line."""
    if settings.raw is not None and copy is None:
        done = f"memoria's {hooks} hooks stand in {settings.path} already; nothing was changed."
    else:
        done = f"{'renewed' if before else 'added'} memoria's {hooks} hooks in {settings.path}."
    if copy is not None:
        done += f" The file as it was: {copy.name}"
    return done + "\n"
