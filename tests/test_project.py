"""The project's own files: the plugin, its icon, the lock, and what may not stand in any of them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import memoria
from messages_api import MessagesApi
from places import ROOT
from real_client import clean_env, run_claude

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
HOOKS = json.loads((ROOT / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]


def locked() -> dict[str, str]:
    """Name -> version, as requirements.lock says."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))


def committed() -> list[Path]:
    """The files that are in git, or would be with the next commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for path in (ROOT / name for name in listed.stdout.decode().split("\0") if name) if path.is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("folder", [ROOT, ROOT / "plugin"], ids=["root", "plugin"])
def test_the_store_finds_nothing_to_report_about_the_plugin(tmp_path: Path, folder: Path) -> None:
    with MessagesApi(lambda _: "") as api:
        done = run_claude(
            ["plugin", "validate", str(folder), "--profile", "directory", "--strict", "--json"],
            clean_env(tmp_path / "user", api.url),
            tmp_path,
        )
    report = json.loads(done.stdout)
    manifest, directory = report["manifest"], report["directory"]
    assert (manifest["errors"], manifest["warnings"], directory["findings"], directory["undecided"]) == ([], [], [], [])
    assert [part for part in report["contents"] if part["errors"] or part["warnings"]] == []
    assert (report["success"], done.returncode) == (True, 0)
    assert {hook["event"] for hook in report["provides"]["hooks"]} == set(HOOKS)


@pytest.mark.parametrize("name", [".claude-plugin/icon.png", "hooks/hooks.json"])
def test_what_the_client_reads_without_following_links_is_the_same_file_twice(name: str) -> None:
    copy = ROOT / "plugin" / name
    assert not copy.is_symlink()
    assert copy.read_bytes() == (ROOT / name).read_bytes(), f"run `cp {name} plugin/{name}`"


def test_the_plugin_by_the_repositorys_root_says_the_same_and_where_skills_and_evals_lie() -> None:
    name = ".claude-plugin/plugin.json"
    copy, ours = (json.loads((folder / name).read_text("utf-8")) for folder in (ROOT / "plugin", ROOT))
    assert (ours.pop("skills"), ours.pop("experimental")) == ("./plugin/skills/", {"evals": "plugin/evals"})
    assert copy == ours


def test_every_other_file_of_the_plugin_is_a_link_into_the_repository() -> None:
    hooks = {f"hooks/{path.name}" for path in (ROOT / "hooks").iterdir() if path.is_file()} - {"hooks/hooks.json"}
    wanted = {"bin/memoria", "scripts", "requirements.lock", "LICENSE", *hooks}
    links = [path for path in (ROOT / "plugin").rglob("*") if path.is_symlink()]
    assert {path.relative_to(ROOT / "plugin").as_posix() for path in links} == wanted
    assert all(path.resolve() == ROOT / path.relative_to(ROOT / "plugin") for path in links)


def test_the_package_has_a_link_to_each_file_of_the_hooks_for_the_wheel() -> None:
    links = {path.name: path.resolve() for path in (ROOT / "scripts" / "memoria" / "hooks").iterdir()}
    assert links == {path.name: path for path in (ROOT / "hooks").iterdir() if path.is_file()}


def test_one_version_everywhere() -> None:
    manifests = [folder / ".claude-plugin" / "plugin.json" for folder in (ROOT, ROOT / "plugin")]
    versions = {json.loads(path.read_text("utf-8"))["version"] for path in manifests}
    assert versions | {PROJECT["version"]} == {memoria.__version__}


def test_the_changelog_begins_with_what_is_unreleased_and_then_dates_each_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *released = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", heading) for heading in released]
    numbers, days = zip(*(match.groups() for match in found if match), strict=True)
    assert len(numbers) == len(released)
    assert numbers[0] == memoria.__version__
    assert list(days) == sorted(days, reverse=True)
    assert [date.fromisoformat(day).isoformat() for day in days] == list(days)


def test_the_changelog_has_only_the_usual_headings_each_once_a_version_and_in_their_order() -> None:
    usual = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for part in (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## ")[1:]:
        headings = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert headings == [name for name in usual if name in headings], part.splitlines()[0]


def handlers() -> list[tuple[str, dict[str, Any]]]:
    return [(event, handler) for event, groups in HOOKS.items() for group in groups for handler in group["hooks"]]


@pytest.mark.parametrize(("event", "handler"), handlers(), ids=[event for event, _ in handlers()])
def test_every_hook_has_a_short_command_whose_launcher_is_there(event: str, handler: dict[str, Any]) -> None:
    """The client shows the command at /compact, and tells the model."""
    first, name, launcher, *rest = shlex.split(handler["command"])
    assert (handler["type"], "args" in handler, first) == ("command", False, "set")
    assert " ".join(rest) == "; [ -r $2 ] || exit 127; . $2"
    assert os.access(launcher.replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT)), os.X_OK)
    assert (ROOT / "hooks" / f"{name}.py").is_file(), "what an installation before 0.3 starts"
    assert name == "".join("-" + letter.lower() if letter.isupper() else letter for letter in event)[1:]
    assert handler.get("async", False) is (event == "Stop")


def test_the_lock_holds_a_version_that_fits_for_all_that_memoria_needs() -> None:
    """When it fails, run .ci/lock. A package released since then is installed here, and says nothing of the lock."""
    left_out = re.findall(r"--prune (\S+)", (ROOT / ".ci" / "lock").read_text("utf-8"))
    seen: set[str] = set()
    wanted = [Requirement(line) for line in PROJECT["dependencies"]]
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        if name in left_out:
            continue
        assert name in locked(), f"{name} is missing"
        assert requirement.specifier.contains(locked()[name], prereleases=True), (
            f"{requirement} is not {locked()[name]}"
        )
        if name not in seen and importlib.metadata.version(name) == locked()[name]:
            lines = importlib.metadata.requires(name) or []
            wanted += [inner for inner in map(Requirement, lines) if "extra" not in str(inner.marker)]
        seen.add(name)


def test_the_lock_holds_a_hash_for_every_version_and_no_address() -> None:
    entries = re.split(r"^(?=[a-z0-9-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|--index|--find-links|file:| @ ", LOCK)


def test_no_committed_file_names_a_package_registry_or_this_machine() -> None:
    """Addresses of registries go stale and leak where somebody works; so do absolute paths of a checkout."""
    address = re.compile(r"https?://[^\s/]*(?:pypi|pythonhosted|devpi|artifactory|nexus)", re.IGNORECASE)
    for path in committed():
        text = path.read_bytes().decode("utf-8", "replace")
        assert not address.search(text), path
        assert str(ROOT) + "/" not in text, path


def test_the_check_is_a_script_that_bash_reads() -> None:
    for name in ("run", "lock"):
        script = ROOT / ".ci" / name
        assert script.stat().st_mode & 0o111
        subprocess.run(["bash", "-n", str(script)], check=True)
