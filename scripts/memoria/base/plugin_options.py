"""Plugin options: the settings that the user chose in the client's own dialog for the plugin.

The client keeps them in the user-level ``settings.json``, under ``pluginConfigs``, and hands them to hooks in the
environment; the MCP server, the worker and a command do not get them there, and a project's settings can add to them.
So every process reads the file. docs/decisions/0087-installing.md.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from memoria.base import quickjson

NAME = "memoria"  # of the plugin; an installed one is named with its marketplace, ``memoria@memoria``
CHANGE = "`/plugin configure memoria` in Claude Code"  # what a message tells the user to do


def parse(text: str) -> dict[str, object]:
    """Return the options that were given a value in the text of the client's user-level settings.

    Raise ValueError when it holds options that cannot be read: the home is then unknown.
    """
    if f'"{NAME}@' not in text:
        return {}
    stored = quickjson.loads(text)
    plugins = stored.get("pluginConfigs") if isinstance(stored, dict) else None
    found: dict[str, object] = {}
    for name, config in sorted(plugins.items()) if isinstance(plugins, dict) else ():
        options = config.get("options") if name.startswith(f"{NAME}@") and isinstance(config, dict) else None
        if isinstance(options, dict):
            found.update({key: value for key, value in options.items() if value not in (None, "", [])})
    return found
