"""Passages: an answer to a question in the words of the passages that were found for it; no model.

A part of ``offline``: answers the ``query`` task. Chooses sentences and quotes them, each with where it stands.
"""

from __future__ import annotations

from memoria.language import prose
from memoria.models.protocol import JsonObject

MAX_SENTENCES = 4


def reply(material: JsonObject) -> JsonObject:
    """The answer to ``query``: the sentences that share most words with the question, the best passage's first."""
    wanted = set(prose.words(material["question"]))
    scored: dict[str, tuple[int, int, str]] = {}
    for place, passage in enumerate(material["passages"]):
        for sentence in prose.sentences(passage["text"]):
            shared = len(wanted.intersection(prose.words(sentence)))
            if shared and sentence not in scored:
                scored[sentence] = (-shared, place, passage["ref"])
    best = sorted(scored, key=lambda sentence: scored[sentence][:2])[:MAX_SENTENCES]
    return {
        "text": "\n".join(f"{sentence} [[{scored[sentence][2]}]]" for sentence in best),
        "rests_on": list(dict.fromkeys(scored[sentence][2] for sentence in best)),
    }
