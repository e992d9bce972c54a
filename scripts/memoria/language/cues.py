"""Cues: the wording by which a user's sentence shows what it states: a correction, a preference, a decision, a fact.

Covers English and German, here and in ``rule_cues``; ``cues_abroad`` covers five more languages. Every caller
classifies sentences here, so that all agree. The patterns prefer to miss a rule rather than invent one: questions,
quotations, passing wishes ("for now") and orders of the moment (``moment``) state nothing. Knows sentences only.
"""

from __future__ import annotations

from memoria.language import cues_abroad, durability, moment, prose
from memoria.language.cue import Cue
from memoria.language.pattern import Pattern
from memoria.language.rule_cues import KIND_OF_THING, RULE_CUES
from memoria.language.spelling import spelled

MAX_PROMPT = 1_500  # characters; longer prompts are mostly pasted text and are not examined

_QUOTED = Pattern(r"(?m)```|^[ \t]*>|<[a-z_-]+>")  # where something begins that is not the writer's own words
_CLOSING = Pattern(r"</[a-z_-]+>")
_SPLIT = Pattern(r"(?<=[.!?])\s+(?=\S)|(?<=[\u3002\uff01\uff1f])(?=\S)|\n+")
_BULLET = Pattern(r"^(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_COMMAND = Pattern(r"^\s*(?:[/!#]\w|<(?:command|local-command|bash|task-notification|teammate)|\[Request interrupted)")
_FILLER = Pattern(
    r"(?i)^(?:(?:ok(?:ay)?|so|and|but|also|well|hm+|actually|please|bitte|und|gut|ja|yes|yeah|thanks|danke|sorry|"
    r"no(?=\s*[,;:.!-]|\s+(?:no|i|we|you|it|it's|that|that's|this|don't|do|use|not|never|always|please|just|let's|my|"
    r"our|they|wait|actually|thanks|only|stop)\b)|"  # "no emojis in commits" is an interjection nowhere
    r"nope|nah|nein|nee|nö|oh|btw|by the way|fwiw|fyi|heads[ -]up|to be clear|"
    r"(?:just )?so (?:that )?you know(?: that)?|one (?:more )?thing|remember(?: that| to)?|merk dir|"
    r"note(?: that)?|as i said|again|"
    r"wie gesagt|"
    r"i (?:already )?told you(?: already)?)\b[\s,:;!.-]*)+"
)
_QUESTION = Pattern(
    r"(?i)[?\uff1f]\s*$|^¿|^(?:(?:ok|so|and|but|actually|hey|presumably)[\s,]+)*(?:can|could|should|shall|would|will|"
    r"is|are|"
    r"was|were|do we|do you|does|did|what|why|how|where|which|who|when should|"
    r"kannst|könntest|können|soll|sollen|sollte|ist|sind|warum|wieso|wie (?!gesagt)|wo|welche|wer|gibt|hast|"
    r"haben wir)\b"
)
_THIS = Pattern(r"(?i)^(?:use|run|take|nimm|nutze) (?:this|that|it|the (?:same|following)|dies\w*|das)\b")


_ASIDE = (  # verbs after "don't" that do not make a rule
    r"worry|mind|think|know|understand|see|care|get|have|want|like|need|feel|find|believe|forget"
)
_WORKING = (  # verbs after "don't" that say how one works on code, beside what the program does
    r"(?:add|amend|call|catch|change|commit|copy|create|delete|deploy|disable|document|duplicate|edit|explain|export|"
    r"force|generate|hard-?code|hide|ignore|import|include|inline|install|introduce|invent|leave|log|mention|merge|"
    r"mix|mock|"
    r"modify|name|nest|open|overwrite|print|push|put|raise|read|rebase|refactor|remove|rename|repeat|return|run|say|"
    r"skip|"
    r"squash|start|store|suppress|swallow|touch|translate|upgrade|use|wrap|write)"
)
_NO = r"^(?:(?:ok|sorry|hm+|oh|ah|ach|wait),? )?(?:no|nope|nah|nein|nee|nö)"
_HABIT = (  # a verb after "always" or "never" that makes a rule, not a report
    r"(?!(?:the|a|an|my|this|that|get|gets|got|gotten|see|saw|seen|work|works|fail|fails|had|been|return|returns|is|"
    r"was|were|has|be|"
    r"happen\w*|mind|did|knew|know|thought|will|would|could|quite|really|even|\w+ed)\b)\w+"
)
_NAMED = (  # the name of a tool or a habit, not a reference to something at hand
    r"(?!(?:this|that|it|the|a|an|my|your|our|them|these|those|one|another|option|both|either|what\w*|das|den|die|"
    r"der|dem|dies\w*|es|ihn|sie|ein\w*|mein\w*|dein\w*|\d)\b)\S"
)
_USE = r"(?:use|run|write|keep|name) " + _NAMED
# Tried in order on each sentence that is not a question; the first that fits decides. The wording separates a lasting
# rule ("never", "always", "we … here", plural nouns) from a step of the current task ("don't set it").
_CUES = (
    Cue(
        "correction", 0.9, 6,
        r"\bas i (?:already )?said\b",
        r"\bi (?:shouldn't|don't want to) have to (?:tell|ask|remind) you\b|\byou (?:always forget|keep forgetting)\b",
        r"\byou (?:again |once again |still )?(?:forgot|forget) to \w+ (?:.* )?again\b",
        r"\bi (?:already |have )?(?:told|asked) you(?: already| before| twice| many times| (?:to|not to) (?:always|"
        r"never))",
        r"\byou keep \w+ing\b",
        r"^wie gesagt\b",
        r"\bich (?:habe|hab) (?:es )?dir (?:schon|bereits|doch)\b",
    ),
    Cue(
        "correction", 0.85, 6,
        _NO + r"[,:.!]\s+(?!(?:thanks|thank|danke|problem|worries|the other)\b)"
        r".*\b(?:(?:we (?:use|run|don't)|wir (?:nutzen|nehmen|verwenden|schreiben)|immer|nie|niemals)\b|"
        r"(?:always|never) " + _HABIT + ")",
        _NO + r"[,:.!]\s+(?:do not|don't) use " + _NAMED,
        _NO + r"[,:.!]\s+nicht \w+ (?:verwenden|nutzen|nehmen)\b",
    ),
    Cue(  # the short forms that people use
        "correction", 0.85, 3,
        _NO + r"[\W]+(?:we|you should|you must) (?:(?:only|all) )?(?:" + _USE + r"|(?:always|never) " + _HABIT + r")",
        _NO + r"[\W]+(?:we )?(?:do not|don't|dont|never|always|only) use " + _NAMED,
        _NO + r"[,:.!]\s+(?:please )?(?:use|stick (?:to|with)) " + _NAMED,
        _NO + r"\W+wir (?:nutzen|nehmen|verwenden|benutzen|schreiben) (?!das\b|dies\w*\b|es\b)\w",
        _NO + r"[,:.!]\s+(?:bitte )?(?:nimm|nutze?|verwende|benutze?) (?:bitte )?(?:immer |nur )?" + _NAMED,
    ),
    Cue(
        "correction", 0.85, 8,
        r"\b(?:that'?s|that is) not how (?:we|i|it)\b",
        r"\bso (?:machen|nennen|schreiben) wir das (?:hier )?nicht\b",
        r"\b(?:that'?s|that is|you(?:'re| are)|das ist) (?:wrong|incorrect|not (?:right|true|correct)|mistaken|falsch|"
        r"nicht (?:richtig|wahr))\b(?!.*\b(?:should|needs?|soll|muss) )"
        r".*(?:, not\b(?! \d)|\binstead of\b|\b(?:und|and) nicht\b|\bsondern\b)",
        r"\bdas stimmt nicht\b.*(?:\bnicht\b.*\bnicht\b|\bsondern\b)",
    ),
    Cue(
        "correction", 0.8, 4,
        r"^(?:never(?! (?:mind|seen|heard|had|worked|been)\b)|ever use|avoid|only ever|(?:stop|quit) \w+ing|niemals|"
        r"vermeide|"
        r"keine[nr]?)\b(?! ahnung\b)",
        r"^(?:please )?(?:do not|don't|dont) (?!(?:" + _ASIDE + r")\b)\w+ "
        r"(?!(?:the|a|an|it|my|any\w*)\b).*, (?:use|take|ask|read|look) ",
        r"^(?:please )?(?:do not|don't|dont) (?:ever\b|" + _WORKING + r"\b"
        r"(?: (?!it|this|that|them|these|those|anything|the|any|a|an|my|your|us|me)\w+){0,2} (?!this|is|was)\w{3,}s\b)",
        r"^(?:do not|don't|dont) (?:use " + _NAMED + r"|just \w+)",
        r"\bnever\b.*\b(?:because|since|otherwise)\b",
        r"^(?:verwende|nutze|nimm|schreib\w*|mach)\b.*\b(?:niemals|nie)\b",
    ),
    Cue(
        "preference", 0.8, 4,
        r"\b(?:from now on|going forward|ab jetzt|ab sofort|künftig|in zukunft|grundsätzlich)\b",
        r"\bnext time,? (?:please )?(?:you )?(?:\w+ )?(?:always|never|do|don't|use|ask|check|make|run|warn|tell|show|"
        r"wait|write|"
        r"add|read|start|test|look|try)\b",
        r"^(?:in general|generally|normally|usually|by default|as a (?:general )?rule),? (?:we|you|i|please|use|do|"
        r"don't|"
        r"prefer|keep|try|avoid|write)\b",
        r"^in (?:the )?future,|^as a rule\b|^for (?:the|all) future\b|^für die zukunft\b",
    ),
    Cue(
        "preference", 0.75, 5,
        r"\bi (?:really |strongly |much |generally |usually |always )?prefer " + KIND_OF_THING,
        r"\bi'?d (?:much )?prefer " + KIND_OF_THING,
        r"\bi (?:\w+ )?prefer (?!not\b|to\b)\w+(?: \w+){0,3} (?:over|to|rather than) \w+",
        r"^prefer (?!the\b|that\b|this\b|it\b)\w+(?: \w+){0,3} (?:over|to|rather than|instead of) \w+",
        r"\bi (?:really )?(?:like|love|hate|dislike|can't stand) " + KIND_OF_THING,
        r"\bi(?:'d| would) rather (?:you|we|have \w+s)\b(?! not\b)|\bmir (?:ist|wäre) (?:es )?lieber\b|"
        r"\bich hätte lieber\b|\bich (?:mag|hasse) keine \w+",
        r"\bthat'?s how (?:i|we) (?:want|like)\b|"
        r"\bi (?:always want|(?:want|need|expect) you to (?:always|never))\b|\bi (?:don't )?(?:like|love|"
        r"hate) (?:it )?when "
        r"(?:you|the (?:code|tests|commits))\b|\bmy preference\b|\bich bevorzuge\b",
    ),
    Cue(
        "preference", 0.7, 6,
        r"\bi (?:don't|do not) (?:want|like) (?:any )?(?!(?:you|to|this|that|it|the|a|an|any|anything|another|my|"
        r"your)\b)\w+"
        r"(?: \w+)? (?:in|on|for|with|around)\b",
        r"\bi (?:don't|do not|never) want you to \w+ (?!the\b|a\b|an\b|my\b|anything\b|it\b)(?:\w+ )?\w+s\b",
        r"\bi (?:don't|do not) (?:want|need) (?:\w+ )+unless\b",
        r"\bbefore (?:you|we) \w+.*\bask me\b|\b(?:ask|check with|tell) me before (?:you )?\w+ (?!the\b)\w+",
        r"\bno need to ask (?:me )?(?:for|before|every|each|when)\b|\bdon't ask (?:me )?(?:for permission|before|"
        r"every)\b",
        r"\bfrag mich,? bevor\b|\bfrag(?:e)? (?:mich )?nicht (?:jedes mal|immer|vorher)\b",
        r"^only (?:a|an|the) .*\bmay\b",
        r"\bich (?:will|mag|möchte) keine\w* \w+(?: \w+)? (?:in|auf|bei|im|am)\b",
    ),
    Cue(
        "preference", 0.75, 5,
        r"^always (?!(?:same|this|that)\b)" + _HABIT + r"|^immer\b(?! (?:wieder|noch|mehr|dasselbe|das gleiche|der|"
        r"die|das)\b)",
        r"^make sure (?:to |that you |you )?always\b|^remember to always " + _HABIT,
        r"^\w+ .*, (?:always|everywhere|in every case|period|no exceptions)\W*$",
        r"^(?:schreib\w*|nutze|verwende|nimm|antworte|teste)\b.*\bimmer\b",
    ),
    Cue(
        "decision", 0.7, 5,
        r"^(?:decided|agreed|decision): \w+",
        r"\b(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|opted|chosen|went with)\b"
        r"(?! (?:yesterday )?(?:on (?:this|that|yesterday|earlier|before)|who|what|when|how|where|why|your|the first|"
        r"the second)\b)",
        r"\bthe decision (?:is|was) (?!yours\b)|\bthat is (?:a|the) decision of\b",
        r"\b(?:the (?:team|client|customer|board|architects?)|management|ops|legal) (?:has |have )?(?:decided|chose|"
        r"agreed)\b",
        r"\b(?:is|stays|remains|are) (?:(?:the|our|a) )?(?:single |only )?source of truth\b",
        r"\bthe (?:official |new )?name (?:of the \w+ )?is \S+ now\b|\bis now called\b|\bis (?:called|named) \S+ now\b",
        r"\bwe should (?:stick (?:with|to)|stay (?:on|with)|settle on|standardi[sz]e on) (?!it\b|this\b|that\b|"
        r"the plan\b)",
        r"\b(?:i|we)(?:'re| are|'m| am) (?:not|never) going to (?:be )?\w+ .*\b(?:at any point|ever|at all)\b",
        r"^we (?:won't|will not|will never) (?:ship|support|offer|use|write|build) (?!it\b|them\b|anything\b)",
        r"\b(?:i|we) (?:won't|will not|will never) (?:buy|adopt|introduce|add|pay for) (?:an?|any) (?:new |another )?"
        r"(?:tool|dependency|library|framework|service|vendor|database)\b",
        r"^(?!(?:the|it|this|that|he|she|everything|i|we|you|they|let|lets|"
        r"please)\b)[\w`-]+(?: [\w`-]+){0,2} (?:stays|stay|remains|"
        r"remain) (?:with|in|on|at|inside|outside) (?!it\b)",
        r"\b(?:wir steigen auf|wir wechseln (?:auf|zu)|wir ziehen (?:auf|zu)) \w+|"
        r"^wir steigen (?!\w+ wieder)\w+ \S+ um\b",
        r"^(?:die|der|das) \w+ (?:bleibt|bleiben) (?:bei|beim|im|in der|auf) \w+",
        r"\bwe(?:'re| are) (?:dropping|moving (?:to|off|away)|switching (?:to|from)|going with|getting rid of|"
        r"standardi[sz]ing on|deprecating)\b(?! (?:your|my|option|this|that|it|the (?:next|first|second)|\d))",
        r"\bwe (?:also )?want(?:ed)? to (?:move|switch|migrate) (?:away from|off) \w+",
        r"\b(?:no|without|(?:don't|do not) (?:need|want|care about|have to \w+|"
        r"need to \w+))\b.{0,30}\bbackwards?[ -]compatib\w*",
        r"\bi(?:'ve| have)? (?:switched|moved|migrated) (?:us|everything|the team)\b",
        r"\bwir haben uns\b.*\b(?:entschieden|geeinigt)\b|\bwir (?:bleiben bei|steigen auf)\b",
        r"\bshould be (?:the )?(?:single )?source of truth\b",
    ),
    Cue(
        "decision", 0.65, 5,
        r"^let'?s (?:use|go with|stick (?:to|with)|switch to|settle on) (?!option\b|\d|that\b|this\b|it\b|your\b|a\b|"
        r"the\b).*"
        r"(?:\bnot\b|\binstead\b|\bover\b|\brather\b|\bbecause\b|\bsince\b|, (?:it|they|we)\b)",
        r"^lass uns .*\b(?:statt|weil)\b",
    ),
    Cue(
        "preference", 0.7, 5,
        r"\bwe (?:always |only |never |all )?(?:use|run|write|keep|put|test|name)\b.*\b(?:here|in (?:this|our) \w+|"
        r"everything|explicitly|on purpose)\b",
        r"\bwe (?:don't|do not|never) (?:use|run|write|keep|put|test|name)\b.*\b(?:here|because|since)\b",
        r"\bwir (?:nutzen|verwenden|nehmen|schreiben|testen|arbeiten)\b.*\b(?:hier|immer|nicht|statt|keine\w*|"
        r"diesem)\b",
    ),
    Cue(
        "preference", 0.7, 4,
        r"\b(?:we|you should|you must|please) (?:always|never) " + _HABIT,
        r"\bwe only use " + _NAMED,
        r"\bwir (?:nutzen|verwenden|nehmen|benutzen|schreiben|testen) (?:hier )?"
        r"(?:immer|nie|niemals|nur|ausschließlich)\b",
        r"\bour (?:convention|rule|policy|style) (?:is|here)\b|\bby convention\b",
    ),
    Cue(
        "preference", 0.7, 5,
        r"^(?:use|write|put|name|verwende|nutze|schreib\w*) .*(?:\bbreaks? (?:it|them)\b|\bin (?:all|every) \w+|"
        r"\bin diesem projekt\b)",
        r"^instead of \w+.*\bin (?:all|every|new)\b",
    ),
    Cue(
        "operational", 0.7, 6,
        r"\bremember(?: that\b(?!,)|:|,)|\bremember this\b|,? remember that$",
        r"^(?:(?:as an?|just an?|quick|friendly|a|another) )*reminder\b(?: that\b|:|,)|^(?:very )?important(?: note)?:",
        r"\bdon't forget,? (?:that )?(?:we|our|you (?:must|should|can't))\b",
        r"^(?:just )?so (?:that )?you know\b|^(?:fyi|heads[ -]up|for your information)\b|^damit du(?:'s| es)? weißt\b",
        r"\bkeep in mind(?! that i\b|,? i\b)\b|\bfor the record\b|\bmemori[sz]e\b.*:|\bmerke? dir\b|\bzur info\b",
    ),
    Cue(
        "debugging", 0.6, 8,
        r"\b(?:was|were|is|are) (?:only |just |all )?because\b.*\b(?:fix\w*|solv\w*|help\w*|work\w*)\b",
        r"^the (?:reason|cause)\b(?! (?:why )?(?:i|we|you)\b).*\b(?:was|is|were)\b",
        r"\bit turned out (?:that|to be)\b|^turned out\b",
        r"^(?:die ursache|der grund|schuld) (?:war|ist|dafür war)\b|\b(?:lag|hing) (?:am|an|daran)\b.*\b(?:läuft|geht|"
        r"behoben|gelöst)\b",
    ),
    Cue(
        "fact", 0.6, 5,
        r"^(?:this|that|these|die|diese) (?:files?|folders?|modules?|code|dateien?|ordner) (?:is|are|wird|werden|ist) "
        r"(?:auto-?)?(?:generated|vendored|generiert|erzeugt)\b",
        r"\bbei uns\b.*\b(?:nur|immer|nie|niemals|ausschließlich)\b|\b(?:nur|immer|nie) bei uns\b",
        r"\b(?:uses|always|never|must)\b.*\b(?:in|for) (?:this|our) (?:repo|repository|project|codebase|team)\b",
        r"\b(?:database|server|host|staging|production|pipeline|cluster|bucket|"
        r"queue|service|docs?|datenbank\w*|produktion\w*)\b.*\b(?:is called|is deployed|is hosted|lives (?:on|in)|"
        r"runs on|listens on|läuft auf|liegt auf|heißt|hängt an)\b",
        r"^this (?:project|repo|repository|codebase|package|monorepo) (?:uses|doesn't use|targets|requires|supports|"
        r"follows|"
        r"is (?:built|written|deployed|hosted))\b",
        r"^(?:my name is|i'm responsible for|i am responsible for|deploys? (?:go|happen|run))\b",
    ),
)  # fmt: skip

# Asks for something to be kept, where it stands or beside it: "… Add this rule to your memory."
_KEEP = Pattern(
    r"(?i)\b(?:(?:add|commit|save|store|put|write|note|record) (?:(?:this|that|it|these|them|the|a|rule|down|"
    r"as) ){0,4}(?:"
    r"(?:to|in|into|as) (?:(?:the|a) )?(?:(?:your|my|our|project|global|user|persistent|long[- ]term) ){1,3}(?:memory|"
    r"memories)|to memory|(?:to|in|into) (?:(?:the|your|my|our) )?(?:`?claude\.?md`?|`?agents\.md`?|cursor ?rules))"
    r"(?: for (?:the |this )?(?:project|global|user)(?: level)?)?|"
    r"(?:memori[sz]e|remember) (?:this|that|it)(?! (?:is|was|time|one)\b)(?: (?:rule|please))?)(?!\w)"
)
_KEPT = Cue("preference", 0.85, 0, r"(?!)")
MIN_KEPT = 4  # words that a sentence must have beside the request to keep it, to be what is to be kept

_HABITS = ("correction", "preference")
_RULES = (
    "correction",
    "preference",
    "decision",
    "operational",
)  # the kinds that an order of the moment can be taken for

# Looser: enough to ask a model, not enough to decide without one.
_HINT = Pattern(
    r"(?i)"
    # a rule or a habit
    r"\b(?:don'?t|do not|never|always|instead of|rather than|that'?s (?:wrong|not)|not what i|i (?:said|meant|told)|"
    r"why did you|you should(?:n'?t)?|you keep|stop \w+ing|prefer|i (?:don'?t )?like|remember|memorize|make sure|"
    r"in (?:the )?future|from now on|next time|we (?:should|decided|always|never|use|agreed)|let'?s use|on purpose|"
    r"convention|source of truth|note that|trade-?off|nicht|kein\w*|niemals|immer|lieber|statt|bevorzug\w*|merk dir|"
    r"ab jetzt|künftig|entschieden|falsch|eigentlich|wir (?:nutzen|nehmen|verwenden)|"
    r"(?:would|'d) rather|no need (?:for|to)|leave \w+ out|keep (?:it|them|that) \w+|when(?:ever)? you \w+|wenn du|"
    r"für die zukunft|lass\w* .* weg|(?:have|has) to (?:be|have|go|run|stay)|must(?:n'?t)?|no exceptions|"
    # how things are here
    r"in (?:this|our) (?:repo|repository|project|codebase|team|company)|bei uns|hier (?:auf|nur|mit)|our own|"
    r"we(?:'ve| have| had) (?:an?|our|two|\w+ed)|we(?:'re| are) (?:dropping|moving|switching|going)|we went with|"
    r"(?:switched|moved|migrated) (?:us|to|over)|call(?:s|ed)? it|is called|heißt|heißen|no longer|"
    r"not any ?more|nicht mehr|inzwischen|gone since|dead code|deprecated|(?:is|are) generated|pin(?:ned)?|"
    r"until upstream|my name|i own|i'm on|"
    # said so that it is remembered
    r"so you know|fyi|fwiw|by the way|btw|heads[ -]up|one (?:more )?thing|übrigens|achtung|damit du|the plan is|"
    # what went wrong
    r"schon wieder|that broke|that'?s (?:why|what|how)|the reason|(?:was|were|is) because|turned out|die ursache|"
    r"lag an|hing a[mn]|got it working)\b"
    # "this, not that"; something done again
    r"|\w,? (?:and |but )?not (?!sure\b|yet\b|only\b|working\b|the (?:same|case)\b)\w+[^?]*$"
    r"|\byou \w+ .*\bagain\b"
)

# How the assistant writes about an error: that there was one, its cause, the fix; and how it marks a guess.
TROUBLE = Pattern(
    r"(?i)\b(?:fail\w*|error\w*|broken|bug|hang\w*|crash\w*|slow|issue|problem|timeout|leak|flaky|why|wrong|"
    r"fixed it|delay|solved|fehl\w*|fehler\w*|warum|kaputt|rot|hängt)\b"
)
CAUSE = Pattern(
    r"(?i)\b(?:root cause|the cause|caused by|(?:error|hang|delay|failure|problem|bug|issue) (?:was|is|comes|came)|"
    r"because|needed|needs about|inherited|die ursache|lag an|liegt an|weil)\b"
)
FIX = Pattern(
    r"(?i)\b(?:fixed (?:it |this )?by|(?:the )?fix (?:was|is)|solved by|resolved by|fixed|workaround|avoids (?:it|"
    r"this|that)|passes now after|works now (?:that|because)|needed `|behoben|gelöst|umgehung|indem)\b"
)
GUESS = Pattern(
    r"(?i)\b(?:may|might|maybe|perhaps|probably|possibly|likely|not sure|could be|seems? like|i(?:'m)? wonder(?:ing)?|"
    r"wondering|i (?:think|guess|believe|feel)|i'll look|vielleicht|vermutlich|eventuell)\b"
)
WORKAROUND = Pattern(
    r"(?i)\b(?:work-?around|avoids (?:it|this|that|the (?:error|problem|issue|crash|failure|race|deadlock|bug|hang))|"
    r"umgehung|as a stopgap|for now,? (?:use|we|run|set)|"
    r"until (?:this|that|it) is fixed)\b"
)

_REFERS = Pattern(
    r"(?i)^(?:fixed|solved|resolved|setting|adding|using|behoben|gelöst)\b|"
    r"\b(?:it|this|that|the (?:error|cause|problem|issue|bug|fix)|so|das|damit|dadurch|deshalb|der fehler)\b"
)


def own_sentences(prompt: str) -> list[str]:
    """Return the sentences of a prompt that are the user's own: no commands, quotations or pasted text."""
    if is_command(prompt) or len(prompt) > MAX_PROMPT:
        return []
    return sentences(without_quotations(prompt))


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without the marks of list items."""
    parts = (_BULLET.sub("", part.strip()) for part in _SPLIT.split(text))
    return [part for part in parts if part]


def is_command(text: str) -> bool:
    """Return whether a prompt is empty, or is meant for the client and not for the assistant."""
    return not text.strip() or bool(_COMMAND.match(text))


def stated(prompt: str) -> list[tuple[str, Cue]]:
    """Return the user's own sentences in a prompt that state something that holds on, each with its cue.

    What belongs to something that is done once, such as an experiment, does not, unless it says that it holds on.
    """
    parts = own_sentences(prompt)
    kept = _kept(parts)
    found = [(part, cue) for place, part in enumerate(parts) if (cue := of(part) or (_KEPT if place in kept else None))]
    return [item for item in found if moment.is_lasting(item[0])] if moment.is_trial(prompt) else found


def _kept(parts: list[str]) -> set[int]:
    """Return the places of the sentences that the user asks to keep in a memory or in the assistant's instructions."""
    places: set[int] = set()
    for place, part in enumerate(map(spelled, parts)):
        if match := _KEEP.search(part):
            after = part[match.end() :].lstrip()
            beside = len(part[: match.start()].split()) + len(after.split() if after.startswith((":", "-")) else ())
            near = [place] if beside >= MIN_KEPT else [place - 1, place + 1]
            places.update([other for other in near if 0 <= other < len(parts) and _says_much(parts[other])][:1])
    return places


def _says_much(sentence: str) -> bool:
    return len(sentence.split()) >= MIN_KEPT and not _QUESTION.search(sentence) and not durability.is_report(sentence)


def of(sentence: str) -> Cue | None:
    """Return the cue that shows which kind of fact a sentence states, or None when it states none."""
    written = spelled(sentence)
    bare = without_lead_in(written)
    if _QUESTION.search(written) or _QUESTION.search(bare) or _THIS.search(bare):
        return None
    cue = next((cue for cue in (*_CUES, *RULE_CUES) if cue.fits(written, bare)), None) or cues_abroad.of(sentence)
    if cue and not _is_ordered(cue, written) and not (cue.kind in _HABITS and durability.is_at_hand(written, bare)):
        return cue
    return durability.of(written, bare)


def _is_ordered(cue: Cue, written: str) -> bool:
    """Return whether the sentence is an order of the moment, whatever its cue shows."""
    return moment.is_order(written) if cue.kind in _RULES and not cue.explicit else moment.is_passing(written)


def without_lead_in(sentence: str) -> str:
    """Return a sentence without the words that only lead in, such as "ok, please"."""
    return _FILLER.sub("", sentence)


def is_hint(sentence: str) -> bool:
    """Return whether a sentence holds words that often go with something worth keeping; looser than ``of``."""
    return bool(_HINT.search(sentence)) and len(sentence.split()) >= 5 and not _QUESTION.search(sentence)


def refers(sentence: str, earlier: str) -> bool:
    """Return whether a sentence speaks of what an earlier line says: it refers to it or names the same thing."""
    return bool(_REFERS.search(sentence) or prose.content(sentence) & prose.content(earlier))


def worded(sentence: str) -> str:
    """Return the sentence without its lead-in, with a capital at the start and a full stop at the end."""
    bare = _FILLER.sub("", sentence).strip() or sentence
    return bare[:1].upper() + bare[1:] + ("" if bare[-1:] in ".!\u3002\uff01" else ".")


def without_quotations(text: str) -> str:
    """Return a text without code blocks, quoted lines and tagged passages."""
    rest, at = [], 0
    closings = [match.span() for match in reversed(list(_CLOSING.finditer(text)))]
    for match in _QUOTED.finditer(text):
        if match.start() < at:
            continue
        end = len(text)  # of a quoted line everything after it, too
        if match[0] == "```":
            closing = text.find("```", match.end())
            end = closing + 3 if closing >= 0 else end
        elif match[0].startswith("<"):
            while closings and closings[-1][0] < match.end():
                closings.pop()
            if not closings:
                continue
            end = closings[-1][1]
        rest.append(text[at : match.start()])
        at = end
    return "\n".join([*rest, text[at:]])
