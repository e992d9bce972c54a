"""Client plugin: add memoria to Claude Code, or take it out, with the client's own ``plugin`` commands.

A clone is a marketplace, whose plugin the client reads in place. For a wheel, one is made in memoria's data folder; its
hooks and its server are those of the wheel.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from memoria.audit.client_settings import plugin_hooks
from memoria.base import interpreter, paths
from memoria.base.settings import Settings
from memoria.ground import client_program, files
from memoria.ground.errors import ExpectedError

MARKETPLACE = "memoria"
PLUGIN = f"memoria@{MARKETPLACE}"
NO_LINKS = "{} does not lead to the scripts: its symbolic links are missing"
MAKE_LINKS = "run `git config core.symlinks true` and `git checkout plugin` in the clone"


def marketplace(settings: Settings, python: str) -> Path:
    """Return the folder of the marketplace of this memoria; a wheel's hooks name ``python``, unless it is empty."""
    root = Path(paths.ROOT)
    if paths.is_wheel():
        return _of_wheel(root, settings, python)
    if not paths.is_checkout():
        raise ExpectedError(f"this memoria is the plugin {PLUGIN}, which is installed; nothing was changed.")
    if missing := missing_links():
        raise ExpectedError(f"{missing}; {MAKE_LINKS}.")
    return root


def missing_links() -> str:
    """Say that a clone's plugin folder holds files for its links, as git on Windows may leave it; ``""`` if not so."""
    folder = Path(paths.ROOT, "plugin")
    return NO_LINKS.format(folder) if folder.is_dir() and not (folder / "scripts").is_dir() else ""


def _of_wheel(root: Path, settings: Settings, python: str) -> Path:
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
        folder / "plugin" / "hooks" / "hooks.json": {"hooks": plugin_hooks(root, python)},
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, json.dumps(content, indent=2).encode())
    shutil.copytree(root / "skills", folder / "plugin" / "skills", dirs_exist_ok=True)
    return folder


def install(folder: Path, project: Path | None) -> str:
    """Add the marketplace and install its plugin, for the user or one project; return what the client said."""
    _client("marketplace", "add", str(folder))
    return _client("install", PLUGIN, "--scope", _scope(project), folder=project)


def uninstall(project: Path | None) -> None:
    """Uninstall the plugin, and forget the marketplace when nothing else from it is installed."""
    _client("uninstall", PLUGIN, "--scope", _scope(project), folder=project)
    if not any(each["id"].endswith(f"@{MARKETPLACE}") for each in json.loads(_client("list", "--json"))):
        _client("marketplace", "remove", MARKETPLACE)


def _scope(project: Path | None) -> str:
    return "user" if project is None else "local"


def _client(*words: str, folder: Path | None = None) -> str:
    """Run one of the client's ``plugin`` commands and return what it printed. Raise ExpectedError when it fails."""
    program = client_program.find()
    if not program:
        raise ExpectedError(f"{client_program.MISSING}; {client_program.REMEDY}.")
    status, out, error = client_program.run(program, ["plugin", *words], folder or Path())
    if status:
        raise ExpectedError(f"`claude plugin {' '.join(words)}` failed: {(error or out).strip()}")
    return out
