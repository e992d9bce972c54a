"""Rule cues: how a sentence shows by its form that it holds on, in English and German.

A rule speaks of kinds of things ("commit messages", "every new module"), of habits ("we use", "before every commit") or
of what the assistant may do in general ("without asking"). An order speaks of the one thing at hand; ``moment`` tells
those apart that these patterns take for rules.
"""

from __future__ import annotations

from memoria.language.cue import Cue

_AT_HAND = r"this|that|it|the|a|an|my|your|them|these|those|one|another|both|either|what\w*|any\w*|all|\d+"
_NAMED = rf"(?!(?:{_AT_HAND}|our|option)\b)\S"  # the name of a tool or of a kind of thing
_OUR = r"(?!(?:this|that|it|the same|a|an|my|your|them|these|those|one|another|both|either|what\w*|any\w*|all|\d)\b)\S"
KIND_OF_THING = (  # "small pull requests", "explicit returns": kinds of things, not one of them
    r"(?!(?:this|that|it|the|to|not|your|how|what|where|when|my|a|an|these|those|both|all|most|his|her|their|option)\b)"
    r"(?:[\w-]+ ){0,3}[\w-]+s\b"
)
_THINGS = (  # what every project has and makes rules about
    r"(?:unit |integration |e2e |snapshot |public |private |generated |new |api |ui |our |all |feature |error |"
    r"commit |log |"
    r"file |variable |branch |class |test |environment )*"
    r"(?:tests|commits|messages|branches|functions|methods|classes|modules|files|names|imports|comments|migrations|"
    r"endpoints|queries|logs|lines|dates|timestamps|times|variables|constants|types|errors|warnings|docs|docstrings|"
    r"dependencies|packages|services|components|texts|strings|settings|secrets|credentials|passwords|tokens|keys|"
    r"fixtures|prs|pull requests|releases|deploys|deployments|scripts|tables|columns|ids|flags|retries|timeouts|"
    r"helpers|"
    r"utilities|routes|handlers|models|schemas|changes|hotfixes|fixes|builds|tickets|reviews|interfaces|prices|amounts)"
)
_PLACE = r"(?: (?:in|of|for|under) (?:the |our )?[\w/-]+(?: [\w/-]+)?)?"
_REPORT = (  # a verb that tells what happens, after "always" or "never"
    r"get|gets|got|see|saw|work\w*|fail\w*|had|has|have|been|return\w*|is|was|were|are|be|happen\w*|mind|did|knew|know|"
    r"thought|will|would|could|quite|really|even|finish\w*|arrive\w*|show\w*|appear\w*|pass|passes|hang\w*|crash\w*|"
    r"break|breaks|load\w*|end|ends|complete\w*|reach\w*|disappear\w*|come back|time out|the|a|an|my|\w+ed"
)
_HABIT = rf"(?!(?:{_REPORT})\b)\w+"
_WORK = (
    r"(?:add|create|write|change|fix|rename|delete|review|commit|touch|introduce|answer|edit|merge|release|deploy|"
    r"refactor|"
    r"implement|push|generate|update|modify|remove|open|make|start|finish|close|name|log|document)"
)

RULE_CUES = (
    Cue(
        "preference", 0.75, 4,
        r"(?<!it )(?<!this )(?<!that )(?<!which )\b(?:(?:must|should|shall) (?:never|always)|"
        r"(?:may|can) (?:never|under no circumstances))\b",
        r"\byou (?:must|may|can) ?not \w+ (?!the\b|a\b|an\b|it\b|that\b)(?:[\w-]+ )?\w+s\b",
        r"\b(?:after|before|with|for|on) (?:every|each|any) (?:single |new )?(?:change|edit|commit|step|task|push|"
        r"merge|release|"
        r"deploy\w*|feature|pr|pull request|bug ?fix|session|file|function|module|migration|test run)\b"
        r"(?!(?: (?:in|of|from) [\w ]{1,30})?,? (?:it|they|there)\b)",
        r"^before (?:you )?(?:commit|push|merg|releas|deploy)\w*,? (?:always )?(?:run|check|make|update|format|lint|"
        r"test|ask)\b",
        rf"\b(?:when(?:ever)?|every time|each time|any time) you {_WORK} (?:a|an|any|new|something|code|(?!this|"
        rf"his)\w+s)\b",
        rf"^\w.*, (?:and |so |but )?(?:never|always) {_HABIT}",
        r"^no need for (?:a|an|any) [\w-]+ (?:on|in|for) (?!this\b|that\b|the\b)",
        r"^whenever a (?:test|build|check|migration|release|deployment|dependency|function|module)\b",
        r"\b(?:don't|do not|stop|no need to)\b.*\b(?:every|each) (?:single )?time\b",
        r"\b(?:without|don't need to|needn't|no need to|don't have to|stop) ask(?:ing)?\b(?! (?:him|her|them|the|"
        r"your)\b)",
        r"\b(?:check with|ask|tell|run it by) me (?:first )?before\b",
        r"^(?:please )?(?:don'?t|do not|never|no|only|stick|adhere)\b.*\bunless\b",
        r"\bi(?:'d| would) rather (?:see|have|get|read|use|write|keep) .*\bthan\b",
        r"\bi (?:always|never|usually|generally|normally) (?:use|want|run|squash|write|commit|merge|review|name|"
        r"deploy|keep|"
        r"test|put|rebase|prefer)\b",
        r"\b(?:the|our|my) (?:\w+ )?(?:directive|guiding principle|golden rule|philosophy) (?:here )?is\b",
        r"^(?:the |our |a |general |golden )?rules? (?:is|of thumb)\b|^(?:rule|convention|policy|guideline)s?: ?\w",
        r"\bour (?:\w+ )?(?:convention|rule|policy|style|standard|guideline)s? (?:is|are|for|says?)\b",
        r"\b(?:for everything|(?:for|in) all (?:new|our|user|user[- ]facing|public|future)\b|(?:for|in) every new \w+)",
    ),
    Cue(
        "preference", 0.7, 4,
        r"(?:^|, |\b(?:here|code|docs|tests|everything) )we (?:only |generally |usually |all )?(?:use|follow|name|"
        r"prefix|squash|"
        r"deploy|version|pin|run|write|store|log in|tag) " + _OUR,
        r"\bwe (?:have our own|pin|vendor|stay on|freeze) (?!it\b|that\b|this\b|them\b|the (?:top|page|same)\b)\S",
        r"^we (?:do not|don't) (?!(?:just|really|even|actually|only|currently|necessarily|yet|have|had|need|know|want|"
        r"see|think|care|seem|get|understand|do|be|mind|like|expect|believe|feel|find|remember|mean|lose|fail|pass|"
        r"reach|hit|"
        r"end|exist|wish|trust|change (?:the|this|that|it))\b)\w+ (?!(?:it|this|that|them|these|those|the|anything|"
        r"any)\b)\w",
        r"\bwe (?:now )?only (?:use|support|ship|deploy|test|write|accept|allow|merge|release) (?!the (?:first|second|"
        r"new|"
        r"old)\b)" + _OUR,
        r"\bwe (?:don't|do not|never) (?:use|write|add|mock|commit|ship|support|deploy|log|store|put|allow|accept|"
        r"merge|"
        r"check in|hard-?code|squash|rebase) " + _NAMED,
        rf"^{_THINGS}{_PLACE} (?:must|must not|may|may not|may only|are only|are always|are never)\b"
        r"(?! (?:to )?(?:pass|fail|work|be green|be fixed|wrong|through|broken|red|sense|able|there|empty)\b)",
        rf"^{_THINGS}{_PLACE} (?:always |never |only )?(?:go|goes) (?:in|into|to|next|under|through|via|over|on)\b",
        rf"^{_THINGS}{_PLACE} (?:never|always|only) {_HABIT}",
        rf"^(?:[\w-]+ )?{_THINGS}{_PLACE} (?:come from|live|belong|stay|(?:get|need) (?:a|an|no|their|"
        rf"its))\b(?! error)",
        rf"^(?:[\w-]+ )?{_THINGS}{_PLACE} (?:are|is) (?:always )?(?:stored|named|written|kept|limited|prefixed|"
        rf"sorted|versioned|"
        r"pinned|squashed|forbidden|required|mandatory|banned|json|utc|kebab-case|snake_case|camelcase|in english)\b",
        r"^(?:[\w-]+ ){1,6}are (?:strictly )?(?:forbidden|not allowed|banned|off limits|mandatory)\b",
        r"\bthere (?:should|must|may) (?:never|not) be\b",
        r"^(?:every|each|any) (?:new )?[\w-]+(?: [\w-]+){0,3} (?:needs?|gets?|must|has to|goes|"
        r"requires?|comes with) "
        r"(?!to be fixed|be fixed|pass|fail|work|an error|the error)",
        r"\bevery (?:new |user visible |user-visible |public |api )*(?:change|endpoint|module|file|function|class|"
        r"test|feature|"
        r"release|commit|pr|migration|service) (?:needs?|gets?|must|has to|goes|requires?)\b(?! an error)",
        rf"^all (?:{_THINGS}|sql|json|[\w-]+ (?:access|calls|code|traffic|input|output|config|"
        rf"configuration)) (?:goes?|go|must|"
        r"use|live|come|need|get|have to)\b(?! (?:fail|be fixed)\b)",
        r"^no (?!(?:changes|differences|errors|problems|failures|hits|results|"
        r"issues)\b)(?:[\w-]+ ){0,3}\w+s in (?:the |our |"
        r"this )?(?:code|codebase|code base|commits|tests|production|repo|docs|project|fixtures|commit messages|prs)\b",
        r"\b(?:is|are) frozen until\b",
        r"^(?:please )?(?:follow|adhere to|respect|obey|stick to) (?:the )?(?:[\w-]+ ){0,3}(?:style|guide|"
        r"guidelines?|conventions?|"
        r"standards?|pep ?\d+|conventional commits|semver|standard library)\b",
        rf"^keep (?:your |all )?(?:{_THINGS}|answers|replies|responses|explanations|summaries|diffs) ",
        r"^(?:be (?:more )?(?:concise|brief|terse|honest|critical|direct)|answer (?:me )?(?:briefly|concisely|in \w+)|"
        r"(?:reply|respond|talk|speak) (?:to me )?in \w+)\b",
        rf"^in (?:our )?(?:{_THINGS}|code|production|python|typescript|javascript|go|rust|java|sql|"
        rf"ci),? (?:please )?(?:always|never|"
        r"use|prefer|avoid|write|don't|do not|no)\b",
        r"^for (?:all |any |every |new )*(?!(?:the|this|that|now|example|me|it|a)\b)[\w-]+(?: [\w-]+)? (?:we |"
        r"always |please )?"
        r"(?:use|prefer|follow) " + _OUR,
    ),
    Cue(
        "preference", 0.7, 4,
        r"\b(?:under no circumstances|no matter what|at all costs)\b",
        r"\b(?:there is|there's|we have) a (?:rule|convention|policy|standard|guideline)\b",
        r"\byou (?:don't|do not) need (?:my |to ask for (?:my )?)(?:approval|permission|confirmation)\b",
        r"\byou have (?:my )?permission to \w+",
        r"\b(?:only|never|don't|do not) (?:commit|push|merge|deploy|release|publish|start|run|open|change|"
        r"edit)\b.*\b(?:when|if|"
        r"before) i (?:say|tell|ask|approve|confirm|explicitly|have (?:approved|reviewed|confirmed))\b",
        r"\b(?:wait for|get|need) my (?:approval|permission|confirmation|ok|okay|go-?ahead)\b.*\bbefore\b|"
        r"^before\b.*\b(?:wait for|get|need) my (?:approval|permission|confirmation|ok|okay|go-?ahead)\b",
        r"^(?:please )?(?:prefix|name|sign) (?:all |your |every )?(?:commits?|branches|branch names|pr titles|prs|"
        r"tags)\b",
        r"\bwe(?:'re| are) using (?!(?:it|this|that|the|a|an|my|your|them)\b)\S+ .*\b(?:everywhere|in this (?:project|"
        r"repo)|not|"
        r"instead of)\b",
    ),
    Cue(
        "correction", 0.75, 4,
        r"^(?:please )?(?:always )?use our (?:own )?(?!(?:new|old|last|own|\w+ branch)\b)\w+",
        r"\b(?:you|we) (?:need to|should|must|have to) use our (?:own )?(?!(?:new|old|last)\b)\w+",
        r"\byou (?:aren't|are not|'re not) (?:using|following) (?!(?:it|this|that|the (?:right|correct|same|new|"
        r"latest))\b)\w+",
        r"^(?:please )?(?:only )?use " + _NAMED + r"[\w.+/`-]*(?: [\w.+/`-]+)?,? (?:and )?(?:not|instead of|"
        r"rather than|over) "
        r"(?!the\b|a\b|this\b|that\b)\w",
        r"^(?:please )?use " + _NAMED + r"[\w.+/`-]* for (?:[\w-]+ )?(?:\w+ing|everything|\w+s)\b(?! (?:in|on|"
        r"of) the\b)",
        r"^(?:please )?only (?:use|write|commit|push|deploy|support|log) " + _NAMED,
        r"\b(?:it'?s|it is|that'?s) (?:called|named|spelled|spelt|written) \S+.*\bnot\b",
        r"\b(?:is|are) (?:deprecated|obsolete|retired|legacy)\b.*\buse\b",
        r"\b(?:use|write in|answer in|reply in|stick to) (?:the )?(?:[\w-]+ )?(?:spelling|naming|notation|"
        r"indentation|british english|"
        r"american english|imperative mood|present tense)\b",
    ),
    Cue(
        "preference", 0.7, 3,
        r"^we use (?!(?:this|that|it|the|a|an|my|your|them|these|those|one|both|all|here)\b)[\w.+/`-]+(?: (?:and|"
        r"with|for|,) [\w.+/`-]+| "
        r"(?:here|everywhere|only))?\W*$",
    ),
    Cue(
        "preference", 0.7, 4,
        r"^no (?!(?:changes|errors|problems|failures|hits|results|matches|issues|questions|ideas|plans|others|one|"
        r"ones)\b)"
        r"(?:[\w-]+ ){0,2}[\w-]+s (?:that|which|without|unless) (?!(?:i|we|you)\b)\w",
    ),
    Cue(
        "preference", 0.7, 2,
        r"^no (?!(?:changes|tests|errors|problems|worries|thanks|issues|questions|results|hits|longer|matches|ideas|"
        r"plans|news|"
        r"edits|commits|differences|others|is|was|this|less|docs|as|us)\b)(?:(?!we\b|i\b|it\b|you\b|the\b)[\w-]+ ){0,2}"
        r"(?!(?:is|was|this|less|as|us|yes|does|has|needs|always)\b)[\w-]+s(?: please)?\W*$",
        r"^(?:commit messages|commits|comments|docs|code|variable names|identifiers|docstrings|answers|"
        r"tests) (?:are |must be )?"
        r"(?:always |only )?in (?:english|german|french|spanish|russian|chinese|japanese)\W*$",
    ),
    Cue(
        "preference", 0.7, 4,
        r"^(?!ich\b|es\b|das\b|er\b|sie\b)(?:\w+ ){1,4}(?:niemals|nie|immer|grundsätzlich) (?!noch\b|wieder\b|"
        r"mehr\b)(?:\w+ ){0,4}"
        r"\w+(?:en|n)\W*$",
        r"\b(?:nutzen|verwenden|nehmen|schreiben|testen|nennen|speichern|deployen|benennen) wir (?:hier|bei uns|"
        r"immer|nie|niemals|"
        r"nur|grundsätzlich|ausschließlich)\b",
        r"^[\w-]+ (?:liegen|heißen|stehen|gehören|kommen|laufen|werden|haben) bei uns\b",
        r"^alle \w+ (?:werden|müssen|gehören|bekommen|kommen) (?!gleich|noch|kaputt|rot)",
        r"\bwenn du (?:eine?n? )(?:neue[nrs]? )?\w+ (?:\w+st|\w+t)\b",
        r"\b(?:sind|ist) (?:[\w-]+ ){0,3}(?:verboten|tabu|pflicht|nicht erlaubt|untersagt)\b",
        r"\b(?:nie|niemals) (?:direkt |wieder )?(?:auf|in|an) \w+ \w+en\b",
        r"\bwir (?:\w+ )?(?:\w+ )?\w+en? (?:\w+ ){0,4}(?:nie|niemals)\W*$",
        r"\b(?:für|in) jede[nrms]? (?:neue[nrms]? )?\w+ (?:gibt|braucht|kommt|gehört|schreib)|"
        r"^jede[rs]? (?:neue[rs]? )?\w+ (?:braucht|"
        r"bekommt|kriegt|muss)\b",
        r"^(?:commits|commit-nachrichten|kommentare|bezeichner|doku|tests) (?:immer |nur |bitte )?(?:auf|"
        r"in) (?:englisch|deutsch)\W*$",
    ),
    Cue(  # what the assistant must not do whenever the occasion comes again
        "correction", 0.8, 4,
        r"^remember (?:not to|to (?:always|never|not))\b(?! (?:forget|mention)\b)",
        r"\byou (?:can't|cannot|can not|must not|mustn't|shouldn't|should not) just \w+",
        r"^stop (?:it )?with (?:all )?(?:the|your|those)\b",
        r"^(?:please )?(?:do not|don't|stop) be(?:ing)? (?:so|too|overly|that) \w+",
        r"^(?:please )?(?:do not|don't|never) (?:use|call|add|import|write|run) .*\b(?:use|take|run) our (?!(?:new|"
        r"old)\b)\w",
        r"^(?:please )?(?:do not|don't|never) \w+ (?!(?:this|that|it|them|these|those)\b).*\bin (?:this|"
        r"our) (?:project|repo|"
        r"repository|codebase|code ?base)\b",
        r"\b(?:do not|don't|never|no) (?:directly |ever |force[- ]?)?(?:push|commit|merge|"
        r"deploy)\w* (?:\w+ ){0,2}(?:to|on|"
        r"onto|into) (?:the )?(?:main|master|trunk|prod|production)\b",
        r"^(?:please )?(?:do not|don't|never) \w+ .*\b(?:in|from|of|for) (?:each|every|any) (?:file|module|test|"
        r"commit|function|"
        r"class|page|component|endpoint)\b",
        r"^(?:please )?(?:do not|don't|never) (?:commit|check in) (?:the |any |my )?(?:[\w/]*\.\w|secret|credential)",
    ),
    Cue(
        "preference", 0.75, 3,
        r"(?:\b(?:do not|don't|never|without|stop)|^no) (?:\w+ ){0,3}co-?\s?author\w*\b",
        r"\b(?:do not|don't|never|stop|no)\b.*\b(?:claude|ai) (?:attribution|signature|footer|trailer|credit)\b",
    ),
    Cue(  # of every occasion
        "preference", 0.7, 5,
        r"^(?:please )?(?:\w+ly )?(?:maintain|keep|record|document) .*\b(?:every|each|all) (?:the )?(?:prompt|"
        r"instruction|"
        r"decision)s?\b.*\b(?:i|we|you)\b",
        r"^for (?:every|each) (?:\w+ or )?(?:prompt|task|instruction|decision|commit|session|request|change|feature)\b"
        r"[^,]*, (?:please )?(?:\w+ly )?(?:create|write|add|store|record|log|ensure|make sure|run|update|open|use|"
        r"keep)\b",
        rf"\b(?:when(?:ever)?|every time|each time) (?:we|you) (?:want to |have to |need to )?{_WORK} (?:a|an|"
        rf"any) (?:new )?"
        r"(?:[\w-]+ ){1,3}(?:we|you|it) (?:\w+ )?(?:needs?|must|should|ha(?:ve|s)) ",
        rf"^if you {_WORK} (?:something|anything|any|code)\b.*, ",
        r"\b(?:we|you) (?:\w+ )?(?:need to|have to|should|must|want to) (?:always )?(?:follow|adhere to|stick to|"
        r"respect|obey) "
        r"(?:the )?(?:[\w-]+ ){0,4}(?:practices?|conventions?|guidelines?|standards?|style ?guides?)\b",
        r"\bwe (?:have to|must|need to) (?:always )?(?:ensure|make sure|guarantee) (?:that )?.*\b(?:never|always)\b",
        r"\b(?:must|should|has to|needs to) (?:always )?(?:enforce|guarantee) that (?:no|every|each|all)\b",
        r"\b(?:claude|you|agents?|the assistant) (?:should|must|has to|have to) (?:always |never |"
        r"first )?(?:ask (?:me|us|before|"
        r"first|or|for (?:permission|confirmation|approval))|check with me|confirm with me)\b",
    ),
    Cue(  # what is to be written where the assistant's rules are kept
        "preference", 0.7, 6,
        r"\b(?:in|to|into) (?:the |your |our |my )?(?:`?(?:claude|agents)\.md`?|cursor ?rules|(?:assistant|project|"
        r"custom) "
        r"instructions|(?:(?:user|project)(?:[ -]level)? )?memory(?: file)?)[ ,:]+(?:please )?(?:that|to (?:always|"
        r"never|not|"
        r"keep|use|run|avoid|only|prefer|write))\b",
        r"^(?:please )?(?:remember|memorize|note|write down|put) (?:that |this )?.*\bin (?:the |your |our |"
        r"my )?`?(?:claude|"
        r"agents)\.md`?\W*$",
    ),
)  # fmt: skip
