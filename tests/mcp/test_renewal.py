"""The MCP server goes on answering when its own files are replaced while it runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_client import environment
from places import ROOT

OLD, NEW = "List the learned facts that hold", "List, since 9.9.9, the learned facts that hold"
GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Wire:
    """A client by hand of a server that runs from ``package``."""

    def __init__(self, package: Path, tmp_path: Path) -> None:
        self.number = 0
        self.process = subprocess.Popen(
            [sys.executable, str(package / "__main__.py"), "mcp"],
            env=environment(tmp_path, MEMORIA_MODEL="offline"),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.ask("initialize", **GREETING)["serverInfo"]["name"] == "memoria"
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        return self.number

    def hear(self, *numbers: int) -> list[Any]:
        """The results of these questions from the next lines, which must answer them, in whatever order."""
        assert self.process.stdout is not None
        told = {answer["id"]: answer for answer in (json.loads(self.process.stdout.readline()) for _ in numbers)}
        return [told.pop(number)["result"] for number in numbers]

    def ask(self, method: str, **params: Any) -> Any:
        return self.hear(self.begin(method, **params))[0]

    def described(self) -> str:
        return next(str(tool["description"]) for tool in self.ask("tools/list")["tools"] if tool["name"] == "facts")

    def call(self, name: str, **arguments: Any) -> str:
        result = self.ask("tools/call", name=name, arguments=arguments)
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.stdout.read() == b""
        self.process.stdout.close()
        return self.process.wait(20)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return copied(tmp_path / "site" / "memoria")


@pytest.fixture
def wire(package: Path, tmp_path: Path) -> Iterator[Wire]:
    wire = Wire(package, tmp_path)
    yield wire
    assert wire.end() == 0


def copied(folder: Path) -> Path:
    return shutil.copytree(ROOT / "scripts" / "memoria", folder, ignore=shutil.ignore_patterns("__pycache__"))


def replaced(package: Path) -> None:
    """Put another version in the place of this one, as ``uv tool upgrade`` does."""
    new = copied(package.with_name("new"))
    for name, before, after in (
        ("__init__.py", "__version__ = ", "__version__ = '9.9.9' # "),
        ("mcp/tools.py", OLD, NEW),
    ):
        text = (new / name).read_text("utf-8")
        assert before in text
        (new / name).write_text(text.replace(before, after), "utf-8")
    package.rename(package.with_name("old"))
    shutil.rmtree(package.with_name("old"))
    new.rename(package)


@pytest.mark.slow
def test_after_an_update_the_open_session_is_served_by_the_new_version(wire: Wire, package: Path) -> None:
    assert OLD in wire.described()
    assert wire.call("remember_now", key="port", value=8081) == "Stored."
    replaced(package)
    assert NEW in wire.described()
    assert "8081" in wire.call("working", key="port"), "it is the same session's memory"
    assert "Nothing found" in wire.call("search", query="harbour")
    both = [wire.begin("tools/call", name="working", arguments={"key": "port"}) for _ in range(2)]
    assert ["8081" in str(result) for result in wire.hear(*both)] == [True, True]


@pytest.mark.slow
def test_while_an_update_is_halfway_the_old_version_goes_on(wire: Wire, package: Path) -> None:
    assert OLD in wire.described()
    replaced(package)
    main = package / "__main__.py"
    whole = main.read_bytes()
    main.write_text("raise SystemExit(3)\n")
    assert OLD in wire.described()
    assert wire.call("remember_now", key="port", value=8081) == "Stored."
    main.write_bytes(whole)
    assert NEW in wire.described()
    assert "8081" in wire.call("working", key="port")


@pytest.mark.slow
def test_what_was_sent_in_one_piece_with_the_first_message_after_an_update_is_answered(
    wire: Wire, package: Path
) -> None:
    assert OLD in wire.described()
    replaced(package)
    many = [wire.begin("ping") for _ in range(50)]
    assert wire.hear(*many) == [{}] * 50
    assert NEW in wire.described()
