"""A client of the MCP server over stdio: the protocol's own, with a server that is given nothing of the developer's."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_server

if TYPE_CHECKING:
    from mcp import Client


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"), "MEMORIA_HOME": str(tmp_path / "memoria"),
        "CLAUDE_PROJECT_DIR": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "s-1", "MEMORIA_LIMIT_SEARCH_WAIT_S": "60",
        **more,
    }  # fmt: skip


Scenario = Callable[["Client"], Awaitable[None]]


def drive(tmp_path: Path, scenario: Scenario, **more: str) -> None:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 (a second of each run that asks no server)

    program, *words = mcp_server.command()
    server = StdioServerParameters(command=program, args=words, env=environment(tmp_path, **more), cwd=tmp_path)

    async def main() -> None:
        async with Client(server) as client:
            await scenario(client)

    asyncio.run(main())


async def call(client: Client, name: str, **given: Any) -> str:
    result = await client.call_tool(name, given)
    text = "".join(getattr(block, "text", "") for block in result.content)
    assert not result.is_error, text
    return text


async def refused(client: Client, name: str, **given: Any) -> str:
    result = await client.call_tool(name, given)
    assert result.is_error
    return "".join(getattr(block, "text", "") for block in result.content)


def fenced(answer: str) -> str:
    """What an answer shows as data."""
    inside = re.search(r"^<([a-z-]+-[0-9a-f]{6})>\n(.*)\n</\1>$", answer, re.DOTALL | re.MULTILINE)
    assert inside, answer
    return inside[2]
