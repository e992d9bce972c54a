"""What only asks for something is told from what states something; a doubt counts as a statement."""

from __future__ import annotations

import pytest

import stories
from memoria.language.requests import is_only_request

ASKS = (
    "Run the test suite",
    "fix lint errors",
    "hello",
    "hi Claude, can you please review the diff with a workflow?",
    "create me a .github/FUNDING.yml - add the sponsors page as default for all",
    "can you update node in all the right files to 22.4",
    "[image]\n[Image #1] Can you please add a margin to the details element when it's not open?",
    "What is the port of the listener?",
    "Write a test. Then run it.",
    "write a file about geese in docs\n",
    "Let's adjust the sample file. Add LEVEL=1. I'm testing the loader.",
    "start an agent that draws a logo in assets, pick a shape",
    "Which of the commands are there (documented or not)?",
    "Which tests were failing?",
    "update the module's docstring with what it does today",
)
STATES = (
    "use pnpm",
    "Write tests in pytest, not unittest",
    "write commit messages in the imperative",
    "please always add tests",
    "Move production to Hetzner",
    "can we use Postgres?",
    "how about Postgres?",
    "what if we drop Redis?",
    "Add retries, because uploads fail at night",
    "fix the test, the code is right",
    "Fix it. It should be 3, not 4.",
    "the listener is on port 9090 now",
    "mise run lint fails",
    "Postgres.",
    "Open PRs against develop",
    "Run migrations manually",
    "Add tests for each endpoint",
    "Check the lockfile before merging",
    "Show dates in UTC",
    "Rewrite it in Rust",
    "Generate ids as UUIDv7",
    "Set up MySQL for the orders",
    "Make the cache opt-in",
    "Write the tests first.",
    "Format the code with black -l 100",
    "Run everything through uv",
    "Look at the logs whenever a job fails",
    "Try to avoid mocks",
    "Undo that",
    "Let's open PRs against develop",
    "let's use Postgres",
    "Let's add a changelog entry per PR",
    "Which means the port is 9002?",
    "What are our ports?",
    "I'm testing on staging only",
    "I'm moving us to Hetzner",
    "choose Postgres",
    "pick the smaller one",
    "The tests were slow.",
    "fix it, there are two of them",
    "ab jetzt nehmen wir pnpm",
    "Führe die Tests aus",
    "add a button " + "very " * 30 + "large",
    "",
)


@pytest.mark.parametrize("text", ASKS)
def test_what_only_asks_is_recognised(text: str) -> None:
    assert is_only_request(text)


@pytest.mark.parametrize("text", STATES)
def test_what_states_something_is_no_request(text: str) -> None:
    assert not is_only_request(text)


def test_no_statement_of_the_stories_is_taken_for_a_request() -> None:
    """55 conversations in six languages, in nearly all of which the user settles something."""
    said = [words for name in stories.names() for session in stories.load(name).sessions for words, _ in session.talk]
    assert len(said) > 60
    assert [words for words in said if is_only_request(words)] == ["Show the timetable on the front page."]
