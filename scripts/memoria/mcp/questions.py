"""Questions: the tools that answer a question and that trace a statement to the words it came from.

Like ``tools``, this module knows neither the protocol nor where the answers come from.
"""

from __future__ import annotations

from typing import Protocol

from memoria.mcp.tools import Json, Tool, arguments


class Inquirer(Protocol):
    """Answers about the memory, as fenced text; raises ExpectedError when there is none."""

    async def answer(self, asked: str) -> str:
        """Return what a model answers from the memory, with links that were checked, or the passages it would read."""

    async def origin(self, statement: str) -> str:
        """Return the entries and turns that a statement, an article, an entry or a fact rests on."""


def question_tools(inquirer: Inquirer) -> list[Tool]:
    """Return the tools."""

    async def query(given: Json) -> str:
        return await inquirer.answer(given["question"])

    async def why(given: Json) -> str:
        return await inquirer.origin(given["statement"])

    text = {"type": "string", "minLength": 2, "maxLength": 1_000, "pattern": "\\S"}
    return [
        Tool(
            "query",
            "Ask the memory",
            "Have memoria's own model answer a question from articles and daily logs, with checked links. It costs a "
            "model call within the daily budget and takes some seconds: use search and read when they will do.",
            arguments(["question"], question=text),
            query,
            is_open=True,
        ),
        Tool(
            "why",
            "Trace a statement",
            "Show the entries and the very words that a statement of the memory rests on: who said it, and when. Takes "
            "words of the statement, an article's title or path, or an id (e-…, l-…).",
            arguments(["statement"], statement=text),
            why,
            reads_only=True,
        ),
    ]
