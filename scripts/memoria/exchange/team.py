"""Team: statements that the people of a repository share with one another, as plain markdown that they review.

``render`` gives the file of one person in ``.claude/memory``; that person commits it, so review, rights and history
are those of the repository. Of it only what is merged is read, and only after the user's yes for this repository: as
statements "from the team", which are no rules of the user's and go when the repository takes them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, Final

from memoria.base import invocation, project
from memoria.base.project import Place
from memoria.daily.ledger import Ledger
from memoria.ground import clock
from memoria.ground.errors import ExpectedError, MemoryStoreError
from memoria.ground.home import Home
from memoria.ground.projects import ask_git
from memoria.ground.redact import Redactor
from memoria.pages import notices
from memoria.pages.housekeeping import TEAM  # also the session of what a repository brought
from memoria.statements.fact import KINDS, MAX_CONTENT, Fact, Stamp, make_plain, new_id
from memoria.statements.keeper import Keeper
from memoria.wiki.article import Article, Section

FOLDER: Final = ".claude/memory"
MAX_FILES, MAX_CHARS, MAX_STATEMENTS = 50, 200_000, 500  # of one repository
_MERGED: Final = ("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "HEAD")
_WHO: Final = re.compile(r"# Shared by (.+)")
_ROW: Final = re.compile(r"- (?:\[(\w+)\] )?(.+?)(?: \((\d{4}-\d\d-\d\d)\))?(?: \^(l-[0-9a-z]{8}))?$")
_NO_LETTERS: Final = re.compile(r"[^\w-]+")
_RULES: Final = ("correction", "preference")  # of the person who shares them; for others they are decisions


@dataclass(frozen=True, slots=True)
class Shared:
    """A statement in a repository: who shares it, its day (ISO, may be empty), and its id in that person's memory."""

    who: str
    kind: str
    text: str
    day: str
    source: str

    def as_fact(self, key: str, redactor: Redactor) -> Fact:
        """Return the statement for a project; its id comes from the row's, or else from its words."""
        said = ", ".join(filter(None, ("from the team", make_plain(self.who, 40), self.day)))
        content = redactor.redact(f"{make_plain(self.text, MAX_CONTENT)} ({said})")
        kind = self.kind if self.kind in KINDS and self.kind not in _RULES else "decision" if self.kind else "fact"
        named = ("", self.source) if self.source else (kind, content)
        ident = new_id(*named, Stamp(key, TEAM, datetime.combine(date.min, time(), UTC)))
        return Fact(kind, content, 0.5, "tool", key, clock.now(), ident, TEAM)


# -- what one shares


def who_shares(place: Place) -> str:
    """Return the name that the user's git writes into commits there; raise ExpectedError for none."""
    name = make_plain((ask_git(place.git, "config", "user.name", as_user=True) or "").strip(), 40)
    if not _NO_LETTERS.sub("", name):
        raise ExpectedError("Git knows no name of yours. `git config --global user.name NAME` tells it.")
    return name


def path_of(root: str, who: str) -> Path:
    """Return the file of a person in a checkout."""
    return Path(root, FOLDER, _NO_LETTERS.sub("-", who.casefold()).strip("-") + ".md")


def render(before: str, who: str, facts: Iterable[tuple[str, Fact]], over: Iterable[str] = ()) -> str:
    """Return a person's file with these statements, each below a heading, and without those that are ``over`` (ids).

    What else stands in it stays as it is.
    """
    page, gone = Article("team", before if before.strip() else f"# Shared by {who}\n"), set(over)
    for section in (Section("", "", page.lead), *page.sections):
        rows: list[str] = []
        for text, own in section.pieces():
            ident = found[4] if (found := _ROW.match(text)) else ""
            rows += [] if ident in gone else [text] if ident else own
        section.rows[:] = rows
    for heading, fact in facts:
        row = f"- [{fact.kind}] {fact.content} ({(fact.last or fact.time).date().isoformat()}) ^{fact.id}"
        every = [page.lead, *(section.rows for section in page.sections)]
        there = ((rows, number) for rows in every for number, each in enumerate(rows) if each.endswith(f"^{fact.id}"))
        rows, at = next(there, ([], -1))
        if rows:
            rows[at] = row
        else:
            page.section(heading).add(row)
    return page.render().rstrip("\n") + "\n"


# -- what others share


def read_offer(place: Place, tree: str) -> list[Shared]:
    """Return what a repository shares in the folder whose git object is ``tree``."""
    found: list[Shared] = []
    names = ask_git(place.git, "ls-tree", "-z", "--name-only", tree) or ""
    for name in [name for name in names.split("\0") if name.endswith(".md")][:MAX_FILES]:
        text, who = (ask_git(place.git, "cat-file", "blob", f"{tree}:{name}") or "")[:MAX_CHARS], Path(name).stem
        for row, _ in Section("", "", text.split("\n")).pieces():
            if title := _WHO.fullmatch(row.strip()):
                who = title[1]
            elif said := _ROW.fullmatch(row.rstrip()):
                found.append(Shared(who, said[1] or "", said[2], said[3] or "", said[4] or ""))
    return found[:MAX_STATEMENTS]


def _tree(place: Place) -> str:
    """Return the object of the folder as it is merged, and not on other branches, in a fork or unsaved; or ``""``."""
    merged = (ref for ref in _MERGED if ask_git(place.git, "rev-parse", "--verify", "-q", f"{ref}^{{commit}}"))
    ref = next(merged, "")
    return (ask_git(place.git, "rev-parse", "-q", "--verify", f"{ref}:{FOLDER}") or "").strip() if ref else ""


def ask(home: Home, ledger: Ledger, cwd: str) -> None:
    """Tell the user once of a repository that offers statements and was not asked about yet."""
    place = project.place(cwd)
    if not place.git or not Path(place.root, FOLDER).is_dir() or place.git in (ledger.get(TEAM) or {}):
        return
    if (tree := _tree(place)) and (count := len(read_offer(place, tree))):
        notices.tell(home.paths, TEAM, f"memoria: {Path(place.root).name} offers what its team shares, {count} in all. "
                     f"There, {invocation.command('share --accept')} takes it, `--decline` leaves it.")  # fmt: skip


def decide(ledger: Ledger, keeper: Keeper, place: Place, key: str, *, takes: bool) -> None:
    """Note the user's yes or no for a repository; with a no, what came from it goes."""
    known: Mapping[str, Any] = (ledger.get(TEAM) or {}).get(place.git) or {}
    ids = known.get("ids", [])
    if not takes:
        _drop(keeper, ids)
        key, ids = "", []
    about = {"root": place.root, "key": key, "tree": "", "ids": ids}
    ledger.put(TEAM, {**(ledger.get(TEAM) or {}), place.git: about})


def follow(home: Home, ledger: Ledger, keeper: Keeper) -> int:
    """Take in what accepted repositories share now, and drop the rest; return how many statements came."""
    came = 0
    asked: dict[str, dict[str, Any]] = ledger.get(TEAM) or {}
    for git, about in asked.items():
        place = project.place(str(about["root"]))
        if not about["key"] or place.git != git or (tree := _tree(place)) == about["tree"]:
            continue
        redactor = Redactor(home.settings.redact_extra)
        shares = read_offer(place, tree) if tree else []
        facts = [each.as_fact(about["key"], redactor) for each in shares
                 if not ((own := keeper.store.get(each.source)) and own.session != TEAM)]  # fmt: skip
        wanted = {fact.id: fact for fact in facts}
        _drop(keeper, set(about["ids"]) - wanted.keys())
        gone, held = keeper.store.deleted_ids(), {ident: keeper.store.get(ident) for ident in wanted}
        for ident, fact in wanted.items():
            if (known := held[ident]) and _is_teams(known) and not known.ended and known.content != fact.content:
                keeper.write(replace(known, content=fact.content))
        new = [fact for ident, fact in wanted.items() if ident not in gone and held[ident] is None]
        new = [fact for fact in new if keeper.find_repeated(fact) is None]
        with suppress(MemoryStoreError):  # they wait
            came += len(keeper.take(new, project.name_of(about["key"])).added)
        now = ledger.get(TEAM) or {}
        if now.get(git) == about:
            ledger.put(TEAM, {**now, git: about | {"tree": tree, "ids": sorted(wanted)}})
        else:  # the user decided anew meanwhile
            _drop(keeper, wanted)
    return came


def _is_teams(fact: Fact) -> bool:
    """Return whether a statement says what a repository brought, and nothing that a person made of it."""
    return fact.session == TEAM and not fact.history


def _drop(keeper: Keeper, ids: Iterable[str]) -> None:
    for ident in ids:
        fact = keeper.store.get(ident)
        if fact and _is_teams(fact):
            keeper.delete(ident)
            if fact.ended is None:  # the repository may bring it back
                keeper.store.unmark_deleted(ident)
