"""Durability: a score of how likely an English sentence holds on, for sentences that no cue of ``cues`` recognises.

A sentence has features: a quantifier, a modal verb, a word for a practice, a reason, a pointer at the task, a verb of
work at its beginning, and so on. Each has a weight, and the score is their sum. The weights are those of a logistic
regression on labelled lines of real prompts (``tests/bench/durable_fit.py`` fits them anew), rounded. A sentence is
scored at all only when it asks for something, is certain of it, reports nothing and proposes no single change; and it
has to say how far it reaches ("always", "every"), name a practice, or word a preference, a choice, a prohibition or
something to keep.
"""

from __future__ import annotations

from memoria.language import moment
from memoria.language.cue import Cue
from memoria.language.pattern import Pattern

BASE = -1.6  # the score of a sentence without features
CERTAIN = -0.2  # least score of a sentence that has one of the marks, or a word of ``_HOLDS_ON``
MARKS = frozenset({"practice", "preference", "let us"})
SURER = 0.2  # least score of a sentence that has only one of the lesser marks
LESSER_MARKS = frozenset({"keep", "remember"})
MIN_WORDS = 4

_ONE_CHANGE = (  # verbs that ask for one piece of work
    r"(?:add|analy[sz]e|apply|build|call|change|check|clean|close|commit|compare|continue|convert|copy|create|delete|"
    r"deploy|design|disable|display|do|draft|edit|enable|explain|expose|extend|figure|find|finish|fix|generate|get|"
    r"give|go|group|hand|help|implement|install|integrate|investigate|launch|list|look|make|match|merge|move|name|"
    r"open|place|proceed|push|put|read|rebase|redirect|redo|refactor|remove|rename|render|replace|restore|return|"
    r"revert|review|rewrite|run|save|search|see|send|set|show|sort|spawn|split|start|switch|take|tell|test|try|turn|"
    r"undo|update|verify|wait|write)"
)
_UI = (
    r"(?:badge|banner|box|button|card|chart|click\w*|colou?r|column|dialog|dropdown|field|font|footer|graph|header|"
    r"hover\w*|icon|image|label|layout|link|list|margin|menu|modal|padding|page|panel|pixel|popup|row|screen|scroll\w*|"
    r"section|shortcut|sidebar|tab|table|title|toggle|view|widget)s?"
)
_LASTING = (
    r"from now on|from this point|(?:going|moving) forward|in (?:the )?future|next time|at all times|permanently|"
    r"consistently|continuously|by default|as a rule|in general|generally|normally|usually|"
    r"(?:every|each|across) sessions?|afterwards|without exception|no exceptions|at any point|for good"
)
_PRACTICE = (
    r"api keys?|approach|architecture|backwards?|best practices?|claude\.md|agents\.md|constants|constraint|"
    r"conventional|conventions?|coverage|credentials?|defaults|directive|enterprise|fallbacks?|guidelines?|"
    r"hard-?cod\w+|history|instructions?|lint\w*|logger|maintainab\w+|memory|mock\w*|philosophy|polic(?:y|ies)|"
    r"prettier|principles?|production|quality|readab\w+|rules?|secrets?|secure|source of truth|standards?|"
    r"strategy|style|subscription|tokens?|trusted|typecheck\w*|untrusted|workarounds?|workflow"
)
_PAST = (
    r"was|were|did|had|been|have|has|i've|got|went|made|tried|saw|noticed|added|changed|created|moved|worked|happened|"
    r"found|removed|installed|approved|reviewed|checked|didn't|wasn't|meant|started|finished"
)
_ASIDE = r"(?:(?:please|ok|okay|and|then|now|first|also|yes|next|so|just|actually|finally|go ahead and),? )*"

# Feature, weight, pattern. A pattern that begins with "^" is tried on the sentence without its lead-in.
FEATURES: tuple[tuple[str, float, Pattern], ...] = tuple(
    (name, weight, Pattern(pattern if name == "emphasis" else "(?i)" + pattern))
    for name, weight, pattern in (
        # how far it reaches
        ("lasting", 1.1, rf"\b(?:{_LASTING})\b"),
        ("always", 0.8, r"\b(?:always|never|ever|at all costs|under no circumstances|no matter what|constantly)\b"),
        ("never do", 0.9, r"\b(?:should|must|may|can|shall|do|to|we|you|they|i|and|but) (?:never|not ever)\b|"
                          r"\b(?:must not|must always|should always|not allowed to)\b"),
        ("every", 0.4, r"\b(?:every|each|any|whatever|everything|anything|everywhere|anywhere|nobody|everyone|"
                       r"whichever)\b"),
        ("no things", 0.5, r"\bno \w+s\b|\bnot? any\b|\bwithout any\b"),
        ("only", 0.7, r"\bonly\b"),
        ("occasion", 0.3, r"\b(?:whenever|(?:every|each|any) time|when(?:ever)? (?:you|we|a|an|any|something|\w+ing)|"
                          r"if (?:you|we|a|an|any|something|anything|there)|before (?:you|we|any|every|\w+ing)|"
                          r"after (?:you|each|every|any|\w+ing))\b"),
        ("each occasion", 1.0, r"\b(?:after|before|for|with|on|at|in) (?:every|each)\b|\b(?:every|each|any) time\b|"
                               r"\bwhenever\b"),
        ("things", 0.6, r"^(?:the |our |all )?(?:[\w-]+ ){0,2}[\w-]{3,}s (?:should|must|shall|need|have to|are|can|"
                        r"may|always|never|go|live|belong)\b"),
        # what it asks for
        ("should", 0.8, r"\bshould(?:n't)?\b"),
        ("you should", 0.3, r"\byou(?:'re)? (?:should|shouldn't|must|need to|have to|can only|can't|cannot|are not|"
                            r"aren't|not|will)\b"),
        ("don't", 0.5, r"\b(?:do not|don't|never)\b"),
        ("negation", 0.1, r"\b(?:not|never|no|without|nothing|none|don't|avoid)\b"),
        ("we do", 0.4, r"\bwe (?:\w+ly )?(?:use|run|follow|keep|do|don't|do not|only|always|never|write|deploy|test|"
                       r"store|support|prefer|avoid|have|should|must|want|need)\b|"
                       r"\bwe(?:'re| are) (?:not )?(?:using|going)\b"),
        ("preference", 0.9, r"\b(?:prefer\w*|i (?:really )?(?:like|love|hate|don't like|do not like)|rather|"
                            r"not a fan|i expect)\b"),
        ("let us", 0.9, r"\blet'?s (?:use|keep|stick|go with|not|avoid|make sure|leave|ignore|assume)\b"),
        ("a tool", 0.6, r"\b(?:use|using|with|on|to|run|in) (?:the )?(?-i:[A-Z])[\w.+-]+|"
                        r"(?:^|\b(?:to|let's|we|i)) ?use (?!(?:the|this|that|it|a|an|same|following|my|your|these|"
                        r"those)\b)\w+"),
        ("keep", 0.2, r"^(?:keep|maintain|follow|use|prefer|avoid|treat|stick|ensure|make sure|record|document|"
                      r"respect|limit|restrict|remember|assume|ask|allow|favou?r|include|focus|be|don't|do not|never|"
                      r"always)\b"),
        ("remember", 0.5, r"\b(?:remember|keep in mind|memori[sz]e|note that|don't forget|important|"
                          r"to (?:your |the )?memory|in memory|add this to)\b"),
        ("exactly", 0.2, r"\b(?:exact(?:ly)?|specific|only the|just the)\b"),
        ("emphasis", 0.5, r"\b(?:NEVER|ALWAYS|NOT|MUST|ONLY|DO NOT|DON'T|NO|STOP|ANY|ALL|EVERY)\b"),
        # what it is about, and why
        ("practice", 1.1, rf"\b(?:{_PRACTICE})\b"),
        ("project", 0.6, r"\b(?:project|repo|repository|code ?base|app|application|system|platform|server|database|"
                         r"environment|team|users?|customers?|clients?|product|frontend|backend|service|cloud|prod)\b"),
        ("apart", 0.8, r"\b(?:separate\w*|isolated?|independent\w*|outside|behind|private|public)\b"),
        ("reason", 0.5, r"\b(?:because|since|so that|otherwise|to avoid|in order to|due to|that's why|"
                        r"as (?:it|they|we|i)|so (?:it|they|we|i|the|that))\b"),
        # what ties it to the moment
        ("one change", -1.2, rf"^{_ASIDE}(?:lets |let's |let us )?{_ONE_CHANGE}\b"),
        ("question", -1.1, r"\?|^(?:can|could|would|will|is|are|do|does|did|what|why|how|where|which|who|should)\b|"
                           r"\b(?:can|could|would|will) (?:you|we|i)\b|\bright\b|\bor\W*$|let me know|"
                           r"\bwhat (?:is|do|are)\b|\bhow (?:to|do|can)\b"),
        ("for now", -1.1, r"\byet\b|\b(?:for|right) now\b|\bfirst version\b|\bv1\b"),
        ("user interface", -0.7, rf"\b{_UI}\b"),
        ("past", -0.6, rf"\b(?:{_PAST})\b"),
        ("here", -0.3, r"\b(?:this|these|those|here|above|below|following|there)\b"),
        ("the things", -0.5, r"(?:\bthe \w+.*){3}"),
        ("also", -0.4, r"\b(?:also|too|as well)\b"),
        ("guess", -0.2, r"\b(?:maybe|perhaps|might|probably|i think|seems?|not sure|possibl[ey]|i guess|kind of|"
                        r"wonder\w*|hmm|unsure|ideally|would be)\b"),
        ("you to", -0.5, r"\bi (?:want|need|would like|'d like) you to\b|\bi'd like you\b"),
        ("order", -0.4, r"\b(?:first|then|next|after that|finally|lastly|second|third|steps?|phase|part|tasks?|plan|"
                        r"before (?:we|i)|once (?:it|the))\b"),
        ("progress", -0.4, r"\b(?:done|finish\w*|continue|proceed|go ahead|looks? good|working|works|fails?|failing|"
                           r"broken|error\w*|bug|issue|problem|crash\w*|result)\b"),
        # how long it is
        ("short", -0.7, r"^\W*(?:\S+\s+){0,4}\S+\W*$"),
        ("long", 0.5, r"^\W*(?:\S+\s+){20}"),
        ("very long", 0.6, r"^\W*(?:\S+\s+){32}"),
    )
)  # fmt: skip

_WEIGHTS = {name: weight for name, weight, _ in FEATURES}

_ASKS = Pattern(
    r"(?i)\b(?:should(?:n't)?|must(?:n't)?|shall|(?:need|needs|have|has) to|needs? (?:a|an|one|the)|not allowed|"
    r"cannot|can't|can only|may (?:only|not)|won't|will (?:not |never |only |always )?be|not going to|never|always|"
    r"only|let's|prefer\w*|rather|make sure|ensure|want|expect|don't need|no need|supposed to|"
    r"we (?:use|don't|do not|now|run|only|will)|we're using|we are using|source of truth|critical|important|mandatory|"
    r"required|forbidden|acceptable|avoid|going forward|from now on|(?:after|before|for|with|on) (?:every|each)|"
    r"(?:every|each|any) time)\b|"
    r"^(?:(?:please|just|also|and|but|so|then|in|for|when|if|before|after|every|each|with)\b"
    r".*, ?(?:please |we |you )?)?(?:please )?(?:don't|do not|no|keep|maintain|follow|use|avoid|treat|stick|record|"
    r"document|respect|limit|restrict|remember|assume|ask|allow|favou?r|prefer|include|focus|be|stop|ensure|memorize|"
    r"never|always|only|whenever|from|going forward)\b"
)
_UNSURE = Pattern(
    r"(?i)\b(?:maybe|perhaps|might|probably|possibl[ey]|not sure|i guess|wonder\w*|hmm+|unsure|it seems?|seems to|"
    r"any ideas?|(?:could|can|would|will) you|can we|could we|should (?:we|i)|do (?:we|you)|did you|let me know|"
    r"what if|how about|i'm thinking|worthwhile|never ?mind|i don't (?:think|believe|know)|don't know)\b|\?"
)
_REPORTS = Pattern(
    r"(?i)^(?:for (?:example|instance)|"
    r"i (?:already|only (?!want)|just (?!want)|can't|can|don't think|didn't|had|have (?!to)|see|get|got|did|was|"
    r"tried|am|would|will be|noticed|accidentally|mean|added|made|moved|think (?!we should (?:not|never|always)))|"
    r"i'm|i've|it|it's|this|that|that's|these|those|they|he|she|there (?:is|are)|currently|need an?|"
    r"any ideas|hey|hi|can|could|would|let me|you(?:'ll| will) be able|you(?:'re| are) \w+ing|when i|"
    r"(?:(?:we|it|they|he|she|you) )?never (?:\w+ed|seen|heard|had|been))\b|"
    r"\bbe able to\b"
)
_PROPOSES = Pattern(
    r"(?i)\b(?:should|need to|needs to|have to|has to|must|want to|like to|wanna|gonna|let's|lets|let us|want you to|"
    rf"like you to)(?: also| just| at least| then| now| first)* {_ONE_CHANGE}\b|"
    r"\b(?:want|needs?) (?:an?|one|some|another|more)\b|"
    rf"^{_ASIDE}(?:lets |let's |let us )?{_ONE_CHANGE}\b"
)
_HOLDS_ON = Pattern(rf"(?i)\b(?:{_LASTING}|always|never|every|each|whenever|any time|throughout)\b")
_SCREEN = Pattern(  # less than ``_UI``: nothing that code or a database has, too
    r"(?i)\b(?:badge|banner|button|card|chart|click|colou?r|dialog|dropdown|font|footer|hover|icon|menu|modal|padding|"
    r"page|panel|pixel|popup|screen|scroll|sidebar|toggle|widget)(?:s|ed|ing)?\b"
)
_ENGLISH = Pattern(
    r"(?i)\b(?:the|to|of|and|for|is|are|be|we|you|i|it|this|that|not|don't|should|use|with|please|my|our|no)\b"
)
_CHOICE = Pattern(r"(?i)\b(?:let'?s|we(?:'ll| will|'re| are)|going to|i want to|we want|goal|name|separate)\b")

_RULE = Cue("preference", 0.65, MIN_WORDS, r"(?!)")
_DECISION = Cue("decision", 0.65, MIN_WORDS, r"(?!)")


def features(sentence: str, bare: str) -> list[str]:
    """Return the names of the features of a sentence; ``bare``: the sentence without its lead-in."""
    return [
        name
        for name, _, pattern in FEATURES
        if pattern.search(bare if pattern.source.startswith(("^", "(?i)^")) else sentence)
    ]


def _score(found: list[str]) -> float:
    """Return how likely a sentence with these features holds on: the log odds, so that 0 means as likely as not."""
    return BASE + sum(_WEIGHTS[name] for name in found)


def is_candidate(sentence: str, bare: str) -> bool:
    """Return whether a sentence asks for something, is certain of it, reports nothing and proposes no single change."""
    if len(sentence.split()) < MIN_WORDS or not (_ASKS.search(bare) or _ASKS.search(sentence)):
        return False
    if _UNSURE.search(sentence) or _REPORTS.search(bare) or moment.is_passing(sentence):
        return False
    return bool(_HOLDS_ON.search(sentence)) or not (_PROPOSES.search(sentence) or _PROPOSES.search(bare))


def is_at_hand(sentence: str, bare: str) -> bool:
    """Return whether a sentence that a cue recognised is about the work at hand nevertheless.

    It is when it reports, asks for one change or speaks of a screen, and neither reaches further nor names a
    practice. Only an English sentence can be told.
    """
    if not _ENGLISH.search(sentence) or _HOLDS_ON.search(sentence):
        return False
    found = features(sentence, bare)
    if "practice" in found or _score(found) >= 0:
        return False
    return "one change" in found or bool(_SCREEN.search(sentence) or _REPORTS.search(bare))


def is_report(sentence: str) -> bool:
    """Return whether a sentence only tells what is, was done or is being done."""
    return bool(_REPORTS.search(sentence)) and not _HOLDS_ON.search(sentence)


def of(sentence: str, bare: str) -> Cue | None:
    """Return the cue of a rule or a decision when the sentence is likely one and worded like one, otherwise None."""
    if not is_candidate(sentence, bare):
        return None
    found = features(sentence, bare)
    reached = _score(found)
    marks = MARKS | LESSER_MARKS if reached >= SURER else MARKS
    if reached < CERTAIN or (marks.isdisjoint(found) and not _HOLDS_ON.search(sentence)):
        return None
    return _DECISION if _CHOICE.search(sentence) else _RULE
