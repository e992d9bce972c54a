"""The real client in tests: the ``claude`` program inside the Agent SDK's wheel, with nothing of the developer's.

Its environment is built from nothing: a fresh HOME and configuration folder, a dummy key, a loopback API.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from places import TESTS

DUMMY_KEY = "sk-ant-dummy-for-tests-00000000000000000000"

# A uv and a Python that install nothing, before the real ones on the PATH: where a test leaves memoria without an
# environment, the server and the first hook would load 450 MB of packages from the network and outlive the test.
NO_BUILD = TESTS / "support" / "no_build"

# For the client that a test starts itself, so that it stays on this machine. Never for a model call of memoria's.
SWITCHES = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def bundled_claude() -> Path:
    """The program that the installed claude_agent_sdk brings along (found without importing the SDK)."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    assert spec is not None
    assert spec.origin is not None
    program = Path(spec.origin).parent / "_bundled" / ("claude.exe" if os.name == "nt" else "claude")
    remedy = "the demo's command left it out; `uv sync --all-extras --reinstall-package claude-agent-sdk` brings it"
    assert program.is_file(), f"the SDK's wheel holds no client at {program}: {remedy}"
    return program


def clean_env(home: Path, api_url: str, **more: str) -> dict[str, str]:
    """An environment for the client with nothing inherited; ``more`` adds to it. Makes ``home`` when it is missing.

    memoria cannot build an environment of its own there; see ``Person.has_packages``.
    """
    config = home / ".claude"
    config.mkdir(parents=True, exist_ok=True)
    tools = [str(NO_BUILD), str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
    return {
        "HOME": str(home), "CLAUDE_CONFIG_DIR": str(config), "XDG_CONFIG_HOME": str(home / ".config"),
        "PATH": os.pathsep.join(tools), "LANG": "C.UTF-8", "TERM": "dumb", "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": DUMMY_KEY, **SWITCHES, **more,
    }  # fmt: skip


def users_env(home: Path, api_url: str, proxy_url: str = "http://127.0.0.1:9", **more: str) -> dict[str, str]:
    """Return the environment of a user who has switched nothing off.

    What such a client would send elsewhere goes to a proxy on loopback, by default to one that is not there.
    """
    proxy = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy_url)
    env = clean_env(home, api_url, NO_PROXY="127.0.0.1", **proxy, **more)
    return {name: value for name, value in env.items() if name not in SWITCHES}


def run_claude(
    args: Sequence[str], env: Mapping[str, str], cwd: Path, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run the bundled client to its end with exactly this environment; stdin is empty."""
    return subprocess.run(
        [str(bundled_claude()), *args], env=dict(env), cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def client_plugins(env: Mapping[str, str], cwd: Path, *words: str) -> list[dict[str, Any]]:
    """Return what ``claude plugin list``, or these words in its place, lists without what the client itself brings."""
    done = run_claude(["plugin", *(words or ("list",)), "--json"], env, cwd)
    assert done.returncode == 0, done.stderr
    return [each for each in json.loads(done.stdout) if not str(each.get("id")).endswith("@builtin")]
