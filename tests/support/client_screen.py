"""Driving the full-screen client as a person does: keys go in, the screen is read back; under a tmux of its own.

with Screen(clean_env(home, api.url), cwd, socket, "--plugin-dir", str(root)) as screen:
    screen.ask("hi", "hello")
    screen.leave()
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from client_session import wait_until
from real_client import DUMMY_KEY, bundled_claude

READY = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"  # stands before the line a person types in


class Screen:
    """One run of the interactive client in ``cwd``; ``socket`` is a short path of tmux's own (108 bytes at most).

    ``is_trusted``: the person has answered the client's question about the folder before.
    """

    def __init__(self, env: Mapping[str, str], cwd: Path, socket: Path, *options: str, is_trusted: bool = True) -> None:
        self._tmux_command = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        self._skip_onboarding(Path(env["CLAUDE_CONFIG_DIR"]), cwd, is_trusted)
        given = {**env, "TERM": "tmux-256color"}
        program = ["env", "-i", *(f"{name}={value}" for name, value in given.items()), str(bundled_claude()), *options]
        self._tmux("new-session", "-d", "-s", "client", "-x", "160", "-y", "50", "-c", str(cwd), *program)
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p", "-t", "client")

    @property
    def has_ended(self) -> bool:
        """Whether the client has exited."""
        return self._tmux("display-message", "-p", "-t", "client", "#{pane_dead}").strip() == "1"

    def ask(self, prompt: str, until: str, timeout: float = 60, *, ready: str = READY) -> None:
        """Once the screen shows ``ready``, type a prompt or a slash command, enter it, and wait for ``until``."""
        self.see(ready, timeout)
        self._tmux("send-keys", "-t", "client", "-l", prompt)
        self.see(prompt, timeout)
        self._tmux("send-keys", "-t", "client", "Enter")
        self.see(until, timeout)

    def press(self, key: str) -> None:
        """Press one key, by tmux's name."""
        self._tmux("send-keys", "-t", "client", key)

    def see(self, text: str, timeout: float = 60) -> None:
        """Wait until the screen shows this."""
        try:
            wait_until(lambda: text in self.text, f"{text!r} on the screen", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows:\n{self.text}") from None

    def leave(self, timeout: float = 60) -> None:
        """``/exit``, and wait until the client has gone."""
        self._tmux("send-keys", "-t", "client", "-l", "/exit")
        self.see("/exit", timeout)
        self._tmux("send-keys", "-t", "client", "Enter")
        wait_until(lambda: self.has_ended, "the client exits", timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        subprocess.run([*self._tmux_command, "kill-server"], capture_output=True, check=False)

    def _tmux(self, *words: str) -> str:
        run = subprocess.run([*self._tmux_command, *words], capture_output=True, encoding="utf-8", check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    @staticmethod
    def _skip_onboarding(config: Path, cwd: Path, is_trusted: bool) -> None:
        """What the client asks a person at the very first start: theme, key, trust."""
        seen = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [DUMMY_KEY[-20:]], "rejected": []},
            "projects": {str(cwd): {"hasTrustDialogAccepted": is_trusted}},
        }
        (config / ".claude.json").write_text(json.dumps(seen), encoding="utf-8")
