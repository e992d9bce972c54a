"""Moment: the wording that ties a sentence to the task at hand, so that it is an order and not a rule.

An order points at something ("this file", "the other one", "line 12"), at a time ("for now", "not yet") or at a part of
the work under way ("the existing tests", "for the demo"). Covers English and German; the other languages have theirs
beside their cues.
"""

from __future__ import annotations

from memoria.language.pattern import Pattern

_LASTING = Pattern(  # said of the future, whatever else the sentence points at
    r"(?i)\b(?:from now on|going forward|in (?:the )?future|(?:from|the) next time|as a rule|for (?:the|all) future|"
    r"by convention|"
    r"in (?:this|our) (?:project|repo|repository|codebase|code base|team|company|organi[sz]ation)|no exceptions|"
    r"without exception|ab jetzt|ab sofort|künftig|zukünftig|in zukunft|für die zukunft|grundsätzlich|"
    r"(?:in )?diese[mrs] (?:projekt|repo|repository|codebasis|team)|bei uns)\b"
)
_TIME = (
    r"for now|right now|just now|this time|just (?:this )?once|for (?:the|a) (?:moment|second|minute|time being)|"
    r"at the moment|today|tonight|tomorrow|yet|so far|meanwhile|in the meantime|until then|"
    r"until (?:i|we) (?:have|get|are|find|finish|talk|hear)\b.*|(?:before|after|on|until|by) (?:mon|tues|wednes|thurs|"
    r"fri|satur)day|later|before the (?:demo|meeting|talk|weekend|deadline|holidays|end of the day)|(?:for|in|"
    r"during) the (?:demo|meeting|talk|presentation|sprint|spike|review)|"
    r"erst ?mal|vorerst|diesmal|dieses mal|gerade nicht|noch nicht|heute|morgen|später|jetzt noch|"
    r"im moment|momentan|einstweilen"
)
_POINTED = (
    r"yesterday|gestern|(?:this|these|those)(?! (?:project|repo|repository|codebase|team|company)\b)|"
    r"(?:in|on|for|of|to|with|at|do|use|touch|change|like|fix|revert|delete|remove|about|from|need|spell out) that\b|"
    r"that (?:one|file|test|tests|function|method|class|page|module|branch|line|ticket|helper|variable|again|now)|"
    r"(?:line|lines|row|step|steps|item|items|number|option|variant|phase|part|point|column|section|page|pr|issue|"
    r"ticket|task) #?\d+\w*|option [a-z]|[a-d]\)|#\d+|pr \w+-\d+|"
    r"my (?:local|last|first|branch|fork|mind|message|comment)|"
    r"den anderen|die anderen?|das andere|dem anderen|der andere|diese[nrms]? (?!projekt|repo|team)\w+|zeile \d+|"
    r"noch einen?|beide[ns]?"
)
_CHOSEN = (  # one of several things at hand; beside "always" or "never" it may be said of all times
    r"(?:the|my|your|its) (?:first|second|third|fourth|next|previous|other|others|same|existing|remaining|rest|left|"
    r"right|following|above|latest|newest|old|new|former|latter|wrong|correct|current|last(?! (?:one|two|three|\d)\b)|"
    r"\w+ (?:one|ones)|two|three|four|five)|another (?:one|file|test|way)|an existing|"
    r"(?:den|die|das|der|dem) (?:erste|zweite|dritte|letzte|nächste|vorige|neue|alte|bestehende)[nrs]?"
)
_PART = (
    r"(?:the|my) (?:changes|diff|rest|button|page|screen|header|title|dialog|form|chart|table|toolbar|sidebar|row|"
    r"column|"
    r"spinner|backend part|frontend part|parameter)"
)
_UNDER_WAY = (
    r"i'?(?:ll| will| am going to|m going to) \w+|i (?:want|need|would like|'d like) (?:to|you to|a|an|the) "
    r"(?!always\b|never\b)\w+|"
    r"(?:then|and) (?:commit|push|merge|continue|go on|tell me|show me|try again|see)|never mind|as always|"
    r"irrelevant|(?<!can't )(?<!cannot )(?<!not )just (?:fix|change|do|make|add|remove|move|show) the|"
    r"(?:ich|dann) (?:mache|schaue|melde|prüfe)|sag bescheid"
)
_PASSING = Pattern(r"(?i)\b(?:" + _TIME + r")(?!\w)")
_MOMENT = Pattern(
    r"(?i)\b(?:" + "|".join((_TIME, _POINTED, _UNDER_WAY)) + r")(?!\w)|^(?:now|jetzt|nun)\b|, now\W*$|\bnow!"
)
_ONE_OF_SEVERAL = Pattern(r"(?i)\b(?:" + _CHOSEN + r")(?!\w)")
_PART_OF_WORK = Pattern(r"(?i)\b(?:" + _PART + r")(?!\w)")
_OCCASION = Pattern(  # on each of these there is another title, another page
    r"(?i)\b(?:when(?:ever)? you \w+ (?:an?|any|new)|(?:every|each) (?:single )?time you|"
    r"(?:for|after|before|with|on) (?:every|each|any))\b"
)
_TRIAL = Pattern(  # a prompt that says so is about something done once
    r"(?i)\b(?:(?:a|an|this|the|our|my) (?:\w+ )?experiment|(?:let's |let us )?pretend (?:that|we|you|to)|as a test|"
    r"just (?:a|for a|for) "
    r"(?:test|fun|demo)|(?:for|in|during) (?:this|the) (?:session|exercise|experiment|trial)|nur (?:ein|zum) test\w*|"
    r"(?:kleines )?experiment)\b"
)
_HABIT = Pattern(r"(?i)\b(?:always|never|immer|nie|niemals)\b")


def is_order(sentence: str) -> bool:
    """Return whether an English or German sentence is about the task at hand, whatever rule its words resemble."""
    if _LASTING.search(sentence):
        return False
    if _MOMENT.search(sentence) or (_ONE_OF_SEVERAL.search(sentence) and not _HABIT.search(sentence)):
        return True
    return bool(_PART_OF_WORK.search(sentence)) and not _OCCASION.search(sentence)


def is_trial(prompt: str) -> bool:
    """Return whether a prompt announces an experiment or something else that is done once."""
    return bool(_TRIAL.search(prompt))


def is_lasting(sentence: str) -> bool:
    """Return whether a sentence says of itself that it holds on."""
    return bool(_LASTING.search(sentence))


def is_passing(sentence: str) -> bool:
    """Return whether a sentence says of itself that it holds for the moment only."""
    return bool(_PASSING.search(sentence)) and not _LASTING.search(sentence)
