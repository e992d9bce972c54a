"""Uninstall: take exactly our hooks out of Claude Code's settings again.

What memoria remembers stays where it is, and so do the copies that install kept. The settings file's form is
``client_settings``' affair.
"""

from __future__ import annotations

import argparse
import os
import sys

from memoria.audit import codex_settings
from memoria.audit.client_settings import ClientSettings, settings_file
from memoria.ground import projects
from memoria.ground.exchange import Exchange
from memoria.ground.home import Home


def arguments(parser: argparse.ArgumentParser) -> None:
    """What ``memoria install --remove`` understands."""
    parser.add_argument(
        "--project",
        nargs="?",
        const=".",
        metavar="NAME",
        help="from this project (its folder, name or key; default: the folder you are in)",
    )
    parser.add_argument(
        "--agent", choices=("claude", "codex"), default="claude", help="whose settings (default: claude)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change and make none")


def command(args: argparse.Namespace, home: Home) -> int:
    """Take the hooks out and say what was done and what stays."""
    is_codex = args.agent == "codex"
    project = None if args.project is None else projects.folder_meant(args.project, home)
    file = codex_settings.hooks_file(os.environ) if is_codex else settings_file(project, os.environ)
    settings = ClientSettings.read(file)
    if not settings.ours:
        sys.stdout.write(f"there are no hooks of memoria in {settings.path}; nothing was changed.\n")
        return 0
    data = settings.without_ours()
    if args.dry_run:
        sys.stdout.write(settings.difference(data))
        return 0
    copy = settings.write(data, Exchange.of(home.paths))
    client = "Codex" if is_codex else "Claude Code"
    kept = f" The file as it was: {copy.name}" if copy else ""
    sys.stdout.write(
        f"took memoria's {len(settings.ours)} hooks out of {settings.path}.{kept}\n"
        f"Restart running {client} sessions. What memoria remembers stays in {home.paths.home}.\n"
    )
    return 0
