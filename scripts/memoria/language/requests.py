"""Requests: tell whether what a user says only asks for work or for an answer, and states nothing.

Knows English only, and prefers to miss a request: what it does not recognise is for a model to read. An order that
changes how things are ("move production to Hetzner", "use pnpm") states something.
"""

from __future__ import annotations

from memoria.language.pattern import Pattern

MAX_WORDS = 30  # of a clause; a longer one explains something

_LEAD = (
    r"(?i)^(?:(?:\[image[^\]]*\]|(?:hi|hey|hello|ok(?:ay)?|so|and|then|also|great|good|perfect|nice|thanks|thank you|"
    r"yes|please|claude|sure|(?:can|could|would|will) you|i(?:'d| would) like you to|i (?:want|need) you to|"
    r"go ahead and)\b)[\s,!.:]*)*"
)
_ORDER = Pattern(
    _LEAD + r"(?:(?:add|attach|build|check|clean|compare|compile|continue|copy|create|debug|delete (?:that|this|it)|"
    r"describe|diff|execute|explain|explore|find|fix|generate|implement|improve|inspect|investigate|launch|lint|list|"
    r"look (?:at|into|for)|make (?:a|an)|merge|open|optimi[sz]e|profile|pull|push|read|rebase|refactor|reproduce|"
    r"rerun|restart|review|rewrite|run|scan|search|set up|show|simplify|start|summari[sz]e|tell me|tidy|trace|"
    r"translate|try|undo|update|verify|view|watch)\b|"
    # of things in general these make a rule ("write commit messages in English")
    r"(?:commit|document|draft|format|print|sort|test|write)"
    r"(?: (?:an?|the|this|that|it|these|them|me|my|some|up)\b|\W*$))"
)
_QUESTION = Pattern(  # "how about" and "what if" propose something
    _LEAD + r"(?:what|which|where|who|how)\b(?! (?:about|if)\b)(?:(?!\bwe\b|\bour\b).)*\?$"
)
_GREETING = Pattern(_LEAD + r"$")
_STATES = Pattern(  # a rule, a reason, a contrast, a condition, a choice of how, or how things are here
    r"(?i)\b(?:(?<!'s )(?<!\bis )not|no|none|never|always|only|instead|rather|than|longer|any ?more|again|back|because|"
    r"since|prefer|should|must|ha(?:ve|s) to|needs? to|from now|in (?:the )?future|remember|decid\w*|we|our|but|if|"
    r"unless|until|every|everywhere|means?|are|was|were|(?:do|does|is|are|was|ca|wo|should)n'?t|"
    r"each|everything|everyone|any(?:thing|where)?|whenever|while|before|after|first|avoid|without|"
    r"with (?!(?:an?|the|this|that|it|me)\b)|using|via|through|against|under|onto|way|style|too|undo|as (?:the|an?)|"
    r"(?:manual|direct|brief|short|alphabetical|automatical|separate)ly|yourself|"
    r"(?:as|in|into|up|for|to) (?-i:[A-Z])\w*)\b"
)
_CLAUSE = Pattern(r"(?<=[.!?])\s+|\s*\n\s*|[,;:]\s+|\s[-\u2013\u2014]\s")


def is_only_request(text: str) -> bool:
    """Return whether every clause of a text is an order, a question or a greeting."""
    clauses = [clause.strip() for clause in _CLAUSE.split(text) if clause.strip()]
    return bool(clauses) and all(map(_is_request, clauses))


def _is_request(clause: str) -> bool:
    if len(clause.split()) > MAX_WORDS or _STATES.search(clause):
        return False
    return bool(_ORDER.match(clause) or _QUESTION.match(clause) or _GREETING.match(clause))
