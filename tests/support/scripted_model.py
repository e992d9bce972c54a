"""A model with prepared answers within one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from memoria.models.protocol import Completion, Prompt
from memoria.models.scripted import Item, play


class Scripted:
    """A model with prepared answers; ``prompts`` holds what it was asked.

    ``release`` is set at first; clear it to block calls until it is set again.
    """

    def __init__(self, answers: Sequence[Item] | Callable[[Prompt], Item], name: str = "scripted") -> None:
        """``answers`` are used in order, and the last one repeats."""
        self.answers = answers
        self.name = name
        self.prompts: list[Prompt] = []
        self.release = threading.Event()
        self.release.set()

    def complete(self, prompt: Prompt) -> Completion:
        """Return or raise the next prepared answer."""
        self.prompts.append(prompt)
        self.release.wait()
        if callable(self.answers):
            return play(self.answers(prompt), prompt, self.name)
        return play(self.answers[min(len(self.prompts), len(self.answers)) - 1], prompt, self.name)
