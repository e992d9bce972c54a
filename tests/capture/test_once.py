"""Of hooks that are installed twice, as a plugin and in the settings, those of the plugin answer."""

from __future__ import annotations

import pytest

from hooks import PLUGIN, client_settings
from memoria.capture import hook
from places import ROOT


@pytest.mark.parametrize(("settings", "is_replaced"), [
    (PLUGIN, True),
    ({"enabledPlugins": {"memoria@memoria": False, "another@memoria": True}}, False),
    ({"enabledPlugins": ["memoria@memoria"]}, False), ({"env": {"X": "memoria@memoria"}}, False), ({}, False),
])  # fmt: skip
def test_hooks_in_the_settings_leave_it_to_a_plugin_that_is_switched_on(
    settings: object, is_replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_settings(settings)
    event = hook.Event({"session_id": "s", "hook_event_name": "SessionStart"})
    assert hook.is_replaced(event) is is_replaced
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(ROOT))
    assert not hook.is_replaced(event), "the plugin's own"
    monkeypatch.delenv("CLAUDE_PLUGIN_ROOT")
    event.agent = "codex"
    assert not hook.is_replaced(event), "it has no plugin"
