"""Retraction: the wording by which a user takes back what was said before, and what is left of the sentence without it.

Covers English and German, and the usual phrases of French and Spanish. Questions and passing wishes ("for now") take
nothing back. Knows sentences only.
"""

from __future__ import annotations

from memoria.language.pattern import Pattern

_CLAUSE = Pattern(r"(?i)[;:]|,\s|\s(?:and|but|und|aber|sondern|mais|pero|sino|et|y)\s")
_DOUBT = Pattern(
    r"(?i)\?\s*$|\b(?:for now|right now|this time|just once|for the moment|today|if|maybe|perhaps|vorerst|diesmal|"
    r"heute|wenn|falls|vielleicht|pour l'instant|si|por ahora|hoy)\b"
)
_TOPIC = (
    r"(?:(?:what|everything|all) (?:i|we) (?:said|told you|decided|wrote) (?:about|on|regarding)|"
    r"(?:the |that |my |our )?(?:rule|bit|part|thing|decision|note) (?:about|on|that|with))?"
)
_RETRACTION = Pattern(
    r"(?i)\b(?:please |bitte )?(?:"
    r"(?:forget|scrap|drop|discard|disregard|ignore|undo|strike) " + _TOPIC + r"|"
    r"no longer|not any ?more|(?:do not|don't|does not|doesn't|is not|isn't|are not|aren't)(?=.*\bany ?more\b)|"
    r"any ?more\b|i (?:hereby )?take (?:it |that )?back|never mind " + _TOPIC + r"|"
    r"(?:is|are) (?:obsolete|outdated|history|off the table|void)|stop(?: using)?|"
    r"(?:we |i )?(?:dropped|abandoned|retired|got rid of|moved away from|switched away from)|"
    r"vergiss(?:t)?(?: bitte)?(?: (?:alles, )?was ich (?:über|zu|zum|zur) .{0,40}gesagt habe)?|verwirf|"
    r"(?:gilt|gelten|nutzen wir|verwenden wir|brauchen wir)(?=.*\bnicht mehr\b)|nicht mehr|kein\w* (?=.*\bmehr\b)|"
    r"ich nehme (?=.*\bzurück\b)|nehme ich zurück|ist (?:hinfällig|überholt|vom tisch)|"
    r"oublie[zr]?(?: ce que j'ai dit (?:sur|de))?|n[e'](?=.*\bplus\b)|"
    r"olvid[ae](?: lo que dije (?:sobre|de))?|ya no"
    r")"
)
_REST = Pattern(
    r"(?i)\b(?:any ?more|mehr|plus|zurück|rule|rules|decision|convention|regel|entscheidung|règle|regla|said|gesagt|"
    r"holds?|applies|apply|gilt|gelten|true)\b"
)


def retracted(sentence: str) -> str:
    """Return what a sentence takes back, ``""`` when it takes nothing back."""
    if _DOUBT.search(sentence):
        return ""
    clause = next((part for part in _CLAUSE.split(sentence) if part and _RETRACTION.search(part)), "")
    return _REST.sub(" ", _RETRACTION.sub(" ", clause)).strip(" .!,")
