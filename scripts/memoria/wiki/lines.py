"""Lines: how a statement stands on an article: its text, its link, its section, and the summary above them all.

A model's summary is taken only when every number and name in it stands on the page. When a line of the page ends, a
current one stands in the summary's place until the next compile writes another. What is forgotten goes from the page
in every section; a summary and reasons that may rest on it go with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Final

from memoria.daily.entry import FORGOTTEN
from memoria.ground import clock, markdown
from memoria.ground.said import row_words
from memoria.search import comparison, identifiers
from memoria.search.words import holds, stems, words
from memoria.statements.claim_check import find_unheard
from memoria.statements.fact import GLOBAL, Fact, Stamp, new_id
from memoria.statements.store import Place, Store
from memoria.wiki.article import (
    ASKED_AS,
    BEHAVIOUR,
    CONNECTIONS,
    CONVENTIONS,
    DECISIONS,
    GOTCHAS,
    HISTORY,
    HOW_TO,
    KEY_POINTS,
    RELATED,
    SINCE_ROWS,
    STATEMENT,
    Article,
    Claim,
    Section,
    drop_sources,
)  # fmt: skip

SECTION_OF: Final = {
    "decision": DECISIONS,
    "correction": CONVENTIONS,
    "preference": CONVENTIONS,
    "debugging": GOTCHAS,
    "workaround": GOTCHAS,
    "operational": HOW_TO,
}
"""The section that a statement of a kind stands in when nothing else is said; ``BEHAVIOUR`` for the others."""
REWORDED: Final = 0.5  # share of their words that two wordings of one statement have in common at least
KINDS: Final = (KEY_POINTS, BEHAVIOUR, CONVENTIONS, HOW_TO, DECISIONS, GOTCHAS, CONNECTIONS)  # sections of any page
CHARS: Final = 300  # of a summary that code writes
NOTHING: Final = "Nothing of this "  # begins the summary of a page without lines: they ended, or stand elsewhere
STALE: Final = 0.6  # a sentence with this part of an ended statement's words, and less of every current one's, tells it

_DAY = re.compile(r"\[\[(daily/\d{4}-\d{2}-\d{2})")
_TASK = re.compile(r"\[[ xX-]\] ")  # begins an item that is done, or not, and no statement
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


def section_of(kind: str) -> str:
    """Return the section for statements of a kind."""
    return SECTION_OF.get(kind, BEHAVIOUR)


def kind_of(heading: str) -> str:
    """Return the kind of a statement that a person wrote under a heading."""
    return next((kind for kind, own in SECTION_OF.items() if own.casefold() == heading.casefold()), "fact")


def link(ident: str, day: date) -> str:
    """Return the target of a link to a statement in the log of a day."""
    return f"daily/{day.isoformat()}#^{ident}"


def claim_of(fact: Fact, store: Store) -> Claim:
    """Return the line of a statement; one that is written on its article alone keeps its id there."""
    day = store.day(fact.id)
    text = markdown.line(fact.content)
    return Claim(text, (link(fact.id, day),)) if day else Claim(text, (), fact.id)


def place(article: Article, heading: str, rows: Sequence[str], ident: str, store: Store) -> None:
    """Write a statement's line into a section, with what is nested in it.

    It stands by when the statement was said, or the first of those that it took the place of: so on all machines.
    """
    section, own = article.section(heading), _rank(ident, store)
    later = (number for number, claim in section.claims() if own and (other := _rank(claim.id, store)) and other > own)
    section.insert(next(later, None), rows)


def _rank(ident: str, store: Store) -> tuple[datetime, str, datetime, str] | None:
    """Return what decides where a statement stands; None for what is none."""
    fact = store.get(ident)
    if fact is None:
        return None
    first, known = fact, {ident}
    while first.supersedes and first.supersedes[0] not in known and (former := store.get(first.supersedes[0])):
        known.add(former.id)
        first = former
    return first.time, first.id, fact.time, fact.id


def fold(text: str) -> str:
    """Return the words of a text, whatever a formatter made of its marks."""
    return " ".join(words(text))


def is_same_text(text: str, other: str) -> bool:
    """Return whether two texts consist of the same words."""
    return fold(text) == fold(other)


def is_rewording(text: str, known: str) -> bool:
    """Return whether a text says what another says: the same numbers, names and negations, in other words."""
    new, old = comparison.words(text), comparison.words(known)
    is_same = (new.numbers, new.against, _names(text)) == (old.numbers, old.against, _names(known))
    return is_same and comparison.similarity(new, old) >= REWORDED


def _names(text: str) -> set[str]:
    """Return the names in a text: of code, and what is written with a capital inside a sentence."""
    inside = (word.strip(".,;:!?\"'()`") for word in text.split()[1:])
    return {name.casefold() for name in (*identifiers.find(text), *(word for word in inside if word[:1].isupper()))}


def places(article: Article, store: Store) -> list[Place]:
    """Return the lines of statements that an article has, as the store keeps them, also those in another form."""
    found: dict[str, Place] = {}
    for section, _, claim in article.lines():
        if claim.id and not (claim.id in found and found[claim.id].is_current):
            found[claim.id] = Place(claim.id, claim.day, not section.is_headed(HISTORY), claim.drop_end().text)
    former = {ident: place.words for ident, place in store.places(article.slug).items()}
    unread = (Place(ident, each.day, True, former.get(ident, "")) for ident, each in article.unread_rows.items())
    return list((found | {place.id: place for place in unread}).values())


def is_for_statements(section: Section) -> bool:
    """Return whether a bullet in a section is a statement, and not a person's own list."""
    return section.is_claims or any(claim.ids for _, claim in section.claims())


def unnamed_lines(article: Article) -> list[tuple[Section, int, Claim]]:
    """Return the current lines that have no id yet and may get one."""
    return [
        (section, number, claim)
        for section, number, claim in article.lines()
        if not section.is_headed(HISTORY) and not (claim.ids or claim.block or STATEMENT.search(claim.text))
        and not _TASK.match(claim.text) and words(claim.text) and (claim.sources or is_for_statements(section))
    ]  # fmt: skip


def unlogged_fact(article: Article, section: Section, claim: Claim, undated: date, origins: Mapping[str, str]) -> Fact:
    """Return the statement that stands on an article alone, of an earlier version or by a person.

    Its day is that of the newest entry that it cites, ``undated`` when it cites none; it was said by the user when it
    cites none, because then a person wrote it there. It belongs where the entries do whose ``origins`` are known.
    """
    day = date.fromisoformat(claim.day) if clock.is_day(claim.day) else undated
    projects = dict.fromkeys(origins[source] for source in claim.sources if source in origins)
    place, *others = projects or (article.project or GLOBAL,)
    stamp = Stamp(place, "", datetime.combine(day, time(12), UTC))
    kind, content = kind_of(section.heading), claim.text
    ident = new_id(article.slug, content, stamp)
    origin = "assistant" if claim.sources else "user"
    return Fact(kind, content, 0.5, origin, stamp.project, stamp.time, ident, also=tuple(others))


def is_supported(text: str, article: Article) -> bool:
    """Return whether every number and name of a summary stands on the page, in lines that hold."""
    said = (claim.text for claim in (*article.claims, *article.unread_rows.values()))
    return not text.startswith(NOTHING) and not find_unheard(text, "\n".join([article.title, *article.aliases, *said]))


def renew_summary(article: Article, ended: Collection[str]) -> None:
    """Take from a person's summary the sentences that tell what ``ended``; memoria's own is replaced as a whole.

    Whether it told any of them no comparison of words can say: "every 5 s" stands in what ended and in the reason of
    what holds instead.
    """
    if article.wrote_summary:
        article.summarise(summary_of(article))
        return
    parts = _SENTENCE_END.split(article.summary)
    kept = [part for part in parts if not _is_stale(part, article, ended)]
    if len(kept) < len(parts):
        article.summarise(" ".join(kept) or summary_of(article), is_own=not kept)


def has_stale_summary(article: Article) -> bool:
    """Return whether a sentence of the summary tells what stands in the page's history, or that nothing else does."""
    ended = [claim.text for claim in article.history]
    return article.summary.startswith(NOTHING) or any(
        _is_stale(part, article, ended) for part in (_SENTENCE_END.split(article.summary) if ended else ())
    )


def summary_of(article: Article) -> str:
    """Return a summary from the current lines: the newest of the first kind of section that has one with the title."""
    claims = article.headed_claims
    if not claims:
        is_over = "holds" if article.history else "stands here"
        return article.title if article.unread_rows else f"{NOTHING}{is_over} any longer."
    topics = list(dict.fromkeys(heading for heading, _ in claims if heading not in KINDS))
    if len(topics) > 1:  # a project's page, whose lines are about many things
        return markdown.cut(f"{', '.join(topics)}.", CHARS)
    title = stems(article.title)
    named = [(heading, claim) for heading, claim in claims if title and title <= stems(claim.text)] or claims
    order = {heading: number for number, heading in enumerate(KINDS)}  # whatever a person's is on this machine
    heading = min((heading for heading, _ in named), key=lambda each: (order.get(each, len(order)), each))
    first = [claim for each, claim in named if each == heading]
    return markdown.cut(max(reversed(first), key=lambda claim: claim.day).text, CHARS)


def _is_stale(sentence: str, article: Article, ended: Collection[str]) -> bool:
    """Return whether a sentence tells what ended: its words more than those of any current line, or its numbers."""
    said, now = comparison.words(sentence), [comparison.words(claim.text) for claim in article.claims]
    best = max((comparison.claim_coverage(each, said) for each in now), default=0.0)
    numbers = said.numbers - {number for each in now for number in each.numbers}
    shares = ((gone, comparison.claim_coverage(gone, said)) for gone in map(comparison.words, ended))
    return any(share >= STALE and (share > best or numbers & gone.numbers) for gone, share in shares)


def retract(article: Article, sources: Collection[str], idents: Collection[str], needle: str) -> int:
    """Remove what shows the statements ``idents``, what rests only on ``sources``, and lines with ``needle``.

    Return how many lines went. A source is an entry, as ``daily/D#^e-…``.
    """
    dropped = int(article.forget_reasons(set(idents).__contains__))
    emptied = []
    for section in (Section("", "", article.lead), *article.sections):
        count = _remove_sources(section, sources, idents)
        dropped += count
        if count and not any(row.strip() for row in section.rows):
            emptied.append(section)
    if dropped:
        _drop_topics(article, emptied)
        _strip_related(article)
        article.summarise(summary_of(article))
    if needle:
        dropped += _remove_text(article, needle)
    if dropped:
        _drop_days(article)
        article.front.set(ASKED_AS, [])  # no record says which phrase came from what
    return dropped


def unlink(article: Article, slug: str) -> None:
    """Remove the links to a deleted page, and list items that begin with one."""
    pattern = re.compile(rf"\[\[{re.escape(slug)}(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]")
    for rows in (article.lead, *(section.rows for section in article.sections)):
        rows[:] = [pattern.sub("(forgotten)", row) for row in rows if not (row[:2] == "- " and pattern.match(row[2:]))]


def _drop_topics(article: Article, emptied: Collection[Section]) -> None:
    """Remove sections of which nothing is left, and the aliases that have their names."""
    article.sections[:] = [section for section in article.sections if section not in emptied]
    topics = [stems(section.heading) for section in emptied]
    left = [alias for alias in article.aliases if stems(alias.replace("-", " ")) not in topics]
    article.front.set("aliases", left)


def _remove_sources(section: Section, sources: Collection[str], idents: Collection[str]) -> int:
    remaining: list[str] = []
    dropped = 0
    is_gone = False  # the claim above a reason
    for row, rows in section.pieces():
        reason = row.startswith(SINCE_ROWS)
        claim = Claim.parse(row.lstrip() if reason else row)
        cited = set(claim.sources) & set(sources) if claim else set()
        named = set(idents) & set(STATEMENT.findall(row))
        rests_on_them = bool(named or (claim and cited and cited == set(claim.sources)))
        if claim and not reason:
            is_gone = rests_on_them
        if rests_on_them or (reason and is_gone):
            dropped += 1
        else:
            remaining += [drop_sources(row, cited)] if cited else rows
    section.rows[:] = remaining
    return dropped


def _remove_text(article: Article, needle: str) -> int:
    dropped, had_summary = 0, bool(article.summary)
    for section in (Section("", "", article.lead), *article.sections):
        remaining: list[str] = []
        is_gone = False  # the claim above a reason
        for row, rows in section.pieces():
            is_held = holds(row_words(row), needle)
            is_gone = is_held or (is_gone and row.startswith(SINCE_ROWS))
            left = markdown.drop_lines(rows, lambda text: holds(row_words(text), needle)) if is_held else []
            remaining += left if is_gone else rows
            dropped += is_gone
        section.rows[:] = remaining
        if holds(row_words(section.heading), needle):
            section.heading, section.raw, dropped = FORGOTTEN, f"## {FORGOTTEN}", dropped + 1
    for key in ("aliases", "tags", "sources"):
        names = article.front.texts(key)
        remaining = [name for name in names if not holds(row_words(name), needle)]
        article.front.set(key, remaining)
        dropped += len(names) - len(remaining)
    if had_summary and not article.summary:
        article.summarise(summary_of(article))
    return dropped


def _strip_related(article: Article) -> None:
    for section in article.sections:
        if section.heading == RELATED:
            section.rows = [re.sub(r"^(- \[\[[^\]]*\]\]):.*$", r"\1", row) for row in section.rows]


def _drop_days(article: Article) -> None:
    cited = {match for section in article.sections for row in section.rows for match in _DAY.findall(row)}
    days = article.front.texts("sources")
    article.front.set("sources", [day for day in days if not (found := _DAY.match(day)) or found[1] in cited])
