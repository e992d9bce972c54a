"""Passages: answer a question with sentences of the passages that were found for it, without a model.

This is the part of ``offline`` that answers the ``query`` task. It selects sentences and quotes them with their
references.
"""

from __future__ import annotations

from memoria.language import prose
from memoria.models.protocol import JsonObject

MAX_SENTENCES = 4


def reply(material: JsonObject) -> JsonObject:
    """Return the answer to ``query``: the sentences that share most words with the question, best passage first."""
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
