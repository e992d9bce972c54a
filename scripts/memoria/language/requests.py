"""Requests: tell whether what a user says only asks for work or for an answer, and states nothing.

Knows English only, and prefers to miss a request: what it does not recognise is for a model to read. An order that
changes how things are ("move production to Hetzner", "use pnpm") states something.
"""

from __future__ import annotations

from memoria.language.pattern import Pattern

MAX_WORDS = 30  # of a clause; a longer one explains something

_LEAD = (
    r"(?i)^(?:(?:\[image[^\]]*\]|(?:hi|hey|hello|ok(?:ay)?|so|and|then|also|great|good|perfect|nice|thanks|thank you|"
    r"yes|please|claude|sure|let'?s|(?:can|could|would|will) you|i(?:'d| would) like you to|i (?:want|need) you to|"
    r"go ahead and)\b)[\s,!.:]*)*"
)
_ORDER = Pattern(
    _LEAD + r"(?:(?:add|adjust|attach|build|check|(?:choose|pick) (?:an?|any|one|some|your)|clean|compare|compile|"
    r"continue|copy|create|debug|delete (?:that|this|it)|describe|diff|execute|explain|explore|find|fix|generate|"
    r"implement|improve|inspect|investigate|launch|lint|list|look (?:at|into|for)|make (?:a|an)|merge|open|optimi[sz]e|"
    r"profile|pull|push|read|rebase|refactor|reproduce|rerun|restart|review|rewrite|run|scan|search|set up|show|"
    r"simplify|start|summari[sz]e|tell me|tidy|trace|translate|try|undo|update|verify|view|watch)\b|"
    # of things in general these make a rule ("write commit messages in English")
    r"(?:commit|document|draft|format|print|sort|test|write)"
    r"(?: (?:an?|the|this|that|it|these|them|me|my|some|up)\b|\W*$))"
)
# "how about" and "what if" propose something, "which means" concludes
_QUESTION = Pattern(_LEAD + r"(?:what|which|where|who|how)\b(?! (?:about|if|means?)\b)(?:(?!\bwe\b|\bour\b).)*\?$")
_GREETING = Pattern(_LEAD + r"$")
_DOING = Pattern(  # what the user is looking at now, and nobody has to know later
    _LEAD + r"i(?:'m| am) (?:just |still |only )?(?:checking|debugging|exploring|playing with|reviewing|testing)\b"
)
_STATES = Pattern(  # a rule, a reason, a contrast, a condition or a choice of how
    r"(?i)\b(?:(?<!'s )(?<!\bis )(?<!\bor )not|no|none|never|always|only|instead|rather|than|longer|any ?more|again|"
    r"back|because|since|prefer|should|must|ha(?:ve|s) to|needs? to|from now|in (?:the )?future|remember|decid\w*|we|"
    r"our|but|if|unless|until|every|everywhere|(?:do|does|is|are|was|ca|wo|should)n'?t|"
    r"each|everything|everyone|whenever|while|before|after|first|avoid|without|"
    r"with (?!(?:an?|the|this|that|it|me|what)\b)|using|via|per|through|against|under|onto|way|style|too|undo|"
    r"as (?:the|an?)|(?:manual|direct|brief|short|alphabetical|automatical|separate)ly|yourself|"
    r"(?:as|in|into|up|for|to) (?-i:[A-Z])\w*)\b"
)
_IS = Pattern(r"(?i)\b(?:are|was|were|means?|any(?:thing|where)?)\b")  # how things are here, unless it is asked
_CLAUSE = Pattern(r"(?<=[.!?])\s+|\s*\n\s*|[,;:]\s+|\s[-\u2013\u2014]\s")


def is_only_request(text: str) -> bool:
    """Return whether every clause of a text is an order, a question or a greeting."""
    clauses = [clause.strip() for clause in _CLAUSE.split(text) if clause.strip()]
    return bool(clauses) and all(map(_is_request, clauses))


def _is_request(clause: str) -> bool:
    if len(clause.split()) > MAX_WORDS or _STATES.search(clause):
        return False
    if _QUESTION.match(clause):
        return True
    is_order = _ORDER.match(clause) or _GREETING.match(clause) or _DOING.match(clause)
    return bool(is_order) and not _IS.search(clause)
