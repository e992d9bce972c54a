"""Stop words: the words that carry too little meaning to count, in one list for each use.

All are lower case and without accents. Words that several uses share are in one list; where two uses differ, a comment
gives the reason.
"""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Closed-class words only (articles, pronouns, prepositions, auxiliaries, question words), no content words.
_ENGLISH = _set(
    """a about above after again all also am an and any are aren as at be because been before being below between both
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most my myself no nor not now of off on once only or other our ours ourselves out over own
    re s same she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which while who
    whom whose why will with won would wouldn you your yours yourself yourselves"""
)
_GERMAN = _set(
    """aber als am an auch auf aus bei bis das dass dem den der dies diese durch ein eine einem einen einer eines er es
    euch fur hatte ich ihm ihn ihr im ist ja kann kein keine mein mich mir mit nach nicht noch nur oder ohne sein
    sich sie sind uber um und uns unter vom von vor warum was weil wenn wer wie wir wird wo zu zum zur"""
)
# French, Spanish, Portuguese, Italian
_ROMANCE = _set(
    """au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui mais mes moi mon ne nos nous
    ou par pas pour qu que qui sa sans se ses sont sur ta te tes toi tu un une vos votre vous al como con cual
    cuando da del della di do dos e el ella en entre esta este esto foi gli ha hay il la las lo los mas mi muy na
    nao nei no non nos o para per pero por porque que quien se si sobre sono su sus te tiene um uma un una uno y
    ya yo"""
)

# Left out of the search index: any text can be searched for, so this holds nothing that could be a content word.
FUNCTION_WORDS = _ENGLISH | _GERMAN | _ROMANCE

# These change what a rule says ("before the commit", "after the commit"), so a comparison of rules keeps them.
_RELATIONS = _set(
    """above after again before below between both but cannot down during few further most no nor not off once other own
    same through too under until where whose why bis durch euch kann kein keine nicht ohne uber um unter vom warum
    wie wo"""
)
# These only show that something is a rule.
_RULE_WORDS = _set(
    """always bevorzuge bevorzugt bitte codebase damit dann die diesem dieser dieses dir done every haben hat hier immer
    instead jetzt like likes man may might must nehmen nutze nutzen please prefer preferred prefers project
    projekt rather repo repository shall since sonst statt use used user uses using verwende verwenden want wants
    war waren werden wurde"""
)
# Left out when two rules or facts are compared.
LIGHT_WORDS = ((_ENGLISH | _GERMAN) - _RELATIONS) | _RULE_WORDS

# Frequent in every technical conversation: they name no topic, although a search may be meant for them.
_EVERYDAY_WORDS = _set(
    """able across actually add added adds against already although always among another anything away back best better
    call called came case cause caused change changed changes check come currently different don't done due either
    else empty even ever every everything exactly existing fact file files find fine first fix fixed following
    found full get gets getting give given go goes going gone good got happen happens help however i'll i'm inside
    instead issue it's keep kind know last later least left less let let's like likely line lines little long look
    looks lot made main make makes making many matter may maybe means might mine much must name need needed needs
    never new next non none note nothing often ok old one onto open outside part per place please point possible
    previous probably problem properly put quite rather real really reason rest right root run running runs said
    say see seem seems seen set several show shows side simple simply since single something sort still sure take
    takes test tests that's thing things think though three time together toward try trying turn two update
    updated use used user uses using usually via want wants way well went whether whole within without work
    working works wrong yes yet"""
)
# Left out when looking for the topics of technical prose.
COMMON_WORDS = _ENGLISH | _GERMAN | _EVERYDAY_WORDS
