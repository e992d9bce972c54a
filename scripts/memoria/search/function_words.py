"""Function words: the words of a language that nobody searches for, in lower case and without accents."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list separated by blanks or line breaks."""
    return frozenset(text.split())


# Closed-class words only (articles, pronouns, prepositions, auxiliaries, question words), no content words.
ENGLISH = word_set(
    """a about above after again all also am an and any are aren as at be because been before being below between both
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most my myself no nor not now of off on once only or other our ours ourselves out over own
    re s same she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which while who
    whom whose why will with won would wouldn you your yours yourself yourselves"""
)
GERMAN = word_set(
    """aber als am an auch auf aus bei bis das dass dem den der dies diese durch ein eine einem einen einer eines er es
    euch fur hatte ich ihm ihn ihr im ist ja kann kein keine mein mich mir mit nach nicht noch nur oder ohne sein
    sich sie sind uber um und uns unter vom von vor warum was weil wenn wer wie wir wird wo zu zum zur"""
)
# French, Spanish, Portuguese, Italian
_ROMANCE = word_set(
    """au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui mais mes moi mon ne nos nous
    ou par pas pour qu que qui sa sans se ses sont sur ta te tes toi tu un une vos votre vous al como con cual
    cuando da del della di do dos e el ella en entre esta este esto foi gli ha hay il la las lo los mas mi muy na
    nao nei no non nos o para per pero por porque que quien se si sobre sono su sus te tiene um uma un una uno y
    ya yo"""
)

# Left out of the search index: any text can be searched for, so this holds nothing that could be a content word.
FUNCTION_WORDS = ENGLISH | GERMAN | _ROMANCE

# What a question begins with, also one without its mark; no words that begin a subordinate clause as often ("when").
QUESTION_WORDS = word_set(
    """how what which who whom whose why was wer wem wen welche welchem welchen welcher welches wo warum wieso wie
    wieviel woher wohin comment combien pourquoi quel quelle quelles quels cuál cuáles cuánto cuántos cuántas cuánta
    dónde qué quién quiénes cómo где зачем как какая какие какой какое какую кто куда почему сколько qual quale quali
    quanti quanto perché quem quais hoe hoeveel waar waarom wat welk welke wie ile jak jaka jaki jakie jakim dlaczego
    gdzie kto"""
)
QUESTION_PAIRS = (  # of scripts without blanks
    "什么", "什麼", "多少", "哪", "怎么", "怎麼", "谁", "誰", "吗", "嗎", "呢", "为何",
    "何", "いつ", "どこ", "どの", "なぜ", "ですか", "ますか",
)  # fmt: skip

# In capitals, short function words are names (``MIT``, ``US``, ``ER``, ``EST``). These are not: they are written so
# for emphasis ("do NOT push") and as keywords of SQL.
EMPHASISED = ENGLISH.difference(("am", "it", "us", "who")) | word_set(
    """aber bei bis durch kein keine nach nicht noch nur oder ohne und vor avec mais pas pour sans non nos para pero por
    si"""
)
