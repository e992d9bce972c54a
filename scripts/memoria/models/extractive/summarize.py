"""Summarize: the note on a conversation, selected from its own sentences by cue patterns, without a model.

This is the part of ``offline`` that answers the ``flush`` task. It only selects and quotes, and never concludes. It is
cautious on purpose: a missed lesson is better than an invented one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memoria.facts.claim_check import MAX_OF_FLUSH
from memoria.language import cues, identifiers, prose
from memoria.language.function_words import word_set
from memoria.language.similarity import jaccard
from memoria.models.protocol import JsonObject

MAX_LINES = 8
MAX_SENTENCE = 420


def _cue(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_POLITE = _cue(
    r"^(?:(?:hi|hey|hello|ok(?:ay)?|so|and|now|well|then|also|hmm+|great|fair enough|thanks|thank you|yes|please|"
    r"claude|(?:can|could|would|will) (?:you|we)(?: also| just| now)?|i(?:'d| would) like (?:you )?to|"
    r"i(?:'d| would) like|i (?:want|need) (?:you )?to|let'?s|we (?:should|need to)|go ahead and|"
    r"i think (?:that )?(?:we have)?|i'?ve noticed(?: that)?|help me(?: with)?|your help with)\b[\s,!.:-]*)+"
)
_CHATTER = _cue(
    r"^(?:ok(?:ay)?|yes|yep|no|nope|y|n|q|sure|thanks?(?: you)?|great|perfect|nice|cool|good|done|continue|go on|"
    r"go ahead|proceed|hi|hello|hey(?: there)?|try again|next|stop|please|lgtm|\d+)(?:[\s,.!]+\w+){0,2}[\s.!]*$"
)
_SEEKS = _cue(  # an order to find a cause, which tells none
    r"^(?:(?:please|now|first|then|also|and|ok|okay),? )*"
    r"(?:find|identify|investigate|debug|check|figure|look|explain|analy[sz]e|fix)\b(?!:)"
)
_INTENT = _cue(
    r"^(?:(?:ok|okay|good|great|perfect|excellent|interesting|now|first|next|then|also|alright|wait|hmm)\b[,!.:]?\s*)*"
    r"(?:(?:now|next|then)\b,?\s+)?"
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|now (?:i|let|we)|i have\b|"
    r"here'?s (?:what|where|how|the)|i (?:can )?see\b|i understand|i found|i notice|looking at|you'?re right|"
    r"i can\b|ready to|good (?:idea|question|point)|great point|that'?s a|sure|yes\b|want me to|shall i|would you)"
)
_OUTCOME = _cue(
    r"\b(?:done|fixed|added|updated|created|removed|implemented|replaced|renamed|moved|merged|pushed|resolved|"
    r"works now|now works|all (?:\d+ )?tests pass|tests? pass(?:es|ed)?|passes|the fix is|root cause|"
    r"(?:is|was) caused by|the (?:issue|problem|bug) (?:is|was)|the answer is|because)\b"
)
_NAME_ALONE = re.compile(r"\W*`[^`]+`\W*")  # an item of a list of files
_FIXED = _cue(r"\b(?:fix(?:ed|es)?|resolved?|caused?|because)\b")

_DECISION = _cue(
    r"\b(?:(?:we|i|i've|we've|they) (?:have )?(?:decided(?! on (?:this|that|yesterday|earlier|before))|"
    r"chose|agreed|settled|opted|picked|went with|ruled out)|"
    r"(?:let'?s|we'?ll|we will|we should|i'?d rather) (?:go with|stick with|stay with|keep|use|switch to)|going with|"
    r"decision:|^(?:ok(?:ay)?,? )?(?:decided|agreed)[:,] \w+|^(?:noted|recorded|agreed): |change the decision|"
    r"that'?s our \w+|(?:switched|migrated|moved|changed) from \S+.* to |chosen because|in favou?r of)"
)
_CAUSE = _cue(
    r"\b(?:root cause|(?:cause|reason) (?:is|was)|(?:is|was|were|are) caused by|turns? out|turned out|"
    r"(?:fails?|failed|failing|broke|breaks|crash(?:es|ed)?|hangs?|blocks?) "
    r"(?:because|since|when|unless|if)\b|"
    r"the (?:real |actual |underlying )?(?:issue|problem|bug|culprit) (?:is|was)(?! (?:to|in|that we need))|fixed by|"
    r"the fix (?:is|was)|the solution (?:is|was)|(?:the )?(?:fix|cause): |"
    r"only (?:works|surfaces|happens|fails) (?:if|when|with|on)|gotcha|pitfall|masks? (?:this|the)|"
    r"lessons? (?:learn|is|was|here))"
)
_OPERATE = _cue(
    r"(?:\b(?:to|you can|how to)\b.{0,60}\b(?:run|build|deploy|start|release|install|lint|format|profile|test|migrate|"
    r"debug)\b.{0,80}`[^`]+`|"
    r"`[^` ]+ [^`]+`.{0,40}\bto (?:run|build|deploy|start|release|install|profile|migrate|debug)\b)"
)
_TODO = _cue(
    r"(?:(?-i:\b(?:TODO|FIXME)\b)(?! app| list| item| comment|s\b)|\bstill (?:need|have|needs|has) to\b|"
    r"^(?:still )?open: |\bnext steps? (?:is|are|would be)\b|\bnext steps?:|\bleft to do\b|"
    r"\bfollow-?up (?:is|:|task|pr|issue)|"
    r"\bnot (?:done|implemented|fixed|tested) yet\b|\b(?:is|are|was|were) not yet\b|\bdon'?t forget to\b|"
    r"\b(?:later|tomorrow|next time|afterwards),? (?:we|i|you) (?:should|need|must|have to|will)\b|"
    r"\b(?:we|i|you) (?:should|need to|must|will|have to) \w+.{0,80}\b(?:later|tomorrow|next time|eventually))"
)
_DONE = _cue(  # what is done, or was done at once, is not left to do
    r"^(?:[\u2705\u2713\u2714\u2611]|(?:added|created|documented|implemented|fixed|removed|updated|marked|filed|opened|logged)\b)"
    r"|\blet me\b|\bneeds? to (?:exist|be (?:kept|there|present))\b"
)
_FACT = _cue(  # a statement about a thing, not about the speaker
    r"^(?:(?:the|our|my|this|these|all|each|every) [^,.]{2,60}?|`[^`]+`|[\w./-]+(?: [\w./-]+){0,2}) "
    r"(?:is|are|lives?|runs?|uses?|listens?|requires?|depends|expects|supports?|defaults?|means|has|have)\b"
)
_STATE = _cue(
    r"\b(?:is|are|uses?|runs?|takes?|lives?)\b.{1,60}\bnow\b|\bnow (?:uses?|runs?|takes?|lives?)\b|\bdefaults to\b"
)
_SPEAKER = _cue(r"^(?:i|i'm|i've|we|we've|we're|you|it|that|there|here|can|could|how|what|why|any|if|where|when)\b")
_REPLACED = _cue(
    r"\b(?:instead of|rather than|switched from|migrated from|moved from|changed from|no longer)\s+"
    r"(\S+(?: \S+){0,3}?)(?= to | for | on | in |[,.;!?](?:\s|$)|$)"
)
_COMMAND = re.compile(  # a tool with its task; what follows (a test's name, a path, an option) differs from run to run
    r"(?:^Bash |[:`&;] ?)((?:(?:uv run|poetry run|npx|bunx|pnpm exec) )?(?:(?:npm|pnpm|yarn|bun)(?: run)?|go|cargo|"
    r"make|mise(?: run)?|"
    r"just|gradle|mvn|rake|bundle exec|docker compose|terraform|kubectl|python3? -m|pytest|tox|nox|ruff|mypy|eslint|"
    r"vitest|jest|tsc)"
    r"(?: (?!-)[a-z][\w:-]*(?![\w./=]))*)(?=[\s`&;|<>]|$)"
)
MIN_RUNS = 3  # runs in one stretch that make a command one of the project's
_NO_TASK = frozenset("npm pnpm yarn bun go cargo mise just gradle mvn rake npx bunx terraform kubectl".split())  # noqa: SIM905
_HANDLING = _cue(r"\b(?:install|add|remove|init|get|exec|create|mod tidy|version|help|list|ls|apply|get pods)\b")
_CLIENT_COMMAND = re.compile(  # addressed to the client, not to the assistant
    r"^(?:/(?:clear|compact|config|context|cost|exit|help|login|logout|mcp|model|remote-env|resume|status|usage)\b|"
    r"!).*$",
    re.MULTILINE,
)
# What the client sends when a plan was approved, and people say alike; what follows is the subject.
_PLAN = _cue(
    r"^(?:please )?(?:implement|execute|carry out|apply|follow|build|do) (?:the following|this|the) (?:[\w-]+ ){0,2}"
    r"(?:plan|spec\w*|steps|changes|design):\s*"
)
_PLAN_TITLE = re.compile(
    r"^#[ \t]+(?:(?:implementation |the )?plan(?:: *| for | to ))?(\S.*)$", re.MULTILINE | re.IGNORECASE
)
_PASTE = 2_000  # characters; a longer prompt contains pasted text, with the user's own words at its ends

_IMPORTANCE = {
    "correction": 0.85,
    "preference": 0.8,
    "decision": 0.65,
    "debugging": 0.65,
    "workaround": 0.6,
    "operational": 0.5,
    "fact": 0.4,
}
_RUN_IMPORTANCE = 0.3  # of a command that was seen to be run; nobody said that it matters
# What the assistant says of a decision or a fact is the state of its own work; a cause and how to run things hold on.
_LEARNED_FROM_ASSISTANT = ("debugging", "workaround", "operational")
_WORK_DONE = _cue(
    r"^(?:(?:ok(?:ay)?|good|great|perfect|excellent|nice|yes|no|now|so)\b[,.!:\s-]*)*(?:the |root cause |bug )?"
    r"(?:fix(?:ed|es)?|change[sd]?|update[sd]?|added|proposed|status|learnings?|lint|tests?)\b|"
    r"\b(?:pushed to|pr #\d+|was updating|were updated|lines? \d+)\b|^(?:i|we|you)\b"
)


# Words that say that something was wrong or is right again, and not what; "This is the actual root cause."
_EMPTY = word_set("actual bug cause clear correct fix fixed good issue now place problem real root simple solution")
MIN_WORDS = 2  # content words beside these, without which a sentence that names nothing says nothing


@dataclass(frozen=True, slots=True)
class Found:
    """One sentence that matched a cue: its kind, its speaker, its exchange, and the words that prove it, if others."""

    kind: str
    text: str
    origin: str
    exchange: int
    quote: str = ""


def note(material: JsonObject) -> JsonObject:
    """Return the answer to ``flush``; small talk alone is not worth saving."""
    worth = list(_with_substance(material["exchanges"]))
    if not worth:
        return {"worth_saving": False}
    requests, exchanges = [request for request, _ in worth], [exchange for _, exchange in worth]
    found = list(_unique(_find(exchanges)))
    return {
        "worth_saving": True,
        "title": _title(requests, exchanges),
        "context": _context(requests, exchanges),
        "key_exchanges": _key_exchanges(requests, exchanges),
        "statements": [_statement(item) for item in _best([*found, *_unexplained_errors(exchanges, found)])],
        "action_items": _of(found, "todo")[-MAX_LINES:],
    }


def _with_substance(exchanges: Iterable[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the exchanges that are more than small talk, each with the user's request in it."""
    for exchange in exchanges:
        request, answer = _request(exchange), exchange.get("assistant", "")
        answered = len(answer) >= 40 or bool(exchange.get("tools") or exchange.get("errors"))
        requested = bool(request) and not _CHATTER.match(request)
        unasked = not request and len(answer) >= 120
        is_ruled = bool(cues.stated(exchange.get("user", "")))
        if is_ruled or unasked or (requested and (answered or len(request) >= 40)):
            yield request, exchange


def _request(exchange: JsonObject) -> str:
    """Return the user's request as one sentence, with the next one if it is very short."""
    text = exchange.get("user", "")
    found = prose.sentences(_CLIENT_COMMAND.sub("", text)) or prose.sentences(text)
    request = ""
    for place, sentence in enumerate(found, 1):
        request = f"{request} {sentence}".strip()
        if _PLAN.fullmatch(request):
            request = f"{request} {_subject(text, found[place:])}".strip()
        if len(request) >= 25 and not _CHATTER.match(request):
            break
    return prose.shorten(request, 300)


def _subject(text: str, after: list[str]) -> str:
    """Return what an announced plan is about: its heading, else its first sentence."""
    heading = _PLAN_TITLE.search(text)
    return heading[1].strip() if heading else next(iter(after), "")


def _outcome(exchange: JsonObject) -> str:
    """Return the assistant's sentence that best states the outcome; a list item only when there is no other."""
    text = exchange.get("assistant", "")
    for found in (prose.statements(text), prose.sentences(text)):
        usable = [said for said in found if 15 <= len(said) <= MAX_SENTENCE and not said.endswith((":", "?"))]
        ranked = [
            (_ending(sentence, place / len(usable)), place)
            for place, sentence in enumerate(usable) if not _NAME_ALONE.fullmatch(sentence)
        ]  # fmt: skip
        score, place = max(ranked, default=(0.0, 0))
        if score > 1:
            return usable[place]
    return ""


def _ending(sentence: str, place: float) -> float:
    """Return how much a sentence reads like a result; ``place`` is 0 at the start of the answer and 1 at its end."""
    names = identifiers.in_prose(sentence)
    score = 2 * place + 2 * bool(_OUTCOME.search(sentence)) + 0.5 * bool(names)
    score -= 4 * bool(_INTENT.match(sentence)) + bool(cues.GUESS.search(sentence))
    return score - 2.5 * (len(sentence) < 40 and not names)


def _title(requests: list[str], exchanges: list[JsonObject]) -> str:
    """Return the first request, or outcome, that says something, as a title."""
    for text in [*requests, *map(_outcome, exchanges)]:
        words = re.sub(r"https?://\S+", "", text)
        title = _heading(words)
        if len(title) >= (MIN_TITLE if words == text else _LONG_ENOUGH):
            return prose.shorten(title[0].upper() + title[1:], 72)
    return "Conversation"


MIN_TITLE = 8  # characters; a shorter request says nothing by itself
_LONG_ENOUGH = 24  # characters; a shorter clause is continued with the next
_MARKS = " ,;:.-\"'"
_CLAUSES = re.compile(r"(?<=[\w`)])[.!;:](?:\s|$)|(?<=\?)\s| - |, (?:because|since) |, (?=can you )")
_NEGATED = _cue(r"^(?:not|never|no longer|nicht|nie|kein\w*)\b")


def _heading(text: str) -> str:
    """Return the beginning of a request that stands for it: whole clauses, none of them skipped or turned round.

    A lead-in goes only when what follows says the same without it. A question mark stays unless the lead-in made the
    question a request.
    """
    subject = _PLAN.sub("", text)
    text = subject if len(subject) >= MIN_TITLE else text
    asked = _POLITE.sub("", text).strip()
    polite = asked != text.strip() and bool(asked) and not _NEGATED.match(asked)
    clauses = [clause for clause in _CLAUSES.split(asked if polite else text) if clause and clause.strip(_MARKS)]
    title = ""
    for clause in clauses:
        title = f"{title}. {clause.strip(_MARKS)}".strip(". ")
        if len(title) >= _LONG_ENOUGH and title.count("`") % 2 == 0:
            break
    return (title.removesuffix("?") if polite else title).strip(_MARKS)


def _context(requests: list[str], exchanges: list[JsonObject]) -> str:
    asked = next(filter(None, requests), "")
    parts = [f'The user asked: "{asked}"'] if asked else []
    ended = next(filter(None, map(_outcome, reversed(exchanges))), "")
    if ended:
        parts.append(f"In the end: {ended}")
    return " ".join(part if part[-1] in '.!?"' else part + "." for part in parts)


def _key_exchanges(requests: list[str], exchanges: list[JsonObject]) -> list[str]:
    lines = []
    for request, exchange in zip(requests, exchanges, strict=True):
        outcome = _outcome(exchange) or _touched(exchange)
        if request and outcome:
            lines.append(f"{prose.shorten(request, 200)} → {outcome}{_error_suffix(exchange)}")
    if len(lines) <= MAX_LINES:
        return lines
    return lines[: MAX_LINES // 2] + lines[-(MAX_LINES - MAX_LINES // 2) :]


def _error_suffix(exchange: JsonObject) -> str:
    error = next(filter(None, map(_relevant_line, exchange.get("errors", ()))), "")
    return f" (met `{error}`)" if error else ""


def _touched(exchange: JsonObject) -> str:
    """Return what was worked on, for an exchange whose answer has no quotable sentence."""
    found = identifiers.in_prose("\n".join(exchange.get("tools", ())))
    names = [name for name in found if re.search(r"[./_]", name)]  # names of the tools themselves are meaningless here
    return "worked on " + ", ".join(f"`{name}`" for name in names[:4]) if names else ""


def _find(exchanges: list[JsonObject]) -> Iterator[Found]:
    for number, exchange in enumerate(exchanges):
        for sentence, kind in _said(exchange.get("user", "")):
            yield Found(kind, sentence, "user", number)
        found = []
        for sentence in prose.sentences(_written(exchange)):
            kind = _kind_of_assistant(sentence) if 25 <= len(sentence) <= MAX_SENTENCE else ""
            if kind:
                found.append(Found(kind, sentence, "assistant", number))
        yield from _limit_causes(found)
    yield from _commands(exchanges)


def _written(exchange: JsonObject) -> str:
    """Return what the client (in its summaries) and the assistant wrote."""
    return "\n\n".join([*exchange.get("notes", ()), exchange.get("assistant", "")])


def _said(prompt: str) -> Iterator[tuple[str, str]]:
    """Yield the user's sentences that are worth recording, with their kinds.

    What holds on is recognised by ``cues`` alone, so that an order of the moment is nowhere taken for a rule.
    """
    ruled = [(sentence, cue.kind) for sentence, cue in cues.stated(prompt)]
    yield from ruled
    known = {sentence for sentence, _ in ruled}
    for sentence in _own_words(cues.without_quotations(prompt)):
        kind = _kind_of_user(sentence) if 12 <= len(sentence) <= MAX_SENTENCE and sentence not in known else ""
        if kind:
            yield sentence, kind


def _own_words(prompt: str) -> list[str]:
    """Return the user's sentences; of a prompt with pasted text, only the first and the last few."""
    found = prose.sentences(prompt)
    if len(prompt) > _PASTE:
        found = found[:3] + found[3:][-2:]
    return found


def _limit_causes(found: list[Found]) -> list[Found]:
    """Limit causes to two per exchange: a search names many, and the last ones that contain names are right."""
    causes = [item for item in found if item.kind == "debugging"]
    named = [item for item in causes if identifiers.in_prose(item.text)]
    kept = (named or causes)[-2:]
    return [item for item in found if item.kind != "debugging" or item in kept]


def _commands(exchanges: list[JsonObject]) -> Iterator[Found]:
    """Yield the commands that were run repeatedly: how this project is built and checked."""
    lines = [line for exchange in exchanges for line in exchange.get("tools", ())]
    runs = Counter(match.group(1).strip() for line in lines for match in _COMMAND.finditer(line))
    for command, count in runs.most_common(2):
        if count >= MIN_RUNS and command not in _NO_TASK and not _HANDLING.search(command):
            yield Found("operational", f"Often run: `{command}`", "tool", len(exchanges) - 1, quote=command)


def _kind_of_user(sentence: str) -> str:
    """Return the kind of a user's sentence that states no rule: something open, or a cause."""
    if sentence.endswith("?"):
        return ""
    if _TODO.search(sentence) and not _DONE.search(sentence):
        return "todo"
    if cues.GUESS.search(sentence) or _SEEKS.match(sentence):
        return ""
    return "debugging" if _CAUSE.search(sentence) else ""


def _kind_of_assistant(sentence: str) -> str:
    if sentence.endswith(("?", ":")) or _INTENT.match(sentence) or cues.GUESS.search(sentence):
        return ""
    for kind, cue in (
        ("todo", _TODO),
        ("workaround", cues.WORKAROUND),
        ("debugging", _CAUSE),
        ("decision", _DECISION),
        ("operational", _OPERATE),
    ):
        if cue.search(sentence) and not (kind == "todo" and _DONE.search(sentence)):
            return kind
    return "fact" if _STATE.search(sentence) and _states(sentence) else ""


def _states(sentence: str) -> bool:
    """Return whether the sentence states something about a named thing rather than about the speaker."""
    return bool(_FACT.search(sentence) and identifiers.in_prose(sentence) and not _SPEAKER.match(sentence))


def _unique(items: Iterable[Found]) -> Iterator[Found]:
    """Yield each statement once, however often it was repeated."""
    seen: list[frozenset[str]] = []
    for item in items:
        words = prose.content(item.text)
        if words and all(jaccard(words, other) < prose.SAME for other in seen):
            seen.append(words)
            yield item


def _of(found: list[Found], *kinds: str) -> list[str]:
    return [item.text for item in found if item.kind in kinds][:MAX_LINES]


def _unexplained_errors(exchanges: list[JsonObject], found: list[Found]) -> list[Found]:
    """Return the relevant line of each error whose exchange names no cause, with the outcome that fixed it."""
    explained = {item.exchange for item in found if item.kind in ("debugging", "workaround")}
    lines: dict[str, Found] = {}
    for number, exchange in enumerate(exchanges):
        error = next(filter(None, map(_relevant_line, exchange.get("errors", ()))), "")
        outcome = _outcome(exchange)
        if error and number not in explained and _FIXED.search(outcome) and cues.refers(outcome, error):
            text = f"`{error}` → {outcome}"
            lines.setdefault(text, Found("debugging", text, "assistant", number, quote=outcome))
    return list(lines.values())[:3]


def _relevant_line(error: str) -> str:
    """Return the line of an error that people search for; ``""`` for the client's own refusals."""
    if "tool_use" in error or "doesn't want to" in error:
        return ""
    lines = [" ".join(line.replace("`", "'").split()) for line in error.splitlines()]
    relevant = [
        line for line in lines if re.search(r"error|fail|exception|not found|denied|refused|panic", line, re.IGNORECASE)
    ]
    return prose.shorten(relevant[0], 200) if relevant else ""


def _best(found: list[Found]) -> list[Found]:
    """Return the items worth learning, the most important if there are too many, in their original order."""
    items = [item for item in found if item.kind in _IMPORTANCE and (item.origin != "assistant" or _holds_on(item))]
    kept = sorted(items, key=lambda item: (-_IMPORTANCE[item.kind], item.exchange))[:MAX_OF_FLUSH]
    return [item for item in items if item in kept]


def _holds_on(item: Found) -> bool:
    """Return whether the assistant's sentence speaks of how things are, and not of what was done in the session."""
    if item.kind not in _LEARNED_FROM_ASSISTANT or _WORK_DONE.search(item.text):
        return False
    return bool(identifiers.in_prose(item.text)) or len(prose.content(item.text) - _EMPTY) >= MIN_WORDS


def _statement(item: Found) -> JsonObject:
    replaced = _REPLACED.search(item.text)
    names = identifiers.in_prose(item.text)
    return {
        "kind": item.kind,
        "content": item.text,
        "importance": _IMPORTANCE[item.kind] if item.origin != "tool" else _RUN_IMPORTANCE,
        "tags": [],
        "keywords": [prose.shorten(word, 100) for word in dict.fromkeys([*names, *prose.words(item.text)])][:10],
        "quote": item.quote or item.text,
        "origin": item.origin,
        "supersedes": replaced.group(1).strip() if replaced else "",
    }
