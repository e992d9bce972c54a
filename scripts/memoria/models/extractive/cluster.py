"""Cluster: wiki articles from log entries, by the terms that recur in them, without a model.

This is the part of ``offline`` that answers the ``compile`` task. Claims are the entries' own items, word for word,
each with its entry; the code decides only where they belong, what they replace and what they are related to.

Every item goes to one place: the user's preferences and corrections to the project's article of conventions; an item
about a recurring term to that term's article; the rest to the project's articles of decisions, of problems and fixes,
or to the project's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memoria.base import fence
from memoria.ground import printable
from memoria.language import identifiers, prose
from memoria.language.similarity import jaccard
from memoria.models.protocol import JsonObject

MIN_CLAIMS = 2  # items about a term that justify an article
MAX_TOPICS = 12  # new topic articles per compile
MAX_RELATED = 6
MIN_RELATED = 2

MAX_CHARS = 1_400  # of a claim; less than the limit in tasks.COMPILE_SCHEMA
GENERIC = frozenset(
    """true false none null main master test tests readme readme-md claude-md todo http https json yaml html error
    errors config src lib app index init data string int bool func return import exit-code localhost origin
    head dev-null git npm make bash python node go-test git-status git-push git-commit""".split()  # noqa: SIM905 (as in prose)
)

_CHANGE = re.compile(
    r"\b(?:switched|migrated|moved|changed|replaced|instead of|no longer|rather than|"
    r"now (?:use|uses|is|are|lives?|runs?)|use .{1,60} instead|deprecated|renamed|, not)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d[\d.,:]*")
_ENDED = "In the end: "  # ``summarize`` writes this before a session's outcome


@dataclass(frozen=True, slots=True)
class Item:
    """One statement of an entry; ``terms`` maps the slug of each term in it to the term as written."""

    text: str
    kind: str
    entry: str
    day: str
    project: str
    terms: dict[str, str]
    words: frozenset[str]


@dataclass(slots=True)
class Draft:
    """A new version of an article; ``known`` is the article as the wiki has it, if it does."""

    slug: str
    title: str
    project: str
    kind: str = "concept"
    term: str = ""
    tags: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    known: JsonObject = field(default_factory=dict)

    @property
    def entries(self) -> frozenset[str]:
        """The entries that its claims come from, including the known claims."""
        return frozenset([item.entry for item in self.items]) | _sources(self.known)


def _sources(article: JsonObject) -> frozenset[str]:
    """Return the ids of the entries that an article's claims cite (``daily/2026-11-21#^e-<id>`` or the bare id)."""
    sources = (source for claim in article.get("claims", ()) for source in claim["sources"])
    return frozenset(source.rsplit("^e-", 1)[-1] for source in sources)


def articles(material: JsonObject) -> JsonObject:
    """Return the answer to ``compile``; each project is answered for alone, as if there were no other."""
    found: list[JsonObject] = []
    for project in dict.fromkeys(entry["project"] for entry in material["entries"]):
        own = {
            name: [row for row in material[name] if row.get("project", "") in ("", project)]
            for name in ("articles", "index")
        }
        entries = [entry for entry in material["entries"] if entry["project"] == project]
        found += _of_project({**material, **own, "entries": entries})
    return {"articles": found}


def _of_project(material: JsonObject) -> list[JsonObject]:
    wiki = Wiki(material)
    items = [item for entry in material["entries"] for item in _items(entry)]
    drafts: dict[str, Draft] = {}
    for entry in material["entries"]:
        _project_article(entry, wiki, drafts)
    loose = []
    for item in items:
        if item.kind in ("correction", "preference"):
            _project_part(item, "preferences-and-conventions", wiki, drafts).items.append(item)
        else:
            loose.append(item)
    for item in _by_topic(loose, wiki, drafts):
        _project_part(item, _SHELVES.get(item.kind, ""), wiki, drafts).items.append(item)
    _reunite(drafts, wiki)
    _connect(drafts)
    written = [_write(draft, drafts, wiki) for draft in drafts.values()]
    return [article for article in written if article["claims"]]


class Wiki:
    """The articles of the wiki, by slug, title and alias."""

    def __init__(self, material: JsonObject) -> None:
        self.articles = {article["slug"]: article for article in material["articles"]}
        self.index = {row["slug"]: row for row in material["index"]} | self.articles
        self.claims = [
            (slug, claim["text"], prose.content(claim["text"]))
            for slug, article in self.articles.items()
            for claim in article.get("claims", ())
        ]
        self.naming: dict[str, list[str]] = {}  # term -> the slugs of articles with a claim that names it
        for slug, text, _ in self.claims:
            for term in _terms(text):
                self.naming.setdefault(term, []).append(slug)
        self._names: dict[str, str] = {}
        for slug, row in self.index.items():
            for name in (slug.rsplit("/", 1)[-1], row["title"], *row.get("aliases", ())):
                self._names.setdefault(_key(name), slug)

    def slug(self, name: str) -> str:
        """Return the slug of the article with this name; ``""`` when there is none."""
        return self._names.get(_key(name), "")

    def draft(self, slug: str, title: str, project: str) -> Draft:
        """Return the draft of this article, based on the known one if the wiki has it."""
        slug = self.slug(slug) or self.slug(title) or slug
        known = self.index.get(slug, {})
        return Draft(slug=slug, title=known.get("title", title), project=project, known=known)


def _key(name: str) -> str:
    """Return a key that ignores case, hyphens, plurals and file endings."""
    return "-".join(prose.words(prose.slug(name).replace("-", " "))) or prose.slug(name)


# ---- statements


def _items(entry: JsonObject) -> Iterator[Item]:
    seen: list[frozenset[str]] = []
    facts = [(fact["kind"], fact["content"]) for fact in entry.get("learned", ())]
    facts += [("decision", text) for text in entry.get("decisions", ())]
    facts += [("debugging", text) for text in entry.get("lessons", ())]
    for kind, written in facts:
        text = _claim_text(written)
        words = prose.content(text)
        if not text or any(jaccard(words, other) >= prose.SAME for other in seen):
            continue
        seen.append(words)
        yield _item(entry, kind, text, words)


def _claim_text(written: str) -> str:
    return prose.shorten(fence.visible(written).strip(), MAX_CHARS)


def _item(entry: JsonObject, kind: str, text: str, words: frozenset[str]) -> Item:
    return Item(text, kind, entry["id"], entry["day"], entry["project"], _terms(text), words)


def _terms(text: str) -> dict[str, str]:
    """Return the subjects of a statement: its identifiers (the last part of paths) and pairs of adjacent words."""
    found: dict[str, str] = {}
    for name in identifiers.in_prose(text):
        if name.count(" ") > 1 or name.startswith("-"):  # a long command or an option is no subject
            continue
        last = name.rstrip("/").rsplit("/", 1)[-1].removesuffix("()").rsplit(":", 1)[0]
        found.setdefault(prose.slug(last), last)
    for phrase in prose.phrases(text):
        found.setdefault(prose.slug(phrase), phrase)
    return {slug: term for slug, term in found.items() if len(slug) > 3 and slug not in GENERIC}


# ---- where statements belong

_SHELVES = {
    "decision": "decisions",
    "debugging": "problems-and-fixes",
    "workaround": "problems-and-fixes",
    "operational": "building-and-running",
}
NO_PROJECT = "All projects"  # what a person wrote into a daily log belongs to none
_PROJECT_TITLES = {
    "": "{}",
    "preferences-and-conventions": "{}: preferences and conventions",
    "decisions": "{}: decisions",
    "problems-and-fixes": "{}: problems and fixes",
    "building-and-running": "{}: building and running",
}


def _project_part(item: Item, suffix: str, wiki: Wiki, drafts: dict[str, Draft]) -> Draft:
    """Return the project's article for statements of this kind."""
    return _project_draft(item.project, suffix, wiki, drafts)


def _project_draft(project: str, suffix: str, wiki: Wiki, drafts: dict[str, Draft]) -> Draft:
    base = prose.slug(project) or "project"
    draft = wiki.draft(
        f"{base}-{suffix}".strip("-"), _PROJECT_TITLES[suffix].format(prose.shorten(project, 80) or NO_PROJECT), project
    )
    if draft.slug not in drafts:
        draft.tags = ["project", *suffix.split("-and-")] if suffix else ["project"]
        drafts[draft.slug] = draft
    return drafts[draft.slug]


def _project_article(entry: JsonObject, wiki: Wiki, drafts: dict[str, Draft]) -> None:
    """Add one claim per entry to its project's article: what was worked on, and its outcome."""
    asked, ended, outcome = entry.get("context", "").partition(_ENDED)
    if ended:  # written by ``summarize``, so that the title states the request
        title = entry["title"].removesuffix("…")
        text = outcome if outcome.startswith(title) else f"{entry['title']} → {outcome}"
    else:
        covered = set(prose.words(entry["title"])) <= set(prose.words(asked))
        text = asked if covered and asked else f"{printable.sentence(entry['title'])} {asked}".strip(". ")
    text = _claim_text(text)
    if not text:
        return
    item = _item(entry, "session", text, prose.content(text))
    _project_draft(entry["project"], "", wiki, drafts).items.append(item)


def _by_topic(items: list[Item], wiki: Wiki, drafts: dict[str, Draft]) -> list[Item]:
    """Draft an article for each recurring term, by descending weight; return the items that no article took."""
    own = {prose.slug(item.project) for item in items}
    for _ in range(MAX_TOPICS):
        weights = {term: _weight(term, about, wiki) for term, about in _about(items).items() if term not in own}
        term = max(weights, key=lambda slug: (weights[slug], slug), default="")
        if not term or not weights[term]:
            break
        about = [item for item in items if term in item.terms]
        draft = _topic(term, about, wiki)
        drafts.setdefault(draft.slug, draft).items.extend(about)
        items = [item for item in items if term not in item.terms]
    return items


def _about(items: list[Item]) -> dict[str, list[Item]]:
    """Return the statements by the terms they name."""
    found: dict[str, list[Item]] = {}
    for item in items:
        for term in item.terms:
            found.setdefault(term, []).append(item)
    return found


def _weight(term: str, about: list[Item], wiki: Wiki) -> float:
    """Return how much a term deserves an article: more with statements from several entries; 0 if it deserves none."""
    written = about[0].terms[term]
    entries = len({item.entry for item in about})
    known = bool(wiki.slug(term) or wiki.slug(written))
    plain_words = written.islower() and " " in written
    if plain_words and len({item.project for item in about}) > 1:
        return 0.0  # everyday words mean different things in two projects
    earlier = len(wiki.naming.get(term, ()))
    if not known and entries < 2 and len(about) + earlier < MIN_CLAIMS + plain_words:
        return 0.0
    return (len(about) + entries + 3 * known) * (1.0 if plain_words else 1.6)


def _titled(term: str, about: list[Item]) -> str:
    """Return the term as most statements write it; ordinary words are capitalised, names stay unchanged."""
    written = Counter(item.terms[term] for item in about).most_common(1)[0][0]
    is_code = any(f"`{written}`" in item.text for item in about)
    return written if is_code or " " not in written else written[0].upper() + written[1:]


def _topic(term: str, about: list[Item], wiki: Wiki) -> Draft:
    written = about[0].terms[term]
    draft = wiki.draft(term, _titled(term, about), about[0].project)
    draft.term = term
    draft.tags = sorted({prose.slug(item.project)[:60] for item in about} | {item.kind for item in about})
    if written.lower() != draft.title.lower():
        draft.aliases.append(written)
    return draft


def _reunite(drafts: dict[str, Draft], wiki: Wiki) -> None:
    """Move each statement that replaces a claim to the claim's article, since a page can only correct itself."""
    statements = [(slug, text, words) for slug, text, words in wiki.claims]
    statements += [(slug, item.text, item.words) for slug, draft in drafts.items() for item in draft.items]
    place = {text: slug for slug, text, _ in statements}
    days = {item.text: item.day for draft in drafts.values() for item in draft.items}
    for slug, draft in list(drafts.items()):
        for item in list(draft.items):
            older = [
                (text, words) for _, text, words in statements if text != item.text and days.get(text, "") < item.day
            ]
            home = place.get(_superseded(item, older), slug)
            if home != slug:
                draft.items.remove(item)
                drafts.setdefault(home, wiki.draft(home, home, item.project)).items.append(item)
    for slug in [slug for slug, draft in drafts.items() if not draft.items]:
        del drafts[slug]


def _connect(drafts: dict[str, Draft]) -> None:
    """Draft a connection where two topics meet in several statements and both keep enough of their own."""
    topics = [draft for draft in drafts.values() if draft.term]
    for first in topics:
        for second in topics:
            shared = [item for item in first.items if second.term in item.terms]
            if first is second or len(shared) < MIN_CLAIMS or len(first.items) - len(shared) < MIN_CLAIMS:
                continue
            slug = f"{first.slug}-and-{second.slug}"[:80].strip("-")
            joined = Draft(slug, f"{first.title} and {second.title}", first.project, kind="connection", items=shared)
            joined.tags = [first.slug, second.slug]
            drafts.setdefault(slug, joined)
            first.items = [item for item in first.items if item not in shared]


# ---- writing


def _write(draft: Draft, drafts: dict[str, Draft], wiki: Wiki) -> JsonObject:
    claims = _claims(draft)
    return {
        "slug": draft.slug,
        "kind": draft.kind,
        "title": draft.title[:160].rstrip(),  # the schema's limit
        "aliases": draft.aliases,
        "tags": list(dict.fromkeys([*draft.known.get("tags", ()), *draft.tags])),
        "summary": _summary(draft, claims),
        "claims": claims,
        "related": _related(draft, drafts, wiki),
    }


def _claims(draft: Draft) -> list[JsonObject]:
    """Return the items as claims, oldest first, without duplicates and known claims."""
    statements = [(claim["text"], prose.content(claim["text"])) for claim in draft.known.get("claims", ())]
    old = {text for text, _ in statements}
    claims: dict[str, JsonObject] = {}
    for item in sorted(draft.items, key=lambda item: item.day):
        if item.text in claims:
            claims[item.text]["sources"] = list(dict.fromkeys([*claims[item.text]["sources"], item.entry]))
        elif item.text not in old:
            claims[item.text] = {
                "text": item.text,
                "sources": [item.entry],
                "supersedes": _superseded(item, statements),
            }
            statements.append((item.text, item.words))
    return list(claims.values())


def _superseded(item: Item, statements: Iterable[tuple[str, frozenset[str]]]) -> str:
    """Return the older claim that this one replaces: another number, or a stated change of the same subject."""
    if item.kind == "session":
        return ""
    changes = bool(_CHANGE.search(item.text)) or item.kind == "correction"
    numbers = set(_NUMBER.findall(item.text))
    best, closest = "", 0.0
    for text, words in statements:
        overlap = jaccard(item.words, words)
        other_value = overlap >= 0.75 and numbers and numbers != set(_NUMBER.findall(text))
        replaced = changes and len(item.words & words) >= 2 and overlap >= 0.34
        if (other_value or replaced) and overlap > closest:
            best, closest = text, overlap
    return best


def _summary(draft: Draft, claims: list[JsonObject]) -> str:
    if not draft.term and draft.kind == "concept":
        return draft.known.get("summary") or _PROJECT_SUMMARIES[_suffix_of(draft)].format(draft.project)
    if draft.kind == "connection":
        return printable.sentence(f"Where {draft.title.replace(' and ', ' meets ', 1)}")
    latest = claims[-1]["text"] if claims else ""
    return draft.known.get("summary") or prose.shorten(latest, 240)


_PROJECT_SUMMARIES = {
    "": "What was worked on in {}, session by session.",
    "preferences-and-conventions": "How things are to be done in {}, as the user said it.",
    "decisions": "What was decided in {}, and why.",
    "problems-and-fixes": "What went wrong in {}, why, and what helped.",
    "building-and-running": "How {} is built, checked and run.",
}


def _suffix_of(draft: Draft) -> str:
    return next((suffix for suffix in _PROJECT_TITLES if suffix and draft.slug.endswith(suffix)), "")


def _related(draft: Draft, drafts: dict[str, Draft], wiki: Wiki) -> list[JsonObject]:
    """Return articles that share entries or terms with this one, the closest first; at least two if there are two."""
    terms = {term for item in draft.items for term in item.terms}
    scored: dict[str, tuple[float, str]] = {}
    for other in drafts.values():
        if other is draft:
            continue
        shared = len(draft.entries & other.entries)
        named = other.term in terms or (draft.kind == "connection" and other.slug in draft.tags)
        why = "named here" if named else f"from the same {'sessions' if shared > 1 else 'session'}" if shared else ""
        scored[other.slug] = (
            3.0 * named + shared + (other.project == draft.project) * 0.5,
            why or f"also about {other.project}",
        )
    for slug, row in wiki.index.items():
        if slug == draft.slug or slug in scored:
            continue
        named = bool(terms & {slug.rsplit("/", 1)[-1], prose.slug(row["title"])})
        named = named or slug in wiki.naming.get(draft.term, ())
        shared = len(draft.entries & _sources(row))
        if named or shared:
            scored[slug] = (3.0 * named + shared, "named here" if named else "from the same sessions")
    ranked = sorted(scored, key=lambda slug: (-scored[slug][0], slug))
    near = [slug for slug in ranked if scored[slug][0] > 0][:MAX_RELATED]
    others = [slug for slug in [*drafts, *wiki.index] if slug != draft.slug and slug not in near]
    far = others[: max(0, MIN_RELATED - len(near))]  # nobody finds a page that no page links to
    return [{"slug": slug, "why": scored[slug][1]} for slug in near] + [{"slug": slug, "why": ""} for slug in far]
