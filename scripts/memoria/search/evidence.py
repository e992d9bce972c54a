"""Evidence: what a statement must share with a question, and add to it, to be taken for its answer.

The rules and their figures: docs/recall.md, "The threshold", and docs/experiments/threshold.md. Pure functions without
a database.
"""

from __future__ import annotations

from math import log2

from memoria.search import ranking, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memoria.search.statements import Statement

WORK = ("entry", "turn")  # kinds that record work
_OF_WORK = 2.4  # times the least evidence that an entry, what Claude said and what was pasted need: most is of that day
_NAMED = 2.0  # and what Claude said of an identifier in the question
_TYPED = 1.4  # and what a person typed
_OF_MANY = 3.2  # and an entry or what a person typed, when the question has many topics: any may match by chance
_NOTED = 3.2  # and a turn whose conversation a model has noted: what matters of it stands in the note
_MANY = 3  # topics
_PASTED_CHARS = 1_000  # a longer passage of a prompt was pasted
_MARKUP = ("```", "**", "\n#", "# ", "| ")  # so was one with markup, such as a plan or a review
_HELD = 0.55  # least share of one topic's weight that a record of work must hold: two of its words may meet by chance
_HELD_OF_MANY = 0.5  # and anything else, when the question has many topics
_WORDS = 2  # least number of words shared with the question, without those that count less
_ADDED = 0.3  # least share of its words that a fact or article adds where nothing is asked: it may only say the same
_FEW_FACTS = 3  # facts that hold a word by which one of them is named, however often sessions repeat it
_REPEATED = 60  # documents, beyond which the facts that hold a word are not counted, to bound the cost
_FEW = 5  # documents that a statement may stand in: fact, phrases, entry, turns, and claims of several articles
_NAMING = 0.4  # power of the number of documents; a word that more of them hold, and more than _FEW, names nothing
_ENDING = 5  # most letters of a file name's ending
MATTERS = 0.8  # least importance of a fact that phrases lead to; a merely useful one seldom helps. An article has .5
OF_BEST = 0.5  # least share of the best statement's evidence
_MINOR = 0.35  # weight of a word that says what to do and not with what


class Least:
    """What an answer must reach: ``evidence``, or the fit of the ``phrases`` that lead to it without a shared word.

    Where nothing is asked, an answer must concern most of a topic: the evidence for a fact or an article, times the
    share of a topic that it holds, must be at least ``fit`` times ``evidence``. It is 0 for a question. What phrases
    lead to must have the importance ``matters``, and all must have ``of_best`` of the best one's evidence.
    """

    __slots__ = ("evidence", "fit", "matters", "of_best", "phrases")

    def __init__(
        self, evidence: float, phrases: float, fit: float = 0.0, *, matters: float = MATTERS, of_best: float = OF_BEST
    ) -> None:
        self.evidence = evidence
        self.phrases = phrases
        self.fit = fit
        self.matters = matters
        self.of_best = of_best


class Asked:
    """A question in topics: its words, their weights, and what a statement must have to answer it.

    ``naming`` are the terms that say what the question is about: few documents hold them. In a question that names
    anything else, the name of a file is none of them, since many things are done in one file. ``naming_facts`` are
    those and the terms that few facts hold, though many documents repeat them; they name a fact or an article.
    """

    __slots__ = (
        "files",
        "identifiers",
        "least",
        "minor",
        "names",
        "naming",
        "naming_facts",
        "rated",
        "room",
        "topics",
        "unknown",
        "weights",
    )

    def __init__(
        self,
        parts: Sequence[str],
        topics: Sequence[list[str]],
        rated: Mapping[str, ranking.Word],
        least: Least,
        room: int,
    ) -> None:
        chunks = [chunk for part in parts for chunk in part.split() if chunk.isascii()]
        terms = {chunk: tokens.of(chunk) for chunk in reversed(chunks)}
        self.names = {term: chunk for chunk, held in terms.items() for term in held}
        self.identifiers = {max(held, key=len) for held in terms.values() if len(held) > 1}
        self.files = {term for term, chunk in self.names.items() if _is_file(chunk)}
        self.topics = topics
        self.rated = rated
        self.least = least
        self.room = room
        self.weights: dict[str, float] = {}
        self.minor: Collection[str] = ()
        self.naming = set(rated)
        self.naming_facts = self.naming
        self.unknown: Collection[str] = ()

    def weigh(self, minor: Collection[str], known: Mapping[str, int], documents: int, words: int) -> None:
        """Set the weights of the terms, and which of them name something.

        ``minor``: the terms that say what to do and not with what; ``known``: how many documents hold each term;
        ``documents`` and ``words``: how many there are in all.
        """
        unit = log2(max(2, words))
        self.weights = {
            term: word.bits / unit * (_MINOR if term in minor else 1.0) for term, word in self.rated.items()
        }
        self.minor = minor
        self.unknown = {term for term in self.rated if not known.get(term)}
        few = max(_FEW, documents**_NAMING)
        naming = {term for term in self.rated if term not in minor and known.get(term, 0) <= few}
        self.naming = naming - self.files or naming
        self.naming_facts = self.naming

    def repeated(self, known: Mapping[str, int]) -> list[str]:
        """Return the terms that name nothing, since many documents hold them, which may repeat what few facts say.

        ``known``: how many documents hold each term.
        """
        nameless = [term for term in self.rated if term not in self.naming and term not in self.minor]
        return [term for term in nameless if 0 < known.get(term, 0) <= _REPEATED]

    def name_facts(self, known: Mapping[str, int]) -> None:
        """Let the terms that few facts hold name a fact; ``known``: how many facts hold each."""
        telling = {term for term, count in known.items() if 0 < count <= _FEW_FACTS}
        self.naming_facts = self.naming | (telling - self.files)

    def weight(self, terms: Collection[str]) -> float:
        """Return the weight of shared terms."""
        return sum(self.weights.get(term, 0.0) for term in terms)

    def weight_of_work(self, terms: Collection[str]) -> float:
        """Return the weight of shared terms, of which those of one identifier or path count as its heaviest one."""
        heaviest: dict[str, float] = {}
        for term in terms:
            name = self.names.get(term, term)
            heaviest[name] = max(heaviest.get(name, 0.0), self.weights.get(term, 0.0))
        return sum(heaviest.values())

    def margin(self, statement: Statement) -> float:
        """Return the evidence for a statement as a multiple of what it needs, 0 when it is no answer.

        What records work needs more than a fact or an article.
        """
        is_of_work = statement.hit.kind in WORK
        said = frozenset(tokens.of(statement.core))
        own_words = statement.words.difference(self.minor)
        names = {self.names.get(term, term) for term in own_words}
        naming = (self.naming if is_of_work else self.naming_facts).intersection(own_words)
        if is_of_work:
            needed = self.least.evidence * self._of_work(statement, naming)
            is_named = len(names) >= _WORDS and not naming <= self.files
            is_strong = is_named and statement.evidence >= needed
            is_answer = is_strong and self._added(said) > 0 and self._held(said) >= _HELD
            return statement.evidence / needed if is_answer else 0.0
        words, held = (own_words, 0.0) if len(self.topics) < _MANY else (names, _HELD_OF_MANY)
        if not naming or len(words) < _WORDS or statement.evidence < self.least.evidence:
            return 0.0
        is_answer = self._held(said) >= held and (not self.least.fit or self._fits(statement.evidence, said))
        return statement.evidence / self.least.evidence if is_answer else 0.0

    def _fits(self, evidence: float, said: Collection[str]) -> bool:
        """Return whether a sentence with these terms concerns most of a topic and adds something to it.

        Words that the project does not hold do not count: the new value in an order that changes one is such a word.
        """
        least = self.least.fit * self.least.evidence
        return evidence * self._held(said, self.unknown) >= least and self._added(said) >= _ADDED

    def _held(self, said: Collection[str], without: Collection[str] = ()) -> float:
        """Return the largest share of a topic, by weight, that the terms of a sentence hold, ``without`` some terms."""
        topics = [[term for term in topic if term not in without] for topic in self.topics]
        shares = (
            self.weight([term for term in topic if term in said]) / (self.weight(topic) or 1.0) for topic in topics
        )
        return max(shares, default=0.0)

    def _of_work(self, statement: Statement, naming: Collection[str]) -> float:
        """Return how many times the least evidence a record of work needs."""
        if statement.is_noted:
            return _NOTED
        if statement.hit.kind == "turn" and statement.speaker != "user":
            return _OF_WORK if self.identifiers.isdisjoint(naming) else _NAMED
        if len(self.topics) >= _MANY:
            return _OF_MANY
        is_typed = statement.speaker == "user" and not _is_pasted(statement.hit.passages[0])
        return _TYPED if is_typed else _OF_WORK

    def _added(self, said: Collection[str]) -> float:
        """Return the share of a sentence's terms that the question does not hold; 0 when it only repeats it."""
        asked = {term for topic in self.topics for term in topic}
        return sum(term not in asked for term in said) / max(1, len(said))

    def leading(self, ranked: Iterable[ranking.Candidate]) -> list[Lead]:
        """Return the documents of which a passage of the text holds what the question is about."""
        found = [Lead(candidate, self._bounds(candidate)) for candidate in ranked]
        return [lead for lead in found if lead.bounds]

    def promising(self, leads: Iterable[Lead]) -> list[Lead]:
        """Return the documents that may have enough evidence, the highest bound first; drop what else they bound."""
        least = self.least.evidence
        for lead in leads:
            score = lead.candidate.score
            lead.bounds = {passage: weight for passage, weight in lead.bounds.items() if weight * score >= least}
        return sorted((lead for lead in leads if lead.bounds), key=lambda lead: -lead.bound())

    def _bounds(self, candidate: ranking.Candidate) -> dict[int, float]:
        """Return the greatest weight that a statement of each passage can have, of those that hold a naming word."""
        return {
            passage: max(sum(self.weights[term] for term in topic if term in held) for topic in self.topics)
            for passage, held in candidate.held(self.rated).items()
            if passage >= len(ranking.HEAD) and not self.naming_facts.isdisjoint(held)
        }


class Lead:
    """A document that may answer a question.

    ``bounds`` are the greatest weights that statements of its passages can have, by the passage's number.
    """

    __slots__ = ("bounds", "candidate")

    def __init__(self, candidate: ranking.Candidate, bounds: dict[int, float]) -> None:
        self.candidate = candidate
        self.bounds = bounds

    def needed(self, least: float) -> float:
        """Return a score below which no statement of the document has the least evidence."""
        return least / max(*self.bounds.values(), ranking.ROUNDING) * (1.0 - ranking.ROUNDING)

    def bound(self) -> float:
        """Return what the evidence for its statements does not exceed."""
        return self.candidate.score * max(self.bounds.values())


def _is_pasted(passage: str) -> bool:
    return len(passage) > _PASTED_CHARS or any(mark in passage for mark in _MARKUP)


def _is_file(chunk: str) -> bool:
    """Return whether a word of the question is a path or the name of a file, in which many things are done."""
    name, _, ending = chunk.rstrip(".,:;!?)`'\"").rpartition(".")
    return "/" in chunk or (name != "" and ending.isalnum() and ending.islower() and len(ending) <= _ENDING)
