"""A model cannot write into memory where memoria is to store nothing, and can elsewhere."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from memoria.base import project
from memoria.capture import cursor
from memoria.ground.home import Home
from memoria.mcp.calls import Session, run_call
from memoria.transcripts.screen import Tombstones

WRITING = {
    "remember": {"content": "The gate code of the warehouse is blue."},
    "remember_now": {"note": "The gate is blue."},
}


@dataclass
class Server:
    """The tools as a session in ``folder`` has them."""

    home: Home
    folder: Path

    def call(self, name: str, **given: object) -> str:
        here = project.key_of(str(self.folder), self.home.settings, self.home.paths)
        session = Session(self.home, here, "s1", str(self.folder))
        try:
            answer = run_call(session, {"name": name, "arguments": given})
        finally:
            session.close()
        text = str(answer["content"][0]["text"])
        if answer["isError"]:
            raise RefusedError(text)
        return text


class RefusedError(Exception):
    """A call was refused, in these words."""


@pytest.fixture
def server(tmp_path: Path) -> Server:
    folder = tmp_path / "shop"
    folder.mkdir()
    return Server(Home.open(), folder)


@pytest.mark.parametrize("name", WRITING)
def test_nothing_is_written_in_an_excluded_folder(server: Server, name: str) -> None:
    (server.folder / ".memoria-off").touch()
    with pytest.raises(RefusedError, match="excluded"):
        server.call(name, **WRITING[name])
    assert server.call("working")


def test_nothing_is_written_while_memoria_is_off_in_the_session(server: Server, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("")
    cursor.pause(server.home.paths.cursors, "s1", str(transcript), starts=True)
    with pytest.raises(RefusedError, match="switched off"):
        server.call("remember_now", note="The gate is blue.")


def test_the_folder_is_the_one_that_the_session_is_in_now(server: Server, tmp_path: Path) -> None:
    inside = tmp_path / "secret"
    inside.mkdir()
    (inside / ".memoria-off").touch()
    transcript = tmp_path / "s1.jsonl"
    cursor.write(server.home.paths.cursors, "s1", cursor.Cursor(str(transcript), 0, b""))
    for folder, refused in ((server.folder, False), (inside, True), (server.folder, False)):
        with transcript.open("a") as file:
            file.write(json.dumps({"type": "user", "cwd": str(folder)}) + '\n{"type": "summary"}\n')
        with pytest.raises(RefusedError, match="excluded") if refused else nullcontext():
            server.call("remember_now", note="The gate is blue.")


@pytest.mark.parametrize("name", ["remember", "remember_now"])
def test_a_forgotten_text_is_not_written_again(server: Server, name: str) -> None:
    Tombstones(server.home.paths).add("gate")
    for _ in range(2):
        with pytest.raises(RefusedError, match="forget"):
            server.call(name, **WRITING[name])
        shutil.rmtree(server.folder, ignore_errors=True)  # a folder that is gone is no excuse
