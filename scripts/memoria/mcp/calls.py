"""Calls: run the tools and read the resources of one session, each beside the others, in a thread of their own.

Kept apart from ``server`` because of what it imports.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from contextlib import AsyncExitStack

import jsonschema

from memoria.base.fence import neutral
from memoria.base.project import Project
from memoria.base.visibility import Visibility
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.redact import Redactor
from memoria.mcp import resources
from memoria.mcp.backends import IndexSearch, SessionFacts
from memoria.mcp.inquiry import Inquiry
from memoria.mcp.pages import Library
from memoria.mcp.questions import question_tools
from memoria.mcp.refusal import Refusal, asking
from memoria.mcp.tools import Json, Tool, Toolbox
from memoria.working import Limits, WorkingMemory
from memoria.working.failover_store import open_store

ERROR_CHARS = 2_000


class Calls:
    """The requests of one client that need its memory, which is opened for the first of them."""

    def __init__(self, home: Home, session: str, folder: str, here: Project) -> None:
        """``folder``: where the client runs, in the project ``here``."""
        self._home = home
        self._here = here
        self._session = session or os.environ.get("CLAUDE_CODE_SESSION_ID", "") or f"client of {here.key}"
        self._folder = folder
        self._tools: dict[str, Tool] = {}
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def begin(self, method: str, given: Json) -> Future[Json]:
        """Begin to answer a request."""
        return asyncio.run_coroutine_threadsafe(self._answered(method, given), self._loop)

    def end(self) -> None:
        """Wait for what runs, and close the memory."""
        asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self._open.aclose()

    async def _answered(self, method: str, given: Json) -> Json:
        await self._opened()
        if method == "tools/call":
            return await self._called(str(given.get("name")), given.get("arguments") or {})
        uri = str(given.get("uri"))
        text = await self._tools["read"].run({"path": resources.path_of(uri)})
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}

    async def _opened(self) -> None:
        async with self._opening:
            if self._tools:
                return
            home, here = self._home, self._here
            store, limits = open_store(home.settings, home.paths), Limits.of(home.settings)
            memory = await WorkingMemory.for_session(self._session, here.key, store=store, limits=limits)
            memory = await self._open.enter_async_context(memory)
            library = Library(home.paths, Visibility(home.settings, home.paths, here.key))
            backends = IndexSearch(home, here), SessionFacts(home, here, self._session)
            toolbox = Toolbox(memory, library, Redactor(home.settings.redact_extra), *backends)
            tools = [*toolbox.tools(), *question_tools(Inquiry(home, here))]
            refusal = Refusal(home.paths, self._session, self._folder)
            self._tools = {tool.name: tool for tool in asking(tools, refusal)}

    async def _called(self, name: str, given: Json) -> Json:
        tool = self._tools.get(name)
        if tool is None:
            return _answer(f"There is no tool {name[:100]!r}; there are {', '.join(self._tools)}.", failed=True)
        if problem := _problem(given, tool):
            return _answer(problem, failed=True)
        try:
            return _answer(await tool.run(given))
        except ExpectedError as error:
            return _answer(f"{tool.name}: {error}", failed=True)


def _problem(given: Json, tool: Tool) -> str:
    """Return what is wrong with a call's arguments, in words that a model can act on; ``""`` when they are valid."""
    validator = jsonschema.Draft202012Validator(tool.schema)
    errors = sorted(validator.iter_errors(given), key=lambda error: list(map(str, error.absolute_path)))
    problems = []
    for error in errors[:5]:
        where = ".".join(map(str, error.absolute_path)) or "arguments"
        whole = repr(error.instance)
        short = whole if len(whole) <= 60 else f"{whole[:60]}…"
        problems.append(f"{where}: {error.message.replace(whole, short)[:300]}")
    return f"{tool.name} was not run. " + "; ".join(problems) if problems else ""


def _answer(text: str, *, failed: bool = False) -> Json:
    """Return a call's result. Tools fence stored text themselves; an error may quote some, so it is made harmless."""
    text = neutral(" ".join(text.split())[:ERROR_CHARS]) if failed else text
    return {"content": [{"type": "text", "text": text}], "isError": failed}
