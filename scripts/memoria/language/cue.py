"""Cue: a pattern whose match in a user's sentence shows which kind of fact the sentence states."""

from __future__ import annotations

from memoria.language.pattern import Pattern


class Cue:
    """A pattern with the kind of fact it shows, its usual importance (0 to 1) and the least length of a sentence."""

    __slots__ = ("importance", "kind", "min_words", "pattern")

    def __init__(self, kind: str, importance: float, min_words: int, *patterns: str) -> None:
        self.kind = kind
        self.importance = importance
        self.min_words = min_words
        self.pattern = Pattern("(?i)" + "|".join(patterns))

    def fits(self, sentence: str, bare: str) -> bool:
        """Return whether the sentence, or its ``bare`` form without the lead-in, holds the cue."""
        return len(sentence.split()) >= self.min_words and bool(
            self.pattern.search(sentence) or self.pattern.search(bare)
        )

    @property
    def explicit(self) -> bool:
        """Whether the words name the decision as one ("we decided"), so that nothing else in the sentence undoes it."""
        return self.kind == "decision" and self.importance >= 0.7
