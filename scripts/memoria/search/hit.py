"""Hit: one search result, and its best passage as a statement that may be a note beside a prompt."""

from __future__ import annotations

from memoria.search import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


ENDS = (".", "!", "?", ";", ":")  # what a sentence ends in, before a blank
CLOSING = "\"')]}*_`\u201d\u2019\u00bb"
FULL_STOPS = "\u3002\uff01\uff1f\uff1b"  # of scripts that put no blank after them
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
FIELDS = ("key", "path", "kind", "anchor", "session", "project", "title", "date")  # of a document, as it is stored


class Hit:
    """A document that was found: its place, its kind, its score, and its best passages in the order of theirs.

    ``about``: by the text of a passage its label and whether it is the user's own. ``phrases``: those by which the
    document is asked for. ``also`` are the keys of documents about the same session that were left out for it.
    """

    __slots__ = (
        "about", "also", "anchor", "date", "key", "kind", "passages", "path", "phrases", "project", "score", "session",
        "title",
    )  # fmt: skip

    def __init__(self, row: Sequence[object], score: float, passages: list[str]) -> None:
        """Take ``row`` (key, path, kind, anchor, session, project, title, date)."""
        told = map(str, row)
        self.key, self.path, self.kind, self.anchor, self.session, self.project, self.title, self.date = told
        self.score = score
        self.passages = passages
        self.about: dict[str, tuple[str, bool]] = {}
        self.phrases: list[str] = []
        self.also: list[str] = []

    def of(self, passage: str) -> Hit:
        """Return the hit with this passage alone."""
        found = Hit([getattr(self, name) for name in FIELDS], self.score, [passage])
        found.phrases = self.phrases
        return found


class Statement:
    """A passage that may be a note.

    ``hit`` is its document, with the passage; ``text`` what to show of it; ``label`` that of the passage, such as a
    fact's kind; ``speaker`` who said it, ``user``, ``assistant`` or ``""``; ``sessions`` those in which it was said, as
    far as they are known. ``share``: how much of what a question asks about it holds, 0 to 1; ``words`` the question's
    terms in it.
    """

    __slots__ = ("hit", "label", "sessions", "share", "speaker", "text", "words")

    def __init__(self, hit: Hit, text: str, label: str, *, is_own: bool, sessions: frozenset[str]) -> None:
        self.hit = hit
        self.text = text
        self.label = label
        self.speaker = "user" if is_own else label if hit.kind == "turn" else ""
        self.sessions = sessions
        self.share = 0.0
        self.words: frozenset[str] = frozenset()


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    for sign in FULL_STOPS:
        text = text.replace(sign, sign + "\n")
    found = []
    for line in text.splitlines():
        held: list[str] = []
        for word in line.split():
            held.append(word)
            if word.rstrip(CLOSING).endswith(ENDS):
                found.append(" ".join(held))
                held = []
        if held:
            found.append(" ".join(held))
    return found


def surroundings(passage: str, bits: Mapping[str, float], room: int) -> str:
    """Return the sentences of a passage, in at most ``room`` characters, around the one that says the most of a query.

    A passage that fits is returned whole; a sentence that does not is left to be cut. A question says nothing, if
    another sentence does. ``bits``: the information of the query's terms.
    """
    if len(passage) <= room:
        return passage
    told = [sentence for sentence in sentences(passage) if not is_question(sentence)] or [passage]
    said = [sum(bits[term] for term in bits.keys() & tokens.terms(sentence)) for sentence in told]
    first = said.index(max(said))
    end = first + 1
    while end < len(told) and len(" ".join(told[first : end + 1])) <= room:
        end += 1
    while first and len(" ".join(told[first - 1 : end])) <= room:
        first -= 1
    return " ".join(told[first:end])


def is_question(text: str) -> bool:
    """Return whether a text ends in a question mark, whatever closes it after that (``?!``, ``?)``)."""
    return text.rstrip().rstrip(CLOSING + "!.\u2026").endswith(_QUESTION_MARKS)
